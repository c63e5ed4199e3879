"""Topology spread: domains that may take one more pod of a class."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from koordopt.models.arrays import BoolArray
from koordopt.models.rules import spread
from koordopt.models.rules.spread import Spread
from koordopt.solvers.heuristics.plugins import NodeReason
from koordopt.solvers.heuristics.state import PlacementState

_UNEVEN = "node(s) didn't match pod topology spread constraints"
_NO_LABEL = f"{_UNEVEN} (missing required label)"


class SpreadFilter:
    """Refuses domains that one more pod would raise beyond the skew, and nodes without a key."""

    name = "PodTopologySpread"
    rule = spread.RULE

    def __init__(self, state: PlacementState) -> None:
        self._state = state

    def mask(self, c: int) -> BoolArray | None:
        """Return the nodes that class ``c`` may use now, ``(N,)``; None without constraints."""
        limits = self._state.problem.spread[c].hard
        if not limits:
            return None
        mask = self._passes(limits[0])
        for limit in limits[1:]:
            mask &= self._passes(limit)
        return mask

    def _passes(self, limit: Spread) -> BoolArray:
        # Domain -1, a node without the key, reads the last entry, which is False.
        return np.append(self._open(limit), False).take(limit.domain_of, mode="wrap")

    def _open(self, limit: Spread) -> BoolArray:
        """Return which domains may take one more pod, shape ``(T,)``."""
        own, term = limit.self_match, limit.term
        if limit.counter is None:
            size = int(limit.domain_of.max(initial=-1)) + 1
            return np.full(size, own <= term.max_skew, dtype=np.bool_)
        counts = self._state.counts[limit.counter]
        lowest = 0
        if len(limit.eligible) >= max(1, term.min_domains):
            lowest = int(counts[limit.eligible].min())
        return np.asarray(counts <= term.max_skew + lowest - own)

    def reasons(self, c: int) -> list[NodeReason]:
        """Return the nodes refused, each by its first constraint in the order of the spec."""
        return list(self._reasons(self._state.problem.spread[c].hard))

    def _reasons(self, limits: tuple[Spread, ...]) -> Iterator[NodeReason]:
        seen: BoolArray | None = None
        for limit in limits:
            refused = ~self._passes(limit)
            if seen is not None:
                refused &= ~seen
            without = limit.domain_of < 0
            yield refused & without, _NO_LABEL, False
            yield refused & ~without, _UNEVEN, True
            seen = refused if seen is None else seen | refused
