"""The baselines of the openb league: the policies of the published study.

They are re-implemented from their definitions by Weng et al. (USENIX ATC 2023), with the settings
of its published runs: integer scores of 0 to 100, and equal nodes taken in a fixed order.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.quality.openb_online import Cluster, LocalScore
from benchmarks.quality.openb_trace import Trace, expected_pods
from koordopt.solvers.heuristics.fragmentation import (
    WHOLE_CARD,
    CardRequest,
    ExpectedPods,
    Ints,
    fragmentation_score,
    most_frequent,
    placement_delta,
)

__all__ = ["BASELINES", "FirstOfBest"]

# The largest CPU and number of cards of a node, by which the published study scales.
_MOST_CPU = 128_000
_MOST_CARDS = 8 * WHOLE_CARD
_TYPICAL_PERCENT = 95


class FirstOfBest:
    """A policy that takes the first of the nodes with the highest score."""

    def __init__(self, score: LocalScore) -> None:
        self.score = score

    def pick(self, cluster: Cluster, scores: Ints, cards: Ints) -> tuple[int, int]:
        """Give the node and card of the highest score."""
        best = int(scores.argmax())
        return best, int(cards[best])


class RandomNode(FirstOfBest):
    """Any node that fits, any card on it that fits, all equally likely."""

    def __init__(self, seed: int) -> None:
        super().__init__(self._fitting_cards)
        self._random = np.random.default_rng(seed)

    def pick(self, cluster: Cluster, scores: Ints, cards: Ints) -> tuple[int, int]:
        """Give a node at random, and a card at random where the pod is shared."""
        node = int(self._random.choice(np.flatnonzero(scores == 0)))
        share = int(cards[node])
        if share < 0:
            return node, -1
        return node, int(self._random.choice(np.flatnonzero(cluster.nodes.cards[node] >= share)))

    @staticmethod
    def _fitting_cards(cluster: Cluster, rows: Ints, request: CardRequest) -> tuple[Ints, Ints]:
        share = request.share if request.is_shared else -1
        return np.zeros(rows.size, dtype=np.int64), np.full(rows.size, share)


def dot_product(cluster: Cluster, rows: Ints, request: CardRequest) -> tuple[Ints, Ints]:
    """Score nodes whose free CPU and cards are least aligned with the request (Tetris)."""
    cpu = cluster.nodes.cpu[rows] * request.cpu / _MOST_CPU**2
    idle = cluster.nodes.cards[rows].sum(axis=1)
    cards = idle * (request.count * request.share) / _MOST_CARDS**2
    return (100 * (1 - (cpu + cards) / 2)).astype(np.int64), tightest_card(cluster, rows, request)


def best_fit(cluster: Cluster, rows: Ints, request: CardRequest) -> tuple[Ints, Ints]:
    """Score nodes by how little CPU and cards they have left after the placement."""
    cpu = (cluster.nodes.cpu[rows] - request.cpu) / _MOST_CPU
    idle = cluster.nodes.cards[rows].sum(axis=1) - request.count * request.share
    left = (cpu + idle / _MOST_CARDS) / 2
    return (100 * (1 - left)).astype(np.int64), tightest_card(cluster, rows, request)


def clustering(cluster: Cluster, rows: Ints, request: CardRequest) -> tuple[Ints, Ints]:
    """Score nodes that run pods of the same number of cards above empty ones, those above others.

    Within each of the four groups, fuller nodes first.
    """
    card = tightest_card(cluster, rows, request)
    if not request.count:
        return np.zeros(rows.size, dtype=np.int64), card
    idle = cluster.nodes.cards[rows].sum(axis=1)
    running = cluster.kinds[rows] > 0
    same = running[:, 0 if request.is_shared else request.count]
    kinds = running.sum(axis=1)
    group = np.where(same, np.where(kinds == 1, 75, 50), np.where(kinds == 0, 25, 0))
    return 25 * (_MOST_CARDS - idle) // _MOST_CARDS + group, card


def packing(cluster: Cluster, rows: Ints, request: CardRequest) -> tuple[Ints, Ints]:
    """Score cards in use above free cards on nodes in use, and those above empty nodes."""
    card = tightest_card(cluster, rows, request)
    if not request.count:
        return np.zeros(rows.size, dtype=np.int64), card
    cards = cluster.nodes.cards[rows]
    free = (cards == WHOLE_CARD).sum(axis=1)
    empty = free * WHOLE_CARD == cluster.size[rows]
    on_used = np.full(rows.size, 100 // 2 - request.count)
    if request.is_shared:
        left = cards[np.arange(rows.size), card]
        on_used = np.where(left < WHOLE_CARD, 100 - left * 100 // WHOLE_CARD // 10, 100 // 2 - 1)
    on_used = np.maximum(on_used, 100 // 3)
    return np.where(empty, np.maximum(100 // 3 - free, free), on_used), card


def fragmentation_gradient(expected: ExpectedPods) -> LocalScore:
    """Give FGD: the score of nodes whose expected fragmentation rises least."""

    def score(cluster: Cluster, rows: Ints, request: CardRequest) -> tuple[Ints, Ints]:
        delta, card = placement_delta(cluster.nodes.rows(rows), request, expected)
        return fragmentation_score(delta, expected.total_weight), card

    return score


def tightest_card(cluster: Cluster, rows: Ints, request: CardRequest) -> Ints:
    """Give for a shared pod the fitting card with the least free, the first of equals; else -1."""
    if not request.is_shared:
        return np.full(rows.size, -1, dtype=np.int64)
    cards = cluster.nodes.cards[rows]
    tightest: Ints = np.where(cards >= request.share, cards, WHOLE_CARD + 1).argmin(axis=1)
    return tightest


def fgd(trace: Trace) -> FirstOfBest:
    """Give FGD for a trace: typical pods that cover 95 %, without regard to memory."""
    mix = expected_pods(trace)
    typical = most_frequent(mix, _TYPICAL_PERCENT, with_memory=False)
    return FirstOfBest(fragmentation_gradient(typical))


BASELINES: dict[str, Callable[[Trace, int], FirstOfBest]] = {
    "Random": lambda trace, seed: RandomNode(seed),
    "DotProd": lambda trace, seed: FirstOfBest(dot_product),
    "Clustering": lambda trace, seed: FirstOfBest(clustering),
    "Packing": lambda trace, seed: FirstOfBest(packing),
    "BestFit": lambda trace, seed: FirstOfBest(best_fit),
    "FGD": lambda trace, seed: fgd(trace),
}
"""The published study's policies, by name: each a policy for a trace and a seed."""
