# SPDX-License-Identifier: BSD-3-Clause
"""report.html: one file, without any request to anywhere, at most 5 MB."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from volley import units
from volley.data.results import Curve, LaunchBox, Stream, Study
from volley.report import facts, network, plots
from volley.report.first_screen import FirstScreen, cost_words
from volley.report.payload import as_json, described_tests, payload
from volley.report.verdicts import rows

SCRIPTS = ("format", "state", "figure", "explorer", "streams", "boxes", "tables", "findings", "main")
"""Parts of the page's script, in the order in which they need each other."""
PLAIN_DATA = 1_500_000
"""Characters of JSON that fit into the page as they are; beyond that the JSON is packed, too."""


def write_report(
    study: Study,
    curves: Sequence[Curve],
    streams: Sequence[Stream],
    summary: Sequence[str],
    target: Path,
    boxes: Sequence[LaunchBox] = (),
    screen: FirstScreen | None = None,
) -> Path:
    """Writes the report of a study to `target` and returns it.

    `summary` holds the verdicts in words, one sentence or paragraph each; `boxes` the quartiles of single
    launches; `screen` what is told first: who is best for what, and what costs most.

    What does not fit (streams and boxes of very large studies) is left out, and the page says so.
    """
    page = (
        template_environment()
        .get_template("report.html.j2")
        .render(
            **_words(study, curves, summary),
            **_pictures(study, curves),
            **_first(screen, curves),
            data=_data(study, curves, streams, boxes, screen),
            plotly=_packed(_plotly()),
            css=inline_file("report.css"),
            script=_script(),
        )
    )
    target.write_text(page, encoding="utf-8")
    return target


def template_environment() -> jinja2.Environment:
    """Renders the templates of this package: escaped, with times and sizes as filters."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("volley.report", "."),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["time"] = units.format_time
    environment.filters["size"] = units.tick_size
    return environment


def _first(screen: FirstScreen | None, curves: Sequence[Curve]) -> dict[str, Any]:
    """What is told first, and the table of all findings behind it."""
    if screen is None:
        screen = FirstScreen((), (), (), "")
    found = rows([*screen.findings, *screen.others], curves)
    return {
        "answers": screen.answers,
        "first": found[: len(screen.findings)],
        "findings": found,
        "perhaps": [f"{one.title} ({cost_words(one)})" for one in screen.perhaps],
        "undecided": screen.undecided,
        "resume": screen.resume,
        "statuses": list(dict.fromkeys(one.status for one in found)),
    }


def _words(study: Study, curves: Sequence[Curve], summary: Sequence[str]) -> dict[str, Any]:
    """Everything in the page that is text or a table and needs no script."""
    return {
        "study": study,
        "summary": list(summary),
        "started": facts.readable_moment(study.created),
        "finished": facts.readable_moment(study.finished),
        "machine": facts.machine_line(study.environment),
        "measured": facts.measured_line(study, curves),
        "unavailable": [system for system in study.systems if system.status != "ready"],
        "troubled": facts.troubled_launches(study.launches),
        "late_receivers": facts.late_receivers(study.launches),
        "coverage": facts.coverage_rows(curves),
        "environment": facts.environment_rows(study.environment),
        "launches": facts.launch_rows(study.launches),
        "overhead": facts.overhead_line(study.launches),
        "stopped": facts.STOPPED,
        "run_again": facts.run_again(study),
    }


def _pictures(study: Study, curves: Sequence[Curve]) -> dict[str, Any]:
    """The table and the picture at the top, which show without a script, too."""
    test = facts.main_test(curves)
    described = described_tests(study, curves).get(test, {})
    image = plots.preview(study, curves, test)
    return {
        "main_test": described,
        "glance": facts.glance(curves, test),
        "pairs": [
            {"title": one.title, "slow": one.slow(), "image": base64.b64encode(network.picture(one)).decode()}
            for one in network.pairs_of(study.launches)[: network.PICTURES_IN_PAGE]
        ],
        "rates": network.rate_rows(study, curves, described_tests(study, curves)),
        "preview": base64.b64encode(image).decode() if image else "",
    }


def _data(
    study: Study,
    curves: Sequence[Curve],
    streams: Sequence[Stream],
    boxes: Sequence[LaunchBox],
    screen: FirstScreen | None,
) -> dict[str, Any]:
    text = as_json(payload(study, curves, streams, boxes, screen.touched() if screen else None))
    packed = len(text) > PLAIN_DATA
    return {"packed": packed, "text": Markup(_packed(text.encode()) if packed else text)}


def _packed(content: bytes) -> str:
    """What the page's script unpacks again: gzip, then base64."""
    return base64.b64encode(gzip.compress(content, 9, mtime=0)).decode()


def _plotly() -> bytes:
    return files("plotly").joinpath("package_data/plotly.min.js").read_bytes()


def _script() -> Markup:
    parts = [str(inline_file(f"script/{name}.js")) for name in SCRIPTS]
    return Markup("(() => {\n'use strict';\n" + "\n".join(parts) + "\n})();")


def inline_file(name: str) -> Markup:
    """One of this package's own files, to stand in the page unescaped: it cannot end its element."""
    text = files("volley.report").joinpath(name).read_text(encoding="utf-8")
    for ending in ("</script", "</style", "<!--"):
        if ending in text:
            raise ValueError(f'{name} contains "{ending}", which would end the element it is put into')
    return Markup(text)
