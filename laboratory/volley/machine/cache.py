# SPDX-License-Identifier: BSD-3-Clause
"""The folder that keeps what is installed and compiled between studies."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """The user's cache folder for Volley: ``$VOLLEY_CACHE``, else ``$XDG_CACHE_HOME/volley`` or ~/.cache."""
    given = os.environ.get("VOLLEY_CACHE")
    if given:
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "volley"
