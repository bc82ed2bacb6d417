# SPDX-License-Identifier: BSD-3-Clause
"""Hosts with several addresses, not all of which lead to the others: ranks find those that do."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..conftest import MODES, MpiProgram
from .conftest import Cluster, HostsRun, emulated
from .test_other_launchers import ForeignRun
from .test_other_launchers import foreign_run as foreign_run

FOLDER = Path(__file__).parent
CARRIERS = ["tcp", "daemon"]
SOON = 5.0
"""Seconds. A job in which a rank waits for the kernel to give up an address takes 31."""


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """One that the test may change."""
    with emulated("interfaces") as made:
        yield made


def change(cluster: Cluster, **commands: str) -> None:
    """Host → arguments of `ip`, one call a line."""
    for host, lines in commands.items():
        for line in lines.strip().splitlines():
            subprocess.run([cluster.agent, host, f"ip {line.strip()}"], check=True)


def route_by_host(cluster: Cluster) -> None:
    """As in some clouds: each host's address is a network of its own, and reaches the others by a route."""
    for number, host in enumerate(cluster.hosts, 1):
        others = [f"route add 10.1.0.{other} dev eth0" for other in range(1, len(cluster.hosts) + 1) if other != number]
        own = [f"address del 10.1.0.{number}/24 dev eth0", f"address add 10.1.0.{number}/32 dev eth0"]
        change(cluster, **{host: "\n".join(own + others)})


def add_network(cluster: Cluster, network: str) -> None:
    """Another one by the same cable, which comes first."""
    for number, host in enumerate(cluster.hosts, 1):
        before = f"10.1.0.{number}/24 dev eth0"
        add = f"address del {before}\naddress add {network}.{number}/24 dev eth0\naddress add {before}"
        change(cluster, **{host: add})


def swallow(cluster: Cluster, network: str) -> None:
    """As a firewall does: packets to other hosts go to a station that there is not."""
    for number, host in enumerate(cluster.hosts, 1):
        for other in range(1, len(cluster.hosts) + 1):
            nowhere = f"neigh replace {network}.{other} lladdr 02:00:00:00:00:99 nud permanent dev eth0"
            if other != number:
                change(cluster, **{host: nowhere})


def quick(hosts_run: HostsRun, *arguments: object, hosts: str) -> None:
    """Runs a job that succeeds soon, without a word on standard error."""
    begin = time.monotonic()
    outcome = hosts_run(*arguments, hosts=hosts, check=False, seconds=60)
    took = time.monotonic() - begin
    assert (outcome.returncode, outcome.stderr) == (0, ""), outcome
    assert took < SOON


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("second", ["172.17.0.1", "172.17.0.2"])
def test_a_bridge_of_containers_is_not_the_network_between_hosts(
    second: str, carrier: str, cluster: Cluster, mpi_program: MpiProgram, hosts_run: HostsRun
) -> None:
    """It comes first among the interfaces, and the hosts' addresses have no other network in common."""
    program = mpi_program(FOLDER / "hello.cpp")
    route_by_host(cluster)
    for host, address in (("n1", "172.17.0.1"), ("n2", second)):
        change(cluster, **{host: f"address add {address}/16 dev lo"})
    quick(hosts_run, "--transport", carrier, "-n", 4, program, hosts="n1:2,n2:2")


@pytest.mark.parametrize("carrier", CARRIERS)
def test_a_bridge_by_its_name_comes_last(
    carrier: str, cluster: Cluster, mpi_program: MpiProgram, hosts_run: HostsRun
) -> None:
    program = mpi_program(FOLDER / "hello.cpp")
    route_by_host(cluster)
    for number, host in enumerate(("n1", "n2"), 1):
        add = f"link add docker0 type bridge\naddress add 172.17.0.{number}/16 dev docker0\nlink set docker0 up"
        change(cluster, **{host: add})
    quick(hosts_run, "--transport", carrier, "-n", 4, program, hosts="n1:2,n2:2")


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("mode", MODES)
def test_a_network_that_swallows_packets_is_passed_over(
    mode: str, carrier: str, cluster: Cluster, mpi_program: MpiProgram, hosts_run: HostsRun
) -> None:
    program = mpi_program(FOLDER / "hello.cpp")
    add_network(cluster, "10.2.0")
    swallow(cluster, "10.2.0")
    quick(hosts_run, "--transport", carrier, "--ranks", mode, "-n", 5, program, hosts="n1:2,n2:2,n3:2")


def test_a_network_that_swallows_packets_is_passed_over_under_other_launchers(
    cluster: Cluster, mpi_program: MpiProgram, foreign_run: ForeignRun
) -> None:
    program = mpi_program(FOLDER / "hello.cpp")
    add_network(cluster, "10.2.0")
    swallow(cluster, "10.2.0")
    begin = time.monotonic()
    outcome = foreign_run("mpich", "n1:2,n2:2", 4, program)
    assert outcome.returncode == 0, outcome
    assert time.monotonic() - begin < SOON


def test_an_address_that_leads_to_another_rank_is_passed_over(
    cluster: Cluster, mpi_program: MpiProgram, hosts_run: HostsRun
) -> None:
    """Where rank 0 looks for rank 1 first, at the same port, rank 2 answers."""
    program = mpi_program(FOLDER / "hello.cpp")
    route_by_host(cluster)
    change(
        cluster,
        n1="address add 10.3.0.1/24 dev eth0",
        n2="address add 10.3.0.2/24 dev lo",
        n3="address add 10.3.0.2/24 dev eth0",
    )
    quick(hosts_run, "--port-range", "41900-41900", "-n", 3, program, hosts="n1,n2,n3")


@pytest.mark.parametrize("carrier", CARRIERS)
def test_if_no_address_leads_there_all_are_named(
    carrier: str, cluster: Cluster, mpi_program: MpiProgram, hosts_run: HostsRun
) -> None:
    """No station says that an address is its own: the kernel gives up after three seconds."""
    program = mpi_program(FOLDER / "hello.cpp")
    add_network(cluster, "10.2.0")
    for host in cluster.hosts:
        forget = "sysctl -qw net.ipv4.conf.eth0.arp_ignore=8 && ip neigh flush all nud permanent"
        subprocess.run([cluster.agent, host, forget], check=True)
    outcome = hosts_run("--transport", carrier, "-n", 2, program, hosts="n1,n2", check=False, seconds=60)
    assert outcome.returncode != 0
    tried = [
        rf"10\.{network}\.0\.{there} port \d+ from 10\.{network}\.0\.{here}: No route to host"
        for here, there in ((1, 2), (2, 1))
        for network in (2, 1)
    ]
    ways = [
        f"cannot connect to {tried[at]}, nor to {tried[at + 1]} \\(a firewall, or a network that leads" for at in (0, 2)
    ]
    assert re.search("|".join(ways), outcome.stderr), outcome.stderr
    assert outcome.stderr.count("mpiexec:") == 1, outcome.stderr
