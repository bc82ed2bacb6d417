# SPDX-License-Identifier: BSD-3-Clause
"""mpiexec with programs that know nothing of MPI, or play its part in the arena."""

from __future__ import annotations

import os
import pty
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ..conftest import ROOT, is_alive
from .conftest import Mpiexec, Program

KINDS = ["shared", "process"]
both = pytest.mark.parametrize("kind", KINDS)


def lines_of(text: str) -> list[str]:
    return sorted(text.splitlines())


def all_end(processes: list[int], seconds: float = 5) -> bool:
    """Whether all of them end in time."""
    deadline = time.monotonic() + seconds
    while any(is_alive(process) for process in processes):
        if time.monotonic() > deadline:
            return False
        os.sched_yield()
    return True


# Command line


@both
def test_each_rank_knows_its_place(mpiexec: Mpiexec, program: Program, kind: str, tmp_path: Path) -> None:
    outcome = mpiexec("--ranks", kind, "-n", "3", program("hello.c"), "0", "text with spaces")
    expected = [
        f"rank {r} of 3 application 0 arguments 2 last text with spaces in {tmp_path} SET= COMMON=" for r in range(3)
    ]
    assert (outcome.returncode, lines_of(outcome.stdout), outcome.stderr) == (0, expected, "")


@both
def test_programs_with_environments_and_directories(
    mpiexec: Mpiexec, program: Program, kind: str, tmp_path: Path
) -> None:
    (tmp_path / "there").mkdir()
    hello = program("hello.c")
    first = ["-np", "2", "-env", "SET", "a=b", "-genv", "COMMON", "all", hello, "0"]
    second = ["-wdir", "there", "-x", "SET=x y", hello, "0"]
    third = ["-n", "1", "-x", "PASSED", "-x", "SET=", hello, "0"]
    outcome = mpiexec("--ranks", kind, *first, ":", *second, ":", *third, extra=[("PASSED", "1")])
    assert outcome.stderr == ""
    assert [re.sub(r"arguments .* in ", "", line) for line in lines_of(outcome.stdout)] == [
        f"rank 0 of 4 application 0 {tmp_path} SET=a=b COMMON=all",
        f"rank 1 of 4 application 0 {tmp_path} SET=a=b COMMON=all",
        f"rank 2 of 4 application 1 {tmp_path}/there SET=x y COMMON=all",
        f"rank 3 of 4 application 2 {tmp_path} SET= COMMON=all",
    ]


@both
def test_a_relative_program_is_looked_for_from_its_directory(
    mpiexec: Mpiexec, program: Program, kind: str, tmp_path: Path
) -> None:
    (tmp_path / "there").mkdir()
    shutil.copy(program("hello.c"), tmp_path / "there" / "mine")
    outcome = mpiexec("--ranks", kind, "-wdir", "there", "./mine")
    assert (outcome.returncode, outcome.stderr) == (0, "")


def test_the_environment_may_be_chosen(mpiexec: Mpiexec) -> None:
    given = [("KEPT", "1"), ("DROPPED", "2")]
    outcome = mpiexec("--ranks", "process", "-genvlist", "KEPT,UNSET", shutil.which("env") or "env", extra=given)
    names = {line.split("=")[0] for line in outcome.stdout.splitlines()}
    assert "KEPT" in names
    assert not {"DROPPED", "UNSET", "PATH"} & names


def test_malloc_settings_of_the_user_stay(mpiexec: Mpiexec) -> None:
    tunables = "glibc.malloc.trim_threshold=5:glibc.malloc.check=0"
    outcome = mpiexec("--ranks", "shared", "sh", "-c", "echo $GLIBC_TUNABLES", extra=[("GLIBC_TUNABLES", tunables)])
    assert outcome.stdout.strip().startswith(tunables + ":glibc.malloc.mmap_threshold=")
    assert outcome.stdout.count("trim_threshold") == 1


