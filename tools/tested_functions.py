# SPDX-License-Identifier: BSD-3-Clause
"""Which function of MPI is called in which test program: a table on standard output.

    python tools/tested_functions.py           the table: each function, and programs that call it
    python tools/tested_functions.py --check   only whether each function is called

The exit status is 1 if a function is in no program. A program names a function where the compiler's preprocessor leaves
its name, so that macros count and comments do not. (Fortran's routines are tested in tests/library/fortran.)
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = ROOT / "tests" / "library"
NAME = re.compile(r"\bP?(MPIX?_\w+)\b")
ORIGIN = re.compile(r'# \d+ "([^"]*)"')
MOST_PROGRAMS = 3
"""Named per function, the nearest to it first: those that name the fewest."""


def functions() -> list[str]:
    """All functions of the standard that have a C binding, in the order of the tables."""
    sys.path.insert(0, str(ROOT / "abi"))
    import generate_entries

    return [function.name for function in generate_entries.load().functions]


def named_in(program: Path) -> set[str]:
    """Names of MPI in a program and in headers of its own."""
    compiler = ["g++", "-std=c++20"] if program.suffix == ".cpp" else ["gcc", "-std=gnu11"]
    command = [*compiler, "-E", f"-I{ROOT / 'include'}", f"-I{ROOT / 'library'}", str(program)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found: set[str] = set()
    own = False
    for line in text.splitlines():
        if origin := ORIGIN.match(line):
            own = str(PROGRAMS) in origin[1]
        elif own:
            found.update(NAME.findall(line))
    return found


def table(names: Iterable[str]) -> dict[str, list[str]]:
    """Function → programs that name it."""
    programs = sorted(one for one in PROGRAMS.rglob("*") if one.suffix in (".c", ".cpp"))
    with ThreadPoolExecutor(2) as pool:
        named = dict(zip(programs, pool.map(named_in, programs), strict=True))
    by_length = sorted(programs, key=lambda one: (len(named[one]), one))
    return {
        name: [one.relative_to(PROGRAMS).as_posix() for one in by_length if name in named[one]][:MOST_PROGRAMS]
        for name in names
    }


def main() -> int:
    """Prints or checks."""
    parser = argparse.ArgumentParser(description="Which function of MPI is called in which test program.")
    parser.add_argument("--check", action="store_true", help="no table, only whether each function is called")
    arguments = parser.parse_args()
    called = table(functions())
    if not arguments.check:
        for name, programs in called.items():
            print(f"{name:40} {' '.join(programs)}")
    if missing := [name for name, programs in called.items() if not programs]:
        print(f"no program under tests/library calls {', '.join(missing)}", file=sys.stderr)
        return 1
    print(f"{len(called)} of {len(called)} functions of MPI are called in tests")
    return 0


if __name__ == "__main__":
    sys.exit(main())
