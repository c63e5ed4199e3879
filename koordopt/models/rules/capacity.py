r"""Capacity: what the pods of a node ask for fits into what the node can give.

For every resource that a placed pod asks for, the number of pods included,

.. math:: \sum_{p\ \text{on}\ n} r_{p,r} \le C_{n,r}.

A resource that a pod does not ask for never refuses it, not even on a node that is over-committed
in it already. Card resources of a node whose cards are known are left to ``device``, which counts
card by card: a total cannot tell that the card in use is the one that broke.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from koordopt.models.arrays import BoolArray
from koordopt.models.rules.device import CARD_RESOURCES
from koordopt.models.units import format_amount
from koordopt.models.violation import Violation

if TYPE_CHECKING:
    from koordopt.models.problem.placement import PlacementProblem
    from koordopt.models.result import Placement

RULE = "capacity"


def is_judged(problem: PlacementProblem) -> BoolArray:
    """Return which resources of which nodes this rule judges, shape ``(N, R)``."""
    judged = np.ones(problem.capacity.shape, dtype=np.bool_)
    with_cards = np.unique(problem.snapshot.cards.node)
    for r, name in enumerate(problem.resources):
        if name in CARD_RESOURCES:
            judged[with_cards, r] = False
    return judged


def violations(problem: PlacementProblem, placement: Placement) -> list[Violation]:
    """Return the nodes that a placement fills beyond their allocatable amounts."""
    class_of = problem.snapshot.pods.class_of[placement.pod]
    added = np.zeros_like(problem.used)
    np.add.at(added, placement.node, problem.request[class_of])
    used = problem.used + added
    over = (used > problem.capacity) & (added > 0) & is_judged(problem)
    return [
        Violation(
            RULE,
            problem.snapshot.nodes.names[n],
            f"{problem.resources[r]} {format_amount(problem.resources[r], int(used[n, r]))}",
            format_amount(problem.resources[r], int(problem.capacity[n, r])),
        )
        for n, r in np.argwhere(over).tolist()
    ]
