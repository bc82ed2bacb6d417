# SPDX-License-Identifier: BSD-3-Clause
"""The MPI on PATH: whatever mpicc and mpiexec a shell would start."""

from __future__ import annotations

import shutil
from pathlib import Path

from volley.errors import SystemUnavailable
from volley.progress import Note
from volley.systems.found import FoundSystem


class PathSystem(FoundSystem):
    """The first mpiexec on PATH, with the mpicc beside it. Not measured unless named: it may be any MPI."""

    family = "path"
    summary = "the MPI whose mpicc and mpiexec are on PATH"

    @classmethod
    def installed(cls) -> list[str]:
        """The folder of the mpiexec on PATH, unless it is LAM's, which is measured as lam."""
        mpiexec = shutil.which("mpiexec")
        if mpiexec is None or shutil.which("mpicc") is None or Path(mpiexec).resolve().name.endswith(".lam"):
            return []
        return [str(Path(mpiexec).parent)]

    def prepare(self, note: Note) -> None:
        """Looks on PATH. Both tools must be in one folder: of two MPIs, programs would not start."""
        mpicc, mpiexec = shutil.which("mpicc"), shutil.which("mpiexec")
        if mpicc is None or mpiexec is None:
            raise SystemUnavailable(
                f"there is no {'mpicc' if mpicc is None else 'mpiexec'} on PATH",
                "install an MPI with its compiler wrapper, or load its module, or name another system",
            )
        if Path(mpicc).parent.resolve() != Path(mpiexec).parent.resolve():
            raise SystemUnavailable(
                f"mpicc and mpiexec on PATH may be of two MPIs: {mpicc} and {mpiexec}",
                "name the one you mean: NAME=PREFIX, where PREFIX/bin has both",
            )
        folder = Path(mpiexec).absolute().parent
        if folder.name != "bin":
            raise SystemUnavailable(
                f"the mpiexec on PATH is {mpiexec}, in a folder that is not called bin",
                "name its MPI instead: NAME=PREFIX, where PREFIX/bin has mpicc and mpiexec",
            )
        self.prefix = folder.parent
        super().prepare(note)
