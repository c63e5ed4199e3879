"""Fragmentation of idle cards: what a placement spoils for the pods that are expected next.

A node's *fragmentation* is the idle card capacity that the expected pods cannot use, averaged over
them: for a pod that the node cannot run all of it, for one that it can run the cards too small for
it. A placement is good when it adds little. The measure is that of Weng et al., "Beware of
Fragmentation" (USENIX ATC 2023), with memory as a further condition; expected pods without a memory
request give the measure as published.

Everything here is a pure function of arrays. Amounts are exact: fragmentation is an integer, the
idle thousandths of a card times the pods' weights, so equal states have equal scores on every
machine.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from koordopt.errors import InvalidInputError

__all__ = [
    "WHOLE_CARD",
    "CardRequest",
    "ExpectedPods",
    "NodeCards",
    "fits",
    "fragmentation",
    "fragmentation_score",
    "most_frequent",
    "place",
    "placement_delta",
    "shared_deltas",
]

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

WHOLE_CARD = 1000
"""Thousandths in a card."""

MAX_SCORE = 100
_MOST_CELLS = 1 << 22  # of a table of weights: 32 MB
_ROWS_AT_ONCE = 1024  # bounds the (rows, cards, shapes) temporaries to a few MB


@dataclass(frozen=True, slots=True)
class NodeCards:
    """Free amounts of ``n`` nodes with up to ``k`` cards each.

    Attributes
    ----------
    cpu
        Free CPU, millicores, ``(n,)``.
    memory
        Free memory in any unit that the requests share, ``(n,)``.
    cards
        Free thousandths of every card, ``(n, k)``; 0 where a node has no such card.
    model
        Index of the node's card model, ``(n,)``.
    """

    cpu: Ints
    memory: Ints
    cards: Ints
    model: Ints

    def rows(self, index: Ints | slice) -> NodeCards:
        """Give the nodes at ``index``; a slice shares the arrays, an index array copies."""
        return NodeCards(self.cpu[index], self.memory[index], self.cards[index], self.model[index])


@dataclass(frozen=True, slots=True)
class CardRequest:
    """What one pod asks for: a share of one card, or ``count`` whole cards, or no card.

    Attributes
    ----------
    cpu, memory
        Millicores, and memory in the nodes' unit.
    count
        Number of cards, 0 for none.
    share
        Thousandths of each card; :data:`WHOLE_CARD` unless ``count`` is 1.
    models
        Card models that will do, ``(models,)``; None where all do.
    """

    cpu: int
    memory: int
    count: int
    share: int
    models: Bools | None = None

    def __post_init__(self) -> None:
        if self.cpu < 0 or self.memory < 0 or self.count < 0:
            raise InvalidInputError(
                f"CardRequest: cpu {self.cpu}, memory {self.memory}, count {self.count}: "
                "expected none below 0"
            )
        least, most = (0, 0) if self.count == 0 else (1, WHOLE_CARD)
        if self.count > 1:
            least = WHOLE_CARD
        if not least <= self.share <= most:
            raise InvalidInputError(
                f"CardRequest: share {self.share} of {self.count} cards: "
                f"expected {least} to {most} thousandths"
            )

    @property
    def is_shared(self) -> bool:
        """Whether the pod takes a part of one card."""
        return self.count == 1 and self.share < WHOLE_CARD


@dataclass(frozen=True)
class ExpectedPods:
    """Classes of pods that are expected to arrive, each with its weight.

    Attributes
    ----------
    cpu, memory, count, share
        As in :class:`CardRequest`, ``(t,)`` each.
    models
        Whether a card model will do for a class, ``(t, models)``.
    weight
        How often a class is expected, a positive integer, ``(t,)``.
    """

    cpu: Ints
    memory: Ints
    count: Ints
    share: Ints
    models: Bools
    weight: Ints
    # Classes of one share and count ("shape") find the same cards usable.
    shape_share: Ints = field(init=False)
    shape_count: Ints = field(init=False)
    _weight_by_shape: Ints = field(init=False)

    def __post_init__(self) -> None:
        size = self.cpu.shape
        arrays = (self.memory, self.count, self.share, self.weight)
        if any(array.shape != size for array in arrays) or self.models.shape[:1] != size:
            raise InvalidInputError(
                f"ExpectedPods: arrays of {[a.shape for a in (self.cpu, *arrays)]} and models "
                f"{self.models.shape}: expected one length"
            )
        if self.cpu.size == 0 or self.weight.min() < 1:
            raise InvalidInputError(
                "ExpectedPods: expected at least one class, and no weight below 1"
            )
        with_cards = np.flatnonzero(self.count > 0)
        shapes, of_shape = np.unique(
            np.stack([self.share[with_cards], self.count[with_cards]], axis=1),
            axis=0,
            return_inverse=True,
        )
        by_shape = np.zeros((self.cpu.size, shapes.shape[0]), dtype=np.int64)
        by_shape[with_cards, of_shape] = self.weight[with_cards]
        object.__setattr__(self, "shape_share", shapes[:, 0])
        object.__setattr__(self, "shape_count", shapes[:, 1])
        object.__setattr__(self, "_weight_by_shape", by_shape)

    @property
    def total_weight(self) -> int:
        """Sum of the weights."""
        return int(self.weight.sum())

    def weight_that_fits(self, cpu: Ints, memory: Ints, model: Ints) -> Ints:
        """Give the weight of the classes whose CPU, memory and model fit, ``(n, shapes)``."""
        if self._table is None:
            able = (cpu[:, None] >= self.cpu) & (memory[:, None] >= self.memory)
            able &= self.models.T[model]
            return able @ self._weight_by_shape
        cpu_rank = np.searchsorted(self._cpu_steps, cpu, side="right")
        memory_rank = np.searchsorted(self._memory_steps, memory, side="right")
        return self._table[model, cpu_rank, memory_rank]

    @cached_property
    def _cpu_steps(self) -> Ints:
        return np.unique(self.cpu[self.count > 0])

    @cached_property
    def _memory_steps(self) -> Ints:
        return np.unique(self.memory[self.count > 0])

    @cached_property
    def _table(self) -> Ints | None:
        """What fits by model, CPU rank, memory rank and shape; None where it would be too large."""
        steps = (self._cpu_steps.size + 1, self._memory_steps.size + 1)
        size = (self.models.shape[1], *steps, self.shape_share.size)
        if math.prod(size) > _MOST_CELLS:
            return None
        on_cards = np.flatnonzero(self.count > 0)
        cpu_rank = np.searchsorted(self._cpu_steps, self.cpu[on_cards]) + 1
        memory_rank = np.searchsorted(self._memory_steps, self.memory[on_cards]) + 1
        table = np.zeros(size, dtype=np.int64)
        for model in range(size[0]):
            weight = self._weight_by_shape[on_cards] * self.models[on_cards, model][:, None]
            np.add.at(table[model], (cpu_rank, memory_rank), weight)
        return table.cumsum(axis=1).cumsum(axis=2)


def most_frequent(pods: ExpectedPods, percent: int, *, with_memory: bool = True) -> ExpectedPods:
    """Give the most frequent classes that together hold ``percent`` of the weight.

    Without memory its requests count as 0, and classes that differ in nothing else are one. Equal
    weights are taken in the order of CPU, memory, count, share and models.
    """
    memory = pods.memory if with_memory else np.zeros_like(pods.memory)
    numbers = np.stack([pods.cpu, memory, pods.count, pods.share], axis=1)
    classes, of_class = np.unique(
        np.hstack([numbers, pods.models.astype(np.int64)]), axis=0, return_inverse=True
    )
    weight = np.zeros(classes.shape[0], dtype=np.int64)
    np.add.at(weight, of_class, pods.weight)
    order = np.argsort(-weight, kind="stable")
    covered = weight[order].cumsum() * 100
    chosen = order[: int(np.searchsorted(covered, percent * pods.total_weight)) + 1]
    cpu, memory, count, share = classes[chosen, :4].T
    return ExpectedPods(
        cpu, memory, count, share, classes[chosen, 4:].astype(np.bool_), weight[chosen]
    )


def fits(nodes: NodeCards, request: CardRequest) -> Bools:
    """Tell which nodes can run a pod now, ``(n,)``."""
    possible = (nodes.cpu >= request.cpu) & (nodes.memory >= request.memory)
    if request.count:
        possible &= (nodes.cards >= request.share).sum(axis=1) >= request.count
        if request.models is not None:
            possible &= request.models[nodes.model]
    return possible


def fragmentation(nodes: NodeCards, expected: ExpectedPods) -> Ints:
    """Give every node's idle thousandths that the expected pods cannot use, times their weight.

    ``sum over classes t of weight_t * (idle - usable_t)``, where ``usable_t`` is the free capacity
    on cards with at least ``share_t`` free, or 0 where the node cannot run ``t``. A class without
    cards uses none of it.

    Returns
    -------
    Ints
        ``(n,)``; divide by ``expected.total_weight`` for thousandths of a card.
    """
    usable, enough = _usable(nodes.cards, expected)
    weight = expected.weight_that_fits(nodes.cpu, nodes.memory, nodes.model)
    used: Ints = np.einsum("ng,ng->n", weight, np.where(enough >= expected.shape_count, usable, 0))
    idle: Ints = nodes.cards.sum(axis=1)
    return expected.total_weight * idle - used


def placement_delta(
    nodes: NodeCards, request: CardRequest, expected: ExpectedPods
) -> tuple[Ints, Ints]:
    """Give what placing a pod adds to every node's fragmentation, and the card to place it on.

    Parameters
    ----------
    nodes
        Nodes that can run the pod (see :func:`fits`); what others get means nothing.
    request
        The pod's request.
    expected
        The pods expected next.

    Returns
    -------
    delta
        Fragmentation after less fragmentation before, ``(n,)``, in the units of
        :func:`fragmentation`; most are negative, since capacity in use is no longer idle.
    card
        For a shared pod the card with the least delta, the first of equals; -1 for others, which
        take the first free cards, ``(n,)``.
    """
    size = nodes.cpu.shape[0]
    delta = np.empty(size, dtype=np.int64)
    card = np.full(size, -1, dtype=np.int64)
    for start in range(0, size, _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        part = nodes.rows(rows)
        if request.is_shared:
            every_card = shared_deltas(part, request, expected)
            card[rows] = every_card.argmin(axis=1)
            delta[rows] = every_card.min(axis=1)
        else:
            after = place(part, request, card[rows])
            delta[rows] = fragmentation(after, expected) - fragmentation(part, expected)
    return delta, card


def shared_deltas(nodes: NodeCards, request: CardRequest, expected: ExpectedPods) -> Ints:
    """Give a shared pod's delta on every card, ``(n, k)``; the largest integer where it is full."""
    before = nodes.cards
    after = before - request.share
    share, count = expected.shape_share, expected.shape_count
    usable, enough = _usable(before, expected)
    was_large = before[:, :, None] >= share
    is_large = after[:, :, None] >= share
    usable_after = (
        usable[:, None, :] - was_large * before[:, :, None] + is_large * after[:, :, None]
    )
    enough_after = enough[:, None, :] - (was_large & ~is_large)
    usable_after *= enough_after >= count
    usable *= enough >= count
    weight_before = expected.weight_that_fits(nodes.cpu, nodes.memory, nodes.model)
    weight_after = expected.weight_that_fits(
        nodes.cpu - request.cpu, nodes.memory - request.memory, nodes.model
    )
    used_before: Ints = np.einsum("ng,ng->n", weight_before, usable)
    used_after: Ints = np.einsum("nkg,ng->nk", usable_after, weight_after)
    delta: Ints = used_before[:, None] - used_after - expected.total_weight * request.share
    delta[after < 0] = np.iinfo(np.int64).max
    return delta


