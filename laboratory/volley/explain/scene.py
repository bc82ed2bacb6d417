# SPDX-License-Identifier: BSD-3-Clause
"""What a cause may look at before anything is measured again: the study, its systems and their settings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from volley.benchmarks import Test, all_tests
from volley.data.results import Launch, Study
from volley.detect.finding import Finding
from volley.detect.material import CurveData, Material
from volley.systems import System, traits_of
from volley.systems.traits import Traits


@dataclass
class Scene:
    """Everything known about the study a finding comes from."""

    material: Material
    study: Study | None = None
    """None: the data are a table, and nothing can be measured again."""
    tests: Mapping[str, Test] = field(default_factory=dict)
    systems: Mapping[str, System] = field(default_factory=dict)
    """Those that are ready to be launched now, by name."""
    findings: Sequence[Finding] = ()
    """All of the study: what happens elsewhere at the same size is evidence."""

    @property
    def environment(self) -> Mapping[str, Any]:
        """The machine's facts as they were in the study (results.Study.environment)."""
        return self.study.environment if self.study else {}

    @property
    def cores(self) -> int:
        """CPUs the study could use; 0: not known."""
        return int(self.environment.get("cores", 0))

    def curve(self, finding: Finding) -> CurveData | None:
        """The curve the finding is in."""
        for one in self.material.curves:
            if (one.system, one.test, one.variant, one.ranks) == (
                finding.system,
                finding.test,
                finding.variant,
                finding.ranks,
            ):
                return one
        return None

    def launches(self, finding: Finding) -> list[Launch]:
        """The launches that measured it."""
        return [
            one
            for one in self.material.launches
            if one.system == finding.system and one.test == finding.test and one.ranks in (finding.ranks, 0)
        ]

    def facts(self, system: str, test: str, name: str) -> list[dict[str, Any]]:
        """What a test said of itself on one system, in all launches: ``{"fact": name, …}``."""
        return [
            fact
            for launch in self.material.launches
            if launch.system == system and launch.test == test
            for fact in launch.facts
            if fact["fact"] == name
        ]

    def transport(self, finding: Finding) -> str:
        """``tcp``, ``shm``, …; '' where it is not known."""
        system = self.systems.get(finding.system)
        if system is not None:
            return system.transport
        return finding.system.partition("@")[0].partition("/")[2]

    def pattern(self, name: str) -> str:
        """What goes on between the ranks of a test (benchmarks.PATTERNS); '' for one that nobody knows."""
        test = self.tests.get(name) or all_tests().get(name)
        return test.pattern if test else ""

    def cold(self, name: str) -> bool:
        """Whether a test can send messages that are in no cache."""
        test = self.tests.get(name) or all_tests().get(name)
        return test is not None and test.cold

    def traits(self, name: str) -> Traits:
        """What is known of the MPI of a system, also of one that is not there now."""
        system = self.systems.get(name)
        return system.traits if system is not None else traits_of(re.split("==|/|@", name, maxsplit=1)[0])

    def uses_tcp(self, finding: Finding) -> bool:
        """Whether its messages go through TCP sockets: the test's own, or those of the transport."""
        own = self.pattern(finding.test) == "sockets"
        return own or self.transport(finding) in self.traits(finding.system).sockets

    def knobs(self, system: str) -> dict[str, str]:
        """What the MPI reported of its own settings when the study was made."""
        if self.study is None:
            return {}
        return next((one.knobs for one in self.study.systems if one.name == system), {})

    def numeric_knobs(self, system: str) -> Iterator[tuple[str, int]]:
        """Those that are whole numbers above 0, by name; ``64K`` counts."""
        for name, value in self.knobs(system).items():
            match = re.fullmatch(r"(\d+)\s*([kKmM]?)[bB]?", value.strip())
            if match:
                number = int(match[1]) * {"": 1, "k": 1024, "m": 1024**2}[match[2].lower()]
                if number > 0:
                    yield name, number
