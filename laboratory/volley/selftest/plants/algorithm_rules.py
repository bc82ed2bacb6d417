# SPDX-License-Identifier: BSD-3-Clause
"""A table of algorithms made for another machine: from 1500 bytes on, a broadcast goes in pieces of 64 bytes."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from volley.detect.finding import Finding
from volley.selftest.plant import Plant, planted

FROM = 1500
RULES = f"""1
7
1
2
2
0 6 0 0
{FROM} 3 0 64
"""
"""Open MPI's rules file: one collective, number 7 (broadcast), one communicator size, two message sizes: binomial tree;
then a pipeline in segments of 64 bytes."""


class AlgorithmRules(Plant):
    """A step in one collective of Open MPI."""

    name = "bad table of algorithms"
    cause = "algorithm switch"
    systems = "openmpi/shm"
    tests = "bcast,pingpong"
    ranks = (2,)
    sizes = (8, 64, 256, 512, 768, 1024, 1200, 1400, 1550, 1700, 1900, 2200, 2600, 3000, 3400, 3800)

    @contextlib.contextmanager
    def surroundings(self) -> Iterator[None]:
        """As if an administrator had put the file into Open MPI's configuration."""
        with tempfile.NamedTemporaryFile("w", suffix=".rules") as file:
            Path(file.name).write_text(RULES)
            variables = {"use_dynamic_rules": "1", "dynamic_rules_filename": file.name}
            with planted({f"OMPI_MCA_coll_tuned_{name}": value for name, value in variables.items()}):
                yield

    def shows(self, finding: Finding) -> bool:
        """A step up of the broadcast that encloses the place."""
        return finding.test == "bcast" and finding.kind == "step" and finding.size_from < FROM <= finding.size_to
