"""What the API server would refuse in an object of the right shape, where scheduling reads it.

Each function returns the first fault, or None.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Protocol

from koordopt.errors import InvalidInputError
from koordopt.models.api.core import (
    Affinity,
    Container,
    LabelSelector,
    Node,
    NodeSelectorTerm,
    ObjectMeta,
    Pod,
    PodAffinityTerm,
    PodDisruptionBudget,
    ResourceList,
    SelectorRequirement,
    Taint,
    Toleration,
    TopologySpreadConstraint,
)
from koordopt.models.api.crds import Metadata
from koordopt.models.api.faults import Fault
from koordopt.models.api.labels import is_label_key, is_label_value
from koordopt.models.api.selectors import NAME_FIELD, NODE_OPERATORS, compile_selector
from koordopt.models.units import NANOS_PER_UNIT

LABEL_KEY = "a label key, such as app or example.com/app"
LABEL_VALUE = (
    "a label value: at most 63 letters, digits, '-', '_' and '.', a letter or digit at both ends"
)
_TAINT_EFFECTS = frozenset({"NoSchedule", "PreferNoSchedule", "NoExecute"})
_MAX_WEIGHT = 100
_POLICIES = ("", "Honor", "Ignore")


class _Named(Protocol):
    """An object with metadata."""

    @property
    def metadata(self) -> ObjectMeta | Metadata: ...


def name_fault(named: _Named) -> Fault | None:
    """Return what is wrong with an object's name."""
    name = named.metadata.name
    if not name:
        return Fault("metadata.name", None, "a name")
    if "/" in name:
        return Fault("metadata.name", name, "a name without a slash")
    return None


def pod_fault(pod: Pod) -> Fault | None:
    """Return what is wrong with a pod."""
    spec, labels = pod.spec, pod.metadata.labels
    fault = name_fault(pod)
    if fault:
        return fault
    for container in spec.containers:
        if _has_fraction(container):
            return _first(_container_faults("containers", spec.containers))
    if not (
        spec.init_containers
        or spec.affinity
        or spec.tolerations
        or spec.topology_spread_constraints
    ):
        return None
    return _first(
        chain(
            _container_faults("initContainers", spec.init_containers),
            _toleration_faults(spec.tolerations),
            _spread_faults(spec.topology_spread_constraints, labels),
            _affinity_faults(spec.affinity, labels) if spec.affinity is not None else (),
        )
    )


def node_fault(node: Node) -> Fault | None:
    """Return what is wrong with a node."""
    return name_fault(node) or _first(_taint_faults(node.spec.taints))


def budget_fault(budget: PodDisruptionBudget) -> Fault | None:
    """Return what is wrong with a disruption budget."""
    return name_fault(budget) or _first(_selector_faults("spec.selector", budget.spec.selector))


def _first(faults: Iterable[Fault]) -> Fault | None:
    return next(iter(faults), None)


def _maybe(fault: Fault | None) -> tuple[Fault, ...]:
    return () if fault is None else (fault,)


def _labels_fault(field: str, labels: Mapping[str, str]) -> Fault | None:
    for key, value in labels.items():
        if not is_label_value(value):
            return Fault(f"{field}.{key}", value, LABEL_VALUE)
        if not is_label_key(key):
            return Fault(field, key, LABEL_KEY)
    return None


# Resources.


def is_extended_resource(name: str) -> bool:
    """Whether a resource is one that the API server takes in whole units only."""
    return "/" in name and "kubernetes.io/" not in name and not name.startswith("requests.")


def _has_fraction(container: Container) -> bool:
    # Plain loops: this runs for every container of a cluster.
    for resources in (container.resources.requests, container.resources.limits):
        for name in resources:
            if (
                "/" in name
                and resources[name].nanos % NANOS_PER_UNIT
                and is_extended_resource(name)
            ):
                return True
    return False


