# SPDX-License-Identifier: BSD-3-Clause
"""Carrying out an explanation: read the study, make its systems ready, examine finding after finding, keep it all."""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from volley.data.results import SystemFacts
from volley.data.store import FACTS, StudyFolder, replace_file, tests_of
from volley.detect import Finding, Material, detect, read_material, read_older
from volley.errors import UsageError, VolleyError
from volley.explain.experiment import Bench
from volley.explain.explain import Explainer, Verdict, places, suspicions
from volley.explain.scene import Scene
from volley.hosts.choose import opened
from volley.hosts.observer import HostLost
from volley.machine import facts as machine_facts
from volley.machine.processes import adopt_orphans, ending_on_signals, guarded
from volley.measure.study import options_of, prepare_systems, sessions
from volley.progress import Display
from volley.systems import System, resolve

EXPLANATION = "explanation.json"
UNDECIDED_LAST = 1e-3
"""What the data cannot decide comes after everything that they do."""


@dataclass
class Investigation:
    """What is to be explained, strongest first."""

    material: Material
    folder: StudyFolder | None
    groups: list[list[Finding]]
    scene: Scene
    budget_seconds: float
    each_seconds: float
    why_not: str = ""
    """Why nothing can be measured again; '' if it can."""
    expected_seconds: float = 0.0
    """What the experiments will take, about."""


def prepare(
    data: Path,
    system: str | None,
    test: str | None,
    kinds: Sequence[str] | None,
    against: str | None,
    budget_seconds: float,
    each_seconds: float,
) -> Investigation:
    """Reads `data`, finds what is odd and which causes may be behind it. Measures nothing. Raises VolleyErrors."""
    material = read_material(data)
    older = read_older(against, material) if against is not None else None
    findings = detect(material, kinds, older)
    folder = StudyFolder.open(data) if (data / FACTS).exists() else None
    chosen = [one for one in findings if (not system or _is(system, one.system)) and (not test or one.test == test)]
    if findings and not chosen:
        there = sorted({f"{one.system} {one.test}" for one in findings})
        raise UsageError(
            f"none of the {len(findings)} findings is of {' and '.join(word for word in (system, test) if word)}",
            f"there are findings on: {', '.join(there[:12])}{' …' if len(there) > 12 else ''}",
        )
    scene = Scene(
        material,
        folder.facts if folder else None,
        tests_of(folder.facts) if folder else {},
        findings=findings,
    )
    groups = sorted(places(chosen), key=_strength, reverse=True)
    expected = sum(min(each_seconds, sum(one.cause.seconds for one in suspicions(group[0], scene))) for group in groups)
    return Investigation(
        material, folder, groups, scene, budget_seconds, each_seconds, _why_not(folder), expected_seconds=expected
    )


def _is(wanted: str, system: str) -> bool:
    """Whether a user who writes ``intel``, ``intel/shm`` or the whole name means this system."""
    return wanted in system or wanted in re.sub(r"==[^/@]*", "", system)


def _strength(group: Sequence[Finding]) -> float:
    """Log of the effect times the confidence; what is undecided comes last."""
    first = group[0]
    size = abs(math.log(first.magnitude)) if 0 < first.magnitude < math.inf else 10.0
    return size * first.confidence * (UNDECIDED_LAST if first.status == "UNDECIDED" else 1.0)


def _why_not(folder: StudyFolder | None) -> str:
    """Why experiments would say nothing about these data; '' if they do."""
    if folder is None:
        return "these are figures in a file, not a study of this machine"
    then, now = folder.facts.environment, machine_facts.environment()
    if "host" not in then:
        return "these figures were imported: what measured them is not known here"
    for name, what in (("host", "host"), ("cpu", "processor")):
        if then.get(name) != now[name]:
            return f"the study was made on another machine ({what} {then.get(name)}, here {now[name]})"
    return ""


