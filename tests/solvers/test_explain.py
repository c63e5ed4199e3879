"""Which nodes refuse a pod, in the state that a placement leaves."""

from koordopt.solvers.explain import Explainer
from koordopt.solvers.solve import solve
from tests.builders import GIB, make_device, make_node, make_pod, make_problem, pod_index

TAINT = {"key": "only", "value": "x", "effect": "NoSchedule"}


def test_nodes_are_counted_under_every_rule_that_refuses() -> None:
    nodes = [
        make_node("a", cpu="4"),
        make_node("b", cpu="2", taints=[TAINT]),
        make_node("c", cpu="9", taints=[TAINT]),
    ]
    problem = make_problem(nodes, [make_pod("big", requests={"cpu": "8"})])
    explainer = Explainer(problem, solve(problem).placement)
    groups = {group.rule: group for group in explainer.node_groups(pod_index(problem, "big"))}
    assert (groups["taint"].nodes, groups["taint"].alone) == ((1, 2), 1)
    assert (groups["capacity"].nodes, groups["capacity"].alone) == ((0, 1), 1)


def test_placements_count_as_made() -> None:
    pods = [make_pod(name, requests={"cpu": "3"}) for name in ("p", "q")]
    problem = make_problem([make_node("a", cpu="4")], pods)
    result = solve(problem)
    (left,) = result.unplaced
    (group,) = Explainer(problem, result.placement).node_groups(left)
    assert (group.rule, group.nodes) == ("capacity", (0,))


def test_placements_on_cards_count_as_made() -> None:
    gpu = {"nvidia.com/gpu": "1"}
    pods = [make_pod(name, requests={"cpu": "1", **gpu}) for name in ("p", "q")]
    node = make_node("a", cpu="4", **gpu)
    problem = make_problem([node], pods, devices=[make_device("a", 16 * GIB)])
    result = solve(problem)
    (left,) = result.unplaced
    rules = {group.rule for group in Explainer(problem, result.placement).node_groups(left)}
    assert "device" in rules


def test_a_pod_that_is_held_back_has_no_groups() -> None:
    gated = make_pod("gated", schedulingGates=[{"name": "wait"}])
    problem = make_problem([make_node("a")], [gated])
    assert Explainer(problem, solve(problem).placement).node_groups(0) == ()
