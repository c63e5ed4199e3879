"""Taints and cordons: the smallest clusters on which they decide."""

import pytest

from tests.agreement import open_to, violations_of
from tests.builders import make_node, make_pod, make_problem

NO_SCHEDULE = {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("toleration", "is_open"),
    [
        (None, False),
        ({"key": "dedicated", "value": "gpu"}, True),
        ({"key": "dedicated", "operator": "Exists"}, True),
        ({"operator": "Exists"}, True),
        ({"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}, True),
        ({"key": "dedicated", "value": "gpu", "effect": "NoExecute"}, False),
        ({"key": "dedicated", "value": "cpu"}, False),
        ({"key": "dedicate", "operator": "Exists"}, False),
    ],
)
def test_a_hard_taint_must_be_tolerated(toleration, is_open):
    pod = make_pod("p", tolerations=[toleration] if toleration else [])
    assert open_to(pod, make_node("a", taints=[NO_SCHEDULE])) == ({"a"} if is_open else set())


def test_every_hard_taint_must_be_tolerated_and_soft_ones_need_not():
    other = {"key": "other", "effect": "NoExecute"}
    soft = {"key": "soft", "effect": "PreferNoSchedule"}
    pod = make_pod("p", tolerations=[{"key": "dedicated", "operator": "Exists"}])
    nodes = [
        make_node("a", taints=[NO_SCHEDULE, soft]),
        make_node("b", taints=[NO_SCHEDULE, other]),
    ]
    assert open_to(pod, *nodes) == {"a"}
    problem = make_problem(nodes, [pod])
    assert violations_of(problem, p="a") == []
    assert [v.rule for v in violations_of(problem, p="b")] == ["taint"]


def test_a_cordon_is_judged_apart_from_its_taint():
    cordoned = make_node("a", unschedulable=True)
    tolerant = make_pod(
        "p", tolerations=[{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}]
    )
    assert open_to(make_pod("p"), cordoned) == set()
    assert open_to(tolerant, cordoned) == {"a"}
