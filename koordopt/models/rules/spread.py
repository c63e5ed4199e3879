r"""Topology spread: matching pods are spread over domains, within ``maxSkew``.

For a hard constraint of a pod that goes to domain ``d``, with :math:`c_u` the matching pods of
the eligible domain ``u`` and ``s`` = 1 if the pod matches its own selector,

.. math:: c_d + s - \min_{u} c_u \le \text{maxSkew},

where the minimum is 0 with fewer than ``minDomains`` eligible domains. A domain that is not
eligible counts 0. Only nodes that carry the keys of all hard constraints take part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from koordopt.models.api import keys
from koordopt.models.api.core import Pod, TopologySpreadConstraint
from koordopt.models.api.selectors import compile_selector
from koordopt.models.arrays import BoolArray, IntArray, frozen
from koordopt.models.counters import EACH_NODE, Tally
from koordopt.models.matchers import MatcherTable
from koordopt.models.violation import Violation

if TYPE_CHECKING:
    from koordopt.models.counters import CounterTable
    from koordopt.models.problem.placement import PlacementProblem
    from koordopt.models.result import Placement
    from koordopt.models.snapshot import ClusterSnapshot

RULE = "topology-spread"


@dataclass(frozen=True)
class SpreadTerm:
    """One topology spread constraint of a pod.

    Attributes
    ----------
    matcher
        The pods that count; -1 for a null or empty selector, which counts none.
    key
        Topology key.
    max_skew, min_domains
        As in the API; ``min_domains`` is 1 where unset.
    is_hard
        Whether ``whenUnsatisfiable`` is ``DoNotSchedule``.
    honors_affinity, honors_taints
        Whether only nodes count that the pod's node affinity, or its tolerations, allow.
    always_counts_itself
        Whether the selector is empty: it counts nobody else, but the pod that it belongs to.
    """

    matcher: int
    key: str
    max_skew: int
    min_domains: int
    is_hard: bool
    honors_affinity: bool
    honors_taints: bool
    always_counts_itself: bool


def terms_of(pod: Pod, matchers: MatcherTable) -> tuple[SpreadTerm, ...]:
    """Return the spread constraints of ``pod``, its selectors entered into ``matchers``.

    Parameters
    ----------
    pod
        The pod, with ``matchLabelKeys`` merged into its selectors.
    matchers
        Table that the selectors are entered into. Only the pod's own namespace counts.
    """
    return tuple(
        _term(pod, constraint, matchers) for constraint in pod.spec.topology_spread_constraints
    )


def _term(pod: Pod, constraint: TopologySpreadConstraint, matchers: MatcherTable) -> SpreadTerm:
    selector = compile_selector(constraint.label_selector)
    counts_nobody = constraint.label_selector is None or selector.is_empty
    return SpreadTerm(
        matcher=-1
        if counts_nobody
        else matchers.add((pod.metadata.namespace,), constraint.label_selector),
        key=constraint.topology_key,
        max_skew=constraint.max_skew,
        min_domains=constraint.min_domains or 1,
        is_hard=constraint.when_unsatisfiable != "ScheduleAnyway",
        honors_affinity=constraint.node_affinity_policy != "Ignore",
        honors_taints=constraint.node_taints_policy == "Honor",
        always_counts_itself=constraint.label_selector is not None and selector.is_empty,
    )


@dataclass(frozen=True, eq=False)
class Spread:
    """A spread constraint of one pod class over the domains of a cluster.

    Attributes
    ----------
    term
        The constraint as the pod states it.
    self_match
        1 where a pod of the class counts itself, else 0.
    counter
        Counter of the pods that count; None where none ever do.
    domain_of
        Domain of each node, shape ``(N,)``; -1 without the label. A preference over host names
        takes every node for a domain.
    eligible
        Domains that take part in the minimum, ascending.
    """

    term: SpreadTerm
    self_match: int
    counter: int | None
    domain_of: IntArray
    eligible: IntArray


@dataclass(frozen=True)
class ClassSpread:
    """The spread constraints of one pod class, hard and soft ones apart."""

    hard: tuple[Spread, ...] = ()
    soft: tuple[Spread, ...] = ()


def compile_spread(
    snapshot: ClusterSnapshot,
    counters: CounterTable,
    wanted: Sequence[int],
    allowed_by_affinity: Callable[[int], BoolArray],
    allowed_by_taints: Callable[[int], BoolArray],
) -> dict[int, ClassSpread]:
    """Return the spread of each class in ``wanted``, its counters entered into ``counters``.

    Parameters
    ----------
    snapshot
        The cluster.
    counters
        Table that the counts are entered into.
    wanted
        Classes that are to be placed.
    allowed_by_affinity, allowed_by_taints
        Nodes that the node affinity, or the tolerations, of a class allow, shape ``(N,)``.
    """
    compiled = {}
    for c in wanted:
        terms = snapshot.classes[c].spread
        sides = []
        for is_hard in (True, False):
            group = [term for term in terms if term.is_hard is is_hard]
            with_keys = np.ones(len(snapshot.nodes), dtype=np.bool_)
            for term in group:
                with_keys &= snapshot.nodes.column(term.key).code >= 0
            side = []
            for term in group:
                scope = with_keys.copy()
                if term.honors_affinity:
                    scope &= allowed_by_affinity(c)
                if term.honors_taints:
                    scope &= allowed_by_taints(c)
                side.append(_spread(snapshot, counters, c, term, scope))
            sides.append(tuple(side))
        compiled[c] = ClassSpread(*sides)
    return compiled


def _spread(
    snapshot: ClusterSnapshot,
    counters: CounterTable,
    c: int,
    term: SpreadTerm,
    scope: BoolArray,
) -> Spread:
    """Return ``term`` of class ``c`` over the domains of the nodes in ``scope``."""
    classes = snapshot.classes_by_matcher.get(term.matcher, ())
    domain_of = snapshot.nodes.column(term.key).code
    key = term.key
    counted: BoolArray | None = scope
    if term.key == keys.LABEL_HOSTNAME and not term.is_hard:
        # A preference counts the pods of each node, whatever its label and the policies say.
        key, counted = EACH_NODE, None
        domain_of = frozen(np.where(domain_of >= 0, np.arange(len(domain_of)), -1))
    counter = counters.add(key, classes, scope=counted, terminating=False) if classes else None
    own = term.always_counts_itself or term.matcher in snapshot.classes[c].matched
    eligible = frozen(np.flatnonzero(np.bincount(domain_of[scope])))
    return Spread(term, int(own), counter, domain_of, eligible)


def violations(problem: PlacementProblem, placement: Placement) -> list[Violation]:
    """Return the pods that break a hard constraint at the moment they are bound.

    Pods are counted in bind order: what is legal when it happens stays legal, though pods without
    the constraint may tip the balance later.
    """
    snapshot = problem.snapshot
    counts = Tally(problem.counters)
    found = []
    for p, n in zip(placement.pod.tolist(), placement.node.tolist(), strict=True):
        c = int(snapshot.pods.class_of[p])
        for limit in problem.spread[c].hard:
            fault = _fault(limit, n, counts)
            if fault:
                allowed = f"skew {limit.term.max_skew} over {limit.term.key}"
                found.append(Violation(RULE, snapshot.pods.keys[p], fault, allowed))
        counts.add(c, n)
    return found


def _fault(limit: Spread, n: int, counts: Tally) -> str:
    """Return what is wrong with one more pod on node ``n``; empty where nothing is."""
    domain = limit.domain_of[n]
    if domain < 0:
        return f"a node without {limit.term.key}"
    if limit.counter is None:
        here = lowest = 0
    else:
        values = counts[limit.counter]
        here = int(values[domain])
        lowest = int(values[limit.eligible].min(initial=np.iinfo(np.int64).max))
    if len(limit.eligible) < max(1, limit.term.min_domains):
        lowest = 0
    skew = here + limit.self_match - lowest
    return f"skew {skew}" if skew > limit.term.max_skew else ""
