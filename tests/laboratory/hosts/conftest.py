# SPDX-License-Identifier: BSD-3-Clause
"""One emulated cluster of three hosts for the tests of a file."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from volley.hosts import cluster as emulated

from .support import volley, why_no_cluster


@pytest.fixture(scope="module")
def cluster() -> Iterator[emulated.Cluster]:
    """Up, with queues of 60 KB at 100 Mbit/s; gone afterwards."""
    if why_no_cluster():
        pytest.skip(why_no_cluster())
    name = f"test-{os.getpid()}"
    made = volley("cluster", "up", "--hosts", "3", "--name", name)
    assert made.returncode == 0, made.stderr
    try:
        yield emulated.load(name)
    finally:
        ended = volley("cluster", "down", "--name", name)
        assert ended.returncode == 0, f"the emulated cluster {name} is left: {ended.stderr}"