@pytest.mark.parametrize(
    ("arguments", "status", "text"),
    [
        ([], 2, "no program is named"),
        (["-n", "2"], 2, "no program is named"),
        (["true", ":"], 2, "no program is named"),
        (["-n", "0", "true"], 2, "option -n has the value '0': the number of ranks is a whole number from 1"),
        (["-n", "two", "true"], 2, "option -n has the value 'two'"),
        (["-n", "65536", "true", ":", "true"], 2, "65537 ranks in all"),
        (["-n"], 2, "option -n needs a value: the number of ranks"),
        (["--ranks", "maybe", "true"], 2, "option --ranks has the value 'maybe': it is auto, shared or process"),
        (["--label=yes", "true"], 2, "option --label takes no value"),
        (["-hostlist", "true"], 2, "unknown option -hostlist"),
        (["--bind", "socket", "true"], 2, "option --bind has the value 'socket': it is core or none"),
        (["-x", "NOT_SET", "true"], 2, "NOT_SET, which is not set"),
        (["-env", "A=B", "C", "true"], 2, "a name is not empty and has no '='"),
        (["no-such-program"], 127, "there is no program no-such-program in PATH"),
        (["./none"], 127, "there is no program ./none"),
        (["-wdir", "/none", "true"], 1, "cannot run ranks in the directory /none: No such file"),
        (["/etc/passwd"], 126, "cannot start /etc/passwd: it may not be executed"),
    ],
)
def test_errors_name_thing_value_and_remedy(mpiexec: Mpiexec, arguments: list[str], status: int, text: str) -> None:
    outcome = mpiexec(*arguments)
    assert (outcome.returncode, outcome.stdout) == (status, "")
    assert outcome.stderr.startswith("mpiexec: ")
    assert text in outcome.stderr
    assert outcome.stderr.count("\n") == 1


@pytest.fixture
def linked(tmp_path: Path) -> Callable[..., Path]:
    """Makes a program that needs a library of that name, in the same folder, by another library if asked."""

    def make(library: str, *options: str, through: bool = False) -> Path:
        def build(name: str, text: str, *more: str) -> Path:
            path = tmp_path / name
            source = tmp_path / "source.c"
            source.write_text(text)
            subprocess.run(["gcc", "-o", path, source, *more, "-Wl,-rpath,$ORIGIN", f"-L{tmp_path}"], check=True)
            return path

        shared = ["-shared", "-fPIC"]
        build("libbelow.so", "int below(void) { return 0; }", *shared, f"-Wl,-soname,{library}")
        (tmp_path / library).write_bytes((tmp_path / "libbelow.so").read_bytes())
        if not through:
            return build("program", "int below(void); int main(void) { return below(); }", "-lbelow", *options)
        build("libbetween.so", "int below(void); int between(void) { return below(); }", *shared, "-lbelow")
        text = "int between(void); int main(void) { return between(); }"
        return build("program", text, "-lbetween", f"-Wl,-rpath-link,{tmp_path}", *options)

    return make


@pytest.mark.parametrize(
    ("library", "mpi", "remedy"),
    [
        ("libmpi.so.20", "Open MPI", "Open MPI's mpirun"),
        ("libmpich.so.10", "MPICH", "MPICH's mpiexec"),
        ("libmpi.so.0", "LAM", "LAM's mpirun"),
    ],
)
@pytest.mark.parametrize("through", [False, True], ids=["directly", "through-a-library"])
def test_programs_of_other_mpis_are_refused(
    mpiexec: Mpiexec, linked: Callable[..., Path], library: str, mpi: str, remedy: str, through: bool
) -> None:
    """Instead of running so many worlds of one."""
    program = linked(library, through=through)
    outcome = mpiexec("-n", "2", str(program))
    by = f", by {program.parent}/libbetween.so" if through else ""
    assert (outcome.returncode, outcome.stdout) == (126, "")
    assert outcome.stderr == (
        f"mpiexec: {program} is linked with {library} ({mpi}{by}), whose binary interface Volley does not have: "
        f"compile it with Volley's mpicc, or start it with {remedy}\n"
    )


