"""Admission of a pod into its quota and every ancestor."""

import pytest

from koordopt.models.quota import (
    QuotaForest,
    QuotaPod,
    QuotaRule,
    QuotaSettings,
    QuotaSpec,
    admit,
)
from tests.models.quota_builders import DEFAULT, GI, SYSTEM, child, pending, running


def one_quota(spec, pods, total, **settings):
    return QuotaForest([spec], total, pods, QuotaSettings(**settings))


ADMISSION = [
    ("EQ-A1", child("q"), [running("q", 10)], 20, {"cpu": 10}, True, {}, None),
    ("EQ-A2", child("q"), [running("q", 10)], 20, {"cpu": 11}, True, {}, QuotaRule.LIMIT),
    ("EQ-A3", child("q"), [running("q", 10)], 20, {"cpu": 1, "gpu": 8}, True, {}, None),
    (
        "EQ-A4",
        child("q", most=40),
        [running("q", 20)],
        20,
        {"cpu": 5},
        True,
        {"enable_runtime": False},
        None,
    ),
    (
        "EQ-A5",
        child("q", least=10),
        [running("q", 8, is_preemptible=False)],
        100,
        {"cpu": 3},
        False,
        {},
        QuotaRule.NON_PREEMPTIBLE,
    ),
    (
        "EQ-A6",
        QuotaSpec(name="q", min={"cpu": 10}, max={"cpu": 100, "memory": 100 * GI}),
        [],
        100,
        {"cpu": 1, "memory": 90 * GI},
        False,
        {},
        None,
    ),
]


@pytest.mark.parametrize(
    ("spec", "pods", "cpu", "request_", "is_preemptible", "settings", "rule"),
    [case[1:] for case in ADMISSION],
    ids=[case[0] for case in ADMISSION],
)
def test_pod_is_admitted_into_its_quota(spec, pods, cpu, request_, is_preemptible, settings, rule):
    incoming = QuotaPod(name="ns/incoming", quota="q", request=request_)
    forest = one_quota(spec, [*pods, incoming], {"cpu": cpu, "memory": 200 * GI}, **settings)
    refusal = admit(forest, "q", request_, is_preemptible=is_preemptible)
    assert (refusal and refusal.rule) is rule


def test_refusal_says_runtime_use_and_request():
    """EQ-A2 in full: the text that tools of the ecosystem look for."""
    forest = one_quota(child("q"), [running("q", 10_000), pending("q", 11_500)], {"cpu": 20_000})
    refusal = admit(forest, "q", {"cpu": 11_500})
    assert refusal.message == (
        "Insufficient quotas, quotaName: q, runtime: cpu:20, used: cpu:10, "
        "pod's request: cpu:11500m, exceedDimensions: [cpu]"
    )


def test_refusal_of_a_non_preemptible_pod_says_min():
    forest = one_quota(
        child("q", least=10_000),
        [running("q", 8_000, is_preemptible=False)],
        {"cpu": 100_000},
    )
    forest.add_pod(pending("q", 3_000))
    refusal = admit(forest, "q", {"cpu": 3_000}, is_preemptible=False)
    assert refusal.message == (
        "Insufficient non-preemptible quotas, quotaName: q, min: cpu:10, nonPreemptibleUsed: "
        "cpu:8, pod's request: cpu:3, exceedDimensions: [cpu]"
    )
    assert refusal.explanation == "min of quota q, cpu: 8 + 3 > 10"


def test_ancestors_are_checked():
    """EQ-A7: the leaf has room, its parent used 95 of 100, the pod asks for 10."""
    forest = QuotaForest(
        [
            child("p", most=100, is_parent=True),
            child("q", parent="p", most=100),
            child("sibling", parent="p", most=100),
        ],
        {"cpu": 1000},
        [running("sibling", 95), pending("q", 10)],
        QuotaSettings(enable_runtime=False),
    )
    refusal = admit(forest, "q", {"cpu": 10})
    assert (refusal.rule, refusal.quota, refusal.path) == (QuotaRule.ANCESTOR, "p", ("p", "q"))
    assert "quotaNameTopo: [p q]" in refusal.message
    assert admit(forest, "q", {"cpu": 5}) is None


def test_children_never_exceed_the_parent():
    """C10: a parent of 500m; of 300m in each child one runs, and the other names the parent."""
    forest = QuotaForest(
        [
            child("parent", most=500, is_parent=True),
            child("c1", parent="parent", most=500),
            child("c2", parent="parent", most=500),
        ],
        {"cpu": 10_000},
        [pending("c1", 300), pending("c2", 300)],
        QuotaSettings(enable_runtime=False),
    )
    assert admit(forest, "c1", {"cpu": 300}) is None
    forest.replace_pod(pending("c1", 300, is_assigned=True))
    refusal = admit(forest, "c2", {"cpu": 300})
    assert refusal.explanation == "quota parent, cpu: 300m + 300m > 500m"


