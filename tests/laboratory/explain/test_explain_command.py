# SPDX-License-Identifier: BSD-3-Clause
"""`volley explain` as a user meets it, where nothing has to be measured."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import polars as pl
import pytest
from volley.benchmarks import find_tests
from volley.data.results import Launch, Study
from volley.data.store import StudyFolder
from volley.detect import Finding
from volley.errors import VolleyError
from volley.explain.explain import Verdict
from volley.explain.investigation import EXPLANATION, keep, load
from volley.machine import facts as machine_facts
from volley.measure.rank_files import SCHEMA
from volley.systems import resolve

SIZES = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072]


def volley(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-c", "from volley.cli import main; main()", "explain", *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Three launches with a step of a factor of three behind 8192 bytes."""
    rows = ["system,test,size_bytes,launch,repetition,seconds"]
    for launch in (1, 2, 3):
        for size in SIZES:
            for repetition in range(5):
                seconds = (1e-6 + size * 1e-10) * (3 if size > 8192 else 1) * (1 + 0.002 * launch + 0.001 * repetition)
                rows.append(f"mine,pingpong,{size},{launch},{repetition},{seconds:.9e}")
    file = tmp_path / "table.csv"
    file.write_text("\n".join(rows) + "\n")
    return file


def test_figures_in_a_file_are_not_measured_again_and_that_is_said(table: Path) -> None:
    outcome = volley(table)
    assert outcome.returncode == 0, outcome.stderr
    assert "nothing is measured again" in outcome.stdout
    assert "Step up between 8 KiB and 16 KiB" in outcome.stdout
    assert "CONFIRMED" not in outcome.stdout


def test_an_imported_study_is_not_measured_again_and_that_is_said(table: Path, tmp_path: Path) -> None:
    program = (sys.executable, "-c", "from volley.cli import main; main()")
    words = (*program, "import", str(table), "--out", str(tmp_path / "theirs"))
    subprocess.run(words, capture_output=True, check=True)
    outcome = volley(tmp_path / "theirs")
    assert outcome.returncode == 0, outcome.stderr
    assert "nothing is measured again: these figures were imported" in outcome.stdout


def test_json_has_a_cause_and_a_status_for_every_finding(table: Path) -> None:
    findings = json.loads(volley(table, "--json").stdout)["findings"]
    step = next(one for one in findings if one["kind"] == "step")
    assert (step["size_from"], step["size_to"]) == (8192, 16384)
    assert step["status"] in ("SUSPECTED", "UNEXPLAINED")
    assert {"system", "test", "magnitude", "interval", "confidence", "cause", "evidence", "causes"} <= set(step)


def test_a_filter_that_leaves_nothing_names_what_there_is(table: Path) -> None:
    outcome = volley(table, "--system", "nosuch")
    assert outcome.returncode == 2
    assert "nosuch" in outcome.stderr
    assert "mine pingpong" in outcome.stderr


def test_a_system_may_be_named_without_its_version(table: Path) -> None:
    table.write_text(table.read_text().replace("mine,", "intel==2021.18.1/shm,"))
    outcome = volley(table, "--system", "intel/shm")
    assert outcome.returncode == 0, outcome.stderr
    assert "intel==2021.18.1/shm · pingpong" in outcome.stdout


def finding(low: int) -> Finding:
    return Finding("step", "mine", "pingpong", low, 2 * low, 2.0, (1.8, 2.2), 0.99, evidence={"direction": "up"})


def test_explaining_again_replaces_the_same_place_and_keeps_the_others(tmp_path: Path) -> None:
    folder = StudyFolder.create(tmp_path / "study", Study())
    keep(folder, [Verdict((finding(1024),), "UNEXPLAINED"), Verdict((finding(65536),), "UNEXPLAINED")])
    keep(folder, [Verdict((finding(1024),), "UNDECIDED", note="it did not show again")])
    kept = {one["size_from"]: one["status"] for one in load(folder.path)}
    assert kept == {1024: "UNDECIDED", 65536: "UNEXPLAINED"}


def test_a_damaged_explanation_is_named(tmp_path: Path) -> None:
    (tmp_path / EXPLANATION).write_text('{"findings": [')
    with pytest.raises(VolleyError, match="is damaged"):
        load(tmp_path)


def test_verdicts_are_kept_and_stand_in_the_report(tmp_path: Path) -> None:
    """A launch failed for a reason that no cause knows: nothing has to be measured."""
    facts = Study(title="made", tests=[asdict(find_tests("ceilings")[0])], environment=machine_facts.environment())
    facts.options = {"requested_systems": ["machine"]}
    made = StudyFolder.create(tmp_path / "study", facts)
    (machine,) = resolve("machine")
    for launch in (1, 2):
        times = [1000.0 + size / 8 for size in SIZES]
        rows = {"variant": "memcpy", "rank": 0, "size": SIZES, "repetition": 0, "start_ns": 0, "duration_ns": times}
        made.add_launch(Launch(launch, machine.name, "ceilings", 2, launch), pl.DataFrame(rows).cast(SCHEMA))  # type: ignore[arg-type]
    made.facts.launches.append(
        Launch(3, machine.name, "ceilings", 2, 3, status="failed", reason="rank 1 stumbled over its own feet")
    )
    made.save()
    made.merge()
    outcome = volley(made.path, "--kind", "failure")
    assert outcome.returncode == 0, outcome.stderr
    assert "stumbled over its own feet" in outcome.stdout
    assert "UNEXPLAINED: no known cause fits" in outcome.stdout
    ((kept),) = load(made.path)
    assert (kept["kind"], kept["status"]) == ("failure", "UNEXPLAINED")
    report = (made.path / "report.html").read_text()
    assert "Launches failed: 1 of 3 launches: rank 1 stumbled over its own feet" in report
    assert "not explained yet" not in report
