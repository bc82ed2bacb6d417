# SPDX-License-Identifier: BSD-3-Clause
"""Oddities planted in the noise of a study's own launches: drawn as they are, judged by where they were planted."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner
from volley.cli import app
from volley.detect.material import CurveData, Material, Series
from volley.errors import DataError
from volley.selftest import measured
from volley.selftest.measured import OWN, cases, noises
from volley.selftest.recall import judge

SIZES = 2 ** np.arange(0, 20)


def study(spread: float, launches: int = 10) -> Material:
    """One measured curve with a jump of its own at 4 KiB, and noise."""
    random = np.random.default_rng(5)
    level = np.log(500 + SIZES / 4 * np.where(SIZES > 4096, 5, 1))
    log_ns = level + random.normal(0, spread, (launches, 1)) + random.normal(0, spread, (launches, len(SIZES)))
    series = [
        Series(launch + 1, int(size), np.exp(log_ns[launch, at] + random.normal(0, 0.02, 60)))
        for launch in range(launches)
        for at, size in enumerate(SIZES)
    ]
    numbers = tuple(range(1, launches + 1))
    return Material("made", [CurveData("a", "pingpong", "-", 2, SIZES.astype(np.int64), numbers, log_ns, series)])


def test_what_is_planted_in_quiet_noise_is_found_and_the_curves_own_jump_is_not() -> None:
    result = judge(1, cases(study(0.005), 1, 10), OWN)
    scores = result.scores.values()
    assert sum(one.planted for one in scores) == 40
    assert sum(one.found for one in scores) >= 34, result.missed
    assert result.clean == 40
    assert result.clean_with_findings <= 1, result.missed


def test_draws_share_no_launch_and_keep_each_launchs_noise() -> None:
    (noise,) = noises(study(0.02))
    first, second = measured._draw(np.random.default_rng(1), noise, 5)
    assert len(first.launches) == len(second.launches) == 5
    assert not set(first.launches) & set(second.launches)
    drawn = first.curve()
    rows = [noise.launches.index(one) for one in first.launches]
    assert np.allclose(drawn.log_ns - first.log_level, noise.strays[rows])
    for one in drawn.series:  # operations in their order, about the launch's value
        of_launch = noise.operations[first.launches[one.launch - 1], one.size]
        assert np.allclose(one.times_ns / one.times_ns[0], of_launch / of_launch[0])


def test_a_finding_of_the_noise_itself_is_counted_apart() -> None:
    made = study(0.005)
    curve = made.curves[0]
    for one in curve.series:  # every third operation takes twice as long, in all launches
        one.times_ns[::3] *= 2
    result = judge(1, cases(made, 1, 4), OWN)
    assert result.excused["bimodal"] > 0
    assert "bimodal" not in result.scores


def test_a_study_of_too_few_launches_is_refused_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="6 launches") as problem:
        noises(study(0.01, launches=4))
    assert "volley study" in problem.value.remedy


def test_the_command_prints_recall_and_false_findings(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    rows = ["system,test,size_bytes,launch,repetition,seconds"]
    for one in study(0.01, launches=8).curves[0].series:
        rows += [f"a,pingpong,{one.size},{one.launch},{at},{ns * 1e-9:.12f}" for at, ns in enumerate(one.times_ns[:12])]
    table.write_text("\n".join(rows))
    said = CliRunner().invoke(app, ["selftest", "--measured", str(table), "--rounds", "2", "--json"])
    assert said.exit_code == 0, said.output
    read = json.loads(said.stdout)
    assert {one["kind"] for one in read["kinds"]} >= {"spike", "step", "regression"}
    assert read["clean"]["cases"] == 8
