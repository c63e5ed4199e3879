"""How evenly the resources of a node would be in use."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from koordopt.models.arrays import IntArray
from koordopt.solvers.heuristics.changes import Where
from koordopt.solvers.heuristics.fixed import SHIFT
from koordopt.solvers.heuristics.plugins import BEST, BoundScore
from koordopt.solvers.heuristics.scores.shares import FULL, NATIVE, NodeShares
from koordopt.solvers.heuristics.state import PlacementState

# As arrays: NumPy takes longer over a Python integer than over the sum.
_TWICE_FULL, _SHIFT_AND_HALF = np.array(2 * FULL), np.array(SHIFT + 1)


class BalancedScore:
    r"""Scores a node by how equal the used shares of its resources are.

    Parameters
    ----------
    state
        The state that is scored.
    resources
        Names of the resources.
    is_free
        Whether to reckon with free room, as another score does, instead of use: how far they are
        apart is the same.

    Notes
    -----
    With :math:`f_r = \min(1, U_r / C_r)`, the pod included, and :math:`\sigma` their standard
    deviation, the score is :math:`\lfloor 100 (1 - \sigma) \rfloor`; for two resources
    :math:`\sigma = |f_1 - f_2| / 2`. Resources without capacity drop out, and so do extended ones
    that the pod does not ask for. A pod that asks for none of them has no preference.
    """

    name = "NodeResourcesBalancedAllocation"
    best = BEST

    def __init__(self, state: PlacementState, resources: Sequence[str], *, is_free: bool) -> None:
        self._shares = NodeShares.of(state, resources, with_defaults=False, is_free=is_free)
        self.refresh = self._shares.refresh

    def bind(self, c: int) -> BoundScore | None:
        """Return the score for class ``c``; None where the pod asks for nothing that counts."""
        shares = self._shares
        asked = [use.asked(c) for use in shares.uses]
        if not any(asked):
            return None
        chosen = [
            k
            for k, use in enumerate(shares.uses)
            if (use.resource in NATIVE or asked[k] > 0) and use.capacity.any()
        ]
        if len(chosen) == 2 and (shares.capacities[:, chosen] > 0).all():
            return self._bind_pair(c, *chosen)
        return self._bind_many(c, chosen)

    def _bind_pair(self, c: int, first: int, second: int) -> BoundScore:
        """Return the score over two resources that every node offers."""
        shares, after, added = self._shares, self._shares.after(c), self._shares.added(c)
        first_of, second_of = shares.of_node[first], shares.of_node[second]
        more_of: list[int] = added[:, first].tolist()
        other_of: list[int] = added[:, second].tolist()
        row_list = shares.row_list
        # How far apart use is, free room is.
        limited: Callable[[int, int], int] = max if shares.is_free else min
        bound = 0 if shares.is_free else FULL

        def one(n: int) -> int:
            row = row_list[n]
            a, b = first_of[n] + more_of[row], second_of[n] + other_of[row]
            apart = limited(a, bound) - limited(b, bound)
            return (2 * FULL - abs(apart)) >> (SHIFT + 1)

        def many(where: Where) -> IntArray:
            parts = after(where)
            apart: IntArray = parts[:, first] - parts[:, second]
            np.abs(apart, out=apart)
            np.subtract(_TWICE_FULL, apart, out=apart)
            apart >>= _SHIFT_AND_HALF
            return apart

        return BoundScore(one, many, many)

    def _bind_many(self, c: int, chosen: list[int]) -> BoundScore:
        """Return the score over any number of resources.

        The same operations in the same order on floats, so Python and NumPy agree to the bit.
        """
        shares, after, added = self._shares, self._shares.after(c), self._shares.added(c)
        row_of, row_list = shares.row_of, shares.row_list
        limited: Callable[[int, int], int] = max if shares.is_free else min
        bound = 0 if shares.is_free else FULL
        offered = [shares.capacities[:, k] > 0 for k in chosen]
        singles = [
            (shares.of_node[k], added[:, k].tolist(), has.tolist())
            for k, has in zip(chosen, offered, strict=True)
        ]

        def one(n: int) -> int:
            row = row_list[n]
            parts = [
                limited(share_of[n] + plus[row], bound) / FULL
                for share_of, plus, has in singles
                if has[row]
            ]
            count = max(1, len(parts))
            mean = sum(parts) / count
            square = 0.0
            for part in parts:
                square += (part - mean) * (part - mean)
            return math.floor((1.0 - math.sqrt(square / count)) * 100.0)

        def many(where: Where) -> IntArray:
            rows, values = row_of.of(where), after(where)
            parts, masks = [], []
            for k, has in zip(chosen, offered, strict=True):
                mask = has.take(rows)
                parts.append(np.where(mask, values[:, k] / FULL, 0))
                masks.append(mask)
            count = np.maximum(np.sum(masks, axis=0), 1)
            total, square = np.zeros(len(rows)), np.zeros(len(rows))
            for part in parts:
                total += part
            mean = total / count
            for part, mask in zip(parts, masks, strict=True):
                square += np.where(mask, (part - mean) * (part - mean), 0.0)
            score: IntArray = np.floor((1.0 - np.sqrt(square / count)) * 100.0).astype(np.int64)
            return score

        return BoundScore(one, many, many)
