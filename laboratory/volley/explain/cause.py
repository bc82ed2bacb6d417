# SPDX-License-Identifier: BSD-3-Clause
"""What a cause offers: a signature in the data, a counter that must move with it, an intervention that must remove it.

To add a cause, add a module to ``causes/`` with a subclass of :class:`Cause`, and a page in docs/causes/.
"""

from __future__ import annotations

import importlib
import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

from volley.detect.finding import Finding

if TYPE_CHECKING:
    from volley.explain.case import Case, Contrast
    from volley.explain.scene import Scene


@dataclass(frozen=True)
class Suspicion:
    """Why a cause may be behind a finding, judged from what was measured already."""

    weight: float
    """0 to 1: how well signature and counters of the study fit. The heaviest is examined first; below
    WORTH_A_WORD it is not told unless an experiment bears it out."""
    reasons: tuple[str, ...]
    """Whole sentences for a person."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """What the cause wants to remember for examine()."""


WORTH_A_WORD = 0.4


@dataclass(frozen=True)
class Examination:
    """What an experiment said about a cause.

    `removed`: True if the intervention took the effect away, False if the effect was there and stayed, None if that
    could not be tried or cannot be told. `counter`: True if the counter moved as it must if this is the cause (with
    the intervention and without), False if it speaks clearly against it (which rules the cause out), None if there is
    none to be had here, or it cannot be told.
    """

    removed: bool | None
    counter: bool | None
    said: tuple[str, ...] = ()
    """Whole sentences: what was changed, what it did, what the counter said."""
    remedy: str = ""
    """What to do about it: the setting to change, by name."""
    figures: Mapping[str, Any] = field(default_factory=dict)
    """Numbers for --json."""
    reproduced: bool = True
    """False: the finding itself did not show again in the arm without a change."""
    size_from: int | None = None
    size_to: int | None = None
    """Where the finding is, if the examination found the place more exactly."""


def not_shown(contrast: Contrast) -> Examination:
    """The arm without a change does not show the finding: nothing can be said of any cause."""
    return Examination(None, None, (f"{contrast.words()}.",), figures=contrast.figures(), reproduced=False)


class Cause(ABC):
    """One known reason for odd curves."""

    name: ClassVar[str]
    """As in findings: ``Nagle with delayed ACK``."""
    page: ClassVar[str]
    """Its page below docs/causes/, without ``.md``."""
    summary: ClassVar[str]
    """One sentence: what happens."""
    seconds: ClassVar[float] = 20.0
    """What its experiments take, about; said before they begin."""
    keeps_others_off: ClassVar[bool] = False
    """Whether its intervention keeps other load away, so that load cannot hide that it did nothing."""
    to_the_byte: ClassVar[bool] = True
    """Whether an edge is narrowed to the byte before examine(); False where its operations take too long for that."""

    about_machine: ClassVar[bool] = False
    """Whether it is no system's doing: reports tell its findings once, about the machine."""

    @abstractmethod
    def suspect(self, finding: Finding, scene: Scene) -> Suspicion | None:
        """Whether this cause may be behind the finding, from what was measured already; None: it cannot be."""

    @abstractmethod
    def examine(self, suspicion: Suspicion, case: Case) -> Examination:
        """Carries out the intervention and looks at the counter. May raise TimeIsUp."""

    def __init_subclass__(cls, register: bool = True) -> None:
        super().__init_subclass__()
        if register:
            _registered.append(cls)


_registered: list[type[Cause]] = []


@cache
def causes() -> tuple[Cause, ...]:
    """Every cause, by name."""
    package = importlib.import_module("volley.explain.causes")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")
    return tuple(sorted((kind() for kind in _registered), key=lambda one: one.name))
