"""Preferred inter-pod affinity, of the pod and of those that run already."""

from __future__ import annotations

import numpy as np

from koordopt.models.arrays import BoolArray, IntArray
from koordopt.solvers.heuristics.state import PlacementState


class PodAffinityScore:
    r"""Scores nodes by the weight of wishes that the pods in their domains fulfil or cross.

    Notes
    -----
    With :math:`v_n` the sum of counter times weight over the domains of node ``n``, and the least
    and largest taken over feasible nodes, the score is
    :math:`100 (v_n - \min v) / (\max v - \min v)` in floats, cut to whole points, and 0 for all
    where they are equal.
    """

    name = "InterPodAffinity"

    def __init__(self, state: PlacementState) -> None:
        self._state = state

    def scores(self, c: int, feasible: BoolArray) -> IntArray | None:
        """Return 0 to 100 for each node, ``(N,)``; None where nobody has a wish."""
        problem = self._state.problem
        preferred = problem.affinity[c].preferred
        if not preferred:
            return None
        raw = np.zeros(len(feasible), dtype=np.int64)
        for j, weight in preferred:
            by_domain = np.append(weight * self._state.counts[j], 0)
            raw += by_domain.take(problem.counters[j].domain_of, mode="wrap")
        among = raw[feasible]
        least, largest = (int(among.min()), int(among.max())) if len(among) else (0, 0)
        if least == largest:
            return np.zeros_like(raw)
        # The division comes first, as in the scheduler whose scores these are: 29/100 gives 28.
        share = (raw - least) / (largest - least)
        return np.where(feasible, 100.0 * share, 0.0).astype(np.int64)
