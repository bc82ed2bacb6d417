# SPDX-License-Identifier: BSD-3-Clause
"""A setting that makes an MPI copy large messages into shared memory and out of it, where once would do."""

from __future__ import annotations

from collections.abc import Mapping

from volley.detect.finding import Finding
from volley.selftest.plant import Plant


class CopiedTwice(Plant):
    """MPICH told not to read straight from the sender's memory, with both cores copying at once."""

    name = "copied twice"
    cause = "copy-bound plateau"
    systems = "mpich==5.0.2/shm,machine"
    tests = "sendrecv,ceilings"
    sizes = (65536, 131072, 262144, 524288, 1048576, 2097152, 4194304)
    launches = 8
    seconds = 25.0
    compares = True

    def variables(self) -> Mapping[str, str]:
        """Its control variable."""
        return {"MPIR_CVAR_CH4_CMA_ENABLE": "0"}

    def shows(self, finding: Finding) -> bool:
        """The large messages are slower than they were."""
        return finding.test == "sendrecv" and finding.kind == "regression"
