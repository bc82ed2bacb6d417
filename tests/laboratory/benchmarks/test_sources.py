"""Every test program's first comment holds, and its C is clean under the strictest flags."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from volley.benchmarks import FOLDER, all_tests, read_test
from volley.measure.plan import variants_of

from .support import ROOT, STRICT

FILES = sorted(FOLDER.glob("*.c"))
HEADERS = sorted(FOLDER.glob("*.h"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_first_comment(file: Path) -> None:
    test = read_test(file)
    assert test.title
    assert test.summary[-1] in ".?"
    assert test.source
    assert test.ranks
    assert all(ranks >= 1 for ranks in test.ranks) or test.across_hosts
    assert test.size_list()
    assert test.axis in ("size", "ranks")
    assert test.statistic in ("median", "mean")
    assert 1 <= test.minimum_repetitions <= test.maximum_repetitions
    variants = variants_of(test, ["cubic", "reno"])
    assert all(len(variant) < 64 and not variant.split()[1:] for variant in variants)  # a word of launch.txt
    assert test.needs_mpi != ("tcp_common.h" in file.read_text() or "define VOLLEY_NO_MPI" in file.read_text())


def test_all_that_were_asked_for() -> None:
    wanted = "pingpong sendrecv stream hello ring alltoall reduce allreduce bcast barrier allgather reduce_scatter scan"
    others = (
        "late_receiver slow_receiver startup tcp tcp_stream ceilings rma rma_rate rma_atomic passive_target file spawn"
    )
    assert {*wanted.split(), *others.split()} <= set(all_tests())


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_compiles_without_a_warning(compiler: str) -> None:
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler}")
    command = [compiler, *STRICT, "-fsyntax-only", f"-I{ROOT / 'include'}", *map(str, FILES)]
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)
    assert outcome.returncode == 0, outcome.stderr


def test_uses_only_what_old_mpis_have() -> None:
    """Beside windows, MPI-3 and later is unknown to LAM: no MPI_Count, nonblocking collectives, *_x or *_c calls."""
    newer = re.compile(r"MPI_Count|MPI_I(?!nit\b|recv\b|send\b|probe\b)[a-z]\w*|MPI_\w+_c\(|MPI_Mprobe")
    for file in FILES + HEADERS:
        assert not newer.findall(file.read_text()), file.name


def test_formatted() -> None:
    program = Path(sys.executable).parent / "clang-format"
    if not program.exists():
        pytest.skip("no clang-format")
    mine = [Path(__file__).parent / "behaviours.c", *FILES, *HEADERS]
    command = [str(program), "--dry-run", "--Werror", *map(str, mine)]
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)
    assert outcome.returncode == 0, outcome.stderr
