# SPDX-License-Identifier: BSD-3-Clause
"""Surroundings do what they say to what is started within them, and leave nothing behind; both kinds of groups."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from volley.explain import surroundings
from volley.explain.surroundings import affinity, busy, cpu_quota, no_cpu_quota, priority, why_not
from volley.machine import control_groups
from volley.systems.settings import shim_library

refused_quota = why_not(cpu_quota(0.5))
refused_priority = why_not(priority())


def ask(words: str, **environment: str) -> str:
    """What a Python that is started now prints."""
    said = subprocess.run(
        (sys.executable, "-c", f"import os, resource, time; {words}"),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        env={**os.environ, **environment},
    )
    return said.stdout.strip()


def test_affinity_holds_for_children_and_is_given_back() -> None:
    before = os.sched_getaffinity(0)
    with affinity([min(before)]):
        assert ask("print(sorted(os.sched_getaffinity(0)))") == f"[{min(before)}]"
    assert os.sched_getaffinity(0) == before


def test_affinity_to_a_core_that_is_not_there_is_refused_and_changes_nothing() -> None:
    before = os.sched_getaffinity(0)
    assert why_not(affinity([1000]))
    assert os.sched_getaffinity(0) == before


def test_busy_processes_run_where_they_should_and_end() -> None:
    cpu = min(os.sched_getaffinity(0))
    children = Path(f"/proc/self/task/{os.getpid()}/children")
    before = set(children.read_text().split())
    with busy([cpu]):
        (hog,) = set(children.read_text().split()) - before
        assert os.sched_getaffinity(int(hog)) == {cpu}
        assert os.getsid(int(hog)) == int(hog)
    assert not Path(f"/proc/{hog}").exists()


@pytest.mark.skipif(bool(refused_priority), reason=f"priority cannot be raised: {refused_priority}")
def test_priority_is_inherited_and_given_back() -> None:
    before, group = os.getpriority(os.PRIO_PROCESS, 0), control_groups.hierarchy()
    with priority():
        assert ask("print(os.getpriority(os.PRIO_PROCESS, 0))") in ("-20", str(before))
    assert os.getpriority(os.PRIO_PROCESS, 0) == before
    assert control_groups.hierarchy() == group


@pytest.mark.skipif(bool(refused_quota), reason=f"no quota can be made: {refused_quota}")
def test_a_quota_throttles_children_and_can_be_left_and_is_gone_afterwards() -> None:
    spin = "end = time.process_time() + 0.03\nwhile time.process_time() < end: pass"
    before = control_groups.hierarchy()
    assert before is not None
    with cpu_quota(0.05):  # so little that even a busy machine gives more
        assert control_groups.quota() == pytest.approx(0.05)
        started = control_groups.throttling()["nr_throttled"]
        ask(f"exec({spin!r})")
        limited = control_groups.throttling()["nr_throttled"]
        assert limited > started
        with no_cpu_quota():
            assert control_groups.quota() is None
            ask(f"exec({spin!r})")
        # Some periods go to what this process itself does before it leaves the group and once it is back.
        assert control_groups.throttling()["nr_throttled"] - limited < (limited - started) / 2
        with priority():
            assert control_groups.quota() == pytest.approx(0.05)
        inside = control_groups.hierarchy()
    assert inside is not None
    assert inside.own != before.own
    assert not inside.own.exists()
    assert control_groups.hierarchy() == before


def test_an_error_within_puts_everything_back() -> None:
    before = (os.sched_getaffinity(0), control_groups.hierarchy())
    cpu = min(before[0])
    with pytest.raises(RuntimeError), affinity([cpu]), busy([cpu]):
        raise RuntimeError("something else went wrong")
    assert (os.sched_getaffinity(0), control_groups.hierarchy()) == before


def invented(folder: Path, groups: str, mounts: str) -> Path:
    process = folder / "self"
    process.mkdir()
    (process / "cgroup").write_text(groups)
    (process / "mountinfo").write_text(mounts)
    return process


@pytest.mark.parametrize(
    ("groups", "mounts", "version", "own"),
    [
        ("0::/user/job\n", "30 1 0:1 / {top} rw - cgroup2 cgroup2 rw\n", 2, "user/job"),
        (
            "3:cpuset:/other\n2:cpu,cpuacct:/user/job\n0::/\n",
            "30 1 0:1 / {top}-set rw - cgroup cgroup rw,cpuset\n31 1 0:2 / {top} rw - cgroup cgroup rw,cpu,cpuacct\n"
            "32 1 0:3 / {top}-two rw - cgroup2 cgroup2 rw\n",
            1,
            "user/job",
        ),
        ("0::/docker/c1/user/job\n", "30 1 0:1 /docker/c1 {top} rw - cgroup2 cgroup2 rw\n", 2, "user/job"),
        ("0::/not/to/be/seen\n", "30 1 0:1 / {top} rw - cgroup2 cgroup2 rw\n", 2, ""),
    ],
)
def test_the_own_group_is_found(tmp_path: Path, groups: str, mounts: str, version: int, own: str) -> None:
    top = tmp_path / "cgroup"
    (top / "user" / "job").mkdir(parents=True)
    seen = control_groups.hierarchy(invented(tmp_path, groups, mounts.format(top=top)))
    assert seen is not None
    assert (seen.version, seen.own) == (version, top / own)
    assert seen.chain[-1] == top


def test_without_control_groups_nothing_is_said(tmp_path: Path) -> None:
    assert control_groups.hierarchy(invented(tmp_path, "", "")) is None


@pytest.mark.parametrize(
    ("files", "cpus"),
    [
        ({"cpu.max": "150000 100000\n"}, 1.5),
        ({"cpu.max": "max 100000\n"}, None),
        ({"cpu.cfs_quota_us": "50000\n", "cpu.cfs_period_us": "100000\n"}, 0.5),
        ({"cpu.cfs_quota_us": "-1\n", "cpu.cfs_period_us": "100000\n"}, None),
        ({}, None),
    ],
)
def test_a_quota_is_read_in_both_forms(tmp_path: Path, files: dict[str, str], cpus: float | None) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert control_groups.quota_of(tmp_path) == cpus


def test_confined_shim_confines_to_one_core_and_all_processes_agree() -> None:
    library = str(shim_library("confined"))
    cores = "print(len(os.sched_getaffinity(0)))"
    assert ask(cores, LD_PRELOAD=library, VOLLEY_SHIM_CONFINED="1") == "1"
    assert ask(cores, LD_PRELOAD=library) == str(len(os.sched_getaffinity(0)))
    known = ask(
        "print(os.environ['VOLLEY_CONFINED_BY'] == str(os.getsid(0)))", LD_PRELOAD=library, VOLLEY_SHIM_CONFINED="2"
    )
    assert known == "True"


def test_naps_shim_makes_ranks_sleep_and_nobody_else() -> None:
    work = "end = time.process_time() + 0.1\nwhile time.process_time() < end: pass"
    asked = f"exec({work!r}); print(resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw)"
    shim = {"LD_PRELOAD": str(shim_library("naps")), "VOLLEY_SHIM_NAPS": "4,1"}
    assert int(ask(asked, PMI_RANK="0", **shim)) >= int(ask(asked, **shim)) + 8


def test_module_offers_what_causes_and_plants_use() -> None:
    assert surroundings.reachable_cpus() >= os.sched_getaffinity(0)
    assert set(surroundings.idle_cpus(0.02, most_busy=1.0)) == os.sched_getaffinity(0)
