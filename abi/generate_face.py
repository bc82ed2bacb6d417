#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Write a face: the entry points of another binary interface, which convert arguments and call this library's.

What differs between the interfaces is in faces/NAME.toml; how handles and statuses look, in library/faces/NAME/.
Written:

values.h         the interface's values, and functions that convert them
predefined.cpp   the variables whose addresses are handles, where the interface has such
entries_*.cpp    the entry points MPI_X (weak) and PMPI_X
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tables import TEXT_LENGTHS, Constant, Function, Parameter, Section, Tables, declare, load

FOLDER = Path(__file__).resolve().parent / "faces"
LICENSE = "// SPDX-License-Identifier: BSD-3-Clause\n// Generated from the tables in abi/ by abi/generate_face.py.\n"

FILES: Mapping[str, tuple[str, ...]] = {
    "entries_messages": ("point_to_point", "buffer", "request", "status", "partitioned"),
    "entries_collectives": ("collective", "neighbourhood", "operation"),
    "entries_communicators": ("communicator", "topology", "process", "attribute", "session", "group", "recovery"),
    "entries_objects": ("environment", "datatype", "info", "error", "abi"),
    "entries_others": ("rma", "io", "tool"),
}
# Handles as integers: each interface has other functions for them, which are written by hand.
LEFT_OUT = frozenset({"conversion"})
# As well, since there is more to them than arguments: library/faces/support.cpp.
BY_HAND = frozenset(
    {
        *("MPI_Abi_get_version", "MPI_Get_version", "MPI_Get_library_version", "MPI_Pcontrol"),
        *("MPI_Error_class", "MPI_Error_string"),
    }
)

HANDLE_SECTIONS = (
    *("communicator", "group", "datatype", "operation", "request", "message"),
    *("info", "errhandler", "window", "file", "session"),
)
# Sections of which a value is one, and the converting functions' names.
ENUMERATIONS: Mapping[str, tuple[str, ...]] = {
    "thread_level": ("thread_level",),
    "comparison": ("comparison",),
    "topology": ("topology",),
    "split_type": ("split_type",),
    "order": ("order",),
    "combiner": ("combiner",),
    "type_class": ("type_class",),
    "lock_type": ("lock_type",),
    "whence": ("seek",),
    "window_flavor": ("window_flavor",),
    "window_model": ("window_model",),
    "keyval": ("attribute_key", "window_attribute_key"),
    "verbosity": ("tool_verbosity",),
    "binding": ("tool_binding",),
    "scope": ("tool_scope",),
    "variable_class": ("tool_variable_class",),
    "callback_safety": ("tool_callback_safety",),
    "source_order": ("tool_source_order",),
}
BITS: Mapping[str, str] = {"assertion": "assertion", "access_mode": "access_mode"}
# Constants of a section that need a function of their own, since other numbers may have the same value.
PICKED: Mapping[str, tuple[str, ...]] = {
    "wildcard_rank": ("MPI_ANY_SOURCE", "MPI_PROC_NULL", "MPI_ROOT"),
    "wildcard_tag": ("MPI_ANY_TAG",),
    "distribution": ("MPI_DISTRIBUTE_NONE", "MPI_DISTRIBUTE_BLOCK", "MPI_DISTRIBUTE_CYCLIC"),
    "distribution_argument": ("MPI_DISTRIBUTE_DFLT_DARG",),
    "offset": ("MPI_DISPLACEMENT_CURRENT",),
}

# Kinds of integers, and the functions that convert them.
CONVERTED: Mapping[str, str] = {
    **{kind: kind for kind in (*ENUMERATIONS, *BITS)},
    **dict.fromkeys(("peer", "source", "root"), "wildcard_rank"),
    **dict.fromkeys(("receive_tag", "tag"), "wildcard_tag"),
    **dict.fromkeys(("error_class", "error_code"), "code"),
    "distribution": "distribution",
    "distribution_argument": "distribution_argument",
}
# Ranks that may also be MPI_PROC_NULL, where the table only says that they are ranks.
MAY_BE_NULL = frozenset({("MPI_Group_translate_ranks", "ranks1"), ("MPI_Group_translate_ranks", "ranks2")})

