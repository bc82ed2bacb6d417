# SPDX-License-Identifier: BSD-3-Clause
import numpy as np
import polars as pl
import pytest
from volley.benchmarks import Test
from volley.data.analyse import (
    achieved_half_width,
    curves,
    launch_boxes,
    launch_values,
    median_interval,
    median_interval_ranks,
    streams,
)

PINGPONG = Test("pingpong", "", "", "", (2,), scale=0.5)
SPAN = Test("barrier", "", "", "", (2,), operation="span")
STREAM = Test("stream", "", "", "", (2,), operation="rank 1", statistic="mean", stamps=True)
STARTUP = Test("startup", "", "", "", (1, 2), operation="slowest rank", axis="ranks")


def samples(rows: list[tuple[str, str, int, int, int, int, int, int, float]]) -> pl.LazyFrame:
    names = ["system", "test", "ranks", "launch", "rank", "size", "repetition", "start_ns", "duration_ns"]
    frame = pl.DataFrame(rows, schema=names, orient="row")
    return frame.with_columns(pl.lit("-").alias("variant")).lazy()


def test_fewer_than_six_values_give_the_whole_range_and_say_how_sure_it_is() -> None:
    assert median_interval_ranks(1) == (0, 0, 0.0)
    assert median_interval_ranks(5) == (0, 4, pytest.approx(0.9375))
    assert median_interval_ranks(6) == (0, 5, pytest.approx(0.96875))
    low, high, coverage = median_interval_ranks(30)
    assert (low, high) == (9, 20)
    assert coverage == pytest.approx(0.9572, abs=1e-3)


@pytest.mark.parametrize("count", [6, 9, 17, 30])
def test_the_interval_covers_the_median_of_a_skewed_distribution_as_often_as_it_says(count: int) -> None:
    random = np.random.default_rng(7)
    hits = 0
    for _ in range(2000):
        _, low, high, coverage = median_interval(random.lognormal(0, 1.5, count).tolist())
        hits += low <= 1.0 <= high
    assert hits / 2000 == pytest.approx(coverage, abs=0.02)
    assert coverage >= 0.95


def test_a_ping_pong_launch_is_the_median_of_rank_0_halved() -> None:
    rows = [("a", "pingpong", 2, 1, 0, 8, i, 0, time) for i, time in enumerate([200.0, 300.0, 9000.0])]
    rows += [("a", "pingpong", 2, 1, 1, 8, i, 0, 1.0) for i in range(3)]
    values = launch_values(samples(rows), [PINGPONG])
    assert values["value_ns"].to_list() == [150.0]
    box = launch_boxes(values)[0]
    assert (box.minimum, box.median, box.maximum) == (100.0, 150.0, 4500.0)


def test_a_collective_lasts_from_the_first_start_to_the_last_end() -> None:
    rows = [("a", "barrier", 2, 1, 0, 0, 0, 1000, 50.0), ("a", "barrier", 2, 1, 1, 0, 0, 1020, 70.0)]
    assert launch_values(samples(rows), [SPAN])["value_ns"].to_list() == [90.0]


def test_start_stamps_of_days_of_uptime_keep_their_nanoseconds() -> None:
    late = 40 * 86_400 * 10**9
    rows = [("a", "barrier", 2, 1, 0, 0, 0, late, 50.0), ("a", "barrier", 2, 1, 1, 0, 0, late + 21, 70.0)]
    assert launch_values(samples(rows), [SPAN])["value_ns"].to_list() == [91.0]


def test_curves_take_the_median_of_launches_and_never_pool_operations() -> None:
    rows = []
    for launch, time in enumerate([100.0, 200.0, 1000.0], 1):
        rows += [("a", "pingpong", 2, launch, 0, 8, i, 0, time) for i in range(10 ** (launch - 1))]
    (curve,) = curves(launch_values(samples(rows), [PINGPONG]), {"pingpong": PINGPONG})
    (point,) = curve.points
    assert (point.value_ns, point.low_ns, point.high_ns) == (100.0, 50.0, 500.0)
    assert (point.launches, point.operations, point.coverage) == (3, 111, 0.75)


def test_the_number_of_ranks_is_the_axis_where_the_test_says_so() -> None:
    rows = [("a", "startup", ranks, ranks, 0, 0, 0, 0, 1e6 * ranks) for ranks in (1, 2)]
    (curve,) = curves(launch_values(samples(rows), [STARTUP]), {"startup": STARTUP})
    assert curve.ranks == 0
    assert [(point.x, point.value_ns) for point in curve.points] == [(1, 1e6), (2, 2e6)]


def test_precision_is_never_claimed_with_fewer_than_six_launches() -> None:
    def cell(launches: int) -> float:
        rows = [("a", "pingpong", 2, n, 0, 8, 0, 0, 100.0 + n / 100) for n in range(launches)]
        (curve,) = curves(launch_values(samples(rows), [PINGPONG]), {"pingpong": PINGPONG})
        return achieved_half_width(curve.points)

    assert cell(5) == float("inf")
    assert cell(6) < 0.01


def test_streams_keep_the_order_of_messages_on_both_sides() -> None:
    rows = [
        ("a", "stream", 2, launch, rank, 16, i, 0, 100.0 * rank + i)
        for launch in (4, 5)
        for i in (2, 0, 1)
        for rank in (0, 1)
    ]
    (stream,) = streams(samples(rows), [STREAM])
    assert stream.launch == 4
    assert stream.sender_gaps_ns == (0.0, 1.0, 2.0)
    assert stream.receiver_gaps_ns == (100.0, 101.0, 102.0)
