"""Pods as columns, and the classes of pods that are interchangeable for placement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

import msgspec
import numpy as np

from koordopt.models.api.core import Pod
from koordopt.models.api.requests import nonzero_requests, pod_requests
from koordopt.models.arrays import LARGEST_AMOUNT, BoolArray, IntArray, frozen
from koordopt.models.matchers import MatcherTable, NamespaceScopes
from koordopt.models.rules import device, pod_affinity, port, spread
from koordopt.models.rules.device import CardRequest, InvalidCardRequest
from koordopt.models.rules.pod_affinity import AffinityTerms
from koordopt.models.rules.port import HostPort
from koordopt.models.rules.spread import SpreadTerm


@dataclass(frozen=True, eq=False)
class PodClass:
    """Everything that decides where a pod may run; pods that agree in it are interchangeable.

    Labels play a part only through the matchers that read them.

    Attributes
    ----------
    pod
        One pod of the class, for its node selector, affinity, tolerations and images.
    request
        Effective request by resource, base units, without zeros.
    nonzero_request
        CPU and memory that scores reckon with, where a container asks for none.
    matched
        Matchers that select the class, ascending.
    required_node
        Node that the spec of a pending pod names; empty for any.
    """

    pod: Pod
    request: Mapping[str, int]
    nonzero_request: Mapping[str, int]
    matched: tuple[int, ...]
    required_node: str
    affinity: AffinityTerms
    spread: tuple[SpreadTerm, ...]
    host_ports: tuple[HostPort, ...]
    cards: CardRequest | InvalidCardRequest | None


@dataclass(frozen=True, eq=False)
class PodTable:
    """All pods that take part, sorted by namespace and name.

    Attributes
    ----------
    objects
        The API objects, defaulted.
    class_of
        Class of each pod, shape ``(P,)``.
    node_of
        Node of each pod, shape ``(P,)``; -1 while pending.
    priority
        ``spec.priority``, shape ``(P,)``.
    created_s
        Creation, seconds since the epoch, shape ``(P,)``; 0 where unknown.
    terminating
        Which pods are being deleted, shape ``(P,)``.
    """

    objects: tuple[Pod, ...]
    class_of: IntArray
    node_of: IntArray
    priority: IntArray
    created_s: IntArray
    terminating: BoolArray

    @classmethod
    def of(cls, pods: Sequence[Pod], node_of: Sequence[int], class_of: IntArray) -> PodTable:
        """Return the table of ``pods``, which are sorted, with their nodes and classes."""
        created = [_seconds(pod.metadata.creation_timestamp) for pod in pods]
        return cls(
            objects=tuple(pods),
            class_of=frozen(class_of),
            node_of=frozen(np.array(node_of, dtype=np.int64)),
            priority=frozen(np.array([pod.spec.priority or 0 for pod in pods], dtype=np.int64)),
            created_s=frozen(np.array(created, dtype=np.int64)),
            terminating=frozen(np.array([pod.is_terminating for pod in pods], dtype=np.bool_)),
        )

    def __len__(self) -> int:
        return len(self.objects)

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """``namespace/name`` of each pod."""
        return tuple(pod.key for pod in self.objects)

    @cached_property
    def index(self) -> dict[str, int]:
        """The index of each ``namespace/name``."""
        return {key: p for p, key in enumerate(self.keys)}


def _seconds(moment: datetime | None) -> int:
    return 0 if moment is None else int(moment.timestamp())


def _clipped(amounts: Mapping[str, int]) -> dict[str, int]:
    return {name: min(v, LARGEST_AMOUNT + 1) for name, v in sorted(amounts.items()) if v > 0}


@dataclass(frozen=True)
class _Spec:
    """What a pod asks for, before it is known which selectors read its labels."""

    pod: Pod
    request: dict[str, int]
    nonzero_request: dict[str, int]
    required_node: str
    affinity: AffinityTerms
    spread: tuple[SpreadTerm, ...]

    def to_class(self, matched: tuple[int, ...]) -> PodClass:
        return PodClass(
            pod=self.pod,
            request=self.request,
            nonzero_request=self.nonzero_request,
            matched=matched,
            required_node=self.required_node,
            affinity=self.affinity,
            spread=self.spread,
            host_ports=port.ports_of(self.pod),
            cards=device.cards_of(self.request),
        )


def intern_pods(
    pods: Sequence[Pod],
    pending: Sequence[bool],
    namespaces: Mapping[str, Mapping[str, str]],
    matchers: MatcherTable,
) -> tuple[tuple[PodClass, ...], IntArray]:
    """Return the distinct classes of ``pods``, by first appearance, and the class of each.

    Parameters
    ----------
    pods
        Pods in canonical order, defaulted.
    pending
        Which of them are to be placed; a bound pod's in-place resize counts.
    namespaces
        Labels of each namespace.
    matchers
        Table that all selectors are entered into.
    """
    scopes = NamespaceScopes(namespaces)
    specs: list[_Spec] = []
    position: dict[bytes, int] = {}
    spec_of: list[int] = []
    for pod, is_pending in zip(pods, pending, strict=True):
        request = _clipped(pod_requests(pod, bound=not is_pending))
        nonzero = _clipped(nonzero_requests(pod, bound=not is_pending))
        key = _spec_key(pod, is_pending, request, nonzero)
        s = position.get(key)
        if s is None:
            s = position[key] = len(specs)
            specs.append(
                _Spec(
                    pod=pod,
                    request=request,
                    nonzero_request=nonzero,
                    required_node=pod.spec.node_name if is_pending else "",
                    affinity=pod_affinity.terms_of(pod, scopes, matchers),
                    spread=spread.terms_of(pod, matchers),
                )
            )
        spec_of.append(s)
    # Only now are all selectors known, so only now is it known which labels matter.
    classes: list[PodClass] = []
    class_position: dict[tuple[int, tuple[int, ...]], int] = {}
    class_of = np.zeros(len(pods), dtype=np.int64)
    for p, (pod, s) in enumerate(zip(pods, spec_of, strict=True)):
        matched = matchers.matching(pod.metadata.namespace, pod.metadata.labels)
        c = class_position.get((s, matched))
        if c is None:
            c = class_position[(s, matched)] = len(classes)
            classes.append(specs[s].to_class(matched))
        class_of[p] = c
    return tuple(classes), frozen(class_of)


def _spec_key(
    pod: Pod, is_pending: bool, request: Mapping[str, int], nonzero: Mapping[str, int]
) -> bytes:
    """Return bytes that are equal for pods that ask the same of every rule."""
    spec = pod.spec
    return msgspec.msgpack.encode(
        (
            spec.node_name if is_pending else "",
            pod.metadata.namespace,
            spec.node_selector,
            spec.affinity,
            spec.tolerations,
            spec.topology_spread_constraints,
            [(c.image, c.ports) for c in spec.containers],
            [(c.image, c.ports, c.restart_policy) for c in spec.init_containers],
            spec.host_network,
            request,
            nonzero,
        )
    )
