# SPDX-License-Identifier: BSD-3-Clause
"""Programs compiled once per system, and a way to run them through it as the laboratory does."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from volley.errors import SystemUnavailable
from volley.machine import processes
from volley.machine.processes import Command
from volley.systems import System, resolve

from .support import LIMIT_SECONDS

PROGRAMS = Path(__file__).parent / "programs"


def quiet(line: str) -> None:
    """Takes the notes of prepare()."""


@pytest.fixture(scope="session")
def ready() -> Callable[[str], System]:
    """The one system of a name, installed; the test is skipped, with the reason, where that cannot be."""

    def prepare(name: str) -> System:
        (system,) = resolve(name)
        try:
            system.prepare(quiet)
        except SystemUnavailable as problem:
            pytest.skip(f"{problem.problem}; {problem.remedy}")
        return system

    return prepare


@pytest.fixture
def shared_folder() -> Iterator[Path]:
    """A folder that any user can reach, as LAM's ranks need it (pytest's own are private)."""
    with tempfile.TemporaryDirectory(prefix="volley-tests-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


@pytest.fixture
def compiled(shared_folder: Path) -> Callable[[System, str], Path]:
    """Compiles programs/NAME.c with the system's compiler."""

    def compile_program(system: System, name: str) -> Path:
        first, *others = system.compiler()
        program = shared_folder / f"{name}-{system.family}"
        argv = (first, "-o", str(program), str(PROGRAMS / f"{name}.c"), *others)
        outcome = processes.run(Command(argv), LIMIT_SECONDS)
        assert outcome.fine, outcome
        program.chmod(0o755)
        return program

    return compile_program
