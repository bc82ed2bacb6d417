#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Write the library's entry points, and what they call, from the tables in this folder.

An entry point checks and decodes its arguments and calls a function of the same name, without "MPI_", in
the namespace volley::mpi, which people write; one such function serves the plain and the _c form. Written:

functions.h          declarations of all these functions
function_names.h     names by the number that a rank publishes in its CallStatus; needs nothing else
datatype_names.h     names of predefined datatypes by their handles; needs nothing else
entries_*.cpp        the entry points MPI_X (weak) and PMPI_X
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tables import Function, Parameter, Tables, declare, load

LICENSE = "// SPDX-License-Identifier: BSD-3-Clause\n// Generated from the tables in abi/ by abi/generate_entries.py.\n"

# Which groups have their entry points in which file.
FILES: Mapping[str, tuple[str, ...]] = {
    "entries_messages": ("point_to_point", "buffer", "request", "status", "partitioned"),
    "entries_collectives": ("collective", "neighbourhood", "operation"),
    "entries_communicators": ("communicator", "topology", "process", "attribute", "session", "group", "recovery"),
    "entries_windows": ("rma",),
    "entries_tool": ("tool",),
    "entries_objects": ("environment", "datatype", "info", "error", "conversion", "abi"),
    "entries_files": ("io",),
}

# May be called before MPI_Init and after MPI_Finalize (MPI 5.0, section 11.4.1). Functions that make or
# free error handlers need nothing of the job, so all of them are here, not only those the standard names.
ANYTIME_GROUPS = frozenset({"info", "abi"})
ANYTIME = frozenset(
    {
        "MPI_Init",
        "MPI_Init_thread",
        "MPI_Initialized",
        "MPI_Finalized",
        "MPI_Get_version",
        "MPI_Get_library_version",
        "MPI_Pcontrol",
        "MPI_Session_init",
        "MPI_Session_call_errhandler",
        "MPI_Session_create_errhandler",
        "MPI_Comm_create_errhandler",
        "MPI_File_create_errhandler",
        "MPI_Win_create_errhandler",
        "MPI_Errhandler_free",
        "MPI_Error_class",
        "MPI_Error_string",
        "MPI_Add_error_class",
        "MPI_Add_error_code",
        "MPI_Add_error_string",
        "MPI_Remove_error_class",
        "MPI_Remove_error_code",
        "MPI_Remove_error_string",
    }
)

# Need no lock, and so do not end the ownership of it (core/lock.h) if another thread calls them: they read what is
# constant or atomic. Those that are not allowed at any time have it while MPI is available.
LOCK_FREE = frozenset(
    {
        "MPI_Initialized",
        "MPI_Finalized",
        "MPI_Get_version",
        "MPI_Get_library_version",
        "MPI_Query_thread",
        "MPI_Is_thread_main",
    }
)

# Arguments reach these as C passes them: they are significant only in some ranks.
UNDECODED = frozenset({("MPI_Intercomm_create", "peer_comm"), ("MPI_Intercomm_create_from_groups", "remote_group")})
# The null handle has a meaning: implementations get a pointer, nullptr for it.
NULLABLE = frozenset(
    {
        ("MPI_Comm_get_name", "comm"),
        ("MPI_Type_get_name", "datatype"),
        ("MPI_Win_get_name", "win"),
        # With MPI_NO_OP nothing is said of the origin's data.
        *(
            (f"MPI_{name}{form}", "origin_datatype")
            for name in ("Get_accumulate", "Rget_accumulate")
            for form in ("", "_c")
        ),
        ("MPI_File_call_errhandler", "fh"),
        ("MPI_File_get_errhandler", "file"),
        ("MPI_File_set_errhandler", "file"),
    }
)
# Pointers to outputs that may be null.
NULL_ALLOWED = frozenset(
    {
        *((f"MPI_Comm_{name}", "port_name") for name in ("accept", "connect")),
        ("MPI_Comm_spawn", "command"),
        ("MPI_Init", "argc"),
        ("MPI_Init", "argv"),
        ("MPI_Init_thread", "argc"),
        ("MPI_Init_thread", "argv"),
        ("MPI_Info_get_string", "value"),
        ("MPI_Session_get_nth_pset", "pset_name"),
    }
)

