"""Where the spec of a pod lets it go: a named node, node selector and required node affinity."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from koordopt.models.api.core import NodeSelectorTerm
from koordopt.models.api.selectors import NAME_FIELD, Requirement, compile_node_term
from koordopt.models.arrays import BoolArray, IntArray, frozen
from koordopt.models.nodes import LabelColumn, NodeTable
from koordopt.models.violation import Violation

if TYPE_CHECKING:
    from koordopt.models.pods import PodClass
    from koordopt.models.problem.placement import PlacementProblem
    from koordopt.models.result import Placement

RULE = "node-affinity"


def allowed(nodes: NodeTable, cls: PodClass) -> BoolArray:
    """Return the nodes that selector and required affinity of ``cls`` allow, shape ``(N,)``."""
    mask = np.ones(len(nodes), dtype=np.bool_)
    spec = cls.pod.spec
    for key, value in sorted(spec.node_selector.items()):
        mask &= nodes.column(key).is_in((value,))
    affinity = spec.affinity.node_affinity if spec.affinity else None
    if affinity and affinity.required is not None:
        mask &= any_term(nodes, affinity.required.node_selector_terms)
    return frozen(mask)


def named(nodes: NodeTable, cls: PodClass) -> BoolArray:
    """Return the node that ``cls`` names, or all where it names none, shape ``(N,)``."""
    if not cls.required_node:
        return frozen(np.ones(len(nodes), dtype=np.bool_))
    return frozen(_only(nodes, cls.required_node))


def any_term(nodes: NodeTable, terms: tuple[NodeSelectorTerm, ...]) -> BoolArray:
    """Return the nodes that satisfy one of ``terms``, shape ``(N,)``; none for no terms."""
    mask = np.zeros(len(nodes), dtype=np.bool_)
    for term in terms:
        mask |= satisfies(nodes, term)
    return mask


def satisfies(nodes: NodeTable, term: NodeSelectorTerm) -> BoolArray:
    """Return the nodes that satisfy every requirement of ``term``, shape ``(N,)``.

    A term that is empty, or that has a requirement which is not valid, satisfies none.
    """
    compiled = compile_node_term(term)
    if compiled.is_void:
        return np.zeros(len(nodes), dtype=np.bool_)
    mask = np.ones(len(nodes), dtype=np.bool_)
    for requirement in compiled.labels.requirements:
        mask &= _meets(nodes.column(requirement.key), requirement)
    for name in compiled.included_names:
        mask &= _only(nodes, name)
    for name in compiled.excluded_names:
        mask &= ~_only(nodes, name)
    return mask


def _meets(column: LabelColumn, requirement: Requirement) -> BoolArray:
    """Return which nodes meet ``requirement``; each distinct value is looked at once."""
    by_value = [requirement.matches({requirement.key: value}) for value in column.values]
    by_value.append(requirement.matches({}))
    return np.array(by_value, dtype=np.bool_)[column.code]  # code -1, no label, reads the last


def _only(nodes: NodeTable, name: str) -> BoolArray:
    mask = np.zeros(len(nodes), dtype=np.bool_)
    if name in nodes.index:
        mask[nodes.index[name]] = True
    return mask


def has_conflict(cls: PodClass) -> bool:
    """Return whether each required term names several nodes at once, so that none can match."""
    affinity = cls.pod.spec.affinity
    required = affinity.node_affinity.required if affinity and affinity.node_affinity else None
    if required is None:
        return False
    terms = required.node_selector_terms
    return bool(terms) and all(_names_apart(term) for term in terms)


def _names_apart(term: NodeSelectorTerm) -> bool:
    named = [
        set(field.values)
        for field in term.match_fields
        if field.key == NAME_FIELD and field.operator == "In"
    ]
    return bool(named) and not set.intersection(*named)


def preference(nodes: NodeTable, cls: PodClass) -> IntArray:
    """Return the weight of the preferred terms that each node satisfies, shape ``(N,)``."""
    total = np.zeros(len(nodes), dtype=np.int64)
    affinity = cls.pod.spec.affinity
    if affinity and affinity.node_affinity:
        for weighted in affinity.node_affinity.preferred:
            total += weighted.weight * satisfies(nodes, weighted.preference)
    return frozen(total)


def violations(problem: PlacementProblem, placement: Placement) -> list[Violation]:
    """Return the pods that stand on a node which their own spec rules out."""
    snapshot = problem.snapshot
    found = []
    for p, n in zip(placement.pod.tolist(), placement.node.tolist(), strict=True):
        c = int(snapshot.pods.class_of[p])
        key, name = snapshot.pods.keys[p], snapshot.nodes.names[n]
        if not problem.masks.by_affinity(c)[n]:
            found.append(Violation(RULE, key, name, "a node that it selects"))
        if not problem.masks.named(c)[n]:
            found.append(Violation(RULE, key, name, snapshot.classes[c].required_node))
    return found
