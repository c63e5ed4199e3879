"""The independent checker: every plan is judged by every rule, and its objective recomputed.

It shares no code with the solvers; each rule's checker is plain NumPy over the problem's arrays.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from koordopt.models.problem.placement import PlacementProblem
from koordopt.models.result import Placement
from koordopt.models.rules import (
    capacity,
    device,
    gang,
    gate,
    node_affinity,
    pod_affinity,
    port,
    quota,
    spread,
    taint,
)
from koordopt.models.violation import Violation

CHECKERS = (
    gate.violations,
    node_affinity.violations,
    taint.violations,
    capacity.violations,
    port.violations,
    spread.violations,
    pod_affinity.violations,
    device.violations,
    gang.violations,
    quota.violations,
)
"""The checker of every rule. A rule that is missing here is not enforced."""


def verify(problem: PlacementProblem, placement: Placement) -> list[Violation]:
    """Return everything that ``placement`` does wrong, sorted; an empty list for a valid one."""
    malformed = _malformed(problem, placement)
    if malformed:
        return malformed
    return sorted(v for check in CHECKERS for v in check(problem, placement))


def _malformed(problem: PlacementProblem, placement: Placement) -> list[Violation]:
    """Return what keeps a placement from being read at all."""
    pods, nodes = problem.snapshot.pods, problem.snapshot.nodes
    pending = set(problem.pending.tolist())
    found = []
    for p, count in sorted(Counter(placement.pod.tolist()).items()):
        name = pods.keys[p] if 0 <= p < len(pods) else f"pod index {p}"
        if p not in pending:
            found.append(Violation("plan", name, "bound", "pending pods only"))
        if count > 1:
            found.append(Violation("plan", name, f"bound {count} times", "once"))
    found += [
        Violation("plan", f"node index {n}", "used", f"0 to {len(nodes) - 1}")
        for n in np.unique(placement.node).tolist()
        if not 0 <= n < len(nodes)
    ]
    if (np.diff(placement.step) < 0).any():
        found.append(Violation("plan", "steps", "out of order", "never falling"))
    return sorted(found)
