"""Where the spec of a pod lets it go: a named node, node selector and required node affinity."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from koordopt.models.api.core import NodeSelectorTerm, SelectorRequirement
from koordopt.models.arrays import BoolArray, IntArray, frozen
from koordopt.models.nodes import NodeTable
from koordopt.models.violation import Violation

if TYPE_CHECKING:
    from koordopt.models.pods import PodClass
    from koordopt.models.problem.placement import PlacementProblem
    from koordopt.models.result import Placement

RULE = "node-affinity"
NAME_FIELD = "metadata.name"


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
    mask = np.zeros(len(nodes), dtype=np.bool_)
    if cls.required_node in nodes.index:
        mask[nodes.index[cls.required_node]] = True
    return frozen(mask)


def any_term(nodes: NodeTable, terms: tuple[NodeSelectorTerm, ...]) -> BoolArray:
    """Return the nodes that satisfy one of ``terms``, shape ``(N,)``; none for no terms."""
    mask = np.zeros(len(nodes), dtype=np.bool_)
    for term in terms:
        mask |= satisfies(nodes, term)
    return mask


def satisfies(nodes: NodeTable, term: NodeSelectorTerm) -> BoolArray:
    """Return the nodes that satisfy every requirement of ``term``; an empty term satisfies none."""
    if not term.match_expressions and not term.match_fields:
        return np.zeros(len(nodes), dtype=np.bool_)
    mask = np.ones(len(nodes), dtype=np.bool_)
    for requirement in term.match_expressions:
        mask &= _label_meets(nodes, requirement)
    for requirement in term.match_fields:
        mask &= _field_meets(nodes, requirement)
    return mask


def _label_meets(nodes: NodeTable, requirement: SelectorRequirement) -> BoolArray:
    column = nodes.column(requirement.key)
    match requirement.operator:
        case "In":
            return column.is_in(requirement.values)
        case "NotIn":  # a node without the label is not in the set
            return ~column.is_in(requirement.values)
        case "Exists":
            return column.code >= 0
        case "DoesNotExist":
            return column.code < 0
        case "Gt" | "Lt":
            return column.is_in(_beyond(requirement, column.values))
        case _:
            return np.zeros(len(nodes), dtype=np.bool_)


def _beyond(requirement: SelectorRequirement, values: tuple[str, ...]) -> tuple[str, ...]:
    """Return the label values that are integers on the wanted side of the operand."""
    operand = _integer(requirement.values[0]) if len(requirement.values) == 1 else None
    if operand is None:
        return ()
    found = []
    for value in values:
        number = _integer(value)
        if number is None:
            continue
        if number > operand if requirement.operator == "Gt" else number < operand:
            found.append(value)
    return tuple(found)


def _integer(text: str) -> int | None:
    """Return ``text`` as a 64-bit decimal integer, None where it is not one."""
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 19:
        return None
    number = int(text)
    return number if -(1 << 63) <= number < 1 << 63 else None


def _field_meets(nodes: NodeTable, requirement: SelectorRequirement) -> BoolArray:
    mask = np.zeros(len(nodes), dtype=np.bool_)
    if requirement.key != NAME_FIELD or requirement.operator not in ("In", "NotIn"):
        return mask
    mask[[nodes.index[name] for name in requirement.values if name in nodes.index]] = True
    return mask if requirement.operator == "In" else ~mask


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
        cls = snapshot.classes[snapshot.pods.class_of[p]]
        if not (allowed_cached(problem, p)[n] and named(snapshot.nodes, cls)[n]):
            found.append(
                Violation(
                    RULE, snapshot.pods.keys[p], snapshot.nodes.names[n], "a node that it selects"
                )
            )
    return found


def allowed_cached(problem: PlacementProblem, p: int) -> BoolArray:
    """Return ``allowed`` for the class of pod ``p``, computed once a problem."""
    return problem.allowed_by_affinity(int(problem.snapshot.pods.class_of[p]))
