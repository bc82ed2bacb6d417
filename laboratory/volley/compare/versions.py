# SPDX-License-Identifier: BSD-3-Clause
"""Versions of one MPI against each other: where something changed, which is best, which to avoid.

The launch is the unit, as everywhere. Per size, and over all sizes together (each launch's geometric mean), every
version is compared with every other (pairwise.py): exact rank-sum tests, all corrected together (Holm), so that the
probability of any false claim among them is 5 % at most. What is concluded from single verdicts (a change lies
between two neighbours, a size is pathological, a version is best) claims nothing they do not hold.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from operator import attrgetter
from statistics import median

import polars as pl

from volley.compare.pairwise import BANDS, Comparison, Contest, compare, launches_needed
from volley.compare.scatter import Scatter, scatters
from volley.data.analyse import median_interval
from volley.data.results import Launch, SystemFacts
from volley.sizes import format_size
from volley.systems.wheel import order

ALL_SIZES = -1
"""Stands for a size: all of them together."""
MOST_PLACES = 16
"""Of more sizes, bands are compared instead: with every further comparison each needs more launches."""
PATHOLOGICAL = 1.5
"""So many times what the middle one of the other versions takes."""
PATHOLOGICAL_AGAINST = 0.75
"""Share of the other versions that it must be slower than for sure: a version after a regression, with others like
it after it, is not pathological."""
PATHOLOGICAL_PLACES = 1 / 3
"""A version that is so at more of the sizes is slow, and no single size is to blame."""
SLOW = 1.25
"""Over all sizes so many times the best version's time: to be avoided."""


@dataclass(frozen=True)
class Version:
    """One system of a lineage."""

    system: str
    label: str
    """What tells it from the others: its version, or the user's name for it."""
    settings: Mapping[str, str]
    """What it says of itself (SystemFacts.knobs)."""


@dataclass(frozen=True)
class Place:
    """A size, or a band of sizes."""

    size: int
    """In bytes; of a band the smallest; ALL_SIZES for all together."""
    label: str


@dataclass(frozen=True)
class Lineage:
    """Versions of one MPI, oldest first, in one transport, test, variant and world size."""

    family: str
    transport: str
    test: str
    variant: str
    ranks: int
    versions: tuple[Version, ...]
    places: tuple[Place, ...]
    table: pl.DataFrame
    """Rows of system, test, variant, ranks, size (Place.size, and ALL_SIZES), launch, value_ns."""


@dataclass(frozen=True)
class Value:
    """A version at a place: median of the launches' values, and its interval."""

    version: str
    place: Place
    value_ns: float
    low_ns: float
    high_ns: float
    coverage: float
    launches: int


@dataclass(frozen=True)
class Change:
    """One version against another, usually an earlier one, at one place. Ratios are times: above 1 is slower."""

    before: str
    after: str
    place: Place
    verdict: str
    """FASTER, SLOWER, SAME or UNDECIDED."""
    ratio: float
    low: float
    high: float
    coverage: float
    p_value: float
    """Corrected for all comparisons."""
    claimed: bool
    """Told apart for sure, and by more than the margin."""
    neighbours: bool
    """Whether no version lies between."""


@dataclass(frozen=True)
class Pathology:
    """One size at which a version is far off, though not elsewhere."""

    version: str
    place: Place
    ratio: float
    """Time against the middle one of the other versions."""
    slower_than: int
    others: int


@dataclass(frozen=True)
class Setting:
    """A setting, or a fact of the build, that two neighbouring versions state differently of themselves."""

    before: str
    after: str
    name: str
    was: str
    value: str


@dataclass(frozen=True)
class Trouble:
    """Launches of a version that did not end well, of one kind."""

    version: str
    status: str
    launches: int
    of: int
    reason: str


