"""The objects of a scenario as manifests have them."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from koordopt.models.api import keys

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
"""The instant at which every scenario begins."""


def moment(second: float) -> str:
    """Return the instant ``second`` seconds into the scenario, as manifests write it."""
    return (EPOCH + timedelta(seconds=second)).isoformat().replace("+00:00", "Z")


def node(
    name: str,
    *,
    zone: str = "",
    labels: Mapping[str, str] | None = None,
    taints: tuple[tuple[str, str, str], ...] = (),
    cordoned: bool = False,
    **allocatable: str | int,
) -> dict[str, Any]:
    """Return a node of eight cores; ``cpu``, ``memory`` and ``pods`` may be said otherwise."""
    marks = {keys.LABEL_HOSTNAME: name, **({keys.LABEL_ZONE: zone} if zone else {})}
    spec: dict[str, Any] = {
        "taints": [{"key": k, "value": v, "effect": effect} for k, v, effect in taints]
    }
    if cordoned:
        spec["unschedulable"] = True
    given = {"cpu": "8", "memory": "32Gi", "pods": "110", **allocatable}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {**marks, **(labels or {})}},
        "spec": spec,
        "status": {"allocatable": {key: str(value) for key, value in given.items()}},
    }


def pod(
    name: str,
    namespace: str,
    created_s: float,
    *,
    cpu: str | None = "1",
    requests: Mapping[str, str | int] | None = None,
    on: str = "",
    priority: int | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    containers: list[dict[str, Any]] | None = None,
    **spec: Any,
) -> dict[str, Any]:
    """Return a pod; ``spec`` is written into its spec as it is."""
    asked = {**({"cpu": cpu} if cpu else {}), **(requests or {})}
    if containers is None:
        containers = [{"name": "main", "image": "app", "resources": {"requests": asked}}]
    body: dict[str, Any] = {"containers": containers, **spec}
    if on:
        body["nodeName"] = on
    if priority is not None:
        body["priority"] = priority
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": f"{namespace}/{name}/{created_s}",
            "creationTimestamp": moment(created_s),
            "labels": dict(labels or {}),
            "annotations": dict(annotations or {}),
        },
        "spec": body,
    }


def pod_group(
    name: str, namespace: str, minimum: int, annotations: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return a PodGroup."""
    return {
        "apiVersion": "scheduling.sigs.k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": namespace, "annotations": dict(annotations or {})},
        "spec": {"minMember": minimum},
    }


def gang_annotations(
    *, policy: str = "", groups: tuple[str, ...] = (), mode: str = "", total: int | None = None
) -> dict[str, str]:
    """Return what a gang says of itself besides its minimum."""
    said = {
        keys.ANNOTATION_GANG_MATCH_POLICY: policy,
        keys.ANNOTATION_GANG_GROUPS: json.dumps(list(groups)) if groups else "",
        keys.ANNOTATION_GANG_MODE: mode,
        keys.ANNOTATION_GANG_TOTAL: "" if total is None else str(total),
    }
    return {key: value for key, value in said.items() if value}


def quota(
    name: str,
    *,
    least: Mapping[str, str | int] | None = None,
    most: Mapping[str, str | int] | None = None,
    parent: str = "",
    is_parent: bool = False,
    lends: bool = True,
    namespace: str = "koordinator-system",
    namespaces: tuple[str, ...] = (),
    weight: Mapping[str, str | int] | None = None,
) -> dict[str, Any]:
    """Return an ElasticQuota with ``least`` as its min and ``most`` as its max."""
    labels = {
        keys.LABEL_QUOTA_PARENT: parent,
        keys.LABEL_QUOTA_IS_PARENT: "true" if is_parent else "",
        keys.LABEL_QUOTA_ALLOW_LENT: "" if lends else "false",
    }
    annotations = {
        keys.ANNOTATION_QUOTA_NAMESPACES: json.dumps(list(namespaces)) if namespaces else "",
        keys.ANNOTATION_QUOTA_SHARED_WEIGHT: json.dumps(dict(weight)) if weight else "",
    }
    return {
        "apiVersion": "scheduling.sigs.k8s.io/v1alpha1",
        "kind": "ElasticQuota",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": {key: value for key, value in labels.items() if value},
            "annotations": {key: value for key, value in annotations.items() if value},
        },
        "spec": {"min": dict(least or {}), "max": dict(most or {})},
    }


def device(node_name: str, cards: tuple[tuple[str, bool], ...]) -> dict[str, Any]:
    """Return the GPU cards of a node; each is its memory and whether it is healthy."""
    return {
        "apiVersion": "scheduling.koordinator.sh/v1alpha1",
        "kind": "Device",
        "metadata": {"name": node_name},
        "spec": {
            "devices": [
                {
                    "type": "gpu",
                    "id": f"{node_name}-{minor}",
                    "minor": minor,
                    "health": healthy,
                    "resources": {
                        keys.RESOURCE_GPU_CORE: "100",
                        keys.RESOURCE_GPU_MEMORY_RATIO: "100",
                        keys.RESOURCE_GPU_MEMORY: memory,
                    },
                }
                for minor, (memory, healthy) in enumerate(cards)
            ]
        },
    }


def namespace(name: str, labels: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return a namespace."""
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": name, "labels": dict(labels or {})},
    }
