# SPDX-License-Identifier: BSD-3-Clause
"""Programs of Debian, as their packages have them: ScaLAPACK's testers; Quantum ESPRESSO with VOLLEY_TEST_LONG=1."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from ..conftest import LONG, MODES
from .debian import LIBRARIES, unpacked
from .test_faces import cache

NUMERICS = ("libblas3", "liblapack3", "libscalapack-mpich2.2", "libscalapack-openmpi2.2")

# Two atoms of silicon. Its energy under Debian's Open MPI 4.1.4, with 1, 2 and 4 ranks.
SILICON = """
&control
  calculation='scf', prefix='si', pseudo_dir='{pseudo}', outdir='./out'
/
&system
  ibrav=2, celldm(1)=10.20, nat=2, ntyp=1, ecutwfc=24.0
/
&electrons
  conv_thr=1.0d-10
/
ATOMIC_SPECIES
 Si 28.086 Si.pz-vbc.UPF
ATOMIC_POSITIONS alat
 Si 0.00 0.00 0.00
 Si 0.25 0.25 0.25
K_POINTS automatic
 6 6 6 0 0 0
"""
ENERGY_RYDBERG = "-15.84922271"


def unpacked_or_skipped(*packages: str) -> Path:
    """The root of the packages' files."""
    root = unpacked(cache(), *packages)
    if root is None or shutil.which("gfortran") is None:
        pytest.skip("Debian's packages, or the library of gfortran, cannot be had")
    return root


def surroundings(root: Path) -> Mapping[str, str]:
    """The environment in which the packages' libraries are found, and nothing has threads of its own."""
    folders = ":".join(str(root / LIBRARIES / name) for name in ("", "blas", "lapack"))
    return {**os.environ, "LD_LIBRARY_PATH": folders, "OMP_NUM_THREADS": "1"}


def ran(prefix: Path, folder: Path, environment: Mapping[str, str], *arguments: object) -> str:
    """What a program prints under mpiexec, which must end well."""
    command = [str(prefix / "bin/mpiexec"), *map(str, arguments)]
    outcome = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert outcome.returncode == 0, outcome.stdout[-2000:] + outcome.stderr[-2000:]
    assert "lost wake-ups" not in outcome.stderr
    return outcome.stdout


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("mpi", ["mpich", "openmpi"])
@pytest.mark.parametrize("tester", ["xdlu", "xcbrd"])
def test_scalapack(tester: str, mpi: str, mode: str, prefix: Path, tmp_path: Path) -> None:
    """Systems of equations, and matrices made bidiagonal: grids of processes, in which all talk to all."""
    root = unpacked_or_skipped("scalapack-mpi-test", "scalapack-test-common", *NUMERICS)
    for data in (root / "usr/share/scalapack").glob("*.dat"):
        shutil.copy(data, tmp_path)
    program = root / LIBRARIES / f"scalapack/{mpi}-tests" / tester
    printed = ran(prefix, tmp_path, surroundings(root), "--ranks", mode, "-n", 4, program)
    passed = re.findall(r"(\d+) tests completed and passed residual checks", printed)
    assert [count for count in passed if int(count) > 30], printed[-2000:]
    assert re.search(r"\b0 tests completed and failed residual checks", printed)


@pytest.mark.skipif(not LONG, reason="unpacks 85 MB (VOLLEY_TEST_LONG=1)")
@pytest.mark.parametrize(("mode", "ranks"), [("shared", 1), ("shared", 2), ("shared", 4), ("process", 4)])
def test_quantum_espresso(mode: str, ranks: int, prefix: Path, tmp_path: Path) -> None:
    root = unpacked_or_skipped("quantum-espresso", "quantum-espresso-data", "libfftw3-double3", *NUMERICS)
    (tmp_path / "si.in").write_text(SILICON.format(pseudo=root / "usr/share/espresso/pseudo"))
    arguments = ("--ranks", mode, "-n", ranks, root / "usr/bin/pw.x", "-in", "si.in")
    printed = ran(prefix, tmp_path, surroundings(root), *arguments)
    energies = re.findall(r"^!\s+total energy\s+=\s+(\S+) Ry", printed, re.MULTILINE)
    assert energies == [ENERGY_RYDBERG]
