# SPDX-License-Identifier: BSD-3-Clause
"""In what two studies differ besides the systems that are compared: then a difference in time may be one of those."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from volley.data.results import Study

OF_MACHINES = {"cpu": "processor", "cores": "usable CPUs"}
"""Facts of a machine without which times say nothing about each other."""
OF_SURROUNDINGS = {
    "host": "host",
    "kernel": "kernel",
    "libc": "C library",
    "virtual": "virtual machine",
    "governor": "frequency governor",
    "cpu_quota": "CPU quota",
    "congestion_control": "TCP congestion control",
    "clock_source": "clock source",
    "huge_pages": "huge pages",
    "ptrace_scope": "ptrace scope",
}
"""Facts that may move times, and often do not: a container has a host name of its own each time."""
OF_MEASURING = {
    "buffers": "--buffers",
    "pin": "--pin",
    "hosts": "--hosts",
    "ranks_per_host": "--ranks-per-host",
    "interface": "--interface",
    "in_order": "order of sizes",
}
"""Options that change what is measured."""
OF_EFFORT = {"repetitions": "--repetitions", "seconds_per_point": "time per point"}


@dataclass(frozen=True)
class Difference:
    """Something that is not the same in both studies."""

    what: str
    before: str
    now: str
    grave: bool
    """Nothing can be compared then, unless the user insists."""

    def words(self) -> str:
        """``kernel: 6.1 there, 6.18 here``."""
        return f"{self.what}: {self.before or 'not known'} in the older study, {self.now or 'not known'} in the newer"


def differences(old: Study, new: Study, pairs: Mapping[str, str]) -> list[Difference]:
    """All of two studies, grave ones first. pairs: old system by new one; settings are those of one name in both."""
    options = ({"buffers": "kept", **old.options}, {"buffers": "kept", **new.options})
    found = [
        *_differing(OF_MACHINES, old.environment, new.environment, grave=True),
        *_differing(OF_MEASURING, *options, grave=True),
        *_differing(OF_SURROUNDINGS, old.environment, new.environment),
        *_differing(OF_EFFORT, *options),
    ]
    knobs = [{one.name: one.knobs for one in study.systems} for study in (old, new)]
    for name, before in pairs.items():
        if name == before and name in knobs[0] and name in knobs[1]:
            told = {knob: f"{name} {knob}" for knob in sorted({*knobs[0][name], *knobs[1][name]})}
            found += _differing(told, knobs[0][name], knobs[1][name])
    return found


def _differing(
    names: Mapping[str, str], before: Mapping[str, Any], now: Mapping[str, Any], grave: bool = False
) -> Iterable[Difference]:
    """Where both studies say it and say another thing, or only one says it of what is grave."""
    for name, what in names.items():
        was, is_now = before.get(name), now.get(name)
        told = was is not None and is_now is not None
        if was != is_now and (told or (grave and before and now)):
            yield Difference(what, "" if was is None else str(was), "" if is_now is None else str(is_now), grave)