def _container_faults(field: str, containers: Iterable[Container]) -> Iterator[Fault]:
    for index, container in enumerate(containers):
        path = f"spec.{field}[{index}].resources"
        yield from _fraction_faults(f"{path}.requests", container.resources.requests)
        yield from _fraction_faults(f"{path}.limits", container.resources.limits)


def _fraction_faults(path: str, resources: ResourceList) -> Iterator[Fault]:
    for name, quantity in resources.items():
        if quantity.nanos % NANOS_PER_UNIT and is_extended_resource(name):
            yield Fault(f"{path}.{name}", str(quantity), "a whole number")


# Taints, tolerations, spread.


def _taint_faults(taints: Iterable[Taint]) -> Iterator[Fault]:
    for index, taint in enumerate(taints):
        path = f"spec.taints[{index}]"
        if not is_label_key(taint.key):
            yield Fault(f"{path}.key", taint.key, LABEL_KEY)
        if taint.effect not in _TAINT_EFFECTS:
            yield Fault(f"{path}.effect", taint.effect, _one_of(_TAINT_EFFECTS))


def _toleration_faults(tolerations: Iterable[Toleration]) -> Iterator[Fault]:
    for index, toleration in enumerate(tolerations):
        path = f"spec.tolerations[{index}]"
        if toleration.operator not in ("", "Equal", "Exists"):
            yield Fault(f"{path}.operator", toleration.operator, "Equal or Exists")
        if toleration.effect and toleration.effect not in _TAINT_EFFECTS:
            yield Fault(f"{path}.effect", toleration.effect, _one_of(_TAINT_EFFECTS))
        if not toleration.key and toleration.operator != "Exists":
            yield Fault(f"{path}.key", toleration.key, "a key, or the operator Exists")


def _spread_faults(
    constraints: Iterable[TopologySpreadConstraint], labels: Mapping[str, str]
) -> Iterator[Fault]:
    for index, constraint in enumerate(constraints):
        path = f"spec.topologySpreadConstraints[{index}]"
        if constraint.max_skew < 1:
            yield Fault(f"{path}.maxSkew", constraint.max_skew, "a whole number from 1")
        if not is_label_key(constraint.topology_key):
            yield Fault(f"{path}.topologyKey", constraint.topology_key, LABEL_KEY)
        if constraint.when_unsatisfiable not in ("DoNotSchedule", "ScheduleAnyway"):
            yield Fault(
                f"{path}.whenUnsatisfiable",
                constraint.when_unsatisfiable,
                "DoNotSchedule or ScheduleAnyway",
            )
        if constraint.min_domains is not None and constraint.min_domains < 1:
            yield Fault(f"{path}.minDomains", constraint.min_domains, "a whole number from 1")
        if constraint.node_affinity_policy not in _POLICIES:
            yield Fault(
                f"{path}.nodeAffinityPolicy", constraint.node_affinity_policy, "Honor or Ignore"
            )
        if constraint.node_taints_policy not in _POLICIES:
            yield Fault(
                f"{path}.nodeTaintsPolicy", constraint.node_taints_policy, "Honor or Ignore"
            )
        yield from _selector_faults(f"{path}.labelSelector", constraint.label_selector)
        yield from _merged_label_faults(constraint.match_label_keys, labels)


# Affinity.


def _affinity_faults(affinity: Affinity, labels: Mapping[str, str]) -> Iterator[Fault]:
    if affinity.node_affinity is not None:
        path = "spec.affinity.nodeAffinity"
        required, preferred = affinity.node_affinity.required, affinity.node_affinity.preferred
        if required is not None:
            field = f"{path}.{_REQUIRED}.nodeSelectorTerms"
            if not required.node_selector_terms:
                yield Fault(field, (), "at least one term")
            for index, term in enumerate(required.node_selector_terms):
                yield from _node_term_faults(f"{field}[{index}]", term)
        for index, weighted in enumerate(preferred):
            field = f"{path}.{_PREFERRED}[{index}]"
            yield from _weight_faults(field, weighted.weight)
            yield from _node_term_faults(f"{field}.preference", weighted.preference)
    for name, terms in (
        ("podAffinity", affinity.pod_affinity),
        ("podAntiAffinity", affinity.pod_anti_affinity),
    ):
        if terms is None:
            continue
        path = f"spec.affinity.{name}"
        for index, each in enumerate(terms.required):
            yield from _pod_term_faults(f"{path}.{_REQUIRED}[{index}]", each, labels)
        for index, preference in enumerate(terms.preferred):
            field = f"{path}.{_PREFERRED}[{index}]"
            yield from _weight_faults(field, preference.weight)
            term_field = f"{field}.podAffinityTerm"
            yield from _pod_term_faults(term_field, preference.pod_affinity_term, labels)


