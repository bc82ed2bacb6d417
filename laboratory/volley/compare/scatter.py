# SPDX-License-Identifier: BSD-3-Clause
"""Versions whose launches differ more than those of the others.

A launch's scatter is how far its value lies from the median of its version's launches, as an absolute log ratio; over
all sizes the mean of these, so that what a launch does to all its sizes counts once. Whether a version's launches
scatter more than the others' is told by shuffling launches among versions.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from volley.compare.pairwise import holm

SIGNIFICANCE = 0.01
"""Of all single versions together, and of all groups together."""
RISK = 2 * SIGNIFICANCE
"""Of any false claim here."""
LEAST = 0.10
"""Mean distance of a launch from the median: less hardly matters to a user."""
TIMES_OTHERS = 2.0
"""At least so many times what is usual for the other versions: otherwise it is the machine."""
FAR = 0.25
"""A launch further from the median (as a log ratio) counts no more in a test: one freak launch would hide others."""
SHUFFLES = 40_000
"""Enough for p = 0.01 after a correction for 400 looks."""
ALSO_WITHOUT = 0.05
"""A group without its most scattering version has this p at most: a second look at what is found, not corrected."""
SHUFFLES_AT_ONCE = 1_000
ENOUGH = 50
"""So many shuffles that reach the value seen end a test: p is their share by then (Besag, Clifford 1991)."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ScatterAt:
    """How much launches scatter at one place."""

    place: str
    share: float
    """Mean distance of a launch from the median, as a share of it."""
    others: float
    """The same of the middle one of the other versions."""


@dataclass(frozen=True)
class Scatter:
    """Versions whose launches differ from each other far more than those of the other versions do."""

    versions: tuple[str, ...]
    """One; or the oldest or the newest ones, all of which scatter more than all others."""
    places: tuple[ScatterAt, ...]
    """Where it shows: sizes, or all of them together."""
    p_value: float


ALL = "all sizes together"


def scatters(launches: Mapping[str, pl.DataFrame], places: Mapping[int, str]) -> list[Scatter]:
    """A group of versions that scatter too much, if there is one, then those that do so for themselves.

    launches: per version, oldest first, a table of size, launch and value_ns. places: names of the sizes.
    """
    distances = {version: _distances(table) for version, table in launches.items()}
    at: dict[str, dict[str, Floats]] = {
        name: {version: _array(table.filter(pl.col("size") == size)) for version, table in distances.items()}
        for size, name in places.items()
    }
    whole = {
        version: _array(table.group_by("launch").agg(pl.col("distance").mean()).sort("launch"))
        for version, table in distances.items()
    }
    if len(places) > 1:
        at[ALL] = whole
    single: dict[str, Scatter] = {}
    # What scatters for itself is no measure of what is usual: it is taken out, and the others are looked at again.
    while found := _singles({place: _without(tables, single) for place, tables in at.items()}):
        single |= {one.versions[0]: one for one in found}
    ordered = [single[version] for version in launches if version in single]
    group = _group(_without(whole, single))
    return ordered if group is None else [_with_those_between(group, list(launches), single), *ordered]


def _with_those_between(group: Scatter, versions: list[str], single: Container[str]) -> Scatter:
    """The group, and the versions of its side that scatter for themselves."""
    sound = [version for version in versions if version not in single]
    if group.versions[-1] == sound[-1]:
        return replace(group, versions=tuple(versions[versions.index(group.versions[0]) :]))
    return replace(group, versions=tuple(versions[: versions.index(group.versions[-1]) + 1]))


def _without(tables: Mapping[str, Floats], told: Container[str]) -> dict[str, Floats]:
    return {version: values for version, values in tables.items() if version not in told}


def _array(table: pl.DataFrame) -> Floats:
    return table["distance"].to_numpy().astype(np.float64)


def _distances(table: pl.DataFrame) -> pl.DataFrame:
    """Adds each value's distance from its version's median at that size, as a log ratio."""
    logarithm = pl.col("value_ns").log()
    return table.with_columns((logarithm - logarithm.median().over("size")).abs().alias("distance"))


