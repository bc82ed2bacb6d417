# SPDX-License-Identifier: BSD-3-Clause
"""Jobs that run at the same time."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

JobsRun = Callable[..., list["subprocess.CompletedProcess[str]"]]


@pytest.fixture
def run_jobs(prefix: Path, tmp_path: Path) -> JobsRun:
    """Starts several mpiexec with the arguments of each, and waits for all; `check` demands that each ends well."""

    def run(
        *jobs: tuple[object, ...], check: bool = True, seconds: float = 60
    ) -> list[subprocess.CompletedProcess[str]]:
        started = [
            subprocess.Popen(
                [str(prefix / "bin/mpiexec"), *map(str, arguments)],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                cwd=tmp_path,
            )
            for arguments in jobs
        ]
        outcomes = []
        try:
            for process in started:
                out, error = process.communicate(timeout=seconds)
                outcomes.append(subprocess.CompletedProcess(process.args, process.returncode, out, error))
        finally:
            for process in started:
                process.kill()
                process.wait()
        for outcome in outcomes:
            assert "lost wake-ups" not in outcome.stderr, outcome.stderr
            if check:
                assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "good\n", ""), outcomes
        return outcomes

    return run
