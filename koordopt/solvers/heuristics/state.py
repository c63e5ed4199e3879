"""The mutable picture of a cluster while pods are placed one after another, with exact undo."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from koordopt.models.api import keys
from koordopt.models.arrays import IntArray
from koordopt.models.problem.placement import PlacementProblem
from koordopt.models.rules.device import CardShare
from koordopt.solvers.heuristics.changes import ChangeLog
from koordopt.solvers.heuristics.domains import FEW, Domains
from koordopt.solvers.heuristics.shapes import Shapes

_SCORED = (keys.RESOURCE_CPU, keys.RESOURCE_MEMORY)


class _Effect(NamedTuple):
    """What a placement of one class changes, prepared for the many that come.

    Attributes
    ----------
    charges
        Pairs of resource index and amount.
    cpu, memory
        Amounts that scores reckon with.
    counted
        Counters that rise, each with the domain of every node in it.
    ports
        Host ports that are opened.
    """

    charges: tuple[tuple[int, int], ...]
    cpu: int
    memory: int
    counted: tuple[tuple[int, list[int]], ...]
    ports: tuple[int, ...]


class PlacementState:
    """Room, pod counts, ports and cards, as of the placements made so far.

    Amounts are held twice, in arrays for passes over many nodes and in lists for single nodes:
    reading one element of an array costs more than the arithmetic on it.

    Attributes
    ----------
    changes
        Which nodes changed; the pipeline notes them there.
    room
        What each node can still give: a track of shape ``(N, R)``.
    free
        Its columns: ``R`` arrays of shape ``(N,)``.
    free_of
        The same as ``R`` lists.
    scored_use
        CPU and memory in use as scores reckon them, with defaults where a container asks for
        nothing: two lists over nodes.
    counts
        Pods per domain, for each counter of the problem: a list where the domains are few, else an
        array.
    count_changes
        How often each of them changed.
    domains_of
        The domains of each counter's key.
    port_use
        Pods that use each host port of the problem's ``ports``, by port and node.
    derived
        What scores keep in common, by what tells it apart.
    card_room
        What each card can still give: a track of shape ``(N, 3, K)`` for up to ``K`` cards a node.
    card_free
        The same by amount, shape ``(3, N, K)``.
    """

    def __init__(self, problem: PlacementProblem) -> None:
        self.problem = problem
        self.changes = ChangeLog(len(problem.capacity))
        self.room = self.changes.track(problem.capacity - problem.used)
        self.free: list[IntArray] = list(self.room.now.T)
        self.free_of: list[list[int]] = [column.tolist() for column in self.free]
        self.scored_use = _scored_use(problem)
        self.counts: list[list[int] | IntArray] = [
            counter.base.tolist() if len(counter.base) <= FEW else counter.base.copy()
            for counter in problem.counters.counters
        ]
        self.count_changes = [0] * len(self.counts)
        self._domains: dict[bytes, Domains] = {}
        self._shapes: dict[tuple[str, ...], Shapes] = {}
        self.domains_of = [self.domains(counter.domain_of) for counter in problem.counters.counters]
        self.derived: dict[object, object] = {}
        self.placed: list[tuple[int, int]] = []
        self.cards_of: dict[int, tuple[CardShare, ...]] = {}
        self.card_slot, room = _card_room(problem)
        self.card_room = self.changes.track(room)
        self.card_free: IntArray = self.card_room.now.transpose(1, 0, 2)
        self.port_use = problem.ports.use.copy()
        self._charges = [
            tuple((r, int(v)) for r, v in enumerate(row) if v) for row in problem.request
        ]
        counted = _counted(problem)
        self._effects = [
            _Effect(
                charges=self._charges[c],
                cpu=cls.nonzero_request.get(keys.RESOURCE_CPU, 0),
                memory=cls.nonzero_request.get(keys.RESOURCE_MEMORY, 0),
                counted=counted[c],
                ports=tuple(problem.ports.own.get(c, ())),
            )
            for c, cls in enumerate(problem.snapshot.classes)
        ]
        self._class_of: list[int] = problem.snapshot.pods.class_of.tolist()

    def charges(self, c: int) -> tuple[tuple[int, int], ...]:
        """Return what a pod of class ``c`` takes: pairs of resource index and amount."""
        return self._charges[c]

    def counts_array(self, j: int) -> IntArray:
        """Return the pods in each domain of counter ``j``, shape ``(T,)``."""
        return np.asarray(self.counts[j], dtype=np.int64)

    def domains(self, domain_of: IntArray) -> Domains:
        """Return the domains of the key that gives each node the domain ``domain_of``."""
        content = domain_of.tobytes()
        found = self._domains.get(content)
        if found is None:
            found = self._domains[content] = Domains(domain_of)
        return found

    def shapes(self, resources: tuple[str, ...]) -> Shapes:
        """Return the distinct sizes of nodes in ``resources``."""
        found = self._shapes.get(resources)
        if found is None:
            found = Shapes.of(self.problem, self.changes, resources)
            self._shapes[resources] = found
        return found

    def place(self, p: int, n: int, cards: tuple[CardShare, ...] = ()) -> None:
        """Put pod ``p`` on node ``n`` with ``cards``; nothing is checked."""
        self.placed.append((p, n))
        if cards:
            self.cards_of[p] = cards
        self._apply(self._class_of[p], n, cards, 1)

    def undo(self) -> tuple[int, int]:
        """Take back the last placement, and return its pod and node."""
        p, n = self.placed.pop()
        self._apply(self._class_of[p], n, self.cards_of.pop(p, ()), -1)
        return p, n

    def _apply(self, c: int, n: int, cards: tuple[CardShare, ...], sign: int) -> None:
        charges, cpu, memory, counted, ports = self._effects[c]
        room, free_of = self.room.now, self.free_of
        for r, amount in charges:
            column = free_of[r]
            left = column[n] - sign * amount
            column[n] = left
            room[n, r] = left
        self.scored_use[0][n] += sign * cpu
        self.scored_use[1][n] += sign * memory
        for j, domain_of in counted:
            domain = domain_of[n]
            if domain >= 0:
                self.counts[j][domain] += sign
                self.count_changes[j] += 1
        for port in ports:
            self.port_use[port, n] += sign
        for share in cards:
            slot = self.card_slot[share.card]
            self.card_free[0, n, slot] -= sign * share.core
            self.card_free[1, n, slot] -= sign * share.share
            self.card_free[2, n, slot] -= sign * share.memory


def _scored_use(problem: PlacementProblem) -> list[list[int]]:
    pods, classes = problem.snapshot.pods, problem.snapshot.classes
    amounts = np.array(
        [[cls.nonzero_request.get(name, 0) for name in _SCORED] for cls in classes],
        dtype=np.int64,
    ).reshape(len(classes), len(_SCORED))
    bound = np.flatnonzero(pods.node_of >= 0)
    use = np.zeros((len(problem.capacity), len(_SCORED)), dtype=np.int64)
    np.add.at(use, pods.node_of[bound], amounts[pods.class_of[bound]])
    return [column.tolist() for column in use.T]


def _counted(problem: PlacementProblem) -> list[tuple[tuple[int, list[int]], ...]]:
    """Return, for each class, the counters it raises and the domain it raises on each node."""
    known: dict[tuple[str, bytes | None], list[int]] = {}
    domains = []
    for counter in problem.counters.counters:
        scope = counter.scope
        key = (counter.key, None if scope is None else scope.tobytes())
        if key not in known:
            domain = counter.domain_of if scope is None else np.where(scope, counter.domain_of, -1)
            known[key] = domain.tolist()
        domains.append(known[key])
    return [tuple((j, domains[j]) for j in counters) for counters in problem.counters.of_class]


def _card_room(problem: PlacementProblem) -> tuple[list[int], IntArray]:
    """Return the slot of each card on its node, and what all cards can give, ``(N, 3, K)``.

    Slots without a card have nothing to give.
    """
    cards = problem.snapshot.cards
    sizes = [len(cards.on_node(n)) for n in range(len(problem.capacity))]
    room = np.zeros((len(sizes), 3, max(sizes, default=0)), dtype=np.int64)
    slots = [0] * len(cards)
    for n in range(len(sizes)):
        for slot, d in enumerate(cards.on_node(n)):
            slots[d] = slot
            room[n, :, slot] = cards.capacity[d] - cards.used[d]
    return slots, room