def test_programs_of_other_libraries_are_not_refused(mpiexec: Mpiexec, linked: Callable[..., Path]) -> None:
    for library, options in (("libmpi.so", ()), ("libmpich.so.0x", ("-no-pie",)), ("libmpi_abi.so.1", ())):
        assert mpiexec("-n", "2", str(linked(library, *options))).returncode == 0
    assert mpiexec("-n", "2", str(linked("libmpi.so.20", "-no-pie"))).returncode == 126


def test_programs_with_two_mpis_are_refused(mpiexec: Mpiexec, linked: Callable[..., Path], tmp_path: Path) -> None:
    linked("libmpi.so.40", through=True)
    program = linked("libmpi.so.12", "-Wl,--no-as-needed", "-lbetween", f"-Wl,-rpath-link,{tmp_path}")
    outcome = mpiexec("-n", "2", str(program))
    assert outcome.returncode == 126
    first = "libmpi.so.12 (MPICH or one of its family)"
    assert outcome.stderr.startswith(f"mpiexec: {program} needs two MPIs, {first} and ")
    assert f"libmpi.so.40 (Open MPI, by {program.parent}/libbetween.so)" in outcome.stderr


def test_help_and_version(mpiexec: Mpiexec) -> None:
    assert "--ranks KIND" in mpiexec("--help").stdout
    assert "MPI 5.0" in mpiexec("-n", "3", "--version").stdout


# How ranks run


def test_what_cannot_be_shared_and_why(mpiexec: Mpiexec, program: Program, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\nexit 0\n")
    plain = tmp_path / "plain"
    plain.write_text("exit 0\n")
    set_id = tmp_path / "set_id"
    shutil.copy(program("hello.c"), set_id)
    for file, mode in ((script, 0o755), (plain, 0o755), (set_id, 0o4755)):
        file.chmod(mode)
    cases = {
        program("hello.c"): "ranks 0-1 in a shared address space",
        program("hello.c", "-no-pie"): "ranks 0-1 are processes: it is not position-independent (link it with -pie)",
        program("hello.c", "-static"): "ranks 0-1 are processes: it is not position-independent (link it with -pie)",
        program("hello.c", "-static-pie"): "ranks 0-1 are processes: it is static",
        program("hello.c", "-fsanitize=address"): "ranks 0-1 are processes: it is built with AddressSanitizer",
        program("hello.c", "-fsanitize=address", "-static-libasan"): (
            "ranks 0-1 are processes: it is built with a sanitizer"
        ),
        program("hello.c", "-fsanitize=thread"): "ranks 0-1 are processes: it is built with ThreadSanitizer",
        str(script): "ranks 0-1 are processes: it is a script",
        str(plain): "ranks 0-1 are processes: it is not an ELF file",
        str(set_id): "ranks 0-1 are processes: it is set-user-id or set-group-id",
    }
    for path, why in cases.items():
        outcome = mpiexec("--verbose", "-n", "2", path)
        assert (outcome.returncode, outcome.stderr.splitlines()[0]) == (0, f"mpiexec: {path}: {why}")
        refused = mpiexec("--ranks", "shared", path)
        reason = why.partition("processes: ")[2]
        if reason:
            assert refused.returncode == 1
            assert f"cannot share an address space: {reason}; use --ranks process" in refused.stderr
        else:
            assert refused.returncode == 0


def test_a_limit_on_memory_makes_processes(launcher: str) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (1 << 32, 1 << 32))

    outcome = subprocess.run(
        [launcher, "--verbose", "-n", "2", "true"], preexec_fn=limit, capture_output=True, text=True, check=False
    )
    assert outcome.returncode == 0
    assert "are processes: a limit on memory" in outcome.stderr


# Binding to cores


def processors_of(outcome: subprocess.CompletedProcess[str]) -> list[set[int]]:
    """What each rank of the program processors.c says, in the order of ranks."""
    assert (outcome.returncode, outcome.stderr) == (0, "")
    return [set(map(int, line.split()[2:])) for line in lines_of(outcome.stdout)]


