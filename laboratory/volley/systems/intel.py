# SPDX-License-Identifier: BSD-3-Clause
"""Intel MPI, from its run-time wheel on PyPI, which has the library and mpiexec, but no compiler wrapper.

Programs are compiled against our own MPI 5.0 ABI header and linked to the wheel's libmpi_abi.so.1.
impi-rt 2021.19.0 depends on a package `libfabric` that PyPI does not have: `intel` therefore means the
newest version that can be installed whole; a version asked for by number is installed without what is
missing, and then has shared memory, and tcp only where the machine has a libfabric of its own.
"""

from __future__ import annotations

from volley.errors import SystemUnavailable
from volley.systems.base import include_folder
from volley.systems.flavours.intel import Intel
from volley.systems.wheel import WheelSystem


class IntelSystem(WheelSystem):
    """Intel MPI through the standard ABI."""

    family = "intel"
    summary = "Intel MPI, any version on PyPI that has the MPI 5.0 ABI"
    package = "impi-rt"
    flavour = Intel()
    known_traits = Intel.traits
    transports = Intel.transports
    network_transports = Intel.network_transports
    default_transports = ("shm",)

    def check_installed(self) -> None:
        """Raises SystemUnavailable for a version from before the standard ABI."""
        super().check_installed()
        library = self.folder / "lib" / "libmpi_abi.so.1"
        if not library.exists():
            raise SystemUnavailable(
                f"{self.package} {self.version} has no lib/libmpi_abi.so.1, so it is older than the MPI 5.0 ABI",
                f"name a newer version, or none: {self.family}",
            )

    def compiler(self) -> list[str]:
        """cc, our header, the wheel's library and the path to find it again.

        --no-as-needed: the library comes before the objects that need it on some command lines.
        """
        library = self.folder / "lib"
        return [
            "cc",
            f"-I{include_folder()}",
            "-Wl,--no-as-needed",
            str(library / "libmpi_abi.so.1"),
            f"-Wl,-rpath,{library}",
        ]
