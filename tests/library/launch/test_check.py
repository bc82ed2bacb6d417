# SPDX-License-Identifier: BSD-3-Clause
"""volley check and volley env: what mpiexec would do with a program, told without starting it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

VOLLEY = (sys.executable, "-c", "from volley.cli import main; main()")

Build = Callable[..., Path]


@pytest.fixture
def build(prefix: Path, tmp_path: Path) -> Build:
    """Compiles a program that calls these functions of MPI, whatever they take."""

    def compile_it(*functions: str, options: tuple[str, ...] = ()) -> Path:
        path = tmp_path / "program"
        calls = "".join(f"void {name}(void); {name}(); " for name in functions)
        path.with_suffix(".c").write_text(f"int main(void) {{ {calls}return 0; }}\n")
        command = [prefix / "bin/mpicc", "-w", path.with_suffix(".c"), "-o", path, *options]
        subprocess.run(list(map(str, command)), check=True)
        return path

    return compile_it


def checked(prefix: Path, program: Path) -> Any:
    """What mpiexec says, which is all that `volley check --json` has but for the verdict."""
    command = [str(prefix / "bin/mpiexec"), "--check", str(program)]
    return json.loads(subprocess.check_output(command, text=True))


def volley(prefix: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [*VOLLEY, *map(str, arguments)]
    variables = {**os.environ, "VOLLEY_PREFIX": str(prefix)}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=variables)


def test_a_program_that_runs_as_it_is(prefix: Path, build: Build) -> None:
    ended = volley(prefix, "check", build("MPI_Init", "MPI_Finalize"))
    assert ended.returncode == 0, ended.stderr
    assert "needs libmpi_abi.so.1 (the standard ABI)" in ended.stdout
    assert "All of the 2 functions" in ended.stdout
    assert "can share one address space" in ended.stdout


def test_a_program_that_would_miss_a_function(prefix: Path, tmp_path: Path, build: Build) -> None:
    """It was linked with a library of the same name that has more."""
    other = tmp_path / "other.so"
    source = "void MPI_Init(void) {} void MPIX_Not_there(void) {}\n"
    command = ["gcc", "-shared", "-fPIC", "-Wl,-soname,libmpi_abi.so.1", "-x", "c", "-", "-o", str(other)]
    subprocess.run(command, input=source, text=True, check=True)
    ended = volley(prefix, "check", build("MPI_Init", "MPIX_Not_there", options=(str(other),)), "--json")
    assert ended.returncode == 1
    told = json.loads(ended.stdout)
    assert (told["missing"], told["runs"], told["functions"]) == (["MPIX_Not_there"], False, 2)


def test_a_program_that_cannot_be_placed(prefix: Path, build: Build) -> None:
    told = checked(prefix, build("MPI_Init", options=("-no-pie",)))
    assert not told["shared"]
    assert "not position-independent" in told["reason"]


def test_no_such_program(prefix: Path) -> None:
    ended = volley(prefix, "check", "no-such-program")
    assert ended.returncode == 2
    assert "there is no program no-such-program in PATH" in ended.stderr


def test_exports_for_a_shell(prefix: Path) -> None:
    """With them the dynamic linker finds the faces before other MPIs."""
    said = volley(prefix, "env").stdout
    command = f'{said}\nexec "$0" -c "import os; print(os.environ[\'LD_LIBRARY_PATH\'])"'
    seen = subprocess.run(["sh", "-c", command, sys.executable], capture_output=True, text=True, check=True).stdout
    (faces,) = prefix.glob("lib*/volley")
    assert seen.strip().split(":")[0] == str(faces)
