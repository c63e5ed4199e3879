"""Spread, sidecars and the order of pods over successive plans of a changing cluster."""

from collections import Counter

import pytest

from koordopt.models.problem.placement import PlacementProblem
from koordopt.models.result import Placement
from koordopt.models.verify import verify
from tests.scenarios.kit import cluster


def spread(key, skew, *, by_revision):
    constraint = {
        "maxSkew": skew,
        "topologyKey": key,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
    if by_revision:
        constraint["matchLabelKeys"] = ["pod-template-hash"]
    return {"topologySpreadConstraints": [constraint]}


def revision(name):
    return {"app": "web", "pod-template-hash": name}


@pytest.mark.parametrize("old", [(2, 2, 1), (1, 2, 2), (5, 0, 0)])
def test_c04_new_revision_is_spread_by_itself_where_the_revision_is_a_label_key(old):
    """Old pods 2/2/1 on three nodes, skew 1, five new ones: 2/2/1 in any order."""
    story = cluster().nodes(3, cpu="32")
    for k, count in enumerate(old, start=1):
        story.pods(f"old{k}", count, on=f"n{k}", labels=revision("old"))
    rule = spread("kubernetes.io/hostname", 1, by_revision=True)
    story.pods("new", 5, labels=revision("new"), **rule).cycle()
    assert sorted(Counter(story.placed("new").values()).values()) == [1, 2, 2]


def test_c04_plain_selector_counts_old_pods_too():
    """Old 2/2/1 and five new under skew 1 by a plain selector: all ten are spread."""
    story = cluster().nodes(3, cpu="32")
    for k, count in enumerate((2, 2, 1), start=1):
        story.pods(f"old{k}", count, on=f"n{k}", labels=revision("old"))
    rule = spread("kubernetes.io/hostname", 1, by_revision=False)
    story.pods("new", 5, labels=revision("new"), **rule).cycle().expect_placed("new")
    assert sorted(Counter(story.placed().values()).values()) == [3, 3, 4]


@pytest.mark.parametrize(("by_revision", "legal"), [(True, False), (False, True)])
def test_c04_three_to_nothing_is_legal_only_where_old_pods_count(by_revision, legal):
    """Zones with 2 and 1 old pods, skew 2: three new in zone b are 4 - 2 = 2, or else 3 - 0."""
    story = cluster().node("a", zone="a", cpu="32").node("b", zone="b", cpu="32")
    story.pods("old-a", 2, on="a", labels=revision("old")).pod(
        "old-b", on="b", labels=revision("old")
    )
    rule = spread("topology.kubernetes.io/zone", 2, by_revision=by_revision)
    story.pods("new", 3, labels=revision("new"), **rule)
    problem = PlacementProblem.from_snapshot(story.snapshot())
    all_in_b = Placement.of(problem.pending.tolist(), [problem.snapshot.nodes.index["b"]] * 3)
    found = verify(problem, all_in_b)
    assert {violation.rule for violation in found} == (set() if legal else {"topology-spread"})
    story.cycle().expect_placed("new")
    if not legal:
        assert max(Counter(story.placed("new").values()).values()) < 3


def containers(cpu):
    return [{"name": "app", "resources": {"requests": {"cpu": cpu}}}]


def init(name, cpu, *, sidecar=False):
    container = {"name": name, "resources": {"requests": {"cpu": cpu}}}
    return {**container, **({"restartPolicy": "Always"} if sidecar else {})}


@pytest.mark.parametrize(
    ("app", "inits", "cpu"),
    [
        ("4000m", [init("mesh", "250m", sidecar=True)], 4250),
        ("100m", [init("mesh", "100m", sidecar=True), init("setup", "200m")], 300),
        ("100m", [init("setup", "200m"), init("mesh", "100m", sidecar=True)], 200),
    ],
)
def test_c05_sidecars_count_beside_the_app_and_after_them_beside_plain_init(app, inits, cpu):
    """The pod fits a node of exactly its request and none that has a thousandth of a core less."""
    story = cluster().node("tight", cpu=f"{cpu - 1}m")
    story.pod("p", containers=containers(app), initContainers=inits).cycle()
    story.expect_unplaced("p", rule="capacity", says="Insufficient cpu")
    story.node("exact", cpu=f"{cpu}m").cycle().expect_on("exact", "p")


def test_c05_node_with_4200m_free_does_not_take_app_and_sidecar():
    """App of 4000m and sidecar of 250m, on a node of eight cores with 3800m in use."""
    story = cluster().nodes(1, cpu="8").pod("runs", cpu="3800m", on="n1")
    story.pod("p", containers=containers("4"), initContainers=[init("m", "250m", sidecar=True)])
    story.cycle().expect_unplaced("p", says="0/1 nodes are available: 1 Insufficient cpu")


def test_priority_comes_before_age_and_age_before_name():
    """Three slots for four pods."""
    story = cluster().nodes(3, cpu="1").pod("a").pod("b", age_s=60).pod("c", age_s=120)
    story.pod("d", priority=1).cycle()
    story.expect_placed("b", "c", "d").expect_unplaced("a", rule="capacity")


def test_room_of_departed_and_finished_pods_is_used_again():
    """What a pod leaves is there in the next cycle, and so is a node that joins."""
    story = cluster().nodes(1, cpu="2").pods("p", 4).cycle().expect_placed("p-0", "p-1")
    story.remove("p-0").cycle().expect_on("n1", "p-2").expect_unplaced("p-3")
    story.finish("p-1").cycle().expect_on("n1", "p-3")
    story.pod("late").cycle().expect_unplaced("late").node("n2").cycle().expect_on("n2", "late")


def test_pods_of_a_lost_node_are_placed_elsewhere_once_made_anew():
    """A node leaves with its pods; their successors go to what is left."""
    story = cluster().nodes(2, cpu="2").pods("p", 2, cpu="2").cycle()
    lost = story.placed("p-0")["p-0"]
    story.drop_node(lost).pod("p-0", cpu="2").cycle().expect_unplaced("p-0")
    story.remove("p-1").cycle().expect_placed("p-0")


def test_taints_cordons_and_selectors_name_themselves():
    """A pod that no node may take says which rule keeps it away, and that no eviction helps."""
    story = cluster().node("tainted", taints=(("team", "x", "NoSchedule"),))
    story.node("cordoned", cordoned=True).pod("p").cycle()
    story.expect_unplaced(
        "p", says="1 node(s) had untolerated taint(s)|1 node(s) were unschedulable"
    )
    assert not story.reason("p").eviction_could_help
    story.pod("q", tolerations=[{"operator": "Exists"}]).cycle().expect_placed("q")


def test_cluster_without_nodes_gives_a_reason():
    """Nothing to place on is an answer too."""
    cluster().pod("p").gang("g", 2).cycle().expect_unplaced("p", says="no nodes are available")


def test_empty_cluster_has_an_empty_plan():
    """No pods, no nodes, no objections."""
    assert cluster().cycle().plan.binds == ()
