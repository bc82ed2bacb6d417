# SPDX-License-Identifier: BSD-3-Clause
"""Message sizes: reading them, writing them, and choosing which to measure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from math import exp, log, sqrt

from volley.errors import UsageError

_UNITS = {"": 1, "k": 1000, "ki": 1024, "m": 1000**2, "mi": 1024**2, "g": 1000**3, "gi": 1024**3}
_SIZE = re.compile(r"(\d+)\s*([kmg]i?)?b?", re.IGNORECASE)


def parse_size(text: str) -> int:
    """Bytes in ``512``, ``4Ki``, ``64KiB``, ``1M`` (1,000,000), ``8Mi``. Raises UsageError."""
    match = _SIZE.fullmatch(text.strip())
    if not match:
        raise UsageError(f'"{text}" is no size', "write bytes (512) or with a unit: 4Ki, 64KiB, 1M, 8Mi")
    return int(match[1]) * _UNITS[(match[2] or "").lower()]


def parse_sizes(text: str) -> list[int]:
    """Sizes in ``1,100,4Ki`` and/or ranges of powers of two ``1..8Mi``; sorted, without repeats."""
    found: set[int] = set()
    for part in text.split(","):
        low, dots, high = part.partition("..")
        if not dots:
            found.add(parse_size(part))
            continue
        first, last = parse_size(low), parse_size(high)
        if first > last:
            raise UsageError(f'"{part}" is an empty range of sizes', f"write the smaller first: {high}..{low}")
        found.update(powers_of_two(first, last))
    return sorted(found)


def powers_of_two(first: int, last: int) -> list[int]:
    """`first` (if it is 0 or a bound), the powers of two in [first, last], and `last`."""
    powers = [1 << exponent for exponent in range(last.bit_length()) if first <= 1 << exponent <= last]
    return sorted({first, last, *powers})


def with_neighbours(sizes: Iterable[int], low: int, high: int) -> list[int]:
    """Adds n-64, n-1 and n+1 around each size n, within [low, high].

    A limit sits just above or below a power of two (Open MPI's 4096-byte eager limit counts its own
    header), so a sweep over powers of two alone reports the slow side of it as if it were the curve.
    """
    found = set(sizes)
    for size in list(found):
        found.update(near for near in (size - 64, size - 1, size + 1) if low <= near <= high)
    return sorted(found)


def refine(curve: Mapping[int, tuple[float, float, float]], tolerance: float = 0.25, limit: int = 16) -> list[int]:
    """Sizes to add where neighbouring points disagree with interpolation.

    `curve` gives (low, value, high) by size: a point and its interval. For each inner point the value that
    its neighbours predict (linearly in log size, log time) is compared with its interval; where it lies
    outside by more than `tolerance` (relative to the value), the middle of that neighbouring interval of
    sizes over which the time changes more is added. Adjacent sizes cannot be split. Largest disagreements
    first, at most `limit` sizes. After SKaMPI's automatic refinement (Reussner et al. 1998).
    """
    sizes = sorted(size for size, (low, _, _) in curve.items() if size > 0 and low > 0)
    value = {size: curve[size][1] for size in sizes}
    doubts: dict[tuple[int, int], float] = {}
    for left, middle, right in zip(sizes, sizes[1:], sizes[2:], strict=False):
        share = (log(middle) - log(left)) / (log(right) - log(left))
        predicted = exp(log(value[left]) * (1 - share) + log(value[right]) * share)
        low, _, high = curve[middle]
        disagreement = max(low - predicted, predicted - high, 0.0) / predicted
        if disagreement <= tolerance:
            continue
        rises_left = abs(log(value[middle] / value[left]))
        rises_right = abs(log(value[right] / value[middle]))
        interval = (left, middle) if rises_left >= rises_right else (middle, right)
        doubts[interval] = max(doubts.get(interval, 0.0), disagreement)
    worst_first = sorted(doubts, key=lambda interval: -doubts[interval])
    middles = [(round(sqrt(left * right)), left, right) for left, right in worst_first]
    return sorted([middle for middle, left, right in middles if left < middle < right][:limit])


def format_size(size: int) -> str:
    """``4 KiB`` for exact multiples, else plain bytes with thin grouping: ``16,304 B``."""
    for unit, name in ((1024**3, "GiB"), (1024**2, "MiB"), (1024, "KiB")):
        if size >= unit and size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size:,} B"
