# SPDX-License-Identifier: BSD-3-Clause
"""Somebody else's measurements as a study: output of OSU, of IMB, or a CSV table.

To add a format, add one module here with a subclass of :class:`Format`; it is found by looking.
What such files leave out (single operations, launches, clocks) stays left out: an average of 1000
operations becomes one sample, and intervals appear only where several files give several launches.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from pathlib import Path

from volley.data.imports.base import Format, Measurement
from volley.errors import DataError

__all__ = ["Format", "Measurement", "formats", "read_file"]


@cache
def formats() -> tuple[Format, ...]:
    """Every format, by name."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    return tuple(sorted((kind() for kind in Format.__subclasses__()), key=lambda one: one.name))


def read_file(path: Path) -> tuple[Format, list[Measurement]]:
    """What a file holds. Raises DataError naming the file and what was expected."""
    try:
        text = path.read_text()
    except OSError as problem:
        raise DataError(f"cannot read {path}: {problem.strerror}", "check its name and permissions") from problem
    except UnicodeDecodeError as problem:
        raise DataError(f"{path} is no text: {problem.reason} at byte {problem.start}") from problem
    for candidate in formats():
        if candidate.recognises(text):
            found = candidate.read(text, path)
            if not found:
                raise DataError(f"{path} looks like {candidate.title} but holds no measurement")
            return candidate, found
    raise DataError(
        f"{path} is none of the formats that can be read",
        "; ".join(f"{one.title}: {one.expects}" for one in formats()),
    )
