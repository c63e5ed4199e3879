"""From a problem to a verified answer: the one entry that every component calls."""

from __future__ import annotations

from typing import Final

from koordopt.errors import InvalidInputError, VerificationError
from koordopt.models.problem.placement import PlacementProblem
from koordopt.models.result import SolveResult
from koordopt.models.verify import verify
from koordopt.solvers.heuristics import greedy
from koordopt.solvers.heuristics.profile import Profile

POLICIES: Final = ("greedy", "window", "exact")
"""How a problem may be solved; a policy that is not in ``AVAILABLE`` is not built yet."""

AVAILABLE: Final = ("greedy",)
"""Policies that can be asked for."""

DEFAULT_POLICY: Final = "greedy"
"""Policy of who does not ask for one."""


def solve(
    problem: PlacementProblem, policy: str = DEFAULT_POLICY, profile: Profile | None = None
) -> SolveResult:
    """Return the answer to ``problem``, judged by every rule.

    Parameters
    ----------
    problem
        The problem.
    policy
        One of ``AVAILABLE``.
    profile
        Weights and arguments of the score plug-ins; None for the defaults.

    Raises
    ------
    InvalidInputError
        If there is no such policy.
    VerificationError
        If the answer breaks a rule: our model is wrong, and the answer must not be used.
    """
    check_policy(policy)
    result = greedy.solve(problem, profile)
    violations = verify(problem, result.placement)
    if violations:
        first = violations[0]
        raise VerificationError(
            f"the {result.method} plan breaks {len(violations)} rules; the first is "
            f"{first.rule} at {first.object}: found {first.found}, allowed {first.allowed}."
        )
    return result


def check_policy(policy: str) -> None:
    """Raise unless ``policy`` can be asked for.

    Raises
    ------
    InvalidInputError
        If there is no such policy, or not yet.
    """
    if policy in AVAILABLE:
        return
    known = ", ".join(AVAILABLE)
    if policy in POLICIES:
        raise InvalidInputError(f"policy is {policy!r}, which is not available yet; use {known}.")
    raise InvalidInputError(f"policy is {policy!r}; expected {known}.")
