# SPDX-License-Identifier: BSD-3-Clause
"""Jobs on several hosts: an emulated cluster of three, with network namespaces and names of their own."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

VOLLEY = (sys.executable, "-c", "from volley.cli import main; main()", "cluster")


@dataclass(frozen=True)
class Cluster:
    name: str
    agent: str
    hosts: tuple[str, ...]

    def alive(self, text: str) -> int:
        """How many processes with this text in their command line run on the cluster's hosts (or anywhere here)."""
        found = 0
        for process in Path("/proc").iterdir():
            try:
                is_dead = (process / "stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
                found += not is_dead and text in (process / "cmdline").read_text(errors="replace")
            except (OSError, IndexError):
                continue
        return found


HostsRun = Callable[..., "subprocess.CompletedProcess[str]"]


@contextlib.contextmanager
def emulated(name: str) -> Iterator[Cluster]:
    """An emulated cluster of three hosts; a test that cannot have one says why it is skipped."""
    if os.geteuid() != 0:
        pytest.skip("an emulated cluster needs root")
    name = f"{name}-{os.getpid()}"
    made = subprocess.run(
        [*VOLLEY, "up", "--hosts", "3", "--rate", "10gbit", "--name", name], capture_output=True, text=True, check=False
    )
    if made.returncode != 0:
        pytest.skip(f"no emulated cluster can be had here: {made.stderr.strip()[:300]}")
    try:
        status = subprocess.run(
            [*VOLLEY, "status", "--name", name, "--json"], capture_output=True, text=True, check=True
        )
        facts = json.loads(status.stdout)
        yield Cluster(name, facts["agent"], tuple(facts["hosts"]))
    finally:
        subprocess.run([*VOLLEY, "down", "--name", name], capture_output=True, check=False)


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """An emulated cluster that is as it should be."""
    with emulated("library") as made:
        yield made


@pytest.fixture
def hosts_run(prefix: Path, cluster: Cluster, tmp_path: Path) -> HostsRun:
    """Runs mpiexec on the cluster's hosts to its end; `check` demands success and a last line "good"."""

    def run(
        *arguments: object, hosts: str = "n1:2,n2:2,n3:2", check: bool = True, seconds: float = 120, stdin: str = ""
    ) -> subprocess.CompletedProcess[str]:
        command = [str(prefix / "bin/mpiexec"), "--agent", cluster.agent, "--hosts", hosts, *map(str, arguments)]
        outcome = subprocess.run(
            command, capture_output=True, text=True, timeout=seconds, check=False, cwd=tmp_path, input=stdin
        )
        assert "lost wake-ups" not in outcome.stderr, outcome.stderr
        if check:
            assert outcome.returncode == 0, outcome.stderr + outcome.stdout
            assert outcome.stdout.endswith("good\n"), outcome.stderr + outcome.stdout
        return outcome

    return run
