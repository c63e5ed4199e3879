"""What the API server fills in when an object is created, for objects that never were there.

Every function leaves an object that had it as it is, and returns the same object where nothing
changes.
"""

from collections.abc import Iterable, Mapping
from operator import is_
from typing import TypeVar

import msgspec

from koordopt.models.api.core import (
    Affinity,
    Container,
    ContainerPort,
    LabelSelector,
    Namespace,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    ResourceRequirements,
    SelectorRequirement,
    Toleration,
    TopologySpreadConstraint,
)
from koordopt.models.api.keys import HUGE_PAGES_PREFIX, LABEL_NAMESPACE_NAME
from koordopt.models.api.requests import (
    container_limit_sums,
    container_request_sums,
    is_pod_level_resource,
)
from koordopt.models.units import Quantity

DEFAULT_SCHEDULER = "default-scheduler"
DEFAULT_GRACE_PERIOD_S = 30

_replace = msgspec.structs.replace
_Term = TypeVar("_Term", PodAffinityTerm, TopologySpreadConstraint)


def default_pod(pod: Pod) -> Pod:
    """Return a pod with the defaults that rules read.

    A limit without a request becomes the request, of containers and of the pod as a whole; ports
    under host networking become host ports, of TCP where no protocol is named; empty operators,
    policies and names get their defaults; ``matchLabelKeys`` are merged into the selectors.
    """
    spec = pod.spec
    changes: dict[str, object] = {}
    containers = tuple(_default_container(each, spec.host_network) for each in spec.containers)
    if _differs(containers, spec.containers):
        changes["containers"] = containers
    if spec.init_containers:
        inits = tuple(_default_container(each, spec.host_network) for each in spec.init_containers)
        if _differs(inits, spec.init_containers):
            changes["init_containers"] = inits
    if spec.tolerations:
        tolerations = tuple(map(_default_toleration, spec.tolerations))
        if _differs(tolerations, spec.tolerations):
            changes["tolerations"] = tolerations
    if spec.topology_spread_constraints:
        constraints = tuple(map(_default_constraint, spec.topology_spread_constraints))
        if _differs(constraints, spec.topology_spread_constraints):
            changes["topology_spread_constraints"] = constraints
    if not spec.scheduler_name:
        changes["scheduler_name"] = DEFAULT_SCHEDULER
    if not spec.preemption_policy:
        changes["preemption_policy"] = "PreemptLowerPriority"
    if spec.termination_grace_period_seconds is None:
        changes["termination_grace_period_seconds"] = DEFAULT_GRACE_PERIOD_S
    if changes:
        pod = _replace(pod, spec=_replace(spec, **changes))
    if spec.resources is not None:
        pod = _default_pod_level(pod, spec.resources)
    return merge_match_label_keys(pod)


def default_namespace(namespace: Namespace) -> Namespace:
    """Return a namespace with the label that holds its name."""
    metadata = namespace.metadata
    if not metadata.name or metadata.labels.get(LABEL_NAMESPACE_NAME) == metadata.name:
        return namespace
    labels = {**metadata.labels, LABEL_NAMESPACE_NAME: metadata.name}
    return _replace(namespace, metadata=_replace(metadata, labels=labels))


def merge_match_label_keys(pod: Pod) -> Pod:
    """Return a pod whose ``matchLabelKeys`` and ``mismatchLabelKeys`` stand in its selectors.

    The API server does this at creation: for each key that the pod has as a label, spread
    constraints and pod affinity terms gain the requirement ``key In [value]``, and for mismatch
    keys ``key NotIn [value]``. A requirement that is there already is not repeated, so a merged
    pod and an unmerged one mean the same. A null selector stays null.
    """
    spec = pod.spec
    labels = pod.metadata.labels
    changes: dict[str, object] = {}
    if spec.topology_spread_constraints:
        constraints = tuple(_merge(each, labels) for each in spec.topology_spread_constraints)
        if _differs(constraints, spec.topology_spread_constraints):
            changes["topology_spread_constraints"] = constraints
    affinity = spec.affinity
    if affinity is not None and (affinity.pod_affinity or affinity.pod_anti_affinity):
        merged = Affinity(
            node_affinity=affinity.node_affinity,
            pod_affinity=_merge_affinity(affinity.pod_affinity, labels),
            pod_anti_affinity=_merge_affinity(affinity.pod_anti_affinity, labels),
        )
        if (
            merged.pod_affinity is not affinity.pod_affinity
            or merged.pod_anti_affinity is not affinity.pod_anti_affinity
        ):
            changes["affinity"] = merged
    return _replace(pod, spec=_replace(spec, **changes)) if changes else pod


