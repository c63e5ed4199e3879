"""Room for what a pod asks for, its slot among the node's pods included."""

from __future__ import annotations

import numpy as np

from koordopt.models.api import keys
from koordopt.models.arrays import BoolArray, IntArray
from koordopt.models.rules import capacity
from koordopt.solvers.heuristics.plugins import BoundFilter
from koordopt.solvers.heuristics.state import PlacementState


class CapacityFilter:
    """Refuses nodes without room in some resource that the pod asks for."""

    rule = capacity.RULE

    def __init__(self, state: PlacementState) -> None:
        self._state = state

    def bind(self, c: int) -> BoundFilter:
        """Return the filter for class ``c``."""
        charges = self._state.charges(c)
        free = [(self._state.free[r], amount) for r, amount in charges]
        free_of = [(self._state.free_of[r], amount) for r, amount in charges]

        def one(n: int) -> bool:
            for column, amount in free_of:  # noqa: SIM110 - a generator would cost more than the test
                if column[n] < amount:
                    return False
            return True

        def many(nodes: IntArray | None) -> BoolArray:
            fits: BoolArray | None = None
            for column, amount in free:
                enough = (column if nodes is None else column.take(nodes)) >= amount
                if fits is None:
                    fits = enough
                else:
                    fits &= enough
            assert fits is not None  # every pod takes a slot
            return fits

        return BoundFilter(one, many)

    def reasons(self, c: int) -> list[tuple[BoolArray, str, bool]]:
        """Return which nodes lack what; a request beyond the whole node cannot be freed."""
        problem = self._state.problem
        found = []
        for r, amount in self._state.charges(c):
            name = problem.resources[r]
            message = "Too many pods" if name == keys.RESOURCE_PODS else f"Insufficient {name}"
            short = self._state.free[r] < amount
            never = problem.capacity[:, r] < amount
            for mask, could_help in ((short & ~never, True), (short & never, False)):
                if mask.any():
                    found.append((np.asarray(mask), message, could_help))
        return found
