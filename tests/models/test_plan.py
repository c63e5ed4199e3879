"""Plans: names, order, and the object that programs read."""

import json
from dataclasses import replace

from koordopt.models.plan import DeviceShare
from koordopt.models.result import LevelValue, gap_between
from tests.scenarios.invariants import plan_of
from tests.scenarios.kit import cluster


def small_plan():
    story = cluster().nodes(2, cpu="4").gang("g", 2, cpu="4").pod("late", cpu="4", on="gone")
    return plan_of(story.pod("big", cpu="9").objects, now_s=0)[2]


def test_plan_is_one_object_with_the_documented_fields():
    """What ``plan -o json`` prints, without timings, so the same input gives the same bytes."""
    plan = small_plan()
    printed = plan.to_dict()
    assert json.loads(json.dumps(printed)) == printed
    assert list(printed) == [
        "status",
        "limit",
        "method",
        "levels",
        "gap",
        "placements",
        "unplaced",
        "evictions",
        "warnings",
    ]
    assert (printed["status"], printed["limit"], printed["method"]) == (
        "heuristic",
        "none",
        "greedy",
    )
    assert {entry["pod"]: entry["node"] for entry in printed["placements"]} == {
        "default/g-0": "n1",
        "default/g-1": "n2",
    }
    assert printed["warnings"] == [
        "Pod default/late: node gone is not in the input; it uses nothing"
    ]


def test_unplaced_pod_carries_one_reason():
    """Rule, object, message, and whether evictions could help; no relaxation was computed."""
    (entry,) = small_plan().to_dict()["unplaced"]
    assert entry == {
        "pod": "default/big",
        "reason": {
            "rule": "capacity",
            "object": "nodes",
            "message": "0/2 nodes are available: 2 Insufficient cpu.",
            "eviction_could_help": False,
        },
        "relaxation": None,
    }


def test_level_entries_name_objective_bound_and_gap():
    """Greedy proves nothing but that it evicts and moves nobody."""
    levels = {level["name"]: level for level in small_plan().to_dict()["levels"]}
    assert levels["priority 0"]["bound"] is None
    assert levels["priority 0"]["gap"] is None
    assert levels["evictions"] == {
        "name": "evictions",
        "sense": "min",
        "objective": 0,
        "bound": 0,
        "gap": 0.0,
    }


def test_gap_is_the_largest_of_the_levels_and_unknown_where_one_is():
    """A plan with one unproven level is not proven."""
    plan = small_plan()
    assert plan.gap is None
    proven = (LevelValue("a", "max", 90, 100), LevelValue("b", "min", 0, 0))
    assert replace(plan, levels=proven).gap == gap_between(90, 100) == 10 / 90
    assert replace(plan, levels=()).gap == 0.0
    assert gap_between(0, 3) == 3.0


def test_placements_stand_in_bind_order_and_members_of_a_start_share_a_step():
    """A program may bind step by step."""
    plan = small_plan()
    steps = [bind.step for bind in plan.binds]
    assert steps == sorted(steps)
    assert len(set(steps)) == 1


def test_devices_are_listed_by_minor_and_share_of_the_card():
    """The larger of compute and memory share, in thousandths."""
    gpu = {"koordinator.sh/gpu-core": 30, "koordinator.sh/gpu-memory-ratio": 40}
    story = cluster().nodes(1, **dict.fromkeys(gpu, 100)).cards("n1", "40Gi")
    plan = plan_of(story.pod("p", requests=gpu).objects, now_s=0)[2]
    (entry,) = plan.to_dict()["placements"]
    assert entry["devices"] == [{"type": "gpu", "minor": 0, "share": 400}]


def test_memory_of_a_card_is_recorded_only_where_it_is_known():
    """A card without a known memory is given by share alone."""
    known, unknown = DeviceShare("gpu", 0, 500, 250, 1024), DeviceShare("gpu", 0, 500, 250, 0)
    assert known.resources["koordinator.sh/gpu-memory"] == "1024"
    assert unknown.resources == {
        "koordinator.sh/gpu-core": "50",
        "koordinator.sh/gpu-memory-ratio": "25",
    }