@dataclass(frozen=True)
class Best:
    """The version that is best over all sizes, if that can be told, among those that nothing speaks against."""

    version: str
    candidates: int
    """How many versions nothing speaks against; all versions, if something speaks against each."""
    equals: tuple[str, ...]
    """Others that are the SAME within the margin."""
    undecided: tuple[str, ...]
    """Others of which the data cannot tell."""
    runner_up: Change | None
    """The next best one against it."""
    beaten: tuple[Change, ...]
    """Where another is faster for sure: the fastest of them against this one, per place."""
    passed_over: str
    """The version that is faster over all sizes, but to be avoided; "" if there is none."""


@dataclass(frozen=True)
class Conclusions:
    """What the launches of one lineage say."""

    family: str
    transport: str
    test: str
    variant: str
    ranks: int
    versions: tuple[str, ...]
    places: tuple[Place, ...]
    launches: Mapping[str, int]
    margin: float
    comparisons: int
    """Made together, and corrected for."""
    launches_needed: int
    """Per version, below which no difference, however large, could be told."""
    values: tuple[Value, ...]
    neighbours: tuple[Change, ...]
    """Every version against the one before it, at every place."""
    changes: tuple[Change, ...]
    """Regressions and improvements: between neighbours, or in between where these cannot be told apart."""
    spans: tuple[Change, ...]
    """Per place the two versions that differ most, among those told apart for sure if any are: slower after faster."""
    slow: tuple[Change, ...]
    """Versions that are far slower than the best over all sizes."""
    scatters: tuple[Scatter, ...]
    pathologies: tuple[Pathology, ...]
    troubles: tuple[Trouble, ...]
    settings: tuple[Setting, ...]
    """What else changed from version to version. Whether it is the cause, nobody has shown."""
    best: Best | None


def lineages(values: pl.DataFrame, systems: Sequence[SystemFacts]) -> list[Lineage]:
    """From analyse.launch_values(): whatever has at least two versions with measurements."""
    if values.is_empty():
        return []
    text = values.select(
        pl.col("system", "test", "variant").cast(pl.String),
        pl.col("ranks", "size", "launch").cast(pl.Int64),
        "value_ns",
    ).filter(pl.col("value_ns") > 0)
    known = {facts.name: facts for facts in systems}
    families: dict[tuple[str, str], list[Version]] = {}
    for name in [*known, *sorted(set(text["system"].unique()) - set(known))]:
        family, transport, version = identity(known.get(name) or SystemFacts(name, name, "", ""))
        families.setdefault((family, transport), []).append(version)
    found = []
    for (family, transport), members in families.items():
        own = text.filter(pl.col("system").is_in([one.system for one in members]))
        for (test, variant, ranks), table in sorted(own.group_by(["test", "variant", "ranks"]), key=lambda one: one[0]):
            measured = set(table["system"].unique())
            versions = _in_order([one for one in members if one.system in measured])
            if len(versions) > 1:
                places, whole = _by_place(table)
                key = (family, transport, str(test), str(variant), int(str(ranks)))
                found.append(Lineage(*key, tuple(versions), places, whole))
    return found


def identity(facts: SystemFacts) -> tuple[str, str, Version]:
    """Family, transport, and what tells the version: of imported data, whose names are all there is, from those."""
    if facts.family == "prefix" or (facts.version and facts.family != facts.name):
        label = facts.version if facts.family != "prefix" else facts.name
        return facts.family, facts.transport, Version(facts.name, label, facts.knobs)
    match = re.fullmatch(r"(?:(.*?)(?:==|[\s_-]))?(\d[^/]*)(?:/(.*))?", facts.name)
    if match is None:
        return "", facts.transport, Version(facts.name, facts.name, facts.knobs)
    return match[1] or "", match[3] or facts.transport, Version(facts.name, match[2], facts.knobs)


def _in_order(versions: list[Version]) -> list[Version]:
    """By number, where all have one; otherwise as given."""
    if all(one.label[0].isdigit() for one in versions):
        return sorted(versions, key=lambda one: order(one.label))
    return versions


