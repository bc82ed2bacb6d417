#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Write the public header `include/mpi.h` from the tables in this folder.

With --check, write nothing, and exit 1 if the header differs from the tables.
"""

from __future__ import annotations

import argparse
import difflib
import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

from tables import Callback, Constant, Function, Parameter, Section, Tables, declare, load

HEADER = Path(__file__).resolve().parent.parent / "include" / "mpi.h"

# Columns of text in the header; the longest prototypes wrap.
WIDTH = 100
# Differing lines shown by --check before it stops.
SHOWN_LINES = 40

START = """\
/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The C interface of MPI 5.0 in its standard ABI, version 1.0: a program built with this header
 * runs on any library that offers libmpi_abi.
 *
 * Generated from the tables in abi/ by abi/generate_header.py. Change those, not this file.
 */
#ifndef MPI_H_INCLUDED
#define MPI_H_INCLUDED

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
"""

CAST = """\
/*
 * Constants that are no plain integers. C++ gets its own casts, so that -Wold-style-cast stays
 * quiet in programs.
 */
#ifdef __cplusplus
#define MPI_ABI_POINTER(type, value) (reinterpret_cast<type>(static_cast<intptr_t>(value)))
#define MPI_ABI_INTEGER(type, value) (static_cast<type>(value))
#else
#define MPI_ABI_POINTER(type, value) ((type)(intptr_t)(value))
#define MPI_ABI_INTEGER(type, value) ((type)(value))
#endif
"""

# C's side of Fortran (MPI 5.0, sections 19.3.4 and 19.3.5). None of it is a symbol of the ABI, which does not know how
# large an INTEGER is: handles are converted by functions that the ABI has, statuses by the header.
FORTRAN = """\
/*
 * Between C and Fortran, whose INTEGER has the size of an int: handles, statuses, and the addresses
 * of Fortran's MPI_STATUS_IGNORE and MPI_STATUSES_IGNORE, null in programs without Fortran.
 */
#ifndef MPI_ABI_WITHOUT_FORTRAN
typedef int MPI_Fint;
typedef MPI_Status MPI_F08_status;
#ifdef __GNUC__
extern MPI_Status volley_fortran_status_ignore_ __attribute__((weak));
extern MPI_Status volley_fortran_statuses_ignore_ __attribute__((weak));
#define MPI_F_STATUS_IGNORE     (&volley_fortran_status_ignore_.MPI_SOURCE)
#define MPI_F_STATUSES_IGNORE   (&volley_fortran_statuses_ignore_.MPI_SOURCE)
#define MPI_F08_STATUS_IGNORE   (&volley_fortran_status_ignore_)
#define MPI_F08_STATUSES_IGNORE (&volley_fortran_statuses_ignore_)
#endif

{handles}
#if defined(__cplusplus) || (defined(__STDC_VERSION__) && __STDC_VERSION__ >= 199901L)
#define MPI_ABI_INLINE static inline
#else
#define MPI_ABI_INLINE static __inline__
#endif

MPI_ABI_INLINE int MPI_Status_c2f(const MPI_Status *c_status, MPI_Fint *f_status) {
    int i;
    f_status[MPI_F_SOURCE] = c_status->MPI_SOURCE;
    f_status[MPI_F_TAG] = c_status->MPI_TAG;
    f_status[MPI_F_ERROR] = c_status->MPI_ERROR;
    for (i = MPI_F_ERROR + 1; i < MPI_F_STATUS_SIZE; i++)
        f_status[i] = c_status->MPI_internal[i - MPI_F_ERROR - 1];
    return MPI_SUCCESS;
}

MPI_ABI_INLINE int MPI_Status_f2c(const MPI_Fint *f_status, MPI_Status *c_status) {
    int i;
    c_status->MPI_SOURCE = f_status[MPI_F_SOURCE];
    c_status->MPI_TAG = f_status[MPI_F_TAG];
    c_status->MPI_ERROR = f_status[MPI_F_ERROR];
    for (i = MPI_F_ERROR + 1; i < MPI_F_STATUS_SIZE; i++)
        c_status->MPI_internal[i - MPI_F_ERROR - 1] = f_status[i];
    return MPI_SUCCESS;
}