def investigate(wanted: Investigation, display: Display, dry_run: bool = False) -> list[Verdict]:
    """The verdict on every place, in the order of their strength. An interrupt keeps those that are finished."""
    if dry_run or wanted.why_not or not wanted.groups:
        why = wanted.why_not or ("nothing was measured again (--dry-run)" if dry_run else "")
        explainer = Explainer(wanted.scene, Bench({}, display), display, why_not=why)
        return [explainer.explain(group) for group in wanted.groups]
    adopt_orphans()
    verdicts: list[Verdict] = []
    with guarded(), ending_on_signals():
        assert wanted.folder is not None
        ready, facts = _ready(wanted, display)
        options = options_of(wanted.folder.facts)
        with opened(options.hosts, options.ranks_per_host, options.interface, display.note) as hosts:
            bench = Bench(machine_facts.environment() | hosts.environment(), display, hosts=hosts)
            with sessions(ready, facts, display) as usable:
                wanted.scene.systems = {one.name: one for one in usable}
                try:
                    examine_all(wanted, bench, display, verdicts)
                finally:
                    if verdicts:
                        keep(wanted.folder, verdicts)
    return verdicts


def examine_all(wanted: Investigation, bench: Bench, display: Display, verdicts: list[Verdict]) -> None:
    """Adds the verdict on one place after the other. Of those that no longer fit the hosts that answer it is said."""
    started = time.monotonic()
    for group in wanted.groups:
        left = wanted.budget_seconds - (time.monotonic() - started)
        late = "" if left > 0 else "the budget was used up before its turn (--budget)"
        explainer = Explainer(wanted.scene, bench, display, min(wanted.each_seconds, max(left, 0.0)), late)
        try:
            verdicts.append(explainer.explain(group) if late else _decided_now(explainer, group))
        except HostLost as problem:  # findings of fewer ranks may still fit the hosts that are left
            lost = ". ".join(words for words in (problem.problem, problem.remedy) if words)
            verdicts.append(replace(explainer, why_not=f"nothing was measured again: {lost}").explain(group))
        done = time.monotonic() - started
        left, share = wanted.budget_seconds - done, done / len(verdicts)
        display.advance(done, min(share * (len(wanted.groups) - len(verdicts)), max(left, 0.0)))


def _decided_now(explainer: Explainer, group: list[Finding]) -> Verdict:
    """What is UNDECIDED only for want of launches is measured again, which shows whether it is there."""
    asked = [replace(one, status="UNEXPLAINED") if "launches_needed" in one.evidence else one for one in group]
    verdict = explainer.explain(asked)
    measured = any(one.examination is not None for one in verdict.tried)
    return verdict if measured or asked == group else explainer.explain(group)


def _ready(wanted: Investigation, display: Display) -> tuple[list[System], list[SystemFacts]]:
    """The systems of the findings, prepared, and the facts of all; what is not to be had is said and left out."""
    assert wanted.folder is not None
    names = {one.system for group in wanted.groups for one in group}
    requests = [str(name) for name in wanted.folder.facts.options.get("requested_systems", [])]
    ready, facts = prepare_systems([system for request in requests for system in resolve(request)], display)
    return [one for one in ready if one.name in names], facts


def keep(folder: StudyFolder, verdicts: Sequence[Verdict]) -> None:
    """Writes explanation.json into the study's folder, with what earlier explanations said of other places."""
    new = [one.to_json() for one in verdicts]
    kept = [one for one in load(folder.path) if not any(_key(one) == _key(other) for other in new)]
    text = json.dumps({"format": "volley explanation 1", "findings": new + kept}, indent=1, ensure_ascii=False)
    replace_file(folder.path / EXPLANATION, lambda path: path.write_text(text, encoding="utf-8"))


def _key(one: dict[str, Any]) -> tuple[Any, ...]:
    found = one["evidence"].get("found_between", [one["size_from"], one["size_to"]])
    return (one["kind"], one["system"], one["test"], one["evidence"]["variant"], one["evidence"]["ranks"], *found)


def load(folder: Path) -> list[dict[str, Any]]:
    """What explanation.json of a study says; [] if there is none. Raises VolleyError for a damaged one."""
    file = folder / EXPLANATION
    if not file.exists():
        return []
    try:
        return list(json.loads(file.read_text(encoding="utf-8"))["findings"])
    except (ValueError, KeyError, TypeError) as problem:
        raise VolleyError(f"{file} is damaged: {problem}", "remove it, and explain the study again") from problem
