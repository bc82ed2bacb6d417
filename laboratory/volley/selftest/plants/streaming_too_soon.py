# SPDX-License-Identifier: BSD-3-Clause
"""A C library that takes the last cache for small: its memcpy writes past the caches long before they are full."""

from __future__ import annotations

from collections.abc import Mapping

from volley.detect.finding import Finding
from volley.explain.causes.streaming_stores import KINDS
from volley.machine import facts as machine_facts
from volley.machine.tunables import OUT_OF_REACH, REPEATS_FROM, STREAMS_FROM, VARIABLE, with_tunable
from volley.selftest.plant import Plant

THRESHOLD = 200_000
VECTORS = with_tunable("", REPEATS_FROM, OUT_OF_REACH)
"""On AMD's processors glibc copies by `rep movsb` up to the second cache's size, which streams nothing (dl-cacheinfo.h:
rep_movsb_stop_threshold, which cannot be set); so it must not begin to."""


class StreamingTooSoon(Plant):
    """LAM copies messages whole, into shared memory and out of it."""

    name = "streaming stores too soon"
    cause = "streaming stores"
    systems = "lam/usysv,machine"
    tests = "pingpong,ceilings"
    sizes = (16384, 24576, 32768, 49152, 65536, 98304, 131072, 163840, 196608, 262144, 327680, 393216, 524288)
    seconds = 25.0

    def unavailable(self) -> str:
        """Where glibc has such a threshold."""
        return "" if machine_facts.streams_from() else "this C library's memcpy has no threshold that could be set"

    def variables(self) -> Mapping[str, str]:
        """As a machine's administrator sets it for all."""
        return {VARIABLE: with_tunable(VECTORS, STREAMS_FROM, THRESHOLD)}

    def shows(self, finding: Finding) -> bool:
        """Slower from the threshold on."""
        near = 131072 <= finding.size_from <= 262144
        return finding.test == "pingpong" and finding.kind in KINDS and finding.magnitude > 1.3 and near
