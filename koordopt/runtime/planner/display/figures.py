"""What tables and reports show of a plan: counts, use of nodes, groups of placements, reasons."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from koordopt.models.api import keys
from koordopt.models.arrays import IntArray, frozen
from koordopt.models.objective import priority_levels
from koordopt.models.problem.placement import PlacementProblem
from koordopt.models.reason import Reason
from koordopt.models.result import Placement, SolveResult
from koordopt.models.rules.device import WHOLE

_FAMILY_OF_CARDS = frozenset(
    {
        keys.RESOURCE_GPU,
        keys.RESOURCE_GPU_CORE,
        keys.RESOURCE_GPU_MEMORY,
        keys.RESOURCE_GPU_MEMORY_RATIO,
        keys.RESOURCE_GPU_SHARED,
    }
)
_FIRST = (keys.RESOURCE_CPU, keys.RESOURCE_MEMORY)


@dataclass(frozen=True)
class Count:
    """How many of some kind are pending, and how many of them find a place."""

    name: str
    pending: int
    placed: int


@dataclass(frozen=True, eq=False)
class Gauge:
    """One resource over all nodes, before and after a plan.

    Attributes
    ----------
    name
        Name of the resource; ``gpu`` for cards, in thousandths of a card.
    capacity, before, after
        Amounts on each node, shape ``(N,)``, in base units.
    """

    name: str
    capacity: IntArray
    before: IntArray
    after: IntArray

    @property
    def label(self) -> str:
        """Name without its domain, for the head of a column."""
        return self.name.rpartition("/")[2]

    def percent(self, which: IntArray) -> list[float | None]:
        """Return ``which`` of this gauge in per cent of each node; None without capacity."""
        return [
            round(100 * used / size, 1) if size > 0 else None
            for used, size in zip(which.tolist(), self.capacity.tolist(), strict=True)
        ]

    def total_percent(self, which: IntArray) -> float:
        """Return ``which`` of this gauge in per cent of the whole cluster."""
        return 100 * int(which.sum()) / max(1, int(self.capacity.sum()))


@dataclass(frozen=True)
class PlacedGroup:
    """Pods of one gang or one controller, or one pod of neither, that find a place.

    Attributes
    ----------
    name
        ``Gang ns/name``, ``Kind ns/name`` or ``ns/name`` of a pod.
    placed, pending
        Pods that find a place, and all that wanted one.
    nodes
        Nodes that they go to with their number, the most first.
    cards
        Cards that they get, over all pods, in thousandths.
    """

    name: str
    placed: int
    pending: int
    nodes: tuple[tuple[str, int], ...]
    cards: int


@dataclass(frozen=True)
class WaitingGroup:
    """Pods that stay pending for one reason.

    Attributes
    ----------
    reason
        The reason that they share.
    pods
        ``namespace/name`` of each.
    gangs
        Number of gangs that they belong to.
    """

    reason: Reason
    pods: tuple[str, ...]
    gangs: int


def counts(problem: PlacementProblem, placement: Placement) -> tuple[Count, ...]:
    """Return the counts of all pods, of gangs, and of each priority level, in this order.

    A gang counts as placed where any of its pending members finds a place, which is never less
    than it needs to start.
    """
    snapshot = problem.snapshot
    pods, gangs = snapshot.pods, snapshot.gangs
    pending, placed = problem.pending.tolist(), set(placement.pod.tolist())
    found = [Count("pods", len(pending), len(placed))]
    waiting = {gangs.gang_of[p] for p in pending if p in gangs.gang_of}
    if waiting:
        started = {gangs.gang_of[p] for p in placed if p in gangs.gang_of}
        found.append(Count("gangs", len(waiting), len(started)))
    of_pending = Counter(pods.priority[problem.pending].tolist())
    of_placed = Counter(pods.priority[placement.pod].tolist())
    found += [
        Count(
            level.name,
            sum(of_pending[priority] for priority in level.priorities),
            sum(of_placed[priority] for priority in level.priorities),
        )
        for level in priority_levels(list(of_pending))
    ]
    return tuple(found)


def gauges(problem: PlacementProblem, placement: Placement) -> tuple[Gauge, ...]:
    """Return the use of each resource that nodes have and pods ask for; CPU and memory always."""
    snapshot = problem.snapshot
    after = problem.used.copy()
    np.add.at(after, placement.node, problem.request[snapshot.pods.class_of[placement.pod]])
    found = []
    names = [*_FIRST, *(name for name in problem.resources if name not in _FIRST)]
    has_cards = len(snapshot.cards) > 0
    for name in names:
        if name == keys.RESOURCE_PODS or (has_cards and name in _FAMILY_OF_CARDS):
            continue
        r = snapshot.resource_index[name]
        wanted = name in _FIRST or after[:, r].any() or problem.request[:, r].any()
        if wanted and problem.capacity[:, r].any():
            found.append(Gauge(name, problem.capacity[:, r], problem.used[:, r], after[:, r]))
    if has_cards:
        found.append(_card_gauge(problem, placement))
    return tuple(found)


def _card_gauge(problem: PlacementProblem, placement: Placement) -> Gauge:
    """Return the use of cards; a card is in use by the larger of its compute and memory share."""
    cards = problem.snapshot.cards
    used = cards.used[:, :2].copy()
    for shares in placement.cards.values():
        for share in shares:
            used[share.card] += (share.core, share.share)
    size = len(problem.capacity)

    def per_node(amounts: IntArray) -> IntArray:
        total = np.zeros(size, dtype=np.int64)
        np.add.at(total, cards.node, amounts)
        return frozen(total)

    healthy = np.where(cards.capacity[:, :2].any(axis=1), WHOLE, 0)
    before = per_node(cards.used[:, :2].max(axis=1))
    return Gauge("gpu", per_node(healthy), before, per_node(used.max(axis=1)))


def group_of(problem: PlacementProblem, p: int) -> str:
    """Return the name of the gang of pod ``p``, else of its controller, else its own."""
    snapshot = problem.snapshot
    gang = snapshot.gangs.gang_of.get(p)
    if gang is not None:
        return f"Gang {snapshot.gangs.gangs[gang].id}"
    meta = snapshot.pods.objects[p].metadata
    for owner in meta.owner_references:
        if owner.controller or len(meta.owner_references) == 1:
            return f"{owner.kind} {meta.namespace}/{owner.name}"
    return snapshot.pods.keys[p]


def placed_groups(problem: PlacementProblem, placement: Placement) -> list[PlacedGroup]:
    """Return the placements by gang or controller, in the order in which each begins."""
    names = {p: group_of(problem, p) for p in problem.pending.tolist()}
    wanted = Counter(names.values())
    nodes: dict[str, Counter[int]] = {}
    cards: Counter[str] = Counter()
    for p, n in zip(placement.pod.tolist(), placement.node.tolist(), strict=True):
        nodes.setdefault(names[p], Counter())[n] += 1
        cards[names[p]] += sum(max(s.core, s.share) for s in placement.cards.get(p, ()))
    node_names = problem.snapshot.nodes.names
    return [
        PlacedGroup(
            name=name,
            placed=on.total(),
            pending=wanted[name],
            nodes=tuple(
                (node_names[n], number)
                for n, number in sorted(on.items(), key=lambda item: (-item[1], item[0]))
            ),
            cards=cards[name],
        )
        for name, on in nodes.items()
    ]


def waiting_groups(problem: PlacementProblem, result: SolveResult) -> list[WaitingGroup]:
    """Return what stays pending by reason, the reason of most pods first."""
    keys_of, gang_of = problem.snapshot.pods.keys, problem.snapshot.gangs.gang_of
    by_reason: dict[Reason, list[int]] = {}
    for p, reason in result.unplaced.items():
        by_reason.setdefault(reason, []).append(p)
    groups = [
        WaitingGroup(
            reason,
            tuple(keys_of[p] for p in pods),
            len({gang_of[p] for p in pods if p in gang_of}),
        )
        for reason, pods in by_reason.items()
    ]
    return sorted(groups, key=lambda group: (-len(group.pods), group.pods))
