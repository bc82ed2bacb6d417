# SPDX-License-Identifier: BSD-3-Clause
"""Several versions of one MPI, named by a list, a range, or the family alone."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from volley.errors import UsageError
from volley.systems import System, families, resolve
from volley.systems.wheel import WheelSystem, order

EXAMPLES = "write for example mpich, mpich==3.4.3,4.1.3,5.0.2, mpich==4.0..5.0, or old=/opt/mpi-1,new=/opt/mpi-2"


@dataclass
class Chosen:
    """The versions to measure, and those asked for that cannot be had, each with the reason."""

    systems: list[System]
    missing: dict[str, str] = field(default_factory=dict)
    """System's name → why it is left out."""


def choose_versions(request: str, versions: str | None = None) -> Chosen:
    """The systems of ``FAMILY[==VERSIONS][/TRANSPORT]``, oldest first, or of ``NAME=PREFIX,NAME=PREFIX`` as given.

    VERSIONS (also as the second argument) is a list of versions and ranges ``FIRST..LAST``, each end being a version
    or its beginning: ``4.0..5.0`` holds 4.0.3 and 5.0.2. Without it: the newest of each minor series. Without a
    transport: the family's first. Asks PyPI what there is, unless all that is named is installed.
    Raises UsageError for what means nothing, or fewer than two versions.
    """
    if re.search(r"(?<!=)=(?!=)", request) and "==" not in request:
        systems = [system for part in request.split(",") for system in resolve(part.strip())]
        return _at_least_two(Chosen(systems), [], request)
    rest, _, transport = request.partition("/")
    family, _, listed = rest.partition("==")
    kind = _wheel(family, request)
    if listed and versions:
        raise UsageError(f'versions are named twice: "=={listed}" and --versions {versions}', "name them once")
    transport = transport or next(iter(kind.transports))
    parts = [part.strip() for part in (listed or versions or "").split(",") if part.strip()]
    installed = kind.installed()
    complete = bool(parts) and all(part in installed for part in parts)
    answer = [] if complete else kind.offered()  # [] where PyPI cannot be reached
    offered = answer or installed
    names = _expand(parts, sorted({*offered, *installed}, key=order)) if parts else newest_of_series(offered)
    chosen = Chosen([])
    for name in sorted(names, key=order):
        (system,) = resolve(f"{family}=={name}/{transport}")
        if name in offered or name in installed or not answer:
            chosen.systems.append(system)
        else:
            chosen.missing[system.name] = f"PyPI has no version {name} of it for this machine"
    return _at_least_two(chosen, offered, request)


def newest_of_series(versions: list[str]) -> list[str]:
    """Of versions with equal first two numbers the newest: 4.0.3, 4.1.3, 5.0.2. Releases to come do not count."""
    newest: dict[tuple[int, ...], str] = {}
    for version in sorted(versions, key=order):
        if not order(version).is_prerelease:
            newest[order(version).release[:2]] = version
    return list(newest.values())


def _wheel(family: str, request: str) -> type[WheelSystem]:
    kinds = {name: kind for name, kind in families().items() if issubclass(kind, WheelSystem)}
    if family not in kinds:
        what = "has one version only, the one installed" if family in families() else "is no family"
        where = "" if family == request else f' in "{request}"'
        raise UsageError(f'"{family}"{where} {what}', f"families with versions on PyPI: {', '.join(kinds)}; {EXAMPLES}")
    return kinds[family]


def _expand(parts: list[str], known: list[str]) -> list[str]:
    """Versions that `parts` name among the `known`, oldest first; a version that is not known stays as written.

    Raises UsageError for a range without a version, and for what is no version.
    """
    found: dict[str, None] = {}
    for part in parts:
        first, dots, last = part.partition("..")
        if any(end and not end[0].isdigit() for end in (first, last)) or not (first or last):
            raise UsageError(f'"{part}" is no version or range of versions', EXAMPLES)
        if dots:
            early = any(order(end).is_prerelease for end in (first, last) if end)
            final = [version for version in known if early or not order(version).is_prerelease]
            inside = [version for version in final if _reaches(version, first) and _ends(version, last)]
            if not inside:
                raise UsageError(f"there is no version in {part}", f"there are: {', '.join(known) or 'none'}")
        else:
            inside = [part] if part in known else [one for one in known if one.startswith(f"{part}.")][-1:] or [part]
        found.update(dict.fromkeys(inside))
    return list(found)


def _reaches(version: str, first: str) -> bool:
    return not first or order(version) >= order(first)


def _ends(version: str, last: str) -> bool:
    """Compared by the numbers that `last` has, so that 5.0.2 is within ``..5.0``; a ``..5.0rc1`` ends just there."""
    if not last:
        return True
    end, one = order(last), order(version)
    return one <= end if end.is_prerelease else one.release[: len(end.release)] <= end.release


def _at_least_two(chosen: Chosen, offered: list[str], request: str) -> Chosen:
    if len(chosen.systems) < 2:
        have = f"there are: {', '.join(sorted(offered, key=order))}" if offered else EXAMPLES
        lacking = "".join(f"; {name}: {reason}" for name, reason in chosen.missing.items())
        count = "no version" if not chosen.systems else f"one version only ({chosen.systems[0].name})"
        raise UsageError(f'"{request}" names {count}; comparing needs two{lacking}', have)
    return chosen
