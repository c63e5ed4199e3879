r"""Inter-pod affinity and anti-affinity: who must, must not, or would rather run together.

A *term* names pods by a matcher and a topology key. With :math:`c_{t,d}` the matching pods in
domain ``d`` of the key of term ``t``, a pod may run in a node with domains ``d_t`` where

.. math::

    c_{t,d_t} \ge 1 \quad \forall\, t \in \text{required affinity}, \qquad
    c_{t,d_t} = 0 \quad \forall\, t \in \text{required anti-affinity},

and where no running pod's required anti-affinity term selects it in that domain. One pod must
match *all* affinity terms to count for them. The first of a group, a pod that matches all of its
own terms while nothing counted matches yet, may start on any node that has every key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from koordopt.models.api.core import Pod, PodAffinityTerm
from koordopt.models.api.selectors import compile_selector
from koordopt.models.counters import Tally
from koordopt.models.matchers import MatcherTable, NamespaceScopes
from koordopt.models.violation import Violation

if TYPE_CHECKING:
    from koordopt.models.counters import CounterTable
    from koordopt.models.problem.placement import PlacementProblem
    from koordopt.models.result import Placement
    from koordopt.models.snapshot import ClusterSnapshot

RULE = "pod-affinity"


@dataclass(frozen=True)
class Term:
    """Pods, by matcher, and the topology key that says what *together* means."""

    matcher: int
    key: str


@dataclass(frozen=True)
class AffinityTerms:
    """What one pod asks of its neighbours.

    Attributes
    ----------
    affinity, anti_affinity
        Required terms.
    preferred
        Terms with their weight, negative for anti-affinity.
    """

    affinity: tuple[Term, ...] = ()
    anti_affinity: tuple[Term, ...] = ()
    preferred: tuple[tuple[Term, int], ...] = ()


def terms_of(pod: Pod, namespaces: NamespaceScopes, matchers: MatcherTable) -> AffinityTerms:
    """Return the terms of ``pod``, its selectors entered into ``matchers``.

    Parameters
    ----------
    pod
        The pod, with ``matchLabelKeys`` merged into its selectors.
    namespaces
        Namespaces that selectors select.
    matchers
        Table that the selectors are entered into.
    """
    affinity = pod.spec.affinity
    if affinity is None:
        return AffinityTerms()

    def compiled(terms: Iterable[PodAffinityTerm]) -> tuple[Term, ...]:
        return tuple(_term(t, pod.metadata.namespace, namespaces, matchers) for t in terms)

    wanted, unwanted = affinity.pod_affinity, affinity.pod_anti_affinity
    preferred: list[tuple[Term, int]] = []
    for side, sign in ((wanted, 1), (unwanted, -1)):
        for weighted in side.preferred if side else ():
            (term,) = compiled((weighted.pod_affinity_term,))
            preferred.append((term, sign * weighted.weight))
    return AffinityTerms(
        affinity=compiled(wanted.required) if wanted else (),
        anti_affinity=compiled(unwanted.required) if unwanted else (),
        preferred=tuple(preferred),
    )


def _term(
    term: PodAffinityTerm,
    own_namespace: str,
    namespaces: NamespaceScopes,
    matchers: MatcherTable,
) -> Term:
    scope: set[str] = set(term.namespaces or ())
    if term.namespace_selector is not None:
        selector = compile_selector(term.namespace_selector)
        if selector.is_empty:
            return Term(matchers.add(None, term.label_selector), term.topology_key)
        scope |= namespaces.selected(selector)
    elif not scope:
        scope = {own_namespace}
    return Term(matchers.add(scope, term.label_selector), term.topology_key)


@dataclass(frozen=True)
class ClassAffinity:
    """What one pod class asks of its neighbours, and they of it, as counters.

    Attributes
    ----------
    affinity
        Counter of the pods that match all required affinity terms, one a topology key.
    is_own_match
        Whether a pod of the class matches all of its own affinity terms.
    anti_affinity
        Counters that must be 0 where the pod goes.
    unwelcome
        Counters of pods whose required anti-affinity selects the class; must be 0 as well.
    preferred
        Counters with their weight: the pod's own preferred terms, other pods' preferred terms
        that select it, and their required affinity at ``hard_weight``.
    wishes
        The pod's own preferred terms alone: counter, weight, and 1 where the pod counts itself.
    """

    affinity: tuple[int, ...] = ()
    is_own_match: bool = False
    anti_affinity: tuple[int, ...] = ()
    unwelcome: tuple[int, ...] = ()
    preferred: tuple[tuple[int, int], ...] = ()
    wishes: tuple[tuple[int, int, int], ...] = ()

    @property
    def is_hard(self) -> bool:
        """Whether the class can be refused by this rule at all."""
        return bool(self.affinity or self.anti_affinity or self.unwelcome)

    @property
    def forbidden(self) -> tuple[int, ...]:
        """All counters that must be 0, each once: pods that shun their own kind name one twice."""
        return tuple(dict.fromkeys(self.anti_affinity + self.unwelcome))


def compile_affinity(
    snapshot: ClusterSnapshot,
    counters: CounterTable,
    wanted: Sequence[int],
    hard_weight: int = 1,
) -> dict[int, ClassAffinity]:
    """Return the affinity of each class in ``wanted``, its counters entered into ``counters``.

    Parameters
    ----------
    snapshot
        The cluster.
    counters
        Table that the counts are entered into.
    wanted
        Classes that are to be placed.
    hard_weight
        Preference weight of the required affinity of pods already running
        (``hardPodAffinityWeight`` of kube-scheduler).
    """
    classes, by_matcher = snapshot.classes, snapshot.classes_by_matcher

    def matching_all(matchers: set[int]) -> tuple[int, ...]:
        each = [set(by_matcher.get(m, ())) for m in matchers]
        return tuple(sorted(set.intersection(*each)))

    hostile = _by_matcher(_holders(snapshot, _anti_affinity_of))
    fond = _by_matcher(_holders(snapshot, _preference_of(hard_weight)))
    compiled = {}
    for c in wanted:
        own, matched = classes[c].affinity, frozenset(classes[c].matched)
        joint = {term.matcher for term in own.affinity}
        both = matching_all(joint) if joint else ()
        wishes = tuple(
            (counters.add(t.key, matching_all({t.matcher})), weight, int(t.matcher in matched))
            for t, weight in own.preferred
        )
        preferred = [(j, weight) for j, weight, _ in wishes]
        preferred += [
            (counters.add(term.key, holders), weight)
            for m in classes[c].matched
            for (term, weight), holders in fond.get(m, ())
        ]
        compiled[c] = ClassAffinity(
            affinity=tuple(
                counters.add(key, both) for key in dict.fromkeys(t.key for t in own.affinity)
            ),
            is_own_match=bool(joint) and joint <= matched,
            anti_affinity=tuple(
                counters.add(t.key, matching_all({t.matcher})) for t in own.anti_affinity
            ),
            unwelcome=tuple(
                counters.add(term.key, holders)
                for m in classes[c].matched
                for (term, _), holders in hostile.get(m, ())
            ),
            preferred=tuple(preferred),
            wishes=wishes,
        )
    return compiled


_Weighted = dict[Term, int]
_Holders = tuple[tuple[Term, int], tuple[int, ...]]


def _anti_affinity_of(terms: AffinityTerms) -> _Weighted:
    return dict.fromkeys(terms.anti_affinity, 1)


def _preference_of(hard_weight: int) -> Callable[[AffinityTerms], _Weighted]:
    """Return what gives the preference of a pod towards others, by distinct term."""

    def preference(terms: AffinityTerms) -> _Weighted:
        total: _Weighted = {}
        for term, weight in terms.preferred:
            total[term] = total.get(term, 0) + weight
        for term in terms.affinity if hard_weight else ():
            total[term] = total.get(term, 0) + hard_weight
        return {term: weight for term, weight in total.items() if weight}

    return preference


def _holders(
    snapshot: ClusterSnapshot, terms: Callable[[AffinityTerms], _Weighted]
) -> Iterator[_Holders]:
    """Yield each distinct term and weight with the classes that hold it, each once."""
    holders: dict[tuple[Term, int], list[int]] = {}
    for c, cls in enumerate(snapshot.classes):
        for weighted in terms(cls.affinity).items():
            holders.setdefault(weighted, []).append(c)
    for weighted, found in holders.items():
        yield weighted, tuple(found)


def _by_matcher(holders: Iterable[_Holders]) -> dict[int, list[_Holders]]:
    """Return the holders of terms by the matcher of the term."""
    found: dict[int, list[_Holders]] = {}
    for weighted, classes in holders:
        found.setdefault(weighted[0].matcher, []).append((weighted, classes))
    return found


def violations(problem: PlacementProblem, placement: Placement) -> list[Violation]:
    """Return the pods that lack required company, or stand beside unwanted company.

    Unwanted company is judged when a pod is bound, required company when its step is complete, so
    that pods which need each other may come together.
    """
    snapshot = problem.snapshot
    counts = Tally(problem.counters)
    found: list[Violation] = []
    waiting: list[tuple[int, int, bool]] = []
    steps = placement.step.tolist()
    for k, (p, n) in enumerate(zip(placement.pod.tolist(), placement.node.tolist(), strict=True)):
        c = int(snapshot.pods.class_of[p])
        own = problem.affinity[c]
        key = snapshot.pods.keys[p]
        for j in own.forbidden:
            d = problem.counters[j].domain_of[n]
            if d >= 0 and counts[j][d] > 0:
                beside = f"beside {counts[j][d]} pods in one {problem.counters[j].key}"
                found.append(Violation(RULE, key, beside, "none there"))
        if own.affinity:
            is_first = own.is_own_match and not any(counts[j].any() for j in own.affinity)
            waiting.append((p, n, is_first))
        counts.add(c, n)
        if k + 1 == len(steps) or steps[k + 1] != steps[k]:
            found += _lonely(problem, counts, waiting)
            waiting.clear()
    return found


def _lonely(
    problem: PlacementProblem, counts: Tally, waiting: Iterable[tuple[int, int, bool]]
) -> list[Violation]:
    """Return the pods of a finished step that still lack the company they require."""
    pods = problem.snapshot.pods
    found = []
    for p, n, is_first in waiting:
        own = problem.affinity[int(pods.class_of[p])]
        for j in own.affinity:
            counter = problem.counters[j]
            d = counter.domain_of[n]
            if d < 0:
                found.append(
                    Violation(RULE, pods.keys[p], f"a node without {counter.key}", "its label")
                )
            elif not is_first and counts[j][d] - own.is_own_match < 1:
                found.append(
                    Violation(RULE, pods.keys[p], f"alone in its {counter.key}", "required pods")
                )
    return found
