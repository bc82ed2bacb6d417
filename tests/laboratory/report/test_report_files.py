# SPDX-License-Identifier: BSD-3-Clause
"""Plots as files, and scripts that GNU Octave runs as they are."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from synthetic_study import Synthetic, point, synthetic
from volley.data.results import Curve, Study
from volley.report.octave import write_octave
from volley.report.plots import write_plots

OCTAVE = shutil.which("octave")


@pytest.fixture(scope="module")
def made() -> Synthetic:
    return synthetic()


def test_png_and_svg_per_test_and_quantity(made: Synthetic, tmp_path: Path) -> None:
    started = time.process_time()
    chosen = [curve for curve in made.curves if curve.test in ("pingpong", "barrier", "tcp", "startup", "ceilings")]
    files = {file.name: file for file in write_plots(made.study, chosen, tmp_path / "plots")}
    assert time.process_time() - started < 15  # of computing; about 1.5 s
    assert {"pingpong-time.png", "pingpong-time.svg", "pingpong-bandwidth.svg", "barrier-time.png"} <= set(files)
    assert "barrier-bandwidth.png" not in files
    for name, file in files.items():
        if name.endswith(".png"):
            assert file.read_bytes().startswith(b"\x89PNG")
        else:
            ElementTree.parse(file)


def test_plots_bear_hostile_names_and_nothing(tmp_path: Path) -> None:
    assert write_plots(Study(), [], tmp_path) == []
    noise = random.Random(1)
    curve = Curve("_$x^{</text>", "../a b", "$\\frac", 2, tuple(point(x, 5.0 + x, noise) for x in (0, 1, 2)))
    assert [file.name for file in write_plots(Study(), [curve], tmp_path)] == ["_a_b-time.png", "_a_b-time.svg"]


def test_scripts_have_names_that_both_programs_run(made: Synthetic, tmp_path: Path) -> None:
    noise = random.Random(1)
    long = [Curve("s" * 80, "t", f"v{n}", ranks, (point(1, 9.0, noise),)) for n in (1, 2) for ranks in (2, 4)]
    files = write_octave(made.study, [*made.curves, *long], tmp_path)
    assert "pingpong__mpich_5_0_2_shm.m" in {file.name for file in files}
    assert len(set(files)) == len(made.curves) + len(long)
    for file in files:
        assert re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,62}", file.stem), file.name
    assert files[0].name in (tmp_path / "README.txt").read_text()


@pytest.mark.skipif(OCTAVE is None, reason="GNU Octave is not installed (apt-get install octave gnuplot-nox)")
def test_octave_runs_them_as_they_are(made: Synthetic, tmp_path: Path) -> None:
    noise = random.Random(1)
    hostile = Curve("it's_a\n%\"{\\n", "t_x", "日本", 2, tuple(point(x, 5.0 + x, noise) for x in (0, 1, 8)))
    chosen = [
        curve for curve in made.curves if curve.system == "lam==7.1.4/tcp" and curve.test in ("pingpong", "barrier")
    ]
    for file in write_octave(made.study, [*chosen, hostile], tmp_path):
        done = subprocess.run(
            [str(OCTAVE), "--no-gui", "--norc", file.name],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    file = tmp_path / "pingpong__lam_7_1_4_tcp.m"
    code = f"run('{file.name}'); printf('%.6f ', data(3, :));"
    done = subprocess.run(
        [str(OCTAVE), "--no-gui", "--norc", "--eval", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    third = chosen[0].points[2]
    wanted = [third.x, third.value_ns, third.low_ns, third.high_ns, third.launches, third.operations]
    assert [float(word) for word in done.stdout.split()[-6:]] == pytest.approx(wanted)
