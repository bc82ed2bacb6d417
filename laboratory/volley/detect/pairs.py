# SPDX-License-Identifier: BSD-3-Clause
"""Which system of one study is which of another: the same name, or the next version of the same thing."""

from __future__ import annotations

from volley.detect.material import CurveData, Material


def _family(name: str) -> str:
    """``mpich==4.1.3/shm`` and ``mpich==5.0.2/shm`` are both ``mpich/shm``."""
    base, _, transport = name.partition("/")
    return base.partition("==")[0] + "/" + transport


def partners(new: Material, old: Material) -> dict[str, str]:
    """Old system by new one. Names that occur in both; else versions of one family; else the only old one."""
    there = old.systems()
    found = {name: name for name in new.systems() if name in there}
    for name in new.systems():
        if name not in found:
            relatives = [other for other in there if _family(other) == _family(name)]
            if len(relatives) == 1:
                found[name] = relatives[0]
    if not found and len(there) == 1:
        found = dict.fromkeys(new.systems(), there[0])
    return found


def pairs(new: Material, old: Material) -> list[tuple[CurveData, CurveData]]:
    """Curves of the same test, variant and world size, (new, old)."""
    partner = partners(new, old)
    before = {(curve.system, *curve.key): curve for curve in old.curves}
    found = []
    for curve in new.curves:
        other = before.get((partner.get(curve.system, ""), *curve.key))
        if other is not None:
            found.append((curve, other))
    return found
