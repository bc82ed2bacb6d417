# SPDX-License-Identifier: BSD-3-Clause
"""A cause planted on purpose, and what must come out: found, named, proven; and never a wrong one.

To add a plant, add a module to ``plants/`` with a subclass of :class:`Plant`. A plant works on the machine, or on the
environment of launches (`planted`), behind the back of detection and explanation: they see what a user's machine
would show them.
"""

from __future__ import annotations

import contextlib
import importlib
import pkgutil
from abc import ABC
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import ClassVar

from volley.detect.finding import Finding
from volley.machine.environment import planted

__all__ = ["Plant", "planted", "plants"]


class Plant(ABC):
    """One cause, planted."""

    name: ClassVar[str]
    cause: ClassVar[str | None]
    """The name of the cause that must be told first; None: none that we know (nothing may be CONFIRMED)."""
    systems: ClassVar[str]
    """As `volley study --systems` takes them."""
    tests: ClassVar[str]
    sizes: ClassVar[Sequence[int] | None] = None
    """Instead of the tests' own."""
    ranks: ClassVar[Sequence[int] | None] = None
    launches: ClassVar[int] = 6
    seconds: ClassVar[float] = 30.0
    """Budget of the study, at most."""
    pin: ClassVar[bool] = True
    compares: ClassVar[bool] = False
    """Whether the planted study is compared with one that was made before planting."""
    quick: ClassVar[bool] = False
    """Whether the short suite, which CI runs, has it."""
    loads_the_machine: ClassVar[bool] = False
    """Whether it is itself what the counters of launches take for load: then they say nothing of the machine."""

    @property
    def hosts(self) -> str:
        """Where it is measured, as a study's options say it (hosts.choose.from_spec); '' is this machine."""
        return ""

    def unavailable(self) -> str:
        """Why it cannot be planted on this machine; '' if it can."""
        return ""

    def variables(self) -> Mapping[str, str]:
        """What to set for every launch, where that is all it takes."""
        return {}

    @contextlib.contextmanager
    def surroundings(self) -> Iterator[None]:
        """Plants it, around study and explanation; takes it away whatever happens."""
        with planted(self.variables()):
            yield

    @property
    def slug(self) -> str:
        """Its name as that of a folder."""
        return self.name.replace(" ", "-")

    def shows(self, finding: Finding) -> bool:
        """Whether a finding is the planted one: by kind and place."""
        raise NotImplementedError


@cache
def plants() -> tuple[Plant, ...]:
    """Every plant, by name."""
    package = importlib.import_module("volley.selftest.plants")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")
    return tuple(sorted((kind() for kind in Plant.__subclasses__()), key=lambda one: one.name))
