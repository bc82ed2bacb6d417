# SPDX-License-Identifier: BSD-3-Clause
"""stall: messages of a stream that come late, how late, every how many, and up to which size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from volley.detect.finding import Finding
from volley.detect.material import Floats, Material, StreamData
from volley.detect.registry import Detector, Search
from volley.detect.statistics import launch_interval, launch_p_value, robust_spread, together
from volley.units import format_time

LATE = 6.0
"""A gap is a stall from this many times the usual gap on (and this many robust deviations above it)."""
LEAST_SHARE = 0.10
"""Share of the stream's whole time that periodic stalls must take to be worth telling."""
LEAST_SHARE_WITHOUT_PERIOD = 0.5
"""The same for stalls that follow no period: interruptions of a busy machine are common."""
LEAST_WITHOUT_PERIOD_NS = 0.5e6
"""Half a millisecond: timers and schedulers. Shorter waits with no period are a receiver that sleeps while a
batch of messages gathers."""
PERIOD_P = 1e-4
"""Of so regular a sequence by chance."""
PERIOD_P_SHORT = 1e-10
"""The same for waits below LEAST_WITHOUT_PERIOD_NS: batches, too, come somewhat regularly."""
FEWEST = 4
"""Stalls; three gaps between them at least, all alike, are no chance."""
COMMON = -math.log(1 - 0.05)
"""What late messages take of a stream's time on any machine, as a log factor: streams without a period are tested
against it, launch by launch."""
MOST_LOST = 1 - 1e-9
TOLERANCE = 1
"""Messages by which a period may jitter."""


@dataclass(frozen=True)
class Stalls:
    """What one launch's stream shows."""

    stream: StreamData
    usual_ns: float
    places: tuple[int, ...]
    """Numbers of the late messages."""
    lateness_ns: Floats
    """Beyond the usual gap."""
    period: int | None
    p_value: float
    """Of so regular a sequence if late messages fell anywhere."""
    share: float
    """Of the stream's time."""
    sender_too: float
    """Share of the stalls at which the sender stood as well; NaN if it has no stamps."""


class StallDetector(Detector):
    """Late messages within each stream, then put together over launches and sizes."""

    kinds = ("stall",)

    def search(self, material: Material, against: Material | None) -> Search:
        """One candidate per run of sizes that stall alike."""
        seen: dict[tuple[str, str, str, int], dict[int, list[Stalls]]] = {}
        for stream in material.streams:
            at = (stream.system, stream.test, stream.variant, stream.ranks)
            seen.setdefault(at, {}).setdefault(stream.size, []).append(look(stream))
        found = [finding for sizes in seen.values() for finding in _together(sizes)]
        return Search(found, sum(len(sizes) for sizes in seen.values()))


def look(stream: StreamData) -> Stalls:
    """Late messages of one stream and their period."""
    gaps = stream.receiver_gaps_ns
    usual = float(np.median(gaps))
    limit = usual + max((LATE - 1) * usual, LATE * robust_spread(gaps))
    late = np.flatnonzero(gaps > limit)
    late = late[gaps[late] > 0.2 * np.quantile(gaps[late], 0.9)] if len(late) else late
    period, p_value = find_period(late, len(gaps))
    short = len(late) > 0 and float(np.median(gaps[late])) - usual < LEAST_WITHOUT_PERIOD_NS
    if short and p_value > PERIOD_P_SHORT:
        period = None
    total = float(gaps.sum())
    share = float((gaps[late] - usual).sum() / total) if total > 0 else 0.0
    sender = float("nan")
    if stream.sender_gaps_ns is not None and len(late):
        near = [stream.sender_gaps_ns[max(0, at - 1) : at + 2].max(initial=0.0) for at in late]
        sender = float(np.mean(np.array(near) > 0.5 * (gaps[late])))
    places = tuple(int(at) + stream.first_message for at in late)
    return Stalls(stream, usual, places, gaps[late] - usual, period, p_value, share, sender)


def find_period(late: np.ndarray[tuple[int], np.dtype[np.int64]], count: int) -> tuple[int | None, float]:
    """(N, p) if late messages come every N-th, or at multiples of it where one was spared; else (None, p).

    Candidates are the distances that occur. For each, how many distances are multiples of it (within
    TOLERANCE) is compared with what would be by chance if late messages fell anywhere at the rate seen
    (binomial); of equally good ones the largest N wins, since every divisor fits as well.
    """
    from scipy.stats import binom

    if len(late) < FEWEST:
        return None, 1.0
    distances = np.diff(late)
    rate = len(late) / count
    candidates = np.unique(distances[distances >= 2])
    best: tuple[float, int] | None = None
    for n in candidates.tolist():
        for slack in (0, TOLERANCE) if n >= 8 else (0,):
            exact = int((np.abs(distances - n) <= slack).sum())
            rest = distances % n
            fits = (np.minimum(rest, n - rest) <= slack) & (distances >= n - slack)
            if exact < max(0.5 * len(distances), 3) or fits.mean() < 0.6:
                continue
            chance = min(1.0, (2 * slack + 1) * max(rate, 1 / n) * (1 - rate) ** max(n - 1 - slack, 0))
            p = float(binom.sf(exact - 1, len(distances), chance)) * 2 * len(candidates)
            if best is None or p < best[0]:
                best = (p, n)
    if best is None or best[0] > PERIOD_P:
        return None, 1.0
    near = distances[np.abs(distances - best[1]) <= TOLERANCE]
    return int(np.round(np.median(near))), min(best[0], 1.0)


