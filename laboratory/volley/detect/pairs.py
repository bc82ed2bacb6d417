# SPDX-License-Identifier: BSD-3-Clause
"""Curves of two studies that belong together: of the same test, on systems that are partners."""

from __future__ import annotations

from volley.compare.partners import partners
from volley.detect.material import CurveData, Material


def pairs(new: Material, old: Material) -> list[tuple[CurveData, CurveData]]:
    """Curves of the same test, variant and world size, (new, old)."""
    partner = partners(new.systems(), old.systems())
    before = {(curve.system, *curve.key): curve for curve in old.curves}
    found = []
    for curve in new.curves:
        other = before.get((partner.get(curve.system, ""), *curve.key))
        if other is not None:
            found.append((curve, other))
    return found
