# SPDX-License-Identifier: BSD-3-Clause
"""A study's folder on disk: written so that a kill at any moment loses at most the launch in flight.

Each finished launch is one Parquet file in ``parts/``, and then a line in ``study.json``, each written
beside its place, flushed to disk and renamed. At the end the parts become ``samples.parquet``.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import math
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl

from volley.benchmarks import Test, all_tests
from volley.data.results import FORMAT, Launch, Study, from_dictionary, to_dictionary
from volley.data.states import states_of
from volley.errors import DataError, UsageError, VolleyError, mount_of

SAMPLES = "samples.parquet"
FACTS = "study.json"
PARTS = "parts"
IDENTITY = ("system", "test", "variant")
"""Columns with few values, kept as categories."""


def replace_file(path: Path, write: Callable[[Path], object]) -> None:
    """Calls write(temporary path beside `path`), flushes it to disk and renames it to `path`.

    Raises VolleyError with the remedy for a full disk or missing permission; `path` is then unchanged.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        write(temporary)
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        temporary.replace(path)
    except (OSError, pl.exceptions.ComputeError) as problem:
        with contextlib.suppress(OSError):
            temporary.unlink()
        code = getattr(problem, "errno", None)
        if code == errno.ENOSPC or "No space left" in str(problem):
            raise VolleyError(
                f"the disk with {path.parent} is full (file system {mount_of(path.parent)}): {path.name} could not be "
                "written",
                "free some space, then go on with --resume; all earlier launches are kept",
            ) from problem
        raise VolleyError(
            f"cannot write {path}: {getattr(problem, 'strerror', None) or problem}",
            "check that the folder exists and may be written by you",
        ) from problem


@contextlib.contextmanager
def reading(path: Path) -> Iterator[None]:
    """Within, what polars says of a damaged file becomes a DataError that names `path`."""
    try:
        yield
    except (pl.exceptions.PolarsError, OSError) as problem:
        raise DataError(
            f"{path} is damaged or cut: {str(problem).splitlines()[0]}",
            "restore it from a copy, or move it away: the other launches can still be read",
        ) from problem


