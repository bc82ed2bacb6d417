# SPDX-License-Identifier: BSD-3-Clause
"""The entry points that Fortran calls, in C++: they convert arguments and call the functions of C.

All arguments come by reference; the lengths of strings follow after the last argument. Where a function takes data of
any type there are two entry points: one with an address, for mpif.h and the module mpi, and one with a descriptor
(MPI_X_f08ts), for the module mpi_f08. The others serve all three.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from fortran_bindings import Argument, Binding
from tables import TEXT_LENGTHS, Function

LICENSE = "// SPDX-License-Identifier: BSD-3-Clause\n// Generated from the tables in abi/ by abi/generate_fortran.py.\n"

# Which groups have their entry points in which file.
FILES: Mapping[str, tuple[str, ...]] = {
    "entries_messages": ("point_to_point", "buffer", "request", "status", "partitioned"),
    "entries_collectives": ("collective", "operation"),
    "entries_neighbours": ("neighbourhood", "topology"),
    "entries_objects": ("communicator", "process", "attribute", "session", "group", "info", "error", "abi"),
    "entries_datatypes": ("environment", "datatype"),
    "entries_windows": ("rma",),
    "entries_files": ("io",),
}

# There is more to them than arguments: library/fortran/.
BY_HAND = frozenset(
    {
        *("MPI_Pcontrol", "MPI_Wtime", "MPI_Wtick", "MPI_Aint_add", "MPI_Aint_diff", "MPI_Info_create_env"),
        *("MPI_Info_get", "MPI_Info_get_string", "MPI_Session_get_nth_pset"),
        *(f"MPI_{kind}_{verb}_attr" for kind in ("Comm", "Type", "Win") for verb in ("get", "set")),
        *("MPI_Attr_get", "MPI_Attr_put", "MPI_Keyval_create"),
        *(f"MPI_{kind}_create_keyval" for kind in ("Comm", "Type", "Win")),
        *("MPI_Grequest_start", "MPI_Register_datarep", "MPI_Register_datarep_c"),
    }
)

# What precedes a call.
BEFORE: Mapping[str, str] = dict.fromkeys(("MPI_Init", "MPI_Init_thread", "MPI_Session_init"), "tell_about_fortran()")
# Whoever is made with a callback: it is called as Fortran calls.
CALLERS: Mapping[str, str] = {
    "MPI_Op_create": "call_operation_by({op}, call_operation)",
    "MPI_Op_create_c": "call_operation_by({op}, call_large_operation)",
    **{
        f"MPI_{name}_create_errhandler": f"call_errhandler_by({{errhandler}}, call_errhandler<{handle}>)"
        for name, handle in (("Comm", "MPI_Comm"), ("Session", "MPI_Session"), ("Win", "MPI_Win"), ("File", "MPI_File"))
    },
}

# How long arrays are that need converting, where that is not the function's first count.
LENGTHS: Mapping[tuple[str, str], str] = {
    ("MPI_Alltoallw", "sendtypes"): "peers(*comm)",
    ("MPI_Alltoallw", "recvtypes"): "peers(*comm)",
    ("MPI_Neighbor_alltoallw", "sendtypes"): "destinations(*comm)",
    ("MPI_Neighbor_alltoallw", "recvtypes"): "sources(*comm)",
    ("MPI_Type_get_contents", "array_of_datatypes"): "*max_datatypes",
    ("MPI_Cart_create", "periods"): "*ndims",
    ("MPI_Cart_map", "periods"): "*ndims",
    ("MPI_Cart_sub", "remain_dims"): "dimensions(*comm)",
    ("MPI_Cart_get", "periods"): "*maxdims",
}


# Data in one piece, described by a count and a datatype: a section of an array gets a datatype of its own, so that
# it is never copied. Other collective operations place several pieces in a buffer, or compute: on a copy.
COPIED_GROUPS = frozenset({"collective", "neighbourhood", "operation"})
DESCRIBED_ANYWAY = frozenset({"MPI_Bcast", "MPI_Ibcast", "MPI_Bcast_init"})
# What a call means for the copies of sections that a request has (library/fortran/copies.h).
USES: Mapping[str, str] = {"MPI_Start": "starts", "MPI_Startall": "starts", "MPI_Request_free": "frees"}
ASKING = "MPI_Request_get_status"


class Form(enum.Enum):
    """How the module mpi_f08 of an interface calls procedures with data of any type."""

    DESCRIPTORS = "with a descriptor as C has it, under a name of their own"
    GFORTRAN = "with gfortran's descriptor, under a name of their own"
    ADDRESSES = "with an address, as the older bindings do"


F08: Mapping[str, Form] = {"mpich": Form.GFORTRAN, "openmpi": Form.ADDRESSES}


def symbol(name: str) -> str:
    """The name as the linker has it, without the underscore."""
    return name.lower()


@dataclass
class Text:
    """The pieces of an entry point's text."""

    parameters: list[str] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)
    before: list[str] = field(default_factory=list)
    arguments: list[str] = field(default_factory=list)


