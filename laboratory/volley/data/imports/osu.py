# SPDX-License-Identifier: BSD-3-Clause
"""Output of the OSU Micro-Benchmarks (OMB 5 to 7): latency, bandwidth and collectives."""

from __future__ import annotations

import re
from pathlib import Path

from volley.data.imports.base import Format, Measurement
from volley.errors import DataError

_TITLE = re.compile(r"^#\s*OSU MPI(?:-\w+)?\s+(?P<what>.+?)\s+Test\b", re.MULTILINE)
_TESTS = {
    "latency": "pingpong",
    "multi latency": "pingpong",
    "barrier latency": "barrier",
    "broadcast latency": "bcast",
    "bcast latency": "bcast",
    "reduce latency": "reduce",
    "allreduce latency": "allreduce",
    "reduce_scatter latency": "reduce_scatter",
    "allgather latency": "allgather",
    "all-to-all personalized exchange latency": "alltoall",
    "alltoall latency": "alltoall",
    "all-to-all latency": "alltoall",
    "scan latency": "scan",
}


class OsuFormat(Format):
    """``# OSU MPI Latency Test v7.4``, a heading, and rows of size and time (µs) or bandwidth (MB/s)."""

    name = "osu"
    title = "OSU Micro-Benchmarks"
    expects = 'a line "# OSU MPI … Test"'

    def recognises(self, text: str) -> bool:
        """By its title line."""
        return _TITLE.search(text) is not None

    def read(self, text: str, path: Path) -> list[Measurement]:
        """Rows below each title; a bandwidth becomes the time of one message."""
        found: list[Measurement] = []
        test, bandwidth, sized, ranks = "", False, True, 0
        for number, line in enumerate(text.splitlines(), 1):
            if title := _TITLE.match(line):
                what = title["what"].lower()
                test = _TESTS.get(what, "osu " + what)
                bandwidth, sized = False, "barrier" not in what
            elif line.startswith("#"):
                bandwidth = bandwidth or "MB/s" in line
                sized = sized or bool(re.match(r"#\s*Size", line))
                if count := re.search(r"(?:number of )?(?:processes|ranks)\s*[:=]\s*(\d+)", line, re.IGNORECASE):
                    ranks = int(count[1])
            elif test and (fields := line.split()) and re.match(r"[\d.]", fields[0]):
                found.append(self._row(fields, test, bandwidth, sized, ranks, f"{path}:{number}"))
        return found

    def _row(self, fields: list[str], test: str, bandwidth: bool, sized: bool, ranks: int, where: str) -> Measurement:
        try:
            size = int(fields[0]) if sized else 0
            value = float(fields[1] if sized else fields[0])
        except (ValueError, IndexError):
            raise DataError(f"{where}: not a row of OSU output: {' '.join(fields)[:80]}") from None
        if value <= 0:
            raise DataError(f"{where}: a time or bandwidth of {value} cannot be")
        seconds = size / (value * 1e6) if bandwidth else value * 1e-6
        return Measurement(test=test, size=size, seconds=seconds, ranks=ranks)
