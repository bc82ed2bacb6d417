# SPDX-License-Identifier: BSD-3-Clause
"""Socket buffers of a fixed size, by Open MPI's own settings."""

from __future__ import annotations

from collections.abc import Mapping

from volley.detect.finding import Finding
from volley.selftest.plant import Plant

BYTES = 8192
SIZES = (64, 512, 1024, 2048, 4096, 5000, 6000, 7000, 8192, 10000, 12288, 16384, 20000, 24576, 32768, 49152)
KINDS = ("step", "plateau", "collapse", "spike", "bimodal")


class SmallBuffersOfOpenMpi(Plant):
    """Someone has set btl_tcp_sndbuf and btl_tcp_rcvbuf."""

    name = "Open MPI's socket buffers small"
    cause = "socket buffers"
    systems = "openmpi/tcp"
    tests = "pingpong"
    sizes = SIZES
    launches = 16
    seconds = 25.0

    def variables(self) -> Mapping[str, str]:
        """As if it stood in openmpi-mca-params.conf."""
        return {"OMPI_MCA_btl_tcp_sndbuf": str(BYTES), "OMPI_MCA_btl_tcp_rcvbuf": str(BYTES)}

    def shows(self, finding: Finding) -> bool:
        """Slower from somewhere below the buffer's size on (seen: 1.5 times between 6,000 and 7,000 bytes)."""
        return finding.kind in KINDS and finding.magnitude > 1.3 and finding.size_to > BYTES // 2
