"""Gangs that others wait for no more."""

import json

import pytest

from koordopt.models.api import keys
from koordopt.models.api.decode import decode
from koordopt.models.snapshot import ClusterObjects, ClusterSnapshot
from tests.builders import make_node, make_pod
from tests.scenarios.manifests import pod_group


def hold_of(policy, with_member):
    """Return why the group of a gang is held that lists one which does not exist."""
    said = {
        keys.ANNOTATION_GANG_GROUPS: json.dumps(["default/a", "default/gone"]),
        keys.ANNOTATION_GANG_MATCH_POLICY: policy,
    }
    labels = {keys.LABEL_POD_GROUP: "a"}
    pods = [make_pod("straggler", labels=labels)]
    if with_member:
        pods.append(make_pod("runs", node="n", labels=labels))
    objects = ClusterObjects(
        nodes=(make_node("n"),),
        pods=tuple(pods),
        pod_groups=(decode(pod_group("a", "default", 1, said)),),
    )
    (group,) = ClusterSnapshot.from_objects(objects).gangs.groups
    return group.hold and group.hold.message


@pytest.mark.parametrize("policy", ["", "once-satisfied"])
def test_a_group_that_has_started_does_not_wait_for_a_gang_that_is_gone(policy):
    """Otherwise a straggler would never get its seat back once the other PodGroup is deleted."""
    assert hold_of(policy, with_member=True) is None
    assert hold_of(policy, with_member=False) == "member gangs [default/gone] don't exist"


@pytest.mark.parametrize("policy", ["only-waiting", "waiting-and-running"])
def test_one_that_must_start_anew_waits(policy):
    assert hold_of(policy, with_member=True) == "member gangs [default/gone] don't exist"
