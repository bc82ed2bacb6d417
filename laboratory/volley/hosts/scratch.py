# SPDX-License-Identifier: BSD-3-Clause
"""Temporary folders of launches."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

from volley.errors import DiskFull
from volley.machine.processes import OWNER

LEAST_BYTES = 65536
"""A file system with less is full: what could not be written whole has filled it to its last block."""


def make_scratch() -> Path:
    """A temporary folder of this process, which its guardian removes if it is killed."""
    scratch = Path(tempfile.mkdtemp(prefix=f"volley-{OWNER}-", dir=_scratch_base()))
    scratch.chmod(0o755)  # systems that run as another user need to reach it
    return scratch


def _scratch_base() -> Path:
    """The folder for temporary files; as root one that other users can reach, since some systems run as one."""
    chosen = Path(tempfile.gettempdir()).resolve()
    if os.geteuid() != 0 or all(folder.stat().st_mode & stat.S_IXOTH for folder in (chosen, *chosen.parents)):
        return chosen
    return Path("/tmp")


def require_room(folder: Path) -> None:
    """Raises DiskFull if nothing more can be written there."""
    told = os.statvfs(folder)
    free = told.f_bfree if os.geteuid() == 0 else told.f_bavail
    if free * told.f_frsize < LEAST_BYTES:
        raise DiskFull(folder)
