"""The frame of the test programs: what it records, how it fails, and what it leaves when it does."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from .support import build, run

FROZEN, BROKEN, ABORTED = 86, 87, 128 + 6


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(Path(__file__).parent / "behaviours.c", tmp_path_factory.mktemp("frame") / "behaviours")


def test_records_every_repetition_on_every_rank(program: Path, tmp_path: Path) -> None:
    outcome, files = run(program, tmp_path, ["8 plain", "16 plain"], repetitions=(7, 7))
    assert (outcome.returncode, outcome.stderr) == (0, "")
    assert files.complete_ranks == 2
    counts = files.samples.group_by("rank", "size").len().sort("rank", "size")["len"].to_list()
    assert counts == [7, 7, 7, 7]
    assert 0 < files.overhead_ns < 10_000


def test_repetitions_fill_the_time_per_point(program: Path, tmp_path: Path) -> None:
    # Much more than 50 plain ones take, even where others have the core for most of it.
    _, files = run(program, tmp_path, ["8 slow", "8 plain"], "seconds_per_point 0.05", repetitions=(3, 50))
    counts = dict(files.samples.group_by("variant").len().iter_rows())
    assert counts["slow"] == 2 * 3  # 20 ms each: the minimum, on two ranks
    assert counts["plain"] > counts["slow"]


def test_wrong_bytes_are_reported_and_not_timed(program: Path, tmp_path: Path) -> None:
    outcome, files = run(program, tmp_path, ["8 wrong", "8 plain"])
    assert outcome.returncode == 0
    assert files.said("mismatch") == [{"fact": "mismatch", "size": 8, "variant": "wrong", "wrong_bytes": 3, "rank": 1}]
    assert files.samples["variant"].unique().to_list() == ["plain"]


def test_known_bytes_show_every_fault(program: Path, tmp_path: Path) -> None:
    _, files = run(program, tmp_path, ["8 pattern", "8 shared"])
    assert not files.said("mismatch")


def test_every_line_that_is_sent_is_written_between_operations_if_so_wished(program: Path, tmp_path: Path) -> None:
    for extra in (["writes_buffers 1"], []):
        outcome, files = run(program, tmp_path / str(len(extra)), ["8 written"], *extra)
        assert outcome.returncode == 0
        assert not files.said("mismatch")


def test_freeze_is_a_result(program: Path, tmp_path: Path) -> None:
    before = time.monotonic()
    outcome, files = run(program, tmp_path, ["8 plain", "64 freeze"], repetitions=(10, 10), freeze_seconds=0.5)
    assert outcome.returncode == FROZEN
    assert 0.5 < time.monotonic() - before < 10  # and what a busy machine adds
    frozen = files.said("frozen")
    assert [fact["rank"] for fact in frozen] == [0, 1]
    assert frozen[1] == {
        "fact": "frozen",
        "phase": "measure",
        "size": 64,
        "variant": "freeze",
        "after_seconds": 0.5,
        "rank": 1,
    }
    assert files.complete_ranks == 0
    one = files.samples.filter(files.samples["rank"] == 1)
    assert dict(one.group_by("size").len().iter_rows()) == {8: 10, 64: 4}


def test_a_rank_that_dies_ends_the_launch_at_once(program: Path, tmp_path: Path) -> None:
    before = time.monotonic()
    outcome, files = run(program, tmp_path, ["8 crash"])
    assert outcome.returncode == ABORTED
    assert time.monotonic() - before < 10  # at once, and what a busy machine adds
    assert files.complete_ranks == 0


def test_points_beyond_the_limit_are_cut(program: Path, tmp_path: Path) -> None:
    points = [f"{size} slow" for size in range(1, 9)]
    outcome, files = run(program, tmp_path, points, "limit_seconds 0.3", repetitions=(5, 5))
    assert outcome.returncode == 0
    assert files.complete_ranks == 2
    measured = set(files.samples["size"].to_list())
    assert 0 < len(measured) < 8
    assert {fact["size"] for fact in files.said("cut")} == set(range(1, 9)) - measured
    assert len(files.said("cut")) == 8 - len(measured)


def test_samples_beyond_the_room_are_counted(program: Path, tmp_path: Path) -> None:
    _, files = run(program, tmp_path, ["8 flood"], repetitions=(1, 1))
    dropped = files.said("samples_dropped")
    assert [fact["rank"] for fact in dropped] == [0, 1]
    assert dropped[0]["count"] == 1
    assert len(files.samples) == 2 * dropped[0]["room"]


def test_a_test_may_choose_sizes_itself(program: Path, tmp_path: Path) -> None:
    _, files = run(program, tmp_path, ["8 blocks"], repetitions=(3, 3))
    assert files.samples["size"].unique().to_list() == [77]


def test_nanoseconds_from_elsewhere(program: Path, tmp_path: Path) -> None:
    _, files = run(program, tmp_path, ["8 nanoseconds"], repetitions=(1, 1))
    assert files.samples["duration_ns"].to_list() == pytest.approx([1.5e9] * 2, rel=1e-3)
    assert abs(int(files.samples["start_ns"][0]) - time.monotonic_ns()) < 60e9


def test_end_of_point(program: Path, tmp_path: Path) -> None:
    _, files = run(program, tmp_path, ["8 end", "9 plain"])
    assert [fact["size"] for fact in files.said("end_of_point")] == [8, 8]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("sizes 8", 'unknown key "sizes"'),
        ("cpu", '"cpu" has no value'),
        ("cpu zero", 'cpu is "zero", not a whole number'),
        ("point -8 plain", 'point is "-8", not a whole number'),
        ("point 8x plain", 'point is "8x", not a whole number'),
        ("seconds_per_point soon", 'seconds_per_point is "soon", not a number'),
        ("freeze_seconds 0", "no freeze_seconds above 0"),
        ("maximum_repetitions 0", "no maximum_repetitions above 0"),
        ("ranks 1000", "ranks must be 1 to 256, not 1000"),
    ],
)
def test_strange_launch_file(program: Path, tmp_path: Path, line: str, message: str) -> None:
    outcome, _ = run(program, tmp_path, ["8 plain"], line)
    assert outcome.returncode == BROKEN
    assert message in outcome.stderr


def test_no_points_and_no_launch_file(program: Path, tmp_path: Path) -> None:
    outcome, _ = run(program, tmp_path, [])
    assert outcome.returncode == BROKEN
    assert "no point to measure" in outcome.stderr
    (tmp_path / "launch.txt").unlink()
    (tmp_path / "launch.txt").mkdir()
    with pytest.raises(IsADirectoryError):
        run(program, tmp_path, ["8 plain"])


def test_unusable_cpu_is_a_fact(program: Path, tmp_path: Path) -> None:
    outcome, files = run(program, tmp_path, ["8 plain"], "cpu 1023")
    assert outcome.returncode == 0
    assert {fact["cpu"] for fact in files.said("pin_failed")} == {1023}


def test_events_are_counted_per_point_where_they_are_asked_for(program: Path, tmp_path: Path) -> None:
    _, files = run(program, tmp_path / "asked", ["8 plain", "16 faults"], "count_events 1", repetitions=(50, 50))
    refused = {fact["event"]: fact["reason"] for fact in files.said("not_counted")}
    if "page_faults" in refused:
        pytest.skip(f"perf_event_open is refused here: {refused['page_faults']}")
    counted = {(fact["rank"], fact["size"]): fact for fact in files.said("counted")}
    assert set(counted) == {(rank, size) for rank in (0, 1) for size in (8, 16)}
    for rank in (0, 1):
        # Few others: the pages that samples are written to, of 256 samples each.
        assert 500 <= counted[rank, 16]["page_faults"] <= 520
        assert counted[rank, 8]["page_faults"] <= 20
        assert counted[rank, 16]["operations"] == 50
        hardware = {"instructions", "cycles", "first_level_misses", "last_level_misses"}
        assert hardware == (hardware & set(counted[rank, 8])) | (hardware & set(refused))
    _, files = run(program, tmp_path / "not asked", ["8 plain"])
    assert not files.said("counted") + files.said("not_counted")
