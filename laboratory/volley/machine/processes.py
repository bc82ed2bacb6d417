# SPDX-License-Identifier: BSD-3-Clause
"""Running other people's programs: with a time limit, and so that nothing of them stays behind."""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import psutil

from volley.errors import VolleyError

MARK = "VOLLEY_LAUNCH"
"""Environment variable by which every process of a launch is recognised, daemonised or not."""

COURTESY_SECONDS = 3.0
"""Time between SIGTERM to the command and SIGKILL to all of it. Open MPI 4 waits one second for its ranks."""

WATCH_SECONDS = 5.0
"""Between two looks whether it is worth to wait on for a command. Most launches end before the first."""

OWNER = uuid.uuid4().hex[:12]
"""This process's own part of every mark, and of the names of its temporary folders."""

COMPANION = "companion"
"""The mark of processes that answer us while a study lasts."""

PR_SET_CHILD_SUBREAPER = 36  # <linux/prctl.h>


@dataclass(frozen=True)
class User:
    """The account a system's processes run as, where it is not the caller's own."""

    name: str
    uid: int
    gid: int
    home: Path


@dataclass(frozen=True)
class Command:
    """A process to start: its arguments, its whole environment, and whose it is (None: the caller's)."""

    argv: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    user: User | None = None
    folder: Path | None = None


@dataclass(frozen=True)
class Outcome:
    """How a process ended: its status (negative: a signal), what it printed, and whether time ran out."""

    status: int
    output: str
    errors: str
    seconds: float
    timed_out: bool

    @property
    def fine(self) -> bool:
        """Ended by itself with status 0."""
        return self.status == 0 and not self.timed_out

    def last_words(self, limit: int = 400) -> str:
        """The end of what it printed, errors first: for a message to a person."""
        for text in (self.errors, self.output):
            lines = [line.strip() for line in text.splitlines() if line.strip(" -=*\t")]
            if lines:
                return " ".join(lines)[-limit:]
        return "it printed nothing"


def adopt_orphans() -> None:
    """Makes this process the parent of descendants whose own parent ends, so that they can be found."""
    with contextlib.suppress(OSError):
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _marked(mark: str, owner: str = OWNER) -> Iterator[psutil.Process]:
    """Every process on this machine that carries `mark` of `owner` in its environment; "" is any mark."""
    wanted = f"\0{MARK}={owner}.{mark}".encode() + (b"\0" if mark else b"")
    for process in psutil.process_iter():
        try:
            if wanted in b"\0" + Path(f"/proc/{process.pid}/environ").read_bytes():
                yield process
        except OSError:
            continue


def _alive(process: psutil.Process) -> bool:
    """Whether it still runs. A killed process first loses its environment, and only later is gone."""
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False


def end_all(mark: str, patience_seconds: float = 2.0, owner: str = OWNER) -> int:
    """Kills every process that carries `mark` and waits until they are gone; returns how many there were.

    With mark "": all that `owner` ever started.

    Repeats until none is left, since a process may fork while others are being killed.
    """
    killed: dict[int, psutil.Process] = {}
    deadline = time.monotonic() + patience_seconds
    while True:
        alive = [process for process in _marked(mark, owner) if _alive(process)]
        for process in alive:
            killed[process.pid] = process
            with contextlib.suppress(psutil.Error):
                process.kill()
        reap()
        if time.monotonic() > deadline or not (alive or any(_alive(process) for process in killed.values())):
            return len(killed)
        time.sleep(0.005)


def reap() -> None:
    """Collects adopted orphans that have ended. Children of subprocess objects are left to them."""
    for child in psutil.Process().children():
        if child.pid in _own_children:
            continue
        with contextlib.suppress(psutil.Error, OSError):
            if child.status() == psutil.STATUS_ZOMBIE:
                os.waitpid(child.pid, os.WNOHANG)


_own_children: set[int] = set()