class Entry:
    """One entry point. In some forms data comes with descriptors, and in one of them strings beside it as well."""

    def __init__(self, binding: Binding, name: str, form: Form) -> None:
        self.binding = binding
        self.name = name
        self.form = form
        self.descriptors = form is not Form.ADDRESSES
        self.plain = binding.name.removesuffix("_c")
        self.replaced: dict[str, str] = {}  # what is passed for counts and datatypes of sections

    @property
    def text(self) -> str:
        """Its definition."""
        text = Text()
        for argument in self.binding.arguments:
            self._add(argument, text)
        self._unused_arguments(text)
        parameters = ", ".join([*text.parameters, "int *ierror", *text.hidden])
        lines = list(text.before)
        if before := BEFORE.get(self.binding.name):
            lines.insert(0, before)
        call = f"{self.binding.name}({', '.join(text.arguments)})"
        if caller := CALLERS.get(self.binding.name):
            lines.append(f"const int code = {call}")
            made = {one.name: f"{one.name}_.made()" for one in self.binding.arguments if one.direction == "out"}
            lines.append(f"if (code == MPI_SUCCESS) {caller.format(**made)}")
            lines.append("return_code(ierror, code)")
        else:
            lines.append(f"return_code(ierror, {call})")
        if self._copies:
            persistent = "true" if self.plain.endswith("_init") else "false"
            kept = ", ".join(f"{name}_" for name in self._copies)
            lines[-1:] = [
                f"const int code = {call}",
                f"request_.keep(code, {persistent}, {kept})",
                "return_code(ierror, code)",
            ]
        body = "".join(f"    {line};\n" for line in lines)
        return f"FORTRAN_ENTRY({symbol(self.name)}, ({parameters})) {{\n{body}}}\n"

    def _unused_arguments(self, text: Text) -> None:
        """What C's function takes and Fortran does not give."""
        if self.binding.name in {"MPI_Init", "MPI_Init_thread"}:
            text.arguments[:0] = ["nullptr", "nullptr"]

    @property
    def _is_copied(self) -> bool:
        """Whether sections are copied."""
        return self.binding.function.group in COPIED_GROUPS and self.plain not in DESCRIBED_ANYWAY

    @property
    def _copies(self) -> Sequence[str]:
        """The buffers whose copies a request keeps."""
        requests = any(one.handle == "MPI_Request" and one.direction == "out" for one in self.binding.arguments)
        if not (self.descriptors and self._is_copied and requests):
            return ()
        return [one.name for one in self.binding.arguments if one.role == "choice"]

    def _piece(self, argument: Argument) -> tuple[Argument, Argument] | None:
        """The count and the datatype that say what data a buffer holds, or nothing."""
        arguments = self.binding.arguments
        count: Argument | None = None
        for one in arguments[arguments.index(argument) + 1 :]:
            if one.role == "choice":
                return None
            if one.parameter.kind == "count":
                count = one
            if one.parameter.kind == "datatype":
                return (count, one) if count else None
        return None

    def _add(self, argument: Argument, text: Text) -> None:
        adder = getattr(self, f"_add_{argument.role}")
        adder(argument, text)

    def _length(self, argument: Argument) -> str:
        plain = self.plain
        if plain.endswith(("lltoallw", "lltoallw_init")):
            plain = "MPI_Neighbor_alltoallw" if "eighbor" in plain else "MPI_Alltoallw"
        default = next((f"*{one.name}" for one in self.binding.arguments if one.parameter.kind == "count"), "0")
        return LENGTHS.get((plain, argument.name), default)

    def _converted(self, argument: Argument, text: Text, kind: str, *further: str) -> None:
        """An object takes the argument, is passed instead, and writes results back when it goes."""
        text.before.append(f"{kind} {argument.name}_({', '.join((argument.name, *further))})")
        text.arguments.append(f"{argument.name}_")

    def _add_handle(self, argument: Argument, text: Text) -> None:
        name, handle = argument.name, argument.handle
        constant = "const " if argument.direction == "in" else ""
        text.parameters.append(f"{constant}int *{name}")
        if handle == "MPI_Request" and (argument.direction != "in" or self.plain.startswith(ASKING)):
            self._add_request(argument, text)
        elif argument.is_array:
            kind = {"in": "HandlesIn", "inout": "HandlesInOut", "out": "HandlesOut"}[argument.direction]
            self._converted(argument, text, f"{kind}<{handle}>", self._length(argument))
        elif argument.direction == "in":
            text.arguments.append(self.replaced.get(name, f"to_native<{handle}>(*{name})"))
        else:
            self._converted(argument, text, f"Handle{'Out' if argument.direction == 'out' else 'InOut'}<{handle}>")

    def _add_request(self, argument: Argument, text: Text) -> None:
        use = f"Use::{USES.get(self.plain, 'completes')}"
        if argument.is_array:
            self._converted(argument, text, f"RequestsInOut<{use}>", self._length(argument))
        elif argument.direction == "inout":
            self._converted(argument, text, f"RequestInOut<{use}>")
        else:
            self._converted(argument, text, "RequestOut" if argument.direction == "out" else "AskedRequest")

    def _add_integer(self, argument: Argument, text: Text) -> None:
        name, integer = argument.name, argument.integer
        constant = "const " if argument.direction == "in" else ""
        if argument.parameter.type.endswith("[][3]"):
            text.parameters.append(f"int (*{name})[3]")
            text.arguments.append(name)
            return
        text.parameters.append(f"{constant}{integer} *{name}")
        scalar_in = argument.direction == "in" and not argument.is_array
        text.arguments.append(self.replaced.get(name, f"*{name}" if scalar_in else name))

    def _add_index(self, argument: Argument, text: Text) -> None:
        text.parameters.append(f"int *{argument.name}")
        if argument.is_array:
            self._converted(argument, text, "IntsOut<index_to_fortran>", self._length(argument))
        else:
            self._converted(argument, text, "IntOut<index_to_fortran>")

    def _add_logical(self, argument: Argument, text: Text) -> None:
        name = argument.name
        constant = "const " if argument.direction == "in" else ""
        text.parameters.append(f"{constant}int *{name}")
        kind = f"IntsIn<{'logical_to_c'}>" if argument.direction == "in" else "IntsOut<logical_to_fortran>"
        if argument.is_array:
            self._converted(argument, text, kind, self._length(argument))
        elif argument.direction == "in":
            text.arguments.append(f"logical_to_c(*{name})")
        else:
            self._converted(argument, text, "IntOut<logical_to_fortran>")

    def _add_status(self, argument: Argument, text: Text) -> None:
        constant = "const " if argument.direction == "in" else ""
        text.parameters.append(f"{constant}MPI_Status *{argument.name}")
        out = argument.direction == "out"
        text.arguments.append(f"unless_ignored({argument.name})" if out else argument.name)

    def _add_error_codes(self, argument: Argument, text: Text) -> None:
        text.parameters.append(f"int *{argument.name}")
        text.arguments.append(f"unless_ignored({argument.name})")

    def _add_weights(self, argument: Argument, text: Text) -> None:
        constant = "const " if argument.direction == "in" else ""
        text.parameters.append(f"{constant}int *{argument.name}")
        text.arguments.append(f"weights_to_c({argument.name})")

    def _add_text(self, argument: Argument, text: Text) -> None:
        name = argument.name
        if self.form is Form.DESCRIPTORS:
            text.parameters.append(f"const Descriptor *{name}")
            length: tuple[str, ...] = ()
        else:
            constant = "const " if argument.direction == "in" else ""
            text.parameters.append(f"{constant}char *{name}")
            text.hidden.append(f"std::size_t {name}_length")
            length = (f"{name}_length",)
        if argument.is_array:
            self._converted(argument, text, "TextsIn", *length, self._length(argument))
        elif argument.direction == "in":
            # Blanks around keys and values of info objects are none of theirs.
            kind = "TrimmedTextIn" if self.binding.function.group == "info" else "TextIn"
            self._converted(argument, text, kind, *length)
        else:
            room = TEXT_LENGTHS[self.binding.name, name]
            self._converted(argument, text, f"TextOut<{room}>", *length)

    def _add_words(self, argument: Argument, text: Text) -> None:
        name = argument.name
        text.parameters.append(f"const char *{name}")
        text.hidden.append(f"std::size_t {name}_length")
        if argument.is_array:
            self._converted(argument, text, "WordListsIn", f"{name}_length", self._length(argument))
        else:
            self._converted(argument, text, "WordsIn", f"{name}_length")

    def _add_descriptor(self, name: str, text: Text) -> None:
        if self.form is Form.DESCRIPTORS:
            text.parameters.append(f"const Descriptor *{name}")
            return
        text.parameters.append(f"const GfortranDescriptor *{name}_given")
        text.before.append(f"const Descriptor {name}_converted = converted(*{name}_given), *{name} = &{name}_converted")

    def _add_memory(self, argument: Argument, text: Text) -> None:
        constant = "const " if argument.direction == "in" and argument.parameter.type.startswith("const") else ""
        if self.descriptors:
            self._add_descriptor(argument.name, text)
            text.arguments.append(f"buffer_to_c(address_of(*{argument.name}))")
        else:
            text.parameters.append(f"{constant}void *{argument.name}")
            text.arguments.append(f"buffer_to_c({argument.name})")

    def _add_address(self, argument: Argument, text: Text) -> None:
        constant = "const " if argument.parameter.type.startswith("const") else ""
        text.parameters.append(f"{constant}void *{argument.name}")
        text.arguments.append(argument.name)

    def _add_choice(self, argument: Argument, text: Text) -> None:
        name, piece = argument.name, self._piece(argument)
        if not self.descriptors:
            self._add_memory(argument, text)
        elif self._is_copied or (self.binding.function.group == "datatype" and not piece):
            self._add_descriptor(name, text)
            self._converted(argument, text, "SectionCopy", "false" if argument.direction == "in" else "true")
        elif self.binding.function.group == "partitioned":
            # A partition of a section need not have the form of the next, so there is no datatype for them.
            self._add_memory(argument, text)
            text.before.append(
                f"if (!is_contiguous(*{name})) return return_code(ierror, refuse_section(to_native<MPI_Comm>(*comm)))"
            )
        elif piece:
            count, datatype = piece
            self._add_descriptor(name, text)
            text.before.append(
                f"const Section {name}_({name}, *{count.name}, to_native<MPI_Datatype>(*{datatype.name}))"
            )
            text.arguments.append(f"{name}_.address()")
            self.replaced[count.name] = f"{name}_.count<{count.integer}>()"
            self.replaced[datatype.name] = f"{name}_.datatype()"
        else:
            self._add_memory(argument, text)
            if self.binding.function.group == "rma":
                # One element, which operations take in one piece.
                one = f"is_one_element(*{name}, to_native<MPI_Datatype>(*datatype))"
                text.before.append(f"if (!{one}) return return_code(ierror, refuse_section(to_native<MPI_Win>(*win)))")

    def _add_pointer(self, argument: Argument, text: Text) -> None:
        name = argument.name
        if self.binding.detaches and "_f08" not in self.name:
            text.parameters.append("void *")
            text.before.append(f"void *{name} = nullptr")
            text.arguments.append(f"&{name}")
            return
        text.parameters.append(f"void **{name}")
        if self.binding.detaches:
            self._converted(argument, text, "BufferOut")
        else:
            text.arguments.append(name)

    def _add_callback(self, argument: Argument, text: Text) -> None:
        text.parameters.append(f"Callback {argument.name}")
        text.arguments.append(f"reinterpret_cast<{argument.parameter.type}>({argument.name})")


