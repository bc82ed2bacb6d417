# SPDX-License-Identifier: BSD-3-Clause
"""The launcher under test, and small programs for its ranks, compiled when first asked for."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from ..conftest import ROOT, WARNINGS

PROGRAMS = Path(__file__).parent / "programs"

Program = Callable[..., str]
Mpiexec = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def launcher(prefix: Path) -> str:
    """The path of mpiexec."""
    return str(prefix / "bin/mpiexec")


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    """Compiles a program of the folder programs/, with further options; returns its path."""
    built: dict[tuple[str, ...], str] = {}

    def build(source: str, *options: str) -> str:
        key = (source, *options)
        if key not in built:
            path = tmp_path_factory.mktemp("program") / Path(source).stem
            language = ["g++", "-std=c++20"] if source.endswith(".cpp") else ["gcc", "-std=gnu11"]
            includes = [f"-I{ROOT / 'library'}"]
            command = [*language, *WARNINGS, *includes, "-O1", "-pthread", "-o", str(path), str(PROGRAMS / source)]
            subprocess.run([*command, *options], check=True)
            built[key] = str(path)
        return built[key]

    return build


@pytest.fixture
def mpiexec(launcher: str, tmp_path: Path) -> Mpiexec:
    """Runs mpiexec to its end, in a folder of the test's own."""

    def run(
        *arguments: str, stdin: str = "", extra: Sequence[tuple[str, str]] = ()
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [launcher, *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
            cwd=tmp_path,
            env={**os.environ, **dict(extra)},
        )

    return run
