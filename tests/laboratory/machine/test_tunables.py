# SPDX-License-Identifier: BSD-3-Clause
"""Settings of glibc in one variable: one is changed, the others stay."""

from __future__ import annotations

import pytest
from volley.machine.tunables import REPEATS_FROM, STREAMS_FROM, VARIABLE, out_of_reach, with_tunable

OTHER = "glibc.malloc.check=1"


@pytest.mark.parametrize(
    ("tunables", "expected"),
    [
        ("", f"{STREAMS_FROM}=0x100"),
        (f"{OTHER}:{STREAMS_FROM}=5", f"{OTHER}:{STREAMS_FROM}=0x100"),
        (f"{REPEATS_FROM}=0x840", f"{REPEATS_FROM}=0x840:{STREAMS_FROM}=0x100"),
    ],
)
def test_other_tunables_stay(tunables: str, expected: str) -> None:
    assert with_tunable(tunables, STREAMS_FROM, 256) == expected


def test_a_systems_own_setting_stands_before_the_callers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, OTHER)
    never = f"{REPEATS_FROM}=0xfffffffffffffff"
    assert out_of_reach(REPEATS_FROM) == {VARIABLE: f"{OTHER}:{never}"}
    own = {VARIABLE: f"{STREAMS_FROM}=0x8000000"}
    assert out_of_reach(REPEATS_FROM, own) == {VARIABLE: f"{own[VARIABLE]}:{never}"}
