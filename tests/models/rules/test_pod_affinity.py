"""Inter-pod affinity: the smallest clusters on which it decides."""

import pytest

from koordopt.models.result import Placement
from koordopt.models.verify import verify
from tests.agreement import feasible_nodes, violations_of
from tests.builders import (
    HOSTNAME,
    ZONE,
    class_index,
    make_namespace,
    make_node,
    make_pod,
    make_problem,
    node_index,
    pod_index,
)

WEB, DB = {"app": "web"}, {"app": "db"}
NODES = [make_node("a", zone="za"), make_node("b", zone="zb"), make_node("c")]


def term(labels=WEB, key=ZONE, **more):
    return {"topologyKey": key, "labelSelector": {"matchLabels": labels}, **more}


def affinity(*terms, side="podAffinity"):
    return {side: {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}}


def anti(*terms):
    return affinity(*terms, side="podAntiAffinity")


def test_required_company_is_there_or_the_node_is_closed():
    problem = make_problem(
        NODES, [make_pod("old", node="a", labels=WEB), make_pod("p", affinity=affinity(term()))]
    )
    assert feasible_nodes(problem, "p") == {"a"}
    assert violations_of(problem, p="a") == []
    assert [v.rule for v in violations_of(problem, p="b")] == ["pod-affinity"]


def test_without_any_company_nothing_is_open_to_a_pod_that_does_not_match_itself():
    problem = make_problem(NODES, [make_pod("p", affinity=affinity(term()))])
    assert feasible_nodes(problem, "p") == set()


def test_the_first_of_its_group_may_start_where_the_label_is():
    problem = make_problem(NODES, [make_pod("p", labels=WEB, affinity=affinity(term()))])
    assert feasible_nodes(problem, "p") == {"a", "b"}


def test_company_on_a_node_without_the_label_does_not_count_as_first():
    """A match without a domain is not counted, so the group has not begun."""
    old = make_pod("old", node="c", labels=WEB)
    pod = make_pod("p", labels=WEB, affinity=affinity(term()))
    assert feasible_nodes(make_problem(NODES, [old, pod]), "p") == {"a", "b"}


def test_one_pod_must_match_all_affinity_terms():
    """One pod matches each term, but none matches both."""
    halves = [
        make_pod("x", node="a", labels={"app": "web"}),
        make_pod("y", node="a", labels={"tier": "front"}),
    ]
    pod = make_pod("p", affinity=affinity(term(), term({"tier": "front"})))
    whole = make_pod("z", node="b", labels={"app": "web", "tier": "front"})
    assert feasible_nodes(make_problem(NODES, [*halves, pod]), "p") == set()
    assert feasible_nodes(make_problem(NODES, [*halves, whole, pod]), "p") == {"b"}


def test_anti_affinity_terms_stand_each_by_itself():
    olds = [make_pod("x", node="a", labels=WEB), make_pod("y", node="b", labels=DB)]
    pod = make_pod("p", affinity=anti(term(WEB), term(DB)))
    problem = make_problem(NODES, [*olds, pod])
    assert feasible_nodes(problem, "p") == {"c"}
    assert [v.rule for v in violations_of(problem, p="a")] == ["pod-affinity"]


def test_running_pods_may_object():
    old = make_pod("old", node="a", affinity=anti(term(WEB)))
    problem = make_problem(NODES, [old, make_pod("p", labels=WEB), make_pod("q", labels=DB)])
    assert feasible_nodes(problem, "p") == {"b", "c"}
    assert feasible_nodes(problem, "q") == {"a", "b", "c"}


def test_pods_of_one_plan_object_to_each_other():
    pods = [make_pod(name, labels=WEB, affinity=anti(term(key=HOSTNAME))) for name in "pq"]
    problem = make_problem(NODES, pods)
    assert violations_of(problem, p="a", q="b") == []
    assert [v.object for v in violations_of(problem, p="a", q="a")] == ["default/q"]


def test_terminating_pods_count():
    old = make_pod("old", node="a", labels=WEB, is_deleted=True)
    problem = make_problem(NODES, [old, make_pod("p", affinity=affinity(term()))])
    assert feasible_nodes(problem, "p") == {"a"}


@pytest.mark.parametrize(
    ("scope", "expected"),
    [
        ({}, {"a"}),
        ({"namespaces": ["other"]}, {"b"}),
        ({"namespaceSelector": {}}, {"a", "b"}),
        ({"namespaces": [], "namespaceSelector": {}}, {"a", "b"}),
        ({"namespaceSelector": {"matchLabels": {"team": "x"}}}, {"b"}),
        (
            {
                "namespaceSelector": {
                    "matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["x"]}]
                }
            },
            {"a"},
        ),
    ],
)
def test_namespaces_of_a_term(scope, expected):
    """A selector takes the place of the own namespace; a negative one is meant as written."""
    olds = [
        make_pod("x", node="a", labels=WEB),
        make_pod("y", node="b", namespace="other", labels=WEB),
    ]
    pod = make_pod("p", affinity=affinity(term(**scope)))
    namespaces = [make_namespace("default"), make_namespace("other", {"team": "x"})]
    problem = make_problem(NODES, [*olds, pod], namespaces=namespaces)
    assert feasible_nodes(problem, "p") == expected


def test_a_null_selector_matches_nothing():
    old = make_pod("old", node="a", labels=WEB)
    pod = make_pod("p", affinity=anti({"topologyKey": ZONE}))
    assert feasible_nodes(make_problem(NODES, [old, pod]), "p") == {"a", "b", "c"}


def test_pods_that_need_each_other_may_come_in_one_step():
    """Company is judged when the step is complete; one of them alone stays alone."""
    problem = make_problem(
        NODES,
        [
            make_pod("p", labels=WEB, affinity=affinity(term(DB))),
            make_pod("q", labels=DB, affinity=affinity(term(WEB))),
        ],
    )
    pods = [pod_index(problem, "p"), pod_index(problem, "q")]
    nodes = [node_index(problem, "a")] * 2
    assert verify(problem, Placement.of(pods, nodes, step=[0, 0])) == []
    assert [v.object for v in verify(problem, Placement.of(pods, nodes))] == ["default/p"]


def test_equal_terms_of_one_pod_add_up_and_are_counted_once():
    """A required and a preferred term that say the same weigh 1 + 10, on one counter."""
    preferred = [{"weight": 10, "podAffinityTerm": term()}]
    old = make_pod(
        "old",
        node="a",
        labels=DB,
        affinity={
            "podAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [term()],
                "preferredDuringSchedulingIgnoredDuringExecution": preferred,
            }
        },
    )
    problem = make_problem(NODES, [old, make_pod("p", labels=WEB)])
    ((counter, weight),) = problem.affinity[class_index(problem, "p")].preferred
    assert weight == 11
    assert problem.counters[counter].base.sum() == 1
