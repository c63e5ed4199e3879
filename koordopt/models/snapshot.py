"""One instant of a cluster as read-only integer arrays, with the names to read them back."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from koordopt.models.api import keys
from koordopt.models.api.core import (
    Namespace,
    Node,
    Pod,
    PodDisruptionBudget,
    PriorityClass,
)
from koordopt.models.api.crds import Device, ElasticQuota, NodeMetric, PodGroup
from koordopt.models.api.gangs import MatchPolicy
from koordopt.models.arrays import LARGEST_AMOUNT, IntArray, frozen
from koordopt.models.cards import CardTable, card_table
from koordopt.models.gangs import GangTable, gang_table
from koordopt.models.matchers import MatcherTable
from koordopt.models.nodes import NodeTable
from koordopt.models.pods import PodClass, PodTable, intern_pods
from koordopt.models.quota.spec import QuotaSettings
from koordopt.models.quotas import QuotaTable, quota_table
from koordopt.models.rules.device import CardRequest, CardShare
from koordopt.models.units import amount

NAMESPACE_NAME = "kubernetes.io/metadata.name"


@dataclass(frozen=True)
class ClusterObjects:
    """The API objects that a snapshot is taken of, by kind, in any order."""

    nodes: Sequence[Node] = ()
    pods: Sequence[Pod] = ()
    namespaces: Sequence[Namespace] = ()
    priority_classes: Sequence[PriorityClass] = ()
    disruption_budgets: Sequence[PodDisruptionBudget] = ()
    pod_groups: Sequence[PodGroup] = ()
    elastic_quotas: Sequence[ElasticQuota] = ()
    devices: Sequence[Device] = ()
    node_metrics: Sequence[NodeMetric] = ()


@dataclass(frozen=True)
class SnapshotSettings:
    """How gangs and quotas are computed.

    Attributes
    ----------
    quota
        None for the defaults, with separate trees where a quota names one.
    gang_match_policy
        What counts towards the minimum of a gang that does not say.
    """

    quota: QuotaSettings | None = None
    gang_match_policy: MatchPolicy = MatchPolicy.ONCE_SATISFIED


@dataclass(frozen=True, eq=False)
class ClusterSnapshot:
    """A cluster at one instant; read-only.

    Attributes
    ----------
    generation
        Grows with every snapshot of a cluster; 0 for one read from files.
    now_s
        The instant, seconds since the epoch. For files: the latest creation in them, so that
        the same input always gives the same ages.
    resources
        The resource axis ``R``, sorted.
    allocatable
        What each node can give, shape ``(N, R)``, base units.
    nodes, pods, classes, matchers, gangs, quotas, cards
        The parts, each in canonical order.
    finished
        Pods that have run to their end, or sit on a node that is not there; they use nothing.
    objects
        The API objects that the snapshot was taken of.
    held_cards
        Cards that bound pods hold, by pod index.
    warnings
        What the objects get wrong without being left out, sorted.
    """

    generation: int
    now_s: int
    settings: SnapshotSettings
    resources: tuple[str, ...]
    allocatable: IntArray
    nodes: NodeTable
    pods: PodTable
    finished: tuple[Pod, ...]
    classes: tuple[PodClass, ...]
    matchers: MatcherTable
    gangs: GangTable
    quotas: QuotaTable
    cards: CardTable
    held_cards: Mapping[int, tuple[CardShare, ...]]
    warnings: tuple[str, ...]
    objects: ClusterObjects

    @cached_property
    def resource_index(self) -> dict[str, int]:
        """The index of each resource."""
        return {name: r for r, name in enumerate(self.resources)}

    @cached_property
    def classes_by_matcher(self) -> dict[int, tuple[int, ...]]:
        """The classes that each matcher selects, ascending."""
        found: dict[int, list[int]] = {}
        for c, cls in enumerate(self.classes):
            for m in cls.matched:
                found.setdefault(m, []).append(c)
        return {m: tuple(classes) for m, classes in found.items()}

    @cached_property
    def request(self) -> IntArray:
        """What a pod of each class asks for, one pod slot included, shape ``(C, R)``."""
        matrix = np.zeros((len(self.classes), len(self.resources)), dtype=np.int64)
        for c, cls in enumerate(self.classes):
            for name, value in cls.request.items():
                matrix[c, self.resource_index[name]] = value
        matrix[:, self.resource_index[keys.RESOURCE_PODS]] = 1
        return frozen(matrix)

    @classmethod
    def from_objects(
        cls,
        objects: ClusterObjects,
        *,
        generation: int = 0,
        now_s: int | None = None,
        settings: SnapshotSettings | None = None,
        pending: Collection[str] = (),
    ) -> ClusterSnapshot:
        """Return the snapshot of ``objects``, whatever order they come in.

        Parameters
        ----------
        objects
            Decoded and defaulted objects; names are unique within a kind and namespace.
        generation
            Number of the snapshot.
        now_s
            The instant, seconds since the epoch; None for the latest creation.
        settings
            How gangs and quotas are computed.
        pending
            Pods, as ``namespace/name``, that are to be placed although their spec names a node:
            on that one and no other.

        Notes
        -----
        Finished pods use nothing and are left out. A pod on a node that is not among the nodes
        uses nothing either; it gives a warning.
        """
        nodes = NodeTable.from_objects(objects.nodes)
        kept, finished = [], []
        for pod in sorted(objects.pods, key=_identity):
            name = pod.spec.node_name
            is_lost = name and name not in nodes.index and pod.key not in pending
            if pod.is_finished or is_lost:
                finished.append(pod)
            else:
                kept.append(pod)
        is_pending = [not pod.spec.node_name or pod.key in pending for pod in kept]
        matchers = MatcherTable()
        classes, class_of = intern_pods(
            kept, is_pending, _namespace_labels(objects, kept), matchers
        )
        node_of = [
            -1 if waits else nodes.index[pod.spec.node_name]
            for pod, waits in zip(kept, is_pending, strict=True)
        ]
        amounts = [_allocatable(node) for node in nodes.objects]
        resources = _resource_axis(classes, amounts)
        allocatable = np.zeros((len(nodes), len(resources)), dtype=np.int64)
        for n, given in enumerate(amounts):
            allocatable[n] = [given.get(name, 0) for name in resources]
        return cls.assemble(
            objects=objects,
            generation=generation,
            now_s=now_s,
            settings=settings or SnapshotSettings(),
            nodes=nodes,
            pods=PodTable.of(kept, node_of, class_of),
            finished=tuple(finished),
            classes=classes,
            matchers=matchers,
            resources=resources,
            allocatable=frozen(allocatable),
        )

    @classmethod
    def assemble(
        cls,
        *,
        objects: ClusterObjects,
        generation: int,
        now_s: int | None,
        settings: SnapshotSettings,
        nodes: NodeTable,
        pods: PodTable,
        finished: tuple[Pod, ...],
        classes: tuple[PodClass, ...],
        matchers: MatcherTable,
        resources: tuple[str, ...],
        allocatable: IntArray,
    ) -> ClusterSnapshot:
        """Return the snapshot over tables that are already there: gangs, quotas and cards."""
        cards, held, card_warnings = card_table(
            objects.devices, nodes.index, _card_holders(pods, classes)
        )
        quotas, quota_warnings = quota_table(
            objects.elastic_quotas, pods, classes, resources, allocatable, settings.quota
        )
        lost = [pod for pod in finished if not pod.is_finished]
        return cls(
            generation=generation,
            now_s=int(pods.created_s.max(initial=0)) if now_s is None else now_s,
            settings=settings,
            resources=resources,
            allocatable=allocatable,
            nodes=nodes,
            pods=pods,
            finished=finished,
            classes=classes,
            matchers=matchers,
            gangs=gang_table(
                pods.objects,
                pods.node_of.tolist(),
                finished,
                objects.pod_groups,
                settings.gang_match_policy,
            ),
            quotas=quotas,
            cards=cards,
            held_cards={pods.index[key]: shares for key, shares in held.items()},
            warnings=tuple(sorted({*map(_lost, lost), *card_warnings, *quota_warnings})),
            objects=objects,
        )


def _identity(pod: Pod) -> tuple[str, str]:
    return pod.metadata.namespace, pod.metadata.name


def _lost(pod: Pod) -> str:
    return f"Pod {pod.key}: node {pod.spec.node_name} is not in the input; it uses nothing"


def _namespace_labels(objects: ClusterObjects, pods: Sequence[Pod]) -> dict[str, Mapping[str, str]]:
    """Return the labels of every namespace that is known or used.

    The API server labels each namespace with its own name.
    """
    names = {pod.metadata.namespace for pod in pods}
    labels: dict[str, Mapping[str, str]] = {name: {NAMESPACE_NAME: name} for name in sorted(names)}
    for namespace in objects.namespaces:
        name = namespace.metadata.name
        labels[name] = {NAMESPACE_NAME: name, **namespace.metadata.labels}
    return labels


def _allocatable(node: Node) -> dict[str, int]:
    given = node.status.allocatable
    return {
        name: max(0, min(amount(name, (quantity,)), LARGEST_AMOUNT))
        for name, quantity in given.items()
    }


def _resource_axis(
    classes: Sequence[PodClass], amounts: Sequence[Mapping[str, int]]
) -> tuple[str, ...]:
    names = {keys.RESOURCE_CPU, keys.RESOURCE_MEMORY, keys.RESOURCE_PODS}
    for cls in classes:
        names.update(cls.request)
    for given in amounts:
        names.update(given)
    return tuple(sorted(names))


def _card_holders(
    pods: PodTable, classes: Sequence[PodClass]
) -> list[tuple[Pod, int, CardRequest | None]]:
    holders: list[tuple[Pod, int, CardRequest | None]] = []
    for p in np.flatnonzero(pods.node_of >= 0).tolist():
        request = classes[pods.class_of[p]].cards
        if isinstance(request, CardRequest):
            holders.append((pods.objects[p], int(pods.node_of[p]), request))
    return holders