def _without_nan(value: Any) -> Any:
    """JSON has no NaN or infinity: they become null."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {name: _without_nan(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(one) for one in value]
    return value


def labelled(launch: Launch, samples: pl.DataFrame) -> pl.DataFrame:
    """A launch's samples (rank_files.SCHEMA) with what tells them from others': results.SAMPLE_COLUMNS."""
    return samples.select(
        pl.lit(launch.system).alias("system"),
        pl.lit(launch.test).alias("test"),
        pl.col("variant"),
        pl.lit(launch.ranks, pl.UInt16).alias("ranks"),
        pl.lit(launch.number, pl.UInt32).alias("launch"),
        pl.col("rank", "size", "repetition", "start_ns", "duration_ns"),
    )


class StudyFolder:
    """A study on disk. ``facts`` is the study but its samples; change it, then ``save()``."""

    def __init__(self, path: Path, facts: Study) -> None:
        self.path = path
        self.facts = facts

    @classmethod
    def create(cls, path: Path, facts: Study) -> StudyFolder:
        """A new study in `path`, which must be absent or empty. Raises UsageError, VolleyError."""
        if path.exists() and not path.is_dir():
            raise UsageError(f"{path} is a file, not a folder", "name another folder with --out")
        if path.exists() and any(path.iterdir()):
            what = "already holds a study" if (path / FACTS).exists() else "is not empty"
            raise UsageError(
                f"{path} {what}", "name another folder with --out, or go on with it: volley study --resume"
            )
        try:
            (path / PARTS).mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise VolleyError(
                f"cannot create {path}: {problem.strerror}", "name a folder you may write with --out"
            ) from problem
        folder = cls(path, facts)
        folder.save()
        return folder

    @classmethod
    def open(cls, path: Path) -> StudyFolder:
        """The study in `path`. Raises DataError if there is none, or it is damaged."""
        file = path / FACTS
        if not path.is_dir() or not file.exists():
            raise DataError(f"{path} is no study: it has no {FACTS}", "give the folder that `volley study --out` made")
        try:
            data = json.loads(file.read_text())
        except (json.JSONDecodeError, UnicodeDecodeError) as problem:
            raise DataError(
                f"{file} is damaged: {problem}",
                f"the samples beside it may be whole: {path / PARTS}, {path / SAMPLES}",
            ) from problem
        except OSError as problem:
            raise DataError(f"cannot read {file}: {problem.strerror}") from problem
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            seen = data.get("format") if isinstance(data, dict) else type(data).__name__
            raise DataError(f'{file} has format "{seen}", this program reads "{FORMAT}"')
        return cls(path, from_dictionary(Study, data, str(file)))

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Held while measuring: two runs into one folder would mix. Raises UsageError if another has it."""
        try:
            file = (self.path / ".lock").open("w")
        except OSError as problem:
            raise VolleyError(
                f"cannot write into {self.path}: {problem.strerror}", "make it writable for you, or measure anew"
            ) from problem
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as problem:
                raise UsageError(
                    f"another volley is measuring into {self.path}",
                    "wait for it, or name another folder with --out",
                ) from problem
            yield
        with contextlib.suppress(OSError):
            (self.path / ".lock").unlink()

    def save(self) -> None:
        """Writes study.json."""
        text = json.dumps(_without_nan(to_dictionary(self.facts)), indent=1)
        replace_file(self.path / FACTS, lambda path: path.write_text(text))

    def add_launch(self, launch: Launch, samples: pl.DataFrame) -> None:
        """Keeps one finished launch: its samples (rank_files.SCHEMA), then its facts."""
        if len(samples):
            whole = labelled(launch, samples)
            replace_file(
                self.path / PARTS / f"{launch.number:05}.parquet",
                lambda path: whole.write_parquet(path, compression="zstd", compression_level=1),
            )
        self.facts.launches.append(launch)
        self.save()

    def merge(self) -> None:
        """Makes samples.parquet of all parts (and of an earlier samples.parquet), then removes the parts."""
        if not any((self.path / PARTS).glob("*.parquet")):
            return
        frame = self.samples()
        replace_file(self.path / SAMPLES, lambda path: frame.sink_parquet(path, compression="zstd"))
        shutil.rmtree(self.path / PARTS, ignore_errors=True)
        (self.path / PARTS).mkdir(exist_ok=True)

    def comparable_samples(self) -> pl.LazyFrame:
        """Those of launches in which the machine was in the same state (volley.data.states)."""
        unlike = states_of(self.facts.launches).unlike(self.facts.launches)
        return self.samples().filter(~pl.col("launch").is_in(sorted(unlike))) if unlike else self.samples()

    def samples(self) -> pl.LazyFrame:
        """All samples, as described by results.SAMPLE_COLUMNS, without those of launches not in the facts.

        Raises DataError naming a damaged file; an empty study gives a frame without rows.
        """
        merged = self.path / SAMPLES
        known = {f"{launch.number:05}" for launch in self.facts.launches}
        parts = [file for file in sorted((self.path / PARTS).glob("*.parquet")) if file.stem in known]
        if parts and merged.exists():  # killed while merging: what is merged already must not count twice
            with reading(merged):
                done = pl.scan_parquet(merged).select(pl.col("launch").unique()).collect()["launch"].to_list()
            parts = [file for file in parts if int(file.stem) not in set(done)]
        files = ([merged] if merged.exists() else []) + parts
        frames = []
        for file in files:
            with reading(file):
                names = pl.read_parquet_schema(file)
                frame = pl.scan_parquet(file)
            missing = {"system", "test", "variant", "ranks", "launch", "rank", "size", "duration_ns"} - set(names)
            if missing:
                raise DataError(f"{file} lacks the columns {', '.join(sorted(missing))}")
            frames.append(frame)
        if not frames:
            return pl.LazyFrame(schema=EMPTY)
        return pl.concat(frames, how="vertical_relaxed").with_columns(
            pl.col(*IDENTITY).cast(pl.Categorical), pl.col("start_ns").cast(pl.Int64)
        )


EMPTY: dict[str, pl.DataType] = {
    "system": pl.Categorical(),
    "test": pl.Categorical(),
    "variant": pl.Categorical(),
    "ranks": pl.UInt16(),
    "launch": pl.UInt32(),
    "rank": pl.UInt16(),
    "size": pl.UInt64(),
    "repetition": pl.UInt32(),
    "start_ns": pl.Int64(),
    "duration_ns": pl.Float32(),
}


def tests_of(study: Study) -> dict[str, Test]:
    """The tests as they were when the study was made (their files may have changed since)."""
    found = {}
    for said in study.tests:
        lists_as_tuples = {name: tuple(value) if isinstance(value, list) else value for name, value in said.items()}
        today = all_tests().get(str(said.get("name")))
        if today is not None:  # what studies of older versions do not say
            lists_as_tuples = {"pattern": today.pattern, "cold": today.cold} | lists_as_tuples
        test = from_dictionary(Test, lists_as_tuples)
        found[test.name] = test
    return found
