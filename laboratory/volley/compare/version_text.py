# SPDX-License-Identifier: BSD-3-Clause
"""Conclusions about versions in sentences for a person who has not read how they were made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from volley.benchmarks import Test
from volley.compare.pairwise import SIGNIFICANCE
from volley.compare.scatter import ALL, RISK, Scatter
from volley.compare.versions import Change, Conclusions
from volley.units import format_ratio

NONE = {
    "Avoid": "Nothing speaks against any of these versions.",
    "Regressions": "None that these data show.",
    "Improvements": "None that these data show.",
}
"""What stands in a section without findings. Not finding is no proof: the last section says what stays open."""


def heading(one: Conclusions, tests: Mapping[str, Test]) -> str:
    """``mpich, shm: Reduce, 2 ranks``."""
    title = tests[one.test].title if one.test in tests else one.test
    variant = "" if one.variant == "-" else f" ({one.variant})"
    where = ", ".join(part for part in (one.family or "versions", one.transport) if part)
    return f"{where}: {title}{variant}, {one.ranks} ranks"


def measured(one: Conclusions) -> str:
    """How much there is to conclude from."""
    counts = sorted(set(one.launches.values()))
    launches = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    versions = f"{len(one.versions)} versions ({', '.join(one.versions)})"
    return f"{versions}, {launches} launches each, {_sizes(len(one.places))}."


def sections(one: Conclusions) -> dict[str, list[str]]:
    """Sentences by section; a section without any is left out."""
    found = {
        "Avoid": _avoid(one),
        "Best": _best(one),
        "Regressions": _changes(one, "SLOWER"),
        "Improvements": _changes(one, "FASTER"),
        "What else changed": _settings(one),
        "How much the version matters": _matters(one),
        "What cannot be told": _open(one),
    }
    return {name: lines or [NONE[name]] for name, lines in found.items() if lines or name in NONE}


def times(ratio: float) -> str:
    """1.43, 0.70, 12.3, 330: what stands before "times"."""
    return f"{ratio:.2f}" if ratio < 10 else format_ratio(ratio)


def share(value: float) -> str:
    """``5 %``, ``0.4 %``."""
    return f"{100 * value:.0f} %" if value >= 0.0095 else f"{100 * value:.1f} %"


def interval(one: Change) -> str:
    """``1.40 – 1.46``, with its coverage where that is less than 95 %."""
    coverage = "" if one.coverage >= 0.95 else f", {share(one.coverage)} interval"
    return f"{times(one.low)} – {times(one.high)}{coverage}"


def factor(span: Change | None) -> str:
    """How many times the slowest version takes at a place; "=" if no more than the margin, "?" if undecided."""
    if span is None:
        return "–"
    return times(span.ratio) if span.claimed else "?" if span.verdict == "UNDECIDED" else "="


def _sizes(count: int) -> str:
    return "one size" if count == 1 else f"{count} sizes"


def listed(words: Iterable[str]) -> str:
    """``a, b and c``."""
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def _avoid(one: Conclusions) -> list[str]:
    lines = []
    for trouble in one.troubles:
        count = f"{trouble.launches} of {trouble.of} launches"
        lines.append(f"{trouble.version}: {count} {_fate(trouble.status)} ({trouble.reason}).")
    lines += [_scatter(at, one) for at in one.scatters]
    for version in dict.fromkeys(at.version for at in one.pathologies):
        own = [at for at in one.pathologies if at.version == version]
        which = listed(f"{at.place.label} ({times(at.ratio)} times)" for at in own)
        lines.append(
            f"{version}: far off at {which}: so many times what the middle one of the other versions takes, and surely "
            f"slower than {own[0].slower_than} of {own[0].others} of them. Not so at other sizes."
        )
    named = {*(version for at in one.scatters for version in at.versions), *(at.version for at in one.pathologies)}
    slow = [at for at in one.slow if at.after not in named]
    for at in slow:
        lines.append(
            f"{at.after}: slow, {_over(one)} {times(at.ratio)} times the time of {at.before} ({interval(at)})."
        )
    return lines


def _scatter(found: Scatter, one: Conclusions) -> str:
    worst = max(found.places, key=lambda at: at.share)
    sizes = [at.place for at in found.places if at.place != ALL]
    where = "at every size" if len(sizes) == len(one.places) > 1 else f"at {listed(sizes)}" if sizes else f"over {ALL}"
    most = "" if len(sizes or [ALL]) == 1 else f" (most: {'over' if worst.place == ALL else 'at'} {worst.place})"
    if len(found.versions) == 1:
        return (
            f"{found.versions[0]}: its launches differ from each other {where}. One lies {share(worst.share)} off the "
            f"median on average{most}; {share(worst.others)} is usual for the other versions."
        )
    newest = found.versions[-1] == one.versions[-1]
    which = f"{found.versions[0]} and all later" if newest else f"{found.versions[-1]} and all earlier"
    rest = "older" if newest else "newer"
    return (
        f"{which} versions: their launches differ from each other more than those of {rest} ones. Over {worst.place} "
        f"a launch lies {share(worst.share)} off the median on average, there {share(worst.others)}."
    )


def _fate(status: str) -> str:
    return {"frozen": "froze", "cut off": "were cut off", "wrong bytes": "brought wrong bytes"}.get(status, status)


def _over(one: Conclusions) -> str:
    return "over all sizes" if len(one.places) > 1 else f"at {one.places[0].label}"


def _best(one: Conclusions) -> list[str]:
    best = one.best
    if best is None:
        return ["Cannot be told: no size was measured with all versions."]
    lines = [_leader(one)]
    if best.passed_over:
        lines.append(f"{best.passed_over} takes less time {_over(one)}, but is to be avoided (above).")
    if best.beaten and len(best.undecided) + len(best.equals) + 1 < best.candidates:
        where = listed(f"{at.place.label} ({times(at.ratio)} times as long as {at.before})" for at in best.beaten)
        lines.append(f"{best.version} is not the fastest at {where}.")
    return lines


def _leader(one: Conclusions) -> str:
    best = one.best
    assert best is not None
    others, margin = best.candidates - 1, share(one.margin)
    among = " of those that nothing above speaks against" if best.candidates < len(one.versions) else ""
    if others == 0:
        return f"{best.version} is the only version that nothing above speaks against."
    if len(best.undecided) == others:
        return f"These data cannot tell which version{among} is best {_over(one)}."
    if len(best.equals) == others:
        return f"No version{among} is best: {_over(one)} all are the same within {margin}."
    if best.undecided:
        same = f" (and {listed(best.equals)}, the same within {margin})" if best.equals else ""
        are = "is" if len(best.undecided) == 1 else "are"
        return (
            f"{best.version}{same} takes the least time {_over(one)}{among}; whether {listed(best.undecided)} "
            f"{are} as good, these data cannot tell."
        )
    if best.equals:
        return f"{listed([best.version, *best.equals])} are best {_over(one)}{among}, and the same within {margin}."
    next_best = best.runner_up
    against = ""
    if next_best:
        against = f"; next is {next_best.after} with {times(next_best.ratio)} times its time ({interval(next_best)})"
    return f"{best.version} is best {_over(one)}{among}{against}."


def _changes(one: Conclusions, verdict: str) -> list[str]:
    """Changes of one direction by pair of versions, neighbours first told as such."""
    pairs: dict[tuple[str, str], list[Change]] = {}
    for at in sorted(one.changes, key=lambda at: one.versions.index(at.after)):
        if at.verdict == verdict:
            pairs.setdefault((at.before, at.after), []).append(at)
    word = "slower" if verdict == "SLOWER" else "faster"
    lines = []
    for (before, after), (first, *more) in pairs.items():
        where = [f"{times(first.ratio)} times the time at {first.place.label} ({interval(first)})"]
        where += [f"{times(at.ratio)} times at {at.place.label} ({interval(at)})" for at in more]
        if first.neighbours:
            lines.append(f"With {after}, after {before}: {word}, {listed(where)}.")
        else:
            lines.append(
                f"Somewhere after {before}, up to {after}: {word}, {listed(where)}. "
                "Between which two versions, these data cannot tell."
            )
    return lines


SHOWN_SETTINGS = 8


def _settings(one: Conclusions) -> list[str]:
    """What else changed, by the versions' own word, where something became slower or faster."""
    steps = zip(one.versions, one.versions[1:], strict=False)
    spans = {(one.versions.index(at.before), one.versions.index(at.after)) for at in one.changes}
    lines = []
    for place, (before, after) in enumerate(steps):
        found = [at for at in one.settings if at.before == before]
        if found and any(first <= place < last for first, last in spans):
            shown = [f"{at.name} from {_words(at.was, at.value)} to {_words(at.value, at.was)}" for at in found]
            more = [f"{len(found) - SHOWN_SETTINGS} more"] if len(found) > SHOWN_SETTINGS else []
            lines.append(f"With {after}, after {before}: {'; '.join([*shown[:SHOWN_SETTINGS], *more])}.")
    return [*lines, "Whether a change here is the cause of one above, this does not show."] if lines else []


