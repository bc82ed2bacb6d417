# SPDX-License-Identifier: BSD-3-Clause
"""What a format of somebody else's measurements offers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar


@dataclass(frozen=True)
class Measurement:
    """One time that a file states."""

    test: str
    size: int
    seconds: float
    ranks: int = 0
    """World size; 0: the file does not say."""
    variant: str = "-"
    system: str = ""
    """Empty: the file does not say."""
    launch: int = 0
    """0: the file does not say; the file itself is then one launch."""
    rank: int = 0
    repetition: int | None = None
    """None: the file does not say; then the order of its rows is that of the operations."""
    start_ns: int = 0


class Format(ABC):
    """One kind of file."""

    name: ClassVar[str]
    title: ClassVar[str]
    expects: ClassVar[str]
    """What a file must have to be recognised, for a person."""

    @abstractmethod
    def recognises(self, text: str) -> bool:
        """Whether the text is of this kind."""

    @abstractmethod
    def read(self, text: str, path: Path) -> list[Measurement]:
        """All measurements in the text. Raises DataError naming file and line."""

    def meaning(self, test: str) -> str:
        """What this format's time of `test` is, for the report."""
        return f"{test}, as {self.title} states it"
