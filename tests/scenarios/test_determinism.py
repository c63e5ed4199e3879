"""The same cluster gives the same plan, and a change costs what it changes."""

import pytest

from koordopt.models.problem.placement import PlacementProblem
from koordopt.models.snapshot import ClusterSnapshot
from koordopt.solvers.heuristics import greedy, pipeline
from koordopt.solvers.heuristics.quota import QuotaUse
from tests.scenarios.invariants import plan_of, shuffled
from tests.scenarios.kit import cluster


def mixed_cluster():
    """Return gangs, quotas, zones and ties enough for any hidden order to show."""
    story = cluster()
    for k in range(9):
        story.node(f"n{k}", zone=f"z{k % 3}", cpu="8")
    for name in ("a", "b", "c"):
        story.quota(name, least={"cpu": "6"}, most={"cpu": "30"})
        story.pods(f"{name}-pod", 12, quota=name, cpu="1500m")
        story.gang(f"{name}-gang", 4, minimum=3, quota=name, cpu="2")
    return story


def test_c79_twenty_runs_on_shuffled_input_give_one_plan():
    """Every list of objects in another order, twenty times: one plan, reasons included."""
    objects = mixed_cluster().objects
    expected = plan_of(objects, now_s=0)[2].to_dict()
    assert expected["placements"]
    assert expected["unplaced"]
    for seed in range(20):
        assert plan_of(shuffled(objects, seed), now_s=0)[2].to_dict() == expected


@pytest.fixture
def repairs(monkeypatch):
    """Count the entries of score rows that the pipeline computes."""
    done = {"entries": 0}
    one, many = pipeline._one, pipeline._many

    def counted_one(kept, n):
        done["entries"] += 1
        return one(kept, n)

    def counted_many(kept, nodes, part):
        done["entries"] += len(kept.row) if nodes is None else len(nodes)
        return many(kept, nodes, part)

    monkeypatch.setattr(pipeline, "_one", counted_one)
    monkeypatch.setattr(pipeline, "_many", counted_many)
    return done


def entries_computed(story, repairs):
    repairs["entries"] = 0
    result = greedy.solve(PlacementProblem.from_snapshot(story.snapshot()))
    assert len(result.placement) == 200
    return repairs["entries"]


def arrivals(running):
    """Return 50 nodes with some pods, and 200 pending pods of four kinds."""
    story = cluster().nodes(50, cpu="64", pods=500)
    for k in range(running):
        story.pod(f"run-{k}", cpu="100m", on=f"n{k % 50 + 1}")
    for k in range(4):
        story.pods(f"new{k}", 50, cpu=f"{(k + 1) * 100}m")
    return story


def test_c85_cost_follows_the_arrivals_and_not_what_runs(repairs):
    """200 pods into 50 nodes: as many entries computed beside 400 running pods as beside none."""
    empty, busy = (entries_computed(arrivals(running), repairs) for running in (0, 400))
    assert abs(busy - empty) <= 0.1 * empty
    # A row for each kind once, and then little more than the node that each placement changed.
    assert empty <= 4 * 50 + 4 * 200


def test_c85_identical_pods_are_one_class(repairs):
    """200 equal pods share one row: each placement repairs one entry."""
    story = cluster().nodes(50, cpu="64").pods("p", 200)
    assert len(ClusterSnapshot.from_objects(story.objects).classes) == 1
    assert entries_computed(story, repairs) <= 50 + 200


def test_c07_full_quota_costs_its_pods_one_check(monkeypatch):
    """200 pods alike in a quota that is full: one is asked about while pods are placed."""
    story = cluster().nodes(2).quota("a", most={"cpu": "4"}).quota("b", most={"cpu": "4"})
    story.pod("big", cpu="4", quota="a", on="n1").pods("more", 200, quota="a", priority=9000)
    story.pod("other", quota="b", priority=5000)
    asked = []
    refusal = QuotaUse.refusal

    def counted(self, p):
        asked.append(self.quota_of(p))
        return refusal(self, p)

    monkeypatch.setattr(QuotaUse, "refusal", counted)
    result = greedy.solve(PlacementProblem.from_snapshot(story.snapshot()))
    assert len(result.placement) == 1
    assert len(asked) == 2  # one pod of each quota
    assert len(set(result.unplaced.values())) == 1
