# SPDX-License-Identifier: BSD-3-Clause
"""Verdicts in words: what, where, how much, why, how sure, what to do, and how to see it again."""

from __future__ import annotations

from collections.abc import Sequence

from rich.markup import escape

from volley.detect.finding_text import sentences
from volley.explain.explain import Tried, Verdict, headline

COLOURS = {"UNEXPLAINED": "bold yellow", "UNDECIDED": "dim", "SUSPECTED": "bold magenta", "CONFIRMED": "bold red"}
ORDER = ("CONFIRMED", "SUSPECTED", "UNEXPLAINED", "UNDECIDED")


def grounds(one: Tried) -> list[str]:
    """Why it is thought, and what the experiment said."""
    seen = one.examination
    said = list(one.suspicion.reasons)
    if seen is not None:
        return said + list(seen.said)
    return [*said, f"Not proven: {one.why_not}."] if one.why_not else said


def lines(verdicts: Sequence[Verdict]) -> list[str]:
    """For the terminal, with rich markup: verdicts first, the surest on top; then how many of each there are."""
    found: list[str] = []
    for one in sorted(verdicts, key=lambda verdict: ORDER.index(verdict.status)):
        first = one.findings[0]
        variant = f" {first.variant}" if first.variant != "-" else ""
        found.append(f"\n[bold]{escape(first.system)} · {escape(first.test + variant)}[/]")
        found += [f"  {escape(sentences(finding))}" for finding in one.findings]
        colour = COLOURS[one.status]
        status, _, rest = headline(one).partition(":")
        found.append(f"  [{colour}]{status}[/]:{escape(rest)}")
        if one.best is not None:
            found += [f"    · {escape(line)}" for line in grounds(one.best)]
            seen = one.best.examination
            if seen is not None and seen.remedy:
                found.append(f"    [bold]what to do[/]: {escape(seen.remedy)}")
        for other in one.tried[1:] if one.best is not None else one.tried:
            if other.examination is not None:
                said = escape(" ".join(other.examination.said))
                found.append(f"    {other.status.lower()}: {escape(other.cause.name)}: {said}")
        if one.note and one.status != "UNDECIDED" and not (one.best and one.note in one.best.why_not):
            found.append(f"    {escape(one.note)}")
        if one.command:
            found.append(f"    [dim]see it again: {escape(one.command)}[/]")
    counts = {status: sum(one.status == status for one in verdicts) for status in ORDER}
    said = ", ".join(f"{count} {status}" for status, count in counts.items() if count)
    found.append(f"\n{said or 'Nothing odd was found'}.")
    return found
