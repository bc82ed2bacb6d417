# SPDX-License-Identifier: BSD-3-Clause
import json
import time
from pathlib import Path

import pytest
from volley.errors import SystemUnavailable, UsageError
from volley.systems import resolve, wheel
from volley.systems.ranges import _expand, newest_of_series


def note(line: str) -> None:
    """Takes the notes."""


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VOLLEY_CACHE", str(tmp_path))
    return tmp_path / "systems"


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")  # the discard port: nobody listens
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    monkeypatch.delenv("PIP_EXTRA_INDEX_URL", raising=False)


def test_versions_are_ordered_by_number_and_a_candidate_comes_before_its_release() -> None:
    versions = ["5.0.2", "5.0.0", "5.0.11", "4.1.8", "5.0.1.post1", "5.0.1", "5.0.0rc1"]
    ordered = ["4.1.8", "5.0.0rc1", "5.0.0", "5.0.1", "5.0.1.post1", "5.0.2", "5.0.11"]
    assert sorted(versions, key=wheel.order) == ordered
    assert wheel.order("4.1.x-mine") < wheel.order("5.0.0rc1-mine") < wheel.order("5.0.0")


def test_a_range_has_candidates_only_if_one_is_named() -> None:
    known = ["4.1.3", "5.0.0rc1", "5.0.0", "5.0.2", "5.1.0rc2"]
    assert newest_of_series(known) == ["4.1.3", "5.0.2"]
    assert _expand(["4.1..5.1"], known) == ["4.1.3", "5.0.0", "5.0.2"]
    assert _expand(["5.0.0rc1..5.0"], known) == ["5.0.0rc1", "5.0.0", "5.0.2"]
    assert _expand(["4.1..5.0.0rc1"], known) == ["4.1.3", "5.0.0rc1"]


def test_the_cache_knows_its_versions(empty_cache: Path) -> None:
    for name in ("mpich-4.1.3/bin", "mpich-5.0.10/bin", "mpich-5.0.2", "partial-mpich-5.0.3/bin"):
        (empty_cache / name).mkdir(parents=True)
    assert wheel.versions_in_cache("mpich") == ["5.0.10", "4.1.3"]


@pytest.mark.usefixtures("offline")
def test_offline_with_an_empty_cache(empty_cache: Path) -> None:
    for request in ("mpich/shm", "mpich==5.0.2/shm"):
        with pytest.raises(SystemUnavailable) as raised:
            resolve(request)[0].prepare(note)
        assert "PyPI cannot be reached" in raised.value.problem
        assert str(empty_cache) in raised.value.remedy
    assert not list(empty_cache.glob("partial*"))


@pytest.mark.usefixtures("offline")
def test_offline_the_newest_in_the_cache_serves(empty_cache: Path) -> None:
    for version in ("4.1.3", "5.0.2"):
        (empty_cache / f"mpich-{version}" / "bin").mkdir(parents=True)
    notes: list[str] = []
    assert wheel.newest_version("mpich", notes.append) == "5.0.2"
    assert any("newest in the cache" in line for line in notes)
    again: list[str] = []
    assert wheel.newest_version("mpich", again.append) == "5.0.2"
    assert again == []  # not asked a second time


@pytest.mark.usefixtures("offline")
def test_the_answer_is_kept_for_a_day(empty_cache: Path) -> None:
    empty_cache.mkdir(parents=True)
    answer = empty_cache / "mpich.newest.json"
    answer.write_text(json.dumps({"version": "4.9.9", "asked": time.time() - 3600}))
    assert wheel.newest_version("mpich", note) == "4.9.9"
    answer.write_text(json.dumps({"version": "4.9.9", "asked": time.time() - 2 * 86400}))
    with pytest.raises(SystemUnavailable):
        wheel.newest_version("mpich", note)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"version": "1"}', '{"version": "1", "asked": "x"}'])
@pytest.mark.usefixtures("offline")
def test_a_damaged_answer_is_no_answer(empty_cache: Path, content: str) -> None:
    empty_cache.mkdir(parents=True)
    (empty_cache / "mpich.newest.json").write_text(content)
    with pytest.raises(SystemUnavailable):
        wheel.newest_version("mpich", note)


def test_a_version_that_does_not_exist_names_those_that_do(empty_cache: Path) -> None:
    try:
        with pytest.raises(UsageError) as raised:
            resolve("mpich==1.2.3/shm")[0].prepare(note)
    except SystemUnavailable as problem:
        pytest.skip(problem.problem)
    assert "1.2.3" in raised.value.problem
    assert "4.1.3" in raised.value.remedy
    assert not list(empty_cache.glob("*mpich-*"))


def test_a_cache_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("VOLLEY_CACHE", str(tmp_path / "file"))
    with pytest.raises(SystemUnavailable) as raised:
        resolve("mpich==5.0.2/shm")[0].prepare(note)
    assert "VOLLEY_CACHE" in raised.value.remedy


def test_an_installation_that_was_cut_off_is_begun_again(empty_cache: Path) -> None:
    """What a killed process left is neither taken for complete nor in the way."""
    (empty_cache / "partial-mpich-4.1.3" / "bin").mkdir(parents=True)
    (system,) = resolve("mpich==4.1.3/shm")
    try:
        system.prepare(note)
    except SystemUnavailable as problem:
        pytest.skip(problem.problem)
    assert Path(system.compiler()[0]).is_file()
    assert not list(empty_cache.glob("partial*"))
