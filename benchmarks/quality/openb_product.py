"""koordopt itself in the openb league: the trace as a cluster, its arrivals as pending pods."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import numpy as np

from benchmarks.quality.openb_online import allocated
from benchmarks.quality.openb_trace import Trace
from koordopt.models.api import keys
from koordopt.models.api.core import Node, Pod
from koordopt.models.api.crds import Device
from koordopt.models.api.decode import decode
from koordopt.models.problem.placement import PlacementProblem
from koordopt.models.snapshot import ClusterObjects, ClusterSnapshot
from koordopt.solvers.heuristics.fragmentation import Bools, CardRequest, Ints
from koordopt.solvers.heuristics.greedy import Greedy
from koordopt.solvers.heuristics.profile import Profile
from koordopt.solvers.heuristics.units import single

__all__ = ["online_problem", "place_online"]

_MILLI_PER_PERCENT = 10
_PODS = "10000"  # the trace has no limit on the pods of a node
_NODE_PARTS = (keys.RESOURCE_GPU_CORE, keys.RESOURCE_GPU_MEMORY_RATIO)


def online_problem(trace: Trace, order: Ints, node_order: Ints) -> PlacementProblem:
    """Return the problem whose pending pods are the arrivals, in their order.

    Parameters
    ----------
    trace
        Nodes and classes.
    order
        Class of each arriving pod.
    node_order
        The canonical order of the nodes, a permutation of the trace's.
    """
    places = list(enumerate(node_order.tolist()))
    nodes = [cast(Node, decode(_node(trace, position, row))) for position, row in places]
    devices = [cast(Device, decode(_device(trace, position, row))) for position, row in places]
    pods = [
        cast(Pod, decode(_pod(trace, position, trace.requests[number])))
        for position, number in enumerate(order.tolist())
    ]
    objects = ClusterObjects(nodes=nodes, pods=pods, devices=devices)
    return PlacementProblem.from_snapshot(ClusterSnapshot.from_objects(objects))


def place_online(
    trace: Trace, order: Ints, problem: PlacementProblem, profile: Profile | None = None
) -> Ints:
    """Place the arrivals by the greedy pipeline, one by one; a pod that fits nowhere is refused.

    Returns
    -------
    Ints
        As :func:`run_online` does.
    """
    greedy = Greedy(problem, profile)
    is_placed = [greedy.place_unit(single(problem, p)) for p in problem.pending.tolist()]
    return allocated(trace, order, np.array(is_placed))


def _node(trace: Trace, position: int, row: int) -> dict[str, Any]:
    nodes = trace.nodes
    cards = np.count_nonzero(nodes.cards[row])
    amounts = {
        keys.RESOURCE_CPU: f"{nodes.cpu[row]}m",
        keys.RESOURCE_MEMORY: f"{nodes.memory[row]}Mi",
        keys.RESOURCE_PODS: _PODS,
        **dict.fromkeys(_NODE_PARTS, str(100 * cards)),
    }
    labels = {keys.LABEL_GPU_MODEL: trace.models[nodes.model[row]]}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": _name("n", position), "labels": labels},
        "status": {"allocatable": amounts},
    }


def _device(trace: Trace, position: int, row: int) -> dict[str, Any]:
    whole = dict.fromkeys(_NODE_PARTS, "100")
    cards = [
        {"type": "gpu", "minor": minor, "health": True, "resources": whole}
        for minor in np.flatnonzero(trace.nodes.cards[row]).tolist()
    ]
    return {
        "apiVersion": "scheduling.koordinator.sh/v1alpha1",
        "kind": "Device",
        "metadata": {"name": _name("n", position)},
        "spec": {"devices": cards},
    }


def _pod(trace: Trace, position: int, request: CardRequest) -> dict[str, Any]:
    requests = {keys.RESOURCE_CPU: f"{request.cpu}m", keys.RESOURCE_MEMORY: f"{request.memory}Mi"}
    percent, beyond = divmod(request.count * request.share, _MILLI_PER_PERCENT)
    assert not beyond  # the trace asks for whole hundredths
    if percent:
        requests |= dict.fromkeys(_NODE_PARTS, str(percent))
    spec: dict[str, Any] = {"containers": [{"name": "main", "resources": {"requests": requests}}]}
    if request.models is not None:
        expression = {
            "key": keys.LABEL_GPU_MODEL,
            "operator": "In",
            "values": list(_models(trace, request.models)),
        }
        terms = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
        spec["affinity"] = {
            "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}
        }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": _name("p", position), "namespace": "openb"},
        "spec": spec,
    }


def _models(trace: Trace, allowed: Bools) -> Iterator[str]:
    return (name for name, is_allowed in zip(trace.models, allowed, strict=True) if is_allowed)


def _name(prefix: str, position: int) -> str:
    """Return a name that sorts by its position."""
    return f"{prefix}{position:06d}"
