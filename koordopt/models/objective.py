r"""What a plan is worth: objective levels in strict order, as integers.

A pod that asks for :math:`r_{p}` of a cluster with total :math:`T` and has waited :math:`a`
seconds is worth, in parts per 10^9 and at least 1,

.. math:: v_p = \max_r \frac{r_{p,r}}{T_r} \cdot \Bigl(1 + \frac{\min(a, 3600)}{3600}\Bigr).

Levels, the first deciding: ``guarantee`` (what each quota uses of its min), then one level a
priority of the pending pods, high to low, summing :math:`v_p` over the placed; ``evictions``;
``moves``; ``preferences``, the weight of soft wishes that stay unmet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from koordopt.models.api import keys
from koordopt.models.api.qos import band_of_priority
from koordopt.models.arrays import IntArray
from koordopt.models.counters import Tally
from koordopt.models.problem.placement import PlacementProblem, dominant_share
from koordopt.models.quota.arrays import UNSET
from koordopt.models.result import LevelValue, Placement
from koordopt.models.rules import node_affinity, taint

FULL_AGE_S = 3600
"""A pod that has waited this long counts double; waiting longer adds nothing."""
MOST_PRIORITY_LEVELS = 8
UNMET = 100
"""Weight of one unmet wish that has no weight of its own: a soft taint, a pod over the skew."""


@dataclass(frozen=True)
class PriorityLevel:
    """Pending priorities that are weighed in one level.

    Attributes
    ----------
    priorities
        Distinct priorities, descending. A higher one weighs twice the next lower.
    """

    priorities: tuple[int, ...]

    @property
    def name(self) -> str:
        """Name of the level."""
        return "priority " + ", ".join(map(str, self.priorities))

    def weight(self, priority: int) -> int:
        """Return the weight of ``priority`` in this level."""
        return 1 << (len(self.priorities) - 1 - self.priorities.index(priority))


def priority_levels(priorities: Sequence[int]) -> tuple[PriorityLevel, ...]:
    """Return the levels for the distinct ``priorities``, high to low.

    Past eight, neighbours of one priority band share a level, the lowest pair first.
    """
    groups: list[tuple[int, ...]] = [(value,) for value in sorted(set(priorities), reverse=True)]

    def mergeable(k: int) -> bool:
        first, second = band_of_priority(groups[k][-1]), band_of_priority(groups[k + 1][0])
        return first is second

    while len(groups) > MOST_PRIORITY_LEVELS:
        pairs = [k for k in range(len(groups) - 1) if mergeable(k)]
        if not pairs:
            break
        k = min(pairs, key=lambda k: (len(groups[k]) + len(groups[k + 1]), groups[k][0]))
        groups[k : k + 2] = [groups[k] + groups[k + 1]]
    return tuple(PriorityLevel(group) for group in groups)


def pod_values(problem: PlacementProblem) -> dict[int, int]:
    """Return what placing each pending pod is worth, in parts, by pod index."""
    snapshot = problem.snapshot
    values = {}
    for p in problem.pending.tolist():
        share = problem.dominant_share(snapshot.pods.class_of[p])
        age = min(max(0, snapshot.now_s - int(snapshot.pods.created_s[p])), FULL_AGE_S)
        values[p] = max(1, share * (FULL_AGE_S + age) // FULL_AGE_S)
    return values


def evaluate(problem: PlacementProblem, placement: Placement) -> tuple[LevelValue, ...]:
    """Return the value of every level for ``placement``, nothing proven about it.

    Nothing is evicted or moved where only pending pods are placed, so these two levels are at
    their best.
    """
    values = pod_values(problem)
    pods = problem.snapshot.pods
    pending = pods.priority[problem.pending].tolist()
    levels = _guarantee(problem, placement)
    for level in priority_levels(pending):
        reached = sum(
            values[p] * level.weight(priority)
            for p in placement.pod.tolist()
            if (priority := int(pods.priority[p])) in level.priorities
        )
        levels.append(LevelValue(level.name, "max", reached))
    levels.append(LevelValue("evictions", "min", 0, bound=0))
    levels.append(LevelValue("moves", "min", 0, bound=0))
    levels.append(LevelValue("preferences", "min", unmet_preferences(problem, placement)))
    return tuple(levels)


def _guarantee(problem: PlacementProblem, placement: Placement) -> list[LevelValue]:
    table, class_of = problem.snapshot.quotas, problem.snapshot.pods.class_of
    arrays = table.arrays
    if arrays is None or not (arrays.minimum < UNSET).any():
        return []
    used = arrays.used.copy()
    for p in placement.pod.tolist():
        q = int(table.quota_of[p])
        amounts = np.where(arrays.counted[q], problem.request[class_of[p]], 0)
        used[list(arrays.chains[q])] += amounts
    met = np.where(arrays.minimum < UNSET, np.minimum(used, arrays.minimum), 0)
    total = problem.capacity.sum(axis=0).tolist()
    slots = problem.snapshot.resource_index[keys.RESOURCE_PODS]
    reached = sum(dominant_share(row, total, slots) for row in met.tolist())
    return [LevelValue("guarantee", "max", reached)]


def unmet_preferences(problem: PlacementProblem, placement: Placement) -> int:
    """Return the weight of soft wishes that the placed pods do not get, once all are placed.

    Counted are preferred node affinity terms, preferred terms towards other pods, soft taints and
    the pods by which a soft spread constraint is exceeded, the latter two at ``UNMET`` each.
    """
    snapshot = problem.snapshot
    counts = Tally(problem.counters)
    class_of = snapshot.pods.class_of[placement.pod].tolist()
    for c, n in zip(class_of, placement.node.tolist(), strict=True):
        counts.add(c, n)
    fixed = {c: _fixed_wishes(problem, c) for c in set(class_of)}
    unmet = 0
    for c, n in zip(class_of, placement.node.tolist(), strict=True):
        unmet += int(fixed[c][n])
        for j, weight, is_own in problem.affinity[c].wishes:
            d = int(problem.counters[j].domain_of[n])
            others = int(counts[j][d]) - is_own if d >= 0 else 0
            unmet += abs(weight) * ((others < 1) if weight > 0 else (others > 0))
        for wish in problem.spread[c].soft:
            d = int(wish.domain_of[n])
            if d >= 0 and wish.counter is not None:
                column = counts[wish.counter]
                skew = int(column[d]) - int(column[wish.eligible].min(initial=column[d]))
                unmet += UNMET * max(0, skew - wish.term.max_skew)
    return unmet


def _fixed_wishes(problem: PlacementProblem, c: int) -> IntArray:
    """Return the unmet wishes of class ``c`` that concern nodes alone, shape ``(N,)``."""
    nodes, cls = problem.snapshot.nodes, problem.snapshot.classes[c]
    affinity = cls.pod.spec.affinity
    preferred = affinity.node_affinity.preferred if affinity and affinity.node_affinity else ()
    wanted = sum(term.weight for term in preferred)
    soft = taint.intolerable_soft(nodes, cls)
    return wanted - node_affinity.preference(nodes, cls) + UNMET * soft