# Texts that faces make themselves, at the interface's length.
OWN_TEXTS = frozenset({("MPI_Get_library_version", "version"), ("MPI_Error_string", "string")})
# Texts that the library may make longer than the interface allows, by the length's constant.
STRINGS: Mapping[tuple[str, str], str] = {place: room for place, room in TEXT_LENGTHS.items() if place not in OWN_TEXTS}

# How long arrays are that need converting, where that is not the function's first count.
LENGTHS: Mapping[tuple[str, str], str] = {
    ("MPI_Alltoallw", "sendtypes"): "peers(comm)",
    ("MPI_Alltoallw", "recvtypes"): "peers(comm)",
    ("MPI_Neighbor_alltoallw", "sendtypes"): "destinations(comm)",
    ("MPI_Neighbor_alltoallw", "recvtypes"): "sources(comm)",
    ("MPI_Type_get_contents", "array_of_datatypes"): "max_datatypes",
    ("MPI_Type_create_darray", "array_of_distribs"): "ndims",
    ("MPI_Type_create_darray", "array_of_dargs"): "ndims",
    ("MPI_Comm_spawn", "array_of_errcodes"): "maxprocs",
    ("MPI_Comm_spawn_multiple", "array_of_errcodes"): "sum(array_of_maxprocs, count)",
    ("MPI_Group_translate_ranks", "ranks1"): "n",
    ("MPI_Group_translate_ranks", "ranks2"): "n",
    ("MPI_T_event_get_info", "array_of_datatypes"): "num_elements != nullptr ? *num_elements : 0",
}

# What is done once a function has made something with callbacks.
CALLERS: Mapping[str, str] = {
    "MPI_Op_create": "volley_call_operation_by({op}, call_operation)",
    "MPI_Op_create_c": "volley_call_operation_by({op}, call_large_operation)",
    **{
        f"MPI_{name}_create_errhandler": f"volley_call_errhandler_by({{errhandler}}, call_errhandler<{handle}>)"
        for name, handle in (("Comm", "MPI_Comm"), ("Session", "MPI_Session"), ("Win", "MPI_Win"), ("File", "MPI_File"))
    },
    **{
        f"MPI_{name}": f"volley_call_keyval_by({{{keyval}}}, call_copy<{handle}>, call_delete<{handle}>)"
        for name, keyval, handle in (
            ("Comm_create_keyval", "comm_keyval", "MPI_Comm"),
            ("Type_create_keyval", "type_keyval", "MPI_Datatype"),
            ("Win_create_keyval", "win_keyval", "MPI_Win"),
            ("Keyval_create", "keyval", "MPI_Comm"),
        )
    },
}
# Arguments that carry callbacks in another way: before the call, and what is passed.
REPLACED: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "MPI_Grequest_start": (
        "auto *generalized = new GeneralizedRequest{query_fn, free_fn, cancel_fn, extra_state};",
        {
            "query_fn": "GeneralizedRequest::query",
            "free_fn": "GeneralizedRequest::release",
            "cancel_fn": "GeneralizedRequest::cancel",
            "extra_state": "generalized",
        },
    ),
    **{
        f"MPI_Register_datarep{form}": (
            "auto *representation = new DataRepresentation{read_conversion_fn, write_conversion_fn, "
            "dtype_file_extent_fn, extra_state};",
            {
                "read_conversion_fn": f"read_conversion_fn ? DataRepresentation::read<{count}> : nullptr",
                "write_conversion_fn": f"write_conversion_fn ? DataRepresentation::write<{count}> : nullptr",
                "dtype_file_extent_fn": "dtype_file_extent_fn ? DataRepresentation::extent : nullptr",
                "extra_state": "representation",
            },
        )
        for form, count in (("", "int"), ("_c", "MPI_Count"))
    },
}
# For classes that an interface does not have: the one that programs of that interface expect.
SUBSTITUTES: Mapping[str, str] = {
    "MPI_ERR_ERRHANDLER": "MPI_ERR_ARG",
    "MPI_ERR_SESSION": "MPI_ERR_ARG",
    "MPI_ERR_PROC_ABORTED": "MPI_ERR_OTHER",
    "MPI_ERR_VALUE_TOO_LARGE": "MPI_ERR_OTHER",
    "MPI_ERR_ABI": "MPI_ERR_OTHER",
}
CLASSES = 128
"""The library's codes hold a class below this, and a number above it (library/core/error.h)."""


