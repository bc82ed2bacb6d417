# SPDX-License-Identifier: BSD-3-Clause
"""Facts of a study in a few sentences."""

from __future__ import annotations

from volley.data.results import Study


def _limits(study: Study) -> list[str]:
    """What late_receiver found, one sentence for all systems."""
    found: dict[str, set[int]] = {}
    for launch in study.launches:
        for fact in launch.facts:
            if fact.get("fact") == "limit" and fact.get("largest_returning") is not None:
                found.setdefault(launch.system, set()).add(int(fact["largest_returning"]))
    if not found:
        return []
    parts = [
        f"{system} {' or '.join(f'{limit:,}' for limit in sorted(limits))}" for system, limits in sorted(found.items())
    ]
    return ["Largest blocking send (bytes) that returns while the receiver is outside MPI: " + "; ".join(parts) + "."]


SHOWN_FAILURES = 6


def failures(study: Study) -> list[str]:
    """The launches that did not end well, one line each, at most SHOWN_FAILURES; what is left is counted."""
    bad = [launch for launch in study.launches if launch.status not in ("measured", "not measured")]
    lines = [
        f"{launch.status}: {launch.test} on {launch.system}, launch {launch.number}: {launch.reason}"
        for launch in bad[:SHOWN_FAILURES]
    ]
    if len(bad) > SHOWN_FAILURES:
        lines.append(f"{len(bad) - SHOWN_FAILURES} more launches did not end well; the report's table names them")
    return lines


def summarise(study: Study) -> list[str]:
    """Facts behind the first screen: who is fastest stands there (compare.together), and nowhere else."""
    sentences = _limits(study)
    overhead = max((launch.overhead_ns for launch in study.launches), default=0.0)
    if overhead:
        sentences.append(f"Recording one operation costs {overhead:.1f} ns at most (measured in every launch).")
    narrow = sum(cell.stopped == "precise" for cell in study.cells)
    if study.cells:
        sentences.append(
            f"{narrow} of {len(study.cells)} cells reached the wanted precision; "
            "the others stopped when the time was up or their launches were used."
        )
    return sentences
