# SPDX-License-Identifier: BSD-3-Clause
"""mpitask, mpimsg, mpiexec's answer to SIGURG and volley gdb, with programs that are stuck in known ways."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ..conftest import MODES, ROOT, MpiProgram

FOLDER = Path(__file__).parent
DEADLINE_SECONDS = 30
HANG_SEEN = 3

Job = dict[str, Any]
both = pytest.mark.parametrize("mode", MODES)


class Tools:
    """The installed tools, and jobs of the program that gets stuck."""

    def __init__(self, prefix: Path, program: Path) -> None:
        self.bin = prefix / "bin"
        self.program = program

    def run(self, tool: str, *arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
        command = [str(self.bin / tool), *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, **options)

    @contextmanager
    def job(self, mode: str, way: str, ranks: int = 3) -> Iterator[subprocess.Popen[str]]:
        """A job that is killed in the end, and that must not have ended by itself."""
        command = [str(self.bin / "mpiexec"), "--ranks", mode, "-n", str(ranks), str(self.program), way]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            try:
                yield process
                assert process.poll() is None
            finally:
                process.kill()

    def json(self, tool: str, job: int, *options: str) -> Job:
        outcome = self.run(tool, "--json", *options, job)
        if outcome.returncode not in (0, HANG_SEEN):
            return {"ranks": [], "messages": []}  # it has only just been started
        (found,) = json.loads(outcome.stdout)["jobs"]
        assert isinstance(found, dict)
        assert found["pid"] == job
        return found

    def seen(self, tool: str, job: int, is_so: Callable[[Job], bool], *options: str) -> Job:
        """What the tool says once it says what is expected."""
        deadline = time.monotonic() + DEADLINE_SECONDS
        while True:
            found = self.json(tool, job, *options)
            if is_so(found):
                return found
            assert time.monotonic() < deadline, found

    def hang(self, job: int, ranks: list[int]) -> tuple[Job, str]:
        """The verdict, for programs and for people, once these ranks hang; some may get stuck before others."""
        found = self.seen("mpitask", job, lambda seen: seen.get("why", {}).get("hung") == ranks, "--why")
        outcome = self.run("mpitask", "--why", job)
        assert outcome.returncode == HANG_SEEN
        why: Job = found["why"]
        return why, outcome.stdout


@pytest.fixture
def tools(prefix: Path, mpi_program: MpiProgram) -> Tools:
    return Tools(prefix, mpi_program(FOLDER / "stuck.cpp"))


def all_wait(found: Job) -> bool:
    """All ranks are where the program gets stuck: they also wait for each other for moments before that."""
    return bool(found["ranks"]) and all(
        rank["state"] == "waiting" and not rank["function"].startswith(("MPI_Init", "MPI_Comm_"))
        for rank in found["ranks"]
    )


def states(*expected: str) -> Callable[[Job], bool]:
    """Whether these are the states of the ranks."""
    return lambda found: [rank["state"] for rank in found["ranks"]] == list(expected)


def sentence_of(why: Job, rank: int) -> str:
    (sentence,) = (reason["sentence"] for reason in why["reasons"] if rank in reason["ranks"])
    return str(sentence)


# What each rank does


@both
def test_a_rank_tells_what_it_waits_for(mode: str, tools: Tools) -> None:
    with tools.job(mode, "receives") as job:
        ranks = tools.seen("mpitask", job.pid, all_wait)["ranks"]
        for number, rank in enumerate(ranks):
            expected = {
                "rank": number,
                "program": "stuck",
                "function": "MPI_Recv",
                "peer": (number + 1) % 3,
                "world_peer": (number + 1) % 3,
                "tag": 5,
                "communicator": "MPI_COMM_WORLD",
                "count": 4,
                "datatype": "MPI_INT",
                "posted_receives": 1,
                "placement": mode,
            }
            assert {name: rank[name] for name in expected} == expected
            assert rank["seconds"] >= 0
            assert Path(f"/proc/{rank['pid']}").exists()
        table = tools.run("mpitask", ranks[2]["pid"]).stdout
        assert table.startswith(f"job {job.pid}: 3 ranks, ")
        assert re.search(
            rf"^ +1 +{ranks[1]['pid']} +stuck +waiting +MPI_Recv +2 +5 +MPI_COMM_WORLD +4 +MPI_INT +\d+\.\d s$",
            table,
            re.MULTILINE,
        ), table


@both
def test_communicators_have_names_and_ranks_of_their_own(mode: str, tools: Tools) -> None:
    with tools.job(mode, "named") as job:
        first, second, _ = tools.seen("mpitask", job.pid, all_wait)["ranks"]
        assert (first["peer"], first["world_peer"], first["communicator"]) == (0, 2, 'reversed "rows"')
        assert (second["peer"], second["tag"]) == ("any", "any")
        assert re.fullmatch(r"communicator #\d+", second["communicator"])
        assert ' 2 (0)    3  reversed "rows" ' in tools.run("mpitask", job.pid).stdout


@both
def test_collectives_tell_root_count_and_datatype(mode: str, tools: Tools) -> None:
    with tools.job(mode, "root") as job:
        for number, rank in enumerate(tools.seen("mpitask", job.pid, all_wait)["ranks"]):
            told = [rank[name] for name in ("function", "root", "communicator", "count", "datatype")]
            assert told == ["MPI_Bcast", 1 if number == 0 else 0, "MPI_COMM_WORLD", 3, "MPI_DOUBLE"]


@both
def test_computing_and_stopped_ranks(mode: str, tools: Tools) -> None:
    with tools.job(mode, "missing") as job:
        found = tools.seen("mpitask", job.pid, states("waiting", "computing", "waiting"))
        assert found["ranks"][1]["function"] is None
        process = found["ranks"][1]["pid"]
        os.kill(process, signal.SIGSTOP)
        tools.seen("mpitask", job.pid, states("waiting", "stopped", "waiting"))
        outcome = tools.run("mpitask", "--why", job.pid)
        assert outcome.returncode == 0
        assert "No hang is seen: rank 1 is stopped by a signal or a debugger.\n" in outcome.stdout
        os.kill(process, signal.SIGCONT)


# Messages


@both
def test_messages_nobody_receives(mode: str, tools: Tools) -> None:
    with tools.job(mode, "unreceived") as job:
        tools.seen("mpitask", job.pid, states("computing", "waiting", "waiting"))
        messages = tools.seen("mpimsg", job.pid, lambda seen: len(seen["messages"]) == 5)["messages"]
        told = sorted((m["source"], m["destination"], m["tag"], m["bytes"]) for m in messages)
        assert told == [(1, 0, 11, 100), (1, 0, 21, 100000), (1, 0, 30, 3), (2, 0, 12, 100), (2, 0, 22, 100000)]
        for message in messages:
            assert message["communicator"] == "MPI_COMM_WORLD"
            assert message["data_at_sender"] == (message["bytes"] == 100000)
            assert (message["seconds"] is not None) == message["arrived"]
        assert re.search(r"^ +2 +0 +22 +MPI_COMM_WORLD +100000 ", tools.run("mpimsg", job.pid).stdout, re.MULTILINE)


@both
def test_messages_the_receiver_has_not_seen(mode: str, tools: Tools) -> None:
    with tools.job(mode, "many", 2) as job:
        # The receiver has seen most of them, and computes; the last three come after that.
        found = tools.seen("mpimsg", job.pid, lambda seen: len(seen["messages"]) == 64 + 3)["messages"]
        assert [m["tag"] for m in found if not m["arrived"]] == [1, 2, 3]
        assert len([m for m in found if m["arrived"]]) == 64
        assert "rank 0 has 36 more that have arrived\n" in tools.run("mpimsg", job.pid).stdout


@both
def test_how_messages_were_matched(mode: str, tools: Tools) -> None:
    with tools.job(mode, "unordered", 2) as job:
        found = tools.seen("mpitask", job.pid, lambda seen: [rank["tag"] for rank in seen["ranks"]] == [5, 5])
        first = found["ranks"][0]
        # When 105 was asked for, some of the others may have been there. Then 100 was the first, 104 behind three
        # others, 102 behind one, and 5 was not there.
        assert first["unexpected_messages"] == 2
        assert first["unexpected_message_queue"]["high_watermark"] >= 5
        assert 3 <= first["unexpected_message_queue"]["searches"] <= 4
        assert 3 + 1 + 2 <= first["unexpected_message_queue"]["steps"] <= 3 + 1 + 2 + 5
        assert first["posted_receives"] == 1
        assert first["posted_receive_queue"]["high_watermark"] >= 1
        assert [rank["lost_wake_ups"] for rank in found["ranks"]] == [0, 0]


def test_no_messages(tools: Tools) -> None:
    with tools.job("shared", "receives") as job:
        tools.seen("mpitask", job.pid, all_wait)
        assert tools.run("mpimsg", job.pid).stdout.endswith("no message is sent and not received\n")


# Hangs


@both
def test_receives_in_a_circle(mode: str, tools: Tools) -> None:
    with tools.job(mode, "receives") as job:
        why, text = tools.hang(job.pid, [0, 1, 2])
        assert (why["whole_job"], sorted(why["cycle"])) == (True, [0, 1, 2])
        assert [reason["waits_for"] for reason in why["reasons"]] == [[1], [2], [0]]
        assert text.startswith("This job hangs: all ranks that still run wait in MPI, and nothing can move.\n")
        assert "rank 0 waits in MPI_Recv for a message with tag 5 from rank 1 on MPI_COMM_WORLD, since " in text
        assert "a cycle: rank 0 waits for rank 1, which waits for rank 2, which waits for rank 0\n" in text
        # Without being asked, too.
        plain = tools.run("mpitask", job.pid)
        assert plain.returncode == 0
        assert "This job hangs" in plain.stdout


@both
def test_a_rank_that_computes_is_no_hang(mode: str, tools: Tools) -> None:
    with tools.job(mode, "missing") as job:
        tools.seen("mpitask", job.pid, states("waiting", "computing", "waiting"))
        outcome = tools.run("mpitask", "--why", job.pid)
        assert outcome.returncode == 0
        assert re.fullmatch(
            r"No hang is seen: rank 1 does not wait\.\n"
            r"  ranks 0 and 2 wait in MPI_Barrier on MPI_COMM_WORLD for rank 1, since .* s; "
            r"rank 1 computes outside of MPI\n",
            outcome.stdout,
        ), outcome.stdout


@both
def test_a_collective_without_one_of_its_ranks(mode: str, tools: Tools) -> None:
    with tools.job(mode, "diverted") as job:
        why, _ = tools.hang(job.pid, [0, 1, 2])
        assert sentence_of(why, 0) == sentence_of(why, 2)
        assert sentence_of(why, 0).startswith("ranks 0 and 2 wait in MPI_Barrier on MPI_COMM_WORLD for rank 1, since ")
        assert "with tag 9 from rank 0" in sentence_of(why, 1)
        assert sorted(why["cycle"]) == [0, 1]


@both
def test_a_wrong_tag_names_the_nearest_message(mode: str, tools: Tools) -> None:
    with tools.job(mode, "tag") as job:
        why, _ = tools.hang(job.pid, [0, 1, 2])
        assert sentence_of(why, 0).endswith("; rank 1 has sent it tag 6 (8 bytes), which nobody has received")
        assert sentence_of(why, 1).startswith("ranks 1 and 2 wait in MPI_Barrier on MPI_COMM_WORLD for rank 0, since ")


@both
def test_ranks_that_disagree_on_the_root(mode: str, tools: Tools) -> None:
    with tools.job(mode, "root") as job:
        why, _ = tools.hang(job.pid, [0, 1, 2])
        assert "rank 0 waits in MPI_Bcast with root 1 on MPI_COMM_WORLD for rank 1" in sentence_of(why, 0)
        assert "; rank 1 has root 0 instead" in sentence_of(why, 0)


@both
def test_some_ranks_hang_while_others_compute(mode: str, tools: Tools) -> None:
    with tools.job(mode, "pair") as job:
        why, text = tools.hang(job.pid, [0, 1])
        assert not why["whole_job"]
        assert text.startswith("Ranks 0 and 1 hang: nothing the other ranks may do can free them.\n")
        assert "rank 0 waits in MPI_Ssend until rank 1 receives its message with tag 7 on MPI_COMM_WORLD" in text


@both
def test_a_wait_for_one_of_several_requests_needs_only_their_peers(mode: str, tools: Tools) -> None:
    with tools.job(mode, "one_of") as job:
        why, _ = tools.hang(job.pid, [0, 1])
        assert not why["whole_job"]
        first = tools.json("mpitask", job.pid)["ranks"][0]
        told = [(one["peer"], one["tag"], one["communicator"]) for one in first["alternatives"]]
        assert told == [(1, 60, "MPI_COMM_WORLD"), (1, 61, "MPI_COMM_WORLD")]
        assert re.search(r" MPI_Waitany +1 +60 or 61  MPI_COMM_WORLD ", tools.run("mpitask", job.pid).stdout), (
            tools.run("mpitask", job.pid).stdout
        )


@both
@pytest.mark.parametrize(
    ("way", "rank", "text"),
    [
        (
            "requests",
            0,
            "rank 0 waits in MPI_Waitany for one of 2 requests (for a message with tag 50 from rank 1 on "
            "MPI_COMM_WORLD; for a message with tag 51 from rank 2 on MPI_COMM_WORLD), since ",
        ),
        ("requests", 1, "rank 1 waits in MPI_Waitall for a message with tag 50 from rank 2"),
        ("finalize", 2, "ranks 1 and 2 wait in MPI_Finalize for rank 0"),
        ("duplicate", 2, "ranks 1 and 2 wait in MPI_Comm_dup on MPI_COMM_WORLD for rank 0"),
    ],
)
def test_other_ways_to_hang(mode: str, way: str, rank: int, text: str, tools: Tools) -> None:
    with tools.job(mode, way) as job:
        why, _ = tools.hang(job.pid, [0, 1, 2])
        assert why["whole_job"]
        assert sentence_of(why, rank).startswith(text)


@both
def test_mpiexec_says_it_when_asked(mode: str, tools: Tools) -> None:
    with tools.job(mode, "receives") as job:
        tools.seen("mpitask", job.pid, all_wait)
        job.send_signal(signal.SIGURG)
        assert job.stderr is not None
        told = ""
        while "a cycle" not in told:
            line = job.stderr.readline()
            assert line, told
            told += line
        assert told.startswith(f"mpiexec: job {job.pid}: 3 ranks, ")
        assert "This job hangs" in told
        assert "rank 2 waits in MPI_Recv for a message with tag 5 from rank 0" in told


# Finding jobs


def test_a_program_started_by_itself_is_a_job(tools: Tools) -> None:
    with subprocess.Popen([tools.program, "receives"]) as process:
        try:
            (rank,) = tools.seen("mpitask", process.pid, all_wait)["ranks"]
            assert (rank["pid"], rank["world_peer"]) == (process.pid, 0)
            _, text = tools.hang(process.pid, [0])
            assert text.startswith("This job hangs: rank 0 waits, and nobody is left to free it.\n")
        finally:
            process.kill()


def test_several_jobs_are_listed(tools: Tools) -> None:
    with tools.job("shared", "receives", 2) as first, tools.job("process", "receives", 4) as second:
        for job in (first, second):
            tools.seen("mpitask", job.pid, all_wait)
        outcome = tools.run("mpitask")
        assert outcome.returncode == 0
        assert re.match(r"\d+ jobs of Volley run here; name one: mpitask JOB\n", outcome.stdout)
        for job, ranks in ((first, 2), (second, 4)):
            assert re.search(rf"^ +{job.pid} +{ranks}  stuck$", outcome.stdout, re.MULTILINE)
        found = {job["pid"]: len(job["ranks"]) for job in json.loads(tools.run("mpitask", "--json").stdout)["jobs"]}
        assert (found[first.pid], found[second.pid]) == (2, 4)


@pytest.mark.parametrize("tool", ["mpitask", "mpimsg"])
def test_what_is_no_job(tool: str, tools: Tools) -> None:
    def told(*arguments: object) -> tuple[int, str]:
        outcome = tools.run(tool, *arguments)
        assert outcome.stdout == ""
        return outcome.returncode, outcome.stderr

    assert told(os.getpid()) == (1, f"{tool}: process {os.getpid()} belongs to no job of Volley\n")
    assert told(2**22 + 1) == (1, f"{tool}: there is no process {2**22 + 1}\n")
    assert told("nonsense") == (1, f"{tool}: no running job of Volley is called nonsense\n")
    assert told("--nonsense") == (2, f"{tool}: unknown option --nonsense (see {tool} --help)\n")
    assert told("1", "2") == (2, f"{tool}: more than one job is named: 1 and 2 (see {tool} --help)\n")
    assert tools.run(tool, "--help").stdout.startswith(f"{tool} shows ")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_jobs_of_others_may_not_be_looked_into(tools: Tools) -> None:
    nobody = 65534
    with tools.job("shared", "receives") as job, tempfile.TemporaryDirectory() as folder:
        tools.seen("mpitask", job.pid, all_wait)
        Path(folder).chmod(0o755)  # pytest's own are root's alone
        copy = shutil.copy(tools.bin / "mpitask", folder)
        named = subprocess.run([copy, str(job.pid)], user=nobody, capture_output=True, text=True, check=False)
        assert named.returncode == 1
        assert named.stderr == (
            f"mpitask: process {job.pid} may not be looked into: it is another user's (try as root)\n"
        )
        plain = subprocess.run([copy], user=nobody, capture_output=True, text=True, check=False)
        assert re.fullmatch(
            r"mpitask: no running job of Volley found; \d+ processes of other users could not be looked into "
            r"\(root sees all\)\n",
            plain.stderr,
        )


@both
def test_a_job_may_begin_and_end_while_it_is_looked_at(mode: str, tools: Tools, mpi_program: MpiProgram) -> None:
    """Jobs that last some milliseconds, and tools that look at whatever there is meanwhile."""
    command = [str(tools.bin / "mpiexec"), "--ranks", mode, "-n", "4", str(tools.program), "nothing"]
    looks = 0
    for _ in range(25):
        with subprocess.Popen(command) as job:
            while job.poll() is None:
                for tool in ("mpitask", "mpimsg"):
                    outcome = tools.run(tool, "--json", job.pid)
                    assert outcome.returncode in (0, 1), outcome.stderr
                    looks += 1
            assert job.returncode == 0
    assert looks > 25


def test_damaged_memory_is_no_crash(tools: Tools) -> None:
    """A job's memory could hold anything: a wild rank may write there."""
    rng = random.Random(1)
    with tools.job("shared", "unreceived") as job:
        tools.seen("mpitask", job.pid, states("computing", "waiting", "waiting"))
        descriptor = next(
            entry for entry in Path(f"/proc/{job.pid}/fd").iterdir() if "memfd:volley-" in str(entry.readlink())
        )
        with descriptor.open("rb") as file:
            good = file.read(1 << 20)
    for _ in range(40):
        damaged = bytearray(good)
        for _ in range(rng.choice([0, 10, 1000, 100_000])):
            damaged[rng.randrange(8, len(damaged))] = rng.randrange(256)
        copy = os.memfd_create(f"volley-{os.getpid()}-damaged")
        try:
            os.write(copy, damaged[: rng.randrange(len(damaged))])
            for tool in ("mpitask", "mpimsg"):
                outcome = tools.run(tool, os.getpid())
                assert outcome.returncode in (0, 1), outcome
        finally:
            os.close(copy)


