# SPDX-License-Identifier: BSD-3-Clause
"""The library's protocols as models, checked by Spin over every interleaving."""

import shutil
import subprocess
from pathlib import Path

import pytest

LIBRARY = Path(__file__).parents[2] / "library"


def errors_found(model: Path, folder: Path, *defines: str) -> int:
    subprocess.run(["spin", *defines, "-a", str(model)], cwd=folder, check=True, capture_output=True)
    subprocess.run(["cc", "-O2", "-w", "-DSAFETY", "-DCOLLAPSE", "-o", "pan", "pan.c"], cwd=folder, check=True)
    ended = subprocess.run(["./pan", "-m200000"], cwd=folder, check=True, capture_output=True, text=True)
    assert "max search depth too small" not in ended.stdout
    (line,) = [line for line in ended.stdout.splitlines() if "errors:" in line]
    return int(line.rpartition(":")[2])


needs_spin = pytest.mark.skipif(shutil.which("spin") is None, reason="Spin is not installed: apt-get install spin")


@needs_spin
def test_no_interleaving_loses_a_wake_up_and_the_model_would_notice(tmp_path: Path) -> None:
    model = LIBRARY / "wait" / "sleep.pml"
    assert errors_found(model, tmp_path) == 0
    assert errors_found(model, tmp_path, "-DNO_BARRIER") == 1


@needs_spin
def test_a_sender_that_waits_for_room_is_woken_and_the_model_would_notice(tmp_path: Path) -> None:
    model = LIBRARY / "transport" / "shm" / "room.pml"
    assert errors_found(model, tmp_path) == 0
    for mistake in ("-DNEVER_WAKES", "-DWAKES_SELDOM", "-DNO_BARRIER"):
        assert errors_found(model, tmp_path, mistake) == 1, mistake
