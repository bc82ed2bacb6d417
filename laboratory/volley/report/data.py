# SPDX-License-Identifier: BSD-3-Clause
"""From a study's folder to everything a report shows: samples read once, analysed once."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from volley.benchmarks import Test
from volley.compare.summary import summarise
from volley.data import analyse
from volley.data.results import Curve, LaunchBox, Stream, Study
from volley.data.store import StudyFolder, reading, tests_of


@dataclass(frozen=True)
class ReportData:
    """What summaries, reports and comparisons are made of."""

    study: Study
    tests: dict[str, Test]
    values: pl.DataFrame
    """analyse.launch_values()."""
    curves: list[Curve]
    streams: list[Stream]
    boxes: list[LaunchBox]
    summary: list[str]


def gather(folder: StudyFolder) -> ReportData:
    """Analyses a study. Raises DataError for a damaged one."""
    tests = tests_of(folder.facts)
    samples = folder.comparable_samples()
    with reading(folder.path):
        values = analyse.launch_values(samples, tests.values())
        streams = analyse.streams(samples, tests.values())
    curves = analyse.curves(values, tests)
    return ReportData(
        study=folder.facts,
        tests=tests,
        values=values,
        curves=curves,
        streams=streams,
        boxes=analyse.launch_boxes(values),
        summary=summarise(folder.facts),
    )