# Their own errors go to the error handler that they are given for what they make, of this kind.
OWN_ERRHANDLER: Mapping[str, str] = {
    "MPI_Session_init": "sessions",
    "MPI_Comm_create_from_group": "communicators",
    "MPI_Intercomm_create_from_groups": "communicators",
}

# Older names of a function, or ones that differ from it only in the width of results.
SAME_AS: Mapping[str, str] = {
    "MPI_Attr_delete": "MPI_Comm_delete_attr",
    "MPI_Attr_get": "MPI_Comm_get_attr",
    "MPI_Attr_put": "MPI_Comm_set_attr",
    "MPI_Keyval_create": "MPI_Comm_create_keyval",
    "MPI_Keyval_free": "MPI_Comm_free_keyval",
    "MPI_Get_elements_x": "MPI_Get_elements",
    "MPI_Status_set_elements_x": "MPI_Status_set_elements",
    "MPI_Type_get_extent_x": "MPI_Type_get_extent",
    "MPI_Type_get_true_extent_x": "MPI_Type_get_true_extent",
    "MPI_Type_size_x": "MPI_Type_size",
}
# The two forms differ in more than the width of counts: an implementation each.
TWO_IMPLEMENTATIONS = frozenset(
    {"MPI_Type_get_contents", "MPI_Type_get_envelope", "MPI_Op_create", "MPI_Register_datarep"}
)
# Constructors that remember which form was called and cannot tell from an array of counts.
FORM_MATTERS = frozenset(
    {
        "MPI_Type_contiguous",
        "MPI_Type_vector",
        "MPI_Type_create_hvector",
        "MPI_Type_create_hindexed_block",
        "MPI_Type_create_resized",
    }
)

INTRACOMMUNICATOR = frozenset(
    {
        *(f"MPI_{name}" for name in ("Scan", "Exscan", "Iscan", "Iexscan", "Scan_init", "Exscan_init")),
        *(f"MPI_{name}" for name in ("Cart_create", "Graph_create", "Cart_map", "Graph_map")),
        *(f"MPI_{name}" for name in ("Dist_graph_create", "Dist_graph_create_adjacent")),
        *(
            f"MPI_{name}"
            for name in (
                "Comm_create_group",
                "Intercomm_create",
                "Comm_accept",
                "Comm_connect",
                "Comm_spawn",
                "Comm_spawn_multiple",
            )
        ),
        *(f"MPI_Win_{name}" for name in ("allocate", "allocate_shared", "create", "create_dynamic")),
    }
)
INTERCOMMUNICATOR = frozenset({"MPI_Comm_remote_size", "MPI_Comm_remote_group", "MPI_Intercomm_merge"})

# Handles whose objects implementations get: by reference, or as pointers where null has a meaning.
OBJECTS: Mapping[str, str] = {
    "MPI_Comm": "Communicator &",
    "MPI_Group": "Group &",
    "MPI_Datatype": "Datatype &",
    "MPI_Op": "Operation &",
    "MPI_Errhandler": "Errhandler &",
    "MPI_Info": "Info *",
    "MPI_Session": "Session &",
    "MPI_Win": "Window &",
    "MPI_File": "File &",
}
# Parameters whose types differ between the forms, as implementations get them.
WIDE: Mapping[str, str] = {
    "int": "Count",
    "MPI_Aint": "Count",
    "MPI_Count": "Count",
    "int *": "Count &",
    "MPI_Aint *": "Count &",
    "MPI_Count *": "Count &",
    "const int[]": "CountArray",
    "const MPI_Count[]": "CountArray",
    # Both are 64 bits wide where this library runs.
    "const MPI_Aint[]": "const Count *",
}

# The communicator that ranks among the arguments belong to.
COMMUNICATOR_OF: Mapping[str, str] = {"MPI_Comm": "*{}_object", "MPI_Win": "{}_object->communicator()"}

COLLECTIVE = frozenset({"collective", "neighbourhood"})
# Groups with functions that make an object together with all members of a communicator.
MAKERS = frozenset({"communicator", "topology", "process", "rma", "io"})
# Groups whose implementations say more about a wrong count than that it is negative, and that have arrays
# of a length that is the function's first count.
COUNTS_CHECKED_INSIDE = frozenset({"process", "datatype", "topology", "collective", "neighbourhood", "environment"})
ARRAYS_CHECKED = frozenset({"request", "group", "datatype", "partitioned"})
# Without a value of its own to return a failure in, or without anything that can fail.
UNGUARDED = frozenset({"MPI_Wtime", "MPI_Wtick", "MPI_Aint_add", "MPI_Aint_diff", "MPI_Pcontrol"})


