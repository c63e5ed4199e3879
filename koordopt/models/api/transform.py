"""What is done to objects once, when they are read, so that everyone sees the same.

Deprecated resource names become the present ones, the node reservation leaves the allocatable
amounts, and the scheduler-name label replaces the scheduler of the spec.
"""

import json
import re
from collections.abc import Iterable
from itertools import chain
from operator import is_
from typing import Any, TypeVar

import msgspec

from koordopt.errors import InvalidInputError
from koordopt.models.api import keys
from koordopt.models.api.core import (
    Container,
    ContainerStatus,
    Node,
    Pod,
    ResourceList,
    ResourceRequirements,
)
from koordopt.models.units import NANOS_PER_UNIT, Quantity, parse_quantity

_replace = msgspec.structs.replace
_Amount = TypeVar("_Amount")
_OLD_NAMES = frozenset(keys.RENAMED_RESOURCES)
_CPU_RANGE = re.compile(r"\s*([0-9]{1,6})\s*(?:-\s*([0-9]{1,6})\s*)?")
_MAX_CPU_ID = 1 << 16
_UNTOUCHED_BY_RESERVATION = (keys.RESOURCE_BATCH_CPU, keys.RESOURCE_BATCH_MEMORY)


def transform_node(node: Node) -> Node:
    """Return a node with its reservation taken off and present resource names.

    Allocatable is the capacity where it is not stated. Applying this twice takes the reservation
    off twice; ``decode`` applies it.
    """
    status = node.status
    allocatable = renamed(status.allocatable or status.capacity)
    text = node.metadata.annotations.get(keys.ANNOTATION_NODE_RESERVATION)
    if text:
        allocatable = _less(allocatable, reserved_resources(text))
    capacity = renamed(status.capacity)
    if allocatable is status.allocatable and capacity is status.capacity:
        return node
    return _replace(node, status=_replace(status, allocatable=allocatable, capacity=capacity))


def reserved_resources(text: str) -> ResourceList:
    """Return what a node reservation annotation takes off the allocatable amounts.

    Nothing where it cannot be read, or where its policy keeps only certain CPUs free.
    """
    try:
        reservation = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(reservation, dict) or reservation.get("applyPolicy") not in (
        None,
        "",
        "Default",
    ):
        return {}
    reserved = _resources(reservation.get("resources"))
    cpus = reservation.get("reservedCPUs")
    if reserved is None or not isinstance(cpus, str | None):
        return {}
    if cpus:
        ids = parse_cpu_list(cpus)
        if ids is None:
            return {}
        reserved[keys.RESOURCE_CPU] = Quantity(len(ids) * NANOS_PER_UNIT)
    return reserved


def parse_cpu_list(text: str) -> frozenset[int] | None:
    """Return the CPUs of a list such as ``0-3,8``, or None if it is none."""
    cpus: set[int] = set()
    for part in text.split(","):
        match = _CPU_RANGE.fullmatch(part)
        if match is None:
            return None
        first = int(match[1])
        last = first if match[2] is None else int(match[2])
        if last < first or last >= _MAX_CPU_ID:
            return None
        cpus.update(range(first, last + 1))
    return frozenset(cpus)


def transform_pod(pod: Pod) -> Pod:
    """Return a pod with present resource names, and the scheduler that its label names.

    Names are replaced in requests, limits, overhead and status, and in the annotation that records
    allocated devices.
    """
    spec, status, metadata = pod.spec, pod.status, pod.metadata
    label = metadata.labels.get(keys.LABEL_SCHEDULER_NAME)
    changes: dict[str, Any] = {}
    containers = tuple(map(_renamed_container, spec.containers))
    if not all(map(is_, containers, spec.containers)):
        changes["containers"] = containers
    if spec.init_containers:
        init_containers = tuple(map(_renamed_container, spec.init_containers))
        if not all(map(is_, init_containers, spec.init_containers)):
            changes["init_containers"] = init_containers
    overhead = renamed(spec.overhead)
    if overhead is not spec.overhead:
        changes["overhead"] = overhead
    annotations = _renamed_devices(metadata.annotations)
    if label is not None and label != spec.scheduler_name:
        changes["scheduler_name"] = label
        original = {keys.ANNOTATION_ORIGINAL_SCHEDULER_NAME: spec.scheduler_name}
        annotations = {**annotations, **original}
    if annotations is not metadata.annotations:
        pod = _replace(pod, metadata=_replace(metadata, annotations=annotations))
    if changes:
        pod = _replace(pod, spec=_replace(spec, **changes))
    if changes and status.container_statuses:
        statuses = tuple(map(_renamed_status, status.container_statuses))
        pod = _replace(pod, status=_replace(status, container_statuses=statuses))
    return pod


def _renamed_status(status: ContainerStatus) -> ContainerStatus:
    resources = status.resources
    return _replace(
        status,
        allocated_resources=renamed(status.allocated_resources),
        resources=None if resources is None else _renamed_requirements(resources),
    )


def _renamed_devices(annotations: dict[str, str]) -> dict[str, str]:
    """Return annotations with present resource names in the record of allocated devices."""
    text = annotations.get(keys.ANNOTATION_DEVICE_ALLOCATED)
    if text is None or '"kubernetes.io/' not in text:
        return annotations
    try:
        allocated = json.loads(text)
    except (ValueError, RecursionError):
        return annotations
    groups = allocated.values() if isinstance(allocated, dict) else ()
    for entry in chain.from_iterable(group for group in groups if isinstance(group, list)):
        if isinstance(entry, dict) and isinstance(entry.get("resources"), dict):
            entry["resources"] = renamed(entry["resources"])
    return {**annotations, keys.ANNOTATION_DEVICE_ALLOCATED: json.dumps(allocated)}


def renamed(resources: dict[str, _Amount]) -> dict[str, _Amount]:
    """Return a resource list under present names; the same object where nothing changes.

    A deprecated name stays where the present one is there as well.
    """
    if _OLD_NAMES.isdisjoint(resources):
        return resources
    result = dict(resources)
    for old, new in keys.RENAMED_RESOURCES.items():
        if old in result and new not in result:
            result[new] = result.pop(old)
    return result


def _renamed_container(container: Container) -> Container:
    resources = _renamed_requirements(container.resources)
    return (
        container if resources is container.resources else _replace(container, resources=resources)
    )


def _renamed_requirements(resources: ResourceRequirements) -> ResourceRequirements:
    requests, limits = renamed(resources.requests), renamed(resources.limits)
    if requests is resources.requests and limits is resources.limits:
        return resources
    return ResourceRequirements(requests=requests, limits=limits)


def _resources(value: Any) -> ResourceList | None:
    """Return a resource list from parsed JSON; None if it is none."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        return None
    try:
        return {name: parse_quantity(item) for name, item in value.items() if item is not None}
    except InvalidInputError:
        return None


def _less(allocatable: ResourceList, reserved: ResourceList) -> ResourceList:
    """Return what is left, never below zero; overcommitted resources are left as they are."""
    result = dict(allocatable)
    for name in _subtracted(allocatable, reserved):
        left = allocatable[name] - reserved[name]
        result[name] = left if left.nanos > 0 else Quantity(0, left.style)
    return result


def _subtracted(allocatable: ResourceList, reserved: ResourceList) -> Iterable[str]:
    return (
        name
        for name, quantity in reserved.items()
        if quantity.nanos > 0 and name in allocatable and name not in _UNTOUCHED_BY_RESERVATION
    )
