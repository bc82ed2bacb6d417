# SPDX-License-Identifier: BSD-3-Clause
"""Where the commands print."""

from __future__ import annotations

import os
import sys

from rich.console import Console

PIPED_WIDTH = 200
"""Columns of a table that goes into a file or another program, where nothing says how wide that is."""


def output() -> Console:
    """Standard output. Into a pipe, tables are as wide as their content needs, up to PIPED_WIDTH."""
    narrow = sys.stdout.isatty() or "COLUMNS" in os.environ
    return Console() if narrow else Console(width=PIPED_WIDTH)


def errors() -> Console:
    """Standard error: what a person must see, whoever reads the output."""
    return Console(stderr=True)
