# SPDX-License-Identifier: BSD-3-Clause
"""The report of a study over several hosts: the matrix of pairs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from volley.data.results import Launch, Study
from volley.report.network import pairs_of, write_pairs


def said(first: int, second: int, ns: float) -> dict[str, Any]:
    return {
        "fact": "pair",
        "rank": first,
        "from": first,
        "to": second,
        "host": f"n{first}",
        "size": 8,
        "half_round_trip_ns": ns,
    }


def launch(number: int, slow: float) -> Launch:
    facts = [said(a, b, slow if {a, b} == {0, 2} else 100.0) for a in range(4) for b in range(4) if a != b]
    return Launch(number, "mpich==1/tcp", "pairs", 4, 1, facts=facts)


def test_who_is_slow_to_whom_is_a_matrix_and_a_sentence(tmp_path: Path) -> None:
    launches = [launch(1, 900.0), launch(2, 800.0)]
    (pairs,) = pairs_of(launches)
    assert pairs.hosts == ("n0", "n1", "n2", "n3")
    assert pairs.ns[0, 2] == pairs.ns[2, 0] == 800.0, "the best of all launches"
    assert pairs.ns[1, 2] == 100.0
    assert np.isnan(pairs.ns[1, 1])
    assert {sentence.split(":")[0] for sentence in pairs.slow()} == {
        "n0 (rank 0) to n2 (rank 2)",
        "n2 (rank 2) to n0 (rank 0)",
    }
    assert "8.0 times" in pairs.slow()[0]
    files = write_pairs(Study(launches=launches), tmp_path)
    assert sorted(file.suffix for file in files) == [".png", ".svg"]
    assert all(file.stat().st_size > 1000 for file in files)


def test_other_studies_have_none() -> None:
    assert pairs_of([Launch(1, "mpich", "pingpong", 2, 1)]) == []
