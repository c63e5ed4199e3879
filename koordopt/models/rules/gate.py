"""What keeps a pod out of scheduling altogether, whatever room there is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from koordopt.models.api.core import Pod
from koordopt.models.reason import Reason
from koordopt.models.violation import Violation

if TYPE_CHECKING:
    from koordopt.models.problem.placement import PlacementProblem
    from koordopt.models.result import Placement

RULE = "gate"


def hold_of(pod: Pod) -> Reason | None:
    """Return why ``pod`` must not be placed now; None where nothing holds it."""
    if pod.is_terminating:
        return Reason(RULE, pod.key, "the pod is being deleted", eviction_could_help=False)
    if pod.spec.scheduling_gates:
        names = ", ".join(gate.name for gate in pod.spec.scheduling_gates)
        return Reason(RULE, pod.key, f"waits for scheduling gate {names}", False)
    if pod.spec.resource_claims:
        names = ", ".join(claim.name for claim in pod.spec.resource_claims)
        message = f"uses resource claim {names}; dynamic resource allocation is not supported yet"
        return Reason(RULE, pod.key, message, eviction_could_help=False)
    return None


def violations(problem: PlacementProblem, placement: Placement) -> list[Violation]:
    """Return the placed pods that something holds back."""
    held = problem.holds
    keys = problem.snapshot.pods.keys
    return [
        Violation(RULE, keys[p], "placed", f"pending: {held[p].message}")
        for p in placement.pod.tolist()
        if p in held and held[p].rule == RULE
    ]
