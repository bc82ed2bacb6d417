# SPDX-License-Identifier: BSD-3-Clause
"""What `volley detect` finds, as a plain dataclass that goes to JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

STATUSES = ("CONFIRMED", "SUSPECTED", "UNEXPLAINED", "UNDECIDED")
"""A detector gives UNEXPLAINED (it is there) or UNDECIDED (it shows, but these data cannot tell whether it
would show again); SUSPECTED and CONFIRMED need a cause, which is for `volley explain`."""

UNDECIDED_CONFIDENCE = 0.5
"""An UNDECIDED finding never claims more than this."""


@dataclass(frozen=True)
class Finding:
    """One oddity. Sizes are bytes (ranks where the test's axis is ranks)."""

    kind: str
    system: str
    test: str
    size_from: int
    """Of a step, plateau or collapse the last size before it; else the first size it shows at."""
    size_to: int
    """Of a step the first size after it; of a plateau or collapse where it recovers; else the last size."""
    magnitude: float
    """Ratio of times: with the oddity to without it. Above 1 is slower."""
    interval: tuple[float, float]
    """Of the magnitude, 95 %."""
    confidence: float
    """From 0 to 1: one minus the false discoveries to be expected among findings like this."""
    cause: str | None = None
    status: str = "UNEXPLAINED"
    evidence: Mapping[str, Any] = field(default_factory=dict)
    """Numbers and words the finding rests on; ``says`` is one sentence for a person."""
    period: int | None = None
    """Of a stall: every how many messages; None where it follows no period."""
    duration_ns: float | None = None
    """Of a stall: how long one lasts, beyond the usual gap."""
    variant: str = "-"
    ranks: int = 0
    """World size; 0 where it is not known or is the curve's axis."""
    p_value: float | None = None
    """Before correction for all that was looked at in a study. None: not inferred but seen (a launch that ended, bytes
    that are wrong), so that there is nothing to correct."""

    def to_json(self) -> dict[str, Any]:
        """As `volley detect --json` prints it."""
        said: dict[str, Any] = {
            "kind": self.kind,
            "system": self.system,
            "test": self.test,
            "size_from": self.size_from,
            "size_to": self.size_to,
            "magnitude": _number(self.magnitude),
            "interval": [_number(end) for end in self.interval],
            "confidence": round(self.confidence, 4),
            "cause": self.cause,
            "status": self.status,
            "evidence": {"variant": self.variant, "ranks": self.ranks, **_plain(self.evidence)},
        }
        if self.kind == "stall":
            said["period"] = self.period
            said["duration_ns"] = _number(self.duration_ns)
        return said


def _number(value: float | None) -> float | None:
    """Six digits; JSON has no infinity."""
    if value is None or not math.isfinite(value):
        return None
    return float(f"{value:.6g}")


def _plain(value: Any) -> Any:
    """Numbers of numpy become Python's."""
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if hasattr(value, "item"):
        value = value.item()
    return _number(value) if isinstance(value, float) else value
