# SPDX-License-Identifier: BSD-3-Clause
"""`--preload`: programs and files that only mpiexec's host has."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from ..conftest import MpiProgram
from .conftest import Cluster
from .test_hosts import hosts_of, node_daemon

FOLDER = Path(__file__).parent
SCRIPT = """#!/bin/sh
cat data inner/more
pwd >&2
"""


@dataclass(frozen=True)
class Hidden:
    """A folder that n1 and n2 do not see; `state` is where daemons have their files."""

    cluster: Cluster
    prefix: Path
    folder: Path
    state: Path

    def begin(self, *words: object) -> subprocess.Popen[str]:
        command = [self.prefix / "bin/mpiexec", "--agent", self.cluster.agent, "--hosts", "n1:2,n2:2", *words]
        pipe = subprocess.PIPE
        environment = os.environ | {"VOLLEY_STATE_DIRECTORY": str(self.state)}
        return subprocess.Popen(
            [str(word) for word in command], stdout=pipe, stderr=pipe, text=True, cwd=self.folder, env=environment
        )

    def run(self, *words: object) -> tuple[int, str, str]:
        job = self.begin(*words)
        output, text = job.communicate(timeout=60)
        return job.returncode, output, text

    def wait_until_nothing_is_left(self) -> None:
        limit = time.monotonic() + 10
        while self.state.exists():
            assert time.monotonic() < limit, list(self.state.rglob("*"))
            os.sched_yield()


@pytest.fixture
def hidden(prefix: Path, cluster: Cluster, mpi_program: MpiProgram, tmp_path: Path) -> Iterator[Hidden]:
    folder = tmp_path / "here"
    (folder / "inner").mkdir(parents=True)
    shutil.copy(mpi_program(FOLDER / "hello.cpp"), folder / "hello")
    (folder / "script").write_text(SCRIPT)
    (folder / "script").chmod(0o755)
    (folder / "data").write_text(f"{'x' * 99}\n" * 30_000)
    (folder / "inner/more").write_text("more\n")
    for host in ("n1", "n2"):
        line = f"mount -t tmpfs none {shlex.quote(str(folder))}"
        subprocess.run([cluster.agent, host, line], check=True, cwd="/")
    yield Hidden(cluster, prefix, folder, tmp_path / "state")
    for host in ("n1", "n2"):
        subprocess.run([cluster.agent, host, f"umount {shlex.quote(str(folder))}"], check=True, cwd="/")


def test_program_and_files_are_brought_and_removed(hidden: Hidden) -> None:
    status, _, text = hidden.run("-n", 4, "./hello")
    assert status == 127, text
    assert "there is no program ./hello" in text
    status, output, text = hidden.run("--preload", "-n", 4, "./hello")
    assert (status, text) == (0, "")
    assert hosts_of(output) == {0: "n1", 1: "n1", 2: "n2", 3: "n2"}
    status, output, text = hidden.run("--preload-files", "data,inner/more", "-n", 4, "./script")
    assert status == 0, text
    assert (output.count("x" * 99 + "\n"), output.count("more\n")) == (4 * 30_000, 4)
    folders = set(text.split())
    assert len(folders) == 2
    assert all(Path(folder).parent == hidden.state for folder in folders)
    hidden.wait_until_nothing_is_left()


@pytest.mark.parametrize("victim", ["mpiexec", "node daemon"])
def test_nothing_is_left_when_a_part_of_the_job_is_killed(victim: str, hidden: Hidden) -> None:
    """What a node daemon leaves goes with the next job."""
    job = hidden.begin("--preload-files", "data", "-n", 4, "./hello", "wait")
    assert job.stdout is not None
    for _ in range(4):
        assert job.stdout.readline().startswith("rank ")
    assert len(list(hidden.state.glob("*.preload/data"))) == 2
    os.kill(job.pid if victim == "mpiexec" else node_daemon(hidden.cluster, "n2"), signal.SIGKILL)
    job.communicate(timeout=30)
    if victim == "node daemon":
        assert hidden.run("--preload", "-n", 4, "./hello")[0] == 0
    hidden.wait_until_nothing_is_left()


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ("nothing", "cannot preload nothing: No such file or directory"),
        ("inner", "cannot preload inner: it is no ordinary file"),
        ("../data", "'../data' leads out of the directory"),
    ],
)
def test_what_cannot_be_brought_is_named(files: str, words: str, hidden: Hidden) -> None:
    status, _, text = hidden.run("--preload-files", files, "-n", 4, "./hello")
    assert status != 0
    assert words in text
    assert text.count("mpiexec:") == 1, text
