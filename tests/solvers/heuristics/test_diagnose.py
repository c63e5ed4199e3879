"""Reasons why no node takes a pod."""

import numpy as np
import pytest

from koordopt.errors import InvalidInputError
from koordopt.solvers.heuristics.diagnose import (
    Refusal,
    diagnose,
    dominant,
    fit_message,
    reason_from,
)
from koordopt.solvers.heuristics.pipeline import Pipeline
from tests.builders import GIB, class_index, make_device, make_node, make_pod, make_problem


def refusals_of(problem, name="p"):
    """Return nodes, message and whether evictions help, of every refusal of a pod."""
    pipeline = Pipeline(problem)
    names = problem.snapshot.nodes.names
    return [
        (
            refusal.plugin,
            {names[n] for n in np.flatnonzero(refusal.nodes).tolist()},
            refusal.message,
            refusal.eviction_could_help,
        )
        for refusal in diagnose(pipeline, class_index(problem, name))
    ]


def test_every_refusal_of_every_filter_is_named_in_filter_order():
    taint = {"key": "k", "effect": "NoSchedule"}
    nodes = [
        make_node("a", unschedulable=True, taints=[taint]),
        make_node("b", cpu="1", labels={"disk": "ssd"}, pods=1),
        make_node("c", labels={"disk": "ssd"}),
    ]
    port = {"containerPort": 80, "hostPort": 80}
    running = [
        make_pod("x", node="b", requests={"cpu": "500m"}),
        make_pod("y", node="c", ports=[port]),
    ]
    pod = make_pod("p", requests={"cpu": "2"}, ports=[port], nodeSelector={"disk": "ssd"})
    assert refusals_of(make_problem(nodes, [*running, pod])) == [
        ("NodeUnschedulable", {"a"}, "node(s) were unschedulable", False),
        ("TaintToleration", {"a"}, "node(s) had untolerated taint(s)", False),
        ("NodeAffinity", {"a"}, "node(s) didn't match Pod's node affinity/selector", False),
        ("NodePorts", {"c"}, "node(s) didn't have free ports for the requested pod ports", True),
        ("NodeResourcesFit", {"b"}, "Insufficient cpu", False),
        ("NodeResourcesFit", {"b"}, "Too many pods", True),
    ]


def test_a_feasible_node_stands_in_no_refusal():
    problem = make_problem([make_node("a")], [make_pod("p")])
    assert refusals_of(problem) == []


def test_a_named_node_refuses_for_all_others():
    problem = make_problem(
        [make_node("a"), make_node("b")], [make_pod("p", node="b")], pending=["default/p"]
    )
    expected = ("NodeName", {"a"}, "node(s) didn't match the requested node name", False)
    assert refusals_of(problem) == [expected]