def _words(text: str, other: str) -> str:
    """The words of `text` that `other` lacks; all if that leaves none."""
    return " ".join(word for word in text.split() if word not in other.split()) or text


def _matters(one: Conclusions) -> list[str]:
    sure = sorted((at for at in one.spans if at.claimed), key=lambda at: -at.ratio)
    if not sure:
        return [f"At no size can the slowest version be told from the fastest by more than {share(one.margin)}."]
    worst = sure[0]
    lines = [
        f"By a factor of up to {times(worst.ratio)}: at {worst.place.label} {worst.after} takes that many times as "
        f"long as {worst.before} ({interval(worst)})."
    ]
    twice = [at.place.label for at in one.spans if at.claimed and at.low >= 2]
    if twice:
        lines.append(f"By a factor of two or more at {len(twice)} of {_sizes(len(one.places))}: {listed(twice)}.")
    return lines


def _open(one: Conclusions) -> list[str]:
    """What the reader must not conclude."""
    lines = []
    fewest = min(one.launches.values())
    if fewest < one.launches_needed:
        lines.append(
            f"With {fewest} launches no difference, however large, can be told among {one.comparisons} comparisons: "
            f"{one.launches_needed} launches per version are needed."
        )
    undecided = [at for at in one.neighbours if at.verdict == "UNDECIDED"]
    if undecided:
        worst = max(undecided, key=lambda at: max(at.high, 1 / at.low))
        lines.append(
            f"UNDECIDED: {len(undecided)} of {len(one.neighbours)} comparisons of neighbouring versions. Widest: "
            f"{worst.before} to {worst.after} at {worst.place.label}, where the time may have become anything from "
            f"{times(worst.low)} to {times(worst.high)} times. More launches narrow that."
        )
    small = [at for at in one.neighbours if at.verdict in ("FASTER", "SLOWER") and not at.claimed]
    if small:
        lines.append(f"Changes between neighbours that are sure, but below {share(one.margin)}: {len(small)}.")
    same = _unchanged(one)
    if same:
        lines.append(f"SAME within {share(one.margin)} at every size, from version to version: {', '.join(same)}.")
    lines.append(
        f"All this holds for this machine, these settings and {_sizes(len(one.places))}. The risk that any claim of "
        f"slower or faster above is false is {share(SIGNIFICANCE)} at most, all {one.comparisons} comparisons together "
        f"({share(RISK)} for launches that differ); each interval by itself has 95 %."
    )
    return lines


def _unchanged(one: Conclusions) -> list[str]:
    pairs: dict[tuple[str, str], list[str]] = {}
    for at in one.neighbours:
        pairs.setdefault((at.before, at.after), []).append(at.verdict)
    return [f"{before} to {after}" for (before, after), verdicts in pairs.items() if set(verdicts) == {"SAME"}]