@both
def test_ranks_have_cores_of_their_own(mpiexec: Mpiexec, program: Program, kind: str) -> None:
    allowed = os.sched_getaffinity(0)
    if len(allowed) < 2:
        pytest.skip("there is one processor")
    for options in ([], ["--bind", "core"]):
        first, second = processors_of(mpiexec("--ranks", kind, *options, "-n", "2", program("processors.c")))
        assert first
        assert len(first) == len(second)
        assert not first & second
        assert first | second <= allowed


@both
def test_ranks_that_are_not_bound(mpiexec: Mpiexec, program: Program, kind: str) -> None:
    allowed = os.sched_getaffinity(0)
    assert processors_of(mpiexec("--ranks", kind, "-n", "1", program("processors.c"))) == [allowed]
    unbound = mpiexec("--ranks", kind, "--bind", "none", "-n", "2", program("processors.c"))
    assert processors_of(unbound) == [allowed, allowed]
    many = len(allowed) + 1
    too_many = mpiexec("--ranks", kind, "-n", str(many), program("processors.c"))
    assert processors_of(too_many) == [allowed] * many


def test_binding_that_cannot_be(mpiexec: Mpiexec, program: Program) -> None:
    many = str(len(os.sched_getaffinity(0)) + 1)
    outcome = mpiexec("--bind", "core", "-n", many, program("processors.c"))
    assert outcome.returncode == 1
    assert f"cannot bind {many} ranks to cores of their own" in outcome.stderr


@both
def test_ranks_are_private(mpiexec: Mpiexec, program: Program, kind: str, tmp_path: Path) -> None:
    for rank in range(8):
        (tmp_path / f"rank{rank}").mkdir()
    outcome = mpiexec("--ranks", kind, "-n", "8", program("private.c"))
    assert lines_of(outcome.stdout) == [f"rank {rank} is private" for rank in range(8)]
    assert (outcome.returncode, outcome.stderr) == (0, "")


@both
def test_the_run_time_of_cplusplus(mpiexec: Mpiexec, program: Program, kind: str) -> None:
    outcome = mpiexec("--ranks", kind, "-n", "4", program("features.cpp", "-fopenmp"))
    assert lines_of(outcome.stdout) == [f"rank {rank} is good" for rank in range(4)]
    assert (outcome.returncode, outcome.stderr) == (0, "")


def test_64_heaps_do_not_meet(mpiexec: Mpiexec, program: Program) -> None:
    outcome = mpiexec("--ranks", "shared", "-n", "64", program("allocate.c"))
    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "", "")


def test_python_in_a_shared_address_space(mpiexec: Mpiexec) -> None:
    code = (
        "import os, threading, numpy; a = numpy.random.rand(200, 200); "
        "threading.Thread(target=lambda: None).start(); assert abs((a @ a).sum()) > 0; "
        "print(os.environ['VOLLEY_RANK'])"
    )
    verbose = mpiexec("--verbose", sys.executable, "-c", "")
    if "shared address space" not in verbose.stderr:
        pytest.skip(verbose.stderr)
    outcome = mpiexec("-n", "3", sys.executable, "-c", code)
    assert (outcome.returncode, lines_of(outcome.stdout), outcome.stderr) == (0, ["0", "1", "2"], "")


@both
def test_a_run_path_beside_the_program(mpiexec: Mpiexec, program: Program, kind: str, tmp_path: Path) -> None:
    (tmp_path / "beside").mkdir()
    source = ROOT / "tests/library/launch/programs/answer.c"
    library = tmp_path / "beside" / "libanswer.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    built = program("origin.c", f"-L{library.parent}", "-lanswer", "-Wl,-rpath,/none:$ORIGIN/beside")
    shutil.copy(built, tmp_path / "origin")
    (tmp_path / "link").symlink_to("origin")
    outcome = mpiexec("--ranks", kind, "-n", "2", "./link")
    assert (outcome.stdout, outcome.stderr) == ("answer 42\nanswer 42\n", "")


# The arena


def test_pointers_are_common_in_a_shared_address_space_only(mpiexec: Mpiexec, program: Program) -> None:
    pointers = program("pointers.cpp")
    shared = mpiexec("--ranks", "shared", "-n", "3", pointers)
    assert lines_of(shared.stdout) == [
        f"rank {r} space 1 reads rank {(r + 1) % 3}: {1000 + (r + 1) % 3}" for r in range(3)
    ]
    process = mpiexec("--ranks", "process", "-n", "2", pointers)
    assert lines_of(process.stdout) == [f"rank {r} space 0 cannot read rank {1 - r}: -1" for r in range(2)]


