# SPDX-License-Identifier: BSD-3-Clause
"""From a study's folder, a CSV or another program's output to what detectors look at."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import polars as pl

from volley.data.analyse import LAUNCH_KEY
from volley.data.imports import Measurement, read_file
from volley.data.store import FACTS, StudyFolder, reading, tests_of
from volley.detect.build import build, imported_test
from volley.detect.material import Material
from volley.detect.tables import read_table
from volley.errors import DataError, UsageError


def read_material(path: Path) -> Material:
    """Reads a study's folder, a table or other output. Raises DataError naming what is wrong where."""
    if not path.exists():
        raise DataError(f"{path} does not exist", "give a study's folder (with study.json) or a file of measurements")
    if path.is_dir():
        return _study(path)
    material = read_table(path)
    if material is None:
        frame = _imported(read_file(path)[1])
        names = frame["test"].cast(pl.String).unique().to_list()
        tests = {name: imported_test(name) for name in names}
        material = build(path.name, frame.lazy(), tests)
    if not material.curves and not material.streams:
        raise DataError(f"{path} holds no measurement", "a table needs rows below its heading")
    return material


def read_older(against: str, material: Material) -> Material:
    """What to compare with. A system's name may look like a path (mpich==4.1.3/shm), and goes first."""
    if against in material.systems():
        return material.only({against})
    if not Path(against).exists():
        raise UsageError(
            f'"{against}" is neither a study, nor a file, nor a system of the data',
            f"systems there: {', '.join(material.systems())}",
        )
    return read_material(Path(against))


def _study(path: Path) -> Material:
    if not (path / FACTS).exists():
        raise DataError(
            f"{path} is no study: it has no {FACTS}", "give the folder that `volley study --out` made, or a file"
        )
    folder = StudyFolder.open(path)
    with reading(path):
        material = build(path.name, folder.comparable_samples(), tests_of(folder.facts))
    material.launches = folder.facts.launches
    if not material.curves and not any(launch.status != "measured" for launch in material.launches):
        raise DataError(f"{path} holds no samples", f"go on with it: volley study --resume --out {path}")
    return material


def _imported(rows: Iterable[Measurement]) -> pl.DataFrame:
    rows = list(rows)
    frame = pl.DataFrame(
        {
            "system": [row.system or "imported" for row in rows],
            "test": [row.test for row in rows],
            "variant": [row.variant for row in rows],
            "ranks": [row.ranks for row in rows],
            "launch": [row.launch or 1 for row in rows],
            "rank": [row.rank for row in rows],
            "size": [row.size for row in rows],
            "repetition": [row.repetition for row in rows],
            "start_ns": [row.start_ns for row in rows],
            "duration_ns": [row.seconds * 1e9 for row in rows],
        },
        schema_overrides={"repetition": pl.Int64},
    )
    counted = pl.int_range(pl.len()).over([*LAUNCH_KEY, "rank"])
    return frame.with_columns(pl.coalesce("repetition", counted).alias("repetition"))
