# SPDX-License-Identifier: BSD-3-Clause
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from volley.errors import VolleyError
from volley.machine.processes import MARK, Command, adopt_orphans, end_all, run

DAEMON = """
import os, sys, time
if os.fork():
    sys.exit(0)          # the launcher ends; the daemon lives on in a session of its own
os.setsid()
if os.fork():
    os._exit(0)
open(sys.argv[1], "w").write(str(os.getpid()))
time.sleep(600)
"""


def python(code: str, *arguments: str) -> Command:
    return Command((sys.executable, "-c", code, *arguments))


def test_output_status_and_time_are_told() -> None:
    outcome = run(python("import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"), 30)
    assert (outcome.status, outcome.output, outcome.errors) == (3, "out\n", "err\n")
    assert not outcome.fine
    assert outcome.last_words() == "err"


def test_a_program_that_does_not_end_is_ended() -> None:
    outcome = run(python("import time; time.sleep(600)"), 0.3)
    assert outcome.timed_out
    assert outcome.seconds < 10


def _wait_for(file: Path) -> int:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        if file.exists() and file.read_text():
            return int(file.read_text())
        time.sleep(0.01)
    raise AssertionError(f"{file} never came")


def _gone(pid: int) -> bool:
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def test_a_daemon_left_by_a_launcher_is_found_and_ended(tmp_path: Path) -> None:
    adopt_orphans()
    waiter = DAEMON.replace(
        "sys.exit(0)", "\n    while not os.path.exists(sys.argv[1]): time.sleep(0.01)\n    sys.exit(0)"
    )
    run(python(waiter, str(tmp_path / "pid")), 30)
    assert _gone(_wait_for(tmp_path / "pid"))


def test_a_daemon_may_be_kept_and_ended_later(tmp_path: Path) -> None:
    run(python(DAEMON, str(tmp_path / "pid")), 30, keep_daemons=True, mark="kept-for-test")
    daemon = _wait_for(tmp_path / "pid")
    assert not _gone(daemon)
    assert end_all("kept-for-test") == 1
    assert _gone(daemon)


def test_processes_of_others_are_left_alone() -> None:
    other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], env={MARK: "another"})
    try:
        run(python("pass"), 30)
        end_all("not-this-one")
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def test_what_cannot_be_started_is_named(tmp_path: Path) -> None:
    with pytest.raises(VolleyError, match="cannot start /no/such/mpiexec: No such file"):
        run(Command(("/no/such/mpiexec",)), 5)