def is_of_files(function: Function) -> bool:
    """Whether its failures go to the error handler of a file, or of MPI_FILE_NULL where there is no file."""
    return function.group == "io" or (function.name.startswith("MPI_File_") and function.group == "error")


def c_type(parameter: Parameter) -> str:
    """The type of a parameter, arrays as pointers."""
    if parameter.type == "const int":
        return "int"
    element, bracket, rest = parameter.type.partition("[]")
    if not bracket:
        return parameter.type
    if rest:
        return f"{element}(*){rest}"
    return f"{element}*" if element.endswith("*") else f"{element} *"


def c_declaration(parameter: Parameter, type_name: str) -> str:
    """A parameter of an implementation."""
    if "(*)" in type_name:
        return type_name.replace("(*)", f" (*{parameter.name})")
    if type_name.endswith("&"):
        return f"{type_name}{parameter.name}"
    return declare(type_name, parameter.name)


@dataclass(frozen=True)
class Implementation:
    """A function that people write, and the functions of the standard it serves."""

    plain: Function
    large: Function | None

    @property
    def name(self) -> str:
        """The name in volley::mpi."""
        return self.plain.name.removeprefix("MPIX_").removeprefix("MPI_")

    @property
    def takes_form(self) -> bool:
        """Whether it is told which form was called."""
        return self.plain.name in FORM_MATTERS

    @cached_property
    def types(self) -> tuple[str, ...]:
        """The C++ type of each parameter."""
        others = self.large.parameters if self.large else self.plain.parameters
        return tuple(self._type(one, other) for one, other in zip(self.plain.parameters, others, strict=True))

    def _type(self, parameter: Parameter, other: Parameter) -> str:
        if parameter.type != other.type:
            same_width = {parameter.type, other.type} == {"const MPI_Aint[]", "const MPI_Count[]"}
            return "const Count *" if same_width else WIDE[parameter.type]
        if not is_decoded(self.plain, parameter):
            return c_type(parameter)
        wanted = OBJECTS[parameter.type]
        return wanted.replace("&", "*") if (self.plain.name, parameter.name) in NULLABLE else wanted

    @property
    def declaration(self) -> str:
        """Its prototype, without semicolon."""
        if self.plain.group == "conversion":
            parameters = [c_declaration(parameter, c_type(parameter)) for parameter in self.plain.parameters]
        else:
            pairs = zip(self.plain.parameters, self.types, strict=True)
            parameters = [c_declaration(parameter, type_name) for parameter, type_name in pairs if parameter.name]
        if self.takes_form:
            parameters.insert(0, "CountForm form")
        return f"{declare(self.plain.returns, self.name)}({', '.join(parameters)})"


def is_decoded(function: Function, parameter: Parameter) -> bool:
    """Whether the implementation gets the object a handle names instead of the handle."""
    if parameter.type not in OBJECTS or parameter.direction != "in" or function.group in {"conversion", "tool"}:
        return False
    if parameter.type == "MPI_Datatype" and function.group in COLLECTIVE:
        return False
    return (function.name, parameter.name) not in UNDECODED


def implementations(tables: Tables) -> dict[str, Implementation]:
    """The implementation of each function, by the function's name."""
    by_name = {function.name: function for function in tables.functions}
    found: dict[str, Implementation] = {}
    for function in tables.functions:
        if function.name in SAME_AS:
            continue
        plain = function.name.removesuffix("_c")
        if plain in TWO_IMPLEMENTATIONS:
            found[function.name] = Implementation(function, None)
        elif not function.large_count:
            large = by_name.get(f"{function.name}_c")
            found[function.name] = Implementation(function, large)
            if large:
                found[large.name] = found[function.name]
    for alias, name in SAME_AS.items():
        found[alias] = found[name]
    return found