def _worth_telling(launches: Sequence[Stalls]) -> bool:
    """Whether most launches at this size stall: with the period they agree on, or for most of the time."""
    enough = _regular if _period(launches) is not None else _long
    told = [one for one in launches if len(one.places) >= FEWEST and enough(one)]
    return 2 * len(told) > len(launches)


def _regular(one: Stalls) -> bool:
    return one.share >= LEAST_SHARE


def _long(one: Stalls) -> bool:
    return one.share >= LEAST_SHARE_WITHOUT_PERIOD and float(np.median(one.lateness_ns)) >= LEAST_WITHOUT_PERIOD_NS


def _period(launches: Sequence[Stalls]) -> int | None:
    """The period that more than half of the launches agree on."""
    known = [one.period for one in launches if one.period is not None]
    if 2 * len(known) <= len(launches):
        return None
    middle = int(np.median(known))
    alike = [one for one in known if abs(one - middle) <= TOLERANCE]
    return middle if 2 * len(alike) > len(launches) else None


def _together(sizes: dict[int, list[Stalls]]) -> list[Finding]:
    """Neighbouring sizes with the same period are one finding, which says where stalls end."""
    ordered = sorted(sizes)
    stalled = {size: (_worth_telling(sizes[size]), _period(sizes[size])) for size in ordered}
    found = []
    for (told, _), group in groupby(ordered, key=lambda size: _alike(stalled, size)):
        if told:
            run = list(group)
            smaller = [size for size in ordered if size < run[0]]
            larger = [size for size in ordered if size > run[-1]]
            found.append(_finding(run, [one for size in run for one in sizes[size]], smaller, larger))
    return found


def _alike(stalled: dict[int, tuple[bool, int | None]], size: int) -> tuple[bool, int]:
    """What sizes of one run share; periods one apart count as the same."""
    told, period = stalled[size]
    if not told or period is None:
        return told, 0
    first = next(one for _, one in stalled.values() if one is not None and abs(one - period) <= TOLERANCE)
    return told, first


def _finding(run: list[int], launches: list[Stalls], smaller: list[int], larger: list[int]) -> Finding:
    stream = launches[0].stream
    late = np.concatenate([one.lateness_ns for one in launches])
    usual = float(np.median([one.usual_ns for one in launches]))
    period = _period(launches)
    duration = float(np.median(late))
    ends = np.quantile(late, [0.025, 0.975])
    factors = [math.log1p(float(np.median(one.lateness_ns)) / one.usual_ns) for one in launches if len(one.places)]
    lost = [-math.log1p(-min(one.share, MOST_LOST)) for one in launches]
    count = int(np.median([len(one.places) for one in launches]))
    often = f"every {_ordinal(period)} message comes" if period else f"{count} messages, with no period, come"
    sender = [one.sender_too for one in launches if math.isfinite(one.sender_too)]
    until = f"; not at {larger[0]:,} B and above" if larger else "; up to the largest size measured" if run[-1] else ""
    return Finding(
        "stall",
        stream.system,
        stream.test,
        run[0],
        run[-1],
        (usual + duration) / usual,
        launch_interval(factors),
        1.0 if period else 0.9,
        evidence={
            "says": f"{often} {format_time(duration)} late ({format_time(float(ends[0]))} to "
            f"{format_time(float(ends[1]))}; usual gap {format_time(usual)}){until}",
            "stalls_per_launch": count,
            "messages_per_launch": int(np.median([len(one.stream.receiver_gaps_ns) + 1 for one in launches])),
            "shortest_ns": float(late.min()),
            "longest_ns": float(late.max()),
            "usual_gap_ns": usual,
            "share_of_time": float(np.median([one.share for one in launches])),
            "first_late_messages": list(launches[0].places[:8]),
            "largest_size_that_stalls": run[-1],
            "smallest_size_that_does_not": larger[0] if larger else None,
            "largest_smaller_size_that_does_not": smaller[-1] if smaller else None,
            "sender_stands_too": float(np.mean(sender)) if sender else None,
            "launches": len(launches),
        },
        variant=stream.variant,
        ranks=stream.ranks,
        period=period,
        duration_ns=duration,
        p_value=together([one.p_value for one in launches]) if period else launch_p_value(lost, COMMON),
    )


def _ordinal(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
