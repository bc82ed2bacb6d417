# SPDX-License-Identifier: BSD-3-Clause
"""Which system of one study is which of another: the same name, or the next version of the same thing."""

from __future__ import annotations

from collections.abc import Sequence


def partners(new: Sequence[str], old: Sequence[str]) -> dict[str, str]:
    """Old system by new one. Names that occur in both; else versions of one family; else the only old one."""
    found = {name: name for name in new if name in old}
    for name in new:
        if name not in found:
            relatives = [other for other in old if _family(other) == _family(name)]
            if len(relatives) == 1:
                found[name] = relatives[0]
    if not found and len(old) == 1:
        found = dict.fromkeys(new, old[0])
    return found


def _family(name: str) -> str:
    """``mpich==4.1.3/shm`` and ``mpich==5.0.2/shm`` are both ``mpich/shm``."""
    base, _, transport = name.partition("/")
    return base.partition("==")[0] + "/" + transport
