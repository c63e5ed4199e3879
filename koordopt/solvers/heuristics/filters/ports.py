"""Host ports that are still closed on a node."""

from __future__ import annotations

import numpy as np

from koordopt.models.arrays import BoolArray, IntArray
from koordopt.models.rules import port
from koordopt.solvers.heuristics.plugins import BoundFilter, NodeReason
from koordopt.solvers.heuristics.state import PlacementState


class PortFilter:
    """Refuses nodes where another pod holds a host port that the pod would open."""

    name = "NodePorts"
    rule = port.RULE

    def __init__(self, state: PlacementState) -> None:
        self._state = state

    def bind(self, c: int) -> BoundFilter | None:
        """Return the filter for class ``c``; None where the class opens no host port."""
        conflicts = self._state.problem.ports.conflicts.get(c, ())
        if not conflicts:
            return None
        rows = [self._state.port_use[k] for k in conflicts]

        def one(n: int) -> bool:
            return not any(row[n] for row in rows)

        def many(nodes: IntArray | None) -> BoolArray:
            parts = rows if nodes is None else [row.take(nodes) for row in rows]
            return np.asarray(np.add.reduce(parts) == 0)

        return BoundFilter(one, many)

    def reasons(self, c: int) -> list[NodeReason]:
        """Return the nodes whose ports are taken; by pods that ran before they could be freed."""
        bound = self.bind(c)
        if bound is None:
            return []
        message = "node(s) didn't have free ports for the requested pod ports"
        taken = ~bound.many(None)
        conflicts = list(self._state.problem.ports.conflicts[c])
        planned = self._state.port_use[conflicts] > self._state.problem.ports.use[conflicts]
        for_good = planned.any(axis=0)
        return [(taken & ~for_good, message, True), (taken & for_good, message, False)]
