# SPDX-License-Identifier: BSD-3-Clause
"""Output of the Intel MPI Benchmarks (IMB-MPI1 and relatives)."""

from __future__ import annotations

import re
from pathlib import Path

from volley.data.imports.base import Format, Measurement
from volley.errors import DataError

_BENCHMARK = re.compile(r"^#\s*Benchmarking\s+(\S+)")
_RANKS = re.compile(r"^#\s*#processes\s*=\s*(\d+)")
_TESTS = {
    "pingpong": "pingpong",
    "sendrecv": "sendrecv",
    "barrier": "barrier",
    "bcast": "bcast",
    "reduce": "reduce",
    "allreduce": "allreduce",
    "reduce_scatter": "reduce_scatter",
    "allgather": "allgather",
    "alltoall": "alltoall",
    "scan": "scan",
}
_TIMES = ("t[usec]", "t_max[usec]")
"""Columns that hold the time: of point-to-point tests, and of the slowest rank in collectives."""


class ImbFormat(Format):
    """``# Benchmarking PingPong``, ``# #processes = 2``, a heading with ``#bytes``, rows."""

    name = "imb"
    title = "Intel MPI Benchmarks"
    expects = 'lines "# Benchmarking …" and a heading with "t[usec]" or "t_max[usec]"'

    def recognises(self, text: str) -> bool:
        """By its headings."""
        return re.search(r"^#\s*Benchmarking\s", text, re.MULTILINE) is not None and "[usec]" in text

    def read(self, text: str, path: Path) -> list[Measurement]:
        """All benchmarks of the output."""
        found: list[Measurement] = []
        test, ranks = "", 2
        columns: list[str] = []
        for number, line in enumerate(text.splitlines(), 1):
            if benchmark := _BENCHMARK.match(line):
                test = _TESTS.get(benchmark[1].lower(), f"imb {benchmark[1].lower()}")
                columns = []
            elif count := _RANKS.match(line):
                ranks = int(count[1])
            elif "[usec]" in line:
                columns = line.split()
            elif columns and (fields := line.split()) and fields[0].isdigit():
                found.append(self._row(fields, columns, test, ranks, f"{path}:{number}"))
            elif not line.strip():
                columns = columns if not found else []
        return found

    def _row(self, fields: list[str], columns: list[str], test: str, ranks: int, where: str) -> Measurement:
        row = dict(zip(columns, fields, strict=False))
        time = next((row[name] for name in _TIMES if name in row), None)
        try:
            size, microseconds = int(row.get("#bytes", 0)), float(time or "")
        except ValueError:
            raise DataError(f"{where}: not a row under {' '.join(columns)}: {' '.join(fields)[:80]}") from None
        return Measurement(test=test, size=size, seconds=microseconds * 1e-6, ranks=ranks)
