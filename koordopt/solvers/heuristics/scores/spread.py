"""Soft topology spread: fewer matching pods in a node's domains are better."""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from koordopt.models.api import keys
from koordopt.models.arrays import BoolArray, IntArray
from koordopt.models.rules.spread import Spread
from koordopt.solvers.heuristics.state import PlacementState

FloatArray: TypeAlias = NDArray[np.float64]
_BEST = 100


class SpreadScore:
    r"""Scores nodes by how many matching pods their domains hold already.

    Notes
    -----
    With :math:`c_{s,n}` the pods that constraint ``s`` counts in the domain of node ``n``, and
    :math:`T_s` its domains among the feasible nodes that have the keys of all constraints,

    .. math:: v_n = \operatorname{round}\Bigl(\sum_s c_{s,n} \ln(T_s + 2) + k_s - 1\Bigr), \qquad
        \Bigl\lfloor 100\, \frac{\max v + \min v - v_n}{\max v} \Bigr\rfloor .

    The logarithm keeps a key with many small domains from outweighing one with few large ones.
    All nodes get 100 where every :math:`v_n` is 0; nodes that lack a key get 0.
    """

    name = "PodTopologySpread"

    def __init__(self, state: PlacementState) -> None:
        self._state = state
        self._with_keys: dict[int, BoolArray] = {}

    def concerns(self, c: int) -> bool:
        """Return whether class ``c`` has soft constraints."""
        return bool(self._state.problem.spread[c].soft)

    def scores(self, c: int, feasible: BoolArray) -> IntArray | None:
        """Return 0 to 100 for each node, ``(N,)``; None without soft constraints."""
        wishes = self._state.problem.spread[c].soft
        if not wishes:
            return None
        if c not in self._with_keys:
            self._with_keys[c] = np.logical_and.reduce([w.domain_of >= 0 for w in wishes])
        judged = np.flatnonzero(feasible & self._with_keys[c])
        result = np.zeros(len(feasible), dtype=np.int64)
        if not len(judged):
            return result
        total = np.zeros(len(judged), dtype=np.float64)
        for wish in wishes:
            total += self._part(wish, judged)
        raw = np.floor(total + 0.5).astype(np.int64)
        largest, least = int(raw.max()), int(raw.min())
        result[judged] = _BEST * (largest + least - raw) // largest if largest else _BEST
        return result

    def _part(self, wish: Spread, judged: IntArray) -> FloatArray:
        """Return what one constraint adds for each of the nodes ``judged``."""
        domains = wish.domain_of[judged]
        by_host = wish.term.key == keys.LABEL_HOSTNAME
        count = len(judged) if by_host else len(np.unique(domains))
        surplus = wish.term.max_skew - 1
        if wish.counter is None:
            return np.full(len(judged), float(surplus))
        counts = self._state.counts_array(wish.counter)[domains].astype(np.float64)
        part: FloatArray = counts * math.log(count + 2) + surplus
        return part
