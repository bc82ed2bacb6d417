# SPDX-License-Identifier: BSD-3-Clause
"""Volley's own library as a system: found beside Python or in VOLLEY_PREFIX, and run for real where it is."""

from collections.abc import Callable
from pathlib import Path

import pytest
from volley.errors import SystemUnavailable
from volley.systems import System, resolve
from volley.systems.base import Placement

from .support import freeze_and_go_on, greet

BOTH = ["volley/shared", "volley/process"]
Ready = Callable[[str], System]
Compiled = Callable[[System, str], Path]


def pretend(prefix: Path, said: str) -> None:
    """A prefix with an mpiexec that says whose it is, and the other files of an MPI."""
    files = {"bin/mpiexec": f"#!/bin/sh\necho '{said}'\n", "bin/mpicc": "", "lib/libmpi_abi.so.1": ""}
    for name, text in files.items():
        path = prefix / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)


def test_the_prefix_can_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VOLLEY_PREFIX", str(tmp_path))
    pretend(tmp_path, "mpiexec (Volley) 9.8.7, MPI 5.0 standard ABI")
    shared, process, tcp, daemon, fabric = resolve("volley")
    assert len(type(shared).installed()) == 1
    for system in (shared, process, tcp, daemon, fabric):
        system.prepare(lambda line: None)
        assert system.version == "9.8.7"
        assert system.compiler() == [str(tmp_path / "bin" / "mpicc")]
    assert shared.name == "volley==9.8.7/shared"
    argv = process.launch(Path("program"), ["argument"], 4).argv
    assert argv[0] == str(tmp_path / "bin" / "mpiexec")
    assert argv[1:] == ("--ranks", "process", "--bind", "none", "-n", "4", "program", "argument")
    assert tcp.launch(Path("program"), [], 2).argv[1:3] == ("--transport", "tcp")
    for system, name in ((daemon, "daemon"), (fabric, "fabric")):
        assert system.launch(Path("program"), [], 2).argv[1:3] == ("--transport", name)
    place = Placement(hosts=("a", "b"), ranks_per_host=2, agent=Path("/agent"), interface="eth0")
    argv = tcp.launch(Path("program"), [], 4, place).argv
    assert argv[1:5] == ("--agent", "/agent", "--hosts", "a:2,b:2")
    assert "--transport" not in argv
    argv = daemon.launch(Path("program"), [], 4, place).argv
    assert argv[argv.index("--transport") + 1] == "daemon"


def test_another_mpi_in_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VOLLEY_PREFIX", str(tmp_path))
    (system,) = resolve("volley/shared")
    assert type(system).installed() == []
    with pytest.raises(SystemUnavailable, match="there is no program"):
        system.prepare(lambda line: None)
    pretend(tmp_path, "HYDRA build details: Version: 4.1.3")
    with pytest.raises(SystemUnavailable, match=r"\(mpich\)") as raised:
        system.prepare(lambda line: None)
    assert "VOLLEY_PREFIX" in raised.value.remedy


def test_a_rank_of_a_job_can_start_a_study(monkeypatch: pytest.MonkeyPatch, ready: Ready, compiled: Compiled) -> None:
    for name in ("VOLLEY_ARENA_FD", "VOLLEY_ARENA_ADDRESS", "VOLLEY_RANK", "VOLLEY_RANKS", "VOLLEY_APPLICATION"):
        monkeypatch.setenv(name, "1")
    system = ready("volley/process")
    assert not {name for name in system.launch(Path("program"), [], 1).environment if name.startswith("VOLLEY_RANK")}
    greet(system, compiled(system, "hello"), 2)


@pytest.mark.parametrize("name", BOTH)
def test_launches(name: str, ready: Ready, compiled: Compiled) -> None:
    system = ready(name)
    hello, hang = compiled(system, "hello"), compiled(system, "hang")
    greet(system, hello, 2, "16")
    greet(system, hello, 8)
    with system.session():
        freeze_and_go_on(system, hang, hello)


@pytest.mark.parametrize("name", BOTH)
def test_facts(name: str, ready: Ready) -> None:
    system = ready(name)
    facts = system.describe()
    assert facts["flavour"] == "volley"
    assert name.partition("/")[2] in facts["launcher"]
    assert system.pinned_request in {name, f"volley=={system.version}/{system.transport}"}
