# SPDX-License-Identifier: BSD-3-Clause
"""What tells a host's time and counters while a study lasts: the other side of ``observer.c``.

One process per host, started once. Between launches it is asked; while one runs it sleeps. Its pipe is also how the end
of a host is noticed.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import select
import struct
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from volley.data.states import MachineState, worst_of
from volley.errors import VolleyError
from volley.machine import processes
from volley.machine.cache import cache_folder
from volley.machine.processes import Command

SOURCE = Path(__file__).parent / "observer.c"
HEADER = Path(__file__).parent / "probe.h"
ANSWER_SECONDS = 10.0
"""A host that takes longer counts as lost."""
QUESTIONS = 40
"""For one reading of a clock; the quickest answer counts. 40 take some 2 ms through a pipe, 10 ms by ssh."""


MOST_PROBED = 8
"""CPUs of one launch."""


class HostLost(VolleyError):
    """A host does not answer any more."""


@dataclass(frozen=True)
class ClockReading:
    """A host's clock beside ours, at one moment."""

    at_ns: int
    """CLOCK_MONOTONIC of this machine."""
    offset_ns: float
    """The host's CLOCK_MONOTONIC is so far ahead."""
    error_ns: float
    """At most: half of the quickest round trip, since the host read its clock somewhere within it."""


@dataclass(frozen=True)
class HostClock:
    """A host's clock during a launch, from one reading before and one after it."""

    before: ClockReading
    after: ClockReading

    @property
    def drift(self) -> float:
        """How much faster than ours it runs: seconds gained per second."""
        elapsed = self.after.at_ns - self.before.at_ns
        return (self.after.offset_ns - self.before.offset_ns) / elapsed if elapsed > 0 else 0.0

    @property
    def error_ns(self) -> float:
        """Bound of what `offset_at` may be wrong by, of a clock whose rate does not change within a launch."""
        return max(self.before.error_ns, self.after.error_ns)

    @property
    def offset_ns(self) -> float:
        """In the middle of the launch."""
        return (self.before.offset_ns + self.after.offset_ns) / 2

    def ahead_ns(self, host_ns: int) -> int:
        """How far the host is ahead of us when its own clock says `host_ns`."""
        since = host_ns - self.before.at_ns - self.before.offset_ns
        return round(self.before.offset_ns + self.drift * since)


def compile_observer() -> Path:
    """The program, from the cache or compiled now; without libraries, so that any Linux of this architecture has it.

    Raises VolleyError with the compiler's words.
    """
    source = SOURCE.read_bytes() + HEADER.read_bytes()
    program = cache_folder() / "programs" / f"observer-{hashlib.sha256(source).hexdigest()[:16]}"
    if program.exists():
        return program
    program.parent.mkdir(parents=True, exist_ok=True)
    temporary = program.with_suffix(f".{os.getpid()}")
    for linked in (("-static",), ()):  # where there is no static C library, the host's own serves
        argv = ("cc", "-O2", "-Wall", "-pthread", *linked, "-o", str(temporary), str(SOURCE))
        outcome = processes.run(Command(argv), 60)
        if outcome.fine:
            temporary.chmod(0o755)
            temporary.rename(program)
            return program
    raise VolleyError(f"the observer does not compile: {outcome.last_words()}", f"try: {' '.join(argv)}")


class Observer:
    """The process on one host. Raises HostLost from every question that is not answered."""

    def __init__(self, host: str, argv: Sequence[str], environment: Mapping[str, str]) -> None:
        self.host = host
        self.process = processes.start_companion(argv, environment)

    def clock(self) -> ClockReading:
        """By ping-pong: the answer that took least says most."""
        best: ClockReading | None = None
        for _ in range(QUESTIONS):
            before = time.monotonic_ns()
            (told,) = struct.unpack("=Q", self._ask(b"t", 8))
            after = time.monotonic_ns()
            if best is None or (after - before) / 2 < best.error_ns:
                best = ClockReading((before + after) // 2, told - (before + after) / 2, (after - before) / 2)
        assert best is not None
        return best

    def ask_sign(self) -> None:
        """Asks for a sign of life; await_sign() waits for it."""
        self._write(b"t")

    def await_sign(self, until: float) -> None:
        """Raises HostLost if there is none by then (time.monotonic())."""
        self._read(8, until)

    def counters(self) -> str:
        """Text of the kernel's files."""
        (length,) = struct.unpack("=I", self._ask(b"c", 4))
        return self._read(length).decode(errors="replace")

    def state(self, cpus: Sequence[int]) -> MachineState:
        """Of these CPUs: each with the first, or the only one by itself. Takes about a millisecond each."""
        pairs = [(cpus[0], other) for other in cpus[1:MOST_PROBED]] or [(cpus[0], cpus[0])]
        return worst_of([MachineState(*self._probe(*pair)) for pair in pairs])

    def _probe(self, cpu: int, other: int) -> tuple[float, float, float]:
        line_ns, copy_ns, step_ns = struct.unpack("=ddd", self._ask(b"p" + struct.pack("=II", cpu, other), 24))
        return round(line_ns, 1), round(copy_ns, 1), round(step_ns, 4)

    def close(self) -> None:
        """Ends it, and whatever brought us there."""
        processes.end_companion(self.process)

    def _ask(self, question: bytes, answer: int) -> bytes:
        self._write(question)
        return self._read(answer)

    def _write(self, question: bytes) -> None:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(question)
            self.process.stdin.flush()
        except OSError as problem:
            raise self._lost() from problem

    def _read(self, length: int, until: float | None = None) -> bytes:
        assert self.process.stdout is not None
        descriptor, parts, until = self.process.stdout.fileno(), b"", until or time.monotonic() + ANSWER_SECONDS
        while len(parts) < length:
            left = max(until - time.monotonic(), 0.0)  # what is there counts, however late we look
            if not select.select([descriptor], [], [], left)[0]:
                raise HostLost(f"host {self.host} has not answered for {ANSWER_SECONDS:g} s")
            got = os.read(descriptor, length - len(parts))
            if not got:
                raise self._lost()
            parts += got
        return parts

    def _lost(self) -> HostLost:
        said = ""
        if self.process.poll() is not None and self.process.stderr is not None:
            os.set_blocking(self.process.stderr.fileno(), False)  # a connection that ssh shares may keep it open
            with contextlib.suppress(OSError):
                said = os.read(self.process.stderr.fileno(), 4096).decode(errors="replace").strip()[-200:]
        return HostLost(f"host {self.host} does not answer any more{f': {said}' if said else ''}")