def _by_place(table: pl.DataFrame) -> tuple[tuple[Place, ...], pl.DataFrame]:
    """The places to compare at, and each launch's value there: the geometric mean over a place's sizes."""
    sizes = sorted(table["size"].unique().to_list())
    launches = table["launch"].n_unique()
    most = table.group_by("size").agg(pl.col("launch").n_unique().alias("n")).filter(pl.col("n") >= 0.8 * launches)
    common = table.join(most, on="size", how="semi")
    complete = common.group_by("launch").len().filter(pl.col("len") == len(most))
    common = common.join(complete, on="launch", how="semi")
    places = [Place(size, format_size(size) if size else "–") for size in sizes]
    parts = [table]
    if len(sizes) > MOST_PLACES:
        inside = {name: pl.col("size").is_between(low, high) for name, low, high in BANDS}
        bands = [(name, low) for name, low, _ in BANDS if not common.filter(inside[name]).is_empty()]
        places = [Place(low, name) for name, low in bands]
        parts = [_means(common.filter(inside[name]), low) for name, low in bands]
    if len(places) > 1 and not common.is_empty():
        parts.append(_means(common, ALL_SIZES))
    columns = ["system", "test", "variant", "ranks", "size", "launch", "value_ns"]
    return tuple(places), pl.concat([part.select(columns) for part in parts])


def _means(table: pl.DataFrame, size: int) -> pl.DataFrame:
    """One row per launch: the geometric mean of its values, so that each size weighs alike."""
    return (
        table.group_by("system", "test", "variant", "ranks", "launch")
        .agg(pl.col("value_ns").log().mean().exp())
        .with_columns(pl.lit(size, pl.Int64).alias("size"))
        .sort("system", "launch")
    )


def conclude(found: Sequence[Lineage], launches: Iterable[Launch], margin: float) -> list[Conclusions]:
    """Conclusions for every lineage, corrected for all comparisons together.

    margin: relative difference up to which two versions are the SAME to the user (0.05 is 5 %).
    """
    contests = [
        Contest(after.system, one.table, before.system, one.table)
        for one in found
        for before, after in combinations(one.versions, 2)
    ]
    verdicts = compare(contests, margin, per_size=True)
    troubled = [launch for launch in launches if launch.status != "measured"]
    return [_Judge(one, verdicts, margin).conclusions(troubled) for one in found]