MPI_ABI_INLINE int MPI_Status_c2f08(const MPI_Status *c_status, MPI_F08_status *f08_status) {
    *f08_status = *c_status;
    return MPI_SUCCESS;
}

/* A status has one type in C and in mpi_f08, and one function under both names. */
#define MPI_Status_f082c  MPI_Status_c2f08
#define MPI_Status_f082f  MPI_Status_c2f
#define MPI_Status_f2f08  MPI_Status_f2c
#define PMPI_Status_c2f   MPI_Status_c2f
#define PMPI_Status_f2c   MPI_Status_f2c
#define PMPI_Status_c2f08 MPI_Status_c2f08
#define PMPI_Status_f082c MPI_Status_f082c
#define PMPI_Status_f082f MPI_Status_f082f
#define PMPI_Status_f2f08 MPI_Status_f2f08
#endif /* MPI_ABI_WITHOUT_FORTRAN */
"""

END = """\
#ifdef __cplusplus
}
#endif

#endif /* MPI_H_INCLUDED */
"""


def comment(text: str) -> str:
    """A C comment, wrapped where it is long."""
    if len(text) <= WIDTH - len("/*  */"):
        return f"/* {text} */\n"
    lines = textwrap.wrap(text, WIDTH - len(" * "))
    return "/*\n" + "".join(f" * {line}\n" for line in lines) + " */\n"


def remark(deprecated: str | None) -> str:
    """What stands behind a deprecated name."""
    return f" /* deprecated since MPI-{deprecated} */" if deprecated else ""


def prototype(start: str, parameters: Sequence[Parameter], end: str) -> str:
    """A declaration of a function, its parameters wrapped under the first one."""
    opening = f"{start}("
    declarations = [parameter.declaration for parameter in parameters] or ["void"]
    pieces = [f"{declaration}," for declaration in declarations[:-1]]
    pieces.append(f"{declarations[-1]}){end}")
    lines = [opening + pieces[0]]
    for piece in pieces[1:]:
        if len(lines[-1]) + len(" ") + len(piece) <= WIDTH:
            lines[-1] += f" {piece}"
        else:
            lines.append(" " * len(opening) + piece)
    return "\n".join(lines) + "\n"


def integers(tables: Tables) -> str:
    """The integer types."""
    lines = [f"typedef {c_type} {name};\n" for name, c_type in tables.integers.items()]
    return comment("Integers for addresses, file offsets and large counts") + "".join(lines)


def handles(tables: Tables) -> str:
    """The handle types."""
    lines = [f"typedef struct {tag} *{name};\n" for name, tag in tables.handles.items()]
    return comment("Handles: pointers to structures only the library knows") + "".join(lines)


def status(tables: Tables) -> str:
    """The status structure."""
    fields = [f"    {declare(c_type, name)};\n" for name, c_type in tables.status.items()]
    return (
        comment("Status of a message: three public fields; the rest, to 32 bytes, is the library's")
        + "typedef struct {\n"
        + "".join(fields)
        + "} MPI_Status;\n"
    )


def enumeration(section: Section) -> str:
    """Constants whose type is an enumeration of their own."""
    width = max(len(constant.name) for constant in section.constants)
    lines = [f"    {constant.name:<{width}} = {section.literal(constant)}" for constant in section.constants]
    return comment(section.about) + f"typedef enum {section.type} {{\n" + ",\n".join(lines) + f"\n}} {section.type};\n"


def value(section: Section, constant: Constant, tables: Tables) -> str:
    """What the macro of a constant stands for."""
    literal = section.literal(constant)
    if constant.alias_of:
        return constant.alias_of
    if section.type == "int":
        return f"({literal})" if constant.value < 0 else literal
    if section.type in tables.integers:
        return f"MPI_ABI_INTEGER({section.type}, {literal})"
    return f"MPI_ABI_POINTER({section.type}, {literal})"


def macros(section: Section, tables: Tables) -> str:
    """Constants as macros: of type int exactly, in C++ too, and visible to #ifdef."""
    width = max(len(constant.name) for constant in section.constants)
    lines = [
        f"#define {constant.name:<{width}} {value(section, constant, tables)}{remark(constant.deprecated)}\n"
        for constant in section.constants
    ]
    return comment(section.about) + "".join(lines)


