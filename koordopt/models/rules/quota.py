r"""Elastic quotas: what the pods of a quota use stays within its limit, and every ancestor's.

With :math:`u_{q,r}` the use of all pods in ``q`` and below, a plan keeps
:math:`u_{q,r} \le \text{limit}_{q,r}` for every quota ``q`` above a placed pod, in each resource
that the pod is charged for, and for pods that may not be preempted
:math:`\bar u_{q,r} \le \min_{q,r}` in their own quota. How limits come about is the matter of
``koordopt.models.quota``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from koordopt.models.api import keys
from koordopt.models.arrays import BoolArray, IntArray
from koordopt.models.reason import Reason
from koordopt.models.units import format_amount
from koordopt.models.violation import Violation

if TYPE_CHECKING:
    from koordopt.models.problem.placement import PlacementProblem
    from koordopt.models.result import Placement
    from koordopt.models.snapshot import ClusterSnapshot

RULE = "quota"


def parent_hold(snapshot: ClusterSnapshot, p: int) -> Reason:
    """Return the reason of a pod that names a quota which only quotas may belong to."""
    name = snapshot.pods.objects[p].metadata.labels[keys.LABEL_QUOTA_NAME]
    message = f"quota {name} is a parent; pods name one of its children"
    return Reason(RULE, name, message, eviction_could_help=False)


def violations(problem: PlacementProblem, placement: Placement) -> list[Violation]:
    """Return the quotas that a placement takes beyond their limit, or beyond their min."""
    table, pods = problem.snapshot.quotas, problem.snapshot.pods
    arrays = table.arrays
    if arrays is None:
        return []
    added = np.zeros_like(arrays.used)
    firm = np.zeros_like(arrays.used)
    touched = np.zeros(len(arrays.names), dtype=np.bool_)
    for p in placement.pod.tolist():
        q = int(table.quota_of[p])
        touched[q] = True
        amounts = np.where(arrays.counted[q], problem.request[pods.class_of[p]], 0)
        added[list(arrays.chains[q])] += amounts
        if table.non_preemptible[p]:
            firm[q] += amounts
    # A quota of pods is judged as a whole; an ancestor only in what the pods ask for.
    over = (added > 0) | touched[:, None]
    over &= arrays.used + added > arrays.limit
    over_min = (firm > 0) & (arrays.non_preemptible_used + firm > arrays.minimum)
    return [
        *_faults(problem, "used", over, arrays.used + added, arrays.limit),
        *_faults(
            problem,
            "non-preemptible",
            over_min,
            arrays.non_preemptible_used + firm,
            arrays.minimum,
        ),
    ]


def _faults(
    problem: PlacementProblem, what: str, over: BoolArray, found: IntArray, allowed: IntArray
) -> Iterator[Violation]:
    arrays = problem.snapshot.quotas.arrays
    for q, r in np.argwhere(over).tolist():
        resource = problem.resources[r]
        yield Violation(
            RULE,
            arrays.names[q] if arrays else "",
            f"{what} {resource} {format_amount(resource, int(found[q, r]))}",
            format_amount(resource, int(allowed[q, r])),
        )
