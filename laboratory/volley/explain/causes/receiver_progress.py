# SPDX-License-Identifier: BSD-3-Clause
"""Sends that wait for the receiver's progress: MPI_Send stands as long as the receiver computes outside MPI.

Only the test late_receiver shows it: ping-pong receivers always poll. Signature: above some size the sender stands as
long as the receiver is away. Intervention: the receiver has posted its receive and calls MPI_Test while it is away;
the wait must go. Counter: the receiver's absence itself; three times as long away, the sender must stand three times
as long (a copy that is slow, or a timer of the MPI, would not).
"""

from __future__ import annotations

import math

import numpy as np

from volley.detect.finding import Finding
from volley.explain.case import Case, follows_absence, is_gone
from volley.explain.cause import Cause, Examination, Suspicion
from volley.explain.experiment import Measured
from volley.explain.scene import Scene

AS_LONG = 0.8
"""Share of the receiver's absence that a sender must stand to be said to wait for it."""


class ReceiverProgress(Cause):
    """The sender needs the receiver to call MPI."""

    name = "receiver's progress"
    page = "receiver-progress"
    summary = "A send above the limit moves only while the receiver is inside MPI: the sender waits for it."
    seconds = 25.0

    def suspect(self, finding: Finding, scene: Scene) -> Suspicion | None:
        """The late receiver's own curve goes up, and its sender stood as long as the receiver was away."""
        if finding.test != "late_receiver" or finding.magnitude < 1 or finding.kind == "structure change":
            return None
        limits = scene.facts(finding.system, finding.test, "limit")
        stood = [one for one in limits if one["receiver_absent_ns"] > 0]
        if not stood:
            return None
        share = float(np.median([one["sender_stands_ns"] / one["receiver_absent_ns"] for one in stood]))
        if share < AS_LONG:
            return None
        returns = int(np.median([one["largest_returning"] for one in stood]))
        stands_ms = float(np.median([one["sender_stands_ns"] for one in stood])) / 1e6
        absent_ms = float(np.median([one["receiver_absent_ns"] for one in stood])) / 1e6
        reasons = [
            f"MPI_Send of more than {returns:,} bytes stands {stands_ms:.1f} ms while the receiver is away for "
            f"{absent_ms:.1f} ms."
        ]
        near = [
            f"{name} is {value:,}: up to there this MPI sends at once."
            for name, value in scene.numeric_knobs(finding.system)
            if returns and abs(value - returns) <= 256 and ("eager" in name or "short" in name or "inline" in name)
        ]
        return Suspicion(0.9, (*reasons, *near[:1]))

    def examine(self, suspicion: Suspicion, case: Case) -> Examination:
        """A receiver that polls, and one that is away three times as long."""
        size = 4 * max(case.finding.size_to, 1)
        at = max(case.finding.size_to, 1)
        arms = [case.arm(sizes=(size,))]
        arms += [case.arm(name, variant=name, sizes=(size,)) for name in ("polling", "away3")]
        found, polling, away = (_stands_ns(one, at) for one in case.bench.run(arms))
        if not (found and polling and away):
            return Examination(None, None, ("The probes were void: the machine is too busy.",))
        first, second, third = (float(np.median(one)) for one in (found, polling, away))
        expected = math.exp(case.symptom.expected)
        figures = {"as_found_ns": found, "polling_ns": polling, "away_three_times_ns": away}
        said = (
            f"MPI_Send of {at:,} bytes and more stands {first / 1e6:.2f} ms; {second / 1e6:.2f} ms if the receiver has "
            f"posted its receive and calls MPI_Test while it is away; {third / 1e6:.2f} ms if it is away three times "
            "as long.",
        )
        if first < 1e6:
            return Examination(None, None, said, figures=figures, reproduced=False)
        return Examination(
            is_gone(found, polling),
            follows_absence(first, third),
            said,
            "post MPI_Irecv before the message comes and call MPI_Test now and then while computing, or send with "
            "MPI_Isend and compute meanwhile",
            {**figures, "expected_ratio": expected},
        )


def _stands_ns(measured: Measured, at: int) -> list[float]:
    """How long the sends of `at` bytes up to twice that stood, one value per launch."""
    found = []
    curve = measured.curve
    if curve is None:
        return []
    for row in curve.log_ns:
        near = [math.exp(value) for size, value in zip(curve.sizes, row, strict=True) if at <= size and value == value]
        if near:
            found.append(near[0])
    return found
