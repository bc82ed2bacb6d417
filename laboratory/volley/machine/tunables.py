# SPDX-License-Identifier: BSD-3-Clause
"""Settings of glibc itself, which every program reads from GLIBC_TUNABLES: ``name=value:name=value``."""

from __future__ import annotations

from collections.abc import Mapping

from volley.machine.environment import clean_environment

VARIABLE = "GLIBC_TUNABLES"
STREAMS_FROM = "glibc.cpu.x86_non_temporal_threshold"
"""Bytes from which memcpy writes past the caches."""
REPEATS_FROM = "glibc.cpu.x86_rep_movsb_threshold"
"""Bytes from which memcpy copies by the one instruction `rep movsb`."""
OUT_OF_REACH = 0xFFFFFFFFFFFFFFF
"""The largest value that glibc takes for either (ld.so --list-tunables)."""


def with_tunable(tunables: str, name: str, value: int) -> str:
    """A value of GLIBC_TUNABLES with `name` set so; all others stay."""
    others = [one for one in tunables.split(":") if one and not one.startswith(f"{name}=")]
    return ":".join([*others, f"{name}={value:#x}"])


def out_of_reach(name: str, settings: Mapping[str, str] | None = None) -> dict[str, str]:
    """What to set so that memcpy never does what begins at the threshold `name`, beside what a system's settings and
    the caller's environment say."""
    own = clean_environment(settings).get(VARIABLE, "")
    return {VARIABLE: with_tunable(own, name, OUT_OF_REACH)}
