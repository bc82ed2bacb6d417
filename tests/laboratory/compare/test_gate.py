# SPDX-License-Identifier: BSD-3-Clause
"""`volley compare OLD NEW` as a gate: what it lets pass, what it stops, and what it will not judge."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner, Result
from volley.benchmarks import all_tests
from volley.cli import app
from volley.compare.conditions import differences
from volley.compare.pairwise import launches_needed
from volley.data.results import Launch, Study, SystemFacts
from volley.data.store import StudyFolder
from volley.errors import EXIT_FINE, EXIT_SLOWER, EXIT_UNDECIDED, EXIT_USAGE, UsageError
from volley.measure.rank_files import SCHEMA

HERE = {"host": "here", "cpu": "Fast 3000", "cores": 2, "kernel": "Linux 6.1"}
SCATTER = (1.0, 1.002, 0.998, 1.001, 0.999, 1.003, 0.997, 1.0015)


def study(
    path: Path,
    factor: float = 1.0,
    launches: int = 8,
    systems: Sequence[str] = ("mpich==5.0.2/shm",),
    environment: Mapping[str, Any] = HERE,
    options: Mapping[str, Any] = {},
) -> str:
    facts = Study(
        environment=dict(environment),
        options={"buffers": "written", **options},
        systems=[SystemFacts(name, "mpich", "", "shm") for name in systems],
        tests=[asdict(all_tests()["pingpong"])],
    )
    folder = StudyFolder.create(path, facts)
    for number in range(launches * len(systems)):
        value = 1000.0 * factor * SCATTER[number % len(SCATTER)]
        rows = [("-", rank, 8, i, 1000 + i, value) for rank in (0, 1) for i in range(5)]
        name = systems[number % len(systems)]
        launch = Launch(number + 1, name, "pingpong", 2, 1, operations=len(rows))
        folder.add_launch(launch, pl.DataFrame(rows, schema=SCHEMA, orient="row"))
    folder.save()
    return str(path)


def gate(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["compare", *arguments, "--fail-on-slower"])


def test_what_is_as_fast_passes_and_what_is_slower_stops(tmp_path: Path) -> None:
    old = study(tmp_path / "old")
    assert gate(old, study(tmp_path / "same")).exit_code == EXIT_FINE
    assert gate(old, study(tmp_path / "slower", factor=1.2)).exit_code == EXIT_SLOWER


def test_too_few_launches_do_not_pass_and_the_number_needed_is_said(tmp_path: Path) -> None:
    old = study(tmp_path / "old", launches=3)
    ended = gate(old, study(tmp_path / "new", factor=1.5, launches=3))
    assert ended.exit_code == EXIT_UNDECIDED
    assert "4 on each side" in ended.stderr
    ended = gate(old, study(tmp_path / "json", factor=1.5, launches=3), "--json")
    assert (ended.exit_code, json.loads(ended.stdout)["launches_needed"]) == (EXIT_UNDECIDED, 4)


def test_many_launches_of_the_baseline_spare_some_of_the_other(tmp_path: Path) -> None:
    assert launches_needed(1) == 4
    assert launches_needed(1, 40, 2) == 2  # 2 of 42: 861 ways
    old = study(tmp_path / "old", launches=39)
    assert gate(old, study(tmp_path / "new", factor=1.5, launches=2)).exit_code == EXIT_SLOWER


def test_another_processor_is_not_compared_unless_one_insists(tmp_path: Path) -> None:
    old = study(tmp_path / "old")
    new = study(tmp_path / "new", environment={**HERE, "cpu": "Slow 100"})
    refused = gate(old, new)
    assert isinstance(refused.exception, UsageError)
    assert refused.exception.exit_code == EXIT_USAGE
    assert "Fast 3000" in refused.exception.problem
    assert "Slow 100" in refused.exception.problem
    assert gate(old, new, "--anyway").exit_code == EXIT_FINE


def test_another_way_of_measuring_is_not_compared(tmp_path: Path) -> None:
    old = study(tmp_path / "old", options={"buffers": "kept"})
    refused = gate(old, study(tmp_path / "new"))
    assert isinstance(refused.exception, UsageError)
    assert "--buffers" in refused.exception.problem


def test_another_kernel_or_host_is_said_loudly(tmp_path: Path) -> None:
    new = study(tmp_path / "new", environment={**HERE, "kernel": "Linux 6.18", "host": "there"})
    ended = gate(study(tmp_path / "old"), new)
    assert ended.exit_code == EXIT_FINE
    assert "WARNING: kernel: Linux 6.1 in the older study, Linux 6.18 in the newer" in ended.stderr
    assert "WARNING: host" in ended.stderr


def test_settings_of_the_same_system_that_differ_are_told() -> None:
    one, other = (Study(systems=[SystemFacts("a", "a", "1", "", knobs={"eager": size})]) for size in ("4096", "8192"))
    (found,) = differences(one, other, {"a": "a"})
    assert (found.what, found.before, found.now, found.grave) == ("a eager", "4096", "8192", False)


@pytest.mark.parametrize("named", [(), ("--pair", "mpich==4.1.3/shm,mpich==5.0.2/shm")])
def test_versions_of_one_family_are_pairs(tmp_path: Path, named: tuple[str, ...]) -> None:
    old = study(tmp_path / "old", systems=["mpich==4.1.3/shm"])
    ended = gate(old, study(tmp_path / "new", factor=1.3), *named, "--json")
    (verdict,) = json.loads(ended.stdout)["verdicts"]
    assert (verdict["system"], verdict["baseline"]) == ("mpich==5.0.2/shm", "mpich==4.1.3/shm")
    assert ended.exit_code == EXIT_SLOWER


def test_a_pair_that_is_named_counts_more_than_the_name(tmp_path: Path) -> None:
    both = ["mpich==4.1.3/shm", "mpich==5.0.2/shm"]
    old, new = study(tmp_path / "old", systems=both), study(tmp_path / "new", systems=both)
    ended = gate(old, new, "--pair", ",".join(both), "--systems", both[1], "--json")
    (verdict,) = json.loads(ended.stdout)["verdicts"]
    assert (verdict["system"], verdict["baseline"]) == (both[1], both[0])
    wrong = gate(old, new, "--pair", "mpich==4.1.3/shm,lam")
    assert isinstance(wrong.exception, UsageError)
