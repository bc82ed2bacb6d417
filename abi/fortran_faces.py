# SPDX-License-Identifier: BSD-3-Clause
"""Fortran's libraries of other MPIs (libmpifort, libmpi_mpifh): what the procedures of library/fortran need to be
compiled for their binary interfaces, so that they call the functions of a face (generate_face.py).

mpi.h        the interface's types and constants. Each kind of handle has a type of its own, even if programs have int
names.ld     for the linker: the procedures' names in other spellings, and as gfortran's modules have them
modules.cpp  handles as the modules of gfortran have them: constants with a symbol each
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

import generate_header
from fortran_bindings import Binding
from fortran_constants import ATTRIBUTE_KINDS, CALLBACKS, OLD_CALLBACKS
from generate_face import FaceTable, as_int
from tables import Section, Tables

LICENSE = "Generated from the tables in abi/ by abi/generate_fortran.py."
LEFT_OUT_GROUPS = frozenset({"tool"})

# Each has the size of the interface's handles. Files are addresses in both.
HANDLES = {
    "mpich": "enum {name} : int {{}};",
    "openmpi": "typedef struct OtherMpi{name} *{name};",
}
ADDRESS = "typedef struct OtherMpi{name} *{name};"
# As C has them; Fortran's are arrays of as many integers.
STATUSES = {
    "mpich": "int count_low, count_high_and_cancelled, MPI_SOURCE, MPI_TAG, MPI_ERROR;",
    "openmpi": "int MPI_SOURCE, MPI_TAG, MPI_ERROR, cancelled, bytes[2];",
}
# Of those that the standard has removed; library/fortran/older.cpp.
REMOVED = (
    *("address", "errhandler_create", "errhandler_get", "errhandler_set", "type_extent", "type_hindexed"),
    *("type_hvector", "type_lb", "type_struct", "type_ub"),
)
ONLY_FORTRAN = ("f_sync_reg", "status_f2f08", "status_f082f")
CALLBACK_NAMES = tuple(name.lower() for name in (*OLD_CALLBACKS, *CALLBACKS, "MPI_CONVERSION_FN_NULL"))

# Open MPI has a procedure for each type and rank.
SIZES = {"character": 1, "logical": 4, "complex32": 8, "complex64": 16, "complex128": 32}
SIZES |= {f"int{bits}": bits // 8 for bits in (8, 16, 32, 64)} | {f"real{bits}": bits // 8 for bits in (32, 64, 128)}
RANKS = ("scalar", *(f"r{rank}" for rank in range(1, 16)))
MPICH_SIZES = {"ch": 1, "cx": 8, "d": 8, "i": 4, "i1": 1, "i2": 2, "i8": 8, "l": 4, "r": 4}
COMPARED = ("comm", "datatype", "errhandler", "file", "group", "info", "message", "op", "request", "session", "win")
# How modules of MPICH compare a handle with another, or with an integer.
COMPARISONS = {
    "equal": ("eq", "f08_eq_f", "f_eq_f08"),
    "unequal": ("neq", "f08_neq_f", "f_neq_f08"),
}
# The module that handles are constants of.
MODULES = {"mpich": "mpi_f08_compile_constants", "openmpi": "mpi_f08_types"}


def header(tables: Tables, face: FaceTable) -> str:
    """The interface's mpi.h, as the procedures need it."""
    lines = [f"/* SPDX-License-Identifier: BSD-3-Clause\n * {LICENSE} */", "#pragma once", "#pragma GCC system_header"]
    lines += ["#include <cstdint>", 'extern "C" {']
    lines += [f"typedef {c_type} {name};" for name, c_type in tables.integers.items()]
    for name in tables.handles:
        if not name.startswith("MPI_T_"):
            lines.append((ADDRESS if name == "MPI_File" else HANDLES[face.name]).format(name=name))
    lines.append(f"struct MPI_Status {{ {STATUSES[face.name]} }};")
    lines += [generate_header.callback(one) for one in tables.callbacks if not one.name.startswith("MPI_T_")]
    for section in tables.sections:
        lines += constants(section, tables, face)
    for group in tables.groups:
        if group not in LEFT_OUT_GROUPS:
            lines += [generate_header.functions(tables, group, prefix) for prefix in ("", "P")]
    return "\n".join([*lines, "}"]) + "\n"


def constants(section: Section, tables: Tables, face: FaceTable) -> Iterator[str]:
    """A section's constants, with the interface's values."""
    if section.type.startswith("MPI_T_") or section.name == "version":
        return
    for constant in section.constants:
        if constant.name in face.symbols:
            symbol, _ = face.symbols[constant.name]
            yield f"extern char {symbol}[];"
            yield f"#define {constant.name} (reinterpret_cast<{section.type}>({symbol}))"
        elif constant.name in face.numbers:
            number = as_int(face.numbers[constant.name])
            if section.type in {"int", *tables.integers}:
                yield f"#define {constant.name} ({number})"
            elif section.type in tables.handles:
                yield f"#define {constant.name} (({section.type})({number}))"
            elif section.type.endswith("*"):
                yield f"#define {constant.name} (({section.type})(intptr_t)({number}))"
        elif constant.alias_of and (constant.alias_of in face.numbers or constant.alias_of in face.symbols):
            yield f"#define {constant.name} {constant.alias_of}"


