"""The independent checker: rule by rule, and plans that make no sense at all."""

import pkgutil
from importlib import import_module

import pytest

from koordopt.models import rules
from koordopt.models.problem.placement import PlacementProblem
from koordopt.models.quota.spec import QuotaSettings
from koordopt.models.result import Placement
from koordopt.models.snapshot import SnapshotSettings
from koordopt.models.verify import CHECKERS, verify
from tests.scenarios.kit import cluster

BY_MAX = SnapshotSettings(quota=QuotaSettings(enable_runtime=False))


def judged(story, *binds, steps=None):
    """Return rule, object, found and allowed of what is wrong with ``pod node`` pairs."""
    problem = PlacementProblem.from_snapshot(story.snapshot())
    pairs = [bind.split() for bind in binds]
    pods, nodes = problem.snapshot.pods.index, problem.snapshot.nodes.index
    placement = Placement.of(
        [pods[f"default/{pod}"] for pod, _ in pairs], [nodes[node] for _, node in pairs], steps
    )
    return [(v.rule, v.object, v.found, v.allowed) for v in verify(problem, placement)]


def test_every_rule_has_its_checker():
    """A rule without one would not be enforced."""
    modules = [
        import_module(f"{rules.__name__}.{module.name}")
        for module in pkgutil.iter_modules(rules.__path__)
    ]
    judging = {module.violations for module in modules if hasattr(module, "violations")}
    assert judging == set(CHECKERS)
    assert len({module.RULE for module in modules if hasattr(module, "RULE")}) == len(CHECKERS)


def test_empty_plan_breaks_nothing():
    """Not even in a cluster that is over-committed already."""
    story = cluster().nodes(1, cpu="1").pods("runs", 3, on="n1").gang("g", 2)
    assert judged(story) == []


@pytest.mark.parametrize(
    ("pods", "nodes", "steps", "found"),
    [
        ([1, 1], [0, 0], None, ("plan", "default/p", "bound 2 times", "once")),
        ([2], [0], None, ("plan", "default/runs", "bound", "pending pods only")),
        ([7], [0], None, ("plan", "pod index 7", "bound", "pending pods only")),
        ([-1], [0], None, ("plan", "pod index -1", "bound", "pending pods only")),
        ([1], [5], None, ("plan", "node index 5", "used", "0 to 0")),
        ([1], [-1], None, ("plan", "node index -1", "used", "0 to 0")),
        ([0, 1], [0, 0], [1, 0], ("plan", "steps", "out of order", "never falling")),
    ],
)
def test_plan_that_makes_no_sense_is_judged_no_further(pods, nodes, steps, found):
    """What cannot be read is reported alone."""
    story = cluster().nodes(1, cpu="1").pod("o").pod("p", cpu="9").pod("runs", on="n1")
    problem = PlacementProblem.from_snapshot(story.snapshot())
    (violation,) = verify(problem, Placement.of(pods, nodes, steps))
    assert (violation.rule, violation.object, violation.found, violation.allowed) == found


def test_gang_below_its_need_is_named():
    """Two of three members; all three are fine in any order of pods."""
    story = cluster().nodes(2).gang("g", 3)
    assert judged(story, "g-0 n1", "g-2 n1", steps=[0, 0]) == [
        ("gang", "default/g", "2 members start", "3 or none")
    ]
    assert judged(story, "g-2 n1", "g-0 n1", "g-1 n2", steps=[4, 4, 4]) == []


def test_gang_must_start_in_one_step():
    """Three steps of one member each are no start; members beyond the minimum may follow."""
    story = cluster().nodes(2).gang("g", 3, minimum=2)
    assert judged(story, "g-0 n1", "g-1 n1", steps=[0, 1])[0][2] == "1 members start"
    assert judged(story, "g-0 n1", "g-1 n1", "g-2 n1", steps=[0, 0, 3]) == []


def test_gangs_of_a_group_must_start_together():
    """One gang whole and the other absent is no start of the group."""
    groups = ("default/a", "default/b")
    story = cluster().nodes(1).gang("a", 1, groups=groups).gang("b", 1, groups=groups)
    assert judged(story, "a-0 n1") == [("gang", "default/b", "0 members start", "1 or none")]
    assert judged(story, "a-0 n1", "b-0 n1", steps=[0, 0]) == []


def test_gang_that_must_wait_is_not_placed():
    """Two of two pods placed, but the third that the minimum asks for does not exist."""
    story = cluster().nodes(1).gang("g", 2, minimum=3)
    found = judged(story, "g-0 n1", "g-1 n1", steps=[0, 0])
    assert ("gang", "default/g", "2 members start", "3 or none") in found
    assert any("not collected enough" in allowed for *_, allowed in found)


def test_quota_and_every_ancestor_hold():
    """Each child stays within its own limit, and together they exceed the parent's."""
    story = cluster(BY_MAX).nodes(1).quota("p", is_parent=True, most={"cpu": "3"})
    for child in "ab":
        story.quota(child, parent="p", most={"cpu": "2"}).pods(child, 3, quota=child)
    assert judged(story, "a-0 n1", "a-1 n1", "b-0 n1") == []
    assert judged(story, "a-0 n1", "a-1 n1", "b-0 n1", "b-1 n1") == [
        ("quota", "p", "used cpu 4", "3")
    ]
    assert ("quota", "a", "used cpu 3", "2") in judged(story, "a-0 n1", "a-1 n1", "a-2 n1")


def test_quota_that_is_over_already_takes_no_pod_at_all():
    """Not even one that asks for nothing of what is short; other quotas are not affected."""
    story = cluster(BY_MAX).nodes(1, cpu="16").quota("q", most={"cpu": "1", "memory": "8Gi"})
    story.pods("runs", 2, quota="q", on="n1").pod("idle", cpu=None, quota="q")
    story.pod("free")
    assert judged(story, "idle n1") == [("quota", "q", "used cpu 2", "1")]
    assert judged(story, "free n1") == []


def test_pods_that_may_not_be_preempted_fit_into_min():
    """Min 1: two such pods are one too many, one and a soft one are fine."""
    firm = {"quota.scheduling.koordinator.sh/preemptible": "false"}
    story = cluster().nodes(1).quota("q", least={"cpu": "1"}, most={"cpu": "4"})
    story.pods("firm", 2, quota="q", labels=firm).pod("soft", quota="q")
    assert judged(story, "firm-0 n1", "soft n1") == []
    assert judged(story, "firm-0 n1", "firm-1 n1") == [("quota", "q", "non-preemptible cpu 2", "1")]


@pytest.mark.parametrize(
    "held",
    [
        {"schedulingGates": [{"name": "later"}]},
        {"resourceClaims": [{"name": "claim"}]},
    ],
)
def test_pod_that_something_holds_back_is_not_placed(held):
    """A gate, or a claim that is not understood."""
    story = cluster().nodes(1).pod("p", **held)
    ((rule, name, *_),) = judged(story, "p n1")
    assert (rule, name) == ("gate", "default/p")


def test_violations_come_sorted_and_all_of_them():
    """Too much of two resources and a taint: three lines."""
    story = cluster().node("n1", cpu="1", pods=1, taints=(("a", "b", "NoSchedule"),))
    story.pod("p", cpu="2").pod("q", cpu="2", tolerations=[{"operator": "Exists"}])
    found = judged(story, "p n1", "q n1")
    assert found == sorted(found)
    assert [rule for rule, *_ in found] == ["capacity", "capacity", "taint"]
