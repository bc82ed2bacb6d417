# SPDX-License-Identifier: BSD-3-Clause
"""`volley tune` with the real library: a bad choice is found out, and mpiexec takes the file that is written."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from volley.systems import volley as system
from volley.systems.flavours.volley import ALGORITHMS
from volley.tune.rules import Rule, file_text

VOLLEY = (sys.executable, "-c", "from volley.cli import main; main()")
DOCS = Path(__file__).parents[3] / "docs" / "compiling-and-running.md"
PROGRAM = """
#include <mpi.h>
int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Finalize();
}
"""


def tune(*arguments: object) -> subprocess.CompletedProcess[str]:
    words = [*VOLLEY, "tune", *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True, timeout=120)


def test_algorithms_are_those_of_the_documentation() -> None:
    rows = re.findall(r"^\| `([a-z_]+)` \| (`.*`) \|$", DOCS.read_text(encoding="utf-8"), re.MULTILINE)
    documented = {operation: tuple(re.findall(r"`([a-z_]+)`", names)) for operation, names in rows}
    assert {name: documented[name] for name in ALGORITHMS} == ALGORITHMS


@pytest.mark.skipif(not system.VolleySystem.installed(), reason="there is no library of ours: pip install .")
def test_a_bad_choice_is_found_out(tmp_path: Path) -> None:
    """A barrier by messages takes twice as long as one in the memory that ranks share."""
    file = tmp_path / "tuned"
    bad = "volley/shared@VOLLEY_COLLECTIVES=barrier=dissemination"
    done = tune("--system", bad, "--tests", "barrier", "--ranks", 2, "--budget", "60s", "--out", file, "--json")
    assert done.returncode == 0, done.stderr
    rules = json.loads(done.stdout)["rules"]
    if not any(rule["kept"] for rule in rules):
        pytest.skip("the machine was too busy to be sure of anything")
    (rule,) = rules
    assert rule["rule"] == "barrier=published@ranks=2,hosts=1"
    assert rule["ratio"] < 1
    assert [line.partition(" ")[0] for line in file.read_text().splitlines() if line[0] != "#"] == [rule["rule"]]


@pytest.mark.skipif(not system.VolleySystem.installed(), reason="there is no library of ours: pip install .")
def test_mpiexec_takes_the_file(tmp_path: Path) -> None:
    rule = Rule("barrier", "dissemination", (0,), None, 2, 1, verdict="FASTER", ratio=0.5, low=0.4, high=0.6)
    file = tmp_path / "tuned"
    file.write_text(file_text([rule], ["About it."]))
    source = tmp_path / "barrier.c"
    source.write_text(PROGRAM)
    programs = system.prefix() / "bin"
    subprocess.run([programs / "mpicc", source, "-o", tmp_path / "barrier"], check=True)
    command = (programs / "mpiexec", "--collectives", f"show:@{file}", "-n", "2", tmp_path / "barrier")
    said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stderr
    assert "dissemination, since VOLLEY_COLLECTIVES asks for it" in said


def test_one_that_is_interrupted_writes_nothing_and_says_so(tmp_path: Path) -> None:
    file = tmp_path / "tuned"
    words = [*VOLLEY, "tune", "--tests", "alltoall", "--ranks", "2", "--out", str(file)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as tuning:
        assert tuning.stdout is not None
        assert "preparing" in tuning.stdout.readline()
        tuning.send_signal(signal.SIGINT)
        _, said = tuning.communicate(timeout=60)
    assert tuning.returncode == 130
    assert f"interrupted; {file} was not written" in said
    assert not file.exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--tests", "barrier", "--out", "/nowhere/file"), "there is no folder /nowhere"),
        (("--tests", "barrier", "--ranks", "2", "--hosts", "a,b"), "--ranks is for this machine"),
        (("--tests", "pingpong", "--out", os.devnull + "x"), "reads no rules for pingpong"),
    ],
)
def test_what_cannot_be_tuned_is_said(arguments: tuple[str, ...], said: str) -> None:
    done = tune(*arguments)
    assert done.returncode != 0
    assert said in done.stderr
    assert "Traceback" not in done.stderr
