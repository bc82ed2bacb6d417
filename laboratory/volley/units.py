# SPDX-License-Identifier: BSD-3-Clause
"""Numbers as a person reads them, the same in the page, the plots, the tables and the terminal."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

_TIMES = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"))
_RATES = ((1e12, "TB/s"), (1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"), (1.0, "B/s"))
_ROUNDS_UP = 0.9995
"""From this share of a unit on, three digits round up to the unit: 999.9 ns is written 1 µs."""


_TICK_MANTISSAS: Sequence[Sequence[float]] = (
    (1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8, 9),
    (1, 1.5, 2, 3, 4, 5, 7),
    (1, 2, 5),
    (1, 3),
    (1,),
)
"""From dense to sparse: the first that does not crowd an axis is taken."""


def _three_digits(value: float) -> str:
    return f"{value:.0f}" if value >= 99.95 else f"{value:#.3g}".rstrip(".")


def _with_unit(value: float, units: Sequence[tuple[float, str]]) -> str:
    for unit, name in units:
        if value >= unit * _ROUNDS_UP:
            return f"{_three_digits(value / unit)} {name}"
    return f"{_three_digits(value / units[-1][0])} {units[-1][1]}"


def format_time(nanoseconds: float) -> str:
    """``12.3 µs``: three digits, in the largest unit that leaves a number of at least one."""
    return _with_unit(nanoseconds, _TIMES) if math.isfinite(nanoseconds) else "?"


def format_ratio(ratio: float, digits: int = 3, whole: bool = False) -> str:
    """``1.35``, ``2,080``, ``0.00244``: so many digits, without powers of ten. `whole`: ``1.00`` instead of ``1``."""
    if ratio <= 0 or not math.isfinite(ratio):
        return f"{ratio:g}"
    decimals = digits - 1 - math.floor(math.log10(ratio))
    text = f"{round(ratio, decimals):,.{max(decimals, 0)}f}"
    return text.rstrip("0").rstrip(".") if "." in text and not whole else text


def format_rate(bytes_per_second: float) -> str:
    """``1.23 GB/s``; decimal units, as networks and memory are sold."""
    return _with_unit(bytes_per_second, _RATES) if math.isfinite(bytes_per_second) else "?"


def short(text: str) -> str:
    """``10 µs`` for ``10.0 µs``: as ticks of an axis are written."""
    return re.sub(r"(\.\d*?)0+(?= )", r"\1", text).replace(". ", " ")


def tick_size(size: int) -> str:
    """A size below an axis: ``256``, ``4 KiB``, ``1 MiB``."""
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit and size % unit == 0:
            return f"{size // unit} {name}"
    return str(size)


def log_ticks(low: float, high: float, most: int) -> list[float]:
    """Round numbers in [low, high]: as many as fit into `most`, from every decade or parts of it."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    for mantissas in _TICK_MANTISSAS:
        ticks = [m * 10.0**e for e in range(first, last + 1) for m in mantissas]
        ticks = [tick for tick in ticks if low <= tick <= high]
        if len(ticks) <= most:
            return ticks
    step = math.ceil((last - first) / most)
    return [10.0**e for e in range(first, last + 1, step) if low <= 10.0**e <= high]


def size_ticks(low: float, high: float, most: int) -> list[int]:
    """Powers of 2, 4, 16 or 256 in [low, high]: as many as fit into `most`."""
    for step in (1, 2, 4, 8):
        ticks = [1 << e for e in range(0, 63, step) if low <= 1 << e <= high]
        if len(ticks) <= most:
            return ticks
    return ticks
