# SPDX-License-Identifier: BSD-3-Clause
"""Emulated clusters for tests: real namespaces, where this user may have them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

VOLLEY = (sys.executable, "-c", "from volley.cli import main; main()")


def volley(*arguments: str | Path, limit: float = 120) -> subprocess.CompletedProcess[str]:
    """The program, as a user calls it."""
    return subprocess.run(
        [*VOLLEY, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=limit,
        check=False,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "NO_COLOR": "1", "COLUMNS": "200"},
    )


@cache
def why_no_cluster() -> str:
    """Why no emulated cluster can be had here; '' if it can."""
    if os.geteuid() != 0:
        return "these tests make an emulated cluster as root"
    missing = [tool for tool in ("ip", "tc", "unshare", "nsenter") if shutil.which(tool) is None]
    if missing:
        return f"there is no {missing[0]} (apt-get install iproute2 util-linux)"
    tried = volley("cluster", "up", "--hosts", "1", "--name", f"try-{os.getpid()}")
    volley("cluster", "down", "--name", f"try-{os.getpid()}")
    return "" if tried.returncode == 0 else f"no emulated cluster can be had here: {tried.stderr.strip()[:200]}"
