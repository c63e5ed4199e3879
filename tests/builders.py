"""Small API objects and problems for tests, written as briefly as they can be."""

from collections.abc import Iterable, Mapping
from typing import Any

from koordopt.models.api.decode import decode
from koordopt.models.problem.placement import PlacementProblem
from koordopt.models.snapshot import ClusterObjects, ClusterSnapshot

GIB = 1 << 30
MIB = 1 << 20
HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
DELETED = "2026-01-01T00:00:00Z"


def make_node(
    name: str,
    *,
    cpu: str = "4",
    memory: str = "8Gi",
    pods: int = 110,
    zone: str | None = None,
    labels: Mapping[str, str] | None = None,
    taints: Iterable[Mapping[str, str]] = (),
    unschedulable: bool = False,
    images: Mapping[str, int] | None = None,
    **allocatable: Any,
) -> Any:
    """Return a node with its host name as a label; more resources come as ``gpu="4"`` and such."""
    own = {HOSTNAME: name, **({ZONE: zone} if zone else {}), **(labels or {})}
    amounts = {"cpu": cpu, "memory": memory, "pods": str(pods), **allocatable}
    held = [{"names": [image], "sizeBytes": size} for image, size in (images or {}).items()]
    return decode(
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": own},
            "spec": {"unschedulable": unschedulable, "taints": list(taints)},
            "status": {"allocatable": amounts, "images": held},
        }
    )


def make_pod(
    name: str,
    *,
    node: str = "",
    namespace: str = "default",
    labels: Mapping[str, str] | None = None,
    requests: Mapping[str, str] | None = None,
    ports: Iterable[Mapping[str, Any]] = (),
    image: str = "app",
    is_deleted: bool = False,
    annotations: Mapping[str, str] | None = None,
    **spec: Any,
) -> Any:
    """Return a pod of one container; other fields of the spec come under their API names."""
    metadata: dict[str, Any] = {
        "name": name,
        "namespace": namespace,
        "labels": dict(labels or {}),
        "annotations": dict(annotations or {}),
    }
    if is_deleted:
        metadata["deletionTimestamp"] = DELETED
    container = {
        "name": "main",
        "image": image,
        "ports": list(ports),
        "resources": {"requests": dict(requests or {})},
    }
    return decode(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": metadata,
            "spec": {"containers": [container], **({"nodeName": node} if node else {}), **spec},
        }
    )


def make_namespace(name: str, labels: Mapping[str, str] | None = None) -> Any:
    """Return a namespace."""
    metadata = {"name": name, "labels": dict(labels or {})}
    return decode({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})


def make_device(node: str, *memory: int, unhealthy: Iterable[int] = ()) -> Any:
    """Return the cards of a node, by their memory in bytes; minors count from 0."""
    broken = set(unhealthy)
    cards = [
        {
            "type": "gpu",
            "id": f"GPU-{node}-{minor}",
            "minor": minor,
            "health": minor not in broken,
            "resources": {
                "koordinator.sh/gpu-core": "100",
                "koordinator.sh/gpu-memory-ratio": "100",
                "koordinator.sh/gpu-memory": str(size),
            },
        }
        for minor, size in enumerate(memory)
    ]
    return decode(
        {
            "apiVersion": "scheduling.koordinator.sh/v1alpha1",
            "kind": "Device",
            "metadata": {"name": node},
            "spec": {"devices": cards},
        }
    )


def make_problem(
    nodes: Iterable[Any],
    pods: Iterable[Any],
    *,
    namespaces: Iterable[Any] = (),
    devices: Iterable[Any] = (),
    pending: Iterable[str] = (),
) -> PlacementProblem:
    """Return the problem of placing the pods that name no node, and those in ``pending``."""
    objects = ClusterObjects(
        nodes=list(nodes), pods=list(pods), namespaces=list(namespaces), devices=list(devices)
    )
    snapshot = ClusterSnapshot.from_objects(objects, pending=tuple(pending))
    return PlacementProblem.from_snapshot(snapshot)


def pod_index(problem: PlacementProblem, name: str, namespace: str = "default") -> int:
    """Return the index of a pod."""
    return problem.snapshot.pods.index[f"{namespace}/{name}"]


def class_index(problem: PlacementProblem, name: str, namespace: str = "default") -> int:
    """Return the class of a pod."""
    return int(problem.snapshot.pods.class_of[pod_index(problem, name, namespace)])


def node_index(problem: PlacementProblem, name: str) -> int:
    """Return the index of a node."""
    return problem.snapshot.nodes.index[name]
