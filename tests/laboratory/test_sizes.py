# SPDX-License-Identifier: BSD-3-Clause
import pytest
from volley.errors import UsageError
from volley.sizes import format_size, parse_size, parse_sizes, refine, with_neighbours


@pytest.mark.parametrize(
    ("text", "size"),
    [("512", 512), ("4Ki", 4096), ("64KiB", 65536), ("1M", 1_000_000), ("8 Mi", 8 << 20), ("0", 0)],
)
def test_sizes_are_read_in_decimal_and_binary_units(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "4Q", "-1", "1.5Ki", "1..", "Ki"])
def test_what_is_no_size_is_named(text: str) -> None:
    with pytest.raises(UsageError, match="no size"):
        parse_sizes(text)


def test_ranges_hold_their_bounds_and_the_powers_of_two_between() -> None:
    assert parse_sizes("1..8") == [1, 2, 4, 8]
    assert parse_sizes("3..20,5") == [3, 4, 5, 8, 16, 20]
    with pytest.raises(UsageError, match="empty range"):
        parse_sizes("8..1")


def test_neighbours_surround_each_size_within_the_bounds() -> None:
    assert with_neighbours([4096, 8192], 1, 8192) == [4032, 4095, 4096, 4097, 8128, 8191, 8192]
    assert with_neighbours([128], 128, 8192) == [128, 129]


def with_jump(size: int) -> tuple[float, float, float]:
    value = 100 + size * 0.01 + (5000 if size > 1024 else 0)
    return (0.99 * value, value, 1.01 * value)


SIZES = (1, 4, 16, 64, 256, 1024, 4096, 16384)


def test_refining_closes_in_on_the_first_slow_byte() -> None:
    curve = {size: with_jump(size) for size in SIZES}
    assert refine(curve) == [2048]
    for _ in range(12):
        curve.update({size: with_jump(size) for size in refine(curve)})
    assert {1024, 1025} <= set(curve)


def test_refining_leaves_smooth_curves_and_noise_within_intervals_alone() -> None:
    assert refine({size: (v := 100 + size * 0.01, v, v) for size in SIZES}) == []
    noisy = {size: (100.0, 300.0 if size == 64 else 100.0, 300.0) for size in SIZES}
    assert refine(noisy) == []


def test_sizes_are_written_as_people_write_them() -> None:
    assert [format_size(size) for size in (8, 1024, 4095, 65536, 1 << 20)] == [
        "8 B",
        "1 KiB",
        "4,095 B",
        "64 KiB",
        "1 MiB",
    ]
