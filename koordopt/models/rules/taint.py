"""Taints and cordons: nodes that turn away pods which do not tolerate them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from koordopt.models.api.core import Taint, Toleration
from koordopt.models.arrays import BoolArray, IntArray, frozen
from koordopt.models.nodes import NodeTable
from koordopt.models.violation import Violation

if TYPE_CHECKING:
    from koordopt.models.pods import PodClass
    from koordopt.models.problem.placement import PlacementProblem
    from koordopt.models.result import Placement

RULE = "taint"
HARD_EFFECTS = ("NoSchedule", "NoExecute")
SOFT_EFFECT = "PreferNoSchedule"
CORDON = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Return whether ``toleration`` covers ``taint``.

    An empty effect covers all effects; an empty key with ``Exists`` covers all keys.
    """
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator == "Exists":
        return True
    return toleration.operator in ("", "Equal") and toleration.value == taint.value


def is_tolerated(taint: Taint, tolerations: Iterable[Toleration]) -> bool:
    """Return whether one of ``tolerations`` covers ``taint``."""
    return any(tolerates(toleration, taint) for toleration in tolerations)


def allowed(nodes: NodeTable, cls: PodClass) -> BoolArray:
    """Return the nodes none of whose hard taints refuses ``cls``, shape ``(N,)``."""
    sets, index = nodes.taint_sets
    tolerations = cls.pod.spec.tolerations
    passes = np.array(
        [
            all(is_tolerated(t, tolerations) for t in taints if t.effect in HARD_EFFECTS)
            for taints in sets
        ],
        dtype=np.bool_,
    )
    return frozen(passes[index])


def open_nodes(nodes: NodeTable, cls: PodClass) -> BoolArray:
    """Return the nodes that are not cordoned, or all where ``cls`` tolerates that; ``(N,)``."""
    if is_tolerated(CORDON, cls.pod.spec.tolerations):
        return frozen(np.ones(len(nodes), dtype=np.bool_))
    return frozen(~nodes.unschedulable)


def intolerable_soft(nodes: NodeTable, cls: PodClass) -> IntArray:
    """Return how many ``PreferNoSchedule`` taints of each node ``cls`` lacks; ``(N,)``."""
    sets, index = nodes.taint_sets
    tolerations = [t for t in cls.pod.spec.tolerations if t.effect in ("", SOFT_EFFECT)]
    counts = np.array(
        [
            sum(t.effect == SOFT_EFFECT and not is_tolerated(t, tolerations) for t in taints)
            for taints in sets
        ],
        dtype=np.int64,
    )
    return frozen(counts[index])


def violations(problem: PlacementProblem, placement: Placement) -> list[Violation]:
    """Return the pods placed on a cordoned node or one whose taints they do not tolerate."""
    snapshot = problem.snapshot
    found = []
    for p, n in zip(placement.pod.tolist(), placement.node.tolist(), strict=True):
        c = int(snapshot.pods.class_of[p])
        key, name = snapshot.pods.keys[p], snapshot.nodes.names[n]
        if not problem.masks.by_taints(c)[n]:
            found.append(Violation(RULE, key, f"{name} with taints", "tolerated taints only"))
        if not problem.masks.open(c)[n]:
            found.append(Violation(RULE, key, f"{name} cordoned", "schedulable nodes only"))
    return found
