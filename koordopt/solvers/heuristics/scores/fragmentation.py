"""What a placement spoils of the idle cards of a node, for the pods that are expected next."""

from __future__ import annotations

import numpy as np

from koordopt.models.api import keys
from koordopt.models.arrays import IntArray
from koordopt.models.rules.device import WHOLE, CardRequest, CardShare
from koordopt.solvers.heuristics.filters.cards import CardFilter
from koordopt.solvers.heuristics.fragmentation import CardRequest as Request
from koordopt.solvers.heuristics.fragmentation import (
    ExpectedPods,
    NodeCards,
    fragmentation_score,
    most_frequent,
    placement_delta,
)
from koordopt.solvers.heuristics.plugins import BoundScore
from koordopt.solvers.heuristics.state import PlacementState

COVERED_PERCENT = 95
"""Share of the pending pods that the expected classes make up."""


class _ScoredOn:
    """The card that a class was scored on, by node, and the version of the node then."""

    __slots__ = ("card", "version")

    def __init__(self, count: int) -> None:
        self.card = np.full(count, -1, dtype=np.int16)
        self.version = np.full(count, -1, dtype=np.int32)


class FragmentationScore:
    """Scores nodes by how little a placement adds to their fragmentation.

    Notes
    -----
    The expected pods are the most frequent shapes of the pending ones that make up 95 % of them.
    Nodes that admit the same classes are one *model*. A card offers the lesser of its
    free compute and memory share; a request in bytes of memory is taken for the share that it is of
    the most common card.
    """

    name = "ExpectedFragmentation"

    def __init__(self, state: PlacementState, cards: CardFilter) -> None:
        self._state = state
        self._cards = cards
        self._memory_of_card = _most_common(state.problem.snapshot.cards.capacity[:, 2])
        self._expected, self._model = self._typical()
        axis = state.problem.snapshot.resource_index
        self._cpu, self._memory = axis[keys.RESOURCE_CPU], axis[keys.RESOURCE_MEMORY]
        self._version = np.zeros(len(self._model), dtype=np.int32)
        self._scored_on: dict[int, _ScoredOn] = {}

    def refresh(self, n: int) -> None:
        """Take note that the pods of node ``n`` changed; scores are read off the state."""
        if self._expected is not None:
            self._version[n] += 1

    def bind(self, c: int) -> BoundScore | None:
        """Return the score for class ``c``; None where no card can be spoilt by it."""
        expected, request = self._expected, self._request(c)
        if expected is None or request is None:
            return None
        has_cards = self._cards.has_cards
        idle = int(fragmentation_score(np.zeros(1, dtype=np.int64), expected.total_weight)[0])
        scored_on = self._scored_on[c] = _ScoredOn(len(has_cards))

        def one(n: int) -> int:
            return int(many(np.array([n]))[0]) if has_cards[n] else idle

        def many(nodes: IntArray | None) -> IntArray:
            chosen = np.arange(len(has_cards)) if nodes is None else nodes
            carded = has_cards[chosen]
            scores = np.full(len(chosen), idle, dtype=np.int64)
            with_cards = chosen[carded]
            delta, card = placement_delta(self._nodes(with_cards), request, expected)
            scores[carded] = fragmentation_score(delta, expected.total_weight)
            scored_on.card[with_cards] = card
            scored_on.version[with_cards] = self._version[with_cards]
            return scores

        return BoundScore(one, many)

    def choose_cards(self, c: int, n: int) -> tuple[CardShare, ...]:
        """Return the cards that a pod of class ``c`` gets on node ``n``, which must be feasible.

        A pod that shares one card gets the one it was scored on, where that serves it in compute,
        share and memory alike; the others as without this score.
        """
        request, expected = self._request(c), self._expected
        if request is not None and request.is_shared and expected is not None:
            scored_on = self._scored_on.get(c)
            if scored_on is not None and scored_on.version[n] == self._version[n]:
                card = int(scored_on.card[n])
            else:
                card = int(placement_delta(self._nodes(np.array([n])), request, expected)[1][0])
            for slot, share in self._cards.fitting(c, n):
                if slot == card:
                    return (share,)
        return self._cards.choose_cards(c, n)

    def _nodes(self, chosen: IntArray) -> NodeCards:
        free, room = self._state.free, self._state.card_free
        return NodeCards(
            cpu=free[self._cpu][chosen],
            memory=free[self._memory][chosen],
            cards=np.maximum(np.minimum(room[0][chosen], room[1][chosen]), 0),
            model=self._model[chosen],
        )

    def _shape(self, c: int) -> tuple[int, int, int, int]:
        """Return CPU, memory, cards and thousandths of each that class ``c`` asks for."""
        cls = self._state.problem.snapshot.classes[c]
        asked = cls.request.get
        count, share = 0, 0
        if isinstance(cls.cards, CardRequest):
            taken = cls.cards.on_card(self._memory_of_card) or (WHOLE, WHOLE, 0)
            count, share = cls.cards.count, min(max(1, taken[0], taken[1]), WHOLE)
        return asked(keys.RESOURCE_CPU, 0), asked(keys.RESOURCE_MEMORY, 0), count, share

    def _request(self, c: int) -> Request | None:
        """Return the request of class ``c``; None where it takes shares of several cards."""
        cpu, memory, count, share = self._shape(c)
        if count > 1 and share < WHOLE:
            return None
        return Request(cpu, memory, count, share)

    def _typical(self) -> tuple[ExpectedPods | None, IntArray]:
        """Return the expected pods, and the model of each node, shape ``(N,)``."""
        problem = self._state.problem
        pending = problem.snapshot.pods.class_of[problem.pending]
        classes, weight = np.unique(pending, return_counts=True)
        shapes = np.array([self._shape(c) for c in classes.tolist()], dtype=np.int64).reshape(-1, 4)
        cpu, memory, count, share = shapes.T
        if not count.any() or not self._cards.has_cards.any():
            return None, np.zeros(len(problem.capacity), dtype=np.int64)
        admits = np.array([problem.masks.eligible(c) for c in classes.tolist()])
        models, model = np.unique(admits, axis=1, return_inverse=True)
        every = ExpectedPods(cpu, memory, count, share, models, weight.astype(np.int64))
        return most_frequent(every, COVERED_PERCENT), model.reshape(-1).astype(np.int64)


def _most_common(values: IntArray) -> int:
    """Return the most frequent value above 0, the least of equals; 0 where there is none."""
    found, counts = np.unique(values[values > 0], return_counts=True)
    return int(found[counts.argmax()]) if len(found) else 0
