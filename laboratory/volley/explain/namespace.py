# SPDX-License-Identifier: BSD-3-Clause
"""A network of its own for some launches: a namespace whose loopback is shaped as one says. Needs root, ip and tc."""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import threading
from collections.abc import Iterator, Sequence

from volley.errors import VolleyError
from volley.machine.processes import Command, run

CLONE_NEWNET = 0x40000000  # <linux/sched.h>
LIMIT_SECONDS = 10.0


def no_namespace() -> str:
    """Why this process cannot have a network of its own; '' if it can."""
    if os.geteuid() != 0:
        return "a network namespace needs root"
    missing = [tool for tool in ("ip", "tc") if shutil.which(tool) is None]
    if missing:
        return f"there is no {missing[0]} on PATH (package iproute2)"
    return ""


@contextlib.contextmanager
def own_network(*lines: Sequence[str]) -> Iterator[None]:
    """Within, this thread and all it starts have a loopback of their own, set up by `lines` (commands of ip and tc).

    The counters of /proc/net are the namespace's own as well, if this is the main thread. Raises VolleyError where
    that cannot be had; the old network is back at the end, whatever happens.
    """
    if threading.current_thread() is not threading.main_thread():
        raise VolleyError("only the main thread may have a network of its own: /proc/net shows that one's counters")
    before = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        _call("unshare", CLONE_NEWNET)
        try:
            for line in (("ip", "link", "set", "lo", "up"), *lines):
                _set_up(line)
            yield
        finally:
            _call("setns", before, CLONE_NEWNET)
    finally:
        os.close(before)


def _set_up(line: Sequence[str]) -> None:
    outcome = run(Command(tuple(line)), LIMIT_SECONDS)
    if not outcome.fine:
        raise VolleyError(f"{' '.join(line)}: {outcome.last_words()}", "the kernel may lack this queueing discipline")


def _call(name: str, *arguments: int) -> None:
    """unshare(2) or setns(2); Python has them from 3.12 on."""
    if getattr(ctypes.CDLL(None, use_errno=True), name)(*arguments) != 0:
        error = ctypes.get_errno()
        raise VolleyError(f"{name}: {os.strerror(error)}", "a network namespace needs root (CAP_SYS_ADMIN)")
