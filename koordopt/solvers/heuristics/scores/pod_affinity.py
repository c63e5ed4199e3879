"""Preferred inter-pod affinity, of the pod and of those that run already."""

from __future__ import annotations

import numpy as np

from koordopt.models.arrays import BoolArray, IntArray
from koordopt.solvers.heuristics.domains import Domains
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
        state = self._state
        by_key: dict[int, tuple[Domains, IntArray]] = {}
        for j, weight in state.problem.affinity[c].preferred:
            domains, values = state.domains_of[j], weight * state.counts[j]
            if id(domains) in by_key:
                values += by_key[id(domains)][1]
            by_key[id(domains)] = domains, values
        if not by_key:
            return None
        (domains, values), *others = by_key.values()
        by_domain = np.append(values, 0)  # a node without a domain reads the last entry
        if not others:
            # One key: the domains say it all.
            share = _share(by_domain, domains.of_nodes(feasible))
            return None if share is None else domains.scores_over(share)
        raw = by_domain.take(domains.domain_of, mode="wrap")
        for domains, values in others:
            raw += np.append(values, 0).take(domains.domain_of, mode="wrap")
        return _share(raw, feasible)


def _share(raw: IntArray, among: BoolArray) -> IntArray | None:
    """Return what is above the least of ``among``, in hundredths of their range; None without one.

    Others get anything.
    """
    values = raw[among]
    least, largest = (int(values.min()), int(values.max())) if len(values) else (0, 0)
    if least == largest:
        return None
    # The division comes first, as in the scheduler whose scores these are: 29/100 gives 28.
    return np.where(among, 100.0 * ((raw - least) / (largest - least)), 0.0).astype(np.int64)
