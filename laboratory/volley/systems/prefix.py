# SPDX-License-Identifier: BSD-3-Clause
"""An MPI of the user's own: ``NAME=PREFIX`` or ``NAME=PREFIX:TRANSPORT``."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path
from typing import Self

from volley.errors import UsageError
from volley.systems import flavours
from volley.systems.found import FoundSystem


class PrefixSystem(FoundSystem):
    """PREFIX/bin/mpicc and PREFIX/bin/mpiexec, under a name the user chose."""

    family = "prefix"
    summary = "an MPI of your own: NAME=PREFIX[:TRANSPORT], where PREFIX/bin has mpicc and mpiexec"

    def __init__(self, version: str | None, transport: str, prefix: Path | None = None, label: str = "") -> None:
        super().__init__(version, transport, prefix)
        self.label = label or self.family

    @classmethod
    def named(cls, name: str, where: Path, families: Collection[str]) -> Self:
        """The system of ``NAME=WHERE``. Raises UsageError for a name (a family's own) or transport that cannot be."""
        if not re.fullmatch(r"[A-Za-z][\w.+-]*", name) or name in families:
            raise UsageError(
                f'"{name}" cannot be the name of a system of your own',
                "take a letter, then letters, digits and . _ + -, and no family's name: "
                + ", ".join(kind for kind in families if kind != cls.family),
            )
        if not str(where).strip() or where == Path():
            raise UsageError(f'"{name}=" names no folder', f"write for example {name}=/opt/mpi")
        folder, colon, transport = str(where).rpartition(":")
        if not colon or where.is_dir():
            folder, transport = str(where), flavours.AS_IT_COMES
        if transport not in cls.transports:
            raise UsageError(
                f'unknown transport "{transport}" in "{name}={where}"', f"there are: {', '.join(cls.transports)}"
            )
        return cls(None, transport, Path(folder).absolute(), name)

    @property
    def base_name(self) -> str:
        """The user's name for it, and the transport if one was named."""
        return self.label if self.transport == flavours.AS_IT_COMES else f"{self.label}/{self.transport}"

    @property
    def base_request(self) -> str:
        """What the user writes."""
        named = "" if self.transport == flavours.AS_IT_COMES else f":{self.transport}"
        return f"{self.label}={self.prefix}{named}"
