# SPDX-License-Identifier: BSD-3-Clause
"""The program as a user meets it: real processes, real MPIs, real signals."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import polars as pl
import psutil
import pytest
from rich.console import Console
from volley.cli import limits
from volley.data.store import StudyFolder

VOLLEY = (sys.executable, "-c", "from volley.cli import main; main()")
SMALL = ("--systems", "mpich/shm", "--tests", "pingpong,barrier", "--sizes", "8,4Ki", "--quick")


def volley(*arguments: str | Path, limit: float = 120) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*VOLLEY, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=limit,
        check=False,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "NO_COLOR": "1", "COLUMNS": "160"},
    )


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small study of a real MPI, made once."""
    folder = tmp_path_factory.mktemp("studies") / "small"
    ended = volley("study", *SMALL, "--launches", "3", "--budget", "60s", "--out", folder)
    assert ended.returncode == 0, ended.stderr
    return folder


def test_a_study_leaves_samples_facts_page_plots_and_scripts(study: Path) -> None:
    facts = json.loads((study / "study.json").read_text())
    assert facts["finished"]
    assert {(launch["test"], launch["status"]) for launch in facts["launches"]} == {
        ("pingpong", "measured"),
        ("barrier", "measured"),
    }
    assert len(facts["launches"]) == 6
    samples = pl.read_parquet(study / "samples.parquet")
    assert set(samples["size"].unique()) == {0, 8, 4096}
    assert len(samples) == sum(launch["operations"] for launch in facts["launches"])
    assert samples["duration_ns"].min() > 0  # type: ignore[operator]
    assert (study / "report.html").stat().st_size < 5_000_000
    assert {file.suffix for file in (study / "plots").iterdir()} >= {".png", ".svg", ".m"}


def test_ranks_are_pinned_and_the_overhead_is_known(study: Path) -> None:
    facts = StudyFolder.open(study).facts
    cpus = sorted(os.sched_getaffinity(0))
    for launch in facts.launches:
        assert launch.affinity == [[cpus[rank % len(cpus)]] for rank in range(launch.ranks)]
        assert launch.overhead_ns > 0


def test_compare_says_that_too_few_launches_decide_nothing(study: Path) -> None:
    ended = volley("compare", study, study, "--json")
    assert ended.returncode == 0, ended.stderr
    verdicts = json.loads(ended.stdout)["verdicts"]
    assert {one["verdict"] for one in verdicts} <= {"UNDECIDED", "SAME"}
    assert all(one["ratio"] == pytest.approx(1) for one in verdicts)


def test_reports_can_be_read_by_programs(study: Path) -> None:
    ended = volley("report", study, "--json")
    said = json.loads(ended.stdout)
    (pingpong,) = [curve for curve in said["curves"] if curve["test"] == "pingpong"]
    assert [point["x"] for point in pingpong["points"]] == [8, 4096]
    coverage = {1: 0.0, 2: 0.5, 3: 0.75}  # launches made in a rarer state of the machine are left out
    assert all(point["coverage"] == coverage[point["launches"]] for point in pingpong["points"])
    assert said["answers"] == []  # one system: nothing to compare it with
    assert all(one["what_to_do"] for one in said["findings"])


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["study", "--systems", "mpitch"], 2, 'no family "mpitch"'),
        (["study", "--systems", "mpich/carrier-pigeon"], 2, 'unknown transport "carrier-pigeon"'),
        (["study", "--systems", "mpich==banana"], 2, '"banana" in "mpich==banana" is no version'),
        (["study", "--tests", "pongping"], 2, 'unknown test "pongping"'),
        (["study", "--sizes", "8x"], 2, '"8x" is no size'),
        (["study", "--budget", "soon"], 2, '"soon" is no duration'),
        (["study", "--ranks", "two"], 2, "no list of world sizes"),
        (["study", "--resume"], 2, "--resume needs the study's folder"),
        (["study", "--repetitions", "-3"], 2, "Invalid value for '--repetitions'"),
        (["study", "--launches", "0"], 2, "Invalid value for '--launches'"),
        (["study", "--seed", "-5"], 2, "Invalid value for '--seed'"),
        (["report", "/nonexistent"], 3, "/nonexistent is no study"),
        (["compare", "/nonexistent"], 3, "/nonexistent is no study"),
        (["import", "/nonexistent", "--out", "/tmp/never"], 3, "cannot read /nonexistent"),
        (["study", "--out", "/proc/study", "--tests", "pingpong"], 1, "cannot create /proc/study"),
    ],
)
def test_bad_input_is_named_with_a_remedy_and_a_status(arguments: list[str], status: int, message: str) -> None:
    ended = volley(*arguments)
    assert ended.returncode == status
    assert message in ended.stderr
    assert "Traceback" not in ended.stdout + ended.stderr


