"""The placement problem: which pending pod goes to which node, by every rule, as arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from koordopt.models.api import keys
from koordopt.models.arrays import BoolArray, IntArray, frozen
from koordopt.models.problem.counters import CounterTable
from koordopt.models.reason import Reason
from koordopt.models.rules import device, gate, node_affinity, pod_affinity, quota, spread, taint
from koordopt.models.rules.device import InvalidCardRequest
from koordopt.models.rules.pod_affinity import ClassAffinity
from koordopt.models.rules.port import PortTable, compile_ports
from koordopt.models.rules.spread import ClassSpread
from koordopt.models.snapshot import ClusterSnapshot

PARTS = 10**9
"""Shares of the cluster are counted in parts of this many."""


@dataclass(frozen=True, eq=False)
class PlacementProblem:
    """Pending pods, the nodes they may go to, and everything that limits them.

    Attributes
    ----------
    snapshot
        The cluster; gives indices their names.
    pending
        Pods to place, ascending, shape ``(K,)``.
    holds
        Why some of them must not be placed whatever the room, by pod index.
    counters
        Pods per topology domain, for spread and affinity.
    affinity, spread
        The inter-pod rules of each class that is to be placed, by class.
    hard_affinity_weight
        Preference for nodes whose pods require this pod's company.

    Notes
    -----
    Everything that a class asks of nodes alone is computed when it is first asked for, and kept.
    """

    snapshot: ClusterSnapshot
    pending: IntArray
    holds: Mapping[int, Reason]
    counters: CounterTable
    affinity: Mapping[int, ClassAffinity]
    spread: Mapping[int, ClassSpread]
    hard_affinity_weight: int = 1
    _masks: dict[tuple[str, int], BoolArray] = field(default_factory=dict, repr=False)

    @classmethod
    def from_snapshot(
        cls, snapshot: ClusterSnapshot, *, hard_affinity_weight: int = 1
    ) -> PlacementProblem:
        """Return the problem of placing every pending pod of ``snapshot``; nothing moves."""
        pods = snapshot.pods
        pending = np.flatnonzero(pods.node_of < 0)
        holds = {p: reason for p in pending.tolist() if (reason := _hold(snapshot, p)) is not None}
        wanted = np.unique(pods.class_of[pending]).tolist()
        counters = CounterTable(snapshot)
        problem = cls(
            snapshot=snapshot,
            pending=frozen(pending),
            holds=holds,
            counters=counters,
            affinity=pod_affinity.compile_affinity(
                snapshot, counters, wanted, hard_affinity_weight
            ),
            spread={},
            hard_affinity_weight=hard_affinity_weight,
        )
        compiled = spread.compile_spread(
            snapshot, counters, wanted, problem.allowed_by_affinity, problem.allowed_by_taints
        )
        object.__setattr__(problem, "spread", compiled)
        return problem

    @property
    def resources(self) -> tuple[str, ...]:
        """The resource axis."""
        return self.snapshot.resources

    @property
    def capacity(self) -> IntArray:
        """What each node can give, shape ``(N, R)``."""
        return self.snapshot.allocatable

    @property
    def request(self) -> IntArray:
        """What a pod of each class asks for, shape ``(C, R)``."""
        return self.snapshot.request

    @cached_property
    def ports(self) -> PortTable:
        """The host ports of the cluster, and who uses them."""
        return compile_ports(self.snapshot)

    @cached_property
    def used(self) -> IntArray:
        """What bound pods take of each node, shape ``(N, R)``."""
        pods = self.snapshot.pods
        bound = np.flatnonzero(pods.node_of >= 0)
        used = np.zeros_like(self.capacity)
        np.add.at(used, pods.node_of[bound], self.request[pods.class_of[bound]])
        return frozen(used)

    @cached_property
    def _dominant_shares(self) -> list[int]:
        total = self.capacity.sum(axis=0).tolist()
        slots = self.snapshot.resource_index[keys.RESOURCE_PODS]
        return [dominant_share(row, total, slots) for row in self.request.tolist()]

    def dominant_share(self, c: int) -> int:
        """Return the largest share of the cluster that a pod of class ``c`` asks for, in parts."""
        return self._dominant_shares[int(c)]

    def allowed_by_affinity(self, c: int) -> BoolArray:
        """Return the nodes that selector and required node affinity of ``c`` allow; ``(N,)``."""
        return self._mask("affinity", c)

    def allowed_by_taints(self, c: int) -> BoolArray:
        """Return the nodes whose hard taints class ``c`` tolerates, shape ``(N,)``."""
        return self._mask("taints", c)

    def open_nodes(self, c: int) -> BoolArray:
        """Return the nodes that are not cordoned for class ``c``, shape ``(N,)``."""
        return self._mask("open", c)

    def named(self, c: int) -> BoolArray:
        """Return the node that class ``c`` names, or all, shape ``(N,)``."""
        return self._mask("named", c)

    def eligible(self, c: int) -> BoolArray:
        """Return the nodes that class ``c`` may use, whatever runs on them, shape ``(N,)``."""
        return self._mask("eligible", c)

    def _mask(self, kind: str, c: int) -> BoolArray:
        mask = self._masks.get((kind, c))
        if mask is None:
            mask = self._masks[(kind, c)] = self._compute(kind, c)
        return mask

    def _compute(self, kind: str, c: int) -> BoolArray:
        nodes, cls = self.snapshot.nodes, self.snapshot.classes[c]
        match kind:
            case "affinity":
                return node_affinity.allowed(nodes, cls)
            case "taints":
                return taint.allowed(nodes, cls)
            case "open":
                return taint.open_nodes(nodes, cls)
            case "named":
                return node_affinity.named(nodes, cls)
        parts = (self.open_nodes, self.named, self.allowed_by_taints, self.allowed_by_affinity)
        return frozen(np.logical_and.reduce([part(c) for part in parts]))


def dominant_share(amounts: Sequence[int], total: Sequence[int], slots: int) -> int:
    """Return the largest share of ``total`` in ``amounts``, in parts per 10^9.

    The pod slots, resource ``slots``, do not count, nor does what the cluster does not have.
    """
    return max(
        (
            int(amount) * PARTS // int(total[r])
            for r, amount in enumerate(amounts)
            if r != slots and total[r] > 0
        ),
        default=0,
    )


def _hold(snapshot: ClusterSnapshot, p: int) -> Reason | None:
    """Return why pending pod ``p`` must not be placed, whatever the room."""
    pod = snapshot.pods.objects[p]
    reason = gate.hold_of(pod)
    if reason is not None:
        return reason
    cards = snapshot.classes[snapshot.pods.class_of[p]].cards
    if isinstance(cards, InvalidCardRequest):
        return Reason(device.RULE, pod.key, cards.message, eviction_could_help=False)
    if snapshot.quotas.names_parent[p]:
        return quota.parent_hold(snapshot, p)
    gangs = snapshot.gangs
    if p in gangs.gang_of:
        return gangs.groups[gangs.group_of[gangs.gang_of[p]]].hold
    return None
