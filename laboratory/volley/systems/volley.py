# SPDX-License-Identifier: BSD-3-Clause
"""Volley's own library: the MPI next to the Python that runs, or the one installed in ``$VOLLEY_PREFIX``.

`pip install` puts mpiexec, mpicc, the library and mpi.h into the environment together with the laboratory.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from volley import __version__
from volley.errors import SystemUnavailable
from volley.progress import Note
from volley.systems.flavours import volley as flavour
from volley.systems.found import FoundSystem

REMEDY = (
    "install it into this environment (pip install . in Volley's source), or set VOLLEY_PREFIX to where "
    "`cmake --install` has put it"
)


def prefix() -> Path:
    """Where the library is, if it is anywhere."""
    return Path(os.environ.get("VOLLEY_PREFIX") or sys.prefix).absolute()


class VolleySystem(FoundSystem):
    """The library in two configurations: what its ranks share is what sets them apart."""

    family = "volley"
    summary = "Volley's own library, in this Python environment or $VOLLEY_PREFIX"
    transports: ClassVar[Mapping[str, str]] = flavour.Volley.transports
    network_transports: ClassVar[Sequence[str]] = flavour.Volley.network_transports
    default_transports: ClassVar[Sequence[str]] = ("shared", "process")
    by_default = True
    known_traits = flavour.Volley.traits
    keep_loader = False  # its programs find it by their own run path

    @classmethod
    def installed(cls) -> list[str]:
        """The version of this package, with which its library came, if that is there."""
        where = prefix()
        present = (where / "bin" / "mpiexec").exists() and list(where.glob("lib*/libmpi_abi.so.1"))
        return [__version__] if present else []

    def prepare(self, note: Note) -> None:
        """Looks for the library; another MPI in the same environment may have put its mpiexec in place of ours."""
        self.prefix = prefix()
        try:
            super().prepare(note)
        except SystemUnavailable as problem:
            raise SystemUnavailable(problem.problem, REMEDY) from problem
