# SPDX-License-Identifier: BSD-3-Clause
"""Errors of programs end in a sentence that names function, argument and value, never in a crash."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..conftest import MODES, MpiProgram, MpiRun

PROGRAM = Path(__file__).parent / "bad.cpp"

# What the message must say, beside the name of the function and of the error's class.
SAID = {
    "rank": ["MPI_Send", "MPI_ERR_RANK", "dest", "2"],
    "negative rank": ["MPI_Recv", "MPI_ERR_RANK", "source", "-77"],
    "tag": ["MPI_Send", "MPI_ERR_TAG", "tag", "-5"],
    "count": ["MPI_Send", "MPI_ERR_COUNT", "count", "-1"],
    "null datatype": ["MPI_Send", "MPI_ERR_TYPE", "datatype", "MPI_DATATYPE_NULL"],
    "uncommitted datatype": ["MPI_Send", "MPI_ERR_TYPE", "datatype", "MPI_Type_commit"],
    "freed datatype": ["MPI_Send", "MPI_ERR_TYPE", "datatype"],
    "null communicator": ["MPI_Send", "MPI_ERR_COMM", "comm", "MPI_COMM_NULL"],
    "freed communicator": ["MPI_Barrier", "MPI_ERR_COMM", "comm"],
    "null buffer": ["MPI_Send", "MPI_ERR_BUFFER", "buf"],
    "truncation": ["MPI_Recv", "MPI_ERR_TRUNCATE", "100 bytes", "50"],
    "large truncation": ["MPI_Recv", "MPI_ERR_TRUNCATE", "100000 bytes", "50000"],
    "freed request": ["MPI_Wait", "MPI_ERR_REQUEST"],
    "root": ["MPI_Bcast", "MPI_ERR_ROOT", "root", "5"],
    "operation": ["MPI_Allreduce", "MPI_ERR_OP", "MPI_OP_NULL"],
    "operation on type": ["MPI_Allreduce", "MPI_ERR_OP", "MPI_BAND", "MPI_DOUBLE"],
    "aliased buffers": ["MPI_Allreduce", "MPI_ERR_BUFFER", "MPI_IN_PLACE"],
    "no buffer attached": ["MPI_Bsend", "MPI_ERR_BUFFER", "MPI_Buffer_attach"],
    "free the world": ["MPI_Comm_free", "MPI_ERR_COMM", "MPI_COMM_WORLD"],
    "free a predefined type": ["MPI_Type_free", "MPI_ERR_TYPE", "MPI_INT"],
    "no displacement unit": ["MPI_Win_create", "MPI_ERR_DISP"],
    "different collectives": ["rank 0 calls MPI_Barrier", "rank 1 calls MPI_Allreduce for 4 bytes"],
    "different roots": ["rank 0 calls MPI_Bcast with root 0", "rank 1 calls MPI_Bcast with root 1"],
    "different counts": ["MPI_Bcast with root 0 for 4 bytes", "MPI_Bcast with root 0 for 8 bytes"],
    "initialise twice": ["MPI_Init", "MPI_ERR_OTHER"],
    "before": ["MPI_Barrier", "MPI_Init"],
    "after": ["MPI_Barrier", "MPI_Finalize"],
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("error", SAID)
def test_an_error_says_what_is_wrong(error: str, mode: str, mpi_program: MpiProgram, mpirun: MpiRun) -> None:
    """MPI_ERRORS_ARE_FATAL ends the job with one sentence; some need the checking mode."""
    checking = ["-env", "VOLLEY_CHECK", "1"] if error.startswith("different") else []
    outcome = mpirun("--ranks", mode, *checking, "-n", 2, mpi_program(PROGRAM), error, check=False, seconds=20)
    assert outcome.returncode != 0
    assert "signal" not in outcome.stderr
    for words in SAID[error]:
        assert words in outcome.stderr, outcome.stderr


def test_all_errors_are_tried(mpi_program: MpiProgram, mpirun: MpiRun) -> None:
    """The list above and the program's are the same."""
    listed = mpirun("-n", 1, mpi_program(PROGRAM), "list", check=False).stdout.splitlines()
    assert {*listed, "before", "after"} == SAID.keys()


def test_messages_nobody_received_are_reported(mpi_program: MpiProgram, mpirun: MpiRun) -> None:
    """MPI_Finalize with pending messages ends, and says what was not received."""
    outcome = mpirun("-n", 2, mpi_program(PROGRAM), "unreceived", check=False, seconds=20)
    assert outcome.returncode == 0
    for rank in range(2):
        assert f"rank {rank}: MPI_Finalize" in outcome.stderr
    assert "with tag 9, 4 bytes" in outcome.stderr
