"""Scores of nodes against the best of them: taints and preferred node affinity."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from koordopt.models.arrays import BoolArray, IntArray
from koordopt.models.nodes import NodeTable
from koordopt.models.pods import PodClass
from koordopt.models.rules import node_affinity, taint
from koordopt.solvers.heuristics.state import PlacementState

BEST = 100
"""Score of the best node."""


class _Normalised:
    r"""Scores by a number of the node itself, in relation to the largest among feasible nodes.

    Notes
    -----
    With :math:`v_n` the number and :math:`V` the largest of a feasible node, the score is
    :math:`\lfloor 100 v_n / V \rfloor`, and 0 where :math:`V = 0`.
    """

    def __init__(
        self, state: PlacementState, raw: Callable[[NodeTable, PodClass], IntArray]
    ) -> None:
        self._snapshot = state.problem.snapshot
        self._raw = raw
        self._varying: dict[int, IntArray | None] = {}

    def share_of_largest(self, c: int, feasible: BoolArray) -> IntArray:
        raw = self._raw(self._snapshot.nodes, self._snapshot.classes[c])
        return _share(raw, feasible)

    def varies(self, c: int) -> bool:
        """Return whether the nodes of the cluster have different numbers for class ``c``."""
        if c not in self._varying:
            raw = self._raw(self._snapshot.nodes, self._snapshot.classes[c])
            self._varying[c] = raw if (raw != raw[:1]).any() else None
        return self._varying[c] is not None

    def where_it_varies(self, c: int, feasible: BoolArray) -> IntArray | None:
        """Return the same; None where all nodes of the cluster have one number."""
        raw = self._varying[c] if self.varies(c) else None
        return None if raw is None else _share(raw, feasible)


def _share(raw: IntArray, feasible: BoolArray) -> IntArray:
    largest = int(raw[feasible].max(initial=0))
    if largest == 0:
        return np.zeros_like(raw)
    return np.minimum(BEST * raw // largest, BEST)


class TaintScore:
    """Scores nodes by how few soft taints the pod does not tolerate."""

    name = "TaintToleration"

    def __init__(self, state: PlacementState) -> None:
        self._parts = _Normalised(state, taint.intolerable_soft)

    def values(self, c: int, feasible: BoolArray) -> IntArray:
        """Return 0 to 100 for each node, ``(N,)``; 100 for all where no feasible one has any."""
        return BEST - self._parts.share_of_largest(c, feasible)

    def concerns(self, c: int) -> bool:
        """Return whether the nodes of the cluster differ in it for class ``c``."""
        return self._parts.varies(c)

    def scores(self, c: int, feasible: BoolArray) -> IntArray | None:
        """Return ``values``; None where all nodes of the cluster are alike in it."""
        share = self._parts.where_it_varies(c, feasible)
        return None if share is None else BEST - share


class NodeAffinityScore:
    """Scores nodes by the weight of the preferred terms that they satisfy."""

    name = "NodeAffinity"

    def __init__(self, state: PlacementState) -> None:
        self._parts = _Normalised(state, node_affinity.preference)

    def values(self, c: int, feasible: BoolArray) -> IntArray:
        """Return 0 to 100 for each node, ``(N,)``; 0 for all where no feasible one has any."""
        return self._parts.share_of_largest(c, feasible)

    def concerns(self, c: int) -> bool:
        """Return whether the nodes of the cluster differ in it for class ``c``."""
        return self._parts.varies(c)

    def scores(self, c: int, feasible: BoolArray) -> IntArray | None:
        """Return ``values``; None where all nodes of the cluster are alike in it."""
        return self._parts.where_it_varies(c, feasible)
