# SPDX-License-Identifier: BSD-3-Clause
"""The library's protocols as models, checked by Spin over every interleaving."""

import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

LIBRARY = Path(__file__).parents[2] / "library"


def errors_found(model: Path, folder: Path, *defines: str, speed: str = "-O1") -> int:
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
def test_threads_that_sleep_on_descriptors_are_woken_and_the_model_would_notice(tmp_path: Path) -> None:
    model = LIBRARY / "wait" / "descriptors.pml"
    assert errors_found(model, tmp_path) == 0
    assert not unnoticed(model, tmp_path, "-DNO_BYTE", "-DNO_HAND_OVER", "-DSTALE_BYTE", "-DNOT_TOLD", "-DNO_BARRIER")


@needs_spin
def test_processes_of_other_jobs_wake_who_sleeps_and_the_model_would_notice(tmp_path: Path) -> None:
    model = LIBRARY / "wait" / "doorbell.pml"
    assert errors_found(model, tmp_path) == 0
    assert not unnoticed(model, tmp_path, "-DNO_FENCE", "-DNO_LOOK", "-DRINGS_EARLY", "-DCLEARS_LATE")


@needs_spin
def test_a_sender_that_waits_for_room_is_woken_and_the_model_would_notice(tmp_path: Path) -> None:
    model = LIBRARY / "transport" / "shm" / "room.pml"
    assert errors_found(model, tmp_path) == 0
    for mistake in ("-DNEVER_WAKES", "-DWAKES_SELDOM", "-DNO_BARRIER"):
        assert errors_found(model, tmp_path, mistake) == 1, mistake


@needs_spin
def test_members_agree_whoever_is_killed_and_the_model_would_notice(tmp_path: Path) -> None:
    model = LIBRARY / "communicator" / "agreement.pml"
    assert errors_found(model, tmp_path) == 0
    assert not unnoticed(model, tmp_path, "-DNO_COMPARE", "-DNO_MARKS", "-DEARLY")


@needs_spin
def test_members_on_several_hosts_agree_and_the_model_would_notice(tmp_path: Path) -> None:
    model = LIBRARY / "launch" / "hosts" / "agreements.pml"
    assert errors_found(model, tmp_path) == 0
    assert not unnoticed(model, tmp_path, "-DNO_RECHECK", "-DUNORDERED", "-DLATE")


def unnoticed(model: Path, folder: Path, *mistakes: str) -> list[str]:
    """The mistakes, options of Spin, with which it finds no error. It would after few states: to compile well would
    take longer than to search."""

    def is_noticed(mistake: str) -> bool:
        own_folder = folder / mistake.replace(" ", "")
        own_folder.mkdir()
        return errors_found(model, own_folder, *mistake.split(), speed="-O0") == 1

    with ThreadPoolExecutor() as threads:
        return [
            mistake for mistake, noticed in zip(mistakes, threads.map(is_noticed, mistakes), strict=True) if not noticed
        ]


@needs_spin
def test_one_thread_at_a_time_is_in_the_library_and_the_model_would_notice(tmp_path: Path) -> None:
    model = LIBRARY / "core" / "lock.pml"
    assert errors_found(model, tmp_path) == 0
    assert not unnoticed(
        model,
        tmp_path,
        "-DNO_BARRIER",
        "-DLOOKS_ONCE",
        "-DLEAVES_SILENTLY",
        "-DNOT_WOKEN",
        "-DENTERS_EARLY",
        "-DWAITS_INSIDE",
    )


@needs_spin
def test_a_rendezvous_ends_well_and_the_model_would_notice(tmp_path: Path) -> None:
    model = LIBRARY / "transport" / "shm" / "rendezvous.pml"
    assert errors_found(model, tmp_path, "-DMESSAGES=1") == 0
    assert errors_found(model, tmp_path, "-DNONBLOCKING") == 0
    assert not unnoticed(
        model,
        tmp_path,
        "-DTOUCHES_LATE",
        "-DLEAVES_EARLY",
        "-DFORGETS_HELPER",
        "-DCOMPLETES_ANYWAY",
        "-DBEGINS_AGAIN",
        "-DOVERWRITES",
        "-DNO_CLAIM",
        "-DCANCELS_UNCLAIMED",
        "-DFOLLOWS_TOO_FAR",
        "-DNO_WAKE",
        "-DTOLD_EARLY",
        "-DREADS_NEXT_LATE",
        "-DSTAYS_UNSEEN -DNONBLOCKING",
        "-DNO_BARRIER",
    )


@needs_spin
def test_collective_rounds_keep_apart_and_the_model_would_notice(tmp_path: Path) -> None:
    model = LIBRARY / "collective" / "round.pml"
    assert errors_found(model, tmp_path, "-DROUNDS=5") == 0
    assert errors_found(model, tmp_path, "-DCOUNTED") == 0
    assert errors_found(model, tmp_path, "-DDIRECT", "-DROUNDS=4") == 0
    assert errors_found(model, tmp_path, "-DRANKS=3", "-DSPINNING", "-DROUNDS=5") == 0
    assert not unnoticed(
        model,
        tmp_path,
        "-DNEVER_TELLS",
        "-DTELLS_SELDOM",
        "-DTELLS_SILENTLY",
        "-DCOLLECT_TELLS",
        "-DPUBLISHES_SILENTLY",
        "-DREUSES_EARLY",
        "-DREUSES_EARLY -DCOUNTED",
        "-DONE_STAGE",
        "-DLEAVES_EARLY -DDIRECT",
        "-DLEAVES_EARLY -DCOUNTED",
        "-DRELEASES_SILENTLY -DCOUNTED",
        "-DRELEASES_EARLY -DCOUNTED",
        "-DNO_BARRIER",
    )


@needs_spin
def test_accumulations_of_elements_and_arrays_keep_apart_and_the_model_would_notice(tmp_path: Path) -> None:
    model = LIBRARY / "window" / "instructions.pml"
    assert errors_found(model, tmp_path, speed="-O0") == 0
    assert not unnoticed(model, tmp_path, "-DNO_BARRIER", "-DNO_WAIT", "-DTWO_STATES")


@needs_spin
def test_a_window_is_locked_by_whom_it_should_and_the_model_would_notice(tmp_path: Path) -> None:
    model = LIBRARY / "window" / "lock.pml"
    assert errors_found(model, tmp_path, speed="-O0") == 0
    assert errors_found(model, tmp_path, "-DSHARED=1", "-DEXCLUSIVE=2", speed="-O0") == 0
    assert errors_found(model, tmp_path, "-DMEETS", speed="-O0") == 0
    assert not unnoticed(
        model, tmp_path, "-DLEAVES_SILENTLY", "-DSLEEPS_AT_ONCE", "-DNO_QUEUE", "-DMEETS -DENTERS_SILENTLY"
    )


@needs_spin
def test_split_writes_end_with_all_data_in_the_file_and_the_model_would_notice(tmp_path: Path) -> None:
    model = LIBRARY / "file" / "split.pml"
    assert errors_found(model, tmp_path) == 0
    assert errors_found(model, tmp_path, "-DMEETS") == 0
    assert not unnoticed(
        model,
        tmp_path,
        "-DENDS_EARLY",
        "-DWRITES_EARLY",
        "-DTELLS_EARLY",
        "-DSTANDS_STILL",
        "-DMEETS -DSTANDS_IN_BARRIER",
    )
