#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Write Fortran's bindings from the tables in this folder.

entries_*.cpp        the entry points mpi_x_ (weak) and pmpi_x_ of libvolley_fortran
mpif.h               constants, for fixed and free form
mpi.f90              the module mpi
mpi_f08_types.f90    the types and constants of the module mpi_f08, and its callbacks' interfaces
mpi_f08.f90          the module mpi_f08
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from fortran_bindings import bindings
from fortran_constants import header
from fortran_entries import FILES, entries
from fortran_modules import module_mpi
from fortran_modules_f08 import module_f08, module_types
from tables import Tables, load


def texts(tables: Tables) -> Iterator[tuple[str, str]]:
    """Names and contents of all files."""
    functions = tuple(bindings(tables))
    for file, groups in FILES.items():
        yield f"{file}.cpp", entries(functions, groups)
    yield "mpif.h", header(tables)
    yield "mpi.f90", module_mpi(tables, functions)
    yield "mpi_f08_types.f90", module_types(tables)
    yield "mpi_f08.f90", module_f08(functions)


def main() -> int:
    """Write the files."""
    parser = argparse.ArgumentParser(description="Write Fortran's bindings.")
    parser.add_argument("folder", type=Path, help="where to write them")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts(load()):
        path = arguments.folder / name
        # Files that stay the same keep their time, so that nothing is compiled again.
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