def _singles(at: Mapping[str, Mapping[str, Floats]]) -> list[Scatter]:
    """Each version against all others, at each place."""
    looked = [(place, version) for place, tables in at.items() for version in tables]
    p_values = holm([p_value(*_split(at[place], [version])) for place, version in looked])
    found: dict[str, list[tuple[float, ScatterAt]]] = {}
    for (place, version), p in zip(looked, p_values, strict=True):
        own = at[place][version]
        means = [float(one.mean()) for name, one in at[place].items() if name != version and len(one)]
        if p <= SIGNIFICANCE and _much(float(own.mean()), usual := float(np.median(means))):
            found.setdefault(version, []).append((p, ScatterAt(place, math.expm1(own.mean()), math.expm1(usual))))
    return [
        Scatter((version,), tuple(one for _, one in told), min(p for p, _ in told)) for version, told in found.items()
    ]


def _split(tables: Mapping[str, Floats], versions: Iterable[str]) -> tuple[Floats, Floats]:
    chosen = set(versions)
    own = [one for name, one in tables.items() if name in chosen]
    rest = [one for name, one in tables.items() if name not in chosen]
    return np.concatenate([*own, np.zeros(0)]), np.concatenate([*rest, np.zeros(0)])


def _much(own: float, others: float) -> bool:
    return own >= LEAST and own >= TIMES_OTHERS * others


def _group(whole: Mapping[str, Floats]) -> Scatter | None:
    """The oldest or newest versions, two at least, if every one of them scatters more than every other version."""
    names = list(whole)
    ends = [names[at:] for at in range(1, len(names) - 1)] + [names[:at] for at in range(2, len(names))]
    p_values = holm([p_value(*_split(whole, end)) for end in ends])
    found: list[tuple[float, Scatter]] = []
    for end, p in zip(ends, p_values, strict=True):
        own, rest = _split(whole, end)
        apart = min(float(whole[name].mean()) for name in end) > max(
            float(whole[name].mean()) for name in names if name not in end
        )
        if p <= SIGNIFICANCE and apart and _much(float(own.mean()), float(rest.mean())) and _all_of(end, whole):
            at = ScatterAt(ALL, math.expm1(own.mean()), math.expm1(rest.mean()))
            found.append((float(rest.mean() / own.mean()), Scatter(tuple(end), (at,), p)))
    return min(found, key=lambda one: one[0])[1] if found else None


def _all_of(end: list[str], whole: Mapping[str, Floats]) -> bool:
    """Whether the group scatters without the version that does so most, too: otherwise it is that one alone."""
    most = max(end, key=lambda name: float(whole[name].mean()))
    others = {name: values for name, values in whole.items() if name != most}
    return p_value(*_split(others, [name for name in end if name != most])) <= ALSO_WITHOUT


def p_value(own: Floats, others: Floats) -> float:
    """One-sided, of `own` being no larger than `others` (the mean, up to FAR each): Monte-Carlo permutation test.

    Not scipy's permutation_test, which cannot stop when enough is known: 300 looks took it 44 s instead of 7 (two
    cores; 1,000 shuffles first, 40,000 where those gave p below 0.1), and 3 of 900 decisions at p = 0.05 to 0.001
    were others.
    """
    if min(len(own), len(others)) < 2:
        return 1.0
    together = np.concatenate([own, others]).clip(max=FAR)
    seen = together[: len(own)].sum() * (1 - 1e-12)
    random = np.random.default_rng(1)  # the same data give the same words
    reached = done = 0
    while done < SHUFFLES and reached < ENOUGH:
        chosen = random.random((SHUFFLES_AT_ONCE, len(together))).argpartition(len(own) - 1, axis=1)[:, : len(own)]
        reached += int((together[chosen].sum(axis=1) >= seen).sum())
        done += SHUFFLES_AT_ONCE
    return (1 + reached) / (1 + done)
