"""One pod at a time: arrivals, decide, place. No second chance, nothing moves, nothing departs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from benchmarks.quality.openb_trace import POINTS, Trace
from koordopt.solvers.heuristics.fragmentation import (
    Bools,
    CardRequest,
    Ints,
    NodeCards,
    fits,
    place,
)

__all__ = ["UNFIT", "Cluster", "LocalScore", "Policy", "allocated", "run_online"]

UNFIT = np.iinfo(np.int64).min
"""The score of a node that cannot run the pod."""


class Cluster:
    """The nodes' state, and a log of the nodes that changed.

    ``kinds`` counts the running pods of each kind on every node, as the Clustering baseline needs:
    column 0 for shared pods, column ``n`` for pods of ``n`` whole cards.
    """

    def __init__(self, nodes: NodeCards) -> None:
        self.nodes = NodeCards(
            nodes.cpu.copy(), nodes.memory.copy(), nodes.cards.copy(), nodes.model.copy()
        )
        self.size = nodes.cards.sum(axis=1)
        self.kinds = np.zeros((nodes.cpu.size, nodes.cards.shape[1] + 1), dtype=np.int64)
        self.changed: list[int] = []

    def place(self, node: int, request: CardRequest, card: int) -> None:
        """Put one pod on a node."""
        row = np.array([node])
        after = place(self.nodes.rows(row), request, np.array([card]))
        self.nodes.cpu[node] = after.cpu[0]
        self.nodes.memory[node] = after.memory[0]
        self.nodes.cards[node] = after.cards[0]
        if request.count:
            self.kinds[node, 0 if request.is_shared else request.count] += 1
        self.changed.append(node)


LocalScore = Callable[[Cluster, Ints, CardRequest], tuple[Ints, Ints]]
"""Score and card (-1 where the pod is not shared) of the given nodes, which fit.

A node's score depends on that node's own state alone.
"""


class Policy(Protocol):
    """Decides where a pod goes."""

    score: LocalScore

    def pick(self, cluster: Cluster, scores: Ints, cards: Ints) -> tuple[int, int]:
        """Give node and card; some node's score is not ``UNFIT``."""


class _ScoreRow:
    """The scores of all nodes for one class, kept up to date by scoring changed nodes alone."""

    def __init__(self, request: CardRequest, nodes: int) -> None:
        self.request = request
        self.score = np.full(nodes, UNFIT, dtype=np.int64)
        self.card = np.full(nodes, -1, dtype=np.int64)
        self._seen: int | None = None

    def repair(self, cluster: Cluster, policy: Policy) -> None:
        """Score the nodes that changed since the last time; all of them the first time."""
        if self._seen is None:
            stale = np.arange(self.score.size)
        else:
            stale = np.array(sorted(set(cluster.changed[self._seen :])), dtype=np.int64)
        self._seen = len(cluster.changed)
        if stale.size == 0:
            return
        able = fits(cluster.nodes.rows(stale), self.request)
        self.score[stale[~able]] = UNFIT
        rows = stale[able]
        if rows.size:
            self.score[rows], self.card[rows] = policy.score(cluster, rows, self.request)


def run_online(trace: Trace, order: Ints, node_order: Ints, policy: Policy) -> Ints:
    """Place the arrivals in order, each where the policy says; a pod that fits nowhere is refused.

    Parameters
    ----------
    trace
        Nodes and classes.
    order
        Class of each arriving pod.
    node_order
        The order in which equal nodes are taken, a permutation of the nodes.
    policy
        Decides.

    Returns
    -------
    Ints
        Thousandths of a card allocated when each of ``POINTS`` per cent were requested.
    """
    cluster = Cluster(trace.nodes.rows(node_order))
    rows = [_ScoreRow(request, node_order.size) for request in trace.requests]
    is_placed = np.zeros(order.size, dtype=np.bool_)
    for position, number in enumerate(order.tolist()):
        row = rows[number]
        row.repair(cluster, policy)
        if row.score.max() > UNFIT:
            node, card = policy.pick(cluster, row.score, row.card)
            cluster.place(node, row.request, card)
            is_placed[position] = True
    return allocated(trace, order, is_placed)


def allocated(trace: Trace, order: Ints, is_placed: Bools) -> Ints:
    """Give the thousandths allocated when each of ``POINTS`` per cent were requested.

    Parameters
    ----------
    trace
        Classes.
    order
        Class of each arriving pod.
    is_placed
        Whether it was placed.
    """
    asked = trace.asked
    gained = np.where(is_placed, asked[order], 0)
    marks = np.searchsorted(asked[order].cumsum(), np.array(POINTS) * trace.capacity // 100)
    return gained.cumsum()[np.minimum(marks, order.size - 1)]
