"""Inter-pod affinity: nodes with the company that a pod requires, and without what it shuns."""

from __future__ import annotations

import numpy as np

from koordopt.models.arrays import BoolArray
from koordopt.models.rules import pod_affinity
from koordopt.models.rules.pod_affinity import ClassAffinity
from koordopt.solvers.heuristics.plugins import NodeReason
from koordopt.solvers.heuristics.state import PlacementState

_LONELY = "node(s) didn't match pod affinity rules"
_UNWANTED = "node(s) didn't match pod anti-affinity rules"
_UNWELCOME = "node(s) didn't satisfy existing pods anti-affinity rules"


class PodAffinityFilter:
    """Refuses nodes without required company, or where the pod or its neighbours object."""

    name = "InterPodAffinity"
    rule = pod_affinity.RULE

    def __init__(self, state: PlacementState) -> None:
        self._state = state

    def mask(self, c: int) -> BoolArray | None:
        """Return the nodes that class ``c`` may use now, ``(N,)``; None where it never matters."""
        own = self._state.problem.affinity[c]
        if not own.is_hard:
            return None
        mask = self._accompanied(own)
        for j in own.anti_affinity + own.unwelcome:
            mask &= self._empty(j)
        return mask

    def _accompanied(self, own: ClassAffinity) -> BoolArray:
        """Return the nodes whose domains hold the required pods, shape ``(N,)``."""
        counts, counters = self._state.counts, self._state.problem.counters
        mask = np.ones(len(self._state.problem.capacity), dtype=np.bool_)
        # The first of its group needs the labels alone.
        is_first = own.is_own_match and not any(counts[j].any() for j in own.affinity)
        for j in own.affinity:
            domain_of = counters[j].domain_of
            if is_first:
                mask &= domain_of >= 0
            else:
                mask &= np.append(counts[j] > 0, False).take(domain_of, mode="wrap")
        return mask

    def _empty(self, j: int) -> BoolArray:
        """Return the nodes in whose domain counter ``j`` is 0, or that have no domain."""
        empty = np.append(self._state.counts[j] == 0, True)
        return empty.take(self._state.problem.counters[j].domain_of, mode="wrap")

    def _all_empty(self, counters: tuple[int, ...]) -> BoolArray:
        mask = np.ones(len(self._state.problem.capacity), dtype=np.bool_)
        for j in counters:
            mask &= self._empty(j)
        return mask

    def reasons(self, c: int) -> list[NodeReason]:
        """Return the nodes refused, each once: for company, own objections, others' objections."""
        own = self._state.problem.affinity[c]
        lonely = ~self._accompanied(own)
        unwanted = ~self._all_empty(own.anti_affinity) & ~lonely
        unwelcome = ~self._all_empty(own.unwelcome) & ~lonely & ~unwanted
        return [
            (lonely, _LONELY, False),
            (unwanted, _UNWANTED, True),
            (unwelcome, _UNWELCOME, True),
        ]
