"""How evenly the resources of a node would be in use."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from koordopt.models.arrays import IntArray
from koordopt.solvers.heuristics.changes import Where
from koordopt.solvers.heuristics.fixed import SHIFT, share_up, shares
from koordopt.solvers.heuristics.plugins import BEST, BoundScore
from koordopt.solvers.heuristics.scores.shares import NATIVE, UseOf
from koordopt.solvers.heuristics.state import PlacementState

_FULL = 100 << SHIFT
# As arrays: NumPy takes longer over a Python integer than over the sum.
_TWICE_FULL, _SHIFT_AND_HALF = np.array(2 * _FULL), np.array(SHIFT + 1)


class BalancedScore:
    r"""Scores a node by how equal the used shares of its resources are.

    Parameters
    ----------
    state
        The state that is scored.
    resources
        Names of the resources.

    Notes
    -----
    With :math:`f_r = \min(1, U_r / C_r)`, the pod included, and :math:`\sigma` their standard
    deviation, the score is :math:`\lfloor 100 (1 - \sigma) \rfloor`; for two resources
    :math:`\sigma = |f_1 - f_2| / 2`. Resources without capacity drop out, and so do extended ones
    that the pod does not ask for. A pod that asks for none of them has no preference.
    """

    name = "NodeResourcesBalancedAllocation"
    best = BEST

    def __init__(self, state: PlacementState, resources: Sequence[str]) -> None:
        self._uses = [UseOf(state, name, with_defaults=False) for name in resources]
        shapes = state.shapes(tuple(use.resource for use in self._uses))
        self._rows, self._row_of, self._row_list = shapes.rows, shapes.of_node, shapes.of_node_list
        self._capacities = shapes.row_lists
        columns = [shares(use.all_used(), use.capacity, up=True) for use in self._uses]
        self._share = state.changes.track(np.stack(columns, axis=1))
        self._share_of: list[list[int]] = [column.tolist() for column in columns]
        self._columns = [
            (use.column, use.is_free, share_of)
            for use, share_of in zip(self._uses, self._share_of, strict=True)
        ]
        self._full = np.full((len(self._row_list), 2), _FULL)

    def refresh(self, n: int) -> None:
        """Take note that the pods of node ``n`` changed."""
        now, capacities = self._share.now, self._capacities[self._row_list[n]]
        for k, (column, is_free, share_of) in enumerate(self._columns):
            capacity, amount = capacities[k], column[n]
            share = share_up(capacity - amount if is_free else amount, capacity)
            share_of[n] = share
            now[n, k] = share

    def bind(self, c: int) -> BoundScore | None:
        """Return the score for class ``c``; None where the pod asks for nothing that counts."""
        asked = [use.asked(c) for use in self._uses]
        if not any(asked):
            return None
        chosen = [
            k
            for k, use in enumerate(self._uses)
            if (use.resource in NATIVE or asked[k] > 0) and use.capacity.any()
        ]
        added = [shares(asked[k], self._rows[:, k], up=True) for k in chosen]
        if len(chosen) == 2 and (self._rows[:, chosen] > 0).all():
            return self._bind_pair(chosen, added)
        return self._bind_many(chosen, added)

    def _bind_pair(self, chosen: list[int], added: list[IntArray]) -> BoundScore:
        """Return the score over two resources that every node offers."""
        first_of, second_of = (self._share_of[k] for k in chosen)
        plus_of = np.stack(added, axis=1)
        more_of: list[int] = added[0].tolist()
        other_of: list[int] = added[1].tolist()
        columns = None if chosen == list(range(len(self._uses))) else chosen
        share_of, row_of, row_list = self._share, self._row_of, self._row_list
        full = self._full

        def one(n: int) -> int:
            row = row_list[n]
            a, b = first_of[n] + more_of[row], second_of[n] + other_of[row]
            apart = (a if a < _FULL else _FULL) - (b if b < _FULL else _FULL)
            return (2 * _FULL - abs(apart)) >> (SHIFT + 1)

        def many(where: Where) -> IntArray:
            parts = plus_of.take(row_of.of(where), axis=0)
            shares_now = share_of.of(where)
            parts += shares_now if columns is None else shares_now[:, columns]
            np.minimum(parts, full[: len(parts)], out=parts)
            apart: IntArray = parts[:, 0] - parts[:, 1]
            np.abs(apart, out=apart)
            np.subtract(_TWICE_FULL, apart, out=apart)
            apart >>= _SHIFT_AND_HALF
            return apart

        return BoundScore(one, many, many)

    def _bind_many(self, chosen: list[int], added: list[IntArray]) -> BoundScore:
        """Return the score over any number of resources.

        The same operations in the same order on floats, so Python and NumPy agree to the bit.
        """
        offered = [self._rows[:, k] > 0 for k in chosen]
        share_of_all, row_of, row_list = self._share, self._row_of, self._row_list
        singles = [
            (self._share_of[k], plus.tolist(), has.tolist())
            for k, plus, has in zip(chosen, added, offered, strict=True)
        ]

        def one(n: int) -> int:
            row = row_list[n]
            parts = [
                min(share_of[n] + plus[row], _FULL) / _FULL
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
            rows, shares_now = row_of.of(where), share_of_all.of(where)
            parts, masks = [], []
            for k, plus, has in zip(chosen, added, offered, strict=True):
                share = shares_now[:, k]
                mask = has.take(rows)
                parts.append(np.where(mask, np.minimum(share + plus.take(rows), _FULL) / _FULL, 0))
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