@dataclass(frozen=True)
class FaceTable:
    """One interface's values."""

    name: str
    title: str
    sonames: tuple[str, ...]
    numbers: Mapping[str, int]
    symbols: Mapping[str, tuple[str, int]]
    fortran: Mapping[str, int]
    other_datatypes: Mapping[str, tuple[int, str]]
    other_symbols: Mapping[str, tuple[str, int]]
    other_fortran: Mapping[str, tuple[int, str]]
    other_classes: Mapping[str, int]
    version: tuple[int, int]


def load_face(name: str) -> FaceTable:
    """Read faces/NAME.toml."""
    with (FOLDER / f"{name}.toml").open("rb") as file:
        content: dict[str, Any] = tomllib.load(file)
    values = {key: value for section in content["value"].values() for key, value in section.items()}
    numbers = {key: value for key, value in values.items() if isinstance(value, int)}
    variables = {key: value for key, value in values.items() if isinstance(value, dict)}
    return FaceTable(
        name=content["face"]["name"],
        title=content["face"]["title"],
        sonames=tuple(content["face"]["sonames"]),
        numbers=numbers,
        symbols={key: (value["symbol"], value["bytes"]) for key, value in variables.items()},
        fortran={key: value["fortran"] for key, value in variables.items()},
        other_datatypes={key: (one["value"], one["is"]) for key, one in content.get("other_datatype", {}).items()},
        other_symbols={key: (one["is"], one["bytes"]) for key, one in content.get("other_symbol", {}).items()},
        other_fortran={
            one["name"]: (one["fortran"], one["is"])
            for one in content.get("other_symbol", {}).values()
            if "fortran" in one
        },
        other_classes=content["other_error_class"],
        version=(content["face"]["version"][0], content["face"]["version"][1]),
    )


