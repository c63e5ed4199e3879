"""Pods that controllers would make for the workloads of an input."""

from pathlib import Path
from typing import Any

import pytest

from koordopt.models.api.core import Pod
from koordopt.runtime.planner.controllers.workloads import complete
from koordopt.runtime.planner.reading.inputs import Inputs
from koordopt.runtime.planner.reading.reader import read
from tests.runtime.planner.manifests import node, owned, pod, workload, write


@pytest.fixture
def planned(tmp_path: Path) -> Any:
    """Read and complete a cluster of some objects."""

    def plan(*objects: dict[str, Any]) -> Inputs:
        return complete(read([write(tmp_path / "cluster.json", *objects)]))

    return plan


def pending(inputs: Inputs) -> list[Pod]:
    return [each for each in inputs.cluster.pods if not each.spec.node_name]


def names(inputs: Inputs) -> list[str]:
    return [each.metadata.name for each in pending(inputs)]


# Deployments and ReplicaSets.


def test_no_two_of_many_pods_have_one_name(planned: Any) -> None:
    """Five characters repeat among tens of thousands, also over workloads whose names are cut."""
    long = "w" * 62
    made = names(
        planned(
            workload("Deployment", replicas=12_000),
            workload("Deployment", f"{long}a", replicas=8_000),
            workload("Deployment", f"{long}b", replicas=8_000),
        )
    )
    assert len(made) == len(set(made)) == 28_000


def test_a_new_deployment_becomes_its_replicas(planned: Any) -> None:
    """With the labels of the template, a hash of its revision, and an owner."""
    made = pending(planned(workload("Deployment", replicas=3)))
    assert len({each.key for each in made}) == 3
    for each in made:
        assert each.key.startswith("shop/web-")
        assert each.metadata.labels["app"] == "web"
        (owner,) = each.metadata.owner_references
        assert owner.kind == "ReplicaSet"
        assert owner.name == f"web-{each.metadata.labels['pod-template-hash']}"
        assert str(each.spec.containers[0].resources.requests["cpu"]) == "1"


def test_replicas_default_to_one(planned: Any) -> None:
    """Absent and null alike."""
    assert len(names(planned(workload("Deployment"), workload("ReplicaSet", "rs")))) == 2
    assert len(names(planned(workload("Deployment", replicas=None)))) == 1


def test_names_are_the_same_on_every_reading(planned: Any) -> None:
    """And differ between workloads of one name."""
    objects = [workload("Deployment", replicas=2), workload("ReplicaSet", replicas=2)]
    first = names(planned(*objects))
    assert len(set(first)) == 4
    assert names(planned(*reversed(objects))) == first


