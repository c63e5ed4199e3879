"""What changed in a cluster since a snapshot, and the snapshot after it."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass, fields
from typing import Any

import msgspec
import numpy as np

from koordopt.errors import InvalidInputError
from koordopt.models.api import keys
from koordopt.models.api.core import Pod
from koordopt.models.plan import Bind
from koordopt.models.pods import PodTable
from koordopt.models.snapshot import ClusterObjects, ClusterSnapshot

_NOTHING = ClusterObjects()


@dataclass(frozen=True)
class ClusterDelta:
    """Changes to a cluster.

    Attributes
    ----------
    binds
        Pending pods that now have a node.
    departed
        Pods that are gone, as ``namespace/name``.
    arrived
        Objects that are new, or replace the one of the same kind and name.
    removed_nodes
        Nodes that are gone, by name.
    """

    binds: tuple[Bind, ...] = ()
    departed: frozenset[str] = frozenset()
    arrived: ClusterObjects = _NOTHING
    removed_nodes: frozenset[str] = frozenset()


@dataclass(frozen=True)
class RebuildNeeded:
    """Why the tables of a snapshot cannot be carried over.

    Attributes
    ----------
    reason
        What changed that classes, labels or capacities depend on.
    """

    reason: str


def apply_delta(objects: ClusterObjects, delta: ClusterDelta) -> ClusterObjects:
    """Return the objects of the cluster after ``delta``.

    Raises
    ------
    InvalidInputError
        If ``delta`` binds a pod that does not exist or already has another node.
    """
    changed: dict[str, Any] = {}
    for field in fields(ClusterObjects):
        known = {_identity(value): value for value in getattr(objects, field.name)}
        known.update((_identity(value), value) for value in getattr(delta.arrived, field.name))
        changed[field.name] = known
    pods: dict[tuple[str, str], Pod] = changed["pods"]
    for bind in delta.binds:
        namespace, _, name = bind.pod.partition("/")
        pod = pods.get((namespace, name))
        if pod is None or pod.spec.node_name not in ("", bind.node):
            state = "does not exist" if pod is None else f"is on {pod.spec.node_name}"
            raise InvalidInputError(f"pod {bind.pod} {state}; expected it pending.")
        pods[(namespace, name)] = bound_pod(pod, bind)
    for key in delta.departed:
        namespace, _, name = key.partition("/")
        pods.pop((namespace, name), None)
    for name in delta.removed_nodes:
        changed["nodes"].pop(("", name), None)
    return ClusterObjects(**{kind: tuple(known.values()) for kind, known in changed.items()})


def advance(
    snapshot: ClusterSnapshot, delta: ClusterDelta, *, now_s: int | None = None
) -> ClusterSnapshot | RebuildNeeded:
    """Return the snapshot after ``delta`` with every table carried over that stays true.

    Binds and departures leave nodes, classes and matchers as they are; anything else needs
    ``ClusterSnapshot.from_objects`` on the changed objects. ``now_s`` is the instant after the
    change, seconds since the epoch; None for the latest creation.
    """
    if delta.removed_nodes:
        return RebuildNeeded(f"node {min(delta.removed_nodes)} left")
    for field in fields(ClusterObjects):
        arrived = getattr(delta.arrived, field.name)
        if arrived:
            return RebuildNeeded(f"{len(arrived)} {field.name.replace('_', ' ')} arrived")
    objects = apply_delta(snapshot.objects, delta)
    pods = snapshot.pods
    bound = {bind.pod: bind for bind in delta.binds}
    unknown = sorted({bind.node for bind in delta.binds} - snapshot.nodes.index.keys())
    if unknown:
        return RebuildNeeded(f"a pod was bound to {unknown[0]}, which is not in the snapshot")
    stays = np.array([key not in delta.departed for key in pods.keys], dtype=np.bool_)
    kept, node_of = [], []
    for p in np.flatnonzero(stays).tolist():
        pod, n = pods.objects[p], int(pods.node_of[p])
        bind = bound.get(pods.keys[p])
        kept.append(pod if bind is None else bound_pod(pod, bind))
        node_of.append(n if bind is None else snapshot.nodes.index[bind.node])
    return ClusterSnapshot.assemble(
        objects=objects,
        generation=snapshot.generation + 1,
        now_s=now_s,
        settings=snapshot.settings,
        nodes=snapshot.nodes,
        pods=PodTable.of(kept, node_of, pods.class_of[stays]),
        finished=_without(snapshot.finished, delta.departed),
        classes=snapshot.classes,
        matchers=snapshot.matchers,
        resources=snapshot.resources,
        allocatable=snapshot.allocatable,
    )


def bound_pod(pod: Pod, bind: Bind) -> Pod:
    """Return ``pod`` as it is once bound, its cards recorded in its annotation."""
    metadata = pod.metadata
    if bind.devices:
        record: dict[str, list[dict[str, object]]] = {}
        for device in bind.devices:
            record.setdefault(device.type, []).append(
                {"minor": device.minor, "resources": device.resources}
            )
        text = json.dumps(record, sort_keys=True)
        annotations = {**metadata.annotations, keys.ANNOTATION_DEVICE_ALLOCATED: text}
        metadata = msgspec.structs.replace(metadata, annotations=annotations)
    spec = msgspec.structs.replace(pod.spec, node_name=bind.node)
    return msgspec.structs.replace(pod, metadata=metadata, spec=spec)


def _identity(value: Any) -> tuple[str, str]:
    return value.metadata.namespace, value.metadata.name


def _without(pods: Iterable[Pod], departed: Collection[str]) -> tuple[Pod, ...]:
    return tuple(pod for pod in pods if pod.key not in departed)
