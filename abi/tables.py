# SPDX-License-Identifier: BSD-3-Clause
"""The tables of the MPI 5.0 standard ABI as Python objects.

`load` reads `types.toml`, `constants.toml` and `functions.toml` and refuses what does not fit
together, so that whatever is generated from them need not check again.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent

DIRECTIONS = frozenset({"in", "out", "inout"})
BASES = frozenset({10, 16})

TEXT_LENGTHS: Mapping[tuple[str, str], str] = {
    ("MPI_Get_library_version", "version"): "MPI_MAX_LIBRARY_VERSION_STRING",
    ("MPI_Get_processor_name", "name"): "MPI_MAX_PROCESSOR_NAME",
    ("MPI_Comm_get_name", "comm_name"): "MPI_MAX_OBJECT_NAME",
    ("MPI_Type_get_name", "type_name"): "MPI_MAX_OBJECT_NAME",
    ("MPI_Win_get_name", "win_name"): "MPI_MAX_OBJECT_NAME",
    ("MPI_Info_get_nthkey", "key"): "MPI_MAX_INFO_KEY",
    ("MPI_Open_port", "port_name"): "MPI_MAX_PORT_NAME",
    ("MPI_Lookup_name", "port_name"): "MPI_MAX_PORT_NAME",
    ("MPI_Error_string", "string"): "MPI_MAX_ERROR_STRING",
    ("MPI_File_get_view", "datarep"): "MPI_MAX_DATAREP_STRING",
}
"""The room that the library needs for a text: (function, parameter) → the constant that says so."""


class TableError(ValueError):
    """A table says something that cannot be right."""


@dataclass(frozen=True)
class Parameter:
    """One parameter of a function; `kind` and `direction` are empty for callbacks."""

    type: str
    name: str
    kind: str = ""
    direction: str = ""

    @property
    def is_array(self) -> bool:
        """Whether the argument is an array, however C spells its type."""
        return self.kind.endswith("[]")

    @property
    def declaration(self) -> str:
        """The parameter as it stands in a C prototype."""
        return declare(self.type, self.name)


@dataclass(frozen=True)
class Function:
    """One MPI function."""

    name: str
    group: str
    returns: str
    parameters: tuple[Parameter, ...]
    large_count: bool = False
    deprecated: str | None = None
    origin: str | None = None

    @property
    def in_standard(self) -> bool:
        """Whether the text of the standard has this function."""
        return self.origin is None


@dataclass(frozen=True)
class Callback:
    """A function type that programs implement."""

    name: str
    returns: str
    parameters: tuple[Parameter, ...]
    deprecated: str | None = None


@dataclass(frozen=True)
class Constant:
    """One named value; `alias_of` names the constant whose value it shares."""

    name: str
    value: int
    alias_of: str | None = None
    deprecated: str | None = None


@dataclass(frozen=True)
class Section:
    """Constants of one type that belong together."""

    name: str
    about: str
    type: str
    base: int
    constants: tuple[Constant, ...]

    def literal(self, constant: Constant) -> str:
        """The value of a constant as a C integer literal."""
        if self.base == 10:
            return str(constant.value)
        largest = max(member.value for member in self.constants)
        return f"0x{constant.value:0{len(f'{largest:x}')}x}"


@dataclass(frozen=True)
class Tables:
    """All that the ABI fixes."""

    integers: Mapping[str, str]
    handles: Mapping[str, str]
    status: Mapping[str, str]
    callbacks: tuple[Callback, ...]
    aliases: Mapping[str, str]
    sections: tuple[Section, ...]
    groups: Mapping[str, str]
    kinds: Mapping[str, str]
    functions: tuple[Function, ...]

    def functions_of(self, group: str) -> tuple[Function, ...]:
        """The functions of one group, in the order of the table."""
        return tuple(function for function in self.functions if function.group == group)


def declare(type_name: str, name: str) -> str:
    """Join a C type and a name: ("int[]", "counts") gives "int counts[]"."""
    element, bracket, dimensions = type_name.partition("[")
    if not name:
        return type_name
    space = "" if element.endswith("*") else " "
    return f"{element}{space}{name}{bracket}{dimensions}"


def load(folder: Path = FOLDER) -> Tables:
    """Read the three tables in `folder`."""
    types = _read(folder / "types.toml")
    constants = _read(folder / "constants.toml")
    functions = _read(folder / "functions.toml")
    tables = Tables(
        integers=types["integer"],
        handles=types["handle"],
        status=types["status"],
        callbacks=tuple(_callback(name, entry) for name, entry in types["callback"].items()),
        aliases=types["alias"],
        sections=tuple(_section(name, entry) for name, entry in constants["section"].items()),
        groups=functions["group"],
        kinds=functions["kind"],
        functions=tuple(
            _function(name, group, entry)
            for group, entries in functions["function"].items()
            for name, entry in entries.items()
        ),
    )
    _check(tables)
    return tables


def _read(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        return tomllib.load(file)


def _parameters(entries: Sequence[Sequence[str]]) -> tuple[Parameter, ...]:
    return tuple(Parameter(*entry) for entry in entries)


def _callback(name: str, entry: Mapping[str, Any]) -> Callback:
    return Callback(
        name=name,
        returns=entry["returns"],
        parameters=_parameters(entry["parameters"]),
        deprecated=entry.get("deprecated"),
    )


def _function(name: str, group: str, entry: Mapping[str, Any]) -> Function:
    return Function(
        name=name,
        group=group,
        returns=entry["returns"],
        parameters=_parameters(entry["parameters"]),
        large_count=entry.get("large_count", False),
        deprecated=entry.get("deprecated"),
        origin=entry.get("origin"),
    )


def _section(name: str, entry: Mapping[str, Any]) -> Section:
    values: Mapping[str, int | str] = entry["value"]
    deprecated: Mapping[str, str] = entry.get("deprecated", {})
    return Section(
        name=name,
        about=entry["about"],
        type=entry["type"],
        base=entry.get("base", 10),
        constants=tuple(_constant(constant, values, deprecated.get(constant)) for constant in values),
    )


def _constant(name: str, values: Mapping[str, int | str], deprecated: str | None) -> Constant:
    value = values[name]
    if isinstance(value, int):
        return Constant(name=name, value=value, deprecated=deprecated)
    target = values.get(value)
    if not isinstance(target, int):
        raise TableError(f"{name} = {value!r}, which is no number in the same section")
    return Constant(name=name, value=target, alias_of=value, deprecated=deprecated)


def _check(tables: Tables) -> None:
    """Refuse tables that contradict themselves."""
    names = [function.name for function in tables.functions]
    names += [constant.name for section in tables.sections for constant in section.constants]
    for name, appearances in Counter(names).items():
        if appearances > 1:
            raise TableError(f"{name} appears {appearances} times; keep one")
    for section in tables.sections:
        if section.base not in BASES:
            raise TableError(f"section {section.name}: base is {section.base}; use 10 or 16")
    for function in tables.functions:
        _check_function(function, tables, frozenset(names))


def _check_function(function: Function, tables: Tables, names: frozenset[str]) -> None:
    if function.group not in tables.groups:
        raise TableError(f"{function.name}: group {function.group!r} is not listed in [group]")
    if function.large_count != function.name.endswith("_c"):
        raise TableError(f"{function.name}: large_count must be true just for names ending in _c")
    if function.large_count and function.name.removesuffix("_c") not in names:
        raise TableError(f"{function.name}: the function without _c is missing")
    for parameter in function.parameters:
        where = f"{function.name}, parameter {parameter.name or parameter.type}"
        if parameter.kind.removesuffix("[]") not in tables.kinds:
            raise TableError(f"{where}: kind {parameter.kind!r} is not listed in [kind]")
        if parameter.direction not in DIRECTIONS:
            raise TableError(f"{where}: direction {parameter.direction!r}; use in, out or inout")