def test_only_missing_replicas_are_made(planned: Any) -> None:
    """Pods that are finished or going away are replaced; lists seldom hold the ReplicaSet."""
    done, going, live = pod("web-6c8d7-a"), pod("web-6c8d7-b"), pod("web-6c8d7-c")
    done["status"] = {"phase": "Failed"}
    going["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    running = [owned(each, "ReplicaSet", "web-6c8d7") for each in (done, going, live)]
    for each in running:
        each["spec"]["nodeName"] = "node-0"
        each["metadata"]["labels"] = {"app": "web", "pod-template-hash": "6c8d7"}
    made = pending(planned(*running, workload("Deployment", replicas=3)))
    assert len(made) == 2
    assert {each.metadata.labels["pod-template-hash"] for each in made} == {"6c8d7"}


def test_made_pods_are_of_the_newest_replica_set(planned: Any) -> None:
    """Its template counts, and pods of the older revision count as replicas."""
    old, new = workload("ReplicaSet", "web-old"), workload("ReplicaSet", "web-new")
    for each, revision in ((old, "9"), (new, "10")):
        each["metadata"] |= {"annotations": {"deployment.kubernetes.io/revision": revision}}
        each["spec"]["template"]["metadata"]["labels"] = {"pod-template-hash": revision}
    sets = [owned(each, "Deployment", "web") for each in (old, new)]
    running = owned(pod("web-old-1", nodeName="node-0"), "ReplicaSet", "web-old")
    made = pending(planned(*sets, running, workload("Deployment", replicas=3)))
    assert [each.metadata.labels["pod-template-hash"] for each in made] == ["10", "10"]
    assert {each.metadata.owner_references[0].name for each in made} == {"web-new"}


def test_a_replica_set_whose_deployment_is_elsewhere_speaks_for_itself(planned: Any) -> None:
    """It makes its own replicas then."""
    orphan = owned(workload("ReplicaSet", "web-x", replicas=2), "Deployment", "web")
    assert len(names(planned(orphan))) == 2


def test_a_paused_deployment_rolls_nothing_out(planned: Any) -> None:
    """But keeps up the revision that it has."""
    paused = workload("Deployment", replicas=2, paused=True)
    assert names(planned(paused)) == []
    running = owned(pod("web-x-1", nodeName="node-0"), "ReplicaSet", "web-x")
    running["metadata"]["labels"] = {"pod-template-hash": "x"}
    assert len(names(planned(paused, running))) == 1


# StatefulSets.


def test_a_stateful_set_fills_its_ordinals(planned: Any) -> None:
    """From the first ordinal on, leaving names that exist alone."""
    running = owned(pod("web-4", nodeName="node-0"), "StatefulSet", "web")
    sts = workload("StatefulSet", replicas=3, ordinals={"start": 3})
    made = pending(planned(running, sts))
    assert [each.metadata.name for each in made] == ["web-3", "web-5"]
    assert made[1].metadata.labels["apps.kubernetes.io/pod-index"] == "5"
    assert made[1].metadata.labels["statefulset.kubernetes.io/pod-name"] == "web-5"


# DaemonSets.


def test_a_daemon_set_has_one_pod_for_each_node_it_may_run_on(planned: Any) -> None:
    """Taints, selector and affinity decide; a cordon and a lost node do not."""
    tainted = node("tainted", taints=[{"key": "gpu", "value": "a", "effect": "NoSchedule"}])
    soft = node("soft", taints=[{"key": "gpu", "effect": "PreferNoSchedule"}])
    lost = node("lost", taints=[{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}])
    cordon = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    cordoned = node("cordoned", unschedulable=True, taints=[cordon])
    other = node("other")
    other["metadata"]["labels"] = {"os": "windows"}
    nodes = [tainted, soft, lost, cordoned, other, node("served"), node("plain")]
    for each in nodes[:4] + nodes[5:]:
        each["metadata"]["labels"] = {"os": "linux"}
    running = owned(pod("web-x", nodeName="served"), "DaemonSet", "web")
    daemon = workload("DaemonSet")
    daemon["spec"]["template"]["spec"]["nodeSelector"] = {"os": "linux"}
    made = pending(planned(*nodes, running, daemon))
    targets = []
    for each in made:
        affinity = each.spec.affinity
        assert affinity is not None
        assert affinity.node_affinity is not None
        assert affinity.node_affinity.required is not None
        (term,) = affinity.node_affinity.required.node_selector_terms
        (field,) = term.match_fields
        assert (field.key, field.operator) == ("metadata.name", "In")
        targets += field.values
        assert any(t.key == "node.kubernetes.io/unschedulable" for t in each.spec.tolerations)
    assert sorted(targets) == ["cordoned", "lost", "plain", "soft"]


def test_a_pending_daemon_pod_serves_the_node_it_waits_for(planned: Any) -> None:
    """What was made once is recognised when it is read again."""
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-0"]}]}
    required = {"nodeSelectorTerms": [term]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    waiting = owned(pod("web-x", affinity=affinity), "DaemonSet", "web")
    assert names(planned(node(), waiting, workload("DaemonSet"))) == ["web-x"]


# Jobs.


@pytest.mark.parametrize(
    ("spec", "status", "expected"),
    [
        ({}, {}, 1),
        ({"parallelism": 3}, {}, 3),
        ({"parallelism": 3}, {"succeeded": 1}, 0),
        ({"completions": 5}, {}, 1),
        ({"completions": 5, "parallelism": 3}, {}, 3),
        ({"completions": 5, "parallelism": 3}, {"succeeded": 4}, 1),
        ({"completions": 5, "parallelism": 9}, {}, 5),
        ({"completions": 0}, {}, 0),
        ({"parallelism": 0}, {}, 0),
        ({"parallelism": 3, "suspend": True}, {}, 0),
        ({"parallelism": 3}, {"conditions": [{"type": "Failed", "status": "True"}]}, 0),
        ({"parallelism": 3}, {"conditions": [{"type": "Complete", "status": "False"}]}, 3),
    ],
)
def test_a_job_has_as_many_pods_as_may_run_and_are_left(
    planned: Any, spec: dict[str, Any], status: dict[str, Any], expected: int
) -> None:
    """Parallelism bounds the pods that run, completions those that are still to run."""
    job = workload("Job", **spec)
    job["status"] = status
    made = pending(planned(job))
    assert len(made) == expected
    assert all(each.metadata.labels["job-name"] == "web" for each in made)


def test_an_indexed_job_runs_the_indexes_that_are_neither_done_nor_running(planned: Any) -> None:
    """Done by status or by a pod in the input, ranges as Kubernetes writes them."""
    running = owned(pod("web-3-a", nodeName="node-0"), "Job", "web")
    done = owned(pod("web-4-a", nodeName="node-0"), "Job", "web")
    done["status"] = {"phase": "Succeeded"}
    for each, index in ((running, "3"), (done, "4")):
        each["metadata"]["annotations"] = {"batch.kubernetes.io/job-completion-index": index}
    job = workload("Job", completions=9, parallelism=4, completionMode="Indexed")
    job["status"] = {"succeeded": 4, "completedIndexes": "0-1,4,6"}
    made = pending(planned(running, done, job))
    key = "batch.kubernetes.io/job-completion-index"
    assert [each.metadata.annotations[key] for each in made] == ["2", "5", "7"]
    assert [each.metadata.name[:6] for each in made] == ["web-2-", "web-5-", "web-7-"]


def test_a_huge_index_range_costs_nothing(planned: Any) -> None:
    """The gaps between ranges are walked, not the ranges."""
    job = workload("Job", completions=2**31 - 1, parallelism=2, completionMode="Indexed")
    job["status"] = {"succeeded": 2**31 - 5, "completedIndexes": f"0-{2**31 - 6}"}
    assert len(names(planned(job))) == 2


def test_a_cron_job_has_no_pods(planned: Any) -> None:
    """Its Jobs do, when they exist."""
    cron = {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "c"}, "spec": {}}
    inputs = planned(cron)
    assert not names(inputs)
    assert not inputs.rejected


# Priorities.


def test_a_named_class_gives_priority_and_policy(planned: Any) -> None:
    """To pods of workloads and to pods on their own; a number that stands there is kept."""
    high = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "high"},
        "value": 7,
        "preemptionPolicy": "Never",
    }
    deployment = workload("Deployment")
    deployment["spec"]["template"]["spec"]["priorityClassName"] = "high"
    alone, fixed = (
        pod("a", priorityClassName="high"),
        pod("b", priorityClassName="high", priority=3),
    )
    inputs = planned(high, deployment, alone, fixed)
    found = {each.metadata.name[:3]: each.spec for each in pending(inputs)}
    assert [found[name].priority for name in ("a", "b", "web")] == [7, 3, 7]
    assert found["web"].preemption_policy == "Never"


