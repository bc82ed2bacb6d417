# SPDX-License-Identifier: BSD-3-Clause
"""The functions as Fortran has them (MPI 5.0, chapter 19): which there are, and what their arguments are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tables import Function, Parameter, Tables

# C only: handles as integers, which Fortran's are; and the tool interface.
LEFT_OUT_GROUPS = frozenset({"conversion", "tool"})
# The program's arguments, which C's main function has. What stands behind MPI_Pcontrol's level.
LEFT_OUT = frozenset(
    {
        *((name, argument) for name in ("MPI_Init", "MPI_Init_thread") for argument in ("argc", "argv")),
        *(("MPI_Info_create_env", argument) for argument in ("argc", "argv")),
        ("MPI_Pcontrol", ""),
    }
)
# Names that differ from C's, as a program may use them as keywords.
NAMES: Mapping[str, str] = {"indx": "index"}

# Of the first version of the standard, with attributes of INTEGER. The module mpi_f08 does not have them.
OLD = frozenset({f"MPI_{name}" for name in ("Attr_delete", "Attr_get", "Attr_put", "Keyval_create", "Keyval_free")})
# The plain and the large form differ in nothing that a generic name could be resolved by.
OWN_NAME = frozenset({"MPI_Op_create_c", "MPI_Register_datarep_c"})
# Without the argument ierror.
WITHOUT_CODE = frozenset({"MPI_Pcontrol", "MPI_Wtime", "MPI_Wtick", "MPI_Aint_add", "MPI_Aint_diff"})
# Positions in an array of requests count from 1.
COUNT_FROM_ONE = frozenset(
    {f"MPI_{name}" for name in ("Waitany", "Testany", "Waitsome", "Testsome")}
    | {"MPI_Request_get_status_any", "MPI_Request_get_status_some"}
)
# Whether the address of a buffer or window comes back in it. In the older bindings its argument has the wrong
# type, and is not used.
DETACH_ENDS = ("_detach", "_detach_buffer")

# By kind of the tables, what an argument is. Others are integers.
ROLES: Mapping[str, str] = {
    "flag": "logical",
    "string": "text",
    "argument_vector": "words",
    "buffer": "choice",
    "memory": "memory",
    "fortran_logical": "address",
    "memory_pointer": "pointer",
    "status": "status",
    "callback": "callback",
    "extra_state": "extra_state",
    "attribute_value": "attribute",
    "weight": "weights",
}


@dataclass(frozen=True)
class Argument:
    """One argument. `integer` is the C type of its elements if they are integers, `handle` if they are handles."""

    name: str
    role: str
    direction: str
    parameter: Parameter
    handle: str = ""
    integer: str = ""

    @property
    def is_array(self) -> bool:
        """Whether it is an array in Fortran."""
        return self.parameter.is_array

    @property
    def is_choice(self) -> bool:
        """Whether it may have any type: data, or memory."""
        return self.role in {"choice", "memory"}


@dataclass(frozen=True)
class Binding:
    """A function as Fortran has it."""

    function: Function
    arguments: tuple[Argument, ...]

    @property
    def name(self) -> str:
        """The name in the standard."""
        return self.function.name

    @property
    def has_choice(self) -> bool:
        """Whether there is an argument of any type."""
        return any(argument.is_choice for argument in self.arguments)

    @property
    def has_pointer(self) -> bool:
        """Whether the address of memory comes back."""
        return any(argument.role == "pointer" for argument in self.arguments)

    @property
    def detaches(self) -> bool:
        """Whether it gives an attached buffer back."""
        return self.name.removesuffix("_c").endswith(DETACH_ENDS) and self.has_pointer

    @property
    def returns_code(self) -> bool:
        """Whether it is a subroutine with ierror."""
        return self.name not in WITHOUT_CODE

    @property
    def returns(self) -> str:
        """The C type of a function's result; empty for subroutines."""
        return "" if self.function.returns == "int" else self.function.returns

    @property
    def in_old(self) -> bool:
        """Whether mpif.h and the module mpi have it."""
        return not self.function.large_count

    @property
    def in_f08(self) -> bool:
        """Whether the module mpi_f08 has it."""
        return self.name not in OLD

    @property
    def generic(self) -> str:
        """The name that programs with mpi_f08 write."""
        return self.name if self.name in OWN_NAME else self.name.removesuffix("_c")

    @property
    def specific(self) -> str:
        """The name of the procedure in the module mpi_f08 (MPI 5.0, section 19.1.5)."""
        return f"{self.name}_f08ts" if self.has_choice else f"{self.name}_f08"

    @property
    def leaves_buffers(self) -> bool:
        """Whether buffers are in use after it returns."""
        results = {argument.handle for argument in self.arguments if argument.direction == "out"}
        groups = {"rma", "buffer"}
        split = self.name.removesuffix("_c").endswith(("_begin", "_end"))
        return "MPI_Request" in results or self.function.group in groups or split or self.name == "MPI_Get_address"


def element(parameter: Parameter) -> str:
    """The C type of one element: "const MPI_Comm *" gives "MPI_Comm"."""
    return parameter.type.partition("[")[0].removeprefix("const ").replace("*", "").strip()


def argument_of(function: Function, parameter: Parameter, handles: frozenset[str]) -> Argument:
    """What a parameter is in Fortran."""
    kind = parameter.kind.removesuffix("[]")
    name = NAMES.get(parameter.name, parameter.name)
    base = element(parameter)
    role = ROLES.get(kind, "handle" if base in handles else "integer")
    if kind == "index" and function.name in COUNT_FROM_ONE:
        role = "index"
    if kind == "error_code" and parameter.is_array:
        role = "error_codes"
    integer = base if role in {"integer", "index", "error_codes", "weights"} else ""
    return Argument(name, role, parameter.direction, parameter, base if role == "handle" else "", integer)


def bindings(tables: Tables) -> Iterator[Binding]:
    """All functions that Fortran has, in the order of the table."""
    handles = frozenset(tables.handles)
    for function in tables.functions:
        if function.group in LEFT_OUT_GROUPS or not function.in_standard:
            continue
        yield Binding(
            function,
            tuple(
                argument_of(function, parameter, handles)
                for parameter in function.parameters
                if (function.name, parameter.name) not in LEFT_OUT
            ),
        )
