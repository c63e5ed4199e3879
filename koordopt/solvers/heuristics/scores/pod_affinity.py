"""Preferred inter-pod affinity, of the pod and of those that run already."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from koordopt.models.arrays import BoolArray, IntArray
from koordopt.solvers.heuristics.domains import FEW, Domains
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

    def concerns(self, c: int) -> bool:
        """Return whether anybody has a wish about class ``c``."""
        return bool(self._state.problem.affinity[c].preferred)

    def scores(self, c: int, feasible: BoolArray) -> IntArray | None:
        """Return 0 to 100 for each node, ``(N,)``; None where all feasible ones get 0."""
        state, preferred = self._state, self._state.problem.affinity[c].preferred
        if not preferred:
            return None
        domains = state.domains_of[preferred[0][0]]
        if domains.count <= FEW and all(each is domains for each in self.domains(c)):
            # One key with few domains: they say it all.
            values = self.values(c)
            known: list[int] = np.flatnonzero(domains.of_nodes(feasible)).tolist()
            points = self.points([values[d] for d in known])
            if points is None:
                return None
            of_domain = dict(zip(known, points, strict=True))
            return domains.scores_over(tuple(of_domain.get(d, 0) for d in range(len(values))))
        total = np.zeros(len(feasible), dtype=np.int64)
        for j, weight in preferred:
            by_domain = np.append(weight * state.counts_array(j), 0)
            total += by_domain.take(state.domains_of[j].domain_of, mode="wrap")
        among = total[feasible]
        least, largest = (int(among.min()), int(among.max())) if len(among) else (0, 0)
        if least == largest:
            return None
        # The division comes first, as in the scheduler whose scores these are: 29/100 gives 28.
        parts = (total - least) / (largest - least)
        return np.where(feasible, 100.0 * parts, 0.0).astype(np.int64)

    def domains(self, c: int) -> list[Domains]:
        """Return the domains that class ``c`` is judged by."""
        return [self._state.domains_of[j] for j, _ in self._state.problem.affinity[c].preferred]

    def values(self, c: int) -> list[int]:
        """Return the sum of each domain, the last for none; for classes judged by one key."""
        state, preferred = self._state, self._state.problem.affinity[c].preferred
        found = [0] * (state.domains_of[preferred[0][0]].count + 1)
        for j, weight in preferred:
            for d, count in enumerate(state.counts[j][: len(found) - 1]):
                found[d] += weight * count
        return found

    def points(self, values: Sequence[int]) -> list[int] | None:
        """Return the scores of feasible domains by their sums; None where all get the same.

        The same operations on floats as for nodes.
        """
        if not values:
            return None
        least = min(values)
        width = max(values) - least
        if not width:
            return None
        return [int(100.0 * ((value - least) / width)) for value in values]
