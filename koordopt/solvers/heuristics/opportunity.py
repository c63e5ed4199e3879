"""What a placement takes from the pods that are expected next, in thousandths of a card.

The greedy fast path charges every placement its opportunity cost on the node, the sum of

*pattern* (times 4)
    ``V(free before) - V(free after) - V(share)`` of the card: ``V`` is what the free part of one
    card is worth at the prices of a linear program that packs the expected shares into cards;
*stranding* (times 2)
    the rise of the card capacity that the node's CPU is expected to run out before: the newsvendor
    loss of a node with idle cards ``g`` and free CPU ``c``, where filling ``g`` takes CPU of mean
    ``rho * g`` and variance ``sigma**2 * g``. It sends pods rich in CPU where CPU abounds;
*fragmentation* (times 1/2)
    the rise of the expected fragmentation (``fragmentation.py``);
*model*
    the scarcity price of the card model, times what the pod asks for;
*slots*
    for classes of several cards, the node's places for them that go, at the probability that they
    will be missed: the protection level of Littlewood's rule, with Poisson demand.

The sum is rounded up to steps of 40: nodes of nearly equal cost tie, and other scores, or a fixed
order, decide between them. A pattern spoilt is spoilt for good, while fragmentation is partly the
same loss once more: hence the weights. They were set once, on a few seeds of the `openb` benchmark,
lie on a broad plateau, and depend on no workload.

Everything but the two prices depends on the node alone, and is integer: a score row can be
repaired node by node. ``scarcity`` computes the prices from the whole cluster, in eighths so that
they change seldom; a caller refreshes them now and then and scores anew when they differ.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.special import ndtr, pdtrc

from koordopt.errors import InvalidInputError
from koordopt.solvers.heuristics.fragmentation import (
    WHOLE_CARD,
    CardRequest,
    ExpectedPods,
    Ints,
    NodeCards,
    most_frequent,
    placement_delta,
    shared_deltas,
)

Floats = NDArray[np.float64]

__all__ = ["Outlook", "Scarcity", "card_values", "opportunity_cost", "outlook", "scarcity"]

STEP = 40
"""Thousandths of a card in one step of cost."""

PRICE_SCALE = 8
# Places for several cards, once broken up, do not come back while work stays: keep them for half
# as much again as is expected.
_PRUDENCE = 1.5
# Weights of the terms, in eighths like the prices.
_PATTERN = 4 * PRICE_SCALE
_STRANDING = 2 * PRICE_SCALE
_FRAGMENTATION = PRICE_SCALE // 2
_TYPICAL_PERCENT = 95
_Z_SCALE = 1024  # steps of the standard normal's table in one standard deviation
_Z_MOST = 4
_FULL_CARD_COST = np.iinfo(np.int64).max // 4  # a card that cannot take the pod


@dataclass(frozen=True, slots=True)
class Outlook:
    """The expected mix of pods, and what follows from it once.

    Attributes
    ----------
    mix
        All classes that are expected, weighted by how often.
    typical
        The most frequent of them, for fragmentation.
    card_value
        Worth of a card with so many thousandths free, ``(1001,)``.
    cpu_need, cpu_spread
        Mean and standard deviation, in millicores, of the CPU that pods take which fill so many
        idle thousandths of a node's cards, ``(thousandths + 1,)``.
    cpu_per_card
        Millicores that pods on one whole card take in the mean.
    shortfall
        ``2**16`` times the expected excess of a standard normal over each step of ``z``.
    several
        Classes of several cards, indices into the mix.
    """

    mix: ExpectedPods
    typical: ExpectedPods
    card_value: Ints
    cpu_need: Ints
    cpu_spread: Ints
    cpu_per_card: int
    shortfall: Ints
    several: Ints

    @property
    def asked(self) -> Ints:
        """Thousandths asked for by a pod of each class of the mix, ``(classes,)``."""
        return self.mix.count * self.mix.share


@dataclass(frozen=True, slots=True)
class Scarcity:
    """Prices of what the cluster is short of, in eighths.

    Attributes
    ----------
    model
        Price of a thousandth of a card of each model, ``(models,)``.
    slot
        Probability that a place for each class of several cards will be missed, ``(several,)``.
    """

    model: Ints
    slot: Ints

    @classmethod
    def none(cls, ahead: Outlook) -> Scarcity:
        """Give the prices of a cluster that is short of nothing."""
        models = ahead.mix.models.shape[1]
        return cls(
            model=np.zeros(models, dtype=np.int64),
            slot=np.zeros(ahead.several.size, dtype=np.int64),
        )

    def same_as(self, other: Scarcity) -> bool:
        """Tell whether both price alike, so that scores by one hold for the other."""
        return np.array_equal(self.model, other.model) and np.array_equal(self.slot, other.slot)


def outlook(mix: ExpectedPods, most_cards: int) -> Outlook:
    """Prepare the costs for a mix of expected pods.

    Parameters
    ----------
    mix
        All classes that are expected, pods without cards included.
    most_cards
        The largest number of cards on a node.

    Raises
    ------
    InvalidInputError
        When no class of the mix asks for cards.
    """
    asked = mix.count * mix.share
    if not asked.any():
        raise InvalidInputError("outlook: mix has no class that asks for cards: expected one")
    on_cards = mix.weight * (asked > 0)
    per_milli = (on_cards * mix.cpu).sum() / (on_cards * asked).sum()
    variance = (on_cards * (mix.cpu - per_milli * asked) ** 2).sum() / (on_cards * asked).sum()
    idle = np.arange(most_cards * WHOLE_CARD + 1)
    z = np.arange(-_Z_MOST * _Z_SCALE, _Z_MOST * _Z_SCALE + 1) / _Z_SCALE
    excess = np.exp(-z * z / 2) / np.sqrt(2 * np.pi) - z * (1 - ndtr(z))
    return Outlook(
        mix=mix,
        typical=most_frequent(mix, _TYPICAL_PERCENT),
        card_value=card_values(mix),
        cpu_need=_integers(per_milli * idle),
        cpu_spread=np.maximum(_integers(np.sqrt(variance * idle)), 1),
        cpu_per_card=max(int(_integers(per_milli * WHOLE_CARD)), 1),
        shortfall=_integers(excess * 2**16),
        several=np.flatnonzero(mix.count > 1),
    )


def card_values(mix: ExpectedPods) -> Ints:
    """Give what the free part of one card is worth to the expected mix, ``(1001,)``.

    The linear program packs the mix, scaled to ask for exactly the cards there are, by patterns of
    one card (generated as they pay); a share is worth itself less the price of its demand. ``V(r)``
    is the best worth of shares that fit together into ``r``.
    """
    shares, of_share = np.unique(mix.share[mix.count > 0], return_inverse=True)
    pods = np.bincount(of_share, weights=(mix.weight * mix.count)[mix.count > 0])
    demand: Floats = pods * (WHOLE_CARD / (pods @ shares))
    patterns = np.eye(shares.size)
    while True:
        worth, price = _share_worth(patterns, shares, demand)
        value, taken = _fill(shares, worth)
        if value[-1] <= price + 1e-6:
            return _integers(value)
        pattern = np.zeros((shares.size, 1))
        free = WHOLE_CARD
        while taken[free] >= 0:
            pattern[taken[free]] += 1
            free -= int(shares[taken[free]])
        if (patterns == pattern).all(axis=0).any():  # it pays by the solver's tolerance alone
            return _integers(value)
        patterns = np.hstack([patterns, pattern])


def scarcity(nodes: NodeCards, ahead: Outlook) -> Scarcity:
    """Price what the cluster is short of, if the mix goes on until its idle cards are asked for.

    Parameters
    ----------
    nodes
        All nodes, as they are.
    ahead
        The expected mix.
    """
    asked = ahead.asked
    idle: Floats = np.zeros(ahead.mix.models.shape[1])
    np.add.at(idle, nodes.model, nodes.cards.sum(axis=1))
    demand: Floats = ahead.mix.weight * (idle.sum() / (ahead.mix.weight * asked).sum())
    return Scarcity(
        model=_model_prices(ahead.mix, demand * asked, idle),
        slot=_slot_prices(nodes, ahead, demand[ahead.several]),
    )


def opportunity_cost(
    nodes: NodeCards, request: CardRequest, ahead: Outlook, prices: Scarcity
) -> tuple[Ints, Ints]:
    """Give what a pod's placement costs on every node, and the card to place it on.

    Parameters
    ----------
    nodes
        Nodes that can run the pod; what others get means nothing.
    request
        The pod's request.
    ahead
        The expected mix.
    prices
        What is scarce.

    Returns
    -------
    cost
        In steps of 40 thousandths of a card, ``(n,)``; less is better.
    card
        For a shared pod the cheapest card, of equals the one with the least rise of fragmentation,
        then the first; -1 for others, which take the first free cards, ``(n,)``.
    """
    asked = request.count * request.share
    rise = _STRANDING * _stranding_rise(nodes, request, ahead)
    if request.count:
        rise += prices.model[nodes.model] * asked
    weight = ahead.typical.total_weight
    if request.is_shared:
        delta = shared_deltas(nodes, request, ahead.typical)
        able = nodes.cards >= request.share
        value, after = ahead.card_value, np.maximum(nodes.cards - request.share, 0)
        pattern = value[nodes.cards] - value[after] - value[request.share]
        # Capacity in use is no longer idle, but it is not lost: only what is spoilt counts.
        spoilt = np.where(able, delta, 0) + asked * weight
        steps = _steps(rise[:, None] + _PATTERN * pattern, spoilt, weight)
        steps = np.where(able, steps, _FULL_CARD_COST)
        cost = steps.min(axis=1)
        cheapest = np.where(steps == cost[:, None], delta, np.iinfo(np.int64).max)
        card = cheapest.argmin(axis=1)
        cards_gone = (nodes.cards[np.arange(card.size), card] == WHOLE_CARD).astype(np.int64)
    else:
        delta, card = placement_delta(nodes, request, ahead.typical)
        cost = _steps(rise, delta + asked * weight, weight)
        cards_gone = np.full(card.size, request.count)
    return cost + _slot_steps(nodes, request, cards_gone, ahead, prices), card


def _steps(rise: Ints, spoilt: Ints, weight: int) -> Ints:
    """Add a rise in eighths of thousandths and the spoilt capacity; round up to whole steps."""
    total = rise * weight + _FRAGMENTATION * spoilt
    return -(-total // (PRICE_SCALE * STEP * weight))


def _stranding_rise(nodes: NodeCards, request: CardRequest, ahead: Outlook) -> Ints:
    """Give by how many thousandths the capacity grows that CPU will run out before, ``(n,)``."""
    size = nodes.cpu.size
    idle, cpu = np.empty((2, size), dtype=np.int64), np.empty((2, size), dtype=np.int64)
    idle[0], cpu[0] = nodes.cards.sum(axis=1), nodes.cpu
    idle[1] = np.maximum(idle[0] - request.count * request.share, 0)
    cpu[1] = cpu[0] - request.cpu
    before, after = _stranded(idle, cpu, ahead)
    rise: Ints = after - before
    return rise


def _stranded(idle: Ints, cpu: Ints, ahead: Outlook) -> Ints:
    """Give the idle thousandths that the node's CPU is expected not to serve, shaped as given."""
    missing = ahead.cpu_need[idle] - cpu
    spread = ahead.cpu_spread[idle]
    # Rounded to the nearest step of z; beyond the table the excess is 0, or all that is missing.
    z = (-2 * missing * _Z_SCALE + spread) // (2 * spread)
    inside = np.minimum(np.maximum(z + _Z_MOST * _Z_SCALE, 0), ahead.shortfall.size - 1)
    excess = np.where(z < -_Z_MOST * _Z_SCALE, missing, (ahead.shortfall[inside] * spread) >> 16)
    stranded: Ints = np.minimum(excess * WHOLE_CARD // ahead.cpu_per_card, idle)
    return stranded


def _slot_steps(
    nodes: NodeCards, request: CardRequest, cards_gone: Ints, ahead: Outlook, prices: Scarcity
) -> Ints:
    """Give the cost of the places for several cards that go, the dearest class counting."""
    priced = np.flatnonzero(prices.slot)
    if priced.size == 0:
        return np.zeros(nodes.cpu.size, dtype=np.int64)
    whole = (nodes.cards == WHOLE_CARD).sum(axis=1)
    after = NodeCards(
        nodes.cpu - request.cpu, nodes.memory - request.memory, nodes.cards, nodes.model
    )
    classes = ahead.several[priced]
    lost = _slots(nodes, whole, ahead.mix, classes) - _slots(
        after, whole - cards_gone, ahead.mix, classes
    )
    worth = prices.slot[priced] * ahead.mix.count[classes] * WHOLE_CARD
    dearest: Ints = (lost * worth).max(axis=1)
    return -(-dearest // (PRICE_SCALE * STEP))


def _slots(nodes: NodeCards, whole: Ints, mix: ExpectedPods, classes: Ints) -> Ints:
    """Give how many pods of each class a node could take, ``(n, classes)``."""
    slots: Ints = whole[:, None] // mix.count[classes]
    slots = np.minimum(slots, nodes.cpu[:, None] // np.maximum(mix.cpu[classes], 1))
    slots = np.minimum(slots, nodes.memory[:, None] // np.maximum(mix.memory[classes], 1))
    return np.where(mix.models[classes].T[nodes.model], slots, 0)


def _slot_prices(nodes: NodeCards, ahead: Outlook, demand: Floats) -> Ints:
    """Give the probability that 1.5 times the demand reaches the number of places, in eighths.

    A class competes for its places with all classes of as many cards or more.
    """
    classes = ahead.several
    if classes.size == 0:
        return np.zeros(0, dtype=np.int64)
    whole = (nodes.cards == WHOLE_CARD).sum(axis=1)
    slots = _slots(nodes, whole, ahead.mix, classes).sum(axis=0)
    count = ahead.mix.count[classes]
    rivals = count[:, None] <= count
    competing = _PRUDENCE * (rivals * demand * count).sum(axis=1) / count
    missed = np.where(slots > 0, pdtrc(np.maximum(slots - 1, 0), competing), 0.0)
    return _integers(missed * PRICE_SCALE)


def _model_prices(mix: ExpectedPods, asked: Floats, idle: Floats) -> Ints:
    """Give the dual prices of a transport of the asked thousandths to the models, in eighths."""
    groups, of_group = np.unique(mix.models[mix.count > 0], axis=0, return_inverse=True)
    if groups.all() or not groups.any():
        return np.zeros(idle.size, dtype=np.int64)
    wanted = np.bincount(of_group, weights=asked[mix.count > 0])
    group, model = np.nonzero(groups)
    arc = np.arange(group.size)
    matrix = np.zeros((wanted.size + idle.size, arc.size))
    matrix[group, arc] = 1
    matrix[wanted.size + model, arc] = 1
    limits = np.concatenate([wanted, idle]) / WHOLE_CARD
    duals = _maximise(np.ones(arc.size), matrix, limits, None)
    return _integers(duals[wanted.size :] * PRICE_SCALE)


def _share_worth(patterns: Floats, shares: Ints, demand: Floats) -> tuple[Floats, float]:
    """Solve the packing over known patterns; give each share's worth and the price of a card."""
    sizes, number = patterns.shape
    matrix = np.zeros((sizes + 1, number + sizes))
    matrix[:sizes, :number] = -patterns
    matrix[:sizes, number:] = np.eye(sizes)
    matrix[sizes, :number] = 1
    objective = np.concatenate([np.zeros(number), shares])
    limits = np.concatenate([np.zeros(sizes), [1.0]])
    most = np.concatenate([np.full(number, np.inf), demand])
    duals = _maximise(objective, matrix, limits, most)
    return duals[:sizes], float(duals[sizes])


def _maximise(objective: Floats, matrix: Floats, limits: Floats, most: Floats | None) -> Floats:
    """Give the row prices of ``max objective @ x, matrix @ x <= limits, 0 <= x <= most``.

    All are 0 where the solver finds no optimum: without prices fragmentation still decides.
    """
    most = np.full(objective.size, np.inf) if most is None else most
    bounds = np.stack([np.zeros(objective.size), most], axis=1)
    answer = linprog(-objective, A_ub=matrix, b_ub=limits, bounds=bounds, method="highs")
    if answer.status != 0:
        return np.zeros(len(limits))
    prices: Floats = np.maximum(-answer.ineqlin.marginals, 0.0)
    return prices


def _fill(shares: Ints, worth: Floats) -> tuple[Floats, Ints]:
    """Give the best worth that fits into each free part, and the share taken first, or -1."""
    value = np.zeros(WHOLE_CARD + 1)
    taken = np.full(WHOLE_CARD + 1, -1, dtype=np.int64)
    for free in range(int(shares[0]), WHOLE_CARD + 1):
        fitting = shares[shares <= free]
        totals = value[free - fitting] + worth[: fitting.size]
        best = int(totals.argmax())
        if totals[best] > 1e-9:
            value[free], taken[free] = totals[best], best
    return value, taken


def _integers(array: Floats) -> Ints:
    """Round to the nearest integer, the last bits of floats first, which differ by machine."""
    return np.rint(np.round(array, 6)).astype(np.int64)
