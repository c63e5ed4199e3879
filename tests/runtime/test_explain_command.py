"""``koordopt explain``: names, reasons, and what every node says."""

import pytest

from tests.runtime.conftest import Run, Write
from tests.runtime.manifests import Manifest, member, node, pod, pod_group

TAINTED: Manifest = {
    **node("c", "16"),
    "spec": {"taints": [{"key": "only", "value": "x", "effect": "NoSchedule"}]},
}
CLUSTER = [
    node("a", "4"),
    node("b", "2"),
    TAINTED,
    pod("running", "1", on="b"),
    pod("fits", "1"),
    pod("job-1", "8", owner=("Job", "crunch")),
    pod("job-2", "8", owner=("Job", "crunch")),
    pod_group("g", 2),
    member("g-1", "g", "9"),
    member("g-2", "g", "1"),
]


def test_without_a_name_all_that_stays_pending_is_told(run: Run, write: Write) -> None:
    value = run("explain", "--cluster", write(CLUSTER), "-o", "json").value
    assert list(value) == ["pods", "warnings", "rejected"]
    assert [entry["pod"] for entry in value["pods"]] == [
        "default/g-1",
        "default/g-2",
        "default/job-1",
        "default/job-2",
    ]


def test_the_reason_is_that_of_the_plan(run: Run, write: Write) -> None:
    cluster = write(CLUSTER)
    planned = run("plan", cluster, "-o", "json").value["unplaced"]
    told = run("explain", "--cluster", cluster, "-o", "json").value["pods"]
    assert {e["pod"]: e["reason"] for e in told} == {e["pod"]: e["reason"] for e in planned}


@pytest.mark.parametrize(
    ("name", "pods"),
    [
        ("default/job-1", ["job-1"]),
        ("job-1", ["job-1"]),
        ("crunch", ["job-1", "job-2"]),
        ("default/crunch", ["job-1", "job-2"]),
        ("default/g", ["g-1", "g-2"]),
        ("g", ["g-1", "g-2"]),
    ],
)
def test_a_name_is_a_pod_a_gang_or_a_controller(
    run: Run, write: Write, name: str, pods: list[str]
) -> None:
    value = run("explain", name, "--cluster", write(CLUSTER), "-o", "json").value
    assert [entry["pod"] for entry in value["pods"]] == [f"default/{pod}" for pod in pods]


def test_each_rule_tells_its_nodes(run: Run, write: Write) -> None:
    (entry,) = run("explain", "job-1", "--cluster", write(CLUSTER), "-o", "json").value["pods"]
    assert list(entry) == ["pod", "node", "reason", "nodes", "relaxation"]
    assert entry["relaxation"] is None
    assert entry["reason"]["rule"] == "capacity"
    by_rule = {group["rule"]: group for group in entry["nodes"]}
    assert by_rule["capacity"]["count"] == by_rule["capacity"]["alone"] == 2
    assert by_rule["capacity"]["examples"] == ["a", "b"]
    assert by_rule["taint"]["count"] == by_rule["taint"]["alone"] == 1
    assert by_rule["taint"]["examples"] == ["c"]


@pytest.mark.parametrize(("name", "where"), [("fits", "a"), ("running", "b")])
def test_a_pod_that_is_not_pending_has_a_node_and_no_reason(
    run: Run, write: Write, name: str, where: str
) -> None:
    cluster = write(CLUSTER)
    (entry,) = run("explain", name, "--cluster", cluster, "-o", "json").value["pods"]
    assert (entry["node"], entry["reason"], entry["nodes"]) == (where, None, [])
    text = run("explain", name, "--cluster", cluster).out
    assert text == f"default/{name}: not pending; node {where}\n\n"


def test_an_unknown_name_suggests_near_ones(run: Run, write: Write) -> None:
    ran = run("explain", "defalt/job-1", "--cluster", write(CLUSTER))
    assert (ran.status, ran.out) == (2, "")
    assert "did you mean default/job-1" in ran.err
    assert ran.err.count("\n") == 1


def test_the_table_names_rule_message_and_nodes(run: Run, write: Write) -> None:
    text = run("explain", "crunch", "--cluster", write(CLUSTER)).out
    assert text.startswith("default/job-1: pending by rule capacity\n  0/3 nodes are available")
    assert "Nodes that refuse it\n" in text
    assert "default/job-2: pending by rule capacity\n" in text


def test_a_pod_that_is_held_back_is_not_blamed_on_nodes(run: Run, write: Write) -> None:
    gated = pod("gated")
    gated["spec"]["schedulingGates"] = [{"name": "wait"}]
    ran = run("explain", "gated", "--cluster", write([node("a"), gated]), "-o", "json")
    (entry,) = ran.value["pods"]
    assert (entry["reason"]["rule"], entry["nodes"]) == ("gate", [])


def test_a_deployment_is_found_through_its_replica_set(run: Run, write: Write) -> None:
    big = pod(
        "web-7f9-x", "99", labels={"pod-template-hash": "7f9"}, owner=("ReplicaSet", "web-7f9")
    )
    value = run("explain", "web", "--cluster", write([node("a"), big]), "-o", "json").value
    assert [entry["pod"] for entry in value["pods"]] == ["default/web-7f9-x"]
