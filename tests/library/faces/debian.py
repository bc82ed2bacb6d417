# SPDX-License-Identifier: BSD-3-Clause
"""Packages of Debian, unpacked in the cache: nothing of them is installed, and nothing of the system changed."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

LIBRARIES = Path("usr/lib/x86_64-linux-gnu")


def unpacked(folder: Path, *packages: str) -> Path | None:
    """The root of the packages' files, below `folder`; None where Debian's packages cannot be had."""
    root = folder / "debian" / "_".join(packages)
    root.parent.mkdir(parents=True, exist_ok=True)
    with (root.parent / f"{root.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not root.exists() and not _unpack(root, packages):
            return None
    return root


def _unpack(root: Path, packages: tuple[str, ...]) -> bool:
    if shutil.which("apt-get") is None:
        return False
    with tempfile.TemporaryDirectory(dir=root.parent) as name:
        files = Path(name)
        download = ["apt-get", "-o", "Acquire::http::Timeout=20", "download", "-qq", *packages]
        if subprocess.run(download, cwd=files, capture_output=True, check=False).returncode != 0:
            if os.geteuid() != 0:
                return False
            subprocess.run(["apt-get", "update", "-qq"], capture_output=True, check=False)
            if subprocess.run(download, cwd=files, capture_output=True, check=False).returncode != 0:
                return False
        for package in files.glob("*.deb"):
            subprocess.run(["dpkg-deb", "-x", str(package), str(files / "root")], check=True)
        (files / "root").rename(root)
    return True
