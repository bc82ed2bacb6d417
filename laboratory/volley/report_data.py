# SPDX-License-Identifier: BSD-3-Clause
"""From a study's folder to everything a report shows: samples read once, analysed once."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from volley import analyse
from volley.results import Curve, LaunchBox, Stream, Study, from_dictionary
from volley.store import StudyFolder, reading
from volley.summary import summarise
from volley.tests import Test


def tests_of(study: Study) -> dict[str, Test]:
    """The tests as they were when the study was made (their files may have changed since)."""
    found = {}
    for said in study.tests:
        lists_as_tuples = {name: tuple(value) if isinstance(value, list) else value for name, value in said.items()}
        test = from_dictionary(Test, lists_as_tuples)
        found[test.name] = test
    return found


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
    samples = folder.samples()
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
        summary=summarise(folder.facts, curves, tests),
    )
