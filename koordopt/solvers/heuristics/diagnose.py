"""Why no node takes a pod: every refusal by every filter, and the one that matters most."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from koordopt.errors import InvalidInputError
from koordopt.models.arrays import BoolArray
from koordopt.models.reason import Reason
from koordopt.models.rules import capacity, node_affinity, taint
from koordopt.solvers.heuristics.pipeline import Pipeline
from koordopt.solvers.heuristics.plugins import NodeReason


@dataclass(frozen=True, eq=False)
class Refusal:
    """Nodes that refuse a pod for one reason.

    Attributes
    ----------
    plugin
        Name of kube-scheduler's plug-in, such as ``NodeResourcesFit``.
    rule
        Name of the rule, as in ``koordopt.models.rules``.
    nodes
        Mask of the nodes, shape ``(N,)``; at least one is set.
    message
        What a person reads, in the words of kube-scheduler.
    eviction_could_help
        Whether the departure of running pods could lift the refusal.
    """

    plugin: str
    rule: str
    nodes: BoolArray
    message: str
    eviction_could_help: bool


def diagnose(pipeline: Pipeline, c: int) -> tuple[Refusal, ...]:
    """Return why nodes refuse a pod of class ``c`` now, in the order in which filters are asked.

    Every filter is asked about every node, so a node stands in as many refusals as refuse it. A
    filter gives the first of its reasons for a node, or all where resources are short.
    """
    found = []
    for plugin, rule, reasons in _all_reasons(pipeline, c):
        found += [
            Refusal(plugin, rule, mask, message, could_help)
            for mask, message, could_help in reasons
            if mask.any()
        ]
    return tuple(found)


def _all_reasons(pipeline: Pipeline, c: int) -> Iterator[tuple[str, str, list[NodeReason]]]:
    problem, plugins = pipeline.problem, pipeline.plugins
    cls = problem.snapshot.classes[c]
    selector = "node(s) didn't match Pod's node affinity/selector"
    if node_affinity.has_conflict(cls):
        selector = "pod affinity terms conflict"
    static = (
        ("NodeUnschedulable", taint.RULE, problem.masks.open, "node(s) were unschedulable"),
        (
            "NodeName",
            node_affinity.RULE,
            problem.masks.named,
            "node(s) didn't match the requested node name",
        ),
        (
            "TaintToleration",
            taint.RULE,
            problem.masks.by_taints,
            "node(s) had untolerated taint(s)",
        ),
        ("NodeAffinity", node_affinity.RULE, problem.masks.by_affinity, selector),
    )
    for plugin, rule, allowed, message in static:
        yield plugin, rule, [(~allowed(c), message, False)]
    for local in plugins.local_filters:
        yield local.name, local.rule, local.reasons(c)
    for distant in plugins.global_filters:
        yield distant.name, distant.rule, distant.reasons(c)


def dominant(refusals: Sequence[Refusal]) -> Refusal:
    """Return the refusal that matters most.

    Parameters
    ----------
    refusals
        What ``diagnose`` returns; not empty.

    Returns
    -------
    Refusal
        Of the nodes where the least would have to change, the message that most of them give: the
        least means the fewest rules that no eviction could satisfy, then the fewest rules. Its
        mask holds all nodes that give the message, and eviction could help if it could on one
        of the nodes that decided. Ties go to more nodes in all, then to the filter asked first.
    """
    if not refusals:
        raise InvalidInputError("refusals is empty; expected at least one.")
    nearest = _nearest(refusals)
    near: dict[tuple[str, str], BoolArray] = {}
    could_help: dict[tuple[str, str], bool] = {}
    for refusal in refusals:
        key, mask = (refusal.rule, refusal.message), refusal.nodes & nearest
        near[key] = near[key] | mask if key in near else mask
        helped = refusal.eviction_could_help and bool(mask.any())
        could_help[key] = could_help.get(key, False) or helped

    def weight(refusal: Refusal) -> tuple[int, int]:
        return int(near[refusal.rule, refusal.message].sum()), int(refusal.nodes.sum())

    # max() keeps the first of equals, and the merged refusals stand in filter order.
    main = max(_by_message(refusals), key=weight)
    return replace(main, eviction_could_help=could_help[main.rule, main.message])


def _nearest(refusals: Sequence[Refusal]) -> BoolArray:
    """Return the refusing nodes where the fewest rules refuse, lasting ones first; ``(N,)``."""
    rules: dict[str, BoolArray] = {}
    lasting: dict[str, BoolArray] = {}
    for refusal in refusals:
        for found in (rules,) if refusal.eviction_could_help else (rules, lasting):
            known = found.get(refusal.rule)
            found[refusal.rule] = refusal.nodes if known is None else known | refusal.nodes
    depth = np.sum([mask.astype(np.int64) for mask in rules.values()], axis=0)
    rank = (len(rules) + 1) * sum(mask.astype(np.int64) for mask in lasting.values()) + depth
    rank = np.where(depth > 0, rank, np.iinfo(np.int64).max)
    return np.asarray(rank == rank.min())


def _by_message(refusals: Sequence[Refusal]) -> list[Refusal]:
    """Return one refusal for each rule and message, in the order of first appearance."""
    merged: dict[tuple[str, str], Refusal] = {}
    for refusal in refusals:
        key = (refusal.rule, refusal.message)
        known = merged.get(key)
        merged[key] = (
            refusal
            if known is None
            else replace(
                known,
                nodes=known.nodes | refusal.nodes,
                eviction_could_help=known.eviction_could_help or refusal.eviction_could_help,
            )
        )
    return list(merged.values())


def fit_message(refusals: Sequence[Refusal], count: int) -> str:
    """Return one line about all nodes, each counted under the first reason that it gives.

    Parameters
    ----------
    refusals
        What ``diagnose`` returns.
    count
        Number of nodes.

    Returns
    -------
    str
        Such as ``0/12 nodes are available: 9 Insufficient cpu, 3 Too many pods.``; most first.
    """
    if count == 0:
        return "no nodes are available"
    counted = np.zeros(count, dtype=np.bool_)
    numbers: dict[str, int] = {}
    for refusal in refusals:
        fresh = int((refusal.nodes & ~counted).sum())
        counted |= refusal.nodes
        if fresh:
            numbers[refusal.message] = numbers.get(refusal.message, 0) + fresh
    ordered = sorted(numbers.items(), key=lambda item: -item[1])
    causes = ", ".join(f"{number} {message}" for message, number in ordered)
    available = count - int(counted.sum())
    summary = f"{available}/{count} nodes are available"
    return f"{summary}: {causes}." if causes else f"{summary}."


def reason_from(pipeline: Pipeline, c: int, refusals: Sequence[Refusal]) -> Reason:
    """Return why a pod of class ``c`` fits nowhere, as one reason.

    Parameters
    ----------
    pipeline
        The pipeline that was asked.
    c
        Class of the pod.
    refusals
        What ``diagnose`` returned for it.

    Returns
    -------
    Reason
        The rule is that of the ``dominant`` refusal; the message covers every node. Eviction
        could help where it could lift all that one node has against the pod.
    """
    count = len(pipeline.problem.capacity)
    message = fit_message(refusals, count)
    if not refusals:
        return Reason(capacity.RULE, "nodes", message, eviction_could_help=False)
    return Reason(dominant(refusals).rule, "nodes", message, _can_be_freed(refusals))


def _can_be_freed(refusals: Sequence[Refusal]) -> bool:
    """Return whether there is a node that refuses only for what running pods hold."""
    freed = np.zeros(len(refusals[0].nodes), dtype=np.bool_)
    stays = freed.copy()
    for each in refusals:
        if each.eviction_could_help:
            freed |= each.nodes
        else:
            stays |= each.nodes
    return bool((freed & ~stays).any())
