# SPDX-License-Identifier: BSD-3-Clause
"""Errors that reach a user: each names the thing, the value, and what to do."""

from __future__ import annotations

from pathlib import Path

EXIT_FINE = 0
EXIT_FAILED = 1
"""Something that was asked for could not be done (nothing could be measured, a disk is full)."""
EXIT_USAGE = 2
"""The command line asks for something that does not exist."""
EXIT_DATA = 3
"""A file or folder that was given is not what it should be: damaged, cut, of another kind."""
EXIT_SLOWER = 4
"""`volley compare --fail-on-slower` found a SLOWER."""
EXIT_UNDECIDED = 5
"""It could not be told: `volley compare --fail-on-slower` found nothing SLOWER, but had too few launches to find it;
`volley selftest --plants` missed a cause on a machine that was not quiet."""
EXIT_INTERRUPTED = 130
"""Ctrl-C or SIGTERM; what had been measured is kept."""


class VolleyError(Exception):
    """What went wrong, in one sentence, and the remedy, in another."""

    exit_code = EXIT_FAILED

    def __init__(self, problem: str, remedy: str = "") -> None:
        super().__init__(problem)
        self.problem = problem
        self.remedy = remedy


class UsageError(VolleyError):
    """The user asked for something that does not exist or cannot be combined."""

    exit_code = EXIT_USAGE


class DataError(VolleyError):
    """A file or folder that was given is damaged or of another kind."""

    exit_code = EXIT_DATA


class SystemUnavailable(VolleyError):
    """A system under test cannot be installed or started here; the study goes on without it."""


class DiskFull(VolleyError):
    """No room is left for what has to be written."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            f"no room is left in {folder}: the file system {mount_of(folder)} is full",
            "free some space there (df -h), or, for temporary files, set TMPDIR to a folder with room; "
            "then go on with a study by: volley study --resume --out FOLDER (what it has measured is kept)",
        )


def mount_of(folder: Path) -> Path:
    """Where the file system with it is mounted."""
    return next((one for one in (folder, *folder.parents) if one.is_mount()), folder)
