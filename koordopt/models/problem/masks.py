"""Where a pod class may go by its own spec, whatever runs there: masks over the nodes."""

from __future__ import annotations

from functools import cache

import numpy as np

from koordopt.models.arrays import BoolArray, frozen
from koordopt.models.rules import node_affinity, taint
from koordopt.models.snapshot import ClusterSnapshot


class NodeMasks:
    """Masks of the nodes that each class may use, shape ``(N,)`` each, computed once and kept.

    Parameters
    ----------
    snapshot
        The cluster.
    """

    def __init__(self, snapshot: ClusterSnapshot) -> None:
        nodes, classes = snapshot.nodes, snapshot.classes
        self.by_affinity = cache(lambda c: node_affinity.allowed(nodes, classes[c]))
        self.by_taints = cache(lambda c: taint.allowed(nodes, classes[c]))
        self.open = cache(lambda c: taint.open_nodes(nodes, classes[c]))
        self.named = cache(lambda c: node_affinity.named(nodes, classes[c]))
        self.eligible = cache(self._all)

    def _all(self, c: int) -> BoolArray:
        parts = (self.open, self.named, self.by_taints, self.by_affinity)
        return frozen(np.logical_and.reduce([part(c) for part in parts]))
