# SPDX-License-Identifier: BSD-3-Clause
"""The surroundings' tests again under a kernel that has control groups of version 2 alone, as most machines have.

That kernel is User Mode Linux, a program (apt-get install user-mode-linux), on this machine's files.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
KERNEL = shutil.which("linux.uml")


@pytest.mark.skipif(KERNEL is None or os.getuid() != 0, reason="needs root, and the package user-mode-linux")
def test_surroundings_hold_in_version_2(tmp_path: Path) -> None:
    assert KERNEL is not None
    report = tmp_path / "report"
    told = {
        "PYTHON": sys.executable,
        "TESTS": str(FOLDER / "test_surroundings.py"),
        "REPORT": str(report),
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
    }
    said = subprocess.run(
        (
            *(KERNEL, "rootfstype=hostfs", "rootflags=/", "rw", "mem=1024M", "con=null", "con0=null", "quiet"),
            f"uml_dir={tmp_path}",
            f"init={FOLDER / 'version_2_machine.sh'}",
            *(f"{name}={value}" for name, value in told.items()),
        ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    ).stdout
    if not report.exists():
        pytest.skip(f"User Mode Linux does not run here: {said.strip()[-200:]}")
    *_, summary = report.read_text().splitlines()
    assert summary.startswith("4 passed"), report.read_text()