class Values:
    """The text of values.h."""

    def __init__(self, tables: Tables, face: FaceTable) -> None:
        self.face = face
        self.sections = {section.name: section for section in tables.sections}
        self.constants = {constant.name: constant for section in tables.sections for constant in section.constants}

    @property
    def text(self) -> str:
        """All of it."""
        parts = [*self._plain(), *self._handles(), *self._codes()]
        for name, sections in ENUMERATIONS.items():
            constants = [constant for section in sections for constant in self.sections[section].constants]
            parts += self._switches(name, "int", constants, constants)
        for name, constants_named in PICKED.items():
            picked = [self.constants[constant] for constant in constants_named]
            parts += self._switches(name, "MPI_Offset" if name == "offset" else "int", picked, picked)
        for name, section in BITS.items():
            parts += self._bits(name, self.sections[section])
        head = (
            f"{LICENSE}/// The values of {self.face.title}'s binary interface, and their conversion.\n#pragma once\n\n"
            "#include <mpi.h>\n\n#include <climits>\n#include <cstdint>\n\nnamespace volley::faces {\n\n"
        )
        return head + "\n".join(parts) + "\n} // namespace volley::faces\n"

    def _plain(self) -> Iterator[str]:
        """Constants that the converting code is written with."""
        for section in ("buffer_address", "ignored_status", "ignored_int", "string_length", "attribute_key"):
            for constant in self.sections[section].constants:
                if constant.name in self.face.numbers:
                    value = self.face.numbers[constant.name]
                    yield f"inline constexpr std::intptr_t face_{constant.name} = {value};"
        yield f"inline constexpr int face_version = {self.face.version[0]}, face_subversion = {self.face.version[1]};"
        yield f'inline constexpr char face_title[] = "{self.face.title}";'
        yield ""

    def _handles(self) -> Iterator[str]:
        """Predefined handles by number, or by the variables that they are the addresses of."""
        if self.face.symbols:
            yield "/// What a predefined handle points to: first the library's number for it. Programs may have copies."
            yield "template <std::size_t Bytes> struct PredefinedObject {"
            yield "    std::uintptr_t number;\n    char unused[Bytes - sizeof(std::uintptr_t)];\n};\n"
            yield 'extern "C" {'
            for symbol, size in dict(self.face.symbols.values()).items():
                yield f'[[gnu::visibility("default")]] extern PredefinedObject<{size}> {symbol};'
            for symbol, (_, size) in self.face.other_symbols.items():
                yield f'[[gnu::visibility("default")]] extern PredefinedObject<{size}> {symbol};'
            yield "}\n"
            largest = max(self.constants[name].value for name in self.face.symbols)
            yield "/// By the library's number."
            yield f"inline constexpr std::size_t predefined_handles = {largest + 1};"
            yield "extern void *const predefined_handle[predefined_handles];\n"
            yield from self._fortran()
            return
        yield "struct Predefined {\n    int face;\n    std::uint16_t native;\n};\n"
        for name in HANDLE_SECTIONS:
            section = self.sections[name]
            rows = ", ".join(
                f"{{{as_int(self.face.numbers[constant.name])}, {section.literal(constant)}}}"
                for constant in section.constants
                if constant.alias_of is None and constant.name in self.face.numbers
            )
            if name == "datatype":
                others = self.face.other_datatypes.values()
                rows = ", ".join([rows, *(f"{{{value}, {self.constants[same].value}}}" for value, same in others)])
            yield f"inline constexpr Predefined predefined_{name}[] = {{{rows}}};"
        yield "\n/// The name of a datatype that the standard does not have; nullptr for others."
        yield "inline const char *other_datatype_name(int handle) {\n    switch (handle) {"
        for name, (value, _) in self.face.other_datatypes.items():
            yield f'    case {as_int(value)}: return "{name}";'
        yield "    default: return nullptr;\n    }\n}\n"

    def _fortran(self) -> Iterator[str]:
        """Numbers of predefined handles in Fortran."""
        yield "/// Fortran's number for a handle, from that of the library (MPI_Comm_toint)."
        yield "inline int fortran_number(int number) {\n    switch (number) {"
        for name, number in self.face.fortran.items():
            yield f"    case {self.constants[name].value}: return {number};"
        for number, same in self.face.other_fortran.values():
            if same not in self.face.fortran:
                yield f"    case {self.constants[same].value}: return {number};"
        yield "    default: return number;\n    }\n}\n"
        yield "/// The other way. Each kind of handle has its own numbers in Fortran."
        yield "template <class Native> int library_number(int number);"
        for section in (self.sections[name] for name in HANDLE_SECTIONS):
            yield f"template <> inline int library_number<{section.type}>(int number) {{\n    switch (number) {{"
            for constant in section.constants:
                if constant.name in self.face.fortran:
                    yield f"    case {self.face.fortran[constant.name]}: return {constant.value};"
            if section.name == "datatype":
                for number, same in self.face.other_fortran.values():
                    yield f"    case {number}: return {self.constants[same].value};"
            yield "    default: return number;\n    }\n}\n"

    def _codes(self) -> Iterator[str]:
        """Error classes both ways. What one interface does not have gets numbers that are left."""
        to_native: dict[int, int] = {}
        to_face: dict[int, int] = {}
        classes = self.sections["error_class"].constants
        for constant in classes:
            name = constant.name if constant.name in self.face.numbers else SUBSTITUTES[constant.name]
            to_face[constant.value] = self.face.numbers[name]
            if name == constant.name:
                to_native.setdefault(self.face.numbers[name], constant.value)
        for constant in self.sections["recovery_error_class"].constants:
            names = (constant.name, constant.name.replace("MPIX_", "MPI_"))
            number = next(self.face.other_classes[name] for name in names if name in self.face.other_classes)
            to_face[constant.value] = number
            to_native[number] = constant.value
        for face in range(CLASSES):
            if face not in to_native:
                native = next(value for value in (face, *range(CLASSES)) if value not in to_face)
                to_native[face] = native
                to_face[native] = face
            if len(to_face) == CLASSES:
                break
        unknown = self.constants["MPI_ERR_UNKNOWN"].value
        for name, table in (("to_native", to_native), ("to_face", to_face)):
            row = ", ".join(str(table.get(value, unknown)) for value in range(CLASSES))
            yield f"inline constexpr std::uint8_t class_{name}[{CLASSES}] = {{{row}}};"
        last = self.face.numbers["MPI_ERR_LASTCODE"]
        yield "/// Codes that programs add lie above the last predefined one."
        yield f"inline constexpr int added_code_distance = {max(0, last - self.constants['MPI_ERR_LASTCODE'].value)};"
        yield "\n/// The name of a class that the standard does not have; nullptr for others."
        yield "inline const char *other_class_name(int error_class) {\n    switch (error_class) {"
        for name, value in self.face.other_classes.items():
            yield f'    case {value}: return "{name}";'
        yield "    default: return nullptr;\n    }\n}\n"
        tools = self.sections["tool_error_class"].constants
        yield from self._switches("tool_code", "int", [one for one in tools if one.name.startswith("MPI_T_")], ())

    def _switches(
        self, name: str, type_name: str, constants: Sequence[Constant], excluded: Sequence[Constant]
    ) -> Iterator[str]:
        """Two functions that convert the constants. The library's numbers for `excluded` come from nothing else."""
        pairs: dict[int, int] = {}
        for constant in constants:
            if constant.name in self.face.numbers and constant.alias_of is None:
                pairs.setdefault(self.face.numbers[constant.name], constant.value)
        invalid = sorted({constant.value for constant in excluded} - set(pairs))
        yield f"inline {type_name} {name}_to_native({type_name} value) {{"
        if name.startswith("wildcard"):
            yield "    if (value >= 0) [[likely]] return value;"
        yield "    switch (value) {"
        for face, native in pairs.items():
            yield f"    case {as_int(face)}: return {native};"
        for value in invalid:
            yield f"    case {value}: return INT_MIN;"
        yield "    default: return value;\n    }\n}\n"
        yield f"inline {type_name} {name}_to_face({type_name} value) {{"
        if name.startswith("wildcard"):
            yield "    if (value >= 0) [[likely]] return value;"
        yield "    switch (value) {"
        for face, native in pairs.items():
            yield f"    case {native}: return {as_int(face)};"
        yield "    default: return value;\n    }\n}\n"

    def _bits(self, name: str, section: Section) -> Iterator[str]:
        pairs = [(self.face.numbers[constant.name], constant.value) for constant in section.constants]
        for direction, ordered in (("to_native", pairs), ("to_face", [(native, face) for face, native in pairs])):
            known = 0
            yield f"inline int {name}_{direction}(int value) {{\n    int result = 0;"
            for one, other in ordered:
                yield f"    if (value & {one}) result |= {other};"
                known |= one
            yield f"    return (value & ~{known}) != 0 ? INT_MIN : result;\n}}\n"


