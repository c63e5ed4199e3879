"""Inter-pod affinity: nodes with the company that a pod requires, and without what it shuns."""

from __future__ import annotations

from operator import and_

import numpy as np

from koordopt.models.arrays import BoolArray
from koordopt.models.rules import pod_affinity
from koordopt.models.rules.pod_affinity import ClassAffinity
from koordopt.solvers.heuristics.domains import Domains
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
        self._forbidden: dict[int, tuple[int, ...]] = {}

    def concerns(self, c: int) -> bool:
        """Return whether the filter can ever refuse class ``c`` a node."""
        return self._state.problem.affinity[c].is_hard

    def admits(self, c: int, n: int) -> bool:
        """Return whether class ``c`` may use node ``n`` now."""
        own, state = self._state.problem.affinity[c], self._state
        for j in self._forbidden_to(c):
            domain = state.domains_of[j].of_node[n]
            if domain >= 0 and state.counts[j][domain]:
                return False
        alone = False
        for j in own.affinity:
            domain = state.domains_of[j].of_node[n]
            if domain < 0:
                return False
            alone = alone or not state.counts[j][domain]
        return not alone or self._is_first(own)

    def mask(self, c: int) -> BoolArray | None:
        """Return the nodes that class ``c`` may use now, ``(N,)``; None where it never matters."""
        own = self._state.problem.affinity[c]
        mask = self._accompanied(own) if own.affinity else None
        for j in self._forbidden_to(c):
            empty = self._empty(j)
            mask = empty if mask is None else mask & empty
        return mask

    def domains(self, c: int) -> list[Domains]:
        """Return the domains that class ``c`` is judged by."""
        counters = self._state.problem.affinity[c].affinity + self._forbidden_to(c)
        return [self._state.domains_of[j] for j in counters]

    def verdict(self, c: int) -> list[bool]:
        """Return what ``mask`` says, by domain; for classes judged by one key."""
        own, state = self._state.problem.affinity[c], self._state
        found: list[bool] = []
        for j in own.affinity:  # one: there is one counter a key
            found = [count > 0 for count in state.counts[j]]
            if own.is_own_match and not any(found):
                found = [True] * len(found)
            found = found[: state.domains_of[j].count]
        for j in self._forbidden_to(c):
            empty = [count == 0 for count in state.counts[j][: state.domains_of[j].count]]
            found = list(map(and_, found, empty)) if found else empty
        return [*found, not own.affinity]

    def _forbidden_to(self, c: int) -> tuple[int, ...]:
        """Return the counters that must be 0 for class ``c``."""
        forbidden = self._forbidden.get(c)
        if forbidden is None:
            forbidden = self._forbidden[c] = self._state.problem.affinity[c].forbidden
        return forbidden

    def _is_first(self, own: ClassAffinity) -> bool:
        """Return whether the pod starts its group, and so needs the labels alone."""
        counts = self._state.counts
        return own.is_own_match and not any(np.any(counts[j]) for j in own.affinity)

    def _accompanied(self, own: ClassAffinity) -> BoolArray:
        """Return the nodes whose domains hold the required pods, shape ``(N,)``."""
        state = self._state
        is_first = self._is_first(own)
        mask: BoolArray | None = None
        for j in own.affinity:
            counts = state.counts_array(j)
            verdict = np.ones(len(counts), dtype=np.bool_) if is_first else counts > 0
            passes = state.domains_of[j].over(verdict, without=False)
            mask = passes if mask is None else mask & passes
        return np.ones(len(state.problem.capacity), dtype=np.bool_) if mask is None else mask

    def _empty(self, j: int) -> BoolArray:
        """Return the nodes in whose domain counter ``j`` is 0, or that have no domain."""
        return self._state.domains_of[j].over(self._state.counts_array(j) == 0, without=True)

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
