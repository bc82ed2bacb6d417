# SPDX-License-Identifier: BSD-3-Clause
"""The environment a system is launched in: the caller's, without what would steer an MPI."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping

STEERING_PREFIXES = (
    # settings of MPI libraries and of the fabrics below them
    "OMPI_",
    "OPAL_",
    "PRTE_",
    "MPICH_",
    "MPIR_",
    "MPIEXEC_",
    "I_MPI_",
    "LAM_",
    "LAMHOME",
    "LAMRSH",
    "TROLLIUS",
    "FI_",
    "UCX_",
    # what a launcher tells its ranks: a study started from inside an MPI job must not look like a rank of it
    "PMI_",
    "PMIX_",
    "HYDRA_",
    "HYDI_",
    "HYDT_",
    "VOLLEY_ARENA_",
    "VOLLEY_RANK",
    "VOLLEY_APPLICATION",
    # what a batch system tells a launcher: it would start ranks on other machines
    "SLURM_",
    "PBS_",
    "LSB_",
    "LSF_",
    "PE_HOSTFILE",
    "COBALT_",
    "LOADL_",
)
"""Variables that begin so change what an MPI does or where it starts its ranks."""

LOADER_VARIABLES = ("LD_LIBRARY_PATH", "LD_PRELOAD")
"""They come before a program's own run path: MPICH and Intel MPI share the file name libmpi.so.12."""


def clean_environment(
    own: Mapping[str, str] | None = None,
    caller: Mapping[str, str] | None = None,
    keep_loader: bool = False,
) -> dict[str, str]:
    """`caller`'s environment (by default this process's) without the steering variables, plus `own`.

    keep_loader: leave LD_LIBRARY_PATH and LD_PRELOAD, for an MPI the user set up on purpose.
    """
    start = os.environ if caller is None else caller
    kept = {
        name: value
        for name, value in start.items()
        if not name.startswith(STEERING_PREFIXES) and (keep_loader or name not in LOADER_VARIABLES)
    }
    return {**kept, **_planted, **(own or {})}


_planted: dict[str, str] = {}


@contextlib.contextmanager
def planted(variables: Mapping[str, str]) -> Iterator[None]:
    """Within, every launch and every question to an MPI's own tools has these variables: as if the machine's
    administrator had set them for all. For faults planted on purpose (volley.selftest.plant).
    """
    before = dict(_planted)
    _planted.update(variables)
    try:
        yield
    finally:
        _planted.clear()
        _planted.update(before)