def as_int(value: int) -> str:
    """A number of 32 bits as C's int has it."""
    return str(value - 2**32) if value >= 2**31 else str(value)


def predefined_source(tables: Tables, face: FaceTable) -> str:
    """The text of predefined.cpp."""
    constants = {constant.name: constant for section in tables.sections for constant in section.constants}
    # What the interface has under other names only is returned as such.
    by_number = {constants[same].value: symbol for symbol, (same, _) in face.other_symbols.items()}
    by_number |= {constants[name].value: symbol for name, (symbol, _) in face.symbols.items()}
    objects = "".join(
        f"PredefinedObject<{size}> {symbol}{{{constants[name].value}, {{}}}};\n"
        for name, (symbol, size) in face.symbols.items()
    )
    objects += "".join(
        f"PredefinedObject<{size}> {symbol}{{{constants[same].value}, {{}}}};\n"
        for symbol, (same, size) in face.other_symbols.items()
    )
    table = "".join(
        f"    &{by_number[number]},\n" if number in by_number else "    nullptr,\n"
        for number in range(max(constants[name].value for name in face.symbols) + 1)
    )
    return (
        f'{LICENSE}#include "values.h"\n\nnamespace volley::faces {{\n\n{objects}\n'
        f"void *const predefined_handle[predefined_handles] = {{\n{table}}};\n\n}} // namespace volley::faces\n"
    )


