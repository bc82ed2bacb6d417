# SPDX-License-Identifier: BSD-3-Clause
"""What an installed library is to others: mpicc, mpicxx, mpirun, pkg-config, CMake; in any place."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

PROJECT = Path(__file__).parent / "project"
HELLO = PROJECT / "hello.c"
GREETINGS = [f"rank {rank} of 3, sum 3" for rank in range(3)]


def run(*command: object, folder: Path | None = None, variables: Mapping[str, str] | None = None) -> str:
    """What a command prints; it must succeed."""
    outcome = subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={**os.environ, **(variables or {})},
    )
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
    return outcome.stdout


@pytest.fixture(params=["installed", "moved", "environment"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A prefix: where `cmake --install` has put it; elsewhere; or the Python environment, if pip has put it there."""
    if request.param == "environment":
        if not list(Path(sys.prefix).glob("lib/libmpi_abi.so.1")):
            pytest.skip("the library is not installed in this Python environment")
        return Path(sys.prefix)
    prefix: Path = request.getfixturevalue("prefix")
    if request.param == "installed":
        return prefix
    moved = tmp_path / "moved"
    shutil.copytree(prefix, moved, symlinks=True)
    return moved


WRAPPERS = [("mpicc", "c"), ("mpicxx", "c++"), ("mpic++", "c++"), ("mpiCC", "c++")]


@pytest.mark.parametrize(("wrapper", "language"), WRAPPERS)
def test_compiled_programs_run(place: Path, tmp_path: Path, wrapper: str, language: str) -> None:
    run(place / "bin" / wrapper, "-x", language, HELLO, "-o", tmp_path / "hello", folder=tmp_path)
    for launcher in ("mpiexec", "mpirun"):
        assert sorted(run(place / "bin" / launcher, "-n", 3, tmp_path / "hello").splitlines()) == GREETINGS


def test_a_place_with_an_awkward_name(prefix: Path, tmp_path: Path) -> None:
    place = tmp_path / "it's a place"
    shutil.copytree(prefix, place, symlinks=True)
    run(place / "bin/mpicc", HELLO, "-o", tmp_path / "hello")
    assert sorted(run(place / "bin/mpirun", "-n", 3, tmp_path / "hello").splitlines()) == GREETINGS
    include, *link = shlex.split(run(place / "bin/mpicc", "-show"))[1:]
    assert include == f"-I{place}/include"
    assert link[0].startswith(f"-L{place}/lib")


def test_through_a_link(place: Path, tmp_path: Path) -> None:
    for tool in ("mpicc", "mpirun"):
        (tmp_path / tool).symlink_to(place / "bin" / tool)
    run(tmp_path / "mpicc", HELLO, "-o", tmp_path / "hello")
    assert sorted(run(tmp_path / "mpirun", "-n", 3, tmp_path / "hello").splitlines()) == GREETINGS


def test_compiling_and_linking_apart(place: Path, tmp_path: Path) -> None:
    mpicc = place / "bin" / "mpicc"
    run(mpicc, "-c", HELLO, "-o", tmp_path / "hello.o")
    run(mpicc, tmp_path / "hello.o", "-o", tmp_path / "hello")
    assert sorted(run(place / "bin" / "mpiexec", "-n", 3, tmp_path / "hello").splitlines()) == GREETINGS


def test_what_the_wrapper_tells(prefix: Path) -> None:
    mpicc = prefix / "bin" / "mpicc"
    include = f"-I{prefix}/include"
    libraries = {path.parent for path in prefix.glob("lib*/libmpi_abi.so")}
    (library,) = libraries
    link = [f"-L{library}", f"-Wl,-rpath,{library}", "-lmpi_abi"]

    def shown(*arguments: str) -> list[str]:
        return shlex.split(run(mpicc, *arguments))

    assert shown("-show") == ["cc", include, *link]
    assert shown("-compile_info") == ["cc", include]
    assert shown("-link_info") == ["cc", *link]
    own = ["a.c", "-DTEXT=a 'word'", "-o", "a"]
    assert shown("-show", *own) == ["cc", *own, include, *link]
    for only_compiled in ("-c", "-E", "-S", "-M"):
        assert shown("-show", only_compiled, "a.c") == ["cc", only_compiled, "a.c", include]
    assert shown("-cc=clang", "-show", "-c", "a.c")[0] == "clang"
    assert shlex.split(run(mpicc, "-show", variables={"VOLLEY_CC": "ccache gcc"}))[:2] == ["ccache", "gcc"]
    mpicxx = prefix / "bin" / "mpicxx"
    assert shlex.split(run(mpicxx, "-show"))[0] == "c++"
    assert shlex.split(run(mpicxx, "-cxx=g++-12", "-show"))[0] == "g++-12"
    assert shlex.split(run(mpicxx, "-show", variables={"VOLLEY_CXX": "icpx"}))[0] == "icpx"


def test_arguments_are_kept(prefix: Path, tmp_path: Path) -> None:
    source = tmp_path / "with a space.c"
    source.write_text("#include <stdio.h>\nint main(void) { puts(TEXT); return 0; }\n")
    run(prefix / "bin/mpicc", source, '-DTEXT="it\'s $HOME *"', "-o", tmp_path / "a program")
    assert run(tmp_path / "a program") == "it's $HOME *\n"


def test_asking_the_compiler(prefix: Path) -> None:
    assert "(" in run(prefix / "bin/mpicc", "--version")
    assert run(prefix / "bin/mpicc", "-v") == ""
    assert run(prefix / "bin/mpicc", "-dumpversion") == run("cc", "-dumpversion")


def test_failure_is_the_compiler_s(prefix: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.c").write_text("#error no\n")
    outcome = subprocess.run([prefix / "bin/mpicc", "-c", "bad.c"], cwd=tmp_path, capture_output=True, check=False)
    assert outcome.returncode == 1


@pytest.mark.skipif(shutil.which("pkg-config") is None, reason="there is no pkg-config")
def test_pkg_config(place: Path, tmp_path: Path) -> None:
    file, *_ = place.glob("lib*/pkgconfig/volley.pc")  # lib64 may be a link to lib
    told = run("pkg-config", "--cflags", "--libs", "volley", variables={"PKG_CONFIG_PATH": str(file.parent)})
    run("cc", HELLO, "-o", tmp_path / "hello", *shlex.split(told))
    assert sorted(run(place / "bin" / "mpiexec", "-n", 3, tmp_path / "hello").splitlines()) == GREETINGS


@pytest.mark.skipif(shutil.which("cmake") is None, reason="there is no CMake")
def test_cmake(place: Path, tmp_path: Path) -> None:
    said = run("cmake", "-S", PROJECT, "-B", tmp_path, f"-DMPI_HOME={place}")
    assert f"version 5.0, launcher {place}/bin/mpiexec" in said
    run("cmake", "--build", tmp_path)
    for program in ("hello_c", "hello_cxx"):
        assert sorted(run(place / "bin" / "mpiexec", "-n", 3, tmp_path / program).splitlines()) == GREETINGS
