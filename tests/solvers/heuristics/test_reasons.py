"""Whether evictions could help, against clusters in which it is plain to see."""

import pytest

from koordopt.models.api.decode import decode
from koordopt.models.problem.placement import PlacementProblem
from koordopt.models.snapshot import ClusterObjects, ClusterSnapshot
from koordopt.solvers.solve import solve
from tests.builders import make_node, make_pod
from tests.scenarios.manifests import quota


def reason(objects, name="default/p"):
    problem = PlacementProblem.from_snapshot(ClusterSnapshot.from_objects(objects))
    p = problem.snapshot.pods.index[name]
    return solve(problem, "greedy").unplaced[p]


def nodes_reason(nodes, pods):
    return reason(ClusterObjects(nodes=tuple(nodes), pods=tuple(pods)))


TAINT = {"key": "k", "effect": "NoSchedule"}


def test_one_full_node_could_be_freed_whatever_most_nodes_say():
    """Two nodes are tainted; the third has only a pod in the way."""
    nodes = [make_node("a", taints=[TAINT]), make_node("b", taints=[TAINT]), make_node("c")]
    pods = [make_pod("old", node="c", requests={"cpu": "3"}), make_pod("p", requests={"cpu": "2"})]
    told = nodes_reason(nodes, pods)
    assert (told.rule, told.eviction_could_help) == ("capacity", True)


def test_a_full_node_that_lacks_something_else_could_not():
    """The only node is full, and has none of the company that the pod needs."""
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "x"}}}
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    pods = [
        make_pod("old", node="a", requests={"cpu": "3"}),
        make_pod("p", requests={"cpu": "2"}, affinity=affinity),
    ]
    assert not nodes_reason([make_node("a")], pods).eviction_could_help


def test_a_node_that_is_too_small_in_one_resource_could_not():
    """Its slots could be freed, its cores could not."""
    pods = [make_pod("old", node="a"), make_pod("p", requests={"cpu": "9"})]
    assert not nodes_reason([make_node("a", pods=1)], pods).eviction_could_help


@pytest.mark.parametrize(
    ("most", "least", "firm", "cores", "helps"),
    [
        ({"cpu": "2"}, {}, False, "1", True),  # the other pod of the quota may leave
        ({"cpu": "2"}, {}, False, "3", False),  # more than the max
        ({"cpu": "99"}, {}, False, "9", False),  # more than the cluster has
        ({"cpu": "4"}, {"cpu": "2"}, True, "1", True),
        ({"cpu": "4"}, {"cpu": "2"}, True, "3", False),  # more than the min
    ],
)
def test_a_quota_that_never_has_so_much_could_not_be_freed(most, least, firm, cores, helps):
    labels = {"quota.scheduling.koordinator.sh/name": "q"}
    if firm:
        labels["quota.scheduling.koordinator.sh/preemptible"] = "false"
    pods = (
        make_pod("old", node="a", labels=labels, requests={"cpu": "2"}),
        make_pod("p", labels=labels, requests={"cpu": cores}),
    )
    quotas = (decode(quota("q", most=most, least=least)),)
    told = reason(ClusterObjects(nodes=(make_node("a"),), pods=pods, elastic_quotas=quotas))
    assert (told.rule, told.eviction_could_help) == ("quota", helps)
