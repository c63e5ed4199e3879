"""GPU cards that a pod would get, and the nodes that have them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from koordopt.models.arrays import BoolArray, IntArray
from koordopt.models.rules import device
from koordopt.models.rules.device import CardRequest, CardShare, InvalidCardRequest
from koordopt.solvers.heuristics.changes import Where
from koordopt.solvers.heuristics.plugins import BoundFilter, NodeReason
from koordopt.solvers.heuristics.state import PlacementState

_WORD: Final = 8
"""Bytes in a word."""


@dataclass(frozen=True, eq=False)
class CardNeed:
    """What a pod of one class takes of each card.

    Attributes
    ----------
    request
        The request.
    taken
        Core, share and memory by memory size, shape ``(kinds, 3)``, and the same as lists; more
        than any card has where it can never serve.
    """

    request: CardRequest
    taken: IntArray
    taken_of: list[list[int]]

    def enough(self, room: IntArray, kind_of: IntArray | int) -> BoolArray:
        """Return the nodes with enough cards for the pod.

        Parameters
        ----------
        room
            What cards have to give, shape ``(N, 3, K)``.
        kind_of
            Index of each card slot's memory size, shape ``(N, K)``, or that of all cards.
        """
        taken = self.taken[kind_of]
        fits = room >= (taken[:, None] if taken.ndim == 1 else np.moveaxis(taken, 2, 1))
        serves = fits[:, 0] & fits[:, 1] & fits[:, 2]
        enough: BoolArray = _count(serves) >= self.request.count
        return enough


def _count(serves: BoolArray) -> NDArray[np.integer[Any]]:
    """Return how many entries of each row are true.

    A row of eight is one word, whose bits are counted faster than a sum is taken.
    """
    if serves.shape[1] == _WORD:
        bits: NDArray[np.uint8] = np.bitwise_count(serves.view(np.uint64)[:, 0])
        return bits
    counts: IntArray = serves.sum(axis=1)
    return counts


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
        kind_of = kind_of.reshape(memory.shape).astype(np.int64)
        self._kind_lists: list[list[int]] = kind_of.tolist()
        # Slots without a card have nothing to give, so their size is none of its own.
        sizes = np.unique(cards.capacity[:, 2])
        self._only_kind = int(np.searchsorted(self._memory, sizes[0])) if len(sizes) == 1 else -1
        self._kind_of = state.changes.track(kind_of if self._only_kind < 0 else kind_of[:0])
        self.has_cards = np.zeros(count, dtype=np.bool_)
        self.has_cards[cards.node] = True
        self._unknown = state.changes.track(~self.has_cards)
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
        need, room, unknown = self.need(c), self._state.card_room, self._unknown
        has_cards, count = self.has_cards, request.count

        def one(n: int) -> bool:
            return not has_cards[n] or len(self._slots(c, n)) >= count

        def many(where: Where) -> BoolArray:
            enough = need.enough(room.of(where), self._kinds(where))
            enough |= unknown.of(where)
            return enough

        return BoundFilter(one, many, many)

    def _kinds(self, where: Where) -> IntArray | int:
        return self._kind_of.of(where) if self._only_kind < 0 else self._only_kind

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
            table = np.array(taken, dtype=np.int64).reshape(-1, 3)
            need = self._needs[c] = CardNeed(request, table, table.tolist())
        return need

    def _slots(self, c: int, n: int) -> list[int]:
        """Return the slots of node ``n`` whose cards can serve a pod of class ``c``, ascending."""
        taken_of, kinds = self.need(c).taken_of, self._kind_lists[n]
        cores, shares, memories = self._state.card_room.now[n].tolist()
        found = []
        for slot in range(len(self._cards_of[n])):
            core, share, memory = taken_of[kinds[slot]]
            if core <= cores[slot] and share <= shares[slot] and memory <= memories[slot]:
                found.append(slot)
        return found

    def _share(self, c: int, n: int, slot: int) -> CardShare:
        taken = self.need(c).taken_of[self._kind_lists[n][slot]]
        return CardShare(self._cards_of[n][slot], *taken)

    def fitting(self, c: int, n: int) -> list[tuple[int, CardShare]]:
        """Return the cards of node ``n`` that can serve a pod of class ``c``, by slot.

        Returns
        -------
        list
            Slot on the node, and what the pod would hold; ascending.
        """
        return [(slot, self._share(c, n, slot)) for slot in self._slots(c, n)]

    def choose_cards(self, c: int, n: int) -> tuple[CardShare, ...]:
        """Return the cards that a pod of class ``c`` gets on node ``n``, which must be feasible.

        A shared pod gets the fullest cards that still fit, so that others stay whole; a pod with
        whole cards the lowest minors.
        """
        request = self._state.problem.snapshot.classes[c].cards
        if not isinstance(request, CardRequest) or not self._cards_of[n]:
            return ()
        slots = self._slots(c, n)
        if request.is_shared:
            cores, shares, _ = self._state.card_room.now[n].tolist()
            slots.sort(key=lambda slot: (shares[slot], cores[slot], slot))
        return tuple(self._share(c, n, slot) for slot in slots[: request.count])

    def reasons(self, c: int) -> list[NodeReason]:
        """Return the nodes whose cards do not serve; what runs already could be evicted."""
        request = self._state.problem.snapshot.classes[c].cards
        bound = self.bind(c)
        if bound is None:
            return []
        if isinstance(request, InvalidCardRequest):
            return [(~bound.many(None), request.message, False)]
        refused = ~bound.many(None)
        could_serve = self.need(c).enough(self._without_bound_pods(), self._kinds(None))
        message = "Insufficient gpu devices"
        return [(refused & could_serve, message, True), (refused & ~could_serve, message, False)]

    def _without_bound_pods(self) -> IntArray:
        """Return what each card slot could give if no pod had run before, shape ``(N, 3, K)``."""
        cards = self._state.problem.snapshot.cards
        room = self._state.card_room.now.copy()
        room[cards.node, :, np.array(self._state.card_slot, dtype=np.int64)] += cards.used
        return room
