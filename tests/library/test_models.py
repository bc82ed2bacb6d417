# SPDX-License-Identifier: BSD-3-Clause
"""The library's protocols as models, checked by Spin over every interleaving."""

import shutil
import subprocess
from pathlib import Path

import pytest

LIBRARY = Path(__file__).parents[2] / "library"


def errors_found(model: Path, folder: Path, *defines: str, speed: str = "-O2") -> int:
    subprocess.run(["spin", *defines, "-a", str(model)], cwd=folder, check=True, capture_output=True)
    subprocess.run(["cc", speed, "-w", "-DSAFETY", "-DCOLLAPSE", "-o", "pan", "pan.c"], cwd=folder, check=True)
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


def found_at_once(model: Path, folder: Path, *defines: str) -> int:
    """The same for a mistake that shows after few states: to compile well would take longer than to search."""
    return errors_found(model, folder, *defines, speed="-O0")


@needs_spin
def test_a_rendezvous_ends_well_and_the_model_would_notice(tmp_path: Path) -> None:
    model = LIBRARY / "transport" / "shm" / "rendezvous.pml"
    assert errors_found(model, tmp_path, "-DMESSAGES=1") == 0
    assert errors_found(model, tmp_path, "-DNONBLOCKING") == 0
    for mistake in (
        "-DTOUCHES_LATE",
        "-DLEAVES_EARLY",
        "-DFORGETS_HELPER",
        "-DNO_CLAIM",
        "-DCANCELS_UNCLAIMED",
        "-DFOLLOWS_TOO_FAR",
        "-DNO_WAKE",
        "-DTOLD_EARLY",
        "-DREADS_NEXT_LATE",
        "-DNO_BARRIER",
    ):
        assert found_at_once(model, tmp_path, mistake) == 1, mistake
    assert found_at_once(model, tmp_path, "-DNONBLOCKING", "-DSTAYS_UNSEEN") == 1


@needs_spin
def test_collective_rounds_keep_apart_and_the_model_would_notice(tmp_path: Path) -> None:
    model = LIBRARY / "collective" / "round.pml"
    for scope in ((), ("-DCOUNTED",), ("-DDIRECT", "-DROUNDS=4"), ("-DRANKS=3", "-DSPINNING", "-DROUNDS=5")):
        assert errors_found(model, tmp_path, *scope) == 0, scope
    for mistake in (
        "-DNEVER_TELLS",
        "-DTELLS_SELDOM",
        "-DTELLS_SILENTLY",
        "-DCOLLECT_TELLS",
        "-DPUBLISHES_SILENTLY",
        "-DREUSES_EARLY",
        "-DONE_STAGE",
        "-DNO_BARRIER",
    ):
        assert found_at_once(model, tmp_path, mistake) == 1, mistake
    for mistake in ("-DREUSES_EARLY", "-DLEAVES_EARLY", "-DRELEASES_SILENTLY", "-DRELEASES_EARLY"):
        assert found_at_once(model, tmp_path, "-DCOUNTED", mistake) == 1, mistake
    assert found_at_once(model, tmp_path, "-DDIRECT", "-DLEAVES_EARLY") == 1
