# SPDX-License-Identifier: BSD-3-Clause
from pathlib import Path

import pytest
from volley.errors import SystemUnavailable, UsageError
from volley.systems import default_systems, families, resolve


def names(request: str) -> list[str]:
    return [f"{system.family}/{system.transport}" for system in resolve(request)]


def test_every_module_is_found() -> None:
    assert {"intel", "lam", "machine", "mpich", "openmpi", "path", "prefix", "volley"} <= set(families())


def test_every_family_says_what_it_is_and_what_is_installed() -> None:
    for kind in families().values():
        assert kind.summary
        assert set(kind.default_transports) <= set(kind.transports)
        assert all(isinstance(version, str) for version in kind.installed())


def test_a_family_means_all_its_transports() -> None:
    assert names("mpich") == ["mpich/shm", "mpich/tcp"]
    assert names("lam") == ["lam/lamd", "lam/tcp", "lam/usysv"]


def test_the_default_is_narrower() -> None:
    chosen = [f"{system.family}/{system.transport}" for system in default_systems()]
    assert {"mpich/shm", "openmpi/shm", "openmpi/tcp", "intel/shm", "lam/lamd"} <= set(chosen)
    assert {"volley/shared", "volley/process"} <= set(chosen)
    assert "mpich/tcp" not in chosen
    assert not any(name.startswith(("path", "prefix")) for name in chosen)


def test_a_version_and_a_transport_can_be_named() -> None:
    (system,) = resolve("openmpi==5.0.11/tcp")
    assert (system.name, system.request) == ("openmpi==5.0.11/tcp", "openmpi==5.0.11/tcp")


def test_c2c_is_lam_s_name_for_tcp() -> None:
    assert names("lam/c2c") == ["lam/tcp"]


@pytest.mark.parametrize(
    ("request_", "problem", "remedy"),
    [
        ("mpihc", 'no family "mpihc"', "mpich"),
        ("mpich/udp", 'unknown transport "udp"', "shm, tcp"),
        ("mpich==new", '"new"', "mpich==1.2.3"),
        ("mine=/opt/mpi:udp", 'unknown transport "udp"', "auto, shm, tcp"),
        ("mpich=/opt/mpi", '"mpich" cannot be the name', "family"),
        ("mine=", "names no folder", "mine=/opt/mpi"),
        ("=/opt/mpi", "cannot be the name", "letter"),
    ],
)
def test_errors_name_value_and_remedy(request_: str, problem: str, remedy: str) -> None:
    with pytest.raises(UsageError) as raised:
        resolve(request_)
    assert problem in raised.value.problem
    assert remedy in raised.value.remedy


def test_a_prefix_of_one_s_own() -> None:
    (plain,) = resolve("mine=/opt/mpi")
    (tcp,) = resolve("mine=/opt/mpi:tcp")
    assert (plain.name, plain.prefix) == ("mine", Path("/opt/mpi"))
    assert (tcp.name, tcp.request) == ("mine/tcp", "mine=/opt/mpi:tcp")


def test_a_prefix_without_an_mpi(tmp_path: Path) -> None:
    (system,) = resolve(f"mine={tmp_path}")
    with pytest.raises(SystemUnavailable) as raised:
        system.prepare(lambda line: None)
    assert str(tmp_path / "bin" / "mpicc") in raised.value.problem


def test_no_mpi_on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    (system,) = resolve("path/auto")
    assert type(system).installed() == []
    with pytest.raises(SystemUnavailable, match="no mpicc on PATH"):
        system.prepare(lambda line: None)


def test_settings_stand_behind_the_name_and_are_part_of_it() -> None:
    system = resolve("lam/tcp@rpi_tcp_short=32768@LAM_X=1")[0]
    assert system.settings == {"rpi_tcp_short": "32768", "LAM_X": "1"}
    assert system.request == "lam/tcp@rpi_tcp_short=32768@LAM_X=1"
    assert system.name.endswith("@rpi_tcp_short=32768@LAM_X=1")
    assert resolve(system.request)[0].settings == system.settings


def test_an_adjusted_system_leaves_the_first_as_it_is() -> None:
    system = resolve("openmpi/shm@btl_sm_eager_limit=1024")[0]
    other = system.adjusted({"btl_sm_eager_limit": "2048", "mpi_yield_when_idle": "1"})
    assert system.settings == {"btl_sm_eager_limit": "1024"}
    assert other.settings == {"btl_sm_eager_limit": "2048", "mpi_yield_when_idle": "1"}


@pytest.mark.parametrize("request_", ["lam/tcp@", "lam/tcp@x", "lam/tcp@=1", "lam/tcp@9=1"])
def test_what_is_no_setting_is_said(request_: str) -> None:
    with pytest.raises(UsageError, match="is no setting"):
        resolve(request_)
