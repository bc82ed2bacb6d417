# SPDX-License-Identifier: BSD-3-Clause
"""A CSV table with a heading: one row per operation or per size."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping
from pathlib import Path

from volley.data.imports.base import Format, Measurement
from volley.errors import DataError

NAMES: Mapping[str, tuple[str, ...]] = {
    "system": ("system", "mpi", "library", "version", "table"),
    "test": ("test", "benchmark", "operation", "mpi_call"),
    "variant": ("variant",),
    "ranks": ("ranks", "processes", "nprocs", "np"),
    "size": ("size_bytes", "size", "bytes", "slice_bytes", "msize", "message_size"),
    "launch": ("launch", "run"),
    "rank": ("rank",),
    "repetition": ("repetition", "rep", "nrep"),
}
"""Accepted headings, by meaning."""

TIMES: Mapping[str, float] = {
    "seconds": 1.0,
    "seconds_per_iteration": 1.0,
    "runtime_sec": 1.0,
    "time_s": 1.0,
    "milliseconds": 1e-3,
    "time_ms": 1e-3,
    "microseconds": 1e-6,
    "time_us": 1e-6,
    "latency_us": 1e-6,
    "usec": 1e-6,
    "duration_ns": 1e-9,
    "time_ns": 1e-9,
    "ns": 1e-9,
}
"""Accepted headings of the time, and what one unit is in seconds."""

STREAM = ("message", "send_ns", "receive_ns")


class TableFormat(Format):
    """A heading with a size and a time; or a stream: message, send_ns, receive_ns."""

    name = "csv"
    title = "CSV"
    expects = "a heading with a size (size_bytes) and a time (seconds), or message,send_ns,receive_ns"

    def _heading(self, text: str) -> list[str]:
        first = next(csv.reader(io.StringIO(text)), [])
        return [name.strip().lower() for name in first]

    def recognises(self, text: str) -> bool:
        """By its heading."""
        names = set(self._heading(text))
        timed = bool(names & set(TIMES)) and bool(names & set(NAMES["size"]))
        return timed or set(STREAM) <= names

    def read(self, text: str, path: Path) -> list[Measurement]:
        """Every row, with what its columns say."""
        heading = self._heading(text)
        rows = csv.DictReader(io.StringIO(text), fieldnames=heading)
        next(rows)
        if set(STREAM) <= set(heading):
            return self._stream(rows, path)
        meaning = {what: next((name for name in names if name in heading), None) for what, names in NAMES.items()}
        time = next(name for name in TIMES if name in heading)
        found = []
        for number, row in enumerate(rows, 2):
            given = {what: str(row[name] or "").strip() for what, name in meaning.items() if name}
            try:
                seconds = float(row[time]) * TIMES[time]
                whole = {
                    what: int(float(given[what]))
                    for what in ("ranks", "size", "launch", "rank", "repetition")
                    if given.get(what)
                }
            except (ValueError, TypeError):
                raise DataError(f"{path}:{number}: not a number where one is expected: {dict(row)}") from None
            if not (math.isfinite(seconds) and seconds > 0):
                raise DataError(f"{path}:{number}: a time of {row[time]} cannot be")
            found.append(
                Measurement(
                    test=given.get("test") or path.stem,
                    size=whole.get("size", 0),
                    seconds=seconds,
                    ranks=whole.get("ranks", 0),
                    variant=given.get("variant") or "-",
                    system=given.get("system", ""),
                    launch=whole.get("launch", 0),
                    rank=whole.get("rank", 0),
                    repetition=whole.get("repetition"),
                )
            )
        return found

    def _stream(self, rows: csv.DictReader[str], path: Path) -> list[Measurement]:
        """Stamps become gaps, sender's as rank 0 and receiver's as rank 1, as test `stream` has them."""
        found: list[Measurement] = []
        last: dict[int, int] = {}
        for number, row in enumerate(rows, 2):
            try:
                message, size = int(row["message"]), int(row.get("size_bytes") or row.get("size") or 0)
                stamps = {0: int(float(row["send_ns"])), 1: int(float(row["receive_ns"]))}
            except (ValueError, TypeError):
                raise DataError(f"{path}:{number}: not a row of message, send_ns, receive_ns: {dict(row)}") from None
            for rank, stamp in stamps.items():
                if rank in last:
                    gap = (stamp - last[rank]) * 1e-9
                    found.append(Measurement("stream", size, gap, rank=rank, repetition=message, start_ns=last[rank]))
                last[rank] = stamp
        return found
