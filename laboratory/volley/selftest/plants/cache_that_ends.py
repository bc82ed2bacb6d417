# SPDX-License-Identifier: BSD-3-Clause
"""Messages that outgrow a cache: every machine has the place, and each its own."""

from __future__ import annotations

from collections.abc import Sequence

from volley.detect.finding import Finding
from volley.machine.facts import caches
from volley.selftest.plant import Plant

LARGEST = 64 << 20
"""Bytes of the largest cache that messages are to outgrow here."""


def _cache() -> int:
    """The largest data cache that is not too large, in bytes; 0 if the machine does not tell."""
    return max((one["bytes"] for one in caches() if one["level"] > 1 and one["bytes"] <= LARGEST), default=0)


class CacheThatEnds(Plant):
    """Sendrecv of large messages, two buffers a rank; copying alone falls there, too, as with streaming stores.

    Two MPIs, as one of them may change its own way of copying near by (Intel MPI where the last cache has 32 MiB: at
    2,883,571 and 9,437,184 bytes).
    """

    name = "cache that ends"
    cause = "cache level"
    systems = "volley/shared,intel/shm,machine"
    tests = "sendrecv,ceilings"
    seconds = 40.0

    @property
    def sizes(self) -> Sequence[int]:  # type: ignore[override]
        """From a sixteenth of the cache to four times its size, three per octave."""
        return [round(_cache() / 16 * 2 ** (step / 3)) // 64 * 64 for step in range(19)]

    def unavailable(self) -> str:
        """Where the machine tells no cache between its first level and LARGEST."""
        return "" if _cache() else "the machine tells no cache above its first level that is small enough"

    def shows(self, finding: Finding) -> bool:
        """Slower for good from somewhere near the cache on."""
        near = _cache() / 16 <= finding.size_from <= _cache()
        edge = finding.kind in ("step", "plateau", "collapse") and finding.magnitude > 1.1
        return finding.test == "sendrecv" and edge and near
