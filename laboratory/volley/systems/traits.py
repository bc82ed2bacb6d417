# SPDX-License-Identifier: BSD-3-Clause
"""What causes and reports must know of one MPI: said once, by its system or its flavour."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Algorithm:
    """One algorithm of a collective, and the settings that make an MPI use it at all sizes."""

    name: str
    settings: Mapping[str, str]
    without_rules: str = ""
    """Not one algorithm, but the MPI's own choice without this file of rules, which it was told to choose by."""


Algorithms = Callable[[str, Mapping[str, str]], Iterable[Algorithm]]
"""From a collective's name and what an MPI reports of its settings to what can be forced."""


@dataclass(frozen=True)
class CopySwitch:
    """What makes an MPI copy a large message otherwise."""

    reported: str
    """The setting by which it says how it copies."""
    settings: Mapping[str, str]
    value: str = ""
    """The value that it must have now; '': any."""


def no_algorithms(collective: str, knobs: Mapping[str, str]) -> Iterable[Algorithm]:
    """Of an MPI whose algorithms nobody can choose."""
    return ()


@dataclass(frozen=True)
class Traits:
    """Where a field is empty, nothing of the kind is known of that MPI."""

    colours: tuple[str, str] | None = None
    """In pictures: on white, on black."""
    dashes: Mapping[str, str] = field(default_factory=dict)
    """Transport → line in pictures, in plotly's words. What is not named is solid; TCP is dashed."""
    sockets: frozenset[str] = frozenset({"tcp"})
    """Transports whose messages go through TCP sockets."""
    inherits_nothing: str = ""
    """Why its ranks have neither the affinity, nor the priority, nor the control group of who starts them."""
    yielding: Mapping[str, str] = field(default_factory=dict)
    """Settings by which ranks that wait give their core away."""
    yielding_advice: str = ""
    """How a user sets that."""
    buffers_advice: str = ""
    """How a user leaves socket buffers to the kernel."""
    binding_advice: str = ""
    """How a user binds ranks to cores."""
    single_copy_advice: str = ""
    """How a user keeps it from reading other ranks' memory."""
    copy_switches: tuple[CopySwitch, ...] = ()
    """The first that fits what it reports is tried."""
    algorithms: Algorithms = no_algorithms
