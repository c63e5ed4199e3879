"""One pod at a time: arrivals, decide, place. No second chance, nothing moves, nothing departs."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from benchmarks.quality.openb_trace import POINTS, Trace
from koordopt.solvers.heuristics.fragmentation import (
    CardRequest,
    Ints,
    NodeCards,
    fits,
    place,
)

__all__ = ["Cluster", "Scorer", "run_online"]

_UNFIT = np.iinfo(np.int64).min


class Scorer(Protocol):
    """Scores nodes for one pod; a node's score depends on that node alone."""

    def __call__(self, cluster: Cluster, rows: Ints, request: CardRequest) -> tuple[Ints, Ints]:
        """Give score and card (-1 where the pod is not shared) of the nodes ``rows``, which fit."""


class Cluster:
    """The nodes' state, and a log of the nodes that changed.

    ``kinds`` counts the running pods of each kind on every node, as the Clustering baseline needs:
    column 0 for shared pods, column ``n`` for pods of ``n`` whole cards.
    """

    def __init__(self, nodes: NodeCards) -> None:
        self.nodes = NodeCards(
            nodes.cpu.copy(), nodes.memory.copy(), nodes.cards.copy(), nodes.model
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


class _ScoreRow:
    """The scores of all nodes for one class, kept up to date by scoring changed nodes alone."""

    def __init__(self, request: CardRequest, nodes: int) -> None:
        self.request = request
        self.score = np.full(nodes, _UNFIT, dtype=np.int64)
        self.card = np.full(nodes, -1, dtype=np.int64)
        self.seen = -1

    def repair(self, cluster: Cluster, scorer: Scorer) -> None:
        if self.seen < 0:
            stale = np.arange(self.score.size)
        else:
            stale = np.array(sorted(set(cluster.changed[self.seen :])), dtype=np.int64)
        self.seen = len(cluster.changed)
        if stale.size == 0:
            return
        able = fits(cluster.nodes.rows(stale), self.request)
        self.score[stale[~able]] = _UNFIT
        rows = stale[able]
        if rows.size:
            self.score[rows], self.card[rows] = scorer(cluster, rows, self.request)


def run_online(trace: Trace, order: Ints, scorer: Scorer, node_order: Ints) -> Ints:
    """Place the arrivals in order, each on the node of the highest score, the first of equals.

    Parameters
    ----------
    trace
        Nodes and classes.
    order
        Class of each arriving pod.
    scorer
        The policy.
    node_order
        The order in which equal nodes are taken, a permutation of the nodes.

    Returns
    -------
    Ints
        Thousandths of a card allocated when each of ``POINTS`` per cent were requested.
    """
    cluster = Cluster(trace.nodes.rows(node_order))
    rows = [_ScoreRow(request, node_order.size) for request in trace.requests]
    asked = trace.asked
    arrived = asked[order].cumsum()
    marks = np.searchsorted(arrived, np.array(POINTS) * trace.capacity // 100)
    gained = np.zeros(order.size, dtype=np.int64)
    refresh = getattr(scorer, "refresh", None)
    for position, number in enumerate(order.tolist()):
        if refresh is not None and position % 64 == 0 and refresh(cluster):
            for row in rows:
                row.seen = -1
        row = rows[number]
        row.repair(cluster, scorer)
        best = int(row.score.argmax())
        if row.score[best] != _UNFIT:
            cluster.place(best, row.request, int(row.card[best]))
            gained[position] = asked[number]
    return gained.cumsum()[np.minimum(marks, order.size - 1)]
