"""Topology spread: domains that may take one more pod of a class."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from operator import and_

import numpy as np

from koordopt.models.arrays import BoolArray
from koordopt.models.rules import spread
from koordopt.models.rules.spread import Spread
from koordopt.solvers.heuristics.domains import Domains
from koordopt.solvers.heuristics.plugins import NodeReason
from koordopt.solvers.heuristics.state import PlacementState

_UNEVEN = "node(s) didn't match pod topology spread constraints"
_NO_LABEL = f"{_UNEVEN} (missing required label)"


@dataclass(slots=True)
class _Gate:
    """A constraint as it stands now.

    Attributes
    ----------
    limit, domains
        The constraint, and the domains of its key.
    seen
        Version of its counter up to which ``most`` is right.
    most
        Largest count of a domain that may take one more pod.
    """

    limit: Spread
    domains: Domains
    seen: int = -1
    most: int = 0


class SpreadFilter:
    """Refuses domains that one more pod would raise beyond the skew, and nodes without a key."""

    name = "PodTopologySpread"
    rule = spread.RULE

    def __init__(self, state: PlacementState) -> None:
        self._state = state
        self._gates: dict[int, list[_Gate]] = {}

    def concerns(self, c: int) -> bool:
        """Return whether the filter can ever refuse class ``c`` a node."""
        return bool(self._state.problem.spread[c].hard)

    def admits(self, c: int, n: int) -> bool:
        """Return whether class ``c`` may use node ``n`` now."""
        for gate in self._of_class(c):
            domain, most = gate.domains.of_node[n], self._most(gate)
            j = gate.limit.counter
            if domain < 0 or (0 if j is None else self._state.counts[j][domain]) > most:
                return False
        return True

    def domains(self, c: int) -> list[Domains]:
        """Return the domains that class ``c`` is judged by."""
        return [gate.domains for gate in self._of_class(c)]

    def verdict(self, c: int) -> list[bool]:
        """Return what ``mask`` says, by domain; for classes judged by one key."""
        found: list[bool] = []
        for gate in self._of_class(c):
            j, most, size = gate.limit.counter, self._most(gate), gate.domains.count
            counts = [0] * size if j is None else self._state.counts[j][:size]
            passes = [count <= most for count in counts]
            found = list(map(and_, found, passes)) if found else passes
        return [*found, False]

    def mask(self, c: int) -> BoolArray | None:
        """Return the nodes that class ``c`` may use now, ``(N,)``; None without constraints."""
        mask: BoolArray | None = None
        for gate in self._of_class(c):
            passes = self._passes(gate)
            mask = passes if mask is None else mask & passes
        return mask

    def _of_class(self, c: int) -> list[_Gate]:
        gates = self._gates.get(c)
        if gates is None:
            gates = self._gates[c] = [
                _Gate(limit, self._state.domains(limit.domain_of))
                for limit in self._state.problem.spread[c].hard
            ]
        return gates

    def _passes(self, gate: _Gate) -> BoolArray:
        j, most = gate.limit.counter, self._most(gate)
        if j is None:
            verdict = np.full(gate.domains.count, most >= 0)
        else:
            verdict = self._state.counts_array(j) <= most
        return gate.domains.over(verdict, without=False)

    def _most(self, gate: _Gate) -> int:
        """Return the largest count of a domain that may take one more pod."""
        limit, term, state = gate.limit, gate.limit.term, self._state
        j = limit.counter
        version = 0 if j is None else state.count_changes[j]
        if gate.seen != version:
            lowest = 0
            if j is not None and len(limit.eligible) >= max(1, term.min_domains):
                counts = state.counts[j]
                if len(limit.eligible) < len(counts):
                    lowest = int(state.counts_array(j)[limit.eligible].min())
                else:
                    lowest = min(counts) if isinstance(counts, list) else int(counts.min())
            gate.most = term.max_skew + lowest - limit.self_match
            gate.seen = version
        return gate.most

    def reasons(self, c: int) -> list[NodeReason]:
        """Return the nodes refused, each by its first constraint in the order of the spec."""
        return list(self._reasons(self._of_class(c)))

    def _reasons(self, gates: list[_Gate]) -> Iterator[NodeReason]:
        seen: BoolArray | None = None
        for gate in gates:
            refused = ~self._passes(gate)
            if seen is not None:
                refused &= ~seen
            without = gate.limit.domain_of < 0
            yield refused & without, _NO_LABEL, False
            yield refused & ~without, _UNEVEN, True
            seen = refused if seen is None else seen | refused