def test_tables_in_a_pipe_name_systems_in_full(study: Path) -> None:
    without_columns = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    ended = subprocess.run(
        [*VOLLEY, "compare", str(study), str(study)],
        capture_output=True,
        text=True,
        env=without_columns,
        check=True,
        timeout=60,
    )
    assert json.loads((study / "study.json").read_text())["systems"][0]["name"] in ended.stdout
    assert "…" not in ended.stdout
    assert f"More launches: volley study --resume --out {study} --budget " in " ".join(ended.stdout.split())


def test_every_command_explains_itself_with_an_example() -> None:
    for command in ("study", "systems", "tests", "report", "compare", "limits", "import"):
        ended = volley(command, "--help")
        assert ended.returncode == 0
        assert "Example" in ended.stdout


def test_help_breaks_lines_where_the_terminal_ends() -> None:
    said = volley("explain", "--help").stdout
    assert "SUSPECTED: it fits, and could not be proven." in said
    assert "4 compare --fail-on-slower found a SLOWER · 5 it could not be told" in " ".join(
        volley("--help").stdout.split()
    )


def test_limits_are_one_line_of_a_system_whose_launches_agree() -> None:
    def row(system: str, limit: int | None, stands: float) -> dict[str, object]:
        told = {"sender_stands_ns": stands, "receiver_absent_ns": 20e6} if limit is not None else {}
        empty = {"sender_stands_ns": None, "receiver_absent_ns": None}
        return {"system": system, "launch": 1, "reason": "cut off", "largest_returning": limit, **empty, **told}

    console = Console(record=True, width=120)
    rows = [row("a", 8112, 23.5e6), row("a", 8112, 21e6), row("b", 65536, 24e6), row("b", None, 0)]
    limits.print_limits(rows, console)
    lines = [[word.strip() for word in line.split("│")[1:-1]] for line in console.export_text().splitlines()]
    told = "21.0 ms, with the receiver away for 20.0 ms"
    assert ["a", "8,112", "2", told] in lines
    assert [line[:3] for line in lines if line and line[0] == "b"] == [["b", "65,536", "1"], ["b", "cut off", "1"]]


def test_a_system_that_cannot_be_had_is_named_and_the_rest_is_measured(tmp_path: Path) -> None:
    systems = f"mpich/shm,mine={tmp_path}/nothing"
    arguments = ("--tests", "barrier", "--launches", "1", "--quick", "--out", tmp_path / "study")
    ended = volley("study", "--systems", systems, *arguments)
    assert ended.returncode == 0, ended.stderr
    absent = [fact for fact in StudyFolder.open(tmp_path / "study").facts.systems if fact.status != "ready"]
    assert [fact.name.partition("/")[0] for fact in absent] == ["mine"]
    assert absent[0].reason
    assert str(tmp_path / "nothing") in ended.stdout


def _wait_for_launches(folder: Path, count: int) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if len(list((folder / "parts").glob("*.parquet"))) >= count:
            return
        time.sleep(0.02)
    raise AssertionError(f"no {count} launches in {folder}")


def _programs_of(scratch: Path) -> list[str]:
    """Command lines of running processes that were started from a scratch folder below `scratch`."""
    found = []
    for process in psutil.process_iter():
        try:
            line = " ".join(process.cmdline())
        except psutil.Error:
            continue
        if str(scratch) in line and process.pid != os.getpid():
            found.append(line)
    return found


