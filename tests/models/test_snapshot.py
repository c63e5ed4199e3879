"""A cluster as arrays: order, classes, amounts, and what is left out."""

import dataclasses

import numpy as np
import pytest

from koordopt.models.arrays import LARGEST_AMOUNT
from koordopt.models.problem.placement import PlacementProblem
from koordopt.models.snapshot import ClusterObjects, ClusterSnapshot
from koordopt.solvers.heuristics import greedy
from tests.builders import make_namespace, make_node, make_pod
from tests.scenarios.invariants import shuffled
from tests.scenarios.kit import cluster


def take(nodes=(), pods=(), **kwargs):
    return ClusterSnapshot.from_objects(ClusterObjects(nodes=nodes, pods=pods), **kwargs)


def test_arrays_do_not_depend_on_the_order_of_objects():
    """Nodes stand by zone and name, pods by namespace and name, classes by first pod."""
    story = cluster().node("b", zone="z1").node("a", zone="z2").node("c")
    story.quota("q", most={"cpu": "4"}).pods("x", 3, quota="q").pods("other/y", 2, on="a")
    one = ClusterSnapshot.from_objects(story.objects)
    two = ClusterSnapshot.from_objects(shuffled(story.objects, 7))
    assert one.nodes.names == two.nodes.names == ("c", "b", "a")
    assert one.pods.keys == two.pods.keys
    for table, column in (("pods", "class_of"), ("pods", "node_of"), ("quotas", "quota_of")):
        first, second = (getattr(getattr(s, table), column) for s in (one, two))
        np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(one.allocatable, two.allocatable)
    np.testing.assert_array_equal(one.quotas.arrays.limit, two.quotas.arrays.limit)


def test_labels_split_classes_only_where_a_selector_reads_them():
    """A thousand ordinals are one class, until somebody selects by them."""
    numbered = [make_pod(f"p{k}", labels={"ordinal": str(k)}) for k in range(3)]
    assert len(take(pods=numbered).classes) == 1
    term = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"ordinal": "1"}}}
    anti = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    snapshot = take(pods=[*numbered, make_pod("reader", affinity=anti)])
    assert len(snapshot.classes) == 3
    (readers,) = snapshot.classes_by_matcher.values()
    assert readers == (snapshot.pods.class_of[snapshot.pods.index["default/p1"]],)


@pytest.mark.parametrize(
    "other",
    [
        make_pod("b", namespace="other"),
        make_pod("b", requests={"cpu": "1"}),
        make_pod("b", image="tool"),
        make_pod("b", nodeSelector={"disk": "ssd"}),
        make_pod("b", tolerations=[{"operator": "Exists"}]),
        make_pod("b", ports=[{"containerPort": 80, "hostPort": 80}]),
    ],
)
def test_pods_that_ask_for_different_things_are_different_classes(other):
    """Everything that a rule or a score reads of a pod counts."""
    assert len(take(pods=[make_pod("a"), other]).classes) == 2


def test_priority_age_and_annotations_do_not_split_classes():
    """What decides when a pod is placed does not decide where."""
    pods = [make_pod("a"), make_pod("b", priority=9), make_pod("c", annotations={"x": "y"})]
    assert len(take(pods=pods).classes) == 1


def test_finished_pods_are_left_out_without_a_warning():
    """They use nothing, wherever they ran."""
    story = cluster().nodes(1).pods("p", 2, on="n1").finish("p-0")
    snapshot = story.snapshot()
    assert snapshot.pods.keys == ("default/p-1",)
    assert [pod.key for pod in snapshot.finished] == ["default/p-0"]
    assert PlacementProblem.from_snapshot(snapshot).used[0, 0] == 1_000
    assert snapshot.warnings == ()


def test_pod_on_a_node_that_is_not_there_uses_nothing_and_gives_a_warning():
    """It is no pending pod either."""
    snapshot = take([make_node("n1")], [make_pod("p", node="gone")])
    assert snapshot.pods.keys == ()
    assert snapshot.warnings == ("Pod default/p: node gone is not in the input; it uses nothing",)


