r"""Capacity: what the pods of a node ask for fits into what the node can give.

For every resource that a placed pod asks for, the number of pods included,

.. math:: \sum_{p\ \text{on}\ n} r_{p,r} \le C_{n,r}.

A resource that a pod does not ask for never refuses it, not even on a node that is over-committed
in it already.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from koordopt.models.units import format_amount
from koordopt.models.violation import Violation

if TYPE_CHECKING:
    from koordopt.models.problem.placement import PlacementProblem
    from koordopt.models.result import Placement

RULE = "capacity"


def violations(problem: PlacementProblem, placement: Placement) -> list[Violation]:
    """Return the nodes that a placement fills beyond their allocatable amounts."""
    class_of = problem.snapshot.pods.class_of[placement.pod]
    added = np.zeros_like(problem.used)
    np.add.at(added, placement.node, problem.request[class_of])
    used = problem.used + added
    over = (used > problem.capacity) & (added > 0)
    return [
        Violation(
            RULE,
            problem.snapshot.nodes.names[n],
            f"{problem.resources[r]} {format_amount(problem.resources[r], int(used[n, r]))}",
            format_amount(problem.resources[r], int(problem.capacity[n, r])),
        )
        for n, r in np.argwhere(over).tolist()
    ]