# The debugger


@both
@pytest.mark.skipif(shutil.which("gdb") is None, reason="gdb is not installed")
def test_gdb_shows_the_ranks_own_program(mode: str, tools: Tools) -> None:
    def gdb(*arguments: object) -> str:
        command = [sys.executable, "-c", "from volley.cli import main; main()", "gdb", *map(str, arguments)]
        path = f"{tools.bin}:{os.environ['PATH']}"
        environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT / "laboratory"), "DEBUGINFOD_URLS": ""}
        outcome = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=environment)
        assert outcome.returncode == 0, outcome.stderr
        return outcome.stdout

    def line_of(text: str) -> int:
        lines = (FOLDER / "stuck.cpp").read_text().splitlines()
        return next(number for number, line in enumerate(lines, 1) if text in line)

    with tools.job(mode, "missing") as job:
        tools.seen("mpitask", job.pid, states("waiting", "computing", "waiting"))
        loop = gdb(1, "--job", job.pid, "--batch", "bt")
        assert re.search(rf"compute_for_ever.* at .*stuck\.cpp:{line_of('while (ever)')}\b", loop), loop
        barrier = gdb(2, "--job", job.pid, "--batch", "bt")
        assert re.search(r"MPI_Barrier \(", barrier), barrier
        assert re.search(rf"missing \(\) at .*stuck\.cpp:{line_of('MPI_Barrier(MPI_COMM_WORLD);')}\b", barrier), barrier
        # The others have gone on: gdb has not stopped them for good.
        tools.seen("mpitask", job.pid, states("waiting", "computing", "waiting"))
        assert gdb(0, "--job", job.pid, "--print").startswith("gdb ")
