"""The test programs that need no MPI, run for real on few points."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from volley.benchmarks import FOLDER

from .support import build, run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("programs")


@pytest.fixture(scope="module")
def tcp(folder: Path) -> Path:
    return build(FOLDER / "tcp.c", folder / "tcp")


@pytest.fixture(scope="module")
def ceilings(folder: Path) -> Path:
    return build(FOLDER / "ceilings.c", folder / "ceilings")


def medians(samples: pl.DataFrame, rank: int) -> dict[tuple[str, int], float]:
    """Nanoseconds by variant and size."""
    of_rank = samples.filter(pl.col("rank") == rank).group_by("variant", "size").agg(pl.median("duration_ns"))
    return {(str(variant), int(size)): float(value) for variant, size, value in of_rank.iter_rows()}


def test_tcp(tcp: Path, tmp_path: Path) -> None:
    variants = ["write+nodelay", "write+quickack", "write+cork", "writev", "writev+nodelay+reno"]
    points = [f"{size} {variant}" for variant in variants for size in (1, 5000, 1 << 20)]
    outcome, files = run(tcp, tmp_path, points, repetitions=(5, 5))
    assert (outcome.returncode, outcome.stderr) == (0, "")
    assert not files.said("mismatch")
    assert len(medians(files.samples, 0)) == len(points)
    connections = files.said("tcp_connection")
    assert len(connections) == 2 * len(points)
    assert {fact["congestion"] for fact in connections if fact["variant"].endswith("reno")} == {"reno"}
    assert all(fact["segments_out"] > 0 for fact in connections)


def test_nagle_and_delayed_acknowledgement_meet(tcp: Path, tmp_path: Path) -> None:
    """Header and body by two writes: from the second message on, each waits for an acknowledgement."""
    _, files = run(tcp, tmp_path, ["100 write", "100 writev"], repetitions=(3, 3))
    times = medians(files.samples, 0)
    assert times["write", 100] > 35e6
    assert times["write", 100] > 3 * times["writev", 100]


@pytest.mark.parametrize(
    ("variant", "message"),
    [
        ("writev+nodelay+teleport", '"teleport" is neither nodelay, quickack, cork nor'),
        ("sendfile", "begins with neither write nor writev"),
    ],
)
def test_unknown_variant(tcp: Path, tmp_path: Path, variant: str, message: str) -> None:
    outcome, _ = run(tcp, tmp_path, [f"1 {variant}"])
    assert outcome.returncode == 87
    assert message in outcome.stderr


def test_tcp_stream(folder: Path, tmp_path: Path) -> None:
    program = build(FOLDER / "tcp_stream.c", folder / "tcp_stream")
    outcome, files = run(program, tmp_path, ["1 writev+nodelay", "125 writev"], repetitions=(300, 300))
    assert (outcome.returncode, outcome.stderr) == (0, "")
    counts = files.samples.group_by("rank", "size").len()["len"].to_list()
    assert counts == [300] * 4
    for rank in (0, 1):  # a chain: each sample starts where the one before ended
        one = files.samples.filter((pl.col("rank") == rank) & (pl.col("size") == 125))
        ends = (one["start_ns"] + one["duration_ns"].cast(pl.Int64)).to_list()
        assert all(abs(end - start) <= 64 for end, start in zip(ends, one["start_ns"].to_list()[1:], strict=False))


def test_ceilings(ceilings: Path, tmp_path: Path) -> None:
    variants = ["line", "pingpong1", "pingpong2", "memcpy", "memcpy:0", "memcpy:33", "kernel:33"]
    points = [f"{size} {variant}" for variant in variants for size in (1, 8, 56, 57, 200, 100_000)]
    outcome, files = run(ceilings, tmp_path, points, "cpu 0", "cpu 1", repetitions=(50, 50))
    assert (outcome.returncode, outcome.stderr) == (0, "")
    assert not files.said("mismatch")
    times = medians(files.samples, 0)
    assert {size for variant, size in times if variant == "line"} == {1, 8}
    assert {size for variant, size in times if variant == "pingpong2"} == {1, 8, 56, 57, 200, 100_000}
    assert {size for variant, size in times if variant == "memcpy:33"} == {1, 8, 56, 57, 200, 100_000}
    assert times["pingpong1", 100_000] > times["pingpong1", 1]


@pytest.mark.parametrize("variant", ["memcpy:", "memcpy:x", "memcpy:10000", "memset"])
def test_ceilings_name_the_variants_there_are(ceilings: Path, tmp_path: Path, variant: str) -> None:
    outcome, _ = run(ceilings, tmp_path, [f"8 {variant}"])
    assert outcome.returncode == 87
    assert f'unknown variant "{variant}"; there are line, pingpong1,' in outcome.stderr


def test_ceilings_refuse_one_core(ceilings: Path, tmp_path: Path) -> None:
    outcome, files = run(ceilings, tmp_path, ["8 line", "8 memcpy"], "cpu 0")
    assert outcome.returncode == 0
    assert {fact["variant"] for fact in files.said("refused")} == {"line"}
    assert set(medians(files.samples, 0)) == {("memcpy", 8)}
