# SPDX-License-Identifier: BSD-3-Clause
"""Constants as Fortran has them: mpif.h, and what the modules say of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tables import Section, Tables

# Of C alone: the tool interface, sizes of Fortran's statuses in C, callbacks that are functions in Fortran, and
# addresses, which in Fortran are variables.
LEFT_OUT = frozenset({"tool_error_class", "recovery_error_class", "fortran_status", "file_displacement"})
# Strings end with a zero in C only, so they have room for one more character there.
ONE_LESS = "string_length"

KINDS = {"MPI_ADDRESS_KIND": 8, "MPI_COUNT_KIND": 8, "MPI_OFFSET_KIND": 8, "MPI_INTEGER_KIND": 4}
STATUS = {"MPI_STATUS_SIZE": 8, "MPI_SOURCE": 1, "MPI_TAG": 2, "MPI_ERROR": 3}


@dataclass(frozen=True)
class Sentinel:
    """A variable whose address stands for something; `kind` is its type in the older bindings."""

    name: str
    kind: str
    shape: str = ""

    @property
    def block(self) -> str:
        """The common block of which it is all; the linker's name has an underscore more."""
        return f"volley_fortran_{self.name.removeprefix('MPI_').lower()}"


SENTINELS = (
    Sentinel("MPI_BOTTOM", "integer"),
    Sentinel("MPI_IN_PLACE", "integer"),
    Sentinel("MPI_BUFFER_AUTOMATIC", "integer"),
    Sentinel("MPI_STATUS_IGNORE", "integer", "MPI_STATUS_SIZE"),
    Sentinel("MPI_STATUSES_IGNORE", "integer", "MPI_STATUS_SIZE,1"),
    Sentinel("MPI_ERRCODES_IGNORE", "integer", "1"),
    Sentinel("MPI_UNWEIGHTED", "integer", "1"),
    Sentinel("MPI_WEIGHTS_EMPTY", "integer", "1"),
    Sentinel("MPI_ARGV_NULL", "character", "1"),
    Sentinel("MPI_ARGVS_NULL", "character", "1,1"),
)

# Predefined callbacks: procedures, whose addresses stand for what C has constants for.
ATTRIBUTE_KINDS = {"COMM": "MPI_Comm", "TYPE": "MPI_Datatype", "WIN": "MPI_Win"}
OLD_CALLBACKS = ("MPI_NULL_COPY_FN", "MPI_NULL_DELETE_FN", "MPI_DUP_FN")
CALLBACKS = tuple(
    f"MPI_{kind}_{name}" for kind in ATTRIBUTE_KINDS for name in ("NULL_COPY_FN", "NULL_DELETE_FN", "DUP_FN")
)
CONVERSIONS = ("MPI_CONVERSION_FN_NULL", "MPI_CONVERSION_FN_NULL_C")

# Sections of an array that are not contiguous: mpi_f08 takes descriptors, the others addresses.
OLD_SUPPORT = {"MPI_SUBARRAYS_SUPPORTED": ".false.", "MPI_ASYNC_PROTECTS_NONBLOCKING": ".false."}


def sections(tables: Tables) -> Iterator[tuple[Section, str]]:
    """The sections of integers and handles, and the handle's type or nothing."""
    for section in tables.sections:
        if section.name in LEFT_OUT or section.type.startswith("MPI_T_"):
            continue
        if section.type == "int":
            yield section, ""
        elif section.type in tables.handles:
            yield section, section.type


def value(section: Section, number: int) -> int:
    """A constant's value in Fortran."""
    return number - 1 if section.name == ONE_LESS else number


def numbers(tables: Tables) -> Iterator[tuple[str, list[tuple[str, int]]]]:
    """All constants of the older bindings that are INTEGER, by what they are."""
    yield "Kinds of integers", list(KINDS.items())
    yield "A status as an array: its size, and where its fields are", list(STATUS.items())
    for section, _ in sections(tables):
        yield section.about, [(constant.name, value(section, constant.value)) for constant in section.constants]


def header(tables: Tables) -> str:
    """mpif.h: what fixed and free form both take."""
    lines = [
        "! SPDX-License-Identifier: BSD-3-Clause",
        "! MPI 5.0 for Fortran in fixed and free form; mpi_f08 is the better way.",
        "! Generated from the tables in abi/ by abi/generate_fortran.py.",
    ]
    for about, constants in numbers(tables):
        lines += ["!", *comment(about)]
        for name, number in constants:
            lines += [f"      integer {name}", f"      parameter ({name}={number})"]
    lines += ["!", "! The current position of a file"]
    lines += ["      integer(kind=MPI_OFFSET_KIND) MPI_DISPLACEMENT_CURRENT"]
    lines += ["      parameter (MPI_DISPLACEMENT_CURRENT=-1)"]
    lines += ["!", "! Sections that are not contiguous are copied by the compiler."]
    for name, truth in OLD_SUPPORT.items():
        lines += [f"      logical {name}", f"      parameter ({name}={truth})"]
    lines += ["!", "! Variables whose addresses stand for something else than data"]
    for sentinel in SENTINELS:
        shape = f"({sentinel.shape})" if sentinel.shape else ""
        lines += [f"      {sentinel.kind} {sentinel.name}{shape}"]
        lines += [f"      common /{sentinel.block}/ {sentinel.name}", f"      save /{sentinel.block}/"]
    lines += ["!", "! Functions, and predefined callbacks"]
    for prefix in ("", "P"):
        lines += [f"      double precision {prefix}MPI_{name}" for name in ("WTIME", "WTICK")]
        lines += [f"      external {prefix}MPI_{name}" for name in ("WTIME", "WTICK")]
        for name in ("AINT_ADD", "AINT_DIFF"):
            lines += [f"      integer(kind=MPI_ADDRESS_KIND) {prefix}MPI_{name}", f"      external {prefix}MPI_{name}"]
    lines += [f"      external {name}" for name in (*OLD_CALLBACKS, *CALLBACKS, CONVERSIONS[0])]
    return "\n".join(lines) + "\n"


def comment(text: str) -> Iterator[str]:
    """A comment, wrapped to the columns that fixed form has."""
    line = "!"
    for word in text.split():
        if len(line) + len(word) + 1 > 72:
            yield line
            line = "!"
        line += f" {word}"
    yield line
