# SPDX-License-Identifier: BSD-3-Clause
"""The systems under test: finding them by the name a user writes."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from pathlib import Path
from typing import Any

from volley.errors import UsageError
from volley.systems import settings as setting
from volley.systems.base import Placement, System
from volley.systems.prefix import PrefixSystem
from volley.systems.traits import Traits

__all__ = ["Placement", "System", "default_systems", "families", "on_hosts", "resolve", "traits_of"]


@cache
def families() -> dict[str, type[System]]:
    """Every kind of system by family name: one module of this package each, found by looking."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")

    def subclasses(of: type[Any]) -> list[type[System]]:
        return [found for direct in of.__subclasses__() for found in (direct, *subclasses(direct))]

    kinds = {kind.family: kind for kind in subclasses(System) if hasattr(kind, "family")}
    return dict(sorted(kinds.items()))


def resolve(request: str) -> list[System]:
    """The systems that `request` names: ``FAMILY[==VERSION][/TRANSPORT]`` or ``NAME=PREFIX[:TRANSPORT]``, each
    with settings behind it, if any: ``@NAME=VALUE``.

    Without a transport: every transport of that family. Raises UsageError naming what exists.
    """
    base, settings = setting.parse(request)
    systems = _resolve(base)
    return [one.adjusted(settings) for one in systems] if settings else systems


def _resolve(request: str) -> list[System]:
    if "=" in request and "==" not in request:
        name, _, where = request.partition("=")
        return [PrefixSystem.named(name.strip(), Path(where.strip()).expanduser(), tuple(families()))]
    rest, _, transport = request.partition("/")
    family, _, version = rest.partition("==")
    kind = families().get(family)
    if kind is None or kind is PrefixSystem:
        known = ", ".join(name for name, known_kind in families().items() if known_kind is not PrefixSystem)
        raise UsageError(
            f'unknown system "{request}": no family "{family}"',
            f"known families: {known}; one of your own: NAME=PREFIX, where PREFIX/bin has mpicc and mpiexec",
        )
    transport = kind.transport_aliases.get(transport, transport)
    if transport and transport not in kind.transports:
        raise UsageError(
            f'unknown transport "{transport}" of system "{family}"',
            f"{family} has: {', '.join(kind.transports)}",
        )
    if version and not version[0].isdigit():
        raise UsageError(f'"{version}" in "{request}" is no version', f"write for example {family}==1.2.3")
    return [kind(version or None, one) for one in ([transport] if transport else kind.transports)]


def on_hosts(request: str) -> list[System]:
    """As resolve(), for several hosts: a family named without a transport means the usual one that reaches them."""
    base, _ = setting.parse(request)
    found = resolve(request)
    if "/" in base or len(found) < 2:
        return found
    usual = [one for one in found if one.transport == (one.network_transports or [""])[0]]
    return usual or found[:1]


def default_systems() -> list[System]:
    """What a study measures when the user names nothing."""
    return [
        kind(None, transport)
        for kind in families().values()
        if kind.by_default
        for transport in kind.default_transports
    ]


def traits_of(family: str) -> Traits:
    """What is known of a family by its name; of one that is not known, nothing."""
    kind = families().get(family)
    return kind.known_traits if kind is not None else Traits()
