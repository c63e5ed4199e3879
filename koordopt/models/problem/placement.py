"""The placement problem: which pending pod goes to which node, by every rule, as arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from koordopt.models.api import keys
from koordopt.models.arrays import IntArray, frozen
from koordopt.models.counters import CounterTable
from koordopt.models.problem.masks import NodeMasks
from koordopt.models.reason import Reason
from koordopt.models.rules import device, gate, pod_affinity, quota, spread
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
    masks
        Nodes that each class may use by its own spec.
    counters
        Pods per topology domain, for spread and affinity.
    affinity, spread
        The inter-pod rules of each class that is to be placed, by class.
    """

    snapshot: ClusterSnapshot
    pending: IntArray
    holds: Mapping[int, Reason]
    masks: NodeMasks
    counters: CounterTable
    affinity: Mapping[int, ClassAffinity]
    spread: Mapping[int, ClassSpread]

    @classmethod
    def from_snapshot(
        cls, snapshot: ClusterSnapshot, *, hard_affinity_weight: int = 1
    ) -> PlacementProblem:
        """Return the problem of placing every pending pod of ``snapshot``; nothing moves.

        Parameters
        ----------
        snapshot
            The cluster.
        hard_affinity_weight
            Preference for nodes whose pods require a pod's company.
        """
        pods = snapshot.pods
        pending = np.flatnonzero(pods.node_of < 0)
        holds = {p: reason for p in pending.tolist() if (reason := _hold(snapshot, p)) is not None}
        wanted = np.unique(pods.class_of[pending]).tolist()
        counters, masks = CounterTable(snapshot), NodeMasks(snapshot)
        return cls(
            snapshot=snapshot,
            pending=frozen(pending),
            holds=holds,
            masks=masks,
            counters=counters,
            affinity=pod_affinity.compile_affinity(
                snapshot, counters, wanted, hard_affinity_weight
            ),
            spread=spread.compile_spread(
                snapshot, counters, wanted, masks.by_affinity, masks.by_taints
            ),
        )

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