def export(function: Function, body: Iterable[str], used: Container[str] | None = None) -> str:
    """An entry point: its profiling name, and the plain one as a weak alias. Parameters not `used` lose their names."""
    parameters = ", ".join(
        declare(parameter.type, parameter.name if used is None or parameter.name in used else "")
        for parameter in function.parameters
    )
    lines = "".join(f"    {line}\n" for line in body)
    return (
        f"EXPORTED_AS({function.name});\n"
        f"EXPORTED {declare(function.returns, f'P{function.name}')}({parameters}) {{\n{lines}}}\n"
    )


class Entry:
    """The text of one entry point."""

    def __init__(self, function: Function, numbers: Mapping[str, int], implementation: Implementation) -> None:
        self.function = function
        self.number = numbers[function.name]
        self.plain_number = numbers[function.name.removesuffix("_c")]
        self.implementation = implementation

    @property
    def text(self) -> str:
        """Its definition."""
        if self.function.group == "tool":
            return export(self.function, self._tool())
        if self.function.name in UNGUARDED or self.function.group == "conversion":
            return export(self.function, self._unguarded())
        anytime = self.function.group in ANYTIME_GROUPS or self.function.name in ANYTIME
        body = list(self._lock_free(anytime)) if self.function.name in LOCK_FREE else []
        body.append(f"Call call({self.number}{', Call::Anytime{}' if anytime else ''});")
        if self._owner:
            body += self._decode_owner(self._owner)
        # C cannot pass an exception on. The standard library throws no others for want of memory.
        body += ["try {", *self._checks(), *self._faults(), *self._compare(), *self._work()]
        for reason in ("bad_alloc", "length_error"):
            body += [f"}} catch (const std::{reason} &) {{", self._finish("out_of_memory()")]
        body += ["} catch (const Interrupted &interrupted) {", self._finish("interrupted.code()")]
        body.append("}")
        return export(self.function, body)

    def _tool(self) -> Iterator[str]:
        """Errors of this interface are returned, never raised (MPI 5.0, section 15.3)."""
        yield f"Call call({self.number}, Call::Anytime{{}});"
        if self.function.name != "MPI_T_init_thread":
            yield "if (!tool::is_initialised()) return MPI_T_ERR_NOT_INITIALIZED;"
        names = ", ".join(parameter.name for parameter in self.function.parameters)
        yield "try {"
        yield f"return mpi::{self.implementation.name}({names});"
        yield "} catch (const std::bad_alloc &) {"
        yield "return MPI_T_ERR_MEMORY;"
        yield "}"

    def _lock_free(self, anytime: bool) -> Iterator[str]:
        """The good case without the lock; the others are errors."""
        pointers = [parameter.name for parameter in self.function.parameters if self._must_point(parameter)]
        conditions = ([] if anytime else ["engine.available"]) + [f"{name} != nullptr" for name in pointers]
        names = ", ".join(parameter.name for parameter in self.function.parameters)
        yield f"if ({' && '.join(conditions)}) [[likely]] return mpi::{self.implementation.name}({names});"

    def _compare(self) -> Iterator[str]:
        """In checking mode, ranks tell each other which blocking collective they are in, before they begin."""
        named = {parameter.name: parameter for parameter in self.function.parameters}
        if self.function.group != "collective" or "request" in named or "comm" not in named:
            return
        root = "root" if "root" in named else "-1"
        # All ranks must give the same amount where one count and one datatype describe it.
        amount = "count, datatype" if {"count", "datatype"} <= named.keys() else "0, MPI_DATATYPE_NULL"
        compare = f"compare_collective(*comm_object, {self.plain_number}, {root}, {amount})"
        yield f"if (node.settings.checking) [[unlikely]] {{ {self._check(compare)} }}"

    def _faults(self) -> Iterator[str]:
        """What all members do together is refused where they cannot any more."""
        named = {parameter.name for parameter in self.function.parameters if parameter.direction == "in"}
        makes = {"MPI_Comm *", "MPI_Win *", "MPI_File *"}
        is_maker = any(
            parameter.type in makes and parameter.direction == "out" for parameter in self.function.parameters
        )
        if self.function.group in COLLECTIVE or (is_maker and self.function.group in MAKERS):
            for name in sorted(named & {"comm", "comm_old", "local_comm", "intercomm"}):
                yield self._check(
                    f"{name}_object->fault == MPI_SUCCESS ? MPI_SUCCESS : failures.code_of(*{name}_object)"
                )

    def _unguarded(self) -> Iterator[str]:
        if self.function.group == "conversion":
            yield f"Call call({self.number}, Call::Anytime{{}});"
        names = ", ".join(parameter.name for parameter in self.function.parameters if parameter.name)
        yield f"return mpi::{self.implementation.name}({names});"

    @cached_property
    def _owner(self) -> Parameter | None:
        """The argument whose error handler is asked."""
        owners: tuple[str, ...] = ("MPI_Win", "MPI_Comm", "MPI_Session")
        if self.function.name in OWN_ERRHANDLER:
            owners = ("MPI_Errhandler",)
        elif is_of_files(self.function):
            owners = ("MPI_File",)
        for type_name in owners:
            for parameter in self.function.parameters:
                if (self.function.name, parameter.name) in NULLABLE:
                    continue
                if parameter.type == type_name and is_decoded(self.function, parameter):
                    return parameter
        return None

    def _finish(self, code: str, decoded: bool = True) -> str:
        owner = f"*{self._owner.name}_object, " if self._owner and decoded else ""
        finish = "finish_without_file" if is_of_files(self.function) and not owner else "finish"
        return f"return call.{finish}({owner}{code});"

    def _check(self, condition: str, decoded: bool = True) -> str:
        return f"if (int code = {condition}) [[unlikely]] {self._finish('code', decoded)}"

    def _decode_owner(self, owner: Parameter) -> Iterator[str]:
        yield from self._decode(owner, decoded=False)
        if kind := OWN_ERRHANDLER.get(self.function.name):
            yield self._check(f'abi::check_fits_{kind}("{owner.name}", *{owner.name}_object)', decoded=False)

    def _checks(self) -> Iterator[str]:
        for parameter in self.function.parameters:
            if parameter is not self._owner:
                yield from self._check_parameter(parameter)

    def _decode(self, parameter: Parameter, decoded: bool) -> Iterator[str]:
        name = parameter.name
        kind = OBJECTS[parameter.type].split()[0]
        yield f"{kind} *{name}_object;"
        decode = "decode_or_null" if (self.function.name, name) in NULLABLE else "decode"
        yield self._check(f'abi::{decode}("{name}", {name}, {name}_object)', decoded)
        base = self.function.name.removesuffix("_c")
        if parameter is self._owner and parameter.type == "MPI_Comm":
            if base in INTRACOMMUNICATOR:
                yield self._check(f'abi::check_intra("{name}", *{name}_object)')
            elif base in INTERCOMMUNICATOR:
                yield self._check(f'abi::check_inter("{name}", *{name}_object)')
        if parameter.type == "MPI_Info" and self.function.group == "info":
            yield self._check(f'abi::check_info("{name}", {name}_object)')

    def _check_parameter(self, parameter: Parameter) -> Iterator[str]:
        if is_decoded(self.function, parameter):
            yield from self._decode(parameter, decoded=True)
            if parameter.kind == "datatype":
                yield from self._check_buffers(parameter)
        elif parameter.is_array:
            yield from self._check_array(parameter)
        elif parameter.direction == "in":
            yield from self._check_input(parameter)
        elif self._must_point(parameter):
            yield self._check(f'abi::check_pointer("{parameter.name}", {parameter.name})')

    def _must_point(self, parameter: Parameter) -> bool:
        if not parameter.type.endswith("*") or (self.function.name, parameter.name) in NULL_ALLOWED:
            return False
        if parameter.kind == "status":
            return parameter.direction != "out"
        return parameter.kind not in {"buffer", "memory", "weight"}

    @cached_property
    def _counts_of_elements(self) -> frozenset[str]:
        """The counts that are checked together with their datatypes."""
        if self.function.group in COUNTS_CHECKED_INSIDE:
            return frozenset()
        described = (self._described(other) for other in self.function.parameters if other.kind == "datatype")
        without_buffers = self._is_access
        return frozenset(count.name for buffers, count in described if (buffers or without_buffers) and count)

    @property
    def _is_access(self) -> bool:
        """Whether datatypes also describe memory of a target, for which there is no argument of a buffer's kind."""
        return self.function.group == "rma"

    def _described(self, datatype: Parameter) -> tuple[list[Parameter], Parameter | None]:
        """The buffers that a datatype describes: those since the last datatype, with one count."""
        buffers: list[Parameter] = []
        count: Parameter | None = None
        for parameter in self.function.parameters:
            if parameter is datatype:
                break
            if parameter.kind == "datatype":
                buffers, count = [], None
            elif parameter.kind == "buffer":
                # A buffer whose size follows it is not the datatype's: a pack buffer.
                buffers.append(parameter)
            elif parameter.kind == "bytes":
                buffers.pop()
            elif parameter.kind == "count":
                count = parameter
        return buffers, count

    def _check_buffers(self, datatype: Parameter) -> Iterator[str]:
        """That there may be so many elements in the buffers it describes."""
        buffers, count = self._described(datatype)
        if not count or not (buffers or self._is_access) or (self.function.name, datatype.name) in NULLABLE:
            return
        if count.name in self._counts_of_elements:
            yield self._check(f'abi::check_elements("{count.name}", {count.name}, *{datatype.name}_object)')
        yield self._check(f'abi::check_committed("{datatype.name}", *{datatype.name}_object)')
        for buffer in buffers:
            arguments = f'"{buffer.name}", {buffer.name}, {count.name}, *{datatype.name}_object'
            yield self._check(f"abi::check_buffer({arguments})")

    def _check_array(self, parameter: Parameter) -> Iterator[str]:
        group = self.function.group
        if group not in ARRAYS_CHECKED or parameter.kind == "status[]":
            return
        # MPI_Type_get_contents: several arrays, each of a length of its own.
        if group == "datatype" and parameter.direction == "out":
            return
        lengths = [other for other in self.function.parameters if other.kind == "count" and other.direction == "in"]
        name = parameter.name
        yield self._check(f'abi::check_array("{name}", {name}, {lengths[0].name})')

    def _check_input(self, parameter: Parameter) -> Iterator[str]:
        name, group = parameter.name, self.function.group
        communicator = None
        if self._owner and self._owner.type in COMMUNICATOR_OF:
            communicator = COMMUNICATOR_OF[self._owner.type].format(self._owner.name)
        match parameter.kind:
            case "count" if group not in COUNTS_CHECKED_INSIDE and name not in self._counts_of_elements:
                error_class = ", MPI_ERR_ARG" if group == "group" else ""
                yield self._check(f'abi::check_count("{name}", {name}{error_class})')
            case "bytes" if group not in {"datatype", "abi", "rma"}:
                yield self._check(f'abi::check_count("{name}", {name}, MPI_ERR_ARG)')
            case "tag" | "receive_tag" if group != "status":
                yield self._check(f'abi::check_{parameter.kind}("{name}", {name})')
            case "peer" | "source" if group != "status" and communicator:
                yield self._check(f'abi::check_{parameter.kind}("{name}", {name}, {communicator})')
            case "rank" if group in {"topology", "rma"} and communicator:
                yield self._check(f'abi::check_rank("{name}", {name}, {communicator})')
            case "string" if (self.function.name, name) not in NULL_ALLOWED:
                # A key has an error class of its own.
                error_class = ", MPI_ERR_INFO_KEY" if group == "info" and name == "key" else ""
                yield self._check(f'abi::check_pointer("{name}", {name}{error_class})')
            case "status":
                yield self._check(f'abi::check_pointer("{name}", {name})')
            case _:
                return

    def _work(self) -> Iterator[str]:
        """The call of the implementation; results that C has narrower go through variables."""
        arguments: list[str] = []
        before: list[str] = []
        after: list[str] = []
        if self.implementation.takes_form:
            arguments.append("CountForm::large" if self.function.large_count else "CountForm::classic")
        for parameter, wanted in zip(self.function.parameters, self.implementation.types, strict=True):
            if not parameter.name:
                continue
            if wanted == "Count &" and parameter.type == "int *":
                start = f"*{parameter.name}" if parameter.direction == "inout" else "0"
                before.append(f"Count {parameter.name}_wide = {start};")
                after.append(f"*{parameter.name} = narrow({parameter.name}_wide);")
                arguments.append(f"{parameter.name}_wide")
            else:
                arguments.append(self._argument(parameter, wanted))
        call = f"mpi::{self.implementation.name}({', '.join(arguments)})"
        if not after:
            yield self._finish(call)
            return
        yield from before
        yield f"int outcome = {call};"
        yield "if (outcome == MPI_SUCCESS) {"
        yield from (f"    {line}" for line in after)
        yield "}"
        yield self._finish("outcome")

    def _argument(self, parameter: Parameter, wanted: str) -> str:
        if is_decoded(self.function, parameter):
            return f"{'' if wanted.endswith('*') else '*'}{parameter.name}_object"
        return f"*{parameter.name}" if wanted == "Count &" else parameter.name


