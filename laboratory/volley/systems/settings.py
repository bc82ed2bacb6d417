# SPDX-License-Identifier: BSD-3-Clause
"""Settings behind a system's name: ``openmpi/tcp@btl_tcp_eager_limit=1024``, ``lam/tcp@sockets=nodelay``.

A name is one of three things: a setting of the MPI by the MPI's own name for it, an environment variable (in
capitals), or a *shim*: a C file of the folder ``shims``, loaded before a program's libraries (LD_PRELOAD), which
changes how the program meets the system: its sockets, for example. So any MPI's sockets can be set, though it has
no setting for them.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

from volley.errors import UsageError, VolleyError
from volley.machine.processes import Command, run

SHIMS = Path(__file__).parent.parent / "shims"
COMPILE_LIMIT_SECONDS = 60.0
PRELOAD = "LD_PRELOAD"


def parse(request: str) -> tuple[str, dict[str, str]]:
    """(request without settings, settings). Raises UsageError for what is no NAME=VALUE."""
    base, *words = request.split("@")
    settings = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not re.fullmatch(r"[A-Za-z]\w*", name.strip()):
            raise UsageError(
                f'"@{word}" in "{request}" is no setting', "write @NAME=VALUE, for example lam/tcp@rpi_tcp_short=32768"
            )
        settings[name.strip()] = value.strip()
    return base, settings


def suffix(settings: Mapping[str, str]) -> str:
    """As it stands behind a system's name; parse() reads it."""
    return "".join(f"@{name}={value}" for name, value in settings.items())


@cache
def shims() -> dict[str, Path]:
    """Every shim by name."""
    return {file.stem: file for file in sorted(SHIMS.glob("*.c"))}


def is_shim(name: str) -> bool:
    """Whether the setting `name` is done by a shim."""
    return name in shims()


def shim_library(name: str) -> Path:
    """The shim's library, from the cache or compiled now. Any user may read it: LAM's ranks are another's.

    Raises VolleyError with the compiler's words.
    """
    source = shims()[name].read_bytes()
    folder = Path("/tmp") / f"volley-shims-{os.getuid()}"
    library = folder / f"{name}-{hashlib.sha256(source).hexdigest()[:16]}.so"
    if library.exists() and library.stat().st_uid == os.getuid():
        return library
    folder.mkdir(mode=0o755, exist_ok=True)
    if folder.stat().st_uid != os.getuid():
        raise VolleyError(f"{folder} belongs to another user", "remove it: programs are loaded from there")
    temporary = library.with_suffix(f".{os.getpid()}")
    argv = ("cc", "-O2", "-shared", "-fPIC", "-Wall", "-o", str(temporary), str(shims()[name]), "-ldl", "-pthread")
    outcome = run(Command(argv), COMPILE_LIMIT_SECONDS)
    if not outcome.fine:
        raise VolleyError(f"the shim {name} does not compile: {outcome.last_words()}", f"try: {' '.join(argv)}")
    temporary.chmod(0o755)
    temporary.rename(library)
    return library


def variables(settings: Mapping[str, str], variable_of: Callable[[str], str]) -> dict[str, str]:
    """The environment variables that carry `settings`; `variable_of` names that of an MPI's own setting."""
    found: dict[str, str] = {}
    preload = []
    for name, value in settings.items():
        if is_shim(name):
            found[f"VOLLEY_SHIM_{name.upper()}"] = value
            preload.append(str(shim_library(name)))
        else:
            found[variable_of(name)] = value
    if preload:
        found[PRELOAD] = ":".join(preload)
    return found


def joined(environment: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    """`environment` with `own` over it; what both preload is preloaded, `own` first."""
    result = {**environment, **own}
    if environment.get(PRELOAD) and own.get(PRELOAD):
        result[PRELOAD] = f"{own[PRELOAD]}:{environment[PRELOAD]}"
    return result
