# SPDX-License-Identifier: BSD-3-Clause
"""The modules mpi and mpi_f08: interfaces of the entry points, and constants. They hold no code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fortran_bindings import Argument, Binding
from fortran_constants import (
    CALLBACKS,
    CONVERSIONS,
    OLD_CALLBACKS,
    OLD_SUPPORT,
    SENTINELS,
    numbers,
)
from tables import Tables

LICENSE = "! SPDX-License-Identifier: BSD-3-Clause\n! Generated from the tables in abi/ by abi/generate_fortran.py.\n"
WIDTH = 120
KINDS = {"MPI_Aint": "MPI_ADDRESS_KIND", "MPI_Count": "MPI_COUNT_KIND", "MPI_Offset": "MPI_OFFSET_KIND"}
INTENTS = {"in": ", intent(in)", "out": ", intent(out)", "inout": ", intent(inout)"}

# Extra state and values of attributes, which programs hand to callbacks.
ADDRESS = "integer(kind=MPI_ADDRESS_KIND)"


def integer(c_type: str) -> str:
    """The type of an integer of C."""
    return f"integer(kind={KINDS[c_type]})" if c_type in KINDS else "integer"


def wrapped(text: str, indent: str) -> Iterator[str]:
    """A statement, continued where it is long."""
    line = indent
    for word in text.split(" "):
        if len(line) + len(word) + 3 > WIDTH and line.strip():
            yield f"{line}&"
            line = f"{indent}  "
        line += f"{word} "
    yield line.rstrip()


class Declarations:
    """How one of the modules declares arguments."""

    f08 = False

    def lines(self, binding: Binding, argument: Argument) -> Iterator[str]:
        """The declarations of an argument, and what compilers are told of it."""
        if argument.is_choice or (argument.role == "pointer" and binding.detaches and not self.f08):
            yield from self.choice(binding, argument)
            return
        if argument.role == "address":
            # No descriptor: with one, the procedure had to be one of C, which takes no LOGICAL beside it.
            yield from Declarations.choice(self, binding, argument)
            return
        type_name, intent = self.type_of(binding, argument)
        shape = ""
        if argument.parameter.type.endswith("[][3]"):
            shape = "(3, *)"
        elif argument.role == "words":
            shape = f"({self.first_count(binding)}, *)" if argument.is_array else "(*)"
        elif argument.role == "status":
            shape = self.status_shape(argument)
        elif argument.is_array:
            shape = "(*)"
        yield f"{type_name}{intent} :: {argument.name}{shape}"

    def first_count(self, binding: Binding) -> str:
        """The name of the first count."""
        return next(one.name for one in binding.arguments if one.parameter.kind == "count")

    def status_shape(self, argument: Argument) -> str:
        """The shape of statuses."""
        return "(*)" if argument.is_array else ""

    def type_of(self, binding: Binding, argument: Argument) -> tuple[str, str]:
        """The type of an argument, and its intent."""
        intent = INTENTS[argument.direction]
        match argument.role:
            case "handle":
                return self.handle(argument.handle), intent
            case "integer" | "index":
                return integer(argument.integer), intent
            case "weights" | "error_codes":
                # MPI_UNWEIGHTED and others are no values.
                return "integer", intent if argument.direction == "in" else ""
            case "logical":
                return "logical", intent
            case "text" | "words":
                return "character(len=*)", intent
            case "status":
                return self.status, intent if argument.direction != "out" else ""
            case "pointer":
                return ("type(c_ptr)" if self.f08 else ADDRESS), intent
            case "extra_state" | "attribute":
                return (ADDRESS if binding.in_f08 else "integer"), intent
        return self.callback(argument), ""

    status = "integer"

    def handle(self, handle: str) -> str:
        """The type of a handle."""
        return "integer"

    def callback(self, argument: Argument) -> str:
        """The type of a callback."""
        return "external"

    def choice(self, binding: Binding, argument: Argument) -> Iterator[str]:
        """Data of any type."""
        asynchronous = ", asynchronous" if binding.leaves_buffers else ""
        yield f"type(*), dimension(*){asynchronous} :: {argument.name}"
        yield f"!GCC$ ATTRIBUTES NO_ARG_CHECK :: {argument.name}"
        yield f"!DIR$ IGNORE_TKR {argument.name}"


class OldDeclarations(Declarations):
    """Of the module mpi."""

    def status_shape(self, argument: Argument) -> str:
        """Statuses are arrays themselves."""
        return "(MPI_STATUS_SIZE, *)" if argument.is_array else "(MPI_STATUS_SIZE)"


class F08Declarations(Declarations):
    """Of the module mpi_f08."""

    f08 = True
    status = "type(MPI_Status)"

    def handle(self, handle: str) -> str:
        """A type for each kind."""
        return f"type({handle})"

    def callback(self, argument: Argument) -> str:
        """A procedure of known interface."""
        return f"procedure({argument.parameter.type.removesuffix(' *')})"

    def choice(self, binding: Binding, argument: Argument) -> Iterator[str]:
        """Data of any type, by a descriptor."""
        intent = ", intent(in)" if argument.parameter.type.startswith("const") else ""
        asynchronous = ", asynchronous" if binding.leaves_buffers else ""
        yield f"type(*), dimension(..){intent}{asynchronous} :: {argument.name}"


class Procedure:
    """The interface of one procedure."""

    def __init__(self, binding: Binding, name: str, declarations: Declarations, pointers: bool = False) -> None:
        self.binding = binding
        self.name = name
        self.declarations = declarations
        self.pointers = pointers

    @property
    def lines(self) -> Iterator[str]:
        """Its text."""
        binding, f08 = self.binding, self.declarations.f08
        kind = "function" if binding.returns else "subroutine"
        code = ["ierror"] if binding.returns_code else []
        names = ", ".join([*(argument.name for argument in binding.arguments), *code])
        bind = f' bind(C, name="{self.name.lower()}_")' if f08 and binding.has_choice else ""
        yield from wrapped(f"{kind} {self.name}({names}){bind}", "    ")
        declared: list[str] = []
        for argument in binding.arguments:
            if argument.role == "pointer" and self.pointers:
                declared.append(f"type(c_ptr), intent(out) :: {argument.name}")
            else:
                declared += self.declarations.lines(binding, argument)
        if code:
            declared.append(f"integer{', optional' if f08 else ''}, intent(out) :: ierror")
        if binding.returns:
            result = "double precision" if binding.returns == "double" else integer(binding.returns)
            declared.append(f"{result} :: {self.name}")
        imported = self._imported(declared)
        if imported:
            yield from wrapped(f"import :: {', '.join(imported)}", "      ")
        for line in declared:
            yield from wrapped(line, "      ") if not line.startswith("!") else [f"      {line}"]
        yield f"    end {kind} {self.name}"

    def _imported(self, declared: Sequence[str]) -> list[str]:
        words: dict[str, None] = {}
        for line in declared:
            if line.startswith("!"):
                continue
            text = line.replace("(", " ").replace(")", " ").replace(",", " ").replace("=", " ").split("::")
            candidates = text[0].split() + ([word for word in text[1].split() if word == "MPI_STATUS_SIZE"])
            words |= {word: None for word in candidates if word.startswith("MPI_") or word == "c_ptr"}
        return list(words)


def interface(name: str, procedures: Sequence[Procedure]) -> Iterator[str]:
    """A name and what it stands for.

    A single procedure of that name is no generic one: only then may an element of an array stand for the array that
    begins there, as in MPI_Wait(request, statuses(1, i), ierror).
    """
    generic = "" if [procedure.name for procedure in procedures] == [name] else f" {name}"
    yield f"  interface{generic}"
    for procedure in procedures:
        yield from procedure.lines
    yield f"  end interface{generic}"


def module_mpi(tables: Tables, bindings: Sequence[Binding]) -> str:
    """mpi.f90."""
    lines = [
        f"{LICENSE}module mpi",
        "  use, intrinsic :: iso_c_binding, only: c_ptr",
        "  use mpi_f08_types, only: MPI_Status",
        "  implicit none",
        "  private :: c_ptr",
    ]
    for about, constants in numbers(tables):
        lines += ["", f"  ! {about}"]
        lines += [f"  integer, parameter :: {name} = {number}" for name, number in constants]
    lines += ["", "  integer(kind=MPI_OFFSET_KIND), parameter :: MPI_DISPLACEMENT_CURRENT = -1_MPI_OFFSET_KIND"]
    lines += ["", "  ! Sections that are not contiguous are copied by the compiler."]
    lines += [f"  logical, parameter :: {name} = {truth}" for name, truth in OLD_SUPPORT.items()]
    lines += ["", "  ! Variables whose addresses stand for something else than data"]
    for sentinel in SENTINELS:
        shape = f"({sentinel.shape})" if sentinel.shape else ""
        lines += [f"  {sentinel.kind} :: {sentinel.name}{shape}", f"  common /{sentinel.block}/ {sentinel.name}"]
    lines += ["", *(f"  external :: {name}" for name in (*OLD_CALLBACKS, *CALLBACKS, CONVERSIONS[0]))]
    declarations = OldDeclarations()
    members = [binding for binding in bindings if binding.in_old]
    for prefix in ("", "P"):
        for binding in members:
            name = f"{prefix}{binding.name}"
            procedures = [Procedure(binding, name, declarations)]
            if binding.has_pointer and not binding.detaches:
                procedures.append(Procedure(binding, f"{name}_cptr", declarations, pointers=True))
            lines += ["", *interface(name, procedures)]
        lines += ["", *sizeof(prefix), "", *conversions(prefix, optional="")]
        lines += ["", *synchronise(prefix, "dimension(*)", "")]
    lines += ["end module mpi"]
    return "\n".join(lines) + "\n"


def sizeof(prefix: str) -> Iterator[str]:
    """MPI_Sizeof, of anything: a descriptor says how large an element is. Both modules have the same."""
    name = f"{prefix}MPI_Sizeof"
    yield f"  interface {name}"
    yield f'    subroutine {name}_f08ts(x, size, ierror) bind(C, name="{name.lower()}_f08ts_")'
    yield "      type(*), dimension(..) :: x"
    yield "      integer, intent(out) :: size"
    yield "      integer, optional, intent(out) :: ierror"
    yield f"    end subroutine {name}_f08ts"
    yield f"  end interface {name}"


def synchronise(prefix: str, dimension: str, bind: str) -> Iterator[str]:
    """MPI_F_sync_reg, which does nothing, and which no compiler knows to do nothing."""
    name = f"{prefix}MPI_F_sync_reg"
    specific = f"{name}_f08ts" if bind else name
    yield f"  interface {name}"
    yield f"    subroutine {specific}(buf){bind}"
    yield f"      type(*), {dimension}, asynchronous :: buf"
    if not bind:
        yield "      !GCC$ ATTRIBUTES NO_ARG_CHECK :: buf"
        yield "      !DIR$ IGNORE_TKR buf"
    yield f"    end subroutine {specific}"
    yield f"  end interface {name}"


def conversions(prefix: str, optional: str) -> Iterator[str]:
    """Statuses as arrays and as a type."""
    for name, intents in (("f2f08", ("in", "out")), ("f082f", ("out", "in"))):
        names = ("f_status", "f08_status") if name == "f2f08" else ("f08_status", "f_status")
        specific = f"{prefix}MPI_Status_{name}{'_f08' if optional else ''}"
        yield f"  interface {prefix}MPI_Status_{name}"
        yield f"    subroutine {specific}({', '.join(names)}, ierror)"
        yield "      import :: MPI_STATUS_SIZE, MPI_Status"
        yield f"      integer, intent({intents[0]}) :: f_status(MPI_STATUS_SIZE)"
        yield f"      type(MPI_Status), intent({intents[1]}) :: f08_status"
        yield f"      integer{optional}, intent(out) :: ierror"
        yield f"    end subroutine {specific}"
        yield f"  end interface {prefix}MPI_Status_{name}"
