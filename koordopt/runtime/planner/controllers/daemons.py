"""Pods that DaemonSets lack: one for each node that their template may run on."""

from collections.abc import Iterator
from typing import Final

import msgspec

from koordopt.models.api.core import (
    Affinity,
    Node,
    NodeAffinity,
    NodeSelector,
    NodeSelectorTerm,
    Pod,
    PodSpec,
    SelectorRequirement,
    Toleration,
)
from koordopt.models.api.selectors import NAME_FIELD, compile_node_selector
from koordopt.models.rules.taint import HARD_EFFECTS, is_tolerated
from koordopt.runtime.planner.controllers.owners import Owners
from koordopt.runtime.planner.controllers.templates import Template, generated_names, owner_of
from koordopt.runtime.planner.reading.inputs import Workload

_CONDITION: Final = "node.kubernetes.io/"
DAEMON_TOLERATIONS: Final = (
    Toleration(key=f"{_CONDITION}not-ready", operator="Exists", effect="NoExecute"),
    Toleration(key=f"{_CONDITION}unreachable", operator="Exists", effect="NoExecute"),
    Toleration(key=f"{_CONDITION}disk-pressure", operator="Exists", effect="NoSchedule"),
    Toleration(key=f"{_CONDITION}memory-pressure", operator="Exists", effect="NoSchedule"),
    Toleration(key=f"{_CONDITION}pid-pressure", operator="Exists", effect="NoSchedule"),
    Toleration(key=f"{_CONDITION}unschedulable", operator="Exists", effect="NoSchedule"),
)
"""What the controller adds to every pod of a DaemonSet."""

HOST_NETWORK_TOLERATION: Final = Toleration(
    key=f"{_CONDITION}network-unavailable", operator="Exists", effect="NoSchedule"
)
"""What it adds to those on the host's network."""


def daemon_set_pods(workload: Workload, owners: Owners) -> Iterator[Pod]:
    """Yield the pods that a DaemonSet lacks, each bound by affinity to the name of its node."""
    template = Template(workload, owner_of(workload))
    spec = _tolerant(template.base.spec)
    served = {_node_of(pod) for pod in owners.active(workload)}
    taken = owners.names(workload.namespace)
    for node in owners.nodes:
        name = node.metadata.name
        if name not in served and _may_run(spec, node):
            pod = template.pod(next(generated_names(workload, taken, seed=name)))
            yield msgspec.structs.replace(pod, spec=_on_node(spec, name))


def _tolerant(spec: PodSpec) -> PodSpec:
    """Return a pod's spec with the tolerations of daemons."""
    extra = [*DAEMON_TOLERATIONS, *[HOST_NETWORK_TOLERATION] * spec.host_network]
    missing = [each for each in extra if each not in spec.tolerations]
    return msgspec.structs.replace(spec, tolerations=(*spec.tolerations, *missing))


def _may_run(spec: PodSpec, node: Node) -> bool:
    """Whether the controller makes a pod for a node: name, selector, affinity and hard taints."""
    meta = node.metadata
    affinity = spec.affinity.node_affinity if spec.affinity else None
    required = affinity.required if affinity else None
    return (
        spec.node_name in ("", meta.name)
        and all(meta.labels.get(key) == value for key, value in spec.node_selector.items())
        and (required is None or compile_node_selector(required).matches(meta.labels, meta.name))
        and all(
            is_tolerated(taint, spec.tolerations)
            for taint in node.spec.taints
            if taint.effect in HARD_EFFECTS
        )
    )


def _on_node(spec: PodSpec, node: str) -> PodSpec:
    """Return a spec whose required node affinity is one node's name, as the controller sets it."""
    affinity = spec.affinity or Affinity()
    preferred = affinity.node_affinity.preferred if affinity.node_affinity else ()
    by_name = SelectorRequirement(key=NAME_FIELD, operator="In", values=(node,))
    required = NodeSelector(node_selector_terms=(NodeSelectorTerm(match_fields=(by_name,)),))
    bound = NodeAffinity(required=required, preferred=preferred)
    return msgspec.structs.replace(
        spec, affinity=msgspec.structs.replace(affinity, node_affinity=bound)
    )


def _node_of(pod: Pod) -> str:
    """Return the node that a daemon's pod runs on or waits for; empty where it names none."""
    if pod.spec.node_name:
        return pod.spec.node_name
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
    terms = affinity.required.node_selector_terms if affinity and affinity.required else ()
    for term in terms:
        for field in term.match_fields:
            if field.key == NAME_FIELD and field.operator == "In" and len(field.values) == 1:
                return field.values[0]
    return ""