def place(nodes: NodeCards, request: CardRequest, card: Ints) -> NodeCards:
    """Give the nodes as they are after each took one such pod; the nodes given stay as they are.

    Parameters
    ----------
    nodes
        Nodes that can run the pod.
    request
        The pod's request.
    card
        For a shared pod its card on each node, ``(n,)``; others take the first free cards.
    """
    cards = nodes.cards.copy()
    if request.is_shared:
        cards[np.arange(card.size), card] -= request.share
    elif request.count:
        free = cards == WHOLE_CARD
        cards[free & (free.cumsum(axis=1) <= request.count)] = 0
    return NodeCards(nodes.cpu - request.cpu, nodes.memory - request.memory, cards, nodes.model)


def fragmentation_score(delta: Ints, total_weight: int) -> Ints:
    """Give ``floor(100 * sigmoid(-delta / (1000 * total_weight)))``, 0 to 100, in integers.

    A card that becomes useless, or useful, is the unit of the sigmoid. The coarse steps matter:
    nodes of nearly equal merit tie and fill up in their order, which leaves others whole.
    """
    return np.searchsorted(_score_thresholds(total_weight), -delta, side="right")


@lru_cache(maxsize=16)
def _score_thresholds(total_weight: int) -> Ints:
    """Give the least ``-delta`` that earns each score from 1 to 99."""
    share = np.arange(1, MAX_SCORE) / MAX_SCORE
    gain = np.log(share / (1 - share)) * WHOLE_CARD * total_weight
    thresholds = np.ceil(np.round(gain, 3)).astype(np.int64)
    thresholds.setflags(write=False)
    return thresholds


def _usable(cards: Ints, expected: ExpectedPods) -> tuple[Ints, Ints]:
    """Give capacity and number of the cards with enough free for each shape, ``(n, shapes)``."""
    large = cards[:, :, None] >= expected.shape_share
    return np.einsum("nk,nkg->ng", cards, large), large.sum(axis=1)
