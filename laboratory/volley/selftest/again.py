# SPDX-License-Identifier: BSD-3-Clause
"""Do findings appear again? Two studies of the same, one after the other, and what both say first."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from volley.data.store import StudyFolder
from volley.detect.finding import Finding
from volley.report.data import gather
from volley.report.first_screen import FirstScreen, first_screen
from volley.report.ranking import EDGED, Ranked, curve_key

NEAR = 2
"""Places within this factor are one place."""


@dataclass(frozen=True)
class Again:
    """What became of one study's first findings in the other."""

    shown: tuple[tuple[Ranked, bool], ...]
    """Of both studies, those on the first screen, and whether the other study has them, too."""
    answers: int
    """Questions to which both studies are sure who is fastest."""
    agreeing: int
    """And say the same."""

    @property
    def appeared(self) -> int:
        """How many did."""
        return sum(there for _, there in self.shown)

    def words(self) -> str:
        """``8 of 10 findings shown first appeared again; …``."""
        said = f"{self.appeared} of {len(self.shown)} findings shown first appeared in the other study, too"
        if not self.answers:
            return f"{said}; to no question both are sure who is fastest"
        return f"{said}; to {self.answers} questions both are sure who is fastest, and agree in {self.agreeing}"


def look_again(one: Path, other: Path) -> Again:
    """Compares the first screens of two studies, both ways."""
    screens = [_screen(path) for path in (one, other)]
    shown = []
    for mine, theirs in (screens, screens[::-1]):
        decided = [finding for finding in (*theirs.findings, *theirs.others) if finding.decided]
        shown += [(finding, any(same(finding, it) for it in decided)) for finding in mine.findings]
    sure = [{row.question: row.best for row in screen.answers if row.sure} for screen in screens]
    both = sure[0].keys() & sure[1].keys()
    return Again(tuple(shown), len(both), sum(sure[0][question] == sure[1][question] for question in both))


def _screen(path: Path) -> FirstScreen:
    folder = StudyFolder.open(path)
    return first_screen(folder, gather(folder))


def same(one: Ranked, other: Ranked) -> bool:
    """Whether two findings tell of one thing: one trouble of the machine, or one place of a system in a common test."""
    if one.about_machine or other.about_machine:
        return one.about_machine and other.about_machine and one.title == other.title
    return any(_alike(mine, theirs) for mine in one.members for theirs in other.members)


def _alike(mine: Finding, theirs: Finding) -> bool:
    if curve_key(mine) != curve_key(theirs) or not same_kind(mine.kind, theirs.kind):
        return False
    return mine.size_from <= NEAR * max(theirs.size_to, 1) and theirs.size_from <= NEAR * max(mine.size_to, 1)


def same_kind(one: str, other: str) -> bool:
    """A step in one study may be the plateau it begins in another."""
    return one == other or (one in EDGED and other in EDGED)