_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def _weight_faults(path: str, weight: int) -> Iterator[Fault]:
    if not 1 <= weight <= _MAX_WEIGHT:
        yield Fault(f"{path}.weight", weight, f"a whole number from 1 to {_MAX_WEIGHT}")


def _pod_term_faults(
    path: str, term: PodAffinityTerm, labels: Mapping[str, str]
) -> Iterator[Fault]:
    if not is_label_key(term.topology_key):
        yield Fault(f"{path}.topologyKey", term.topology_key, LABEL_KEY)
    yield from _selector_faults(f"{path}.labelSelector", term.label_selector)
    yield from _selector_faults(f"{path}.namespaceSelector", term.namespace_selector)
    yield from _merged_label_faults((*term.match_label_keys, *term.mismatch_label_keys), labels)


def _merged_label_faults(names: Iterable[str], labels: Mapping[str, str]) -> Iterator[Fault]:
    """Return faults of the pod's own labels that become part of its selectors.

    Elsewhere a label that the API server would refuse does no harm, so it is let pass.
    """
    read = {name: labels[name] for name in names if name in labels}
    yield from _maybe(_labels_fault("metadata.labels", read))


def _selector_faults(path: str, selector: LabelSelector | None) -> Iterator[Fault]:
    if selector is None:
        return
    yield from _maybe(_labels_fault(f"{path}.matchLabels", selector.match_labels))
    for index, expression in enumerate(selector.match_expressions):
        try:
            compile_selector(LabelSelector(match_expressions=(expression,)))
        except InvalidInputError:
            written = f"{expression.key} {expression.operator} ({', '.join(expression.values)})"
            expected = "a valid key, an operator In, NotIn, Exists or DoesNotExist, and its values"
            yield Fault(f"{path}.matchExpressions[{index}]", written, expected)


def _node_term_faults(path: str, term: NodeSelectorTerm) -> Iterator[Fault]:
    for index, expression in enumerate(term.match_expressions):
        field = f"{path}.matchExpressions[{index}]"
        if not is_label_key(expression.key):
            yield Fault(f"{field}.key", expression.key, LABEL_KEY)
        if expression.operator not in NODE_OPERATORS:
            yield Fault(f"{field}.operator", expression.operator, _one_of(NODE_OPERATORS))
        yield from _value_count_faults(field, expression)
    for index, expression in enumerate(term.match_fields):
        field = f"{path}.matchFields[{index}]"
        if expression.key != NAME_FIELD:
            yield Fault(f"{field}.key", expression.key, NAME_FIELD)
        if expression.operator not in ("In", "NotIn"):
            yield Fault(f"{field}.operator", expression.operator, "In or NotIn")
        if len(expression.values) != 1:
            yield Fault(f"{field}.values", expression.values, "a list of one name")


def _value_count_faults(path: str, expression: SelectorRequirement) -> Iterator[Fault]:
    count = len(expression.values)
    if expression.operator in ("In", "NotIn") and not count:
        yield Fault(f"{path}.values", expression.values, "at least one value")
    elif expression.operator in ("Exists", "DoesNotExist") and count:
        yield Fault(f"{path}.values", expression.values, "no values")
    elif expression.operator in ("Gt", "Lt") and count != 1:
        yield Fault(f"{path}.values", expression.values, "one value")


def _one_of(words: Iterable[str]) -> str:
    return f"one of {', '.join(sorted(words))}"
