# SPDX-License-Identifier: BSD-3-Clause
"""From what a user writes to hosts: ``--hosts a,b``, ``--hosts slurm``, ``--hostfile F``, ``--cluster NAME``."""

from __future__ import annotations

import contextlib
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from volley.errors import UsageError
from volley.hosts.base import Hosts
from volley.hosts.emulated import EmulatedCluster
from volley.hosts.scratch import make_scratch
from volley.hosts.slurm import Slurm
from volley.hosts.ssh import Ssh
from volley.hosts.this_machine import ThisMachine
from volley.progress import Note

ALLOCATION = "slurm"
"""As ``--hosts``: the hosts of the allocation this runs in."""


def choose(
    hosts: str | None,
    hostfile: Path | None,
    cluster: str | None,
    ranks_per_host: int | None,
    interface: str | None,
) -> Hosts:
    """What the options name; without any, this machine. Raises UsageError for more than one of them."""
    named = [
        option for option, value in (("--hosts", hosts), ("--hostfile", hostfile), ("--cluster", cluster)) if value
    ]
    if len(named) > 1:
        raise UsageError(f"{' and '.join(named)} name hosts twice", "give one of them")
    if cluster:
        return EmulatedCluster(cluster, ranks_per_host or 1)
    if hosts == ALLOCATION:
        return Slurm((), ranks_per_host or 1, interface or "")
    if not named:
        if ranks_per_host or interface:
            raise UsageError("--ranks-per-host and --interface are for several hosts", "add --hosts, or leave them out")
        return ThisMachine()
    names, slots = read_hostfile(hostfile) if hostfile else ([one.strip() for one in str(hosts).split(",")], 1)
    return Ssh(checked(names), ranks_per_host or slots, interface or "")


def from_spec(spec: str, ranks_per_host: int, interface: str) -> Hosts:
    """The hosts of a study that was begun with them (Hosts.spec); '' is this machine."""
    kind, _, rest = spec.partition(":")
    if not spec:
        return ThisMachine()
    if kind == EmulatedCluster.kind:
        return EmulatedCluster(rest, ranks_per_host)
    if kind == Slurm.kind:
        return Slurm((), ranks_per_host, interface)
    return Ssh(rest.split(","), ranks_per_host, interface)


@contextlib.contextmanager
def opened(spec: str, ranks_per_host: int, interface: str, note: Note) -> Iterator[Hosts]:
    """The hosts of a study (from_spec), ready to be launched on. Raises VolleyError if they are not to be had."""
    hosts = from_spec(spec, ranks_per_host, interface)
    scratch = make_scratch()
    try:
        with hosts.opened(scratch, note):
            yield hosts
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def checked(names: list[str]) -> list[str]:
    """The names, if they can be names of hosts, each once. Raises UsageError."""
    for name in names:
        if not re.fullmatch(r"[A-Za-z0-9][\w.-]*", name):
            raise UsageError(f'"{name}" is no name of a host', "write for example --hosts node1,node2")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise UsageError(f"hosts are named twice: {', '.join(twice)}", "for several ranks on each: --ranks-per-host")
    return names


def read_hostfile(file: Path) -> tuple[list[str], int]:
    """Names and slots in a file with ``HOST``, ``HOST:N`` or ``HOST slots=N`` per line. Raises UsageError."""
    try:
        lines = [line.partition("#")[0].strip() for line in file.read_text().splitlines()]
    except (OSError, UnicodeDecodeError) as problem:
        raise UsageError(
            f"cannot read the hostfile {file}: {problem}", "give a file with one host per line"
        ) from problem
    names, slots = [], []
    for number, line in enumerate(lines, 1):
        match = re.fullmatch(r"(\S+?)(?::(\d+)|\s+(?:slots|cpu)=(\d+).*)?", line)
        if line and not match:
            raise UsageError(f"{file}:{number} is no host: {line[:80]}", "write HOST, HOST:2 or HOST slots=2 per line")
        if line and match:
            names.append(match[1])
            slots.append(int(match[2] or match[3] or 1))
    if not names:
        raise UsageError(f"the hostfile {file} names no host", "write one host per line")
    return names, min(slots)
