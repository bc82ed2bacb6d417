# SPDX-License-Identifier: BSD-3-Clause
"""Fortran programs, compiled by the mpifort of the library under test."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

HERE = Path(__file__).parent
COMPILER = "gfortran"

FortranProgram = Callable[..., Path]


@pytest.fixture(scope="session")
def fortran_program(prefix: Path, tmp_path_factory: pytest.TempPathFactory) -> FortranProgram:
    """Compiles sources, with further options; returns the program's path."""
    if shutil.which(COMPILER) is None:
        pytest.skip(f"there is no {COMPILER}")
    built: dict[tuple[str, ...], Path] = {}

    def build(*words: object, wrapper: str = "mpifort") -> Path:
        key = (wrapper, *map(str, words))
        if key not in built:
            folder = tmp_path_factory.mktemp("fortran")
            path = folder / "program"
            options = ["-O2", "-g", "-Wall", "-Werror", "-Wno-unused-variable", "-Wno-unused-dummy-argument"]
            command = [str(prefix / "bin" / wrapper), *options, "-J", str(folder), "-o", str(path), *map(str, words)]
            outcome = subprocess.run(command, capture_output=True, text=True, check=False)
            assert outcome.returncode == 0, outcome.stderr
            built[key] = path
        return built[key]

    return build
