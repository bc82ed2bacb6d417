# SPDX-License-Identifier: BSD-3-Clause
"""What a kind of finding offers. To add one, add a module to ``kinds/`` with a subclass of Detector."""

from __future__ import annotations

import importlib
import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import ClassVar

from volley.detect.certainty import weighed
from volley.detect.finding import UNDECIDED_CONFIDENCE, Finding
from volley.detect.material import Material
from volley.detect.statistics import FALSE_DISCOVERIES, false_discovery
from volley.errors import UsageError


@dataclass(frozen=True)
class Search:
    """What a detector saw."""

    candidates: Sequence[Finding] = ()
    """Each with its p_value before correction, if it has one."""
    places: int = 0
    """Where it looked: how many p-values there could have been."""


class Detector(ABC):
    """Looks for one kind of oddity, or for a family that shares its analysis."""

    kinds: ClassVar[tuple[str, ...]]
    compares: ClassVar[bool] = False
    """Whether it needs a second material to compare with."""

    @abstractmethod
    def search(self, material: Material, against: Material | None) -> Search:
        """All candidates, not yet corrected for how many places were looked at."""


@cache
def detectors() -> tuple[Detector, ...]:
    """Every detector, in the order of its first kind."""
    package = importlib.import_module("volley.detect.kinds")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")
    return tuple(sorted((kind() for kind in Detector.__subclasses__()), key=lambda one: one.kinds))


def all_kinds() -> tuple[str, ...]:
    """Every kind that can be found."""
    return tuple(dict.fromkeys(kind for one in detectors() for kind in one.kinds))


def detect(material: Material, kinds: Iterable[str] | None = None, against: Material | None = None) -> list[Finding]:
    """Everything odd in `material`, surest first within a curve. Raises UsageError for an unknown kind."""
    wanted = set(kinds) if kinds is not None else set(all_kinds())
    unknown = wanted - set(all_kinds())
    if unknown:
        raise UsageError(f'unknown kind "{sorted(unknown)[0]}"', f"there are: {', '.join(all_kinds())}")
    asked = [one for one in detectors() if wanted & set(one.kinds) and (against is not None or not one.compares)]
    found = corrected([one.search(material, against) for one in asked])
    chosen = [weighed(finding, material) for finding in found if finding.kind in wanted]
    return sorted(chosen, key=lambda one: (one.system, one.test, one.variant, one.ranks, one.size_from, one.kind))


def corrected(searches: Sequence[Search]) -> list[Finding]:
    """The candidates of all detectors that survive correction for all places any of them looked at, with their
    confidence; and what was seen and not inferred, as it is.

    One correction for all, with p-values weighted so that every detector has an equal share of the errors allowed
    (Genovese, Roeder, Wasserman 2006): one that looks at each curve once is not drowned by one that looks at each size.
    """
    inferred = [(search, one) for search in searches for one in search.candidates if one.p_value is not None]
    looked = [search for search in searches if search.places]
    places = sum(search.places for search in looked)
    weighted = [min((one.p_value or 0.0) * search.places * len(looked) / places, 1.0) for search, one in inferred]
    adjusted = dict(zip((id(one) for _, one in inferred), false_discovery(weighted, places), strict=True))
    kept = []
    for candidate in (one for search in searches for one in search.candidates):
        q = adjusted.get(id(candidate), 0.0)
        if q <= FALSE_DISCOVERIES * len(looked) or candidate.p_value is None:
            most = UNDECIDED_CONFIDENCE if candidate.status == "UNDECIDED" else 1.0
            kept.append(replace(candidate, confidence=min(candidate.confidence, 1 - q, most)))
    return kept
