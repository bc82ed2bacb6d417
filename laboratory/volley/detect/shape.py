# SPDX-License-Identifier: BSD-3-Clause
"""The shape of one curve: its pieces, the sizes off them, and the jumps between them, with their errors.

Computed once per curve; the detectors of spikes, steps, plateaus and changes of structure read it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from volley.detect.segments import OUTLIER_PRICE, PIECE_PRICE, Line, Piece, fit_line, joint_cost, partition
from volley.detect.statistics import MAD_TO_SD, Levels, levels, two_sided

Floats = NDArray[np.float64]

FEWEST_SIZES = 5
"""Fewer sizes have no shape: a line and one odd size need four, and one to tell which is odd."""
NARROW = 1.99
"""Odd sizes within less than an octave are one spike; wider is a plateau."""
NEAR = 8
"""Sizes of a piece that predict its end: more would trust the straight line too far from where it is used."""


@dataclass(frozen=True)
class Outlier:
    """Sizes first … last-1 (indices) off the curve by exp(effect)."""

    first: int
    last: int
    effect: float
    error: float
    freedom: float
    agreement: float
    """Share of launches in which at least half of the effect shows; NaN with one launch."""
    launches: int

    @property
    def p_value(self) -> float:
        """Of no effect, before correction."""
        return two_sided(self.effect, self.error, self.freedom)


@dataclass(frozen=True)
class Jump(Outlier):
    """A jump by exp(effect) between sizes first-1 and first; `last` is where the piece behind it ends."""


@dataclass(frozen=True)
class Bump:
    """A stretch between a jump and its recovery: sizes first … last-1 by exp(effect) off what surrounds them."""

    first: int
    last: int
    effect: float
    error: float
    freedom: float


@dataclass(frozen=True)
class Shape:
    """Levels and pieces of a curve."""

    sizes: Floats
    log_ns: Floats
    levels: Levels
    pieces: tuple[Piece, ...]

    @classmethod
    def of(cls, sizes: NDArray[np.int64], log_ns: Floats) -> Shape:
        """Analyses a curve; with fewer than FEWEST_SIZES sizes it has no pieces."""
        x = sizes.astype(float)
        found = levels(x, log_ns)
        if len(x) < FEWEST_SIZES:
            return cls(x, log_ns, found, ())
        pieces = partition(x, found.level, found.error)
        factor = _misfit(x, found, pieces)
        if factor > 1.0:
            found = replace(found, error=found.error * factor)
            pieces = partition(x, found.level, found.error)
        return cls(x, log_ns, found, tuple(_settled(x, found, _joined(x, found, pieces))))

    def line(self, chosen: list[int]) -> Line:
        """The line through the chosen sizes."""
        return _line(self.sizes, self.levels, chosen)

    @cached_property
    def _odd(self) -> tuple[tuple[str, Outlier], ...]:
        """Groups of outliers side by side, each with what it is: ``spike``, ``bump`` or ``end``."""
        found = []
        for piece in self.pieces:
            inliers = piece.inliers()
            for group in self._groups(piece, inliers):
                spike = self._spike(group, _nearest(inliers, group))
                wide = self.sizes[group[-1]] > NARROW * max(self.sizes[group[0]], 1.0)
                kind = "bump" if wide and spike.effect > 0 else "spike"
                if wide and group[-1] == len(self.sizes) - 1:
                    kind = "end"
                found.append((kind, spike))
        return tuple(found)

    def _groups(self, piece: Piece, inliers: list[int]) -> list[list[int]]:
        """Outliers side by side and on the same side of the curve."""
        line = self.line(inliers)
        groups: list[list[int]] = []
        signs: list[bool] = []
        for one in sorted(piece.outliers):
            slower = bool(self.levels.level[one] > np.log(line.at(self.sizes[one])))
            if groups and one == groups[-1][-1] + 1 and slower == signs[-1]:
                groups[-1].append(one)
            else:
                groups.append([one])
                signs.append(slower)
        return groups

    @cached_property
    def spikes(self) -> tuple[Outlier, ...]:
        """Sizes off the curve, within less than an octave."""
        return tuple(spike for kind, spike in self._odd if kind == "spike" and self._stands_out(spike))

    def _stands_out(self, spike: Outlier) -> bool:
        """Whether the nearest sizes alone, too, show half of it: a bend that no line fits makes no spike.

        Where a piece begins with it, the sizes before are on the other side of a jump and tell nothing.
        """
        odd = {i for piece in self.pieces for i in piece.outliers}
        begins = any(piece.first == spike.first for piece in self.pieces)
        left = [] if begins else [i for i in range(spike.first) if i not in odd][-1:]
        right = [i for i in range(spike.last, len(self.sizes)) if i not in odd][:1]
        if not right:
            return True
        if not left:  # below its first size a piece can only be flat
            local = float(self.levels.level[spike.first] - self.levels.level[right[0]])
            return bool(local * np.sign(spike.effect) >= 0.5 * abs(spike.effect))
        at = np.array([*left, *right])
        between = np.interp(self.sizes[spike.first : spike.last], self.sizes[at], np.exp(self.levels.level[at]))
        local = float(np.median(self.levels.level[spike.first : spike.last] - np.log(between)))
        return bool(local * np.sign(spike.effect) >= 0.5 * abs(spike.effect))

    def _spike(self, group: list[int], around: list[int]) -> Outlier:
        line = self.line(around)
        base = np.log([line.at(self.sizes[i]) for i in group])
        effects = self.levels.level[group] - base
        middle = group[int(np.argsort(np.abs(effects))[len(group) // 2])]
        effect = float(np.median(effects))
        error = float(np.hypot(self.levels.error[middle], line.log_error(self.sizes[middle])))
        each = self.levels.residuals[:, group] + effects
        agreement, launches = _agreement(np.nanmean(_known(each), axis=1), effect)
        return Outlier(group[0], group[-1] + 1, effect, error, float(self.levels.freedom[middle]), agreement, launches)

    @cached_property
    def jumps(self) -> tuple[Jump, ...]:
        """One per place where two pieces meet and their lines do not."""
        found = []
        for left, right in zip(self.pieces, self.pieces[1:], strict=False):
            jump = self.jump_between(left.inliers(), right.inliers())
            if jump is not None:
                found.append(replace(jump, first=right.first, last=right.last))
        found += [Jump(**vars(spike)) for kind, spike in self._odd if kind == "end"]
        return tuple(sorted(found, key=lambda jump: jump.first))

    def jump_between(self, left: list[int], right: list[int]) -> Jump | None:
        """The jump between two runs of sizes: what remains if the lines may bend anywhere between them.

        Each line is prolonged to the other's first size. If rates merely change in between, the lines cross
        there and the two differences have opposite signs: that is a bend, and no jump. Otherwise the smaller
        difference counts.
        """
        if not left or not right:
            return None
        near_left, near_right = left[-NEAR:], right[:NEAR]
        before, after = self.line(near_left), self.line(near_right)
        here, there = float(self.sizes[left[-1]]), float(self.sizes[right[0]])
        gaps = [float(np.log(after.at(size) / before.at(size))) for size in (here, there)]
        if gaps[0] * gaps[1] <= 0:
            return None
        which = int(abs(gaps[1]) < abs(gaps[0]))
        size = (here, there)[which]
        error = float(np.hypot(before.log_error(size), after.log_error(size)))
        agreement, launches = self._jump_agreement(near_left, near_right, gaps[which])
        freedom = float(self.levels.freedom[[left[-1], right[0]]].sum())
        return Jump(right[0], right[-1] + 1, gaps[which], error, freedom, agreement, launches)

    def edge(self, first: int, last: int) -> Jump:
        """The jump from what the sizes before `first` promise to that size, whatever comes behind."""
        odd = {i for spike in self.spikes for i in range(spike.first, spike.last)}
        before = [i for i in range(first) if i not in odd][-NEAR // 2 :] or [first - 1]
        spike = self._spike([first], before)
        return Jump(**{**vars(spike), "last": last})

    def _jump_agreement(self, left: list[int], right: list[int], effect: float) -> tuple[float, int]:
        """Share of launches whose own residuals on the two sides do not cancel half of the jump."""
        sides = [np.nanmean(_known(self.levels.residuals[:, side[:3]]), axis=1) for side in (left[::-1], right)]
        return _agreement(sides[1] - sides[0] + effect, effect)

    @cached_property
    def bumps(self) -> tuple[Bump, ...]:
        """Runs of pieces that rise from the curve and fall back to where it would have been."""
        found = [
            Bump(one.first, one.last, one.effect, one.error, one.freedom) for kind, one in self._odd if kind == "bump"
        ]
        first = 0
        while first < len(self.pieces) - 2:
            taken = first + 1
            for last in range(len(self.pieces) - 1, first + 1, -1):
                bump = self._bump(first, last)
                if bump is not None:
                    found.append(bump)
                    taken = last
                    break
            first = taken
        return tuple(found)

    def _bump(self, before: int, after: int) -> Bump | None:
        """Pieces between two others which one line joins, if all of them lie above it."""
        left, right = self.pieces[before].inliers()[-NEAR:], self.pieces[after].inliers()[:NEAR]
        if not rejoin(self.sizes, self.levels, left, right):
            return self._undone(before, after)
        line = self.line(left + right)
        inside = [i for piece in self.pieces[before + 1 : after] for i in piece.inliers()]
        effects = self.levels.level[inside] - np.log([line.at(self.sizes[i]) for i in inside])
        effect = float(np.median(effects))
        if effect <= 0 or np.mean(effects > 0) < 0.8:
            return None
        middle = inside[len(inside) // 2]
        error = float(np.hypot(np.median(self.levels.error[inside]), line.log_error(self.sizes[middle])))
        freedom = float(self.levels.freedom[middle])
        return Bump(self.pieces[before].last, self.pieces[after].first, effect, error, freedom)

    def _undone(self, before: int, after: int) -> Bump | None:
        """A jump up that one down undoes, though sizes and rates between have changed."""
        runs = [self.pieces[i].inliers() for i in (before, before + 1, after - 1, after)]
        up, down = self.jump_between(*runs[:2]), self.jump_between(*runs[2:])
        if up is None or down is None or up.effect < 4 * up.error or abs(up.effect + down.effect) > 0.35 * up.effect:
            return None
        return Bump(self.pieces[before].last, self.pieces[after].first, up.effect, up.error, up.freedom)


def _known(values: Floats) -> Floats:
    """Rows without any number become zeros: no evidence against."""
    return np.where(np.isfinite(values).any(axis=1, keepdims=True), values, np.nan_to_num(values))


def _agreement(each: Floats, effect: float) -> tuple[float, int]:
    known = each[np.isfinite(each)]
    if len(known) < 2:
        return float("nan"), len(known)
    return float(np.mean(known * np.sign(effect) > 0.5 * abs(effect))), len(known)


def _nearest(inliers: list[int], group: list[int]) -> list[int]:
    """The NEAR sizes around a group, from both sides where there are."""
    left = [i for i in inliers if i < group[0]]
    right = [i for i in inliers if i > group[-1]]
    return sorted(left[-NEAR:] + right[:NEAR])


def _misfit(sizes: Floats, found: Levels, pieces: list[Piece]) -> float:
    """By how much the curve strays from its pieces more than its launches say: at least 1."""
    scaled = []
    parameters = 0
    for piece in pieces:
        inliers = piece.inliers()
        if len(inliers) < 4:
            continue
        at = np.array(inliers)
        line = _line(sizes, found, inliers)
        scaled += list((found.level[at] - np.log([line.at(size) for size in sizes[at]])) / found.error[at])
        parameters += 2
    if len(scaled) < 8:
        return 1.0
    freedom = max(1 - parameters / len(scaled), 0.3)
    return max(1.0, float(np.median(np.abs(scaled)) * MAD_TO_SD / np.sqrt(freedom)))


def rejoin(sizes: Floats, found: Levels, left: list[int], right: list[int]) -> bool:
    """Whether one line explains two runs of sizes about as well as one line each."""
    apart = joint_cost(sizes, found.level, found.error, left) + joint_cost(sizes, found.level, found.error, right)
    return joint_cost(sizes, found.level, found.error, left + right) <= apart + PIECE_PRICE


def _joined(sizes: Floats, found: Levels, pieces: list[Piece]) -> list[Piece]:
    """Short pieces between two that belong together become outliers of the one that results."""
    merged = list(pieces)
    at = 1
    while at < len(merged) - 1:
        left, middle, right = merged[at - 1 : at + 2]
        narrow = sizes[middle.last - 1] <= NARROW * max(sizes[middle.first], 1.0)
        if narrow and rejoin(sizes, found, left.inliers()[-NEAR:], right.inliers()[:NEAR]):
            out = (*left.outliers, *range(middle.first, middle.last), *right.outliers)
            merged[at - 1 : at + 2] = [Piece(left.first, right.last, out)]
            at = max(at - 1, 1)
        else:
            at += 1
    return merged


def _settled(sizes: Floats, found: Levels, pieces: list[Piece]) -> list[Piece]:
    """Sizes left out beside the border of two pieces go to the side whose line is nearer: that is the border."""
    settled = list(pieces)
    for at in range(len(settled) - 1):
        left, right = settled[at : at + 2]
        while left.last - 1 in left.outliers and _nearer(sizes, found, left.last - 1, right, left):
            left, right = _moved(sizes, found, left, right, left.last - 1)
        while right.first in right.outliers and _nearer(sizes, found, right.first, left, right):
            left, right = _moved(sizes, found, left, right, right.first + 1)
        settled[at : at + 2] = [left, right]
    return settled


def _line(sizes: Floats, found: Levels, chosen: list[int]) -> Line:
    at = np.array(chosen)
    return fit_line(sizes[at], np.exp(found.level[at]), found.error[at])


def _off(sizes: Floats, found: Levels, one: int, piece: Piece, last: int) -> float:
    """How far a size is off a piece's line, by the inliers on the piece's side nearest to it."""
    inliers = piece.inliers()
    near = inliers[:NEAR] if one <= last else inliers[-NEAR:]
    return abs(float(found.level[one]) - float(np.log(_line(sizes, found, near).at(sizes[one]))))


def _nearer(sizes: Floats, found: Levels, one: int, other: Piece, own: Piece) -> bool:
    return _off(sizes, found, one, other, other.first) < _off(sizes, found, one, own, own.first)


def _moved(sizes: Floats, found: Levels, left: Piece, right: Piece, border: int) -> tuple[Piece, Piece]:
    """The border of two pieces put elsewhere, by one size; that size fits its new piece, or is left out there."""
    one = border if border < left.last else border - 1
    taker = right if border < left.last else left
    fits = _off(sizes, found, one, taker, taker.first) ** 2 <= OUTLIER_PRICE * float(found.error[one]) ** 2
    out = {*left.outliers, *right.outliers} - ({one} if fits else set())
    return (
        Piece(left.first, border, tuple(sorted(i for i in out if i < border))),
        Piece(border, right.last, tuple(sorted(i for i in out if i >= border))),
    )
