# SPDX-License-Identifier: BSD-3-Clause
"""Whether the machine was quiet enough for a miss to say something: by the probes and counters of the launches."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from volley.data.results import Launch
from volley.data.states import states_of
from volley.data.store import StudyFolder
from volley.explain.explain import LATE, QUIET, Verdict
from volley.explain.occupancy import TOUCHED, loads
from volley.machine.facts import OTHERS_LIMIT, STOLEN_LIMIT, idle_load, usable_cpus


def launches_of(*studies: Path | None) -> list[Launch]:
    """All launches of these studies."""
    return [one for path in studies if path is not None for one in StudyFolder.open(path).facts.launches]


def disturbance(launches: Sequence[Launch], verdicts: Sequence[Verdict]) -> str:
    """What else the machine did while this was measured and explained, in a sentence's part; '' if it was quiet."""
    states = states_of(launches)
    voided = sum(len(one.state.get("voided", ())) for one in launches)
    if launches and (len(states.unusual) + voided) / len(launches) >= TOUCHED:
        return f"the machine's state changed: {states.words() or f'{voided} launches were void'}"
    late = [one for one in launches if one.status in ("cut off", "frozen")]
    if launches and len(late) / len(launches) >= TOUCHED:
        return f"{len(late)} of {len(launches)} launches did not end in their time: {late[0].reason}"
    for load in loads(launches, len(usable_cpus())):
        return f"{load.title[:1].lower()}{load.title[1:]}. {load.says}".rstrip(".")
    busiest = max((tried.disturbed for one in verdicts for tried in one.tried), default=0.0)
    if busiest > QUIET:
        return f"other programs used {busiest:.1f} CPUs during the experiments"
    if any(one.note == LATE for one in verdicts):
        return "the experiments did not end in their time"
    return ""


def load_now() -> str:
    """What others use of the machine just now, in a sentence's part; '' if that is next to nothing."""
    busy, stolen = idle_load()
    if busy > OTHERS_LIMIT:
        return f"other programs used {busy:.1f} CPUs beside it"
    return f"the hypervisor gave {stolen:.0%} of the time to others" if stolen > STOLEN_LIMIT else ""
