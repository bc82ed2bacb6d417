# SPDX-License-Identifier: BSD-3-Clause
from pathlib import Path

import pytest
from volley.cli.importing import importing
from volley.data.imports import read_file
from volley.data.store import StudyFolder
from volley.errors import DataError
from volley.report.data import gather

OSU_LATENCY = """
# OSU MPI Latency Test v7.4
# Datatype: MPI_CHAR.
# Size       Avg Latency(us)
1                       0.21
4096                    1.05
"""
OSU_BANDWIDTH = """# OSU MPI Bandwidth Test v5.9
# Size      Bandwidth (MB/s)
1                      10.00
1048576             10485.76
"""
OSU_BARRIER = """# OSU MPI Barrier Latency Test v7.4
# Avg Latency(us)
             1.28
"""
IMB = """#----------------------------------------------------------------
# Benchmarking PingPong
# #processes = 2
#----------------------------------------------------------------
       #bytes #repetitions      t[usec]   Mbytes/sec
            0         1000         0.79         0.00
         4096         1000         2.20      1861.82

#----------------------------------------------------------------
# Benchmarking Allreduce
# #processes = 4
# ( 4 additional processes waiting in MPI_Barrier)
#----------------------------------------------------------------
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
            8         1000         1.10         1.30         1.20

#----------------------------------------------------------------
# Benchmarking Barrier
# #processes = 4
#----------------------------------------------------------------
 #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
         1000         0.31         0.35         0.33
"""


def write(folder: Path, text: str, name: str = "output.txt") -> Path:
    file = folder / name
    file.write_text(text)
    return file


def test_osu_latency_is_a_ping_pong_in_microseconds(tmp_path: Path) -> None:
    kind, rows = read_file(write(tmp_path, OSU_LATENCY))
    assert kind.name == "osu"
    assert [(row.test, row.size, row.seconds) for row in rows] == [
        ("pingpong", 1, pytest.approx(0.21e-6)),
        ("pingpong", 4096, pytest.approx(1.05e-6)),
    ]


def test_osu_bandwidth_becomes_the_time_of_one_message(tmp_path: Path) -> None:
    _, rows = read_file(write(tmp_path, OSU_BANDWIDTH))
    assert [(row.test, row.size, row.seconds) for row in rows] == [
        ("osu bandwidth", 1, pytest.approx(1e-7)),
        ("osu bandwidth", 1048576, pytest.approx(1e-4)),
    ]


def test_osu_barrier_has_no_size(tmp_path: Path) -> None:
    _, rows = read_file(write(tmp_path, OSU_BARRIER))
    assert [(row.test, row.size, row.seconds) for row in rows] == [("barrier", 0, pytest.approx(1.28e-6))]


def test_imb_blocks_keep_their_benchmark_and_world_size(tmp_path: Path) -> None:
    kind, rows = read_file(write(tmp_path, IMB))
    assert kind.name == "imb"
    assert [(row.test, row.ranks, row.size, row.seconds) for row in rows] == [
        ("pingpong", 2, 0, pytest.approx(0.79e-6)),
        ("pingpong", 2, 4096, pytest.approx(2.2e-6)),
        ("allreduce", 4, 8, pytest.approx(1.3e-6)),
        ("barrier", 4, 0, pytest.approx(0.35e-6)),
    ]


def test_a_table_says_what_its_columns_mean(tmp_path: Path) -> None:
    text = "version,msize,launch,runtime_sec\n1.6,3000,2,0.004\n1.9a,30,1,1e-5\n"
    kind, rows = read_file(write(tmp_path, text, "reduce.csv"))
    assert kind.name == "csv"
    assert [(row.system, row.test, row.size, row.launch, row.seconds) for row in rows] == [
        ("1.6", "reduce", 3000, 2, 0.004),
        ("1.9a", "reduce", 30, 1, 1e-5),
    ]


def test_stamps_of_a_stream_become_gaps_on_both_sides(tmp_path: Path) -> None:
    text = "message,send_ns,receive_ns\n0,1000,1500\n1,2000,2600\n2,3000,13600\n"
    _, rows = read_file(write(tmp_path, text))
    assert [(row.rank, row.repetition, round(row.seconds * 1e9)) for row in rows] == [
        (0, 1, 1000),
        (1, 1, 1100),
        (0, 2, 1000),
        (1, 2, 11000),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("size_bytes,seconds\n8,fast\n", "output.txt:2: not a number"),
        ("size_bytes,seconds\n8,-1\n", "a time of -1 cannot be"),
        ("# OSU MPI Latency Test v7.4\n# Size Latency\n8 x\n", "output.txt:3: not a row of OSU"),
        ("hello\n", "none of the formats"),
        ("", "none of the formats"),
        ("size_bytes,seconds\n", "holds no measurement"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_file(write(tmp_path, text))


def test_a_binary_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "x.bin"
    file.write_bytes(b"\xff\xfe\x00\x80")
    with pytest.raises(DataError, match="is no text"):
        read_file(file)


def test_operations_that_a_table_does_not_number_stay_operations_of_their_own(tmp_path: Path) -> None:
    rows = "\n".join(f"x,pingpong,8,{microseconds}" for microseconds in (1, 2, 3, 4, 90))
    table = write(tmp_path, f"system,test,size_bytes,time_us\n{rows}\n", "table.csv")
    importing([table], out=tmp_path / "study")
    (curve,) = gather(StudyFolder.open(tmp_path / "study")).curves
    assert [(point.value_ns, point.operations) for point in curve.points] == [(pytest.approx(3000), 5)]