ENTRIES_START = """
#include <mpi.h>

#include "abi/call.h"
#include "abi/checks.h"
#include "core/functions.h"
#include "collective/compare.h"
#include "tool/interface.h"

#include <new>
#include <stdexcept>

#define EXPORTED extern "C" [[gnu::visibility("default")]]
// MPI_X, and a name by which faces find it that no program and no face has.
#define EXPORTED_AS(name) \\
    extern "C" [[gnu::visibility("default"), gnu::weak, gnu::alias("P" #name)]] decltype(P##name) name; \\
    extern "C" [[gnu::visibility("default"), gnu::alias("P" #name)]] decltype(P##name) volley_##name

// That the compiler finds out that some cannot throw is no difference between their two names.
#pragma GCC diagnostic ignored "-Wmissing-attributes"

using namespace volley;
"""

FUNCTIONS_START = """\
/// What the entry points call: arguments are decoded and checked; the result is MPI_SUCCESS or an error code.
#pragma once

#include "core/datatype/datatype.h"

#include <mpi.h>

namespace volley {

class Communicator;
class Errhandler;
class File;
class Group;
class Info;
class Operation;
class Session;
class Window;

namespace mpi {

"""


def functions_header(unique: Sequence[Implementation]) -> str:
    """The text of functions.h."""
    declarations = "".join(f"{implementation.declaration};\n" for implementation in unique)
    return LICENSE + FUNCTIONS_START + declarations + "\n} // namespace mpi\n} // namespace volley\n"


