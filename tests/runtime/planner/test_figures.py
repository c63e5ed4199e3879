"""The figures that tables and reports show."""

from koordopt.runtime.planner.display import figures
from koordopt.solvers.solve import solve
from tests.builders import GIB, make_device, make_node, make_pod, make_problem

GPU = {"nvidia.com/gpu": "1"}
HALF = {"koordinator.sh/gpu-core": "50", "koordinator.sh/gpu-memory-ratio": "50"}


def test_gauges_tell_use_before_and_after() -> None:
    pods = [
        make_pod("old", node="a", requests={"cpu": "1"}),
        make_pod("new", requests={"cpu": "2", "memory": "4Gi"}),
    ]
    problem = make_problem([make_node("a"), make_node("b", cpu="0")], pods)
    cpu, memory = figures.gauges(problem, solve(problem).placement)
    assert (cpu.name, memory.name) == ("cpu", "memory")
    assert cpu.percent(cpu.before) == [25.0, None]
    assert cpu.percent(cpu.after) == [75.0, None]
    assert memory.total_percent(memory.after) == 25.0


def test_resources_that_nobody_asks_for_have_no_gauge() -> None:
    problem = make_problem([make_node("a", **{"x/y": "3"})], [make_pod("p", requests={"cpu": "1"})])
    names = [gauge.name for gauge in figures.gauges(problem, solve(problem).placement)]
    assert names == ["cpu", "memory"]


def test_cards_are_one_gauge_in_place_of_their_resources() -> None:
    full = {"koordinator.sh/gpu-core": "200", "koordinator.sh/gpu-memory-ratio": "200"}
    nodes = [make_node("a", **full)]
    pods = [make_pod("p", requests={"cpu": "1", **HALF})]
    problem = make_problem(nodes, pods, devices=[make_device("a", GIB, GIB)])
    *_, gpu = figures.gauges(problem, solve(problem).placement)
    assert (gpu.name, gpu.label) == ("gpu", "gpu")
    assert (gpu.capacity.tolist(), gpu.before.tolist(), gpu.after.tolist()) == ([2000], [0], [500])


def test_counts_come_by_kind_and_priority() -> None:
    pods = [
        make_pod("high", priority=9, requests={"cpu": "1"}),
        make_pod("low", priority=1, requests={"cpu": "9"}),
    ]
    problem = make_problem([make_node("a")], pods)
    assert figures.counts(problem, solve(problem).placement) == (
        figures.Count("pods", 2, 1),
        figures.Count("priority 9", 1, 1),
        figures.Count("priority 1", 1, 0),
    )


def test_pods_with_one_reason_are_one_group_and_the_largest_is_first() -> None:
    pods = [make_pod(f"p{i}", requests={"cpu": "9"}) for i in range(2)]
    pods += [make_pod(f"a{i}", requests={"cpu": "1"}, nodeSelector={"x": "y"}) for i in range(3)]
    problem = make_problem([make_node("a")], pods)
    groups = figures.waiting_groups(problem, solve(problem))
    assert [(group.reason.rule, len(group.pods)) for group in groups] == [
        ("node-affinity", 3),
        ("capacity", 2),
    ]
    assert groups[1].pods == ("default/p0", "default/p1")


def test_a_pod_of_nobody_is_its_own_group() -> None:
    problem = make_problem([make_node("a")], [make_pod("p", requests={"cpu": "1"})])
    (group,) = figures.placed_groups(problem, solve(problem).placement)
    assert (group.name, group.placed, group.pending) == ("default/p", 1, 1)
    assert group.nodes == (("a", 1),)