def _differs(new: tuple[object, ...], old: tuple[object, ...]) -> bool:
    return not all(map(is_, new, old))


# Containers and resources.


def _default_container(container: Container, host_network: bool) -> Container:
    resources = container.resources
    limits, requests = resources.limits, resources.requests
    missing = limits and not limits.keys() <= requests.keys()
    ports = container.ports
    if ports:
        defaulted = tuple(_default_port(port, host_network) for port in ports)
        if _differs(defaulted, ports):
            container = _replace(container, ports=defaulted)
    if missing:
        resources = ResourceRequirements(requests={**limits, **requests}, limits=limits)
        container = _replace(container, resources=resources)
    return container


def _default_port(port: ContainerPort, host_network: bool) -> ContainerPort:
    host_port = port.container_port if host_network and not port.host_port else port.host_port
    if port.protocol and host_port == port.host_port:
        return port
    return _replace(port, protocol=port.protocol or "TCP", host_port=host_port)


def _default_pod_level(pod: Pod, resources: ResourceRequirements) -> Pod:
    """Return a pod whose pod-level requests are complete where its pod-level limits are set.

    A request that is missing is what the containers ask for (cpu and memory), else the limit.
    Huge pages that only containers limit are limited by their sum.
    """
    requests, limits = dict(resources.requests), dict(resources.limits)
    if limits or requests:
        for name, nanos in container_limit_sums(pod).items():
            if name.startswith(HUGE_PAGES_PREFIX) and name not in resources.requests:
                limits.setdefault(name, Quantity(nanos))
    if limits:
        for name, nanos in container_request_sums(pod).items():
            if is_pod_level_resource(name) and not name.startswith(HUGE_PAGES_PREFIX):
                requests.setdefault(name, Quantity(nanos))
        for name, limit in limits.items():
            if is_pod_level_resource(name):
                requests.setdefault(name, limit)
    if len(requests) == len(resources.requests) and len(limits) == len(resources.limits):
        return pod
    resources = ResourceRequirements(requests=requests, limits=limits)
    return _replace(pod, spec=_replace(pod.spec, resources=resources))


# Placement rules.


def _default_toleration(toleration: Toleration) -> Toleration:
    return toleration if toleration.operator else _replace(toleration, operator="Equal")


def _default_constraint(constraint: TopologySpreadConstraint) -> TopologySpreadConstraint:
    if constraint.node_affinity_policy and constraint.node_taints_policy:
        return constraint
    return _replace(
        constraint,
        node_affinity_policy=constraint.node_affinity_policy or "Honor",
        node_taints_policy=constraint.node_taints_policy or "Ignore",
    )


def _merge_affinity(affinity: PodAffinity | None, labels: Mapping[str, str]) -> PodAffinity | None:
    if affinity is None:
        return None
    required = tuple(_merge(term, labels) for term in affinity.required)
    preferred = tuple(
        each
        if (term := _merge(each.pod_affinity_term, labels)) is each.pod_affinity_term
        else _replace(each, pod_affinity_term=term)
        for each in affinity.preferred
    )
    if _differs(required, affinity.required) or _differs(preferred, affinity.preferred):
        return PodAffinity(required=required, preferred=preferred)
    return affinity


def _merge(term: _Term, labels: Mapping[str, str]) -> _Term:
    selector = term.label_selector
    if selector is None:
        return term
    wanted = [(key, "In") for key in term.match_label_keys]
    if isinstance(term, PodAffinityTerm):
        wanted += [(key, "NotIn") for key in term.mismatch_label_keys]
    extended = _extended(selector, wanted, labels)
    return term if extended is selector else _replace(term, label_selector=extended)


def _extended(
    selector: LabelSelector, wanted: Iterable[tuple[str, str]], labels: Mapping[str, str]
) -> LabelSelector:
    """Return a selector with a requirement on the pod's own label for each wanted key."""
    expressions = selector.match_expressions
    for key, operator in wanted:
        if key in labels:
            added = SelectorRequirement(key=key, operator=operator, values=(labels[key],))
            if added not in expressions:
                expressions = (*expressions, added)
    if expressions is selector.match_expressions:
        return selector
    return _replace(selector, match_expressions=expressions)
