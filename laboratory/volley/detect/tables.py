# SPDX-License-Identifier: BSD-3-Clause
"""CSV tables, read column by column: 10^7 rows in seconds, and a fault named with its line."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import polars as pl

from volley.data.imports.table import NAMES, STREAM, TIMES
from volley.detect.build import build, imported_test
from volley.detect.material import Material, StreamData
from volley.errors import DataError

NUMBERS = ("ranks", "size", "launch", "rank", "repetition")


def read_table(path: Path) -> Material | None:
    """A CSV with a size and a time, or message,send_ns,receive_ns; None if the file is of another kind."""
    heading = _heading(path)
    names = set(heading)
    if set(STREAM) <= names:
        return Material(path.name, streams=_streams(path, _read(path, heading)))
    if not (names & set(TIMES) and names & set(NAMES["size"])):
        return None
    return _samples(path, _read(path, heading))


def _heading(path: Path) -> list[str]:
    try:
        with path.open(newline="") as file:
            first = next(csv.reader(file), [])
    except UnicodeDecodeError as problem:
        raise DataError(f"{path} is no text: {problem.reason} at byte {problem.start}") from problem
    except csv.Error as problem:
        raise DataError(f"{path} is no table: {problem}") from problem
    except OSError as problem:
        raise DataError(f"cannot read {path}: {problem.strerror}", "check its name and permissions") from problem
    return [name.strip().lower().removeprefix("\ufeff") for name in first]


def _read(path: Path, heading: list[str]) -> pl.DataFrame:
    """The table, with a column `line`. Known columns are numbers; if one is not, all are text, to name its line."""
    if len(set(heading)) < len(heading):
        raise DataError(f"{path}: a column is named twice in its heading: {', '.join(heading)}")
    whole = {*STREAM[:1], *(name for what in NUMBERS for name in NAMES[what])}
    real = {*TIMES, *STREAM[1:]}
    text = {name: pl.Categorical() for what in ("system", "test", "variant") for name in NAMES[what]}
    kinds: dict[str, pl.DataType] = {}
    for name in heading:
        kinds[name] = pl.Int64() if name in whole else pl.Float64() if name in real else text.get(name, pl.String())
    try:
        return _parse(path, heading, kinds)
    except pl.exceptions.PolarsError:
        plain: dict[str, pl.DataType] = {name: pl.String() for name in heading}
    try:
        return _parse(path, heading, plain)
    except (pl.exceptions.PolarsError, OSError) as problem:
        raise DataError(
            _uneven(path, len(heading)) or f"{path} is no table: {str(problem).splitlines()[0]}"
        ) from problem


def _uneven(path: Path, columns: int) -> str:
    """Which line has more or fewer fields than the heading; empty if none has."""
    with path.open(newline="") as file:
        for number, row in enumerate(csv.reader(file), 1):
            if row and len(row) != columns:
                return f"{path}:{number}: {len(row)} fields where the heading has {columns}"
    return ""


def _parse(path: Path, heading: list[str], kinds: dict[str, pl.DataType]) -> pl.DataFrame:
    try:
        frame = pl.read_csv(path, has_header=False, skip_rows=1, schema=kinds)
    except pl.exceptions.NoDataError:
        frame = pl.DataFrame(schema=kinds)
    if frame.is_empty():
        raise DataError(f"{path} has a heading, but no row below it")
    return frame.with_row_index("line", offset=2)


def _number(frame: pl.DataFrame, name: str, path: Path, whole: bool) -> pl.Series:
    """A column as numbers. Raises DataError naming the first line that has none."""
    if frame[name].dtype.is_numeric() and not frame[name].has_nulls() and _in_range(frame[name], whole):
        return frame[name]
    text = frame[name].cast(pl.String).str.strip_chars()
    values = text.cast(pl.Float64, strict=False)
    bad = values.is_null() | ~values.is_finite()
    if whole:
        bad = bad | (values < 0) | (values != values.round())
    if bad.any():
        at = int(bad.arg_max() or 0)
        what = "a whole number" if whole else "a number"
        raise DataError(
            f'{path}:{frame["line"][at]}: {name} should be {what}, found "{frame[name][at] or ""}"',
            "correct that line, or remove it",
        )
    return text.cast(pl.Int64, strict=False).fill_null(values.cast(pl.Int64)) if whole else values


def _in_range(values: pl.Series, whole: bool) -> bool:
    """Whole numbers of a table are not negative; times are finite."""
    return bool((values >= 0).all()) if whole else bool(values.is_finite().all())


def _samples(path: Path, frame: pl.DataFrame) -> Material:
    """Curves of a table of operations, or of one time per size."""
    meaning = {what: next((name for name in names if name in frame.columns), None) for what, names in NAMES.items()}
    time = next(name for name in TIMES if name in frame.columns)
    seconds = _number(frame, time, path, whole=False)
    if (seconds <= 0).any():
        at = int((seconds <= 0).arg_max() or 0)
        raise DataError(f"{path}:{frame['line'][at]}: a time of {frame[time][at]} cannot be", "remove that line")
    columns: dict[str, pl.Series | pl.Expr] = {"duration_ns": seconds * (TIMES[time] * 1e9)}
    defaults: Mapping[str, object] = {"system": "imported", "test": path.stem, "variant": "-", "launch": 1}
    for what in ("system", "test", "variant"):
        columns[what] = _names(frame, meaning[what], str(defaults[what]))
    for what in NUMBERS:
        name = meaning[what]
        if name:
            columns[what] = _number(frame, name, path, whole=True)
        elif what != "repetition":
            columns[what] = pl.lit(defaults.get(what, 0), pl.Int64)
    whole = frame.with_columns(**columns).with_columns(pl.lit(0, pl.Int64).alias("start_ns"))
    key = ["system", "test", "variant", "ranks", "size", "launch", "rank"]
    if meaning["repetition"] is None:
        whole = whole.with_columns(pl.int_range(pl.len()).over(key).alias("repetition"))
    else:
        _no_row_twice(whole, [*key, "repetition"], path)
    names = whole["test"].unique().cast(pl.String).to_list()
    narrow = whole.select(*key, "repetition", "start_ns", "duration_ns")
    tests = {name: imported_test(name, ranked=meaning["rank"] is not None) for name in names}
    material = build(path.name, narrow.lazy(), tests)
    known = {name for name in (*meaning.values(), time) if name}
    if set(frame.columns) - known - {"line"} and len(frame) <= MOST_FIGURES:
        material.figures = whole
    return material


def _names(frame: pl.DataFrame, column: str | None, default: str) -> pl.Expr:
    """A column of names, as categories without blanks around them; `default` where there is none."""
    if column is None:
        return pl.lit(default).cast(pl.Categorical)
    if frame[column].dtype == pl.Categorical and not frame[column].has_nulls():
        known = frame[column].unique().cast(pl.String)
        if (known == known.str.strip_chars()).all():
            return pl.col(column)
    return pl.coalesce(pl.col(column).cast(pl.String).str.strip_chars(), pl.lit(default)).cast(pl.Categorical)


MOST_FIGURES = 100_000
"""Rows of a table whose further columns are checked against each other: summaries are short."""


def _rises_point_by_point(whole: pl.DataFrame, point: list[str]) -> bool:
    """The usual order of rows: one point after the other, repetitions rising. Quicker than counting."""
    same = pl.all_horizontal(pl.col(name) == pl.col(name).shift() for name in point).fill_null(False)
    falls = same & (pl.col("repetition").diff() <= 0)
    if whole.select(falls.any()).item():
        return False
    return not whole.filter(~same).select(point).is_duplicated().any()


def _no_row_twice(whole: pl.DataFrame, key: list[str], path: Path) -> None:
    """Raises DataError naming a repetition that is there twice."""
    point = key[:-1]
    if _rises_point_by_point(whole, point):
        return
    crowded = whole.lazy().group_by(point).agg(pl.col("repetition").n_unique().alias("n"), pl.len())
    suspects = whole.lazy().join(crowded.filter(pl.col("n") < pl.col("len")), on=point, how="semi")
    twice = suspects.group_by(key).agg(pl.len(), pl.col("line").max()).filter(pl.col("len") > 1).sort("line").collect()
    if len(twice):
        row = twice.row(0, named=True)
        raise DataError(
            f"{path}:{row['line']}: repetition {row['repetition']} of launch {row['launch']} at {row['size']} bytes "
            f"({row['system']}, {row['test']}) is there {row['len']} times",
            "give repeated measurements numbers of their own: column repetition or launch",
        )


def _streams(path: Path, frame: pl.DataFrame) -> list[StreamData]:
    """One stream per size, launch, system and test, in the order of its message numbers."""
    size = next((name for name in NAMES["size"] if name in frame.columns), None)
    launch = next((name for name in NAMES["launch"] if name in frame.columns), None)
    columns: dict[str, pl.Series | pl.Expr] = {
        "message": _number(frame, "message", path, whole=True),
        "send": _number(frame, "send_ns", path, whole=False),
        "receive": _number(frame, "receive_ns", path, whole=False),
        "size": _number(frame, size, path, whole=True) if size else pl.lit(0, pl.Int64),
        "launch": _number(frame, launch, path, whole=True) if launch else pl.lit(1, pl.Int64),
    }
    for what, default in (("system", "imported"), ("test", "stream"), ("variant", "-")):
        name = next((one for one in NAMES[what] if one in frame.columns), None)
        columns[what] = _names(frame, name, default)
    key = ["system", "test", "variant", "size", "launch"]
    rows = frame.select("line", **columns).sort([*key, "message"])
    found = []
    for at, stream in rows.group_by(key, maintain_order=True):
        if len(stream) < 3:
            raise DataError(f"{path}: a stream of {len(stream)} messages has no gaps to look at")
        _check_order(path, stream)
        sent, received = (np.diff(stream[name].to_numpy()) for name in ("send", "receive"))
        lowest = int(stream["message"][0])  # numbered from 0 or from 1: the first gap lies before the second message
        system, test, variant = str(at[0]), str(at[1]), str(at[2])
        found.append(StreamData(system, test, variant, 2, int(str(at[3])), int(str(at[4])), received, sent, lowest + 1))
    return found


def _check_order(path: Path, stream: pl.DataFrame) -> None:
    """Message numbers are there once, and time does not run backwards."""
    numbers = stream["message"]
    if numbers.n_unique() < len(numbers):
        at = int((numbers.diff() == 0).arg_max() or 0)
        raise DataError(f"{path}:{stream['line'][at]}: message {numbers[at]} is there twice")
    for name in ("send", "receive"):
        back = stream[name].diff() < 0
        if back.any():
            at = int(back.arg_max() or 0)
            raise DataError(
                f"{path}:{stream['line'][at]}: {name}_ns of message {numbers[at]} is before that of the last one",
                "stamps must come from one clock per side, in the order of messages",
            )
