# SPDX-License-Identifier: BSD-3-Clause
"""Watches over a measuring process: when that is killed, ends what it has started and removes its folders.

Started by processes.guarded() as ``python -m volley.machine.guardian OWNER``, with a pipe as standard input that
only the watched process holds open.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from volley.machine import processes


def remove_folders(owner: str) -> None:
    """Removes the temporary folders whose names carry the owner's part."""
    for base in {Path(tempfile.gettempdir()), Path("/tmp")}:
        for folder in base.glob(f"*volley-{owner}*"):
            shutil.rmtree(folder, ignore_errors=True)


def main() -> None:
    """Waits for the watched process's last word, or its death."""
    owner = sys.argv[1]
    if sys.stdin.buffer.read():
        return
    processes.end_all("", patience_seconds=10.0, owner=owner)
    remove_folders(owner)


if __name__ == "__main__":
    main()
