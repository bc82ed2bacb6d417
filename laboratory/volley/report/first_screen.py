# SPDX-License-Identifier: BSD-3-Clause
"""What a person reads first, in the page and in the terminal: who is best for what, and what costs most."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from volley.compare.overall import Champion, champion
from volley.compare.together import QUESTIONS, Answer, answers
from volley.data.states import states_of
from volley.data.store import StudyFolder
from volley.detect import detect, read_material
from volley.explain.investigation import load
from volley.measure.study import launch_seconds
from volley.report.data import ReportData, gather
from volley.report.ranking import FIRST, Key, Ranked, Ranking, curve_key
from volley.report.style import MACHINE
from volley.units import format_ratio

MOST_PERHAPS = 3
MINUTES_MORE = 10
"""Of measuring, that a study is told to go on for."""
MARGIN = 0.02
"""Differences up to this share are none to a user (as in `volley compare`)."""
MOST_NAMED = 2
"""Systems in one cell of the table of answers."""


@dataclass(frozen=True)
class AnswerRow:
    """One line of the table at the very top."""

    question: str
    """``messages between two ranks, up to 1 KiB``."""
    best: str
    """With "perhaps", unless that is sure."""
    ahead: str
    """``mpich==5.0.2/shm takes 1.8 times as long (1.2 to 2.4 by test)``."""
    certainty: str
    sure: bool


@dataclass(frozen=True)
class FirstScreen:
    """Answers, then findings."""

    answers: tuple[AnswerRow, ...]
    findings: tuple[Ranked, ...]
    """The few that cost most, of those that would show again."""
    others: tuple[Ranked, ...]
    """All other findings, those that are UNDECIDED last."""
    resume: str
    """The command that spends time where a verdict hangs on it; '' if none does."""

    def touched(self) -> dict[Key, list[str]]:
        """Curve → what the machine did to it."""
        found: dict[Key, list[str]] = {}
        for one in (*self.findings, *self.others):
            for member in one.members if one.about_machine else ():
                titles = found.setdefault(curve_key(member), [])
                titles += [one.title] if one.title not in titles else []
        return found

    @property
    def perhaps(self) -> tuple[Ranked, ...]:
        """Of those that are UNDECIDED, the few that would cost most."""
        return tuple(one for one in self.others if not one.decided)[:MOST_PERHAPS]

    @property
    def undecided(self) -> int:
        """Findings that more launches would decide."""
        return sum(not one.decided for one in self.others)


def first_screen(folder: StudyFolder, data: ReportData) -> FirstScreen:
    """Of a study whose samples are analysed."""
    rows = [answer_row(one) for one in _answers(data)]
    if (whole := _whole(data)) is not None and len(rows) > 1:
        rows.insert(0, whole)
    ranked = ranked_findings(folder.path, data)
    decided = [one for one in ranked if one.decided]
    others = [*decided[FIRST:], *(one for one in ranked if not one.decided)]
    hangs = any(not one.sure for one in rows) or any(not one.decided for one in others)
    # The budget is for the whole study: what was spent counts.
    minutes = MINUTES_MORE + math.ceil(sum(map(launch_seconds, data.study.launches)) / 60)
    resume = f"volley study --resume --out {shlex.quote(str(folder.path))} --budget {minutes}m" if hangs else ""
    return FirstScreen(tuple(rows), tuple(decided[:FIRST]), tuple(others), resume)


def doubts(folder: StudyFolder) -> set[tuple[str, str, int]]:
    """Cells of a study (system, test, ranks) in which a few launches more would decide a verdict; of an empty study,
    none.
    """
    if not any(launch.operations for launch in folder.facts.launches):
        return set()
    data = gather(folder)
    found = {
        (member.system, member.test, member.ranks)
        for one in ranked_findings(folder.path, data)
        if not one.decided
        for member in one.members
    }
    worlds = {(launch.system, launch.test, launch.ranks) for launch in folder.facts.launches}
    for answer in _answers(data):
        if not answer.sure:
            rivals = {answer.leader, *answer.level}
            found |= {cell for cell in worlds if cell[0] in rivals and cell[1] in answer.tests}
    return found


def _answers(data: ReportData) -> list[Answer]:
    return answers(_like_values(data), data.tests, int(data.study.environment.get("cores", 0)), (MACHINE,))


def _like_values(data: ReportData) -> pl.DataFrame:
    """From launches of one state of the machine alone."""
    unusual = states_of(data.study.launches).unusual
    return data.values.filter(~pl.col("launch").is_in(sorted(unusual))) if unusual else data.values


def _whole(data: ReportData) -> AnswerRow | None:
    """Which system is fastest over all tests together; None where there is one test alone, or nothing compares."""
    names = [name for name, test in data.tests.items() if test.pattern in QUESTIONS and test.ranked and test.needs_mpi]
    values = _like_values(data).filter(pl.col("test").cast(pl.String).is_in(names))
    found = champion(values, int(data.study.environment.get("cores", 0)), (MACHINE,), MARGIN)
    return whole_row(found) if found is not None else None


def whole_row(found: Champion) -> AnswerRow | None:
    """In words; None of one test, of which the other rows tell more."""
    nearest = min(found.rivals, key=lambda one: one.ratio)
    if len(nearest.tests) < 2:
        return None
    interval = f"(95 % interval {_factor(nearest.low)} to {_factor(nearest.high)})"
    ahead = f"{nearest.system} takes {_factor(nearest.ratio)} times as long {interval}"
    tests = f"{len(nearest.tests)} tests, {nearest.launches} launches each"
    question = "all tests together (geometric mean)"
    if not found.level:
        return AnswerRow(question, found.leader, ahead, f"sure ({tests})", True)
    return AnswerRow(
        question, f"perhaps {found.leader}", ahead, f"UNDECIDED against {_named(found.level)}: {tests}", False
    )


def ranked_findings(path: Path, data: ReportData) -> list[Ranked]:
    """All findings of a study, what has one cause once, with what experiments said of them."""
    material = read_material(path)
    return Ranking(material, data.study, path, load(path)).ranked(detect(material))


def answer_row(one: Answer) -> AnswerRow:
    """In words."""
    question = one.question + (f", {one.band}" if one.band else "")
    nearest = min(one.rivals, key=lambda rival: rival.ratio, default=None)
    if nearest is None:
        return AnswerRow(question, one.leader, "", "nothing to compare it with", False)
    by_test = f" ({_factor(nearest.low)} to {_factor(nearest.high)} by test)" if nearest.strata > 1 else ""
    ahead = f"{nearest.system} takes {_factor(nearest.ratio)} times as long{by_test}"
    tests = f"{len(one.tests)} test{'' if len(one.tests) == 1 else 's'}"
    launches = f"{one.launches} launch{'' if one.launches == 1 else 'es'} each"
    if one.sure:
        return AnswerRow(question, one.leader, ahead, f"sure ({tests}, {launches})", True)
    level = _named(one.level)
    why = f"{launches}, {one.needed} are needed" if one.launches < one.needed else f"{tests}, {launches}"
    return AnswerRow(question, f"perhaps {one.leader}", ahead, f"UNDECIDED against {level}: {why}", False)


def _factor(ratio: float) -> str:
    return format_ratio(ratio, 3 if ratio < 2 else 2, whole=True)


def _named(systems: Sequence[str]) -> str:
    shown = " and ".join(systems)
    return shown if len(systems) <= MOST_NAMED else f"{len(systems)} others"


def cost_words(one: Ranked) -> str:
    """``up to 2.4 times the time, in 3 tests``."""
    parts = []
    if one.worst > 1.005 and not one.about_machine:
        parts.append(f"up to {_factor(one.worst)} times the time")
    if len(one.systems) > 1:
        parts.append(f"{len(one.systems)} systems")
    if one.tests:
        parts.append(f"{len(one.tests)} test{'' if len(one.tests) == 1 else 's'}")
    return ", ".join(parts) or "no time lost"
