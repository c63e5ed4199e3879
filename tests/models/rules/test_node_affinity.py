"""Node selectors, node affinity and named nodes: the smallest clusters on which they decide."""

import pytest

from tests.agreement import feasible_nodes, open_to, violations_of
from tests.builders import make_node, make_pod, make_problem


def expression(operator, *values, key="disk"):
    return {"key": key, "operator": operator, "values": list(values)}


def required(*terms):
    selector = {"nodeSelectorTerms": list(terms)}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": selector}}


DISKS = [
    make_node("a", labels={"disk": "10"}),
    make_node("b", labels={"disk": "ssd"}),
    make_node("c"),
]


@pytest.mark.parametrize(
    ("expressions", "expected"),
    [
        ([expression("In", "ssd", "10")], {"a", "b"}),
        ([expression("NotIn", "ssd")], {"a", "c"}),
        ([expression("Exists")], {"a", "b"}),
        ([expression("DoesNotExist")], {"c"}),
        ([expression("Gt", "9")], {"a"}),
        ([expression("Lt", "9")], set()),
        ([expression("Gt", "soon")], set()),
        ([expression("Exists"), expression("NotIn", "10")], {"b"}),
        ([], set()),
    ],
)
def test_expressions_of_a_required_term(expressions, expected):
    """All must hold; what does not compare as integers never matches, and no more an empty term."""
    pod = make_pod("p", affinity=required({"matchExpressions": expressions}))
    assert open_to(pod, *DISKS) == expected


def test_one_required_term_is_enough_and_the_selector_must_hold_as_well():
    terms = (
        {"matchExpressions": [expression("Gt", "soon")]},
        {"matchExpressions": [expression("In", "ssd")]},
        {"matchFields": [expression("In", "c", key="metadata.name")]},
    )
    assert open_to(make_pod("p", affinity=required(*terms)), *DISKS) == {"b", "c"}
    pod = make_pod("p", affinity=required(*terms), nodeSelector={"disk": "ssd"})
    assert open_to(pod, *DISKS) == {"b"}


def test_names_that_contradict_each_other_leave_no_node():
    fields = [expression("In", name, key="metadata.name") for name in ("a", "b")]
    assert open_to(make_pod("p", affinity=required({"matchFields": fields})), *DISKS) == set()
    assert open_to(
        make_pod(
            "p",
            affinity=required({"matchFields": [expression("NotIn", "a", key="metadata.name")]}),
        ),
        *DISKS,
    ) == {"b", "c"}


def test_a_pod_that_names_its_node_goes_nowhere_else():
    pods = [make_pod("p", node="b"), make_pod("lost", node="gone")]
    problem = make_problem(DISKS, pods, pending=["default/p", "default/lost"])
    assert feasible_nodes(problem, "p") == {"b"}
    assert feasible_nodes(problem, "lost") == set()
    assert [v.rule for v in violations_of(problem, p="a")] == ["node-affinity"]
