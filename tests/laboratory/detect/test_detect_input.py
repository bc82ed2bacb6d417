# SPDX-License-Identifier: BSD-3-Clause
"""What can be read, what is refused and in which words, and how fast."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from volley.data.results import Launch, Study
from volley.data.store import StudyFolder
from volley.detect import detect, read_material
from volley.errors import DataError, UsageError
from volley.measure.rank_files import SCHEMA
from volley.selftest.synthetic import MAKERS

HEADING = "system,test,size_bytes,launch,repetition,seconds\n"


def write(folder: Path, text: str, name: str = "data.csv") -> Path:
    file = folder / name
    file.write_text(text)
    return file


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEADING, "has a heading, but no row below it"),
        (HEADING + "m,pingpong,8,1,0,1e-6\nm,pingpong,9,1,0,fast\n", 'data.csv:3: seconds should be a number'),
        (HEADING + "m,pingpong,8,1,0,\n", "data.csv:2: seconds should be a number"),
        (HEADING + "m,pingpong,8,1,0,-1\n", "a time of -1.0 cannot be"),
        (HEADING + "m,pingpong,8,1,0,inf\n", "seconds should be a number"),
        (HEADING + "m,pingpong,-8,1,0,1\n", "size_bytes should be a whole number"),
        (HEADING + "m,pingpong,8,1,0,1\nm,pingpong,8,1,0,2\n", "data.csv:3: repetition 0 of launch 1 at 8 bytes"),
        (
            HEADING + "m,pingpong,8,1,0,1\nm,pingpong,9,1,0,1\nm,pingpong,8,1,1,2\nm,pingpong,8,1,0,2\n",
            "data.csv:5: repetition 0 of launch 1 at 8 bytes",
        ),
        (HEADING + "m,pingpong,8\n", "data.csv:2: 3 fields where the heading has 6"),
        (HEADING + "m,pingpong,8,1,0,1,9\n", "data.csv:2: 7 fields where the heading has 6"),
        ("message,send_ns,receive_ns\n0,1,2\n", "a stream of 1 messages has no gaps"),
        ("message,send_ns,receive_ns\n0,1,2\n0,5,4\n1,6,9\n", "message 0 is there twice"),
        ("message,send_ns,receive_ns\n0,1,2\n1,5,4\n2,3,9\n", "data.csv:4: send_ns of message 2 is before"),
        ("message,send_ns,receive_ns\n0,1,x\n", 'data.csv:2: receive_ns should be a number, found "x"'),
        ("apples,pears\n1,2\n", "none of the formats that can be read"),
        ("", "none of the formats that can be read"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_refused_in_words(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError) as raised:
        read_material(write(tmp_path, text))
    assert message in raised.value.problem


def test_what_is_not_there_or_no_study_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="does not exist"):
        read_material(tmp_path / "nothing")
    with pytest.raises(DataError, match="is no study"):
        read_material(tmp_path)
    binary = tmp_path / "x.bin"
    binary.write_bytes(b"\x00\xff\xfe")
    with pytest.raises(DataError, match="is no text"):
        read_material(binary)


def test_an_unknown_kind_is_refused_with_those_there_are(tmp_path: Path) -> None:
    material = read_material(write(tmp_path, HEADING + "m,pingpong,8,1,0,1e-6\n"))
    with pytest.raises(UsageError, match="unknown kind") as raised:
        detect(material, ["spke"])
    assert "spike" in raised.value.remedy


def test_rows_may_come_in_any_order_and_names_with_blanks(tmp_path: Path) -> None:
    rows = ["m,pingpong,8,1,1,2e-6", " m ,pingpong,9,1,0,3e-6", "m, pingpong,8,1,0,1e-6"]
    material = read_material(write(tmp_path, HEADING + "\n".join(rows) + "\n"))
    (curve,) = material.curves
    assert (curve.system, curve.test, curve.sizes.tolist()) == ("m", "pingpong", [8, 9])
    assert curve.series[0].times_ns.tolist() == pytest.approx([1000.0, 2000.0])


def test_a_single_number_is_nothing_odd(tmp_path: Path) -> None:
    assert detect(read_material(write(tmp_path, HEADING + "m,pingpong,8,1,0,1e-6\n"))) == []


def curve_rows(spike_at: int = -1, factor: float = 1.5, launches: int = 5) -> list[str]:
    random = np.random.default_rng(4)
    rows = []
    for launch in range(1, launches + 1):
        for power in range(20):
            times = (1e-6 + 2.0**power / 5e9) * np.exp(random.normal(0, 0.03, 15))
            times *= factor if power == spike_at else 1.0
            rows += [f"m,pingpong,{1 << power},{launch},{i},{time:.9e}" for i, time in enumerate(times)]
    return rows


def test_a_table_of_operations_shows_its_spike(tmp_path: Path) -> None:
    (spike,) = detect(read_material(write(tmp_path, HEADING + "\n".join(curve_rows(11)) + "\n")))
    assert (spike.kind, spike.system, spike.test, spike.size_from, spike.size_to) == (
        "spike",
        "m",
        "pingpong",
        2048,
        2048,
    )
    assert spike.magnitude == pytest.approx(1.5, rel=0.05)
    assert spike.interval[0] < spike.magnitude < spike.interval[1]
    assert spike.status == "UNEXPLAINED"
    assert spike.confidence > 0.95


def test_order_of_rows_and_spaces_do_not_matter(tmp_path: Path) -> None:
    rows = curve_rows(11)
    np.random.default_rng(1).shuffle(rows)
    file = write(tmp_path, HEADING.replace(",", ", ") + "\n".join(row.replace(",", " , ") for row in rows) + "\n")
    assert [one.size_from for one in detect(read_material(file))] == [2048]


def test_one_launch_cannot_tell_a_hiccup_from_a_spike(tmp_path: Path) -> None:
    (spike,) = detect(read_material(write(tmp_path, HEADING + "\n".join(curve_rows(11, 2.0, launches=1)))))
    assert (spike.kind, spike.status) == ("spike", "UNDECIDED")
    assert spike.confidence <= 0.5


def test_output_of_osu_can_be_read(tmp_path: Path) -> None:
    rows = "\n".join(f"{1 << power} {(1 + 2**power / 5e3) * (40 if power > 14 else 1):.2f}" for power in range(22))
    file = write(tmp_path, "# OSU MPI Latency Test v7.4\n# Size       Avg Latency(us)\n" + rows + "\n", "osu.txt")
    assert {(one.kind, one.size_from) for one in detect(read_material(file))} >= {("step", 16384)}


def study(folder: Path, launches: int, operations: int) -> StudyFolder:
    """A study with test `sendrecv` (slowest of two ranks), a step beyond 4096 bytes, and one frozen launch."""
    from dataclasses import asdict

    from volley.benchmarks import find_tests

    facts = Study(title="made", tests=[asdict(test) for test in find_tests("sendrecv")])
    made = StudyFolder.create(folder, facts)
    random = np.random.default_rng(8)
    sizes = np.array([1 << power for power in range(4, 22)])
    base = np.where(sizes <= 4096, 400, 1600) + sizes / 6
    for number in range(1, launches + 1):
        times = base[None, :, None] * np.exp(random.normal(0, 0.05, (2, len(sizes), operations)))
        at = np.indices(times.shape)
        frame = pl.DataFrame(
            {
                "variant": pl.Series(["-"]).new_from_index(0, times.size),
                "rank": at[0].ravel(),
                "size": sizes[at[1].ravel()],
                "repetition": at[2].ravel(),
                "start_ns": np.zeros(times.size, dtype=np.int64),
                "duration_ns": times.ravel(),
            }
        ).cast(SCHEMA)  # type: ignore[arg-type]
        made.add_launch(Launch(number, "m", "sendrecv", 2, number), frame)
    made.facts.launches.append(
        Launch(launches + 1, "m", "sendrecv", 2, 1, status="frozen", reason="nothing moved for 10 s at size 8192")
    )
    made.save()
    made.merge()
    return made


def test_a_study_is_read_like_a_table_and_its_frozen_launches_are_findings(tmp_path: Path) -> None:
    study(tmp_path / "study", 4, 30)
    findings = detect(read_material(tmp_path / "study"))
    assert {(one.kind, one.size_from) for one in findings} >= {("step", 4096), ("freeze", 8192)}


def test_ten_million_samples_take_ten_seconds_at_most(tmp_path: Path) -> None:
    study(tmp_path / "study", 40, 7000)
    began = time.process_time()
    material = read_material(tmp_path / "study")
    findings = detect(material)
    assert ("step", 4096) in {(one.kind, one.size_from) for one in findings}
    assert material.samples == 40 * 18 * 7000
    assert time.process_time() - began < 20  # two cores' time: 10 s


def volley(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from volley.cli import main; main()", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "NO_COLOR": "1", "COLUMNS": "200"},
    )


def test_the_command_speaks_in_words(tmp_path: Path) -> None:
    ended = volley("detect", write(tmp_path, HEADING + "\n".join(curve_rows(11)) + "\n"))
    assert ended.returncode == 0, ended.stderr
    assert "UNEXPLAINED Spike at 2 KiB, 1.5" in ended.stdout
    assert "where its neighbours make" in ended.stdout
    ended = volley("detect", write(tmp_path, HEADING + "\n".join(curve_rows()) + "\n"))
    assert "Nothing odd in 1 curve." in ended.stdout


def test_the_command_gives_json_and_exit_statuses(tmp_path: Path) -> None:
    file = write(tmp_path, HEADING + "\n".join(curve_rows(11)) + "\n")
    (finding,) = json.loads(volley("detect", file, "--json", "--kind", "spike,step").stdout)["findings"]
    assert finding["kind"] == "spike"
    assert finding["interval"][0] < finding["magnitude"] < finding["interval"][1]
    assert json.loads(volley("detect", file, "--json", "--kind", "stall").stdout) == {"findings": []}
    assert volley("detect", file, "--kind", "x").returncode == 2
    assert volley("detect", tmp_path / "no").returncode == 3


def test_the_selftest_prints_recall_and_precision() -> None:
    ended = volley("selftest", "--synthetic", "--rounds", "1", "--json")
    assert ended.returncode == 0, ended.stderr
    said = json.loads(ended.stdout)
    assert {"kind", "planted", "recall", "precision"} <= set(said["kinds"][0])
    assert said["clean"]["cases"] == len(MAKERS)
