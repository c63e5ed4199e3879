"""Room for what a pod asks for, its slot among the node's pods included."""

from __future__ import annotations

from koordopt.models.api import keys
from koordopt.models.arrays import BoolArray
from koordopt.models.rules import capacity
from koordopt.solvers.heuristics.changes import Where
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
        self._spared = {r: state.changes.track(~column) for r, column in self._judged.items()}

    def bind(self, c: int) -> BoundFilter:
        """Return the filter for class ``c``."""
        room, charges = self._state.room, self._state.charges(c)
        plain = [(r, amount) for r, amount in charges if r not in self._judged]
        (first, least), *others = plain  # every pod takes a slot
        free_of = [(self._state.free_of[r], amount) for r, amount in plain]
        partly = [(r, amount, self._spared[r]) for r, amount in charges if r in self._judged]
        partly_of = [
            (self._state.free_of[r], amount, self._judged[r])
            for r, amount in charges
            if r in self._judged
        ]

        def one(n: int) -> bool:
            for column, amount in free_of:
                if column[n] < amount:
                    return False
            for column, amount, judged in partly_of:
                if column[n] < amount and judged[n]:
                    return False
            return True

        def many(where: Where) -> BoolArray:
            rows = room.of(where)
            fits: BoolArray = rows[:, first] >= least
            for r, amount in others:
                fits &= rows[:, r] >= amount
            for r, amount, spared in partly:
                enough = rows[:, r] >= amount
                enough |= spared.of(where)
                fits &= enough
            return fits

        return BoundFilter(one, many, many)

    def reasons(self, c: int) -> list[NodeReason]:
        """Return which nodes lack what.

        Evictions could help where enough room is taken by pods that run already; what the plan
        itself has placed stays.
        """
        problem = self._state.problem
        found: list[NodeReason] = []
        for r, amount in self._state.charges(c):
            name = problem.resources[r]
            message = "Too many pods" if name == keys.RESOURCE_PODS else f"Insufficient {name}"
            short = self._state.free[r] < amount
            if r in self._judged:
                short &= self._judged[r]
            never = self._state.free[r] + problem.used[:, r] < amount
            for mask, could_help in ((short & ~never, True), (short & never, False)):
                if mask.any():
                    found.append((mask, message, could_help))
        return found
