"""Saved cycles: everything that decides, and nothing else."""

import gzip
import json

import pytest

from koordopt.errors import InvalidInputError
from koordopt.models.api.decode import decode
from koordopt.models.codec import FORMAT, Cycle, decode_cycle, encode_cycle
from koordopt.models.snapshot import ClusterObjects
from tests.builders import make_pod
from tests.scenarios.invariants import plan_of
from tests.scenarios.kit import cluster


def saved_story():
    """Return a cycle with an object of every kind that a scenario has."""
    story = cluster().nodes(2, zone="z", taints=(("a", "b", "PreferNoSchedule"),))
    story.quota("q", least={"cpu": "2"}, most={"cpu": "8", "memory": "1.5Gi"}, weight={"cpu": "1"})
    story.gang("g", 3, minimum=2, quota="q", groups=("default/g",), requests={"memory": "0.1Gi"})
    story.cards("n1", "40Gi", ("40Gi", False)).namespace("team", env="test")
    story.pod("gpu", requests={"koordinator.sh/gpu": 60}).pod("late", priority=5, age_s=7.25)
    plan = plan_of(story.objects, now_s=0)[2]
    return Cycle(story.objects, "greedy", {"weights": {"NodeAffinity": 2}}, plan.to_dict())


def test_cycle_comes_back_as_it_was_saved():
    """Objects, policy, settings and plan are equal, and so are the bytes of a second save."""
    cycle = saved_story()
    data = encode_cycle(cycle)
    again = decode_cycle(data)
    assert again == cycle
    assert encode_cycle(again) == data


def test_replay_of_a_saved_cycle_gives_the_saved_plan():
    """The file is enough to repeat the decision."""
    again = decode_cycle(encode_cycle(saved_story()))
    assert plan_of(again.objects, now_s=0)[2].to_dict() == again.plan


def test_equal_cycles_give_equal_bytes():
    """No time of writing, no name of a file."""
    data = encode_cycle(saved_story())
    assert data == encode_cycle(saved_story())
    assert data[4:8] == bytes(4)  # where gzip keeps the moment


def test_nothing_that_scheduling_does_not_read_is_saved():
    """Environment, commands and other programs' annotations may hold secrets."""
    secret = "hunter2"
    raw = {
        "name": "main",
        "image": "app",
        "command": [secret],
        "env": [{"name": "PASSWORD", "value": secret}],
        "resources": {"requests": {"cpu": "1"}},
    }
    applied = json.dumps({"env": secret})
    notes = {"kubectl.kubernetes.io/last-applied-configuration": applied, "note": secret}
    gang = {"gang.scheduling.koordinator.sh/name": "g"}
    story = cluster().nodes(1).pod("p", containers=[raw], annotations={**notes, **gang})
    story.pod_group("g", 1, {**notes, "gang.scheduling.koordinator.sh/mode": "Strict"})
    data = encode_cycle(Cycle(story.objects, "greedy", {}, {}))
    assert secret not in gzip.decompress(data).decode()
    (pod,) = decode_cycle(data).objects.pods
    assert pod.metadata.annotations == gang


def packed(**document):
    whole = {"format": FORMAT, "policy": "greedy", "settings": {}, "plan": {}, "objects": {}}
    return gzip.compress(json.dumps({**whole, **document}).encode())


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "cut off"),
        (b"kind: Pod", "not a saved cycle"),
        (gzip.compress(b"[]"), "not a saved cycle"),
        (gzip.compress(b"{}"), "not a saved cycle"),
        (gzip.compress(b"{"), "damaged"),
        (packed()[:-9], "cut off|not a saved cycle"),
        (packed(format=FORMAT + 1), f"format {FORMAT + 1}; expected {FORMAT}"),
        (packed(objects={"pods": [{"spec": {"priority": "x"}}]}), "damaged"),
        (packed(objects={"elasticQuotas": 1, "elastic_quotas": [{"spec": 3}]}), "damaged"),
        (packed(objects=[]), "not a saved cycle"),
    ],
)
def test_what_is_no_saved_cycle_is_refused_in_one_line(data, message):
    """Cut off, from a later version, or something else altogether."""
    with pytest.raises(InvalidInputError, match=message):
        decode_cycle(data)


def test_empty_cycle_can_be_saved():
    """Nothing in, nothing out."""
    cycle = Cycle(ClusterObjects(), "greedy", {}, {})
    assert decode_cycle(encode_cycle(cycle)) == cycle


def test_objects_are_kept_in_the_order_in_which_they_came():
    """A plan does not depend on it, but the file should not invent another."""
    pods = (make_pod("b"), make_pod("a"))
    cycle = decode_cycle(encode_cycle(Cycle(ClusterObjects(pods=pods), "greedy", {}, {})))
    assert cycle.objects.pods == pods


USAGE = {"resources": {"cpu": "1500m", "memory": "1.5Gi"}}
BUDGET_STATUS = {"disruptionsAllowed": 1, "disruptedPods": {"p": "2026-01-01T00:00:00Z"}}


@pytest.mark.parametrize(
    ("field", "version", "kind", "body"),
    [
        ("priority_classes", "scheduling.k8s.io/v1", "PriorityClass", {"value": -5}),
        (
            "disruption_budgets",
            "policy/v1",
            "PodDisruptionBudget",
            {"spec": {"minAvailable": "50%", "selector": {}}, "status": BUDGET_STATUS},
        ),
        ("disruption_budgets", "policy/v1", "PodDisruptionBudget", {"spec": {"maxUnavailable": 1}}),
        (
            "node_metrics",
            "slo.koordinator.sh/v1alpha1",
            "NodeMetric",
            {
                "spec": {"metricCollectPolicy": {"reportIntervalSeconds": 60}},
                "status": {
                    "updateTime": "2026-01-01T00:00:00.25+01:00",
                    "nodeMetric": {
                        "nodeUsage": USAGE,
                        "aggregatedNodeUsages": [{"duration": "5m", "usage": {"p95": USAGE}}],
                    },
                    "podsMetric": [{"name": "p", "namespace": "d", "podUsage": USAGE}],
                    "prodReclaimableMetric": {"resource": USAGE},
                },
            },
        ),
        (
            "devices",
            "scheduling.koordinator.sh/v1alpha1",
            "Device",
            {
                "spec": {
                    "devices": [
                        {
                            "type": "rdma",
                            "health": True,
                            "topology": {"socketID": 0, "nodeID": 1, "pcieID": "a", "busID": "b"},
                            "vfGroups": [{"labels": {"a": "b"}, "vfs": [{"minor": 1}]}],
                        }
                    ]
                }
            },
        ),
    ],
)
def test_every_kind_comes_back_as_it_was_saved(field, version, kind, body):
    """Percentages, moments in any zone, and fields whose names are not plain camel case."""
    value = decode({"apiVersion": version, "kind": kind, "metadata": {"name": "x"}, **body})
    cycle = Cycle(ClusterObjects(**{field: (value,)}), "greedy", {}, {})
    data = encode_cycle(cycle)
    assert decode_cycle(data) == cycle
    assert encode_cycle(decode_cycle(data)) == data
