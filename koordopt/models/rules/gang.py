r"""Gangs: a gang group starts whole, or not at all.

When a plan places any member of a gang group, then with :math:`x_g` the members of gang ``g``
placed in the first step that touches the group, :math:`x_g \ge \text{need}_g` for each of its
gangs; members beyond the minimum may follow or stay pending.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from koordopt.models.gangs import RULE
from koordopt.models.violation import Violation

if TYPE_CHECKING:
    from koordopt.models.problem.placement import PlacementProblem
    from koordopt.models.result import Placement

__all__ = ["RULE", "violations"]


def violations(problem: PlacementProblem, placement: Placement) -> list[Violation]:
    """Return the gangs that a placement starts below their minimum, or although they must wait."""
    table = problem.snapshot.gangs
    first_step: dict[int, int] = {}
    placed: Counter[int] = Counter()
    for p, step in zip(placement.pod.tolist(), placement.step.tolist(), strict=True):
        g = table.gang_of.get(p)
        if g is None:
            continue
        k = table.group_of[g]
        if first_step.setdefault(k, step) == step:
            placed[g] += 1
    found = []
    for k in sorted(first_step):
        group = table.groups[k]
        if group.hold is not None:
            found.append(Violation(RULE, group.id, "placed", f"pending: {group.hold.message}"))
        found += [
            Violation(RULE, table.gangs[g].id, f"{placed[g]} members start", f"{need} or none")
            for g, need in zip(group.gangs, group.need, strict=True)
            if placed[g] < need
        ]
    return found