def names_header(tables: Tables) -> str:
    """The text of function_names.h."""
    names = "".join(f'    "{function.name}",\n' for function in tables.functions)
    return (
        f"{LICENSE}"
        "/// The functions of MPI by the numbers that ranks publish in their Activity; 0 is none.\n"
        "#pragma once\n\n#include <cstdint>\n#include <string_view>\n\n"
        "namespace volley {\n\n"
        f"inline constexpr std::uint32_t function_count = {len(tables.functions) + 1};\n\n"
        f'inline constexpr std::string_view function_names[function_count] = {{\n    "",\n{names}}};\n\n'
        "} // namespace volley\n"
    )


def datatype_names_header(tables: Tables) -> str:
    """The text of datatype_names.h."""
    section = next(section for section in tables.sections if section.name == "datatype")
    rows = "".join(
        f'    {{{section.literal(constant)}, "{constant.name}"}},\n'
        for constant in section.constants
        if constant.alias_of is None
    )
    return (
        f"{LICENSE}"
        "/// The predefined datatypes of MPI.\n"
        "#pragma once\n\n#include <cstdint>\n#include <string_view>\n\n"
        "namespace volley {\n\n"
        "struct DatatypeName {\n    std::uintptr_t handle;\n    std::string_view name;\n};\n\n"
        f"inline constexpr DatatypeName datatype_names[] = {{\n{rows}}};\n\n"
        "} // namespace volley\n"
    )


def texts(tables: Tables) -> Iterator[tuple[str, str]]:
    """Names and contents of all files."""
    found = implementations(tables)
    unique = list(dict.fromkeys(found.values()))
    numbers = {function.name: number for number, function in enumerate(tables.functions, 1)}
    yield "core/functions.h", functions_header(unique)
    yield "boot/function_names.h", names_header(tables)
    yield "boot/datatype_names.h", datatype_names_header(tables)
    for file, groups in FILES.items():
        members = [function for function in tables.functions if function.group in groups]
        entries = (Entry(function, numbers, found[function.name]).text for function in members)
        yield f"abi/{file}.cpp", LICENSE + ENTRIES_START + "\n" + "\n".join(entries)


def main() -> int:
    """Write the files."""
    parser = argparse.ArgumentParser(description="Write the library's entry points.")
    parser.add_argument("folder", type=Path, help="where to write them")
    arguments = parser.parse_args()
    for name, text in texts(load()):
        path = arguments.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        # Files that stay the same keep their time, so that nothing is compiled again.
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