def test_names_that_contradict_each_other_have_a_reason_of_their_own():
    fields = [{"key": "metadata.name", "operator": "In", "values": [name]} for name in ("a", "b")]
    selector = {"nodeSelectorTerms": [{"matchFields": fields}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": selector}}
    problem = make_problem([make_node("a")], [make_pod("p", affinity=affinity)])
    assert refusals_of(problem) == [("NodeAffinity", {"a"}, "pod affinity terms conflict", False)]


def test_cards_in_use_could_be_freed_and_cards_too_small_could_not():
    nodes = [make_node("a"), make_node("b")]
    devices = [make_device("a", GIB, 8 * GIB), make_device("b", GIB)]
    asked = {"koordinator.sh/gpu-memory": "6Gi"}
    running = make_pod("old", node="a", requests=asked)
    problem = make_problem(nodes, [running, make_pod("p", requests=asked)], devices=devices)
    assert refusals_of(problem) == [
        ("DeviceShare", {"a"}, "Insufficient gpu devices", True),
        ("DeviceShare", {"b"}, "Insufficient gpu devices", False),
    ]


def test_a_card_request_that_means_nothing_says_what_is_wrong():
    problem = make_problem(
        [make_node("a", **{"koordinator.sh/gpu-core": "100"})],
        [make_pod("p", requests={"koordinator.sh/gpu-core": "50"})],
    )
    message = "invalid resource device requests: [koordinator.sh/gpu-core]"
    assert refusals_of(problem) == [("DeviceShare", {"a"}, message, False)]


def test_spread_and_affinity_say_which_part_refuses():
    nodes = [make_node("a", zone="za"), make_node("b")]
    zone = "topology.kubernetes.io/zone"
    selector = {"matchLabels": {"app": "web"}}
    constraint = {
        "topologyKey": zone,
        "maxSkew": 1,
        "minDomains": 2,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": selector,
    }
    term = {"topologyKey": zone, "labelSelector": selector}
    anti = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    old = make_pod("old", node="a", labels={"app": "web"}, affinity=anti)
    pod = make_pod("p", labels={"app": "web"}, topologySpreadConstraints=[constraint])
    spread = "node(s) didn't match pod topology spread constraints"
    assert refusals_of(make_problem(nodes, [old, pod])) == [
        ("PodTopologySpread", {"b"}, f"{spread} (missing required label)", False),
        ("PodTopologySpread", {"a"}, spread, True),
        (
            "InterPodAffinity",
            {"a"},
            "node(s) didn't satisfy existing pods anti-affinity rules",
            True,
        ),
    ]


def refusal(rule, nodes, message="m", could_help=True):
    mask = np.zeros(6, dtype=np.bool_)
    mask[list(nodes)] = True
    return Refusal(rule, rule, mask, message, could_help)


def test_the_rule_whose_lifting_opens_most_nodes_dominates():
    """Taints refuse more nodes, but behind each of them there is no room either."""
    found = dominant([refusal("taint", [0, 1, 2, 3]), refusal("capacity", [0, 1, 2, 3, 4, 5])])
    assert (found.rule, found.nodes.sum()) == ("capacity", 6)


def test_where_no_rule_alone_opens_a_node_the_one_that_refuses_most_dominates():
    found = dominant(
        [
            refusal("taint", [0, 1, 2]),
            refusal("capacity", [0, 1, 2, 3], "cpu"),
            refusal("port", [3]),
        ]
    )
    assert found.message == "cpu"


def test_messages_of_one_rule_are_lifted_together():
    """Nodes short of processors and memory open when capacity as a whole is lifted."""
    found = dominant(
        [
            refusal("taint", [4, 5], could_help=False),
            refusal("capacity", [0, 1, 2], "cpu", could_help=False),
            refusal("capacity", [0, 1, 2, 3], "memory", could_help=False),
            refusal("capacity", [4], "memory"),
        ]
    )
    assert (found.message, found.eviction_could_help) == ("memory", False)


def test_ties_go_to_the_filter_that_is_asked_first():
    assert dominant([refusal("taint", [0]), refusal("capacity", [1])]).rule == "taint"
    assert dominant([refusal("capacity", [1]), refusal("taint", [0])]).rule == "capacity"


def test_nothing_dominates_where_nothing_refuses():
    with pytest.raises(InvalidInputError, match="refusals is empty"):
        dominant([])


def test_the_message_counts_each_node_once_most_first():
    refusals = [
        refusal("taint", [0], "node(s) had untolerated taint(s)"),
        refusal("capacity", [0, 1, 2, 3], "Insufficient cpu"),
        refusal("capacity", [3, 4, 5], "Insufficient memory"),
    ]
    expected = (
        "0/6 nodes are available: 3 Insufficient cpu, 2 Insufficient memory, "
        "1 node(s) had untolerated taint(s)."
    )
    assert fit_message(refusals, 6) == expected
    assert fit_message([], 0) == "no nodes are available"


def test_the_reason_carries_rule_and_remedy_of_what_dominates():
    node = make_node("a", cpu="2")
    old = make_pod("old", node="a", requests={"cpu": "1"})
    for cpu, could_help in (("2", True), ("3", False)):
        problem = make_problem([node], [old, make_pod("p", requests={"cpu": cpu})])
        pipeline, c = Pipeline(problem), class_index(problem, "p")
        reason = reason_from(pipeline, c, diagnose(pipeline, c))
        assert (reason.rule, reason.eviction_could_help) == ("capacity", could_help)
        assert reason.message == "0/1 nodes are available: 1 Insufficient cpu."


def test_a_cluster_without_nodes_says_so():
    problem = make_problem([], [make_pod("p")])
    pipeline, c = Pipeline(problem), class_index(problem, "p")
    assert pipeline.best_node(c) == -1
    assert reason_from(pipeline, c, diagnose(pipeline, c)).message == "no nodes are available"
