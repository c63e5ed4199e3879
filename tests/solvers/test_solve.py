"""The one entry to all solvers."""

import pytest

from koordopt.errors import InvalidInputError, VerificationError
from koordopt.models.problem.placement import PlacementProblem
from koordopt.models.result import Placement, SolveResult
from koordopt.models.verify import verify
from koordopt.solvers.heuristics import greedy
from koordopt.solvers.heuristics.profile import Profile
from koordopt.solvers.solve import solve
from tests.builders import make_node, make_pod, make_problem


def small() -> PlacementProblem:
    """Return a problem of two pods, of which one fits."""
    pods = [make_pod(name, requests={"cpu": "3"}) for name in ("p", "q")]
    return make_problem([make_node("a", cpu="4")], pods)


def test_the_answer_is_verified_and_complete() -> None:
    problem = small()
    result = solve(problem)
    assert verify(problem, result.placement) == []
    assert (len(result.placement), len(result.unplaced)) == (1, 1)
    assert result.method == "greedy"


@pytest.mark.parametrize("policy", ["window", "exact"])
def test_a_policy_that_is_not_built_is_said_to_be_so(policy: str) -> None:
    with pytest.raises(InvalidInputError, match=f"'{policy}', which is not available yet"):
        solve(small(), policy)


def test_an_unknown_policy_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="policy is 'best'; expected greedy"):
        solve(small(), "best")


def test_an_answer_that_breaks_a_rule_goes_no_further(monkeypatch: pytest.MonkeyPatch) -> None:
    true = greedy.solve(small())

    def overfull(problem: PlacementProblem, profile: Profile | None = None) -> SolveResult:
        return SolveResult(
            Placement.of([0, 1], [0, 0]), true.status, true.limit, true.method, true.levels, {}
        )

    monkeypatch.setattr(greedy, "solve", overfull)
    with pytest.raises(VerificationError, match="capacity at a"):
        solve(small())