def callback(declared: Callback) -> str:
    """The type of a callback."""
    start = f"typedef {declare(declared.returns, declared.name)}"
    return prototype(start, declared.parameters, f";{remark(declared.deprecated)}")


def callbacks(tables: Tables) -> str:
    """All callback types and the old names of some."""
    lines = [callback(declared) for declared in tables.callbacks]
    lines += [f"typedef {present} {old};\n" for old, present in tables.aliases.items()]
    return comment("Functions that programs hand to the library") + "".join(lines)


def function(declared: Function, prefix: str) -> str:
    """The prototype of a function under its MPI_ or PMPI_ name."""
    start = declare(declared.returns, prefix + declared.name)
    end = f";{remark(declared.deprecated)}"
    if not declared.in_standard:
        end += f" /* from {declared.origin}, not in the standard */"
    return prototype(start, declared.parameters, end)


def functions(tables: Tables, group: str, prefix: str) -> str:
    """The prototypes of a group."""
    return "".join(function(declared, prefix) for declared in tables.functions_of(group))


def fortran(tables: Tables) -> str:
    """What C has of Fortran: conversions of handles by the names that they have had before the ABI."""
    lines = []
    for prefix in ("", "P"):
        for declared in tables.functions_of("conversion"):
            if declared.name.endswith("_toint"):
                name = prefix + declared.name.removesuffix("_toint")
                lines += [f"#define {name}_c2f {name}_toint\n", f"#define {name}_f2c {name}_fromint\n"]
    return FORTRAN.replace("{handles}", "".join(lines))


def parts(tables: Tables) -> Iterator[str]:
    """The pieces of the header in order; a blank line goes between them."""
    enumerations = [section for section in tables.sections if is_enumeration(section, tables)]
    yield START
    yield integers(tables)
    yield handles(tables)
    yield status(tables)
    for section in enumerations:
        yield enumeration(section)
    yield callbacks(tables)
    yield CAST
    for section in tables.sections:
        if section not in enumerations:
            yield macros(section, tables)
    for group, about in tables.groups.items():
        yield comment(about) + functions(tables, group, "")
    for group, about in tables.groups.items():
        yield comment(f"Profiling names. {about}") + functions(tables, group, "P")
    yield fortran(tables)
    yield END


def is_enumeration(section: Section, tables: Tables) -> bool:
    """Whether the type of a section is an enumeration, which the section itself defines."""
    known = {"int", *tables.integers, *tables.handles}
    return not section.type.endswith("*") and section.type not in known


def header(tables: Tables) -> str:
    """The whole header."""
    return "\n".join(parts(tables))


def check(text: str) -> int:
    """Compare the committed header with `text`; say where they differ."""
    committed = HEADER.read_text(encoding="utf-8") if HEADER.exists() else ""
    if committed == text:
        return 0
    difference = difflib.unified_diff(
        committed.splitlines(), text.splitlines(), str(HEADER), "the tables", n=0, lineterm=""
    )
    for _, line in zip(range(SHOWN_LINES), difference, strict=False):
        print(line, file=sys.stderr)
    print(f"{HEADER} differs from the tables; run {sys.argv[0]}", file=sys.stderr)
    return 1


def main() -> int:
    """Write or check the header."""
    parser = argparse.ArgumentParser(description="Write include/mpi.h from the tables of the ABI.")
    parser.add_argument("--check", action="store_true", help="only compare; exit 1 if they differ")
    arguments = parser.parse_args()
    text = header(load())
    if arguments.check:
        return check(text)
    HEADER.parent.mkdir(parents=True, exist_ok=True)
    HEADER.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