def test_ranks_of_both_kinds_meet(mpiexec: Mpiexec, program: Program) -> None:
    fixed = program("pointers.cpp", "-no-pie")
    sanitized = program("pointers.cpp", "-fsanitize=thread")
    outcome = mpiexec("-n", "2", program("pointers.cpp"), ":", fixed, ":", sanitized)
    assert lines_of(outcome.stdout) == [
        "rank 0 space 1 reads rank 1: 1001",
        "rank 1 space 1 cannot read rank 2: -1",
        "rank 2 space 0 cannot read rank 3: -1",
        "rank 3 space 0 cannot read rank 0: -1",
    ]


def test_a_rank_that_becomes_another_program_finds_the_arena(mpiexec: Mpiexec, program: Program) -> None:
    outcome = mpiexec("--ranks", "shared", "-n", "2", program("exec.c"), program("pointers.cpp"))
    assert (outcome.returncode, outcome.stderr) == (0, "")
    assert outcome.stdout.count("cannot read") + outcome.stdout.count("reads") == 2


# Output and input


@both
@pytest.mark.parametrize("label", [False, True])
def test_lines_stay_whole(mpiexec: Mpiexec, program: Program, kind: str, label: bool) -> None:
    count = 500
    outcome = mpiexec("--ranks", kind, *(["--label"] if label else []), "-n", "6", program("lines.cpp"), str(count))

    def prefix(rank: int) -> str:
        return f"[{rank}] " if label else ""

    for text, end in ((outcome.stdout, None), (outcome.stderr, "end")):
        lines = text.splitlines()
        for rank in range(6):
            mine = [line for line in lines if line.startswith(f"{prefix(rank)}{rank} ")]
            assert mine == [f"{prefix(rank)}{rank} {n} {end or 'x' * (n % 50)}" for n in range(count)]
        assert len(lines) == 6 * count


def test_a_last_line_without_newline(mpiexec: Mpiexec) -> None:
    assert mpiexec("-n", "2", "printf", "ab").stdout == "abab"
    assert lines_of(mpiexec("-l", "-n", "2", "printf", "a\\nb").stdout) == ["[0] a", "[0] b", "[1] a", "[1] b"]


