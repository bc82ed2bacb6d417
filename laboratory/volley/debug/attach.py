# SPDX-License-Identifier: BSD-3-Clause
"""Attaching gdb to one rank of a running job of our library, with the symbols of that rank's own images.

Ranks that share an address space were not started by the system: /proc shows mpiexec as their program, so gdb
finds neither their program nor their libraries. But each has a dynamic linker of its own, which keeps the list
of what it has loaded, and where, for debuggers: it is read here as gdb would read it.
"""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from volley.errors import UsageError, VolleyError

MOST_IMAGES = 10_000
"""More than a program loads: a list that does not end is damaged, or was read while it changed."""

PT_DYNAMIC, DT_NULL, DT_DEBUG = 2, 0, 21


@dataclass(frozen=True)
class Rank:
    """Where one rank runs, as mpitask tells it."""

    number: int
    process: int
    shared: bool
    program_base: int
    interpreter_base: int


@dataclass(frozen=True)
class Image:
    """One file in a rank's memory; `base` is what is added to the addresses in the file."""

    path: str
    base: int


def find_rank(number: int, job: int | None) -> Rank:
    """The rank of that number in the only running job, or the one named. Raises VolleyError."""
    jobs = _ask_mpitask(job)
    if len(jobs) > 1:
        known = ", ".join(f"{found['pid']} ({len(found['ranks'])} ranks)" for found in jobs)
        raise UsageError(f"{len(jobs)} jobs run here: {known}", "name one with --job PID")
    ranks = jobs[0]["ranks"]
    if not 0 <= number < len(ranks):
        raise UsageError(f"the job {jobs[0]['pid']} has no rank {number}", f"its ranks are 0 to {len(ranks) - 1}")
    found = ranks[number]
    here = [host["name"] for host in jobs[0]["hosts"] if host["here"]]
    if found["host"] is not None and found["host"] not in here:
        raise VolleyError(
            f"rank {number} runs on host {found['host']}", f"there: volley gdb {number} --job {jobs[0]['pid']}"
        )
    if found["state"] in ("ended", "not started"):
        raise VolleyError(f"rank {number} has {found['state']}" if found["state"] == "ended" else "it has not started")
    return Rank(number, found["pid"], found["placement"] == "shared", found["program_base"], found["interpreter_base"])


def _ask_mpitask(job: int | None) -> list[dict[str, Any]]:
    beside = Path(sys.executable).parent / "mpitask"
    tool = shutil.which("mpitask") or (str(beside) if beside.exists() else None)
    if tool is None:
        raise VolleyError("mpitask is not on the PATH", "it lies beside the library's mpiexec: add that folder")
    command = [tool, "--json", *([str(job)] if job is not None else [])]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        raise VolleyError(answer.stderr.strip().removeprefix("mpitask: "))
    jobs: list[dict[str, Any]] = json.loads(answer.stdout)["jobs"]
    if not jobs:
        raise VolleyError("no running job of Volley found")
    return jobs


class Memory:
    """The memory of a process. Raises VolleyError where it may not be read, or ends."""

    def __init__(self, process: int) -> None:
        self.process = process
        try:
            self._file = Path(f"/proc/{process}/mem").open("rb", buffering=0)  # noqa: SIM115
            self._maps = Path(f"/proc/{process}/maps").read_text().splitlines()
        except OSError as problem:
            raise VolleyError(
                f"process {process} may not be looked into: {problem.strerror}", "try as its user, or as root"
            ) from problem

    def read(self, address: int, count: int) -> bytes:
        """That many bytes."""
        try:
            self._file.seek(address)
            data = self._file.read(count)
        except (OSError, ValueError, OverflowError) as problem:
            raise VolleyError(f"process {self.process} has no memory at {address:#x}: it is starting or ending") from (
                problem
            )
        if len(data) != count:
            raise VolleyError(f"process {self.process} has ended")
        return data

    def words(self, address: int, count: int) -> tuple[int, ...]:
        """That many numbers of 64 bits."""
        return struct.unpack(f"<{count}Q", self.read(address, 8 * count))

    def file_at(self, address: int) -> str | None:
        """The file that is mapped there."""
        for line in self._maps:
            fields = line.split(maxsplit=5)
            begin, end = (int(part, 16) for part in fields[0].split("-"))
            if begin <= address < end and len(fields) == 6 and fields[5].startswith("/"):
                return fields[5].removesuffix(" (deleted)")
        return None


def images(rank: Rank, memory: Memory) -> list[Image]:
    """What a rank of a shared address space has loaded: its program first."""
    found = [_image(memory, rank.program_base, rank.program_base)]
    loaded = [_image(memory, base, dynamic) for base, dynamic in _link_map(memory, rank.program_base)]
    # Before the linker has made its list, it is itself all there is.
    loaded.append(_image(memory, rank.interpreter_base, rank.interpreter_base))
    for image in loaded:
        if image is not None and image not in found:
            found.append(image)
    return [image for image in found if image is not None]


def _image(memory: Memory, base: int, inside: int) -> Image | None:
    path = memory.file_at(inside)
    return Image(path, base) if path is not None else None


def _link_map(memory: Memory, program_base: int) -> Iterator[tuple[int, int]]:
    """Base and address of the dynamic section of each image in the dynamic linker's list (<link.h>)."""
    dynamic = _dynamic_section(memory, program_base)
    debug = 0
    while dynamic is not None:
        tag, value = memory.words(dynamic, 2)
        if tag == DT_DEBUG:
            debug = value
        if tag in (DT_NULL, DT_DEBUG):
            break
        dynamic += 16
    if debug == 0:
        return
    (entry,) = memory.words(debug + 8, 1)
    for _ in range(MOST_IMAGES):
        if entry == 0:
            return
        base, _, section, entry = memory.words(entry, 4)
        yield base, section


def _dynamic_section(memory: Memory, base: int) -> int | None:
    """From the program headers, which begin the image."""
    header = memory.read(base, 64)
    (table,) = struct.unpack_from("<Q", header, 32)
    size, count = struct.unpack_from("<HH", header, 54)
    for number in range(count):
        kind, _, _, address = struct.unpack_from("<IIQQ", memory.read(base + table + number * size, 24))
        if kind == PT_DYNAMIC:
            return base + int(address)
    return None


def gdb_command(rank: Rank, batch: Sequence[str]) -> list[str]:
    """gdb, attached to the rank, with the right symbols; `batch` are commands after which it ends."""
    if shutil.which("gdb") is None:
        raise VolleyError("gdb is not installed", "apt-get install gdb, or your system's equivalent")
    command = ["gdb", "-q", "-iex", "set confirm off"]
    if batch:
        command += ["-batch"]
    if rank.shared and rank.program_base:
        # What gdb would find by itself belongs to mpiexec, which made the address space.
        command += ["-iex", "set auto-solib-add off", "-p", str(rank.process), "-ex", "symbol-file"]
        for image in images(rank, Memory(rank.process)):
            command += ["-ex", f'add-symbol-file "{image.path}" -o {image.base:#x}']
        command += ["-ex", "frame"]  # it was found without symbols
    else:
        command += ["-p", str(rank.process)]
    for one in batch:
        command += ["-ex", one]
    return command
