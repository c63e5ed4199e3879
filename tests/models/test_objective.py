"""What a plan is worth, level by level."""

import pytest

from koordopt.models.api import keys
from koordopt.models.objective import (
    MOST_PRIORITY_LEVELS,
    PriorityLevel,
    evaluate,
    pod_values,
    priority_levels,
    unmet_preferences,
)
from koordopt.models.problem.placement import PARTS, PlacementProblem
from koordopt.models.result import Placement
from tests.builders import make_node, make_pod, make_problem, node_index, pod_index
from tests.scenarios.kit import cluster


def levels_of(problem, **node_of):
    """Return the value of each level for pods of the default namespace on the nodes given."""
    placement = Placement.of(
        [pod_index(problem, name.replace("_", "-")) for name in node_of],
        [node_index(problem, node) for node in node_of.values()],
    )
    return {level.name: level.objective for level in evaluate(problem, placement)}


def test_pod_is_worth_its_dominant_share_of_the_cluster():
    """8 of 16 cores outweigh 1 of 64 GiB; the number of pods does not count."""
    nodes = [make_node("n1", cpu="16", memory="64Gi", pods=1)]
    problem = make_problem(nodes, [make_pod("p", requests={"cpu": "8", "memory": "1Gi"})])
    assert pod_values(problem) == {0: PARTS // 2}


@pytest.mark.parametrize(
    ("age_s", "parts"),
    [(0, PARTS // 2), (1800, PARTS * 3 // 4), (3600, PARTS), (86_400, PARTS), (-60, PARTS // 2)],
)
def test_waiting_doubles_the_worth_of_a_pod_within_an_hour(age_s, parts):
    """Waiting longer adds nothing, and a clock behind takes nothing off."""
    story = cluster().nodes(1, cpu="2").pod("p", cpu="1", age_s=age_s)
    problem = PlacementProblem.from_snapshot(story.snapshot())
    assert pod_values(problem) == {0: parts}


def test_pod_that_asks_for_nothing_is_worth_one_part():
    """So that placing it is better than leaving it."""
    assert pod_values(make_problem([make_node("n1")], [make_pod("p")])) == {0: 1}


def test_levels_stand_in_strict_order():
    """Guarantee, priorities high to low, then what it costs and what was preferred."""
    story = cluster().nodes(1).quota("q", least={"cpu": "1"}, most={"cpu": "8"})
    story.pod("a", priority=5).pod("b", priority=9000).pod("c")
    problem = PlacementProblem.from_snapshot(story.snapshot())
    names = [level.name for level in evaluate(problem, Placement.of((), ()))]
    assert names == [
        "guarantee",
        "priority 9000",
        "priority 5",
        "priority 0",
        "evictions",
        "moves",
        "preferences",
    ]


def test_guarantee_is_absent_where_no_quota_has_a_min():
    """A quota with a cap alone guarantees nothing."""
    story = cluster().nodes(1).quota("q", most={"cpu": "8"}).pod("a", quota="q")
    names = [level.name for level in evaluate(*_nothing_placed(story))]
    assert "guarantee" not in names


def _nothing_placed(story):
    return PlacementProblem.from_snapshot(story.snapshot()), Placement.of((), ())


def test_guarantee_counts_use_up_to_min_and_what_runs_already():
    """Min 4 of 16 cores: one runs, of four more placed three count."""
    story = cluster().nodes(1, cpu="16").quota("q", least={"cpu": "4"}, most={"cpu": "8"})
    story.pod("runs", quota="q", on="n1").pods("p", 4, quota="q")
    problem = PlacementProblem.from_snapshot(story.snapshot())
    assert levels_of(problem)["guarantee"] == PARTS // 16
    assert levels_of(problem, p_0="n1")["guarantee"] == PARTS * 2 // 16
    everything = levels_of(problem, p_0="n1", p_1="n1", p_2="n1", p_3="n1")
    assert everything["guarantee"] == PARTS * 4 // 16


def test_guarantee_of_a_parent_counts_what_its_children_use():
    """One core of 16 in a child with a min, under a parent with a min: both are met by it."""
    story = cluster().nodes(1, cpu="16")
    story.quota("p", is_parent=True, least={"cpu": "4"}, most={"cpu": "8"})
    story.quota("q", parent="p", least={"cpu": "1"}, most={"cpu": "8"}).pod("a", quota="q")
    problem = PlacementProblem.from_snapshot(story.snapshot())
    assert levels_of(problem, a="n1")["guarantee"] == 2 * PARTS // 16


def test_few_priorities_have_a_level_each():
    """Up to eight, high to low, however often each occurs."""
    levels = priority_levels([5, 9, 5, -3])
    assert [level.priorities for level in levels] == [(9,), (5,), (-3,)]


def test_past_eight_the_lowest_neighbours_of_a_band_share_a_level():
    """Eleven priorities of one band: three pairs at the bottom are merged, the top stays apart."""
    levels = priority_levels(range(9000, 9011))
    assert len(levels) == MOST_PRIORITY_LEVELS
    assert [level.priorities for level in levels][:2] == [(9010,), (9009,)]
    assert [level.priorities for level in levels][-3:] == [
        (9005, 9004),
        (9003, 9002),
        (9001, 9000),
    ]


def test_bands_never_share_a_level():
    """Eight of the production band and two of others: the two stay apart."""
    levels = priority_levels([*range(9000, 9008), 5500, 3500])
    assert [level.priorities for level in levels][-2:] == [(5500,), (3500,)]
    assert len(levels) == MOST_PRIORITY_LEVELS


def test_higher_of_two_neighbours_in_one_level_weighs_twice():
    """And the name of the level says which they are."""
    level = PriorityLevel((7, 6, 4))
    assert [level.weight(priority) for priority in (7, 6, 4)] == [4, 2, 1]
    assert level.name == "priority 7, 6, 4"


def preferring(key, weight):
    term = {"matchExpressions": [{"key": key, "operator": "Exists"}]}
    return {
        "nodeAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": weight, "preference": term}
            ]
        }
    }


