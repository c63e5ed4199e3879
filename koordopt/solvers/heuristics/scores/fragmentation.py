"""What a placement spoils of the idle cards of a node, for the pods that are expected next."""

from __future__ import annotations

import numpy as np

from koordopt.models.arrays import IntArray
from koordopt.solvers.heuristics.filters.cards import CardFilter
from koordopt.solvers.heuristics.fragmentation import (
    CardRequest,
    NodeCards,
    fragmentation_score,
    most_frequent,
    placement_delta,
)
from koordopt.solvers.heuristics.scores.card_score import CardScore
from koordopt.solvers.heuristics.state import PlacementState

COVERED_PERCENT = 95
"""Share of the pending pods that the expected classes make up."""


class FragmentationScore(CardScore):
    """Scores nodes by how little a placement adds to their fragmentation.

    Notes
    -----
    The expected pods are the most frequent shapes of the pending ones that make up 95 % of them.
    """

    name = "ExpectedFragmentation"

    def __init__(self, state: PlacementState, cards: CardFilter) -> None:
        unchanged = fragmentation_score(np.zeros(1, dtype=np.int64), 1)
        super().__init__(state, cards, without_cards=int(unchanged[0]))
        mix = self._view.mix
        self._expected = None if mix is None else most_frequent(mix, COVERED_PERCENT)

    def _judge(self, nodes: NodeCards, request: CardRequest) -> tuple[IntArray, IntArray]:
        expected = self._expected
        assert expected is not None  # nothing is judged without a mix
        delta, card = placement_delta(nodes, request, expected)
        return fragmentation_score(delta, expected.total_weight), card
