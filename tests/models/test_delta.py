"""Changes to a cluster, and the snapshot after them."""

import json

import pytest

from koordopt.errors import InvalidInputError
from koordopt.models.api.keys import ANNOTATION_DEVICE_ALLOCATED
from koordopt.models.delta import ClusterDelta, RebuildNeeded, advance, apply_delta, bound_pod
from koordopt.models.plan import Bind, DeviceShare
from koordopt.models.rules.device import RecordedShare, recorded_cards
from koordopt.models.snapshot import ClusterObjects, ClusterSnapshot
from tests.builders import make_device, make_node, make_pod
from tests.scenarios.invariants import assert_same_state
from tests.scenarios.kit import cluster

NODE = make_node("n1")
BASE = ClusterObjects(nodes=[NODE], pods=[make_pod("p"), make_pod("q", node="n1")])


def nodes_of(objects):
    return {pod.key: pod.spec.node_name for pod in objects.pods}


def test_bind_gives_a_pending_pod_its_node_and_leaves_the_rest():
    """The objects given stay as they were."""
    after = apply_delta(BASE, ClusterDelta(binds=(Bind("default/p", "n1", 0),)))
    assert nodes_of(after) == {"default/p": "n1", "default/q": "n1"}
    assert nodes_of(BASE)["default/p"] == ""


@pytest.mark.parametrize(
    ("bind", "message"),
    [
        (Bind("default/ghost", "n1", 0), "pod default/ghost does not exist"),
        (Bind("default/q", "n2", 0), "pod default/q is on n1"),
    ],
)
def test_bind_of_a_pod_that_is_not_pending_is_refused(bind, message):
    """A plan that is out of date must not move what runs."""
    with pytest.raises(InvalidInputError, match=message):
        apply_delta(BASE, ClusterDelta(binds=(bind,)))


def test_bind_to_the_node_that_a_pod_has_changes_nothing():
    """A bind that was carried out and is reported again is no error."""
    after = apply_delta(BASE, ClusterDelta(binds=(Bind("default/q", "n1", 0),)))
    assert list(after.pods) == list(BASE.pods)


def test_departed_pods_and_removed_nodes_are_gone():
    """Names that are not there are no error: the event may come twice."""
    gone = ClusterDelta(
        departed=frozenset({"default/q", "default/ghost"}), removed_nodes=frozenset({"n1", "n9"})
    )
    after = apply_delta(BASE, gone)
    assert nodes_of(after) == {"default/p": ""}
    assert after.nodes == ()


def test_arrivals_replace_the_object_of_the_same_kind_and_name():
    """A node and a pod of one name are different objects."""
    newer, other = make_node("n1", cpu="64"), make_pod("n1")
    after = apply_delta(BASE, ClusterDelta(arrived=ClusterObjects(nodes=[newer], pods=[other])))
    assert after.nodes == (newer,)
    assert nodes_of(after).keys() == {"default/p", "default/q", "default/n1"}


def test_cards_of_a_bind_are_recorded_as_the_snapshot_reads_them():
    """The annotation of the bound pod gives back card by card what the plan gave."""
    shares = (DeviceShare("gpu", 2, 600, 400, 7 << 30), DeviceShare("gpu", 3, 0, 40, 5))
    pod = bound_pod(make_pod("p", annotations={"keep": "me"}), Bind("default/p", "n1", 0, shares))
    assert recorded_cards(pod) == (
        RecordedShare(2, 600, 400, 7 << 30),
        RecordedShare(3, 0, 40, 5),
    )
    assert pod.metadata.annotations["keep"] == "me"
    record = json.loads(pod.metadata.annotations[ANNOTATION_DEVICE_ALLOCATED])
    assert record["gpu"][0]["resources"] == {
        "koordinator.sh/gpu-core": "60",
        "koordinator.sh/gpu-memory": str(7 << 30),
        "koordinator.sh/gpu-memory-ratio": "40",
    }


@pytest.mark.parametrize(
    ("delta", "reason"),
    [
        (ClusterDelta(removed_nodes=frozenset({"n2", "n1"})), "node n1 left"),
        (ClusterDelta(arrived=ClusterObjects(pods=[make_pod("r")])), "1 pods arrived"),
        (ClusterDelta(arrived=ClusterObjects(devices=[make_device("n1", 1)])), "1 devices arrived"),
        (ClusterDelta(binds=(Bind("default/p", "n9", 0),)), "n9, which is not in the snapshot"),
    ],
)
def test_what_tables_depend_on_needs_a_rebuild(delta, reason):
    """The answer says what changed instead of guessing."""
    answer = advance(ClusterSnapshot.from_objects(BASE), delta)
    assert isinstance(answer, RebuildNeeded)
    assert reason in answer.reason


def test_snapshot_after_binds_and_departures_equals_one_taken_anew():
    """Quotas, gangs, cards and warnings included; the generation grows, the clock is told."""
    story = cluster().nodes(2).quota("q", least={"cpu": "2"}, most={"cpu": "8"})
    story.gang("g", 2, minimum=1, quota="q").pod("old", on="n1", quota="q").pod("lost", on="gone")
    story.pod("done", on="n1").finish("done")
    before = ClusterSnapshot.from_objects(story.objects, generation=4)
    delta = ClusterDelta(
        binds=(Bind("default/g-0", "n2", 0),),
        departed=frozenset({"default/old", "default/lost", "default/done"}),
    )
    live = advance(before, delta, now_s=1_000)
    assert isinstance(live, ClusterSnapshot)
    assert (live.generation, live.now_s, live.warnings) == (5, 1_000, ())
    rebuilt = ClusterSnapshot.from_objects(apply_delta(before.objects, delta), now_s=1_000)
    assert_same_state(live, rebuilt)
    assert live.nodes is before.nodes
    assert live.classes is before.classes


def test_latest_creation_is_the_clock_where_none_is_told():
    """As for a snapshot of files."""
    story = cluster().nodes(1).pod("old", age_s=50).pod("new")
    before = story.snapshot()
    after = advance(before, ClusterDelta(departed=frozenset({"default/new"})))
    assert isinstance(after, ClusterSnapshot)
    assert after.now_s == before.now_s - 50
