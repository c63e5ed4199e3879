"""How evenly the resources of a node would be in use."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from koordopt.models.arrays import IntArray
from koordopt.solvers.heuristics.fixed import SHIFT, share_up, shares
from koordopt.solvers.heuristics.plugins import BoundScore
from koordopt.solvers.heuristics.scores.shares import NATIVE, UseOf, shape_index
from koordopt.solvers.heuristics.state import PlacementState

_FULL = 100 << SHIFT


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

    def __init__(self, state: PlacementState, resources: Sequence[str]) -> None:
        self._uses = [UseOf(state, name, with_defaults=False) for name in resources]
        self._capacity = [use.capacity.tolist() for use in self._uses]
        self._rows, self._row_of = shape_index([use.capacity for use in self._uses])
        self._row_list: list[int] = self._row_of.tolist()
        self._share = [shares(use.all_used(), use.capacity, up=True) for use in self._uses]
        self._share_of: list[list[int]] = [column.tolist() for column in self._share]

    def refresh(self, n: int) -> None:
        """Take note that the pods of node ``n`` changed."""
        for k, use in enumerate(self._uses):
            share = share_up(use.used(n), self._capacity[k][n])
            self._share_of[k][n] = share
            self._share[k][n] = share

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
        first, second = (self._share[k] for k in chosen)
        first_of, second_of = (self._share_of[k] for k in chosen)
        more, other = added
        more_of: list[int] = more.tolist()
        other_of: list[int] = other.tolist()
        row_of, row_list = self._row_of, self._row_list

        def one(n: int) -> int:
            row = row_list[n]
            a, b = first_of[n] + more_of[row], second_of[n] + other_of[row]
            apart = min(a, _FULL) - min(b, _FULL)
            return (2 * _FULL - abs(apart)) >> (SHIFT + 1)

        def many(nodes: IntArray | None) -> IntArray:
            rows = row_of if nodes is None else row_of.take(nodes)
            apart = more.take(rows)
            apart += first if nodes is None else first.take(nodes)
            np.minimum(apart, _FULL, out=apart)
            part = other.take(rows)
            part += second if nodes is None else second.take(nodes)
            np.minimum(part, _FULL, out=part)
            apart -= part
            np.abs(apart, out=apart)
            np.subtract(2 * _FULL, apart, out=apart)
            apart >>= SHIFT + 1
            return apart

        return BoundScore(one, many)

    def _bind_many(self, chosen: list[int], added: list[IntArray]) -> BoundScore:
        """Return the score over any number of resources.

        The same operations in the same order on floats, so Python and NumPy agree to the bit.
        """
        offered = [self._rows[:, k] > 0 for k in chosen]
        row_of, row_list = self._row_of, self._row_list
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

        def many(nodes: IntArray | None) -> IntArray:
            rows = row_of if nodes is None else row_of.take(nodes)
            parts, masks = [], []
            for k, plus, has in zip(chosen, added, offered, strict=True):
                share = self._share[k] if nodes is None else self._share[k].take(nodes)
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

        return BoundScore(one, many)
