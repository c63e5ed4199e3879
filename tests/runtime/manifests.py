"""Small clusters as text."""

import json
from collections.abc import Iterable
from typing import Any

import yaml

Manifest = dict[str, Any]


def node(name: str, cpu: str = "4", **allocatable: str) -> Manifest:
    """Return a node; further resources by keyword."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name},
        "status": {"allocatable": {"cpu": cpu, "memory": "8Gi", "pods": "110", **allocatable}},
    }


def pod(
    name: str,
    cpu: str = "1",
    *,
    on: str = "",
    priority: int = 0,
    labels: dict[str, str] | None = None,
    owner: tuple[str, str] | None = None,
    **requests: str,
) -> Manifest:
    """Return a pod in the namespace ``default``, on a node or pending."""
    metadata: Manifest = {"name": name, "labels": labels or {}}
    if owner is not None:
        kind, owner_name = owner
        metadata["ownerReferences"] = [
            {"apiVersion": "v1", "kind": kind, "name": owner_name, "controller": True}
        ]
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu, **requests}}}
    spec: Manifest = {"priority": priority, "containers": [container]}
    if on:
        spec["nodeName"] = on
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def pod_group(name: str, minimum: int) -> Manifest:
    """Return the object of a gang."""
    return {
        "apiVersion": "scheduling.sigs.k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"minMember": minimum},
    }


def member(name: str, gang: str, cpu: str = "1") -> Manifest:
    """Return a pending member of a gang."""
    return pod(name, cpu, labels={"pod-group.scheduling.sigs.k8s.io": gang})


def device(node_name: str, cards: int) -> Manifest:
    """Return the device object of a node with whole, healthy cards."""
    return {
        "apiVersion": "scheduling.koordinator.sh/v1alpha1",
        "kind": "Device",
        "metadata": {"name": node_name},
        "spec": {
            "devices": [
                {
                    "type": "gpu",
                    "minor": minor,
                    "health": True,
                    "resources": {
                        "koordinator.sh/gpu-core": "100",
                        "koordinator.sh/gpu-memory-ratio": "100",
                        "koordinator.sh/gpu-memory": "16Gi",
                    },
                }
                for minor in range(cards)
            ]
        },
    }


def as_yaml(manifests: Iterable[Manifest]) -> str:
    """Return a stream of documents."""
    return yaml.safe_dump_all(list(manifests), sort_keys=False)


def as_list(manifests: Iterable[Manifest]) -> str:
    """Return a List in JSON, as kubectl prints it."""
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(manifests)})