class _Judge:
    """Reads one lineage's conclusions off its verdicts."""

    def __init__(self, lineage: Lineage, verdicts: Sequence[Comparison], margin: float) -> None:
        self.lineage = lineage
        self.margin = margin
        self.comparisons = len(verdicts)
        self.labels = [one.label for one in lineage.versions]
        self.overall = Place(ALL_SIZES, "all sizes together") if len(lineage.places) > 1 else lineage.places[0]
        self.known: dict[tuple[str, str, int], Change] = {}
        label = {one.system: one.label for one in lineage.versions}
        place = {f"{one.size} B": one for one in (*lineage.places, self.overall)}
        for one in verdicts:
            key = (one.test, one.variant, one.ranks)
            if one.system in label and key == (lineage.test, lineage.variant, lineage.ranks):
                self._keep(self._change(one, label[one.baseline], label[one.system], place[one.band]))

    def _change(self, one: Comparison, before: str, after: str, place: Place) -> Change:
        claimed = one.verdict in ("FASTER", "SLOWER") and abs(math.log(one.ratio)) >= math.log1p(self.margin)
        neighbours = self.labels.index(after) - self.labels.index(before) == 1
        return Change(
            before, after, place, one.verdict, one.ratio, one.low, one.high, one.coverage, one.p_value, claimed,
            neighbours,
        )  # fmt: skip

    def _keep(self, one: Change) -> None:
        """Both ways round."""
        self.known[one.before, one.after, one.place.size] = one
        verdict = {"FASTER": "SLOWER", "SLOWER": "FASTER"}.get(one.verdict, one.verdict)
        self.known[one.after, one.before, one.place.size] = replace(
            one, before=one.after, after=one.before, verdict=verdict, ratio=1 / one.ratio, low=1 / one.high,
            high=1 / one.low,
        )  # fmt: skip

    def slower(self, after: str, before: str, place: Place) -> bool:
        """Whether one is claimed to be slower than the other."""
        one = self.known.get((before, after, place.size))
        return one is not None and one.claimed and one.verdict == "SLOWER"

    def conclusions(self, troubled: Sequence[Launch]) -> Conclusions:
        """All there is to say."""
        lineage = self.lineage
        values = [value for label in self.labels for place in lineage.places if (value := self._value(label, place))]
        pathologies = self._pathologies()
        scattered = scatters(self._by_version(), {one.size: one.label for one in lineage.places})
        troubles = self._troubles(troubled)
        shunned = {*(at.version for at in pathologies), *(version for at in scattered for version in at.versions)}
        shunned |= {at.version for at in troubles}
        best = self._best(shunned)
        return Conclusions(
            family=lineage.family,
            transport=lineage.transport,
            test=lineage.test,
            variant=lineage.variant,
            ranks=lineage.ranks,
            versions=tuple(self.labels),
            places=lineage.places,
            launches={one.label: self._launches(one.system) for one in lineage.versions},
            margin=self.margin,
            comparisons=self.comparisons,
            launches_needed=launches_needed(self.comparisons),
            values=tuple(values),
            neighbours=tuple(
                self.known[pair[0], pair[1], place.size]
                for pair in zip(self.labels, self.labels[1:], strict=False)
                for place in lineage.places
                if (pair[0], pair[1], place.size) in self.known
            ),
            changes=tuple(change for place in lineage.places for change in self._changes(place)),
            spans=tuple(span for place in lineage.places if (span := self._span(place))),
            slow=self._slow(best),
            scatters=tuple(scattered),
            pathologies=tuple(pathologies),
            troubles=tuple(troubles),
            settings=tuple(
                Setting(old.label, new.label, name, was, new.settings[name])
                for old, new in zip(lineage.versions, lineage.versions[1:], strict=False)
                for name, was in old.settings.items()
                if name in new.settings and was != new.settings[name]
            ),
            best=best,
        )

    def _launches(self, system: str) -> int:
        return self.lineage.table.filter(pl.col("system") == system)["launch"].n_unique()

    def _by_version(self) -> dict[str, pl.DataFrame]:
        """Per version its launches' values: size, launch, value_ns."""
        single = self.lineage.table.filter(pl.col("size") != ALL_SIZES)
        return {one.label: single.filter(pl.col("system") == one.system) for one in self.lineage.versions}

    def _value(self, label: str, place: Place) -> Value | None:
        system = self.lineage.versions[self.labels.index(label)].system
        own = self.lineage.table.filter((pl.col("system") == system) & (pl.col("size") == place.size))
        if own.is_empty():
            return None
        return Value(label, place, *median_interval(own["value_ns"].to_list()), len(own))

    def _changes(self, place: Place) -> list[Change]:
        """Claimed pairs, earlier to later, narrowest first, none across the same step as one of its direction.

        A claimed pair has at least one change between its versions. Two that overlap may be about the same one.
        """
        kept: list[tuple[int, int, Change]] = []
        for before, after, one in sorted(self._claimed(place), key=lambda at: (at[1] - at[0], at[2].p_value)):
            if all(one.verdict != other.verdict or after <= first or last <= before for first, last, other in kept):
                kept.append((before, after, one))
        return [one for *_, one in sorted(kept, key=lambda at: at[:2])]

    def _claimed(self, place: Place) -> list[tuple[int, int, Change]]:
        """Pairs told apart for sure, with the positions of the earlier and the later version."""
        pairs = combinations(range(len(self.labels)), 2)
        known = [(i, j, self.known.get((self.labels[i], self.labels[j], place.size))) for i, j in pairs]
        return [(i, j, one) for i, j, one in known if one is not None and one.claimed]

    def _span(self, place: Place) -> Change | None:
        """The pair that differs most for sure, slower after faster; where there is none, the lowest and highest."""
        claimed = [one for one in self.known.values() if one.place == place and one.claimed and one.verdict == "SLOWER"]
        if claimed:
            return max(claimed, key=attrgetter("ratio"))
        ends = [one for one in self.known.values() if one.place == place]
        return max(ends, key=attrgetter("ratio"), default=None)

    def _pathologies(self) -> list[Pathology]:
        """Needs three versions, to know what is usual, and three sizes, to know what is elsewhere."""
        if min(len(self.labels), len(self.lineage.places)) < 3:
            return []
        found = []
        for label in self.labels:
            own = [one for place in self.lineage.places if (one := self._pathology(label, place)) is not None]
            found += own if len(own) <= PATHOLOGICAL_PLACES * len(self.lineage.places) else []
        return found

    def _pathology(self, label: str, place: Place) -> Pathology | None:
        others = [other for other in self.labels if (other, label, place.size) in self.known]
        if not others:
            return None
        slower = sum(self.slower(label, other, place) for other in others)
        ratios = [self.known[other, label, place.size].ratio for other in others]
        ratio = median(ratios)
        if ratio < PATHOLOGICAL or slower < PATHOLOGICAL_AGAINST * len(others):
            return None
        return Pathology(label, place, ratio, slower, len(others))

    def _troubles(self, launches: Iterable[Launch]) -> list[Trouble]:
        found: dict[tuple[str, str], list[str]] = {}
        for launch in launches:
            if (launch.test, launch.ranks) == (self.lineage.test, self.lineage.ranks):
                for one in self.lineage.versions:
                    if one.system == launch.system:
                        found.setdefault((one.label, launch.status), []).append(launch.reason)
        total = {one.label: self._launches(one.system) for one in self.lineage.versions}
        return [
            Trouble(label, status, len(reasons), max(total[label], len(reasons)), reasons[0])
            for (label, status), reasons in found.items()
        ]

    def _best(self, shunned: set[str]) -> Best | None:
        """The lowest over all sizes among those without trouble; None if nothing can be compared."""
        middle = {label: value.value_ns for label in self.labels if (value := self._value(label, self.overall))}
        ranking = sorted(middle, key=lambda label: middle[label])
        sound = [label for label in ranking if label not in shunned] or ranking
        if len(ranking) < 2:
            return None
        leader = sound[0]
        rest = [one for label in sound[1:] if (one := self.known.get((leader, label, self.overall.size)))]
        close = [one for one in rest if not (one.claimed and one.verdict == "SLOWER")]
        rivals: list[Change] = []
        for place in self.lineage.places:
            faster = [label for label in ranking if self.slower(leader, label, place)]
            if faster and len(self.lineage.places) > 1:
                rivals.append(max((self.known[label, leader, place.size] for label in faster), key=attrgetter("ratio")))
        ahead = ranking[0] if self.slower(leader, ranking[0], self.overall) else ""
        return Best(
            version=leader,
            candidates=len(sound),
            equals=tuple(one.after for one in close if one.verdict != "UNDECIDED"),
            undecided=tuple(sorted((one.after for one in close if one.verdict == "UNDECIDED"), key=self.labels.index)),
            runner_up=rest[0] if rest else None,
            beaten=tuple(rivals),
            passed_over=ahead,
        )

    def _slow(self, best: Best | None) -> tuple[Change, ...]:
        """Versions that take SLOW times as long as the best one over all sizes, surely."""
        if best is None:
            return ()
        found = [self.known.get((best.version, label, self.overall.size)) for label in self.labels]
        return tuple(one for one in found if one is not None and one.verdict == "SLOWER" and one.low >= SLOW)