@dataclasses.dataclass(frozen=True)
class Names:
    """Further names of procedures, for the linker."""

    face: FaceTable
    bindings: Sequence[Binding]

    @property
    def text(self) -> str:
        """All of them."""
        lines = [f"/* SPDX-License-Identifier: BSD-3-Clause\n * {LICENSE} */"]
        lines += [f"{name} = {of};" for name, of in self._all()]
        return "\n".join(lines) + "\n"

    def _all(self) -> Iterator[tuple[str, str]]:
        procedures = [one.name.lower() for one in self.bindings if one.in_old]
        procedures += [f"mpi_{name}" for name in (*REMOVED, *ONLY_FORTRAN)]
        procedures += [f"{one.name.lower()}_cptr" for one in self.bindings if has_pointer_form(one)]
        for name in procedures:
            for prefix in ("", "p"):
                yield from spellings(prefix + name)
        for name in CALLBACK_NAMES:
            yield f"p{name}_", f"{name}_"
            for other, _ in (*spellings(name), *spellings(f"p{name}")):
                yield other, f"{name}_"
        for kind in ATTRIBUTE_KINDS:
            for name in ("null_copy_fn", "null_delete_fn", "dup_fn"):
                plain = f"mpi_{kind.lower()}_{name}"
                yield f"__mpi_f08_callbacks_MOD_{plain}", f"{plain}_"
        for name in ("mpi_conversion_fn_null", "mpi_conversion_fn_null_c"):
            yield f"__mpi_f08_callbacks_MOD_{name}", f"{name}_"
        yield from self._of_mpich() if self.face.name == "mpich" else self._of_open_mpi()

    def _of_open_mpi(self) -> Iterator[tuple[str, str]]:
        for name in ("f_sync_reg", "status_f2f08", "status_f082f"):
            for prefix in ("", "p"):
                yield f"{prefix}mpi_{name}_f08_", f"{prefix}mpi_{name}_"
        for kind, size in SIZES.items():
            for rank in RANKS:
                for prefix in ("", "p"):
                    yield f"{prefix}mpi_sizeof_{kind}_{rank}_", f"volley_sizeof_{size}_"
        for kind in COMPARED:
            yield f"__mpi_f08_types_MOD_ompi_{kind}_op_eq", f"volley_fortran_equal_{kind}_"
            yield f"__mpi_f08_types_MOD_ompi_{kind}_op_ne", f"volley_fortran_unequal_{kind}_"

    def _of_mpich(self) -> Iterator[tuple[str, str]]:
        for kind, size in MPICH_SIZES.items():
            for form in ("", "v"):
                yield f"__mpi_sizeofs_MOD_mpi_sizeof_{kind}{form}", f"volley_sizeof_{size}_"
        for kind, size in SIZES.items():
            plain = kind if kind in {"character", "logical"} else f"x{kind}"
            yield f"__mpi_f08_types_MOD_mpi_sizeof_{plain}", f"volley_sizeof_{size}_"
        for name in ("mpi_status_f2f08", "mpi_status_f082f"):
            yield f"__mpi_f08_types_MOD_{name}", f"{name}_"
        for kind in COMPARED:
            for result, forms in COMPARISONS.items():
                own = f"volley_fortran_{result}_{kind}_"
                yield f"__mpi_constants_MOD_{kind}{forms[0]}", own
                for form in forms:
                    yield f"__mpi_f08_types_MOD_mpi_{kind}_{form}", own
        yield "pmpir_f_sync_reg_f08ts_", "pmpi_f_sync_reg_f08ts_"
        # Of large counts: MPICH 4.0 has names of its own. The profiling names have always been others.
        for one in self.bindings:
            if one.in_f08:
                specific = one.specific.lower()
                yield f"pmpir{specific.removeprefix('mpi')}_", f"p{specific}_"
                if not one.in_old:
                    large = specific.replace("_c_f08", "_f08") + "_large_"
                    yield large, f"{specific}_"
                    yield f"pmpir{large.removeprefix('mpi')}", f"p{specific}_"


def has_pointer_form(binding: Binding) -> bool:
    """Whether memory comes back as a C_PTR under a name of its own."""
    return binding.in_old and binding.has_pointer and not binding.detaches


def spellings(name: str) -> Iterator[tuple[str, str]]:
    """The names that other compilers than gfortran have for a procedure."""
    for other in (name, f"{name}__", name.upper()):
        yield other, f"{name}_"


def modules(tables: Tables, face: FaceTable) -> str:
    """The text of modules.cpp."""
    lines = [f"// SPDX-License-Identifier: BSD-3-Clause\n// {LICENSE}", 'extern "C" {']
    numbers = {name: number for name, (number, _) in face.other_fortran.items()}
    if face.name == "openmpi":
        numbers["MPI_CXX_COMPLEX"] = face.fortran["MPI_CXX_FLOAT_COMPLEX"]
    for section in tables.sections:
        if section.type in tables.handles and not section.type.startswith("MPI_T_"):
            for constant in section.constants:
                name = constant.alias_of or constant.name
                if name in face.fortran or name in face.numbers:
                    numbers[constant.name] = face.fortran.get(name, face.numbers.get(name, 0))
    for name, number in numbers.items():
        symbol = f"__{MODULES[face.name]}_MOD_{name.lower()}"
        lines.append(f'[[gnu::visibility("default")]] extern const int {name.lower()} __asm__("{symbol}");')
        lines.append(f"const int {name.lower()} = {as_int(number)};")
    return "\n".join([*lines, "}"]) + "\n"
