#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Write Fortran's bindings from the tables in this folder.

entries_*.cpp        the entry points mpi_x_ (weak) and pmpi_x_ of libvolley_fortran
mpif.h               constants, for fixed and free form
mpi.f90              the module mpi
mpi_f08_types.f90    the types and constants of the module mpi_f08, and its callbacks' interfaces
mpi_f08.f90          the module mpi_f08

With --face, for the binary interface of another MPI: entries_*.cpp, mpi.h, modules.cpp and names.ld
(fortran_faces.py).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import fortran_faces
from fortran_bindings import bindings
from fortran_constants import header
from fortran_entries import F08, FILES, entries
from fortran_modules import module_mpi
from fortran_modules_f08 import module_f08, module_types
from generate_face import FaceTable, load_face
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


def face_texts(tables: Tables, face: FaceTable) -> Iterator[tuple[str, str]]:
    """Those for another MPI's binary interface."""
    functions = tuple(bindings(tables))
    for file, groups in FILES.items():
        yield f"{file}.cpp", entries(functions, groups, F08[face.name])
    yield "mpi.h", fortran_faces.header(tables, face)
    yield "modules.cpp", fortran_faces.modules(tables, face)
    yield "names.ld", fortran_faces.Names(face, functions).text


def main() -> int:
    """Write the files."""
    parser = argparse.ArgumentParser(description="Write Fortran's bindings.")
    parser.add_argument("--face", help="for the binary interface of mpich or openmpi")
    parser.add_argument("folder", type=Path, help="where to write them")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    tables = load()
    for name, text in face_texts(tables, load_face(arguments.face)) if arguments.face else texts(tables):
        path = arguments.folder / name
        # Files that stay the same keep their time, so that nothing is compiled again.
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
