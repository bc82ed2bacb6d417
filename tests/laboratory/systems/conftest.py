# SPDX-License-Identifier: BSD-3-Clause
"""Programs compiled once per system, and a way to run them through it as the laboratory does."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from volley import processes
from volley.errors import SystemUnavailable
from volley.processes import Command, Outcome
from volley.systems import System, resolve

PROGRAMS = Path(__file__).parent / "programs"
LIMIT_SECONDS = 60.0


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
def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder that any user can reach, as LAM's ranks need it (pytest's own are private)."""
    import tempfile

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


def greet(system: System, program: Path, ranks: int, *arguments: str) -> Outcome:
    """Runs hello and checks that every rank spoke once."""
    outcome = processes.run(system.launch(program, arguments, ranks), LIMIT_SECONDS)
    assert outcome.fine, outcome
    spoken = sorted(line for line in outcome.output.splitlines() if line.startswith("rank"))
    assert spoken == sorted(f"rank {rank} of {ranks}" for rank in range(ranks)), outcome
    return outcome


def freeze_and_go_on(system: System, hang: Path, hello: Path) -> None:
    """A launch that never ends is ended, leaves no process, and does not spoil the next one."""
    segments = set(os.listdir("/dev/shm"))
    outcome = processes.run(system.launch(hang, [], 3), 2.0, mark="freeze-test")
    assert outcome.timed_out
    assert processes.end_all("freeze-test") == 0
    system.recover()
    greet(system, hello, 2)
    left = set(os.listdir("/dev/shm")) - segments
    assert not [name for name in left if name.startswith(("vader_segment", "sm_segment"))], left
    assert not _running(hang)


def _running(program: Path) -> list[str]:
    found = []
    for link in Path("/proc").glob("[0-9]*/exe"):
        with contextlib.suppress(OSError):
            if link.readlink() == program:
                found.append(str(link))
    return found
