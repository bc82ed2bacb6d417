# SPDX-License-Identifier: BSD-3-Clause
"""The library under test, installed into a folder of its own, and MPI programs compiled with its mpicc and mpicxx."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"]

# What takes minutes: make test-long.
LONG = os.environ.get("VOLLEY_TEST_LONG", "0") != "0"
MODES = ["shared", "process"]
TCP = ("--transport", "tcp")
# Ranks that are taken to be on several hosts: memory between those of one, TCP between the others.
NODES = [("2,2", 4), ("1,3", 4)]
SIZES = [int(ranks) for ranks in os.environ.get("VOLLEY_TEST_RANKS", "1,2,3,5,8").split(",")]
TCP_SIZES = [ranks for ranks in SIZES if 1 < ranks < 8]

MpiProgram = Callable[..., Path]
MpiRun = Callable[..., "subprocess.CompletedProcess[str]"]


def is_alive(process: int) -> bool:
    """Whether a process runs; one that has ended and waits for its parent does not."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.fixture(scope="session")
def prefix() -> Path:
    """Where the library is installed: the environment variable VOLLEY_PREFIX, or build/prefix, made here."""
    given = os.environ.get("VOLLEY_PREFIX")
    if given:
        return Path(given)
    build, target = ROOT / "build" / "library", ROOT / "build" / "prefix"
    for command in (
        ["cmake", "-S", str(ROOT), "-B", str(build)],
        ["cmake", "--build", str(build), "-j2"],
        ["cmake", "--install", str(build), "--prefix", str(target)],
    ):
        subprocess.run(command, check=True, capture_output=True)
    return target


@pytest.fixture(scope="session")
def mpi_program(prefix: Path, tmp_path_factory: pytest.TempPathFactory) -> MpiProgram:
    """Compiles an MPI program, with further options; returns its path."""
    built: dict[tuple[str, ...], Path] = {}

    def build(source: Path, *options: str) -> Path:
        key = (str(source), *options)
        if key not in built:
            path = tmp_path_factory.mktemp("mpi") / source.stem
            compiler = (
                [str(prefix / "bin/mpicxx"), "-std=c++20"] if source.suffix == ".cpp" else [str(prefix / "bin/mpicc")]
            )
            flags = [*WARNINGS, "-O1", "-g", "-pthread", *os.environ.get("VOLLEY_TEST_FLAGS", "").split()]
            command = [*compiler, *flags, "-o", str(path), str(source), *options]
            subprocess.run(command, check=True)
            built[key] = path
        return built[key]

    return build


@pytest.fixture
def mpirun(prefix: Path, tmp_path: Path) -> MpiRun:
    """Runs mpiexec to its end in a folder of the test's own; `check` demands success and a last line "good"."""

    def run(*arguments: object, check: bool = True, seconds: float = 120) -> subprocess.CompletedProcess[str]:
        outcome = subprocess.run(
            [str(prefix / "bin/mpiexec"), *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
            cwd=tmp_path,
        )
        # Whatever is tested: no wait was left to the fallback time-out.
        assert "lost wake-ups" not in outcome.stderr, outcome.stderr
        if check:
            assert outcome.returncode == 0, outcome.stderr + outcome.stdout
            assert outcome.stdout.endswith("good\n"), outcome.stderr + outcome.stdout
        return outcome

    return run