def beside(app, weight, side):
    term = {
        "topologyKey": keys.LABEL_HOSTNAME,
        "labelSelector": {"matchLabels": {"app": app}},
    }
    wish = {"weight": weight, "podAffinityTerm": term}
    return {side: {"preferredDuringSchedulingIgnoredDuringExecution": [wish]}}


SOFT_TAINT = ({"key": "old", "value": "", "effect": "PreferNoSchedule"},)
SOFT_SPREAD = [
    {
        "maxSkew": 1,
        "topologyKey": keys.LABEL_HOSTNAME,
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
]


@pytest.mark.parametrize(
    ("pod", "good", "bad", "weight"),
    [
        (make_pod("p", affinity=preferring("ssd", 30)), "ssd", "plain", 30),
        (make_pod("p", affinity=beside("web", 40, "podAffinity")), "web", "plain", 40),
        (make_pod("p", affinity=beside("web", 20, "podAntiAffinity")), "plain", "web", 20),
        (make_pod("p"), "plain", "old", 100),
        (
            make_pod("p", labels={"app": "web"}, topologySpreadConstraints=SOFT_SPREAD),
            "plain",
            "web",
            100,
        ),
    ],
    ids=["node affinity", "pod affinity", "pod anti-affinity", "soft taint", "soft spread"],
)
def test_unmet_wish_costs_its_weight(pod, good, bad, weight):
    """One node grants the wish, another does not."""
    nodes = [
        make_node("plain"),
        make_node("ssd", labels={"ssd": ""}),
        make_node("web"),
        make_node("old", taints=SOFT_TAINT),
    ]
    problem = make_problem(nodes, [pod, make_pod("w", node="web", labels={"app": "web"})])
    assert levels_of(problem, p=good)["preferences"] == 0
    assert levels_of(problem, p=bad)["preferences"] == weight


def test_wishes_are_judged_once_all_pods_are_placed():
    """Company that comes later in the plan counts; a pod is no company for itself."""
    wish = beside("web", 50, "podAffinity")
    pods = [make_pod(name, labels={"app": "web"}, affinity=wish) for name in ("p", "q")]
    problem = make_problem([make_node("n1"), make_node("n2")], pods)
    p, q = pod_index(problem, "p"), pod_index(problem, "q")
    assert unmet_preferences(problem, Placement.of([p], [0])) == 50
    assert unmet_preferences(problem, Placement.of([p, q], [0, 0])) == 0
    assert unmet_preferences(problem, Placement.of([p, q], [0, 1])) == 100