class FaceEntry:
    """The text of one entry point."""

    def __init__(self, function: Function, handles: Mapping[str, str]) -> None:
        self.function = function
        self.handles = handles
        self.name = function.name
        self.plain = function.name.removesuffix("_c")

    @property
    def text(self) -> str:
        """Its definition, with both names."""
        parameters = ", ".join(
            declare(self._face_type(parameter), parameter.name) for parameter in self.function.parameters
        )
        body = "".join(f"    {line}\n" for line in self._body())
        return f"FACE_ENTRY({self.function.returns}, {self.name}, ({parameters})) {{\n{body}}}\n"

    def _face_type(self, parameter: Parameter) -> str:
        if parameter.kind == "callback" and parameter.type.endswith("*"):
            return "Callback"
        for name in (*self.handles, "MPI_Status"):
            for form in (name, f"const {name}"):
                rest = parameter.type.removeprefix(form)
                if rest != parameter.type and not rest[:1].isalnum() and rest[:1] != "_":
                    face = "Status" if name == "MPI_Status" else f"Face<{name}>"
                    return f"{'const ' if form.startswith('const') else ''}{face}{rest}"
        return parameter.type

    def _body(self) -> Iterator[str]:
        before, replaced = REPLACED.get(self.name, ("", {}))
        if before:
            yield before
        arguments: list[str] = []
        for parameter in self.function.parameters:
            if parameter.name in replaced:
                arguments.append(replaced[parameter.name])
                continue
            declaration, argument = self._argument(parameter)
            if declaration:
                yield f"{declaration};"
            arguments.append(argument)
        call = f"NATIVE({self.name})({', '.join(arguments)})"
        if self.function.returns != "int":
            yield f"return {call};"
            return
        after = list(self._after())
        convert = "tool_code_to_face" if self.function.group == "tool" else "code_to_face"
        if not after:
            yield f"return {convert}({call});"
            return
        yield f"const int code = {call};"
        yield from after
        yield f"return {convert}(code);"

    def _after(self) -> Iterator[str]:
        if caller := CALLERS.get(self.name):
            made = {
                parameter.name: f"{parameter.name}_.{'result' if parameter.kind == 'keyval' else 'made'}()"
                for parameter in self.function.parameters
                if parameter.direction == "out"
            }
            yield f"if (code == MPI_SUCCESS) {caller.format(**made)};"
        if any(one.kind == "attribute_value" and one.direction == "out" for one in self.function.parameters):
            keyval = next(one.name for one in self.function.parameters if one.kind == "keyval")
            value = next(one.name for one in self.function.parameters if one.kind == "attribute_value")
            yield f"if (code == MPI_SUCCESS && *flag) convert_attribute({keyval}, {value});"
        if self.function.group == "buffer":
            for one in self.function.parameters:
                if one.kind == "memory_pointer":
                    yield f"if (code == MPI_SUCCESS) buffer_to_face({one.name});"
        if self.name == "MPI_T_source_get_info":
            converted = "static_cast<MPI_T_source_order>(source_order_to_face(static_cast<int>(*ordering)))"
            yield f"if (code == MPI_SUCCESS && ordering != nullptr) *ordering = {converted};"
        if self.name == "MPI_Type_get_name":
            yield "if (code == MPI_SUCCESS) rename_datatype(datatype, type_name_);"
        if self.plain == "MPI_Type_get_contents":
            yield "if (code == MPI_SUCCESS) convert_contents(to_native<MPI_Datatype>(datatype), array_of_integers);"

    def _argument(self, parameter: Parameter) -> tuple[str, str]:
        """What is declared before the call, and what is passed."""
        name, kind = parameter.name, parameter.kind.removesuffix("[]")
        handle = next((one for one in self.handles if one in parameter.type.replace("*", " ").split()), None)
        handle = handle or next(
            (one for one in self.handles if parameter.type.removeprefix("const ") == f"{one}[]"), None
        )
        if kind == "callback":
            return "", f"reinterpret_cast<{parameter.type}>({name})" if parameter.type.endswith("*") else name
        if handle:
            return self._handle(parameter, handle)
        if kind == "status":
            return self._status(parameter)
        if kind == "callback_safety":
            return "", f"static_cast<{parameter.type}>(callback_safety_to_native(static_cast<int>({name})))"
        if (text := STRINGS.get((self.name, name))) is not None:
            length = next((one.name for one in self.function.parameters if one.kind == "length"), "nullptr")
            return f"StringOut<{text}, face_{text}> {name}_({name}, {length})", f"{name}_"
        if kind == "buffer" or (kind == "memory" and self.function.group == "buffer"):
            return "", f"buffer_to_native({name})"
        if kind == "weight" and parameter.direction == "in":
            return "", f"weights_to_native({name})"
        if self.name.startswith("MPI_File_set_view") and kind == "offset":
            return "", f"offset_to_native({name})"
        converter = CONVERTED.get(kind)
        if (self.name, name) in MAY_BE_NULL:
            converter = "wildcard_rank"
        if converter is None or "int" not in parameter.type:
            return "", name
        return self._integer(parameter, converter)

    def _integer(self, parameter: Parameter, converter: str) -> tuple[str, str]:
        name = parameter.name
        if parameter.is_array:
            if (self.plain, name) not in LENGTHS:
                return "", name
            kind = "IntsIn" if parameter.direction == "in" else "IntsOut"
            direction = "native" if parameter.direction == "in" else "face"
            length = LENGTHS[self.plain, name]
            return f"{kind}<{converter}_to_{direction}> {name}_({name}, {length})", f"{name}_"
        if parameter.direction == "in":
            return "", f"{converter}_to_native({name})"
        if parameter.direction == "out":
            return f"IntOut<{converter}_to_face> {name}_({name})", f"{name}_"
        return f"IntInOut<{converter}_to_native, {converter}_to_face> {name}_({name})", f"{name}_"

    def _length(self, parameter: Parameter) -> str:
        default = next(
            (one.name for one in self.function.parameters if one.kind == "count" and one.direction == "in"), "0"
        )
        plain = self.plain
        if plain.endswith("lltoallw") or plain.endswith("lltoallw_init"):
            plain = "MPI_Neighbor_alltoallw" if "eighbor" in plain else "MPI_Alltoallw"
        return LENGTHS.get((plain, parameter.name), default)

    def _handle(self, parameter: Parameter, handle: str) -> tuple[str, str]:
        name = parameter.name
        if parameter.is_array:
            kind = {"in": "HandlesIn", "inout": "HandlesInOut", "out": "HandlesOut"}[parameter.direction]
            return f"{kind}<{handle}> {name}_({name}, {self._length(parameter)})", f"{name}_"
        if parameter.type == handle:
            return "", f"to_native<{handle}>({name})"
        kind = "HandleOut" if parameter.direction == "out" else "HandleInOut"
        return f"{kind}<{handle}> {name}_({name})", f"{name}_"

    def _status(self, parameter: Parameter) -> tuple[str, str]:
        name = parameter.name
        if parameter.is_array:
            return f"StatusesOut {name}_({name}, {self._length(parameter)})", f"{name}_"
        kind = {"in": "StatusIn", "inout": "StatusInOut", "out": "StatusOut"}[parameter.direction]
        return f"{kind} {name}_({name})", f"{name}_"