def _wait(process: subprocess.Popen[bytes], limit_seconds: float) -> bool:
    """Waits until the process has ended; False if time ran out before.

    By pidfd where there is one: Popen.wait() with a limit looks only every 50 ms, so launches would seem
    to take multiples of that.
    """
    with contextlib.suppress(OSError, AttributeError):
        descriptor = os.pidfd_open(process.pid)
        try:
            poll = select.poll()
            poll.register(descriptor, select.POLLIN)
            poll.poll(limit_seconds * 1000)
        finally:
            os.close(descriptor)
        limit_seconds = 0.0
    try:
        process.wait(timeout=limit_seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def _wait_watched(process: subprocess.Popen[bytes], limit_seconds: float, worth: Callable[[], bool]) -> bool:
    """As _wait(), as long as it is worth it, which is asked every WATCH_SECONDS; False only if time ran out."""
    deadline = time.monotonic() + limit_seconds
    while not _wait(process, min(WATCH_SECONDS, max(deadline - time.monotonic(), 0.0))):
        if time.monotonic() >= deadline:
            return False
        if not worth():
            return True
    return True


def run(
    command: Command,
    limit_seconds: float,
    keep_daemons: bool = False,
    mark: str = "",
    worth: Callable[[], bool] | None = None,
) -> Outcome:
    """Runs `command` to its end, at most `limit_seconds`; then kills whatever of it is still there.

    Output goes through files, not pipes: a daemon that inherits a pipe would keep it open for ever.
    keep_daemons: leave processes that outlive the command (lamboot's daemon, ended by lamhalt).
    worth: asked every WATCH_SECONDS whether to wait on; if not, the command is ended then.
    An exception, Ctrl-C included, leaves nothing running either.
    """
    mark = mark or uuid.uuid4().hex
    command = replace(command, environment={**command.environment, MARK: f"{OWNER}.{mark}"})
    started = time.monotonic()
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        user = command.user
        try:
            process = subprocess.Popen(
                command.argv,
                env=dict(command.environment),
                cwd=command.folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
                start_new_session=True,
                user=user.uid if user else None,
                group=user.gid if user else None,
                extra_groups=[] if user else None,
            )
        except OSError as problem:
            raise VolleyError(
                f"cannot start {command.argv[0]}: {problem.strerror}",
                "check that the file exists and may be executed",
            ) from problem
        _own_children.add(process.pid)
        timed_out = False
        try:
            if worth is None:
                timed_out = not _wait(process, limit_seconds)
            else:
                timed_out = not _wait_watched(process, limit_seconds, worth)
        finally:
            with _undisturbed():
                if process.returncode is None:  # a launcher that is asked to end removes its ranks' files
                    process.terminate()
                    _wait(process, COURTESY_SECONDS)
                if timed_out or process.returncode is None or not keep_daemons:
                    end_all(mark)
                if process.poll() is None:
                    process.kill()
                    process.wait()
                _own_children.discard(process.pid)
        texts = []
        for file in (output, errors):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
    return Outcome(process.returncode, texts[0], texts[1], time.monotonic() - started, timed_out)


def start_companion(argv: Sequence[str], environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """A process that answers us by its pipes until end_companion(). If we are killed, the guardian ends it."""
    process = subprocess.Popen(
        argv,
        env={**environment, MARK: f"{OWNER}.{COMPANION}"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        start_new_session=True,
    )
    _own_children.add(process.pid)
    return process


def end_companion(process: subprocess.Popen[bytes]) -> None:
    """Closes its input, which ends it; if it does not, it is killed."""
    try:
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        if not _wait(process, COURTESY_SECONDS):
            process.kill()
            process.wait()
    finally:
        _own_children.discard(process.pid)


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Within, Ctrl-C and requests to end wait: an impatient second one must not stop the cleaning up."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def guarded() -> Iterator[None]:
    """Within, a second process watches over this one: if it is killed, the guardian ends all it has started.

    The guardian reads from a pipe that only this process holds open; its end without a word is our death.
    """
    argv = (sys.executable, "-m", "volley.machine.guardian", OWNER)
    guardian = subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    _own_children.add(guardian.pid)
    try:
        yield
    finally:
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            guardian.communicate(b"all is well\n", timeout=10)
        _own_children.discard(guardian.pid)


@contextlib.contextmanager
def ending_on_signals() -> Iterator[None]:
    """Within, SIGTERM and SIGHUP end the program as Ctrl-C does, so that cleaning up happens."""

    def interrupt(number: int, _frame: object) -> None:
        raise KeyboardInterrupt(signal.Signals(number).name)

    previous = {number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
