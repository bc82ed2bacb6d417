# SPDX-License-Identifier: BSD-3-Clause
"""The modules mpi_f08_types, with types, constants and callbacks, and mpi_f08, with procedures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from fortran_bindings import Binding
from fortran_constants import ATTRIBUTE_KINDS, CONVERSIONS, KINDS, SENTINELS, STATUS, sections, value
from fortran_modules import ADDRESS, LICENSE, F08Declarations, Procedure, conversions, interface, sizeof, synchronise
from tables import Tables

# Sections are described to MPI or copied until the operation is complete (library/fortran/section.h), and compilers
# take buffers with the attribute ASYNCHRONOUS for such as change unseen.
SUPPORT = {"MPI_SUBARRAYS_SUPPORTED": ".true.", "MPI_ASYNC_PROTECTS_NONBLOCKING": ".true."}

# The types of variables whose addresses stand for something, where those of the older bindings do not fit.
SENTINEL_TYPES: Mapping[str, tuple[str, str]] = {
    "MPI_STATUS_IGNORE": ("type(MPI_Status)", ""),
    "MPI_STATUSES_IGNORE": ("type(MPI_Status)", "(1)"),
    "MPI_ARGV_NULL": ("character(len=1)", "(1)"),
    "MPI_ARGVS_NULL": ("character(len=1)", "(1, 1)"),
}

# Callbacks: their arguments, in order.
ERROR = ("integer :: ierror",)
ATTRIBUTE = "integer :: {0}_keyval"
DATAREP = ("type(c_ptr), value :: filebuf", "integer(kind=MPI_OFFSET_KIND) :: position", f"{ADDRESS} :: extra_state")
OTHER_CALLBACKS: Mapping[str, tuple[str, ...]] = {
    "MPI_Grequest_query_function": (f"{ADDRESS} :: extra_state", "type(MPI_Status) :: status", *ERROR),
    "MPI_Grequest_free_function": (f"{ADDRESS} :: extra_state", *ERROR),
    "MPI_Grequest_cancel_function": (f"{ADDRESS} :: extra_state", "logical :: complete", *ERROR),
    "MPI_Datarep_extent_function": (
        "type(MPI_Datatype) :: datatype",
        f"{ADDRESS} :: extent",
        f"{ADDRESS} :: extra_state",
        *ERROR,
    ),
}


def callbacks() -> Iterator[tuple[str, tuple[str, ...]]]:
    """The callbacks and their arguments."""
    for end, count in (("", "integer"), ("_c", "integer(kind=MPI_COUNT_KIND)")):
        buffers = ("type(c_ptr), value :: invec", "type(c_ptr), value :: inoutvec")
        yield f"MPI_User_function{end}", (*buffers, f"{count} :: len", "type(MPI_Datatype) :: datatype")
        user = ("type(c_ptr), value :: userbuf", "type(MPI_Datatype) :: datatype", f"{count} :: count")
        yield f"MPI_Datarep_conversion_function{end}", (*user, *DATAREP, *ERROR)
    for kind, handle in ATTRIBUTE_KINDS.items():
        name = f"MPI_{kind.title()}"
        yield f"{name}_copy_attr_function", copy_arguments(kind, handle)
        yield f"{name}_delete_attr_function", delete_arguments(kind, handle)
    for kind in ("Comm", "Win", "File", "Session"):
        arguments = (f"type(MPI_{kind}) :: {kind.lower()}", "integer :: error_code")
        yield f"MPI_{kind}_errhandler_function", arguments
    yield from OTHER_CALLBACKS.items()


def copy_arguments(kind: str, handle: str) -> tuple[str, ...]:
    """The arguments of a function that copies attributes."""
    values = (f"{ADDRESS} :: attribute_val_in", f"{ADDRESS} :: attribute_val_out", "logical :: flag")
    owner = f"type({handle}) :: old{kind.lower()}"
    return owner, ATTRIBUTE.format(kind.lower()), f"{ADDRESS} :: extra_state", *values, *ERROR


def delete_arguments(kind: str, handle: str) -> tuple[str, ...]:
    """The arguments of a function that deletes attributes."""
    values = (f"{ADDRESS} :: attribute_val", f"{ADDRESS} :: extra_state")
    return f"type({handle}) :: {kind.lower()}", ATTRIBUTE.format(kind.lower()), *values, *ERROR


def subroutine(name: str, declarations: Sequence[str]) -> Iterator[str]:
    """The interface of a callback."""
    names = ", ".join(one.partition(":: ")[2] for one in declarations)
    words = " ".join(declarations).replace("(", " ").replace(")", " ").replace("=", " ").replace(",", " ").split()
    imported = sorted({word for word in words if word == "c_ptr" or word.startswith("MPI_")})
    yield f"    subroutine {name}({names})"
    yield f"      import :: {', '.join(imported)}"
    yield from (f"      {line}" for line in declarations)
    yield f"    end subroutine {name}"


def module_types(tables: Tables) -> str:
    """mpi_f08_types.f90."""
    lines = [f"{LICENSE}module mpi_f08_types", "  use, intrinsic :: iso_c_binding, only: c_ptr", "  implicit none"]
    lines += ["  private :: c_ptr", "", "  ! Kinds of integers, and a status as an array"]
    lines += [f"  integer, parameter :: {name} = {number}" for name, number in {**KINDS, **STATUS}.items()]
    handles = [handle for handle in tables.handles if not handle.startswith("MPI_T_")]
    for handle in handles:
        lines += ["", f"  type, bind(C) :: {handle}", "    integer :: MPI_VAL", f"  end type {handle}"]
    fields = ["    integer :: MPI_SOURCE", "    integer :: MPI_TAG", "    integer :: MPI_ERROR"]
    lines += [
        "",
        "  type, bind(C) :: MPI_Status",
        *fields,
        "    integer, private :: internal(5)",
        "  end type MPI_Status",
    ]
    for section, handle in sections(tables):
        lines += ["", f"  ! {section.about}"]
        for constant in section.constants:
            number = value(section, constant.value)
            text = f"{handle}({number})" if handle else str(number)
            lines += [f"  {f'type({handle})' if handle else 'integer'}, parameter :: {constant.name} = {text}"]
    lines += ["", "  integer(kind=MPI_OFFSET_KIND), parameter :: MPI_DISPLACEMENT_CURRENT = -1_MPI_OFFSET_KIND"]
    lines += [f"  logical, parameter :: {name} = {truth}" for name, truth in SUPPORT.items()]
    lines += ["", "  ! Variables whose addresses stand for something else than data"]
    for sentinel in SENTINELS:
        shape = f"({sentinel.shape})" if sentinel.shape else ""
        type_name, shape = SENTINEL_TYPES.get(sentinel.name, (sentinel.kind, shape))
        lines += [f'  {type_name}, target, bind(C, name="{sentinel.block}_") :: {sentinel.name}{shape}']
    lines += ["", "  abstract interface"]
    arguments = dict(callbacks())
    for name, declarations in arguments.items():
        lines += subroutine(name, declarations)
    lines += ["  end interface", "", "  interface"]
    for kind, handle in ATTRIBUTE_KINDS.items():
        for name in ("NULL_COPY_FN", "DUP_FN"):
            lines += subroutine(f"MPI_{kind}_{name}", copy_arguments(kind, handle))
        lines += subroutine(f"MPI_{kind}_NULL_DELETE_FN", delete_arguments(kind, handle))
    for name, end in zip(CONVERSIONS, ("", "_c"), strict=True):
        lines += subroutine(name, arguments[f"MPI_Datarep_conversion_function{end}"])
    lines += ["  end interface"]
    for operator, name in (("==", "equal"), ("/=", "unequal")):
        lines += ["", f"  interface operator({operator})"]
        for handle in handles:
            lines += comparison(f"volley_fortran_{name}_{handle.removeprefix('MPI_').lower()}", handle)
        lines += [f"  end interface operator({operator})"]
    lines += ["end module mpi_f08_types"]
    return "\n".join(lines) + "\n"


def comparison(name: str, handle: str) -> Iterator[str]:
    """The interface of a function that compares two handles."""
    yield f"    pure logical function {name}(first, second)"
    yield f"      import :: {handle}"
    yield f"      type({handle}), intent(in) :: first, second"
    yield f"    end function {name}"


def signature(binding: Binding) -> tuple[str, ...]:
    """What a generic name is resolved by."""
    declarations = F08Declarations()
    lines = (line for one in binding.arguments for line in declarations.lines(binding, one))
    return tuple(line.partition(" ::")[0].replace("MPI_COUNT_KIND", "MPI_ADDRESS_KIND") for line in lines)


def module_f08(bindings: Sequence[Binding]) -> str:
    """mpi_f08.f90."""
    declarations = F08Declarations()
    generics: dict[str, list[Binding]] = {}
    for binding in bindings:
        if not binding.in_f08:
            continue
        members = generics.setdefault(binding.generic, [])
        # Where addresses and counts are all that differs, the plain form takes both: they have the same kind.
        if signature(binding) not in [signature(one) for one in members]:
            members.append(binding)
    lines = [f"{LICENSE}module mpi_f08", "  use, intrinsic :: iso_c_binding, only: c_ptr", "  use mpi_f08_types"]
    lines += ["  implicit none", "  private :: c_ptr"]
    for prefix in ("", "P"):
        for name, members in generics.items():
            procedures = [Procedure(one, f"{prefix}{one.specific}", declarations) for one in members]
            lines += ["", *interface(f"{prefix}{name}", procedures)]
        lines += ["", *sizeof(prefix), "", *conversions(prefix, optional=", optional")]
        bind = f' bind(C, name="{prefix.lower()}mpi_f_sync_reg_f08ts_")'
        lines += ["", *synchronise(prefix, "dimension(..)", bind)]
    lines += ["end module mpi_f08"]
    return "\n".join(lines) + "\n"
