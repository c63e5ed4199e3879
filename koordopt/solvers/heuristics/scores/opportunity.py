"""What a placement takes from the pods that are expected next, as a score."""

from __future__ import annotations

from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np

from koordopt.models.arrays import BoolArray, IntArray
from koordopt.solvers.heuristics.filters.cards import CardFilter
from koordopt.solvers.heuristics.fragmentation import CardRequest, NodeCards
from koordopt.solvers.heuristics.opportunity import (
    Outlook,
    Scarcity,
    opportunity_cost,
    outlook,
    scarcity,
)
from koordopt.solvers.heuristics.plugins import BoundScore, LocalScore
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

    @property
    def is_active(self) -> bool:
        """Whether there are cards, and pending pods that ask for them."""
        return self._ahead is not None

    @property
    def has_cards(self) -> BoolArray:
        """Nodes with known cards, shape ``(N,)``."""
        return self._view.has_cards

    def takes_cards(self, c: int) -> bool:
        """Return whether class ``c`` asks for cards in a way that has a cost."""
        request = self._view.request(c)
        return request is not None and request.count > 0

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


class SilentOnCards:
    """A score of resources, without a say about pods that ask for cards, and nodes that have them.

    Parameters
    ----------
    score
        The score.
    priced
        Speaks in its stead.
    state
        The state that is scored.

    Notes
    -----
    Which of two nodes of equal cost has more free must not decide: they are to fill up in their
    fixed order, so that the last ones stay whole. Where no class has a cost, ``score`` speaks as
    ever. A pod without cards gets 0 on nodes with cards, and so goes to one without where it can.
    """

    def __init__(self, score: LocalScore, priced: OpportunityScore, state: PlacementState) -> None:
        self.name, self.best = score.name, score.best
        self.refresh = score.refresh
        self._score, self._priced = score, priced
        self._counts = state.changes.track((~priced.has_cards).astype(np.int64))

    def bind(self, c: int) -> BoundScore | None:
        """Return the score for class ``c``; None where all nodes get the same."""
        bound, counts = self._score.bind(c), self._counts
        if bound is None or not self._priced.is_active:
            return bound
        if self._priced.takes_cards(c) or not counts.now.any():
            return None
        one_of, many_of, recent_of = bound.one, bound.many, bound.recent
        counts_of: list[int] = counts.now.tolist()

        def many(nodes: IntArray | None) -> IntArray:
            values = many_of(nodes)
            values *= counts.of(nodes)
            return values

        def recent(part: slice) -> IntArray:
            assert recent_of is not None
            values = recent_of(part)
            values *= counts.of(part)
            return values

        return BoundScore(
            lambda n: one_of(n) if counts_of[n] else 0,
            many,
            None if recent_of is None else recent,
        )
