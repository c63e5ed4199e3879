"""The use of resources on every node, as the resource scores reckon it."""

from __future__ import annotations

import numpy as np

from koordopt.models.api import keys
from koordopt.models.arrays import IntArray
from koordopt.solvers.heuristics.shapes import capacity_of
from koordopt.solvers.heuristics.state import PlacementState

NATIVE = frozenset({keys.RESOURCE_CPU, keys.RESOURCE_MEMORY, keys.RESOURCE_EPHEMERAL_STORAGE})
"""Resources that count in a score even where a pod does not ask for them."""

_SCORED_POSITION = {keys.RESOURCE_CPU: 0, keys.RESOURCE_MEMORY: 1}


class UseOf:
    """Use of one resource on every node.

    Parameters
    ----------
    state
        The state that is scored.
    resource
        Name of the resource.
    with_defaults
        Whether containers without a request count with the default amounts of CPU and memory.

    Attributes
    ----------
    capacity
        What each node can give, shape ``(N,)``.
    column
        Amount of each node now: what is free where ``is_free``, or what is in use.
    """

    def __init__(self, state: PlacementState, resource: str, *, with_defaults: bool) -> None:
        problem = state.problem
        r = problem.snapshot.resource_index.get(resource)
        self.resource = resource
        self.capacity: IntArray = capacity_of(problem, resource)
        self._with_defaults = with_defaults and resource in _SCORED_POSITION
        self._classes = problem.snapshot.classes
        self.column: list[int]
        self.is_free = r is not None and not self._with_defaults
        if self._with_defaults:
            self.column = state.scored_use[_SCORED_POSITION[resource]]
        elif r is None:
            self.column = [0] * len(self.capacity)
        else:
            self.column = state.free_of[r]

    def asked(self, c: int) -> int:
        """Return what a pod of class ``c`` adds."""
        cls = self._classes[c]
        request = cls.nonzero_request if self._with_defaults else cls.request
        return request.get(self.resource, 0)

    def all_used(self) -> IntArray:
        """Return the use of every node now, shape ``(N,)``."""
        amounts = np.array(self.column, dtype=np.int64)
        return self.capacity - amounts if self.is_free else amounts