@pytest.mark.parametrize(
    ("name", "priority"),
    [
        ("system-node-critical", 2_000_001_000),
        ("system-cluster-critical", 2_000_000_000),
        ("koord-prod", 9500),
        ("koord-free", 3500),
    ],
)
def test_some_classes_are_built_in(planned: Any, name: str, priority: int) -> None:
    """As long as no object defines them."""
    assert pending(planned(pod(priorityClassName=name)))[0].spec.priority == priority
    own = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": 5}
    own["metadata"] = {"name": name}  # type: ignore[assignment]
    assert pending(planned(own, pod(priorityClassName=name)))[0].spec.priority == 5


def test_a_class_is_learnt_from_pods_that_bear_its_number(planned: Any) -> None:
    """A list of nodes and pods alone still answers for a new manifest."""
    running = pod("old", priorityClassName="gold", priority=11, nodeName="node-0")
    assert pending(planned(running, pod("new", priorityClassName="gold")))[0].spec.priority == 11


def test_the_lowest_global_default_counts_for_pods_without_a_class(planned: Any) -> None:
    """Without one they have no priority."""
    classes = [
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": f"c{value}"},
            "value": value,
            "globalDefault": value < 30,
        }
        for value in (20, 10, 30, 5)
    ]
    classes[3]["globalDefault"] = False
    assert pending(planned(*classes, pod()))[0].spec.priority == 10
    assert pending(planned(pod()))[0].spec.priority is None