def aliases(binding: Binding, form: Form) -> Iterator[str]:
    """Other names of the entry point that serves all bindings."""
    if (
        (form is Form.ADDRESSES or not binding.has_choice)
        and binding.in_f08
        and not binding.detaches
        and binding.in_old
    ):
        yield f"{binding.name}_f08"
    if binding.has_pointer and not binding.detaches and binding.in_old:
        yield f"{binding.name}_cptr"


def entry_points(binding: Binding, form: Form) -> Iterator[str]:
    """The texts of a function's entry points."""
    function: Function = binding.function
    if binding.in_old:
        entry = Entry(binding, function.name, Form.ADDRESSES)
        yield entry.text
        for alias in aliases(binding, form):
            yield f"FORTRAN_ALIAS({symbol(function.name)}, {symbol(alias)});\n"
    if form is Form.ADDRESSES:
        if binding.in_f08 and binding.in_old and binding.detaches:
            yield Entry(binding, f"{function.name}_f08", form).text
    elif binding.in_f08 and (binding.has_choice or binding.detaches or not binding.in_old):
        yield Entry(binding, binding.specific, form if binding.has_choice else Form.ADDRESSES).text


def entries(bindings: Sequence[Binding], groups: Sequence[str], form: Form = Form.DESCRIPTORS) -> str:
    """The text of one file of entry points."""
    members = [one for one in bindings if one.function.group in groups and one.name not in BY_HAND]
    texts = "\n".join(text for binding in members for text in entry_points(binding, form))
    return (
        f'{LICENSE}#include "fortran/callbacks.h"\n#include "fortran/copies.h"\n#include "fortran/entry.h"\n\n'
        f"namespace volley::fortran {{\n\n{texts}\n}} // namespace volley::fortran\n"
    )
