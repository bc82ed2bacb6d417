# SPDX-License-Identifier: BSD-3-Clause
"""Disks that fill while a study is made: what was measured stays, the file system is named, and it can be taken up."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

PROGRAM = (sys.executable, "-c", "from volley.cli import main; main()")
STUDY = ("--systems", "machine", "--tests", "ceilings", "--repetitions", "20000", "--launches", "6", "--precision", "0")


@pytest.fixture
def small() -> Iterator[Path]:
    """A file system of 8 KiB, to be enlarged by grow(). Any user can reach it: else root's files go to /tmp."""
    folder = Path(tempfile.mkdtemp(prefix="volley-small-"))
    folder.chmod(0o755)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8k", "tmpfs", folder], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        folder.rmdir()
        pytest.skip("only root may mount a file system")
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)
        folder.rmdir()


def grow(folder: Path, size: str) -> None:
    subprocess.run(["mount", "-o", f"remount,size={size}", folder], check=True)


def volley(*words: str | Path, temporary: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "TMPDIR": str(temporary), "NO_COLOR": "1", "COLUMNS": "200"}
    return subprocess.run(
        [*PROGRAM, *map(str, words)], env=environment, capture_output=True, text=True, check=False, timeout=120
    )


@pytest.fixture(scope="module", autouse=True)
def compiled(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The test's program is in the cache: a compiler without room for its own files would say something else."""
    folder = tmp_path_factory.mktemp("compiled")
    words = ("--systems", "machine", "--tests", "ceilings", "--sizes", "8", "--launches", "1", "--repetitions", "10")
    assert volley("study", *words, "--out", folder / "study", temporary=folder).returncode == 0


def statuses(study: Path) -> set[str]:
    return {launch["status"] for launch in json.loads((study / "study.json").read_text())["launches"]}


def test_temporary_files_without_room_end_the_study_and_blame_no_mpi(small: Path, tmp_path: Path) -> None:
    study = tmp_path / "study"
    told = f"the file system {small} is full"
    ended = volley("study", *STUDY, "--sizes", "8", "--out", study, temporary=small)
    assert (ended.returncode, told in ended.stderr, list(small.iterdir())) == (1, True, []), ended.stderr
    grow(small, "150k")  # for the program, but not for what its ranks measure
    ended = volley("study", "--resume", "--out", study, temporary=small)
    assert (ended.returncode, told in ended.stderr, list(small.iterdir())) == (1, True, []), ended.stderr
    assert "TMPDIR" in ended.stderr
    assert statuses(study) == set()
    grow(small, "64m")
    ended = volley("study", "--resume", "--out", study, temporary=small)
    assert ended.returncode == 0, ended.stderr
    assert statuses(study) == {"measured"}


def test_a_study_s_folder_without_room_keeps_what_was_measured(small: Path, tmp_path: Path) -> None:
    study = small / "study"
    grow(small, "1m")  # a launch takes half of it, or somewhat more: what a clock says is hard to compress
    ended = volley("study", *STUDY, "--sizes", "8", "--out", study, temporary=tmp_path)
    assert ended.returncode == 1
    assert f"the disk with {study}" in ended.stderr
    assert f"is full (file system {small})" in ended.stderr
    assert "--resume" in ended.stderr
    assert statuses(study) == {"measured"}
    grow(small, "64m")
    assert volley("report", study, temporary=tmp_path).returncode == 0
    before = len(json.loads((study / "study.json").read_text())["launches"])
    assert volley("study", "--resume", "--out", study, temporary=tmp_path).returncode == 0
    assert len(json.loads((study / "study.json").read_text())["launches"]) == 6 > before
