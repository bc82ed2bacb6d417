# SPDX-License-Identifier: BSD-3-Clause
"""LAM's limit of short messages at an odd place."""

from __future__ import annotations

from collections.abc import Mapping

from volley.detect.finding import Finding
from volley.selftest.plant import Plant

LIMIT = 24000


class EagerLimitMoved(Plant):
    """The step of LAM over TCP, where nobody expects it."""

    name = "eager limit moved"
    cause = "eager limit"
    systems = "lam/tcp"
    tests = "pingpong"
    sizes = (1, 8, 64, 512, 1024, 2048, 4096, 8192, 12288, 16384, 20480, 28672, 32768, 49152, 65536)
    quick = True

    def variables(self) -> Mapping[str, str]:
        """As if LAM had been configured so."""
        return {"LAM_MPI_SSI_rpi_tcp_short": str(LIMIT)}

    def shows(self, finding: Finding) -> bool:
        """A step up that encloses the limit."""
        return finding.test == "pingpong" and finding.kind == "step" and finding.size_from <= LIMIT <= finding.size_to