def test_an_unknown_class_is_a_bad_object_unless_the_pod_runs(planned: Any) -> None:
    """What a running pod uses is not free, whatever its priority."""
    deployment = workload("Deployment")
    deployment["spec"]["template"]["spec"]["priorityClassName"] = "gold"
    running = pod("running", priorityClassName="gold", nodeName="node-0")
    inputs = planned(deployment, pod("new", priorityClassName="gold"), running)
    assert [each.metadata.name for each in inputs.cluster.pods] == ["running"]
    assert {each.object: each.field for each in inputs.rejected} == {
        "Deployment shop/web": "spec.template.spec.priorityClassName",
        "Pod shop/new": "spec.priorityClassName",
    }


# Faults.


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"replicas": -1}, "spec.replicas"),
        ({"replicas": "3"}, "spec.replicas"),
        ({"replicas": True}, "spec.replicas"),
        ({"replicas": 2**40}, "spec.replicas"),
        ({"replicas": 2_000_000_000}, "spec"),
        ({"template": None}, "spec.template"),
        ({"template": {"metadata": {}, "spec": None}}, "spec.template.spec"),
        ({"template": {"metadata": [], "spec": {"containers": []}}}, None),
        (
            {"template": {"metadata": {"labels": ["a"]}, "spec": {}}},
            "spec.template.metadata.labels",
        ),
        (
            {"template": {"spec": {"containers": [{"resources": {"requests": {"cpu": "x"}}}]}}},
            "spec.template.spec.containers[0].resources.requests.cpu",
        ),
    ],
)
def test_a_workload_that_cannot_become_pods_is_one_line(
    planned: Any, spec: dict[str, Any], field: str | None
) -> None:
    """The rest is planned."""
    inputs = planned(workload("Deployment", **spec), pod())
    if field is None:
        assert not inputs.rejected
        return
    assert names(inputs) == ["web-0"]
    (rejected,) = inputs.rejected
    assert rejected.object == "Deployment shop/web"
    assert rejected.field == field


def test_the_file_of_a_made_pod_is_that_of_its_workload(planned: Any) -> None:
    """For messages about it."""
    inputs = planned(workload("Deployment"))
    (key,) = (each.key for each in pending(inputs))
    assert inputs.files[f"Pod {key}"] == inputs.files["Deployment shop/web"]


def test_what_was_made_once_is_complete_when_read_again(planned: Any) -> None:
    """Completing twice adds nothing."""
    kinds = ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job")
    objects = [workload(kind, kind.lower(), replicas=2, parallelism=2) for kind in kinds]
    once = planned(node("a"), node("b"), *objects)
    assert len(once.cluster.pods) == 10
    assert complete(once).cluster.pods == once.cluster.pods
