"""Room for what a pod asks for, its slot among the node's pods included."""

from __future__ import annotations

from koordopt.models.api import keys
from koordopt.models.arrays import BoolArray, IntArray
from koordopt.models.rules import capacity
from koordopt.solvers.heuristics.plugins import BoundFilter, NodeReason
from koordopt.solvers.heuristics.state import PlacementState


class CapacityFilter:
    """Refuses nodes without room in some resource that the pod asks for."""

    name = "NodeResourcesFit"
    rule = capacity.RULE

    def __init__(self, state: PlacementState) -> None:
        self._state = state
        judged = capacity.is_judged(state.problem)
        # Only where other rules judge some nodes is there anything to look up.
        self._judged = {
            r: judged[:, r].copy() for r in range(judged.shape[1]) if not judged[:, r].all()
        }

    def bind(self, c: int) -> BoundFilter:
        """Return the filter for class ``c``."""
        charges = self._state.charges(c)
        plain = [(r, amount) for r, amount in charges if r not in self._judged]
        free = [(self._state.free[r], amount) for r, amount in plain]
        free_of = [(self._state.free_of[r], amount) for r, amount in plain]
        partly = [
            (self._state.free[r], amount, self._judged[r])
            for r, amount in charges
            if r in self._judged
        ]

        def one(n: int) -> bool:
            for column, amount in free_of:
                if column[n] < amount:
                    return False
            for array, amount, judged in partly:  # noqa: SIM110 - as above, a generator costs more
                if array[n] < amount and judged[n]:
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
            for column, amount, judged in partly:
                short = (column < amount) & judged
                fits &= ~short if nodes is None else ~short.take(nodes)
            return fits

        return BoundFilter(one, many)

    def reasons(self, c: int) -> list[NodeReason]:
        """Return which nodes lack what; a request beyond the whole node cannot be freed."""
        problem = self._state.problem
        found: list[NodeReason] = []
        for r, amount in self._state.charges(c):
            name = problem.resources[r]
            message = "Too many pods" if name == keys.RESOURCE_PODS else f"Insufficient {name}"
            short = self._state.free[r] < amount
            if r in self._judged:
                short &= self._judged[r]
            never = problem.capacity[:, r] < amount
            for mask, could_help in ((short & ~never, True), (short & never, False)):
                if mask.any():
                    found.append((mask, message, could_help))
        return found
