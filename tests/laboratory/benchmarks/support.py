"""Compiling and running the laboratory's test programs."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from volley.benchmarks import FOLDER
from volley.measure.rank_files import LaunchFiles, read_launch

ROOT = Path(__file__).parents[3]
STRICT = ["-std=gnu11", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror", f"-I{FOLDER}"]


def build(source: Path, program: Path) -> Path:
    """Compiles a program that needs no MPI, as the laboratory does but with all warnings as errors."""
    command = ["gcc", *STRICT, "-O2", "-o", str(program), str(source), "-pthread", "-lm"]
    subprocess.run(command, check=True)
    return program


def run(
    program: Path,
    folder: Path,
    points: Sequence[str],
    *extra: str,
    repetitions: tuple[int, int] = (5, 20),
    freeze_seconds: float = 5,
) -> tuple[subprocess.CompletedProcess[str], LaunchFiles]:
    """One launch of two ranks; what its process said, and what its ranks left."""
    folder.mkdir(exist_ok=True)
    lines = [
        "ranks 2",
        f"freeze_seconds {freeze_seconds}",
        "seconds_per_point 0.001",
        f"minimum_repetitions {repetitions[0]}",
        f"maximum_repetitions {repetitions[1]}",
        *extra,
        *(f"point {point}" for point in points),
    ]
    (folder / "launch.txt").write_text("\n".join(lines) + "\n")
    outcome = subprocess.run([str(program), str(folder)], capture_output=True, text=True, timeout=25, check=False)
    return outcome, read_launch(folder)
