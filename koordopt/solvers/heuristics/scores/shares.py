"""The use of resources on every node, as the resource scores reckon it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from koordopt.models.api import keys
from koordopt.models.arrays import IntArray
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
    used
        Use of one node now.
    """

    def __init__(self, state: PlacementState, resource: str, *, with_defaults: bool) -> None:
        problem = state.problem
        r = problem.snapshot.resource_index.get(resource)
        count = len(problem.capacity)
        self.resource = resource
        self.capacity: IntArray = (
            np.zeros(count, dtype=np.int64) if r is None else problem.capacity[:, r]
        )
        self._with_defaults = with_defaults and resource in _SCORED_POSITION
        self._classes = problem.snapshot.classes
        self.used: Callable[[int], int]
        if self._with_defaults:
            self.used = state.scored_use[_SCORED_POSITION[resource]].__getitem__
        elif r is None:
            self.used = lambda _: 0
        else:
            capacity, free = self.capacity.tolist(), state.free_of[r]
            self.used = lambda n: capacity[n] - free[n]

    def asked(self, c: int) -> int:
        """Return what a pod of class ``c`` adds."""
        cls = self._classes[c]
        request = cls.nonzero_request if self._with_defaults else cls.request
        return request.get(self.resource, 0)

    def all_used(self) -> IntArray:
        """Return the use of every node now, shape ``(N,)``."""
        return np.fromiter(map(self.used, range(len(self.capacity))), np.int64, len(self.capacity))


def shape_index(capacities: Sequence[IntArray]) -> tuple[IntArray, IntArray]:
    """Return the distinct rows of capacities, and the row of each node.

    Parameters
    ----------
    capacities
        Capacity of each node, one array of shape ``(N,)`` a resource.

    Returns
    -------
    tuple
        Distinct rows, shape ``(shapes, resources)``, and their index by node, shape ``(N,)``.
    """
    rows, index = np.unique(np.stack(capacities, axis=1), axis=0, return_inverse=True)
    return rows, index.reshape(-1).astype(np.int64)
