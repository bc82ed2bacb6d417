# SPDX-License-Identifier: BSD-3-Clause
"""shims/sockets.c on real sockets: it sets what it says, the program cannot undo it, all else is left alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from volley.explain.tcp import planted_sockets, reporting
from volley.machine.facts import congestion_controls
from volley.selftest.plant import planted
from volley.systems import resolve
from volley.systems.settings import shim_library

PAIR = """
import json, socket, sys
def pair(family, address):
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.bind((address, 0)); listener.listen(1)
    caller = socket.socket(family, socket.SOCK_STREAM)
    caller.connect(listener.getsockname()[:2])
    return caller, listener.accept()[0]
def number(one, level, name):
    return one.getsockopt(level, name)
NODELAY = (socket.IPPROTO_TCP, socket.TCP_NODELAY)
BUFFERS = ((socket.SOL_SOCKET, socket.SO_SNDBUF), (socket.SOL_SOCKET, socket.SO_RCVBUF))
"""


def said(program: str, words: str, planted: str = "") -> Any:
    """What a Python program prints, as JSON, with its sockets set so."""
    outcome = run(program, words, planted)
    assert outcome.returncode == 0, outcome.stderr
    assert not outcome.stderr
    return json.loads(outcome.stdout)


def run(program: str, words: str, planted: str = "") -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "LD_PRELOAD": str(shim_library("sockets")), "VOLLEY_SHIM_SOCKETS": words}
    if planted:
        environment["VOLLEY_SHIM_SOCKETS_PLANTED"] = planted
    argv = [sys.executable, "-c", PAIR + program]
    return subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize(("family", "address"), [("AF_INET", "127.0.0.1"), ("AF_INET6", "::1")])
def test_both_ends_are_set_and_the_program_cannot_undo_it(family: str, address: str) -> None:
    program = f"""
try: ends = pair(socket.{family}, "{address}")
except OSError as problem: print(json.dumps(str(problem))); sys.exit()
for one in ends:
    one.setsockopt(*NODELAY, 0); one.setsockopt(*BUFFERS[0], 100000); one.setsockopt(*BUFFERS[1], 100000)
print(json.dumps([[number(one, *NODELAY), number(one, *BUFFERS[0]), number(one, *BUFFERS[1])] for one in ends]))
"""
    ends = said(program, "nodelay+sndbuf:20000+rcvbuf:30000")
    if isinstance(ends, str):
        pytest.skip(f"no {family} here: {ends}")
    assert ends == [[1, 40000, 60000]] * 2  # the kernel doubles what is set (socket(7))


def test_nagle_takes_nodelay_from_the_program() -> None:
    program = """
ends = pair(socket.AF_INET, "127.0.0.1")
for one in ends: one.setsockopt(*NODELAY, 1)
print(json.dumps([number(one, *NODELAY) for one in ends]))
"""
    assert said(program, "nagle") == [0, 0]


def test_automatic_buffers_are_those_of_a_program_that_sets_none() -> None:
    def buffers(size: int) -> str:
        return f"""
ends = pair(socket.AF_INET, "127.0.0.1")
if {size}:
    for one in ends: one.setsockopt(*BUFFERS[0], {size}); one.setsockopt(*BUFFERS[1], {size})
print(json.dumps([number(one, *BUFFERS[0]) for one in ends]))
"""

    assert said(buffers(6000), "sndbuf:auto+rcvbuf:auto") == said(buffers(0), "nodelay")


def test_congestion_control_and_pacing_are_set() -> None:
    name = congestion_controls()[-1]
    program = """
caller, called = pair(socket.AF_INET, "127.0.0.1")
def name(one): return one.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\\0").decode()
print(json.dumps([name(caller), name(called), caller.getsockopt(socket.SOL_SOCKET, 47)]))
"""
    assert said(program, f"congestion:{name}+pacing:12345678") == [name, name, 12345678]


def test_other_sockets_are_left_alone() -> None:
    program = """
datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
datagrams.connect(("127.0.0.1", 9))
left, right = socket.socketpair()
for one in (datagrams, left): one.setsockopt(*BUFFERS[0], 50000)
print(json.dumps([number(one, *BUFFERS[0]) for one in (datagrams, left)]))
"""
    assert said(program, "sndbuf:20000+nodelay+delay:1:60000000") == [100000, 100000]


def test_errors_of_the_programs_own_calls_are_kept() -> None:
    program = """
import errno
listener = socket.socket(); listener.bind(("127.0.0.1", 0)); port = listener.getsockname()[1]; listener.close()
caller = socket.socket()
print(json.dumps(errno.errorcode[caller.connect_ex(("127.0.0.1", port))]))
"""
    assert said(program, "nodelay+quickack+rcvbuf:8192") == "ECONNREFUSED"


def test_an_experiment_overrides_what_was_planted_option_by_option() -> None:
    program = """
ends = pair(socket.AF_INET, "127.0.0.1")
print(json.dumps([[number(one, *NODELAY), number(one, *BUFFERS[1])] for one in ends]))
"""
    assert said(program, "nodelay", planted="nagle+rcvbuf:30000") == [[1, 60000]] * 2


def test_every_so_manyth_small_message_waits() -> None:
    program = """
caller, called = pair(socket.AF_INET, "127.0.0.1")
for _ in range(10): caller.send(b"x" * 100)
caller.send(b"y" * 10000)
print(json.dumps(0))
"""
    started = time.monotonic()
    said(program, "delay:5:100000")
    assert time.monotonic() - started >= 0.2
    said(program, "delay:12:60000000")  # ten small sends and one large: the minute never comes


def test_unknown_words_end_the_program() -> None:
    for words in ("nodleay", "sndbuf:much", "delay:0:5", "congestion:nosuch"):
        outcome = run("print(1)", words)
        assert outcome.returncode == 2
        assert words in outcome.stderr
        assert not outcome.stdout


def test_connections_are_reported_when_they_end() -> None:
    program = """
ends = pair(socket.AF_INET, "127.0.0.1")
for _ in range(50): ends[0].sendall(bytes(10000)); ends[1].recv(10000, socket.MSG_WAITALL)
ends[0].close()
print(json.dumps(0))
"""
    with reporting() as reports:
        said(program, f"sndbuf:20000+{reports.words}")
        files = list(reports.folder.iterdir())
        assert [len(file.read_text().splitlines()) for file in files] == [2]
        assert reports.read().send_buffer == 40000
        folder = reports.folder
    assert not folder.exists()


def test_planted_sockets_reach_launches_and_go_away() -> None:
    (machine,) = resolve("machine")
    with planted(planted_sockets("nagle")):
        environment = machine.adjusted({"sockets": "nodelay"}).launch(Path("program"), [], 2).environment
    assert environment["VOLLEY_SHIM_SOCKETS_PLANTED"] == "nagle"
    assert environment["VOLLEY_SHIM_SOCKETS"] == "nodelay"
    assert str(shim_library("sockets")) in environment["LD_PRELOAD"].split(":")
    assert "VOLLEY_SHIM_SOCKETS_PLANTED" not in machine.launch(Path("program"), [], 2).environment