def test_a_reader_that_goes_ends_ranks_like_a_shell_would(launcher: str) -> None:
    with subprocess.Popen([launcher, "-n", "2", "yes"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"y\n"
        process.stdout.close()
        assert process.wait(10) == 128 + signal.SIGPIPE


@both
def test_rank_0_reads_standard_input(mpiexec: Mpiexec, program: Program, kind: str) -> None:
    outcome = mpiexec("--ranks", kind, "-n", "3", program("input.c"), stdin="x" * 300_000)
    assert lines_of(outcome.stdout) == ["rank 0 read 300000", "rank 1 read 0", "rank 2 read 0"]


def test_closed_standard_streams(launcher: str, program: Program) -> None:
    command = f'"{launcher}" -n 2 "{program("input.c")}" <&- >&- 2>&-'
    assert subprocess.run(["sh", "-c", command], check=False, timeout=10).returncode == 0


@both
def test_a_terminal(launcher: str, program: Program, kind: str) -> None:
    """A question without a newline is seen before its answer is typed, and Ctrl-C reaches ranks once."""
    child, terminal = pty.fork()
    if child == 0:
        os.execv(launcher, [launcher, "--ranks", kind, "-n", "2", program("ask.c"), ":", program("signals.c")])
    seen = b""

    def read_until(mark: bytes) -> bytes:
        nonlocal seen
        while mark not in seen:
            seen += os.read(terminal, 4096)
        return seen

    read_until(b"name? ")
    read_until(b"ready")
    os.write(terminal, b"volley\n")
    read_until(b"hello volley")
    os.write(terminal, b"\x03")
    read_until(b"signal 2")
    os.kill(child, signal.SIGTERM)
    read_until(b"signal 15")
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert seen.count(b"signal 2") == 1
    os.close(terminal)


# How a job ends


@both
def test_without_mpi_the_status_is_passed_on_and_others_go_on(mpiexec: Mpiexec, program: Program, kind: str) -> None:
    hello = program("hello.c")
    outcome = mpiexec("--ranks", kind, "-n", "1", "sh", "-c", "exit 7", ":", "-n", "3", hello)
    assert (outcome.returncode, outcome.stdout.count("rank"), outcome.stderr) == (7, 3, "")


@both
@pytest.mark.parametrize(("how", "number"), [("signal", 11), ("signal", 9), ("overflow", 11)])
def test_without_mpi_a_crash_disturbs_no_other(
    mpiexec: Mpiexec, program: Program, kind: str, how: str, number: int
) -> None:
    end, hello = program("end.cpp"), program("hello.c")
    crash = [end, "1", "none", how, str(number)]
    outcome = mpiexec("--ranks", kind, "-n", "4", *crash)
    assert outcome.returncode == 128 + number
    name = signal.Signals(number).name
    assert re.fullmatch(
        rf"mpiexec: rank 1 \({end}, process \d+\) was ended by signal {number} \({name}\)\n", outcome.stderr
    )
    assert mpiexec("--ranks", kind, "-n", "2", hello).returncode == 0


@both
@pytest.mark.parametrize(
    ("arguments", "status", "text"),
    [
        (
            ["initialised", "signal", "9", "0"],
            137,
            "was ended by signal 9 (SIGKILL) without MPI_Finalize; the job ends",
        ),
        (
            ["initialised", "signal", "11", "37"],  # the 37th function of abi/functions.toml
            139,
            "was ended by signal 11 (SIGSEGV) in MPI_Irsend_c; the job ends",
        ),
        (["initialised", "3"], 3, "ended with status 3 without MPI_Finalize; the job ends"),
        (["initialised", "0"], 1, "ended with status 0 without MPI_Finalize; the job ends"),
        (["initialised", "abort", "300"], 44, "called MPI_Abort with code 300"),
        (["waiting", "4"], 4, "ended with status 4 before MPI_Init, while rank 0 is in MPI; the job ends"),
    ],
)
def test_a_rank_others_wait_for_ends_the_job(
    mpiexec: Mpiexec, program: Program, kind: str, arguments: list[str], status: int, text: str
) -> None:
    end = program("end.cpp")
    begin = time.monotonic()
    outcome = mpiexec("--ranks", kind, "-n", "4", end, "2", *arguments)
    seconds = time.monotonic() - begin
    assert outcome.returncode == status
    assert re.fullmatch(rf"mpiexec: rank 2 \({re.escape(end)}, process \d+\) {re.escape(text)}\n", outcome.stderr)
    assert seconds < 5  # less than one, and what a busy machine adds


@both
def test_a_status_after_finalize_is_passed_on(mpiexec: Mpiexec, program: Program, kind: str) -> None:
    outcome = mpiexec("--ranks", kind, "-n", "3", program("end.cpp"), "1", "finalised", "6")
    assert (outcome.returncode, outcome.stderr) == (6, "")


@pytest.fixture
def job(launcher: str) -> Iterator[list[subprocess.Popen[str]]]:
    """Jobs that a test starts and has to end; killed if it does not."""
    jobs: list[subprocess.Popen[str]] = []
    yield jobs
    for one in jobs:
        one.kill()
        one.communicate()


def start(jobs: list[subprocess.Popen[str]], launcher: str, *arguments: str) -> subprocess.Popen[str]:
    jobs.append(subprocess.Popen([launcher, *arguments], stdout=subprocess.PIPE, text=True, process_group=0, bufsize=1))
    return jobs[-1]


def read_lines(process: subprocess.Popen[str], count: int) -> list[str]:
    assert process.stdout is not None
    return [process.stdout.readline().strip() for _ in range(count)]


@both
def test_signals_are_passed_on_once(
    launcher: str, program: Program, kind: str, job: list[subprocess.Popen[str]]
) -> None:
    process = start(job, launcher, "--ranks", kind, "-n", "3", program("signals.c"))
    assert {line.split()[0] for line in read_lines(process, 3)} == {"ready"}
    for number in (signal.SIGUSR1, signal.SIGINT):
        os.killpg(process.pid, number)
        assert read_lines(process, 3) == [f"signal {number}"] * 3
    process.terminate()
    assert process.wait(5) == 0


@both
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_second_request_to_end_kills(
    launcher: str, program: Program, kind: str, number: signal.Signals, job: list[subprocess.Popen[str]]
) -> None:
    process = start(job, launcher, "--ranks", kind, "-n", "2", program("signals.c"), "ignore")
    read_lines(process, 2)
    process.send_signal(number)
    assert read_lines(process, 2) == [f"signal {number}"] * 2
    process.send_signal(number)
    assert process.wait(5) == 128 + signal.SIGKILL


@both
def test_interrupted_ranks_give_the_status(
    launcher: str, program: Program, kind: str, job: list[subprocess.Popen[str]]
) -> None:
    process = start(job, launcher, "--ranks", kind, "-n", "2", program("children.c"), "stay")
    ranks = [int(line) for line in read_lines(process, 10)]
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(5) == 128 + signal.SIGINT
    assert all_end(ranks)


@both
def test_stop_and_continue(launcher: str, program: Program, kind: str, job: list[subprocess.Popen[str]]) -> None:
    process = start(job, launcher, "--ranks", kind, "-n", "2", program("signals.c"))
    ranks = [int(line.split()[1]) for line in read_lines(process, 2)]
    process.send_signal(signal.SIGTSTP)
    assert os.WIFSTOPPED(os.waitpid(process.pid, os.WUNTRACED)[1])
    for rank in ranks:
        while Path(f"/proc/{rank}/stat").read_text().rsplit(")", 1)[1].split()[0] != "T":
            os.sched_yield()
    process.send_signal(signal.SIGCONT)
    assert read_lines(process, 2) == [f"signal {signal.SIGCONT}"] * 2
    process.terminate()
    assert process.wait(5) == 0


@both
def test_nothing_is_left_after_the_end(mpiexec: Mpiexec, program: Program, kind: str) -> None:
    outcome = mpiexec("--ranks", kind, "-n", "3", program("children.c"))
    processes = [int(line) for line in outcome.stdout.split()]
    assert (outcome.returncode, len(processes)) == (0, 15)
    assert not any(is_alive(process) for process in processes)


@both
def test_nothing_is_left_after_mpiexec_is_killed(
    launcher: str, program: Program, kind: str, job: list[subprocess.Popen[str]]
) -> None:
    process = start(job, launcher, "--ranks", kind, "-n", "8", program("signals.c"), "ignore")
    ranks = [int(line.split()[1]) for line in read_lines(process, 8)]
    process.kill()
    process.wait(5)
    assert all_end(ranks)


@both
def test_repeated_starts_never_fail(mpiexec: Mpiexec, program: Program, kind: str) -> None:
    hello = program("hello.c")
    for _ in range(50):
        outcome = mpiexec("--ranks", kind, "-n", "2", hello)
        assert (outcome.returncode, outcome.stdout.count("rank"), outcome.stderr) == (0, 2, "")


def test_many_ranks(mpiexec: Mpiexec, program: Program) -> None:
    outcome = mpiexec("-n", "256", program("hello.c"))
    assert (outcome.returncode, len(set(outcome.stdout.splitlines())), outcome.stderr) == (0, 256, "")


def test_more_ranks_than_one_address_space_takes(mpiexec: Mpiexec, program: Program) -> None:
    most = int(Path("/proc/sys/vm/max_map_count").read_text()) // 150
    if most > 1000:
        pytest.skip(f"vm.max_map_count allows {most} ranks")
    outcome = mpiexec("--verbose", "-n", str(most + 2), program("pointers.cpp"))
    assert outcome.returncode == 0
    assert "2 address spaces, the first of" in outcome.stderr
    assert outcome.stdout.count("space 2") == 2
    assert outcome.stdout.count("cannot read") == 2


# Command lines for other launchers


@pytest.mark.parametrize(
    "options",
    [
        ["--oversubscribe", "--allow-run-as-root", "--mca", "btl", "self,vader", "--map-by", "core"],
        ["-perhost", "2", "-iface", "lo", "-launcher", "fork"],
        ["--use-hwthread-cpus", "--display-map", "--report-bindings"],
    ],
)
def test_options_of_other_launchers_are_named_once(mpiexec: Mpiexec, program: Program, options: list[str]) -> None:
    outcome = mpiexec(*options, *options, "-n", "2", str(program("hello.c")))
    assert outcome.returncode == 0
    named = [option for option in options if option.startswith("-")]
    assert outcome.stderr.startswith("mpiexec: not needed here: ")
    assert all(outcome.stderr.count(option) == 1 for option in named)
    assert mpiexec(*options, "-quiet", "-n", "2", str(program("hello.c"))).stderr == ""


def test_options_of_other_launchers_that_mean_something_are_done(mpiexec: Mpiexec, program: Program) -> None:
    hello = str(program("hello.c"))
    labels = [line[:3] for line in mpiexec("-N", "3", "-prepend-rank", hello).stdout.splitlines()]
    assert sorted(set(labels)) == ["[0]", "[1]", "[2]"]
    assert mpiexec("-n", "1", "-N", "3", "--tag-output", hello).stdout == mpiexec("-n", "1", "-l", hello).stdout
    verbose = mpiexec("--bind-to", "none", "-n", "2", "--verbose", hello).stderr
    assert "ranks are not bound" in verbose
    wrong = mpiexec("--bind-to", "moon", hello)
    assert wrong.returncode == 2
    assert "'moon'" in wrong.stderr


def test_an_unknown_option_is_told_the_nearest(mpiexec: Mpiexec) -> None:
    for typed, meant in (("--oversubscrib", "--oversubscribe"), ("--lable", "--label"), ("-bindto", "--bind-to")):
        outcome = mpiexec(typed, "true")
        assert outcome.returncode == 2
        assert f"unknown option {typed}: did you mean {meant}?" in outcome.stderr
    assert "did you mean" not in mpiexec("--quetzalcoatl", "true").stderr


def test_a_job_ends_after_its_time(mpiexec: Mpiexec) -> None:
    outcome = mpiexec("--timeout", "1", "-n", "2", "sleep", "60")
    assert outcome.returncode == 124
    assert "longer than the 1 seconds of --timeout" in outcome.stderr


def test_ranks_find_familiar_variables(mpiexec: Mpiexec) -> None:
    names = ["OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "PMI_RANK", "MPI_LOCALRANKID"]
    script = "echo $OMPI_COMM_WORLD_SIZE $PMI_SIZE " + " ".join(f"${name}" for name in names)
    outcome = mpiexec("-n", "2", "sh", "-c", script)
    assert sorted(outcome.stdout.splitlines()) == ["2 2 0 0 0 0", "2 2 1 1 1 1"]


@pytest.mark.parametrize("where", [(), ("-l",), ("--hosts", "localhost:2")], ids=["here", "labels", "hosts"])
def test_a_full_disk_for_the_output_is_said_once_and_ends_no_rank(
    where: tuple[str, ...], launcher: str, tmp_path: Path
) -> None:
    """The ranks compute on; mpiexec's status tells that something is missing."""
    script = "head -c 300000 /dev/zero | tr '\\0' '\\n' && touch rank-$VOLLEY_RANK"
    with open("/dev/full", "w") as full:  # noqa: PTH123 (no path: a device)
        outcome = subprocess.run(
            [launcher, *where, "-n", "2", "bash", "-c", f"set -o pipefail; {script}"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=30,
            check=False,
            cwd=tmp_path,
        )
    assert outcome.returncode == 1
    assert outcome.stderr.count("mpiexec:") == 1, outcome.stderr
    assert "cannot write standard output: No space left on device" in outcome.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rank-0", "rank-1"]