def entries(tables: Tables, face: FaceTable, groups: Sequence[str]) -> str:
    """The text of one file of entry points."""
    handles = {name: tag for name, tag in tables.handles.items() if not name.startswith("MPI_T_")}
    members = [function for function in tables.functions if function.group in groups and function.name not in BY_HAND]
    natives = "".join(f"DECLARE_NATIVE({function.name});\n" for function in members)
    texts = "\n".join(FaceEntry(function, handles).text for function in members)
    return (
        f'{LICENSE}#include "faces/{face.name}/handles.h"\n\n#include "faces/callbacks.h"\n#include "faces/entry.h"\n\n'
        f"namespace volley::faces {{\n\n{natives}\n{texts}\n}} // namespace volley::faces\n"
    )


def texts(tables: Tables, face: FaceTable) -> Iterator[tuple[str, str]]:
    """Names and contents of all files."""
    yield "values.h", Values(tables, face).text
    if face.symbols:
        yield "predefined.cpp", predefined_source(tables, face)
    for file, groups in FILES.items():
        yield f"{file}.cpp", entries(tables, face, groups)


def main() -> int:
    """Write the files."""
    parser = argparse.ArgumentParser(description="Write the entry points of another binary interface.")
    parser.add_argument("face", help="mpich or openmpi")
    parser.add_argument("folder", type=Path, help="where to write them")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts(load(), load_face(arguments.face)):
        path = arguments.folder / name
        # Files that stay the same keep their time, so that nothing is compiled again.
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