def test_first_pod_of_a_fresh_quota_is_admitted():
    """C09: the runtime follows the request of the very pod that asks."""
    forest = QuotaForest(
        [
            QuotaSpec(
                name="q",
                min={"cpu": 10_000, "memory": 8 * GI},
                max={"cpu": 40_000, "memory": 80 * GI},
            )
        ],
        {"cpu": 1_600_000, "memory": 3200 * GI},
    )
    request = {"cpu": 12_000, "memory": 8 * GI}
    forest.add_pod(QuotaPod(name="ns/first", quota="q", request=request))
    assert admit(forest, "q", request) is None
    assert forest.runtime("q")["cpu"] >= 12_000


def test_request_of_the_lender_lowers_the_runtime_of_the_borrower():
    """C12: when child1 asks for its min, child2 may keep four of the twelve it took."""
    forest = QuotaForest(
        [
            child("parent", least=12, most=12, is_parent=True),
            child("child1", parent="parent", least=8, most=16),
            child("child2", parent="parent", least=4, most=12),
        ],
        {"cpu": 12},
        [running("child2", 4, str(i)) for i in range(3)],
    )
    assert forest.runtime("child2") == {"cpu": 12}
    forest.add_pod(pending("child1", 8))
    assert (forest.runtime("child1"), forest.runtime("child2")) == ({"cpu": 8}, {"cpu": 4})


@pytest.mark.parametrize("gate", [False, True])
def test_use_of_the_built_in_quotas_is_deducted_once(gate):
    """C13: of 100, the default quota uses 20; who asks for 80 gets 80, not 60."""
    forest = QuotaForest(
        [child("q", least=50, most=80)],
        {"cpu": 100},
        [running(DEFAULT, 20), pending("q", 80)],
        QuotaSettings(guarantee_usage=gate),
    )
    assert forest.capacity() == {"cpu": 80}
    assert forest.runtime("q") == {"cpu": 80}


def test_capacity_never_falls_below_zero():
    forest = QuotaForest([child("q")], {"cpu": 10}, [running(SYSTEM, 20), pending("q", 5)])
    assert forest.capacity() == {"cpu": 0}
    assert forest.runtime("q") == {"cpu": 0}


@pytest.mark.parametrize("enable_runtime", [False, True])
def test_default_quota_is_limited_by_its_max(enable_runtime):
    settings = QuotaSettings(enable_runtime=enable_runtime, default_max={"cpu": 10})
    forest = QuotaForest([], {"cpu": 100}, [running(DEFAULT, 8), pending(DEFAULT, 3)], settings)
    refusal = admit(forest, DEFAULT, {"cpu": 3})
    assert (refusal.rule, refusal.limit) == (QuotaRule.LIMIT, {"cpu": 10})
    assert admit(forest, DEFAULT, {"cpu": 2}) is None


def test_dimension_unset_in_the_parent_is_no_barrier():
    """The parent says nothing about memory: the child's own max alone limits it."""
    specs = [
        child("p", most=10, is_parent=True),
        QuotaSpec(name="q", parent="p", max={"cpu": 10, "memory": 8 * GI}),
    ]
    forest = QuotaForest(
        specs,
        {"cpu": 10, "memory": 64 * GI},
        [QuotaPod(name="ns/p", quota="q", request={"cpu": 1, "memory": 9 * GI})],
    )
    assert admit(forest, "q", {"cpu": 1, "memory": 8 * GI}) is None
    refusal = admit(forest, "q", {"cpu": 1, "memory": 9 * GI})
    assert (refusal.quota, refusal.resources) == ("q", ("memory",))


def test_quota_over_its_runtime_admits_nothing():
    """A quota that is over in one dimension refuses pods that do not even ask for it."""
    forest = QuotaForest(
        [QuotaSpec(name="q", max={"cpu": 10, "memory": 10}, shared_weight={"cpu": 1, "memory": 1})],
        {"cpu": 5, "memory": 10},
        [running("q", 8), QuotaPod(name="ns/p", quota="q", request={"memory": 1})],
    )
    refusal = admit(forest, "q", {"memory": 1})
    assert refusal.resources == ("cpu",)


def test_ancestor_over_elsewhere_refuses_nothing():
    """An ancestor is judged in the dimensions that the pod names, and in no other."""
    both = {"cpu": 10, "memory": 10}
    forest = QuotaForest(
        [
            QuotaSpec(name="p", max={"cpu": 5, "memory": 10}, is_parent=True),
            QuotaSpec(name="q", parent="p", max=both),
            QuotaSpec(name="sibling", parent="p", max=both),
        ],
        {"cpu": 100, "memory": 100},
        [running("sibling", 8)],
        QuotaSettings(enable_runtime=False),
    )
    assert admit(forest, "q", {"memory": 1}) is None
    assert admit(forest, "q", {"memory": 1, "cpu": 0}).resources == ("cpu",)
