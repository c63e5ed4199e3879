"""What the scores of cards share: how they see nodes, requests and the pods that are expected."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from koordopt.models.api import keys
from koordopt.models.arrays import IntArray
from koordopt.models.rules.device import WHOLE, CardRequest, CardShare
from koordopt.solvers.heuristics.filters.cards import CardFilter
from koordopt.solvers.heuristics.fragmentation import CardRequest as Request
from koordopt.solvers.heuristics.fragmentation import ExpectedPods, NodeCards, most_frequent
from koordopt.solvers.heuristics.plugins import BEST, BoundScore
from koordopt.solvers.heuristics.state import PlacementState


class CardView:
    """The cards of a cluster, and what pending pods ask of them, in thousandths of a card.

    Parameters
    ----------
    state
        The state that is seen.
    cards
        Knows which cards serve which pod.

    Attributes
    ----------
    has_cards
        Nodes with known cards, shape ``(N,)``.
    mix
        Every distinct request of the pending pods; None where none of them asks for cards, or no
        node has any.

    Notes
    -----
    Nodes that admit the same classes with cards are one *model*. A card offers the lesser of its
    free compute and memory share; a request in bytes of memory is taken for the share that it is
    of the most common card.
    """

    def __init__(self, state: PlacementState, cards: CardFilter) -> None:
        self._state = state
        self.has_cards = cards.has_cards
        self._memory_of_card = _most_common(state.problem.snapshot.cards.capacity[:, 2])
        axis = state.problem.snapshot.resource_index
        self._cpu, self._memory = axis[keys.RESOURCE_CPU], axis[keys.RESOURCE_MEMORY]
        self._model = np.zeros(len(self.has_cards), dtype=np.int64)
        self._requests: dict[int, Request | None] = {}
        self.mix = self._pending()

    def nodes(self, chosen: IntArray) -> NodeCards:
        """Return what the nodes ``chosen`` have free now."""
        free, room = self._state.free, self._state.card_free
        cards = np.minimum(room[0][chosen], room[1][chosen])
        return NodeCards(
            cpu=np.maximum(free[self._cpu][chosen], 0),
            memory=np.maximum(free[self._memory][chosen], 0),
            cards=np.minimum(np.maximum(cards, 0), WHOLE),
            model=self._model[chosen],
        )

    def request(self, c: int) -> Request | None:
        """Return the request of class ``c``; None where it takes shares of several cards."""
        if c not in self._requests:
            cpu, memory, count, share = self._shape(c)
            is_one_kind = count <= 1 or share == WHOLE
            self._requests[c] = Request(cpu, memory, count, share) if is_one_kind else None
        return self._requests[c]

    def _shape(self, c: int) -> tuple[int, int, int, int]:
        """Return CPU, memory, cards and thousandths of each that class ``c`` asks for."""
        cls = self._state.problem.snapshot.classes[c]
        asked = cls.request.get
        count, share = 0, 0
        if isinstance(cls.cards, CardRequest):
            taken = cls.cards.on_card(self._memory_of_card) or (WHOLE, WHOLE, 0)
            count, share = cls.cards.count, min(max(1, taken[0], taken[1]), WHOLE)
        return asked(keys.RESOURCE_CPU, 0), asked(keys.RESOURCE_MEMORY, 0), count, share

    def _pending(self) -> ExpectedPods | None:
        """Return the requests of the pending pods, and note the model of each node."""
        problem = self._state.problem
        pending = problem.snapshot.pods.class_of[problem.pending]
        classes, weight = np.unique(pending, return_counts=True)
        shapes = np.array([self._shape(c) for c in classes.tolist()], dtype=np.int64).reshape(-1, 4)
        cpu, memory, count, share = shapes.T
        if not count.any() or not self.has_cards.any():
            return None
        # Which nodes a class without cards may use says nothing about cards.
        on_cards = [problem.masks.eligible(c) for c in classes[count > 0].tolist()]
        kinds, model = np.unique(np.array(on_cards)[:, self.has_cards], axis=1, return_inverse=True)
        self._model[self.has_cards] = model.reshape(-1)
        models = np.ones((len(classes), kinds.shape[1]), dtype=np.bool_)
        models[count > 0] = kinds
        every = ExpectedPods(cpu, memory, count, share, models, weight.astype(np.int64))
        return most_frequent(every, 100)


class _ScoredOn:
    """The card that a class was scored on, by node, and the version of the node then."""

    __slots__ = ("card", "version")

    def __init__(self, count: int) -> None:
        self.card = np.full(count, -1, dtype=np.int16)
        self.version = np.full(count, -1, dtype=np.int32)


class CardScore(ABC):
    """Scores nodes by what a placement does to their cards, and says which card it takes.

    Parameters
    ----------
    state
        The state that is scored.
    cards
        Knows which cards serve which pod.
    without_cards
        The score of a node without known cards.
    """

    name: str
    best = BEST

    def __init__(self, state: PlacementState, cards: CardFilter, without_cards: int) -> None:
        self._cards = cards
        self._view = CardView(state, cards)
        self._without_cards = without_cards
        self._version = np.zeros(len(cards.has_cards), dtype=np.int32)
        self._scored_on: dict[int, _ScoredOn] = {}

    @abstractmethod
    def _judge(self, nodes: NodeCards, request: Request) -> tuple[IntArray, IntArray]:
        """Return score and card of nodes that can run a pod; -1 where it shares no card."""

    def refresh(self, n: int) -> None:
        """Take note that the pods of node ``n`` changed; scores are read off the state."""
        if self._view.mix is not None:
            self._version[n] += 1

    def concerns(self, c: int) -> bool:
        """Return whether the score has anything to say about class ``c``."""
        return self._view.mix is not None and self._view.request(c) is not None

    def bind(self, c: int) -> BoundScore | None:
        """Return the score for class ``c``; None where no card can be spoilt by it."""
        request = self._view.request(c)
        if request is None or not self.concerns(c):
            return None
        has_cards, without_cards = self._view.has_cards, self._without_cards
        scored_on = self._scored_on[c] = _ScoredOn(len(has_cards))

        def one(n: int) -> int:
            return int(many(np.array([n]))[0]) if has_cards[n] else without_cards

        def many(nodes: IntArray | None) -> IntArray:
            chosen = np.arange(len(has_cards)) if nodes is None else nodes
            carded = has_cards[chosen]
            scores = np.full(len(chosen), without_cards, dtype=np.int64)
            with_cards = chosen[carded]
            scores[carded], card = self._judge(self._view.nodes(with_cards), request)
            scored_on.card[with_cards] = card
            scored_on.version[with_cards] = self._version[with_cards]
            return scores

        return BoundScore(one, many)

    def choose_cards(self, c: int, n: int) -> tuple[CardShare, ...]:
        """Return the cards that a pod of class ``c`` gets on node ``n``, which must be feasible.

        A pod that shares one card gets the one it was scored on, where that serves it in compute,
        share and memory alike; the others as without this score.
        """
        request = self._view.request(c)
        if request is not None and request.is_shared and self.concerns(c):
            scored_on = self._scored_on.get(c)
            if scored_on is not None and scored_on.version[n] == self._version[n]:
                card = int(scored_on.card[n])
            else:
                card = int(self._judge(self._view.nodes(np.array([n])), request)[1][0])
            for slot, share in self._cards.fitting(c, n):
                if slot == card:
                    return (share,)
        return self._cards.choose_cards(c, n)


def _most_common(values: IntArray) -> int:
    """Return the most frequent value above 0, the least of equals; 0 where there is none."""
    found, counts = np.unique(values[values > 0], return_counts=True)
    return int(found[counts.argmax()]) if len(found) else 0
