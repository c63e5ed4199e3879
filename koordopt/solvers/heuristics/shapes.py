"""The distinct sizes of the nodes of a cluster: what depends on size alone is worked out once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from koordopt.models.arrays import IntArray
from koordopt.models.problem.placement import PlacementProblem
from koordopt.solvers.heuristics.changes import ChangeLog, Track


@dataclass(frozen=True, eq=False)
class Shapes:
    """The distinct capacities of the nodes of a cluster, in some resources.

    Attributes
    ----------
    rows
        Distinct rows of capacities, shape ``(shapes, resources)``, and the same as lists.
    of_node
        Row of each node, a track of shape ``(N,)``, and the same as a list.
    """

    rows: IntArray
    row_lists: list[list[int]]
    of_node: Track[np.int64]
    of_node_list: list[int]

    @classmethod
    def of(cls, problem: PlacementProblem, changes: ChangeLog, resources: Sequence[str]) -> Shapes:
        """Return the shapes of the nodes in ``resources``, tracked in ``changes``."""
        capacities = np.stack([capacity_of(problem, name) for name in resources], axis=1)
        rows, index = np.unique(capacities, axis=0, return_inverse=True)
        of_node = index.reshape(-1).astype(np.int64)
        return cls(rows, rows.tolist(), changes.track(of_node), of_node.tolist())


def capacity_of(problem: PlacementProblem, resource: str) -> IntArray:
    """Return what each node can give of ``resource``, shape ``(N,)``; 0 where nobody has it."""
    r = problem.snapshot.resource_index.get(resource)
    if r is None:
        return np.zeros(len(problem.capacity), dtype=np.int64)
    return problem.capacity[:, r]
