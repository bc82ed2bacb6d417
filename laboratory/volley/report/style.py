# SPDX-License-Identifier: BSD-3-Clause
"""How a system looks in every picture: a colour per family, a shade per version, a dash per transport.

The colours are Okabe and Ito's and Tol's, which people with any of the usual colour blindnesses can tell
apart; each has a lighter twin for dark backgrounds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from volley.data.results import SystemFacts
from volley.systems import traits_of

MACHINE = "machine"
"""The system whose measurements are the machine's own: drawn as reference, not as a competitor."""

CEILINGS_TEST = "ceilings"
"""The test that measures memory and cores alone: its curves are references in pictures of others."""
CEILINGS = {
    "line": "a cache line from core to core",
    "pingpong1": "ping-pong, one core copies",
    "pingpong2": "ping-pong, both cores copy",
    "memcpy": "one core copies",
}
"""Variants of the test `ceilings`, in words."""

OTHERS = (
    ("#56a0d3", "#8cc8f5"),
    ("#882255", "#d77fae"),
    ("#777722", "#c4c455"),
    ("#332288", "#9a8cf0"),
    ("#cc6677", "#f29aa8"),
    ("#117733", "#5fc985"),
)
"""For families nobody gave a colour, in the order in which they are met."""

DASHES = {"tcp": "dash", "ofi": "dashdot", "ucx": "longdash", "cma": "longdashdot", "auto": "longdashdot"}
"""Transport → dash, in plotly's words, whatever the MPI. Its own transports a system names itself (Traits.dashes)."""

_NAME = re.compile(r"(?P<family>[^=/]+)(?:==(?P<version>[^/]*))?(?:/(?P<transport>.*))?", re.DOTALL)


@dataclass(frozen=True)
class Look:
    """One system's colour on white, on black, and its dash."""

    light: str
    dark: str
    dash: str


def facts_of(name: str, known: Iterable[SystemFacts]) -> SystemFacts:
    """The facts of a system; for one the study does not describe (imported data), those in its name."""
    for facts in known:
        if facts.name == name:
            return facts
    match = _NAME.match(name)
    family, version, transport = match.groups(default="") if match else (name, "", "")
    return SystemFacts(name=name, family=family, version=version, transport=transport)


def looks(systems: Iterable[SystemFacts]) -> dict[str, Look]:
    """A look for every system; the newest version of a family has its full colour, older ones are paler."""
    systems = list(systems)
    versions: dict[str, list[str]] = {}
    for facts in systems:
        seen = versions.setdefault(facts.family, [])
        if facts.version not in seen:
            seen.append(facts.version)
    others = [family for family in versions if traits_of(family).colours is None]
    found = {}
    for facts in systems:
        traits = traits_of(facts.family)
        pair = traits.colours or OTHERS[others.index(facts.family) % len(OTHERS)]
        ordered = sorted(versions[facts.family], key=_version_key)
        age = len(ordered) - 1 - ordered.index(facts.version)
        pale = 0.6 * age / max(1, len(ordered) - 1)
        light, dark = (_mixed(pair[0], "#ffffff", pale), _mixed(pair[1], "#000000", pale))
        found[facts.name] = Look(light, dark, traits.dashes.get(facts.transport, DASHES.get(facts.transport, "solid")))
    return found


def _version_key(version: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"[.\-]", version)]


def _mixed(colour: str, other: str, share: float) -> str:
    parts = zip(_channels(colour), _channels(other), strict=True)
    return "#" + "".join(f"{round(own * (1 - share) + its * share):02x}" for own, its in parts)


def _channels(colour: str) -> list[int]:
    return [int(colour[at : at + 2], 16) for at in (1, 3, 5)]
