# SPDX-License-Identifier: BSD-3-Clause
"""The launchers there are, one module each, found by looking; and whose an mpiexec is."""

from __future__ import annotations

import importlib
import pkgutil
import re
from functools import cache

from volley.systems.flavours.base import AS_IT_COMES, LOST_WAKE_UPS, Flavour, Unknown, Way

__all__ = ["AS_IT_COMES", "LOST_WAKE_UPS", "UNKNOWN", "Flavour", "Way", "identify", "known"]

UNKNOWN = Unknown()


@cache
def known() -> tuple[Flavour, ...]:
    """Every flavour but the unknown one, in the order in which they are looked for."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    kinds = [kind() for kind in Flavour.__subclasses__() if kind is not Unknown]
    return tuple(sorted(kinds, key=lambda one: (not one.asked_first, one.name)))


def identify(said: str) -> tuple[Flavour, str]:
    """Flavour and version of an mpiexec, from what it prints when asked with ``--version``."""
    first = next((line.strip() for line in said.splitlines() if line.strip()), "")
    flavour = next((one for one in known() if any(words in said for words in one.said)), UNKNOWN)
    number = re.search(r"(?:[Vv]ersion:?\s*|\)\s*)(\d+(?:\.\w+)+)", said)
    return flavour, number[1] if number else first[:60]
