# SPDX-License-Identifier: BSD-3-Clause
"""What the detectors are worth: recall and precision per kind on planted and clean cases, by one seed."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from volley.detect.finding import Finding
from volley.detect.read import read_material
from volley.detect.registry import detect
from volley.selftest import measured
from volley.selftest.synthetic import Planted, cases

RELATED: dict[str, tuple[str, ...]] = {
    "step": ("plateau", "collapse"),
    "plateau": ("collapse", "step"),
    "collapse": ("plateau", "step"),
    "freeze": ("step", "collapse", "plateau"),
    "structure change": ("step", "plateau", "collapse", "regression"),
    "bimodal": ("spike", "step", "plateau", "collapse", "launch effect"),
}
"""What else a planted oddity really shows: an edge of a plateau is a step, a step lowers the rate, and modes of
which the slow one takes half of the operations move the median."""


@dataclass
class Score:
    """Of one kind."""

    planted: int = 0
    found: int = 0
    right: int = 0
    """Findings of this kind that were planted, or are part of what was."""
    wrong: int = 0
    """Findings of this kind where nothing of it was planted."""

    @property
    def recall(self) -> float:
        """Share of the planted that was found; 1 if none was planted."""
        return self.found / self.planted if self.planted else 1.0

    @property
    def precision(self) -> float:
        """Share of the findings that were right; 1 if there were none."""
        total = self.right + self.wrong
        return self.right / total if total else 1.0


@dataclass
class Result:
    """Of a whole run."""

    seed: int
    scores: dict[str, Score] = field(default_factory=dict)
    clean: int = 0
    """Clean cases, each a curve, a pair of curves or some streams."""
    clean_with_findings: int = 0
    clean_with_sure_findings: int = 0
    """With one that is not UNDECIDED."""
    excused: dict[str, int] = field(default_factory=dict)
    """Kind → findings that may be true though nothing was planted: measured noise has them of its own."""
    missed: list[str] = field(default_factory=list)
    """Examples, for whoever improves a detector."""

    def score(self, kind: str) -> Score:
        """That of a kind."""
        return self.scores.setdefault(kind, Score())


def evaluate(seed: int, rounds: int) -> Result:
    """Runs all detectors over volley.selftest.synthetic.cases(); the same for the same seed."""
    return judge(seed, cases(seed, rounds))


def evaluate_measured(study: Path, seed: int, rounds: int) -> Result:
    """The same with the noise of a study's launches (volley.selftest.measured)."""
    return judge(seed, measured.cases(read_material(study), seed, rounds), measured.OWN)


def judge(seed: int, planted: Iterable[Planted], own: Collection[str] = ()) -> Result:
    """Scores what is found in each case. `own`: kinds that the noise may have of itself, counted apart."""
    result = Result(seed)
    for case in planted:
        findings = []
        for one in detect(case.material, against=case.against):
            if one.kind in own:
                result.excused[one.kind] = result.excused.get(one.kind, 0) + 1
            else:
                findings.append(one)
        if not case.kind:
            result.clean += 1
            result.clean_with_findings += bool(findings)
            result.clean_with_sure_findings += any(one.status != "UNDECIDED" for one in findings)
            for one in findings:
                result.score(one.kind).wrong += 1
                result.missed.append(f"clean: {_name(one)}")
            continue
        _judge_planted(result, case, findings)
    return result


def _judge_planted(result: Result, case: Planted, findings: list[Finding]) -> None:
    score = result.score(case.kind)
    score.planted += 1
    hits = [one for one in findings if is_hit(case, one)]
    score.found += bool(hits)
    if not hits:
        seen = ", ".join(map(_name, findings)) or "nothing"
        result.missed.append(
            f"{case.kind} {case.size_from}-{case.size_to} × {case.effect:.2f} "
            f"({len(case.material.curves[0].launches) if case.material.curves else 1} launches): found {seen}"
        )
    for one in findings:
        belongs = one in hits or one.kind == case.kind == "launch effect" or _is_part(case, one)
        if belongs:
            result.score(one.kind).right += 1
        else:
            result.score(one.kind).wrong += 1
            result.missed.append(f"{case.kind} {case.size_from}-{case.size_to} × {case.effect:.2f}: {_name(one)}")


def _name(one: Finding) -> str:
    return f"{one.kind} {one.size_from}-{one.size_to} × {one.magnitude:.2f} {one.status}"


def is_hit(case: Planted, one: Finding) -> bool:
    """Right kind at the right place: sizes overlap, a step's edge and a period are exact."""
    kinds = {case.kind}
    if case.kind in ("plateau", "collapse"):
        kinds = {"plateau", "collapse"}
    if one.kind not in kinds or not _overlaps(case, one):
        return False
    if case.kind == "step":
        return one.size_from == case.size_from and (one.magnitude > 1) == (case.effect > 1)
    if case.kind == "stall":
        return one.period == case.period and one.size_to == case.size_to
    return True


def _overlaps(case: Planted, one: Finding) -> bool:
    if case.size_to == 0:
        return True
    return one.size_from <= case.size_to and case.size_from <= one.size_to


def _is_part(case: Planted, one: Finding) -> bool:
    """Whether a finding of another kind tells of the same oddity."""
    return one.kind in RELATED.get(case.kind, ()) and (
        case.kind in ("freeze", "structure change") or _touches(case, one)
    )


def _touches(case: Planted, one: Finding) -> bool:
    return _overlaps(case, one) or (case.kind == "step" and one.size_from >= case.size_from)
