"""Quota use while pods are placed and taken back."""

from koordopt.models.problem.placement import PlacementProblem
from koordopt.models.quota.spec import QuotaSettings
from koordopt.models.snapshot import SnapshotSettings
from koordopt.solvers.heuristics.quota import QuotaShort, QuotaUse
from tests.scenarios.kit import cluster

BY_MAX = SnapshotSettings(quota=QuotaSettings(enable_runtime=False))


def use_of(story):
    problem = PlacementProblem.from_snapshot(story.snapshot())
    return problem, QuotaUse(problem), problem.snapshot.pods.index


def test_cluster_without_quotas_refuses_nothing():
    """And its pods belong to none."""
    _, use, index = use_of(cluster().nodes(1).pod("p"))
    p = index["default/p"]
    use.charge(p)
    assert use.refusal(p) is None
    assert (use.quota_of(p), use.is_guaranteed(p), use.used_share(-1)) == (-1, False, 0.0)


def test_own_quota_is_named_before_an_ancestor():
    """Both are full; with room in its own, the ancestor blocks."""
    story = cluster(BY_MAX).nodes(1).quota("p", is_parent=True, most={"cpu": "2"})
    for child, most in (("a", "1"), ("b", "2")):
        story.quota(child, parent="p", most={"cpu": most}).pods(child, 2, quota=child)
    problem, use, index = use_of(story)
    names, cpu = problem.snapshot.quotas.arrays.index, problem.snapshot.resource_index["cpu"]
    use.charge(index["default/a-0"])
    assert use.refusal(index["default/b-0"]) is None
    use.charge(index["default/b-0"])
    assert use.refusal(index["default/a-1"]) == QuotaShort(
        names["a"], cpu, 1000, 1000, 1000, names["a"], is_minimum=False
    )
    assert use.refusal(index["default/b-1"]) == QuotaShort(
        names["p"], cpu, 2000, 1000, 2000, names["b"], is_minimum=False
    )
    use.charge(index["default/a-0"], -1)
    assert use.refusal(index["default/b-1"]) is None


def test_share_is_the_largest_of_the_limited_resources():
    """Half of the cores and a quarter of the memory; a limit of nothing is used up."""
    story = cluster(BY_MAX).nodes(1).quota("q", most={"cpu": "2", "memory": "4Gi"})
    story.quota("none", most={"cpu": "0"}).pod("p", requests={"memory": "1Gi"}, quota="q")
    problem, use, index = use_of(story)
    names = problem.snapshot.quotas.arrays.index
    assert use.used_share(names["q"]) == 0.0
    use.charge(index["default/p"])
    assert use.used_share(names["q"]) == 0.5
    assert use.used_share(names["none"]) == 1.0


def test_pod_is_guaranteed_within_min_in_everything_it_asks_for():
    """Min names cpu alone, so memory is never guaranteed."""
    story = cluster().nodes(1).quota("q", least={"cpu": "2"}, most={"cpu": "4", "memory": "8Gi"})
    story.pods("p", 3, quota="q").pod("m", requests={"memory": "1Gi"}, quota="q")
    _, use, index = use_of(story)
    assert use.is_guaranteed(index["default/p-0"])
    assert not use.is_guaranteed(index["default/m"])
    use.charge(index["default/p-0"])
    assert use.is_guaranteed(index["default/p-1"])
    use.charge(index["default/p-1"])
    assert not use.is_guaranteed(index["default/p-2"])


def test_pod_that_asks_for_nothing_is_not_guaranteed():
    """It takes nothing of the min, so it must not jump the queue."""
    story = cluster().nodes(1).quota("q", least={"cpu": "2"}, most={"cpu": "4"})
    _, use, index = use_of(story.pod("p", cpu=None, quota="q"))
    assert not use.is_guaranteed(index["default/p"])
