# SPDX-License-Identifier: BSD-3-Clause
import numpy as np
import pytest
from numpy.typing import NDArray
from volley.detect.kinds.bimodal import modes
from volley.detect.kinds.drift import trend
from volley.detect.kinds.stall import find_period
from volley.detect.segments import fit_line, partition
from volley.detect.shape import Shape
from volley.detect.statistics import false_discovery, levels, median_polish, roughness

Floats = NDArray[np.float64]

SIZES: Floats = np.exp2(np.arange(20, dtype=np.float64))
LINE: Floats = np.log(1000 + SIZES / 4)


def test_offsets_of_launches_are_taken_off() -> None:
    offsets = np.array([-0.2, 0.0, 0.3])
    level, found = median_polish(LINE + offsets[:, None])
    assert found == pytest.approx(offsets)
    assert level == pytest.approx(LINE)


def test_a_launch_that_missed_sizes_does_not_bend_the_curve() -> None:
    log_ns = LINE + np.array([[-0.2], [0.0], [0.3]])
    log_ns[0, 10:] = np.nan
    level, _ = median_polish(log_ns)
    assert level == pytest.approx(LINE)


@pytest.mark.parametrize("launches", [1, 3, 10])
def test_standard_errors_are_about_right(launches: int) -> None:
    random = np.random.default_rng(2)
    errors, truth = [], []
    for _ in range(60):
        found = levels(SIZES, LINE + random.normal(0, 0.03, (launches, 20)))
        errors.append(np.sqrt(np.mean(found.error**2)))
        truth.append(np.std(found.level - LINE - np.mean(found.level - LINE)))
    assert np.mean(errors) == pytest.approx(np.mean(truth), rel=0.35)


def test_roughness_ignores_spikes_and_the_bend() -> None:
    level = LINE.copy()
    level[[5, 12]] += 1.0
    assert roughness(SIZES, level) < 0.05


def test_false_discovery_is_that_of_benjamini_and_hochberg() -> None:
    assert false_discovery([0.01, 0.02, 0.03, 0.5], 4) == pytest.approx([0.04, 0.04, 0.04, 0.5])
    assert false_discovery([0.001], 100) == pytest.approx([0.1])
    assert false_discovery([], 10) == []


def test_a_line_is_found_with_its_error() -> None:
    line = fit_line(SIZES, np.exp(LINE), np.full(20, 0.01))
    assert line.start_ns == pytest.approx(1000)
    assert line.ns_per_byte == pytest.approx(0.25)
    assert line.log_error(1.0) == pytest.approx(0.003, abs=0.001)


def test_a_clean_curve_is_one_piece_and_a_step_makes_two() -> None:
    error = np.full(20, 0.01)
    assert [(one.first, one.last, one.outliers) for one in partition(SIZES, LINE, error)] == [(0, 20, ())]
    stepped = LINE + np.where(np.arange(20) >= 9, 0.3, 0.0)
    assert [(one.first, one.last) for one in partition(SIZES, stepped, error)] == [(0, 9), (9, 20)]


def test_a_change_of_rate_is_a_bend_and_no_jump() -> None:
    knee = 2.0**13.5
    bent = np.log(1000 + np.minimum(SIZES, knee) / 4 + np.maximum(SIZES - knee, 0) / 1.5)
    shape = Shape.of(SIZES.astype(np.int64), np.tile(bent, (4, 1)) + np.random.default_rng(1).normal(0, 0.005, (4, 20)))
    assert all(abs(jump.effect) < 0.1 for jump in shape.jumps)


def test_two_modes_are_seen_and_one_wide_one_is_not() -> None:
    random = np.random.default_rng(9)
    one = [np.exp(random.normal(0, 0.3, 60)) for _ in range(4)]
    assert modes(one) is None
    two = [np.where(random.random(60) < 0.3, 1.5, 1.0) * np.exp(random.normal(0, 0.03, 60)) for _ in range(4)]
    found = modes(two)
    assert found is not None
    assert found[0] == pytest.approx(np.log(1.5), abs=0.03)


def test_launches_that_merely_differ_are_not_bimodal() -> None:
    random = np.random.default_rng(9)
    assert modes([level * np.exp(random.normal(0, 0.03, 60)) for level in (1.0, 1.5, 1.0, 1.5)]) is None


def test_a_warm_up_is_no_drift() -> None:
    times = np.exp(np.random.default_rng(1).normal(0, 0.02, 100))
    assert trend(times) is None
    warm = times.copy()
    warm[:5] *= 3
    assert trend(warm) is None
    found = trend(times * np.linspace(1, 1.3, 100))
    assert found is not None
    assert found[0] > 0.15


def test_a_period_survives_a_message_that_was_spared_and_jitter() -> None:
    places = np.cumsum([41, 41, 41, 82, 41, 40, 42, 41])
    assert find_period(places, 400)[0] == 41
    assert find_period(np.array([3, 50, 61, 200, 333, 340]), 400)[0] is None
    assert find_period(np.array([41, 82]), 100)[0] is None


def test_a_size_at_which_launches_disagree_is_no_surer_for_its_neighbours() -> None:
    log_ns: Floats = np.random.default_rng(5).normal(8, 0.01, (3, 20))
    log_ns[:, 10] += [-0.3, 0.0, 0.3]
    found = levels(SIZES, log_ns)
    own = float(log_ns[:, 10].std(ddof=1))
    assert found.error[10] > 0.6 * own  # a median of three has 0.68 of it
    assert found.freedom[10] < 4
    others = np.delete(found.error, 10)
    assert np.median(others) < 0.015
    assert np.median(np.delete(found.freedom, 10)) > 10
