# SPDX-License-Identifier: BSD-3-Clause
"""The documents the project began with: what their authors saw, found without being told."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from volley.detect import Finding, detect, read_material

VALIRON = """table,nodes,processes,slice_bytes,iterations,seconds_per_iteration,total_MB_per_s,node_MB_per_s
"""
"""The figures printed in the posting of 2005 (all-to-all on a Gigabit cluster), by table."""

SECONDS: dict[str, tuple[int, int, str]] = {
    "a": (13, 13, "921 818 873 758 828 811 837 852 920 984 958 1025 1307 2051 3691 67712 122046 64205 35519 69661"),
    "b": (
        13,
        52,
        "993 795 864 840 826 854 875 903 892 911 970 1075 1325 2076 3660 68230 125220 58053 35119 65959 127614 241282 "
        "474827 955513",
    ),
    "c": (
        23,
        23,
        "1202 1084 1052 2041 1121 1088 1079 1147 1090 1123 1186 1447 2087 674983 587798 476085 502088 343736 343521 "
        "472416 608414 785687 1270416 2079299 3821460",
    ),
    "d": (23, 92, "217072 262327 5088 5142 5807 4918 4915 5022 5834 5537 470873 24120486"),
}
"""Nodes, processes, and microseconds per all-to-all of slices of 1, 2, 4, … bytes."""

WORLD = {"a": 13, "b": 13, "c": 23, "d": 92}
"""Ranks that the printed rates fit: for b these are not the 52 that its title says."""


@pytest.fixture(scope="module")
def valiron(tmp_path_factory: pytest.TempPathFactory) -> list[Finding]:
    rows = []
    for table, (nodes, processes, text) in SECONDS.items():
        for power, microseconds in enumerate(text.split()):
            size, seconds, p = 1 << power, int(microseconds) * 1e-6, WORLD[table]
            total = size * p * (p - 1) / seconds / 1e6
            rows.append(f"{table},{nodes},{processes},{size},10,{seconds:.6f},{total:.6f},{total / p:.6f}")
    file = tmp_path_factory.mktemp("valiron") / "alltoall.csv"
    file.write_text(VALIRON + "\n".join(rows) + "\n")
    return detect(read_material(file))


def chosen(findings: list[Finding], kind: str, system: str) -> list[Finding]:
    return [one for one in findings if one.kind == kind and one.system == system]


@pytest.mark.parametrize(("table", "limits"), [("a", [16384]), ("b", [16384]), ("c", [4096]), ("d", [512, 1024])])
def test_the_slice_limits_of_2005_are_found(valiron: list[Finding], table: str, limits: list[int]) -> None:
    (collapse,) = chosen(valiron, "collapse", table)
    assert collapse.size_from in limits
    assert collapse.magnitude > 5
    edges = [one for one in chosen(valiron, "step", table) if one.magnitude > 5]
    assert [edge.size_from in limits for edge in edges] == [True]


@pytest.mark.parametrize(("table", "size"), [("a", 262144), ("b", 262144), ("c", 1 << 20)])
def test_recovery_at_large_slices_is_found(valiron: list[Finding], table: str, size: int) -> None:
    (collapse,) = chosen(valiron, "collapse", table)
    assert collapse.evidence["recovers_at"] == size


def test_the_largest_case_does_not_recover_but_freezes(valiron: list[Finding]) -> None:
    (collapse,) = chosen(valiron, "collapse", "d")
    assert collapse.evidence["recovers_at"] is None
    (freeze,) = [one for one in valiron if one.kind == "freeze"]
    assert (freeze.system, freeze.size_from, freeze.size_to) == ("d", 2048, 4096)


def test_the_figures_of_table_b_contradict_its_number_of_processes(valiron: list[Finding]) -> None:
    (wrong,) = [one for one in valiron if one.kind == "wrong figures"]
    assert wrong.system == "b"
    assert (wrong.evidence["stated"], wrong.evidence["fitting"]) == (52, 13)


def test_one_slow_size_of_one_launch_is_undecided_if_it_is_told(valiron: list[Finding]) -> None:
    assert all(one.status == "UNDECIDED" for one in valiron if one.kind == "spike")


def stream_of_1999(period: int, limit: int, spacing_ns: float = 17e3, messages: int = 700) -> str:
    """As Loncaric describes it: every N-th message below K bytes late by one or two ticks of 10 ms."""
    random = np.random.default_rng(period)
    rows = ["message,send_ns,receive_ns,size_bytes"]
    for size in (1, 16, 64, 92, 93, 124, 125, 256, 508, 509, 1024):
        gaps = spacing_ns * np.exp(random.normal(0, 0.1, messages))
        late = np.zeros(messages)
        if size < limit:
            places = np.arange(period - 1, messages, period)
            late[places] = random.choice([1e7, 2e7], len(places)) - random.uniform(0, 2e5, len(places))
        send, receive = np.cumsum(gaps), np.cumsum(gaps + late) + 5e4
        rows += [f"{i},{send[i]:.0f},{receive[i]:.0f},{size}" for i in range(messages)]
    return "\n".join(rows) + "\n"


@pytest.mark.parametrize(
    ("period", "limit", "largest", "spacing_ns"),
    [(35, 509, 508, 17e3), (41, 93, 92, 17e3), (41, 125, 124, 17e3), (41, 125, 124, 100e3)],
)
def test_every_nth_small_packet_is_found(
    tmp_path: Path, period: int, limit: int, largest: int, spacing_ns: float
) -> None:
    file = tmp_path / "stream.csv"
    file.write_text(stream_of_1999(period, limit, spacing_ns))
    (stall,) = detect(read_material(file))
    assert (stall.kind, stall.period, stall.size_from, stall.size_to) == ("stall", period, 1, largest)
    assert stall.evidence["smallest_size_that_does_not"] == limit
    assert stall.duration_ns is not None
    assert 9e6 < stall.duration_ns < 21e6
    assert stall.evidence["shortest_ns"] == pytest.approx(1e7, rel=0.05)
    assert stall.evidence["longest_ns"] == pytest.approx(2e7, rel=0.05)


def test_a_short_stream_without_sizes_has_a_period_too(tmp_path: Path) -> None:
    rows = stream_of_1999(41, 125, messages=220).splitlines()
    file = tmp_path / "stream.csv"
    file.write_text("\n".join(row.rpartition(",")[0] for row in rows if row.endswith((",16", "bytes"))))
    (stall,) = detect(read_material(file))
    assert stall.period == 41


def test_a_stream_that_only_jitters_has_no_stall(tmp_path: Path) -> None:
    file = tmp_path / "stream.csv"
    file.write_text(stream_of_1999(41, 0))
    assert detect(read_material(file)) == []


def test_the_command_prints_json_as_documented(tmp_path: Path) -> None:
    file = tmp_path / "stream.csv"
    file.write_text(stream_of_1999(35, 509))
    ended = subprocess.run(
        [sys.executable, "-c", "from volley.cli import main; main()", "detect", str(file), "--json"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "NO_COLOR": "1"},
    )
    (finding,) = json.loads(ended.stdout)["findings"]
    assert list(finding) == [
        "kind", "system", "test", "size_from", "size_to", "magnitude", "interval", "confidence", "cause", "status",
        "evidence", "period", "duration_ns",
    ]  # fmt: skip
    assert finding["kind"] == "stall"
    assert finding["period"] == 35
    assert finding["cause"] is None
    assert finding["status"] == "UNEXPLAINED"
    assert 0.9 < finding["confidence"] <= 1
