# SPDX-License-Identifier: BSD-3-Clause
"""What detectors look at: curves by launch, operations in their order, streams, and figures of a table."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from volley.data.results import Launch
from volley.detect.shape import Shape

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Series:
    """The operations of one launch at one point, in the order they were done."""

    launch: int
    size: int
    times_ns: Floats


@dataclass(frozen=True)
class CurveData:
    """One test's times by size (or ranks) and launch, on one system."""

    system: str
    test: str
    variant: str
    ranks: int
    sizes: Integers
    """Ascending."""
    launches: tuple[int, ...]
    log_ns: Floats
    """[launch, size]: logarithm of the launch's value; NaN where it has none."""
    series: Sequence[Series] = ()
    axis: str = "size"
    stream: bool = False
    """Its operations are messages of a stream: looked at as such, not as repetitions."""
    comparable: bool = True
    """Whether its times say how fast a system is (not so for late_receiver, a probe)."""

    @property
    def key(self) -> tuple[str, str, int]:
        """What must agree between two systems for their curves to be compared."""
        return (self.test, self.variant, self.ranks)

    @cached_property
    def shape(self) -> Shape:
        """Level, noise, pieces and outliers of the curve; computed once."""
        return Shape.of(self.sizes, self.log_ns)


@dataclass(frozen=True)
class StreamData:
    """One launch's stream: the gap before each message but the first, in the order of sending."""

    system: str
    test: str
    variant: str
    ranks: int
    size: int
    """Bytes; 0: not known."""
    launch: int
    receiver_gaps_ns: Floats
    sender_gaps_ns: Floats | None = None
    first_message: int = 1
    """Number of the message before which the first gap lies, counted from 0."""


@dataclass
class Material:
    """Everything read from one study or file."""

    name: str
    curves: list[CurveData] = field(default_factory=list)
    streams: list[StreamData] = field(default_factory=list)
    launches: list[Launch] = field(default_factory=list)
    """Facts of launches: what froze, what failed."""
    figures: pl.DataFrame | None = None
    """A table as it stands in its file, with columns of its own: rates, nodes, processes."""
    samples: int = 0

    def only(self, names: Collection[str]) -> Material:
        """The curves and streams of some systems."""
        return Material(
            self.name,
            [one for one in self.curves if one.system in names],
            [one for one in self.streams if one.system in names],
            samples=self.samples,
        )

    def systems(self) -> list[str]:
        """Names, sorted."""
        return sorted({one.system for one in self.curves} | {one.system for one in self.streams})