def _start(folder: Path, scratch: Path, systems: str = "mpich/shm") -> "subprocess.Popen[bytes]":
    scratch.mkdir()
    arguments = (
        "study",
        *SMALL,
        "--systems",
        systems,
        "--launches",
        "30",
        "--precision",
        "0",
        "--budget",
        "60s",
        "--out",
        str(folder),
    )
    return subprocess.Popen(
        [*VOLLEY, *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "TMPDIR": str(scratch)},
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_everything_and_keeps_what_was_measured(tmp_path: Path, number: signal.Signals) -> None:
    running = _start(tmp_path / "study", tmp_path / "scratch")
    _wait_for_launches(tmp_path / "study", 3)
    running.send_signal(number)
    assert running.wait(30) == 130
    assert _programs_of(tmp_path / "scratch") == []
    assert list((tmp_path / "scratch").glob("volley-*")) == []
    folder = StudyFolder.open(tmp_path / "study")
    assert len(folder.facts.launches) >= 3
    assert not folder.facts.finished


def test_resume_says_why_nothing_more_was_measured(study: Path) -> None:
    """The budget is for the whole study: one that is spent measures nothing, and whoever waits must know."""
    facts = (study / "study.json").read_text()
    ended = volley("study", "--resume", "--out", study, "--budget", "0.1s")
    assert ended.returncode == 0, ended.stderr
    assert "Nothing more was measured: the budget of" in ended.stdout
    more = volley("study", "--resume", "--out", study, "--budget", "10m")
    assert "every test has the precision or the launches that were asked for" in more.stdout
    assert json.loads((study / "study.json").read_text())["launches"] == json.loads(facts)["launches"]


def test_after_a_kill_resume_goes_on_with_all_that_was_kept(tmp_path: Path) -> None:
    running = _start(tmp_path / "study", tmp_path / "scratch")
    _wait_for_launches(tmp_path / "study", 4)
    running.kill()
    running.wait()
    kept = StudyFolder.open(tmp_path / "study").facts.launches
    assert len(kept) >= 3
    ended = volley("study", "--resume", "--out", tmp_path / "study", "--budget", "4s")
    assert ended.returncode == 0, ended.stderr
    folder = StudyFolder.open(tmp_path / "study")
    assert [launch.number for launch in folder.facts.launches[: len(kept)]] == [launch.number for launch in kept]
    numbers = [launch.number for launch in folder.facts.launches]
    assert len(set(numbers)) == len(numbers)
    assert folder.facts.finished
    counted = folder.samples().group_by("launch").len().collect()
    assert set(counted["launch"]) == {launch.number for launch in folder.facts.launches if launch.operations}


def _wait_until(gone: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not gone():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize("systems", ["mpich/shm", "lam/tcp"])
def test_a_kill_leaves_no_process_and_no_scratch_either(tmp_path: Path, systems: str) -> None:
    if systems.startswith("lam") and (shutil.which("lamboot") is None or os.geteuid() != 0):
        pytest.skip("LAM is not installed, or there is no account to run it as")
    scratch = Path(tempfile.mkdtemp(prefix="scratch-", dir="/tmp")) / "own"
    scratch.parent.chmod(0o755)  # LAM runs as another user
    others = {process.pid for process in psutil.process_iter() if _is_lamd(process)}
    running = _start(tmp_path / "study", scratch, systems)
    _wait_for_launches(tmp_path / "study", 2)
    own = {process.pid for process in psutil.process_iter() if _is_lamd(process)} - others
    running.kill()
    running.wait()
    _wait_until(lambda: not _programs_of(scratch) and not list(scratch.glob("volley-*")))
    if systems.startswith("lam"):
        _wait_until(lambda: not any(psutil.pid_exists(process) for process in own))
    shutil.rmtree(scratch.parent)


def _is_lamd(process: psutil.Process) -> bool:
    try:
        return process.name() == "lamd"
    except psutil.Error:
        return False


def test_import_makes_a_study_that_can_be_reported(tmp_path: Path) -> None:
    for launch in range(3):
        text = f"# OSU MPI Latency Test v7.4\n# Size Latency (us)\n1 0.2{launch}\n4096 1.0{launch}\n"
        (tmp_path / f"osu-{launch}.txt").write_text(text)
    files = sorted(tmp_path.glob("osu-*.txt"))
    ended = volley("import", *files, "--system", "theirs", "--out", tmp_path / "study")
    assert ended.returncode == 0, ended.stderr
    shown = json.loads(volley("report", tmp_path / "study", "--json").stdout)
    (curve,) = shown["curves"]
    assert (curve["system"], curve["test"]) == ("theirs", "pingpong")
    assert [(point["x"], round(point["value_ns"]), point["launches"]) for point in curve["points"]] == [
        (1, 210, 3),
        (4096, 1010, 3),
    ]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cache").mkdir(mode=0o555)
    monkeypatch.setenv("VOLLEY_CACHE", str(tmp_path / "cache"))
    ended = volley("study", "--quick", "--tests", "ceilings", "--systems", "machine", "--out", tmp_path / "study")
    assert ended.returncode == 1
    assert "VOLLEY_CACHE" in ended.stdout
