# SPDX-License-Identifier: BSD-3-Clause
"""failure: a launch that ended before its measurements did, with whatever its MPI said last."""

from __future__ import annotations

from volley.detect.kinds.freeze import ended
from volley.detect.material import Material
from volley.detect.registry import Detector, Search


class FailureDetector(Detector):
    """By how launches of the study ended."""

    kinds = ("failure",)

    def search(self, material: Material, against: Material | None) -> Search:
        """One candidate per system and test."""
        return Search(ended(material, "failure", "failed"), max(len(material.curves), 1))
