# SPDX-License-Identifier: BSD-3-Clause
"""All ranks of a job use one build of the library: what they share has its layout from it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from ..conftest import MODES, MpiProgram, MpiRun

PROGRAM = """
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) puts("good");
    MPI_Finalize();
}
"""


@pytest.fixture
def program(tmp_path: Path, mpi_program: MpiProgram) -> Path:
    """An MPI program that ends well."""
    source = tmp_path / "ends_well.c"
    source.write_text(PROGRAM)
    return mpi_program(source)


@pytest.fixture
def other_build(prefix: Path, tmp_path: Path) -> Path:
    """A folder with the same library under another build id."""
    library = (prefix / "lib" / "libmpi_abi.so.1").resolve()
    notes = subprocess.run(["readelf", "-n", str(library)], check=True, capture_output=True, text=True).stdout
    found = re.search(r"Build ID: ([0-9a-f]+)", notes)
    assert found, notes
    build_id = bytes.fromhex(found[1])
    folder = tmp_path / "other"
    folder.mkdir()
    contents = library.read_bytes()
    assert contents.count(build_id) == 1
    (folder / "libmpi_abi.so.1").write_bytes(contents.replace(build_id, build_id[::-1]))
    return folder


@pytest.mark.parametrize("mode", MODES)
def test_ranks_of_different_builds_are_refused(mode: str, program: Path, other_build: Path, mpirun: MpiRun) -> None:
    other = ("-env", "LD_LIBRARY_PATH", other_build, program)
    outcome = mpirun("--ranks", mode, "-n", 2, program, ":", "-n", 1, *other, check=False)
    assert outcome.returncode != 0
    assert "the ranks of this job have loaded different builds of libmpi_abi.so.1" in outcome.stderr
    mpirun("--ranks", mode, "-n", 2, *other)  # all of the other one
