# SPDX-License-Identifier: BSD-3-Clause
"""C++ programs compiled for other MPIs: their mpi.h has the bindings that MPI 3.0 removed, used or not."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ..conftest import MODES, MpiRun
from .debian import LIBRARIES, unpacked
from .test_faces import cache

UNUSED = """
#include <mpi.h>
#include <cstdio>
struct Named { // names the functions, calls none
    static void all(MPI::Intracomm &comm, MPI::Datatype &datatype, MPI::Win &window) {
        MPI::Intracomm copy(comm);
        datatype.Free();
        window.Free();
    }
};
void (*volatile named)(MPI::Intracomm &, MPI::Datatype &, MPI::Win &) = Named::all;
int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, sum = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    if (rank == 0 && sum == 3) std::puts("good");
}
"""
USED = """
#include <mpi.h>
static void add(const void *, void *, int, const MPI::Datatype &) {}
int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI::Op op;
    op.Init(add, true);
    MPI_Finalize();
}
"""


def compiled_by_open_mpi(source: str, folder: Path) -> Path:
    """A program that names what the header's own functions call."""
    root = unpacked(cache(), "libopenmpi3", "libopenmpi-dev")
    if root is None:
        pytest.skip("Debian's package of Open MPI cannot be had")
    path = folder / "program.cpp"
    path.write_text(source)
    command = ["g++", "-w", "-O2", f"-I{root / LIBRARIES / 'openmpi/include'}", str(path)]
    command += ["-o", str(path.with_suffix("")), "-Wl,--no-as-needed"]
    command += [str(root / LIBRARIES / name) for name in ("libmpi_cxx.so.40", "libmpi.so.40")]
    command += ["-Wl,--unresolved-symbols=ignore-in-shared-libs"]
    subprocess.run(command, check=True)
    return path.with_suffix("")


@pytest.mark.parametrize("mode", MODES)
def test_a_program_that_does_not_use_the_bindings(mode: str, mpirun: MpiRun, tmp_path: Path) -> None:
    mpirun("--ranks", mode, "-n", 3, compiled_by_open_mpi(UNUSED, tmp_path))


def test_a_program_that_uses_the_bindings_is_told(mpirun: MpiRun, tmp_path: Path) -> None:
    outcome = mpirun("-n", 1, compiled_by_open_mpi(USED, tmp_path), check=False)
    assert outcome.returncode != 0
    assert "calls MPI::Op::Init, of the bindings for C++ that MPI 3.0 has removed" in outcome.stderr
