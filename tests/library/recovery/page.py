# SPDX-License-Identifier: BSD-3-Clause
"""The example of docs/recovery.md: a program that goes back to its last checkpoint when a rank fails."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "recovery.md"
LAST_LINE = "3 ranks: the sum of 100 steps is 19800"
"""Of four ranks, one of which fails."""


def example(folder: Path) -> Path:
    """The program as the page has it, in a file in that folder."""
    found = re.search(r"```c\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert found
    source = folder / "example.c"
    source.write_text(found[1], encoding="utf-8")
    return source
