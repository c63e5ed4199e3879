"""How much of a node would be in use: least allocated, most allocated, or by a given shape."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from koordopt.models.arrays import IntArray
from koordopt.solvers.heuristics.changes import Where
from koordopt.solvers.heuristics.fixed import SHIFT, SHIFT_ARRAY
from koordopt.solvers.heuristics.plugins import BEST, BoundScore
from koordopt.solvers.heuristics.profile import Strategy
from koordopt.solvers.heuristics.scores.shares import NATIVE, NodeShares
from koordopt.solvers.heuristics.state import PlacementState

_SHIFTS = [np.array(digits) for digits in range(64)]
_CUSTOM_SCALE = 10
"""Scores of a shape run from 0 to 10, scores of nodes from 0 to 100."""


class AllocationScore:
    r"""Scores a node by the share of each resource in use once the pod is there.

    Parameters
    ----------
    state
        The state that is scored.
    strategy
        ``LeastAllocated`` scores free room, ``MostAllocated`` use, ``RequestedToCapacityRatio``
        use by ``shape``.
    resources
        Resources with their weight.
    shape
        Utilisation (0 to 100) and score (0 to 10), ascending.

    Notes
    -----
    With capacity :math:`C_r` and use :math:`U_r`, the pod included, the score is the weighted mean
    of :math:`\lfloor 100 (C_r - U_r) / C_r \rfloor` or :math:`\lfloor 100 U_r / C_r \rfloor`, cut
    to whole points. Resources without capacity, and extended ones that the pod does not ask for,
    drop out; under a shape so do those that score 0, and the mean is rounded half up.
    """

    name = "NodeResourcesFit"
    best = BEST

    def __init__(
        self,
        state: PlacementState,
        strategy: Strategy,
        resources: Sequence[tuple[str, int]],
        shape: Sequence[tuple[int, int]],
    ) -> None:
        names = [name for name, _ in resources]
        self._weights = [weight for _, weight in resources]
        self._shares = NodeShares.of(
            state, names, with_defaults=True, is_free=strategy == "LeastAllocated"
        )
        self._table = _by_utilisation(shape) if strategy == "RequestedToCapacityRatio" else None
        self.refresh = self._shares.refresh

    def bind(self, c: int) -> BoundScore | None:
        """Return the score for class ``c``; None where no resource has a say."""
        shares = self._shares
        chosen = [
            k
            for k, use in enumerate(shares.uses)
            if self._weights[k] > 0
            and (use.resource in NATIVE or use.asked(c) > 0)
            and use.capacity.any()
        ]
        if not chosen:
            return None
        weights = np.array([self._weights[k] for k in chosen], dtype=np.int64)
        offered = np.where(shares.capacities[:, chosen] > 0, weights, 0)
        if self._table is not None:
            return self._bind_shape(c, chosen, offered)
        return self._bind_mean(c, chosen, offered)

    def _bind_mean(self, c: int, chosen: list[int], offered: IntArray) -> BoundScore:
        """Return the weighted mean of the shares, over the resources that a node offers."""
        row_of, row_list = self._shares.row_of, self._shares.row_list
        after, added = self._shares.after(c), self._shares.added(c)
        columns = None if len(chosen) == added.shape[1] else chosen
        totals = np.maximum(offered.sum(axis=1), 1)
        same_total = int(totals[0]) if (totals == totals[0]).all() else 0
        weights = list(np.ascontiguousarray(offered.T))
        fixed = [int(w[0]) if (w == w[0]).all() else None for w in weights]
        singles = [
            (self._shares.of_node[k], added[:, k].tolist(), weights[i].tolist())
            for i, k in enumerate(chosen)
        ]
        total_list: list[int] = totals.tolist()

        def one(n: int) -> int:
            row = row_list[n]
            score = 0
            for share_of, plus, weight in singles:
                share = (share_of[n] + plus[row]) >> SHIFT
                if share > 0:
                    score += weight[row] * (share if share < 100 else 100)
            return score // total_list[row]

        def many(where: Where) -> IntArray:
            parts = after(where)
            parts = (parts if columns is None else parts[:, columns]) >> SHIFT_ARRAY
            for i, same in enumerate(fixed):
                if same is None:
                    parts[:, i] *= weights[i].take(row_of.of(where))
                elif same != 1:
                    parts[:, i] *= same
            score = parts[:, 0] + parts[:, 1] if len(fixed) == 2 else parts.sum(axis=1)
            return _divided(score, same_total or totals.take(row_of.of(where)))

        return BoundScore(one, many, many)

    def _bind_shape(self, c: int, chosen: list[int], offered: IntArray) -> BoundScore:
        """Return the mean of the shape's scores, over the resources that score at all."""
        table = self._table
        assert table is not None  # only called with a shape
        points: list[int] = table.tolist()
        row_of, row_list = self._shares.row_of, self._shares.row_list
        after, added = self._shares.after(c), self._shares.added(c)
        singles = [
            (self._shares.of_node[k], added[:, k].tolist(), offered[:, i].tolist())
            for i, k in enumerate(chosen)
        ]

        def one(n: int) -> int:
            row = row_list[n]
            score = total = 0
            for share_of, plus, weight in singles:
                point = points[min((share_of[n] + plus[row]) >> SHIFT, 100)]
                if point > 0:
                    score += weight[row] * point
                    total += weight[row]
            return (2 * score + total) // (2 * total) if total else 0

        def many(where: Where) -> IntArray:
            rows, percent = row_of.of(where), after(where) >> SHIFT_ARRAY
            score, total = np.zeros_like(rows), np.zeros_like(rows)
            for i, k in enumerate(chosen):
                point = table.take(percent[:, k])
                weight = np.where(point > 0, offered[:, i].take(rows), 0)
                score += weight * point
                total += weight
            return (2 * score + total) // np.maximum(2 * total, 1)

        return BoundScore(one, many, many)


def _divided(score: IntArray, total: int | IntArray) -> IntArray:
    """Return ``score // total``, in place where ``total`` is a power of 2: a shift costs less."""
    if isinstance(total, int) and total & (total - 1) == 0:
        score >>= _SHIFTS[total.bit_length() - 1]
        return score
    return score // total


def _by_utilisation(shape: Sequence[tuple[int, int]]) -> IntArray:
    """Return the score of each whole per cent of utilisation, shape ``(101,)``.

    Between two points the score is linear, and divisions cut towards zero.
    """
    table = np.zeros(101, dtype=np.int64)
    for utilisation in range(101):
        table[utilisation] = _interpolate(utilisation, shape)
    return table


def _interpolate(utilisation: int, shape: Sequence[tuple[int, int]]) -> int:
    previous: tuple[int, int] | None = None
    for at, raw in shape:
        score = raw * _CUSTOM_SCALE
        if utilisation <= at:
            if previous is None:
                return score
            before, first = previous
            step = (score - first) * (utilisation - before)
            cut = abs(step) // (at - before)
            return first + (cut if step >= 0 else -cut)
        previous = (at, score)
    return previous[1] if previous else 0
