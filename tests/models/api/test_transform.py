"""What is done to objects when they are read; the rows FX-T1 to FX-T6 and FX-T12."""

import json
from typing import Any

import pytest

from koordopt.models.api import keys
from koordopt.models.api.core import Node, Pod
from koordopt.models.api.decode import decode
from koordopt.models.api.transform import parse_cpu_list
from koordopt.models.units import amounts


def allocatable(reservation: Any, **more: str) -> dict[str, int]:
    """Return what a node with 16 cores and 64Gi can give beside a reservation."""
    text = reservation if isinstance(reservation, str) else json.dumps(reservation)
    node = decode(
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": "n", "annotations": {keys.ANNOTATION_NODE_RESERVATION: text}},
            "status": {"allocatable": {"cpu": "16", "memory": "64Gi", **more}},
        }
    )
    assert isinstance(node, Node)
    return amounts(node.status.allocatable.items())


@pytest.mark.parametrize(
    ("reservation", "cpu", "memory_gib"),
    [
        ({"resources": {"cpu": "2", "memory": "4Gi"}}, 14, 60),
        ({"resources": {"cpu": "2"}, "reservedCPUs": "0-3"}, 12, 64),
        (
            {"resources": {"cpu": "2"}, "reservedCPUs": "0-3", "applyPolicy": "ReservedCPUsOnly"},
            16,
            64,
        ),
        ({"resources": {"cpu": "20"}}, 0, 64),
        ("{", 16, 64),
        ("[]", 16, 64),
        ({"resources": {"cpu": "x"}}, 16, 64),
        ({"resources": {"cpu": "-2"}}, 16, 64),
        ({"reservedCPUs": "3-0"}, 16, 64),
        ({"resources": None, "reservedCPUs": None, "applyPolicy": "Default"}, 16, 64),
    ],
    ids=["FX-T1", "FX-T2", "FX-T3", "FX-T4", *(f"unusable-{number}" for number in range(6))],
)
def test_node_reservation_leaves_allocatable(reservation: Any, cpu: int, memory_gib: int) -> None:
    """Reserved amounts are taken off, never below zero; what cannot be read takes nothing."""
    assert allocatable(reservation) == {"cpu": cpu * 1000, "memory": memory_gib << 30}


def test_node_reservation_leaves_overcommitted_resources() -> None:
    """Batch resources were computed with the reservation in mind."""
    left = allocatable(
        {"resources": {keys.RESOURCE_BATCH_CPU: "5"}}, **{keys.RESOURCE_BATCH_CPU: "9"}
    )
    assert left[keys.RESOURCE_BATCH_CPU] == 9


def make_pod(requests: dict[str, str], **metadata: Any) -> Pod:
    """Return a pod that asks for device resources."""
    pod = decode(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "p", **metadata},
            "spec": {
                "schedulerName": "default-scheduler",
                "initContainers": [{"name": "i", "resources": {"requests": requests}}],
                "containers": [{"name": "c", "resources": {"limits": requests}}],
                "overhead": requests,
            },
        }
    )
    assert isinstance(pod, Pod)
    return pod


def test_fx_t5_deprecated_names_become_present_ones() -> None:
    """Everywhere in the spec, and in the record of allocated devices."""
    entry = [{"minor": 0, "resources": {"kubernetes.io/gpu-core": "100"}}]
    record = {keys.ANNOTATION_DEVICE_ALLOCATED: json.dumps({"gpu": entry})}
    pod = make_pod({"kubernetes.io/gpu": "100"}, annotations=record)
    spec = pod.spec
    for resources in (
        spec.containers[0].resources.limits,
        spec.containers[0].resources.requests,
        spec.init_containers[0].resources.requests,
        spec.overhead,
    ):
        assert amounts(resources.items()) == {keys.RESOURCE_GPU: 100}
    allocated = json.loads(pod.metadata.annotations[keys.ANNOTATION_DEVICE_ALLOCATED])
    assert allocated["gpu"][0]["resources"] == {keys.RESOURCE_GPU_CORE: "100"}


def test_fx_t6_deprecated_name_stays_beside_the_present_one() -> None:
    """Two amounts are not made one."""
    both = {"kubernetes.io/gpu": "100", keys.RESOURCE_GPU: "50"}
    found = make_pod(both).spec.containers[0].resources.requests
    assert amounts(found.items()) == {"kubernetes.io/gpu": 100, keys.RESOURCE_GPU: 50}


@pytest.mark.parametrize(
    ("label", "scheduler", "original"),
    [
        ("koord-scheduler", "koord-scheduler", "default-scheduler"),
        ("default-scheduler", "default-scheduler", None),
        (None, "default-scheduler", None),
    ],
)
def test_fx_t12_label_overrides_the_scheduler_name(
    label: str | None, scheduler: str, original: str | None
) -> None:
    """The name that was there is kept in an annotation where it differs."""
    pod = make_pod({}, labels={keys.LABEL_SCHEDULER_NAME: label})
    assert pod.spec.scheduler_name == scheduler
    assert pod.metadata.annotations.get(keys.ANNOTATION_ORIGINAL_SCHEDULER_NAME) == original


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("0-2,5", {0, 1, 2, 5}),
        ("7", {7}),
        ("1-1, 3", {1, 3}),
        ("3-1", None),
        ("a", None),
        ("", None),
        ("0-999999", None),
    ],
)
def test_cpu_list_names_cpus(text: str, cpus: set[int] | None) -> None:
    """Ranges have both ends; what is no list is None."""
    assert parse_cpu_list(text) == cpus
