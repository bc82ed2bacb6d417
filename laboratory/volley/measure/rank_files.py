# SPDX-License-Identifier: BSD-3-Clause
"""What the ranks of one launch left in its folder: the other side of ``benchmarks/volley_test.h``.

``rank-R.samples`` holds pairs of little-endian uint64 (start, duration) in ticks; ``rank-R.jsonl`` one
JSON object per line: which rank it is, its clock, the blocks of samples by size and variant, and whatever
the test has to say.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from volley.errors import DataError
from volley.hosts.observer import HostClock

FRAME_FACTS = {"rank", "clock", "block", "complete"}
"""Facts that the frame writes for every rank and that this module consumes."""

SCHEMA: dict[str, pl.DataType] = {
    "variant": pl.String(),
    "rank": pl.UInt16(),
    "size": pl.UInt64(),
    "repetition": pl.UInt32(),
    "start_ns": pl.Int64(),
    "duration_ns": pl.Float32(),
}


@dataclass
class LaunchFiles:
    """The samples of all ranks of one launch, and what was said besides."""

    samples: pl.DataFrame
    """Columns of SCHEMA; start_ns on the host's CLOCK_MONOTONIC."""
    facts: list[dict[str, Any]] = field(default_factory=list)
    """Everything but FRAME_FACTS, each with its "rank"."""
    affinity: list[list[int]] = field(default_factory=list)
    clock: str = ""
    overhead_ns: float = 0.0
    complete_ranks: int = 0

    def said(self, name: str) -> list[dict[str, Any]]:
        """The facts of one name."""
        return [fact for fact in self.facts if fact["fact"] == name]


def _read_facts(file: Path) -> list[dict[str, Any]]:
    facts = []
    for number, line in enumerate(file.read_text(errors="replace").splitlines(), 1):
        try:
            fact = json.loads(line)
        except json.JSONDecodeError:
            break  # cut in mid-line when the rank was killed: what came before holds
        if not isinstance(fact, dict) or "fact" not in fact:
            raise DataError(f"{file}:{number} is no fact: {line[:80]}")
        facts.append(fact)
    return facts


def _samples_of_rank(
    file: Path, rank: int, facts: list[dict[str, Any]], clock: dict[str, Any], host: HostClock | None
) -> pl.DataFrame:
    raw = np.fromfile(file, dtype="<u8")
    pairs = raw[: len(raw) // 2 * 2].reshape(-1, 2)
    own = next(fact for fact in facts if fact["fact"] == "clock")
    if own["kind"] == "ticks":
        ticks = clock["last_tick"] - clock["first_tick"]
        ns_per_tick = (clock["last_ns"] - clock["first_ns"]) / ticks if ticks else 1.0
        # Differences first: ticks since boot times a float would cost the last few nanoseconds.
        since = (pairs[:, 0].astype(np.int64) - clock["first_tick"]).astype(np.float64)
        starts = clock["first_ns"] + np.rint(since * ns_per_tick).astype(np.int64)
        durations = (pairs[:, 1].astype(np.float64) * ns_per_tick).astype(np.float32)
    else:
        starts, durations = pairs[:, 0].astype(np.int64), pairs[:, 1].astype(np.float32)
    if host is not None and len(starts):
        first, last = int(starts.min()), int(starts.max())
        at_first, at_last = host.ahead_ns(first), host.ahead_ns(last)
        gained = (starts - first).astype(np.float64) * ((at_last - at_first) / max(last - first, 1))
        starts = starts - at_first - np.rint(gained).astype(np.int64)
    frames = []
    seen: dict[tuple[str, int], int] = {}
    for block in (fact for fact in facts if fact["fact"] == "block"):
        first, count = block["first"], min(block["count"], max(0, len(pairs) - block["first"]))
        if count <= 0:
            continue
        key = (block["variant"], block["size"])
        begin = seen.get(key, 0)
        seen[key] = begin + count
        frames.append(
            pl.DataFrame(
                {
                    "variant": pl.repeat(block["variant"], count, dtype=pl.String, eager=True),
                    "rank": pl.repeat(rank, count, dtype=pl.UInt16, eager=True),
                    "size": pl.repeat(block["size"], count, dtype=pl.UInt64, eager=True),
                    "repetition": np.arange(begin, begin + count, dtype=np.uint32),
                    "start_ns": starts[first : first + count],
                    "duration_ns": durations[first : first + count],
                }
            )
        )
    return pl.concat(frames) if frames else pl.DataFrame(schema=SCHEMA)


def read_launch(folder: Path, clocks: Mapping[str, HostClock] | None = None) -> LaunchFiles:
    """Reads what the ranks left in `folder`; ranks that left nothing are absent, none at all gives no rows.

    All ranks of a host share one clock, so the calibration of its first rank (the first there is) serves for all. On
    several hosts, `clocks` bring all of them to the laboratory's.
    """
    by_rank: dict[int, list[dict[str, Any]]] = {}
    for file in sorted(folder.glob("rank-*.jsonl")):
        by_rank[int(file.stem.removeprefix("rank-"))] = _read_facts(file)
    result = LaunchFiles(pl.DataFrame(schema=SCHEMA))
    told = {rank: fact for rank, facts in by_rank.items() for fact in facts if fact["fact"] == "clock"}
    ranks = {rank: fact for rank, facts in by_rank.items() for fact in facts if fact["fact"] == "rank"}
    host_of = {rank: fact.get("host", "") for rank, fact in ranks.items()}
    first_of = {host_of.get(rank, ""): rank for rank in sorted(told, reverse=True)}
    frames = []
    for rank, facts in sorted(by_rank.items()):
        result.facts += [{**fact, "rank": rank} for fact in facts if fact["fact"] not in FRAME_FACTS]
        result.complete_ranks += any(fact["fact"] == "complete" for fact in facts)
        result.affinity += [fact["affinity"] for fact in facts if fact["fact"] == "rank"]
        samples = folder / f"rank-{rank}.samples"
        if rank in told and samples.exists():
            host = host_of.get(rank, "")
            clock = (clocks or {}).get(host)
            frames.append(_samples_of_rank(samples, rank, facts, told[first_of[host]], clock))
    if frames:
        result.samples = pl.concat(frames)
    if told:
        result.clock = told[min(told)]["kind"]
        result.overhead_ns = max(clock["overhead_ns"] for clock in told.values())
    return result
