# SPDX-License-Identifier: BSD-3-Clause
import json
import os
import subprocess
from dataclasses import asdict
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from volley.data.results import Launch, Study, Warning
from volley.data.store import StudyFolder, reading
from volley.errors import DataError, UsageError, VolleyError
from volley.measure.plan import Buffers, Options
from volley.measure.rank_files import SCHEMA
from volley.measure.study import options_of


def frame(count: int = 3) -> pl.DataFrame:
    rows = [("-", 0, 8, i, 1000 + i, 100.5) for i in range(count)]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def launch(number: int) -> Launch:
    return Launch(number=number, system="a", test="pingpong", ranks=2, block=1, operations=3)


@pytest.fixture
def folder(tmp_path: Path) -> StudyFolder:
    return StudyFolder.create(tmp_path / "study", Study(title="t", warnings=[Warning("n", "w")]))


def test_what_is_kept_comes_back(folder: StudyFolder) -> None:
    folder.add_launch(launch(1), frame())
    folder.merge()
    folder.add_launch(launch(2), frame(5))
    again = StudyFolder.open(folder.path)
    assert again.facts == folder.facts
    samples = again.samples().collect()
    assert samples.group_by("launch").len().sort("launch").rows() == [(1, 3), (2, 5)]
    again.merge()
    assert again.samples().collect().equals(samples)
    assert not list((folder.path / "parts").iterdir())


def test_a_launch_whose_facts_were_not_written_before_a_kill_is_not_counted(folder: StudyFolder) -> None:
    folder.add_launch(launch(1), frame())
    folder.facts.launches.append(launch(2))
    folder.add_launch(launch(3), frame())
    text = (folder.path / "study.json").read_text()
    folder.add_launch(launch(4), frame())
    (folder.path / "study.json").write_text(text)  # as if killed between the two writes
    assert StudyFolder.open(folder.path).samples().collect()["launch"].unique().sort().to_list() == [1, 3]


def test_a_folder_that_is_no_study_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"is no study: it has no study\.json"):
        StudyFolder.open(tmp_path)


def test_damaged_json_names_the_file_and_the_place(folder: StudyFolder) -> None:
    file = folder.path / "study.json"
    file.write_text(file.read_text()[:-30])
    with pytest.raises(DataError, match=r"study\.json is damaged: .* line"):
        StudyFolder.open(folder.path)


def test_another_format_is_refused_by_name(folder: StudyFolder) -> None:
    (folder.path / "study.json").write_text(json.dumps({"format": "volley study 99"}))
    with pytest.raises(DataError, match='format "volley study 99"'):
        StudyFolder.open(folder.path)


def test_facts_of_the_wrong_shape_are_refused(folder: StudyFolder) -> None:
    data = json.loads((folder.path / "study.json").read_text())
    data["launches"] = [{"number": 1}]
    (folder.path / "study.json").write_text(json.dumps(data))
    with pytest.raises(DataError, match="Launch is incomplete"):
        StudyFolder.open(folder.path)


def test_a_cut_parquet_file_is_named(folder: StudyFolder) -> None:
    folder.add_launch(launch(1), frame(1000))
    part = next((folder.path / "parts").glob("*.parquet"))
    part.write_bytes(part.read_bytes()[:-20])
    with pytest.raises(DataError, match=r"00001\.parquet is damaged or cut"):
        folder.samples()


def test_damage_within_a_parquet_file_is_named_when_it_is_read(folder: StudyFolder) -> None:
    noise = np.random.default_rng(1).integers(0, 1 << 60, 5000)
    folder.add_launch(launch(1), frame(5000).with_columns(start_ns=pl.Series(noise)))
    part = next((folder.path / "parts").glob("*.parquet"))
    content = bytearray(part.read_bytes())
    content[200:-2000] = bytes(len(content) - 2200)
    part.write_bytes(content)
    with pytest.raises(DataError, match="damaged or cut"), reading(part):
        folder.samples().collect()


def test_after_a_kill_while_merging_no_sample_counts_twice(folder: StudyFolder) -> None:
    folder.add_launch(launch(1), frame())
    parts = {file: file.read_bytes() for file in (folder.path / "parts").glob("*.parquet")}
    folder.merge()
    for file, content in parts.items():
        file.write_bytes(content)
    folder.add_launch(launch(2), frame())
    assert len(folder.samples().collect()) == 6
    folder.merge()
    assert len(folder.samples().collect()) == 6


def test_facts_of_the_wrong_type_are_named(folder: StudyFolder) -> None:
    facts = json.loads((folder.path / "study.json").read_text())
    (folder.path / "study.json").write_text(json.dumps({**facts, "environment": None}))
    with pytest.raises(DataError, match=r"Study\.environment should be a dict.*found NoneType"):
        StudyFolder.open(folder.path)


def test_a_folder_with_other_things_in_it_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "letter").write_text("dear")
    with pytest.raises(UsageError, match="is not empty"):
        StudyFolder.create(tmp_path, Study())
    with pytest.raises(UsageError, match="is a file"):
        StudyFolder.create(tmp_path / "letter", Study())


def test_two_runs_do_not_measure_into_one_folder(folder: StudyFolder) -> None:
    with (
        folder.lock(),
        pytest.raises(UsageError, match="another volley"),
        StudyFolder.open(folder.path).lock(),
    ):
        pass


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk needs root")
def test_a_full_disk_is_named_and_what_was_there_is_whole(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=200k", "none", str(disk)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"no mounting here: {mounted.stderr.decode().strip()}")
    try:
        small = StudyFolder.create(disk / "study", Study())
        small.add_launch(launch(1), frame())
        noise = frame(60_000).with_columns(start_ns=pl.Series(np.random.default_rng(1).integers(0, 1 << 60, 60_000)))
        with pytest.raises(VolleyError, match="is full") as caught:
            small.add_launch(launch(2), noise)
        assert "--resume" in caught.value.remedy
        assert len(StudyFolder.open(disk / "study").samples().collect()) == 3
        assert not list((disk / "study" / "parts").glob(".*"))
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_study_goes_on_with_its_own_buffers(folder: StudyFolder) -> None:
    options = folder.facts.options
    options.update(asdict(Options(buffers=Buffers.KEPT)))
    folder.save()
    assert options_of(StudyFolder.open(folder.path).facts).buffers is Buffers.KEPT
    options["buffers"] = "painted"
    with pytest.raises(DataError, match=r"Options\.buffers should be one of written, kept, found 'painted'"):
        options_of(folder.facts)
    del options["buffers"]  # before there was a choice nothing was written
    assert options_of(folder.facts).buffers is Buffers.KEPT
