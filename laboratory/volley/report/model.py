# SPDX-License-Identifier: BSD-3-Clause
"""What the report draws besides curves: streams message by message, and boxes launch by launch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Stream:
    """One launch's stream of small messages: the gap before each message, in the order of sending."""

    system: str
    test: str
    variant: str
    size: int
    launch: int
    sender_gaps_ns: Sequence[float] | None
    """Between the starts of neighbouring sends; None where the sender kept no stamps."""
    receiver_gaps_ns: Sequence[float] | None
    """Between neighbouring arrivals; None where the receiver kept no stamps."""


@dataclass(frozen=True)
class LaunchBox:
    """Single operations of one launch at one size: what a box plot draws."""

    system: str
    test: str
    variant: str
    ranks: int
    size: int
    launch: int
    minimum: float
    q1: float
    median: float
    q3: float
    maximum: float
