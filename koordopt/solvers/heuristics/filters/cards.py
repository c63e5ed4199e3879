"""GPU cards that a pod would get, and the nodes that have them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from koordopt.models.arrays import BoolArray, IntArray
from koordopt.models.rules import device
from koordopt.models.rules.device import CardRequest, CardShare, InvalidCardRequest
from koordopt.solvers.heuristics.plugins import BoundFilter, NodeReason
from koordopt.solvers.heuristics.state import PlacementState


@dataclass(frozen=True, eq=False)
class CardNeed:
    """What a pod of one class takes of each card.

    Attributes
    ----------
    request
        The request.
    kind_of
        Index of each card slot's memory size, shape ``(N, K)``.
    taken
        Core, share and memory by memory size, shape ``(3, kinds)``; more than any card has where
        it can never serve.
    """

    request: CardRequest
    kind_of: IntArray
    taken: IntArray

    def enough(self, room: IntArray, nodes: IntArray | None) -> BoolArray:
        """Return the nodes with enough cards for the pod.

        Parameters
        ----------
        room
            What cards have to give, shape ``(3, N, K)``.
        nodes
            The nodes that are asked about; None for all.
        """
        kind_of = self.kind_of if nodes is None else self.kind_of[nodes]
        fits = np.ones(kind_of.shape, dtype=np.bool_)
        for part, taken in zip(room, self.taken, strict=True):
            fits &= (part if nodes is None else part[nodes]) >= taken[kind_of]
        found: BoolArray = fits.sum(axis=1) >= self.request.count
        return found


class CardFilter:
    """Refuses nodes whose cards cannot serve the pod, and chooses cards where they can.

    A node without any known card passes without an allocation: its kubelet decides.

    Notes
    -----
    What is free is reckoned card by card, of healthy cards alone, in compute, memory share and
    bytes of memory. A card's compute and share do not follow from its bytes, nor the other way.
    """

    name = "DeviceShare"
    rule = device.RULE

    def __init__(self, state: PlacementState) -> None:
        self._state = state
        cards = state.problem.snapshot.cards
        _, count, slots = state.card_free.shape
        memory = np.zeros((count, slots), dtype=np.int64)
        memory[cards.node, np.array(state.card_slot, dtype=np.int64)] = cards.capacity[:, 2]
        self._memory, kind_of = np.unique(memory, return_inverse=True)
        self._kind_of = kind_of.reshape(memory.shape).astype(np.int64)
        self.has_cards = np.zeros(count, dtype=np.bool_)
        self.has_cards[cards.node] = True
        self._cards_of = [cards.on_node(n) for n in range(count)]
        self._needs: dict[int, CardNeed] = {}

    def bind(self, c: int) -> BoundFilter | None:
        """Return the filter for class ``c``; None where no node is refused for its cards."""
        request = self._state.problem.snapshot.classes[c].cards
        if request is None:
            return None
        if isinstance(request, InvalidCardRequest):
            return BoundFilter(lambda _: False, self._none)
        if not self.has_cards.any():
            return None
        need, room = self.need(c), self._state.card_free
        has_cards, unknown = self.has_cards, ~self.has_cards

        def one(n: int) -> bool:
            return not has_cards[n] or len(self.fitting(c, n)) >= request.count

        def many(nodes: IntArray | None) -> BoolArray:
            return need.enough(room, nodes) | (unknown if nodes is None else unknown[nodes])

        return BoundFilter(one, many)

    def _none(self, nodes: IntArray | None) -> BoolArray:
        return np.zeros(len(self.has_cards) if nodes is None else len(nodes), dtype=np.bool_)

    def need(self, c: int) -> CardNeed:
        """Return what class ``c``, which asks for cards, takes of each card."""
        need = self._needs.get(c)
        if need is None:
            request = self._state.problem.snapshot.classes[c].cards
            assert isinstance(request, CardRequest)
            never = (np.iinfo(np.int64).max,) * 3
            taken = [request.on_card(memory) or never for memory in self._memory.tolist()]
            columns = np.array(taken, dtype=np.int64).reshape(-1, 3).T
            need = self._needs[c] = CardNeed(request, self._kind_of, columns)
        return need

    def fitting(self, c: int, n: int) -> list[tuple[int, CardShare]]:
        """Return the cards of node ``n`` that can serve a pod of class ``c``, by slot.

        Returns
        -------
        list
            Slot on the node, and what the pod would hold; ascending.
        """
        need = self.need(c)
        room: list[list[int]] = self._state.card_free[:, n, :].T.tolist()
        kinds: list[int] = self._kind_of[n].tolist()
        amounts: list[list[int]] = need.taken.T.tolist()
        found = []
        for slot, d in enumerate(self._cards_of[n]):
            core, share, memory = amounts[kinds[slot]]
            free = room[slot]
            if core <= free[0] and share <= free[1] and memory <= free[2]:
                found.append((slot, CardShare(d, core, share, memory)))
        return found

    def choose_cards(self, c: int, n: int) -> tuple[CardShare, ...]:
        """Return the cards that a pod of class ``c`` gets on node ``n``, which must be feasible.

        A shared pod gets the fullest cards that still fit, so that others stay whole; a pod with
        whole cards the lowest minors.
        """
        request = self._state.problem.snapshot.classes[c].cards
        if not isinstance(request, CardRequest) or not self._cards_of[n]:
            return ()
        fitting = self.fitting(c, n)
        if request.is_shared:
            room: list[list[int]] = self._state.card_free[:, n, :].T.tolist()
            fitting.sort(key=lambda entry: (room[entry[0]][1], room[entry[0]][0], entry[0]))
        return tuple(share for _, share in fitting[: request.count])

    def reasons(self, c: int) -> list[NodeReason]:
        """Return the nodes whose cards do not serve; what runs already could be evicted."""
        request = self._state.problem.snapshot.classes[c].cards
        bound = self.bind(c)
        if bound is None:
            return []
        if isinstance(request, InvalidCardRequest):
            return [(~bound.many(None), request.message, False)]
        refused = ~bound.many(None)
        could_serve = self.need(c).enough(self._without_bound_pods(), None)
        message = "Insufficient gpu devices"
        return [(refused & could_serve, message, True), (refused & ~could_serve, message, False)]

    def _without_bound_pods(self) -> IntArray:
        """Return what each card slot could give if no pod had run before, shape ``(3, N, K)``."""
        cards = self._state.problem.snapshot.cards
        room = self._state.card_free.copy()
        room[:, cards.node, np.array(self._state.card_slot, dtype=np.int64)] += cards.used.T
        return room
