"""What a placement takes from the pods that are expected next, as a score."""

from __future__ import annotations

from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np

from koordopt.models.arrays import IntArray
from koordopt.solvers.heuristics.filters.cards import CardFilter
from koordopt.solvers.heuristics.fragmentation import CardRequest, NodeCards
from koordopt.solvers.heuristics.opportunity import (
    Outlook,
    Scarcity,
    opportunity_cost,
    outlook,
    scarcity,
)
from koordopt.solvers.heuristics.plugins import BoundScore
from koordopt.solvers.heuristics.scores.card_score import CardScore
from koordopt.solvers.heuristics.state import PlacementState

FREE: Final = 1000
"""The score of a placement that costs nothing; one step of cost is one point."""

PLACEMENTS_PER_PRICE: Final = 64
"""So many placements are made between two looks at what is scarce."""

ROWS_AT_ONCE: Final = 1024
"""So many nodes are judged at once: what a pass needs per node, card and shape adds up."""


class _Prices(NamedTuple):
    """Prices, and a number that no other prices of the run have."""

    epoch: int
    scarcity: Scarcity


class OpportunityScore(CardScore):
    """Scores nodes by how little a placement costs the pods that are expected next.

    Notes
    -----
    The expected pods are all that are pending. A cost of ``s`` steps scores ``1000 - s``, within
    0 and 2000: a step is 40 thousandths of a card. On nodes of eight cards, costs from -40 to 460
    were met in the openb benchmark, so that no order is lost.

    Prices are those of the moment when the number of placements was last a multiple of 64. They
    are kept for as long as those placements stand: after an undo the earlier ones hold again, so
    that decisions depend on the placements alone, and not on what was tried in between.
    """

    name = "OpportunityCost"
    best = 2 * FREE

    def __init__(self, state: PlacementState, cards: CardFilter) -> None:
        super().__init__(state, cards, without_cards=FREE)
        self._placed = state.placed
        self._carded = np.flatnonzero(cards.has_cards)
        self._epochs = 0
        mix = self._view.mix
        self._ahead: Outlook | None = None
        self._prices: list[_Prices] = []
        if mix is not None:
            self._ahead = outlook(mix, state.card_free.shape[2])
            self._prices.append(_Prices(0, self._scarcity(self._ahead)))

    def refresh(self, n: int) -> None:
        """Take note that the pods of node ``n`` changed, and look at what is scarce if it is time.

        A change is one placement, or one taken back.
        """
        super().refresh(n)
        ahead = self._ahead
        if ahead is None:
            return
        due, epoch = len(self._placed) // PLACEMENTS_PER_PRICE, self._prices[-1].epoch
        if due < len(self._prices) - 1:
            self._prices.pop()
        elif due >= len(self._prices):
            found = self._scarcity(ahead)
            if found.same_as(self._prices[-1].scarcity):
                self._prices.append(self._prices[-1])
            else:
                self._epochs += 1
                self._prices.append(_Prices(self._epochs, found))
        if self._prices[-1].epoch != epoch:
            self._version += 1  # which card is cheapest may have changed as well

    def bind(self, c: int) -> BoundScore | None:
        """Return the score for class ``c``; None where no card can be spoilt by it."""
        bound = super().bind(c)
        return None if bound is None else replace(bound, epoch=self._epoch)

    def _epoch(self) -> int:
        return self._prices[-1].epoch

    def _scarcity(self, ahead: Outlook) -> Scarcity:
        return scarcity(self._view.nodes(self._carded), ahead)

    def _judge(self, nodes: NodeCards, request: CardRequest) -> tuple[IntArray, IntArray]:
        ahead, size = self._ahead, nodes.cpu.size
        assert ahead is not None  # nothing is judged without a mix
        if size > ROWS_AT_ONCE:
            starts = range(0, size, ROWS_AT_ONCE)
            parts = [self._judge(nodes.rows(slice(k, k + ROWS_AT_ONCE)), request) for k in starts]
            scores, cards = zip(*parts, strict=True)
            return np.concatenate(scores), np.concatenate(cards)
        cost, card = opportunity_cost(nodes, request, ahead, self._prices[-1].scarcity)
        return np.minimum(np.maximum(FREE - cost, 0), self.best), card