@pytest.mark.parametrize("node", ["n1", "gone"])
def test_pod_to_be_placed_on_the_node_that_it_names_goes_there_or_nowhere(node):
    """A pod that its controller bound is planned for that node and no other."""
    problem = PlacementProblem.from_snapshot(
        take(
            [make_node("n0", cpu="64"), make_node("n1")],
            [make_pod("p", node=node)],
            pending=("default/p",),
        )
    )
    result = greedy.solve(problem)
    placed = [problem.snapshot.nodes.names[n] for n in result.placement.node.tolist()]
    assert placed == ([node] if node == "n1" else [])
    assert set(result.unplaced) == (set() if node == "n1" else {0})


def test_everything_handed_out_is_read_only():
    """A change is a new value; writing into a snapshot or problem raises."""
    story = cluster().nodes(1).quota("q", most={"cpu": "4"}).pod("p", quota="q")
    snapshot = story.snapshot()
    problem = PlacementProblem.from_snapshot(snapshot)
    arrays = [snapshot.allocatable, snapshot.request, problem.used, problem.pending]
    for table in (snapshot.pods, snapshot.cards, snapshot.quotas, snapshot.quotas.arrays):
        values = (getattr(table, field.name) for field in dataclasses.fields(table))
        arrays += [value for value in values if isinstance(value, np.ndarray)]
    assert not [array for array in arrays if array.flags.writeable]


def test_instant_is_the_latest_creation_unless_told():
    """The same files give the same ages, whenever they are read."""
    story = cluster().pod("old", age_s=100).pod("new", age_s=40)
    latest = int(story.snapshot().pods.created_s.max())
    assert ClusterSnapshot.from_objects(story.objects).now_s == latest
    assert ClusterSnapshot.from_objects(story.objects, now_s=5).now_s == 5
    assert ClusterSnapshot.from_objects(ClusterObjects()).now_s == 0


def test_every_pod_takes_a_slot_and_zero_requests_take_nothing():
    """The number of pods is a resource like the others."""
    snapshot = take(pods=[make_pod("p", requests={"cpu": "0", "memory": "1Ki"})])
    asked = dict(zip(snapshot.resources, snapshot.request[0].tolist(), strict=True))
    assert asked == {"cpu": 0, "memory": 1024, "pods": 1}


def test_amounts_beyond_reason_are_cut_and_fit_nowhere():
    """A request above the largest amount is still above the largest capacity."""
    huge = str(4 * LARGEST_AMOUNT)
    snapshot = take([make_node("n", memory=huge)], [make_pod("p", requests={"memory": huge})])
    memory = snapshot.resource_index["memory"]
    assert snapshot.allocatable[0, memory] == LARGEST_AMOUNT
    assert snapshot.request[0, memory] == LARGEST_AMOUNT + 1


def test_resource_axis_holds_what_nodes_offer_and_pods_ask_for():
    """A resource that no node has is an axis of zeros, not an error."""
    snapshot = take([make_node("n", gpu="2")], [make_pod("p", requests={"fpga": "1"})])
    assert snapshot.resources == ("cpu", "fpga", "gpu", "memory", "pods")
    assert snapshot.allocatable[0, snapshot.resource_index["fpga"]] == 0


def test_namespace_labels_come_from_its_object_and_its_name():
    """A namespace without an object is known by its name alone."""
    seen = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "bare"}}}
    team = {"namespaceSelector": {"matchLabels": {"team": "x"}}}
    terms = [{"topologyKey": "zone", "labelSelector": {}, **scope} for scope in (seen, team)]
    anti = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    pods = [
        make_pod("p", affinity=anti),
        make_pod("a", namespace="bare"),
        make_pod("b", namespace="t"),
    ]
    objects = ClusterObjects(pods=pods, namespaces=[make_namespace("t", {"team": "x"})])
    snapshot = ClusterSnapshot.from_objects(objects)
    matched = {
        pod.key: len(snapshot.classes[c].matched)
        for pod, c in zip(snapshot.pods.objects, snapshot.pods.class_of.tolist(), strict=True)
    }
    assert matched == {"default/p": 0, "bare/a": 1, "t/b": 1}
