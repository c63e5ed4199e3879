"""What a solver answers: a placement, and what is claimed about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np

from koordopt.models.arrays import IntArray, frozen
from koordopt.models.reason import Reason
from koordopt.models.rules.device import CardShare

if TYPE_CHECKING:
    from koordopt.models.problem.placement import PlacementProblem

Status = Literal["optimal", "feasible", "heuristic"]
Limit = Literal["none", "work", "wall", "memory"]
Method = Literal["greedy", "mip", "cpsat", "search"]
Sense = Literal["max", "min"]


def gap_between(incumbent: int, bound: int) -> float:
    """Return the relative gap, ``|incumbent - bound| / max(1, |incumbent|)``."""
    return abs(incumbent - bound) / max(1, abs(incumbent))


@dataclass(frozen=True)
class LevelValue:
    """One objective level: what the incumbent reaches, and what is proven.

    Attributes
    ----------
    name
        Name of the level, such as ``priority 9500``.
    sense
        Whether more or less is better.
    objective
        Value of the incumbent.
    bound
        No solution is better than this, given the incumbents of the levels before; None where
        nothing is proven.
    """

    name: str
    sense: Sense
    objective: int
    bound: int | None = None

    @property
    def gap(self) -> float | None:
        """The relative gap; None where no bound is proven."""
        return None if self.bound is None else gap_between(self.objective, self.bound)

    def to_dict(self) -> dict[str, str | int | float | None]:
        """Return the level as programs read it."""
        return {
            "name": self.name,
            "sense": self.sense,
            "objective": self.objective,
            "bound": self.bound,
            "gap": self.gap,
        }


@dataclass(frozen=True, eq=False)
class Placement:
    """Pods that are to be bound, in the order in which they are.

    Attributes
    ----------
    pod
        Indices of the pods, shape ``(K,)``.
    node
        Node of each, shape ``(K,)``.
    step
        Step of each, shape ``(K,)``, never falling; pods of one step are bound together.
    cards
        Cards of each pod that holds some, by pod index.
    """

    pod: IntArray
    node: IntArray
    step: IntArray
    cards: Mapping[int, tuple[CardShare, ...]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        pod: Sequence[int],
        node: Sequence[int],
        step: Sequence[int] | None = None,
        cards: Mapping[int, tuple[CardShare, ...]] | None = None,
    ) -> Placement:
        """Return the placement of ``pod`` on ``node``, each pod its own step unless told."""
        steps = range(len(pod)) if step is None else step
        return cls(
            frozen(np.array(pod, dtype=np.int64)),
            frozen(np.array(node, dtype=np.int64)),
            frozen(np.array(steps, dtype=np.int64)),
            dict(cards or {}),
        )

    def __len__(self) -> int:
        return len(self.pod)

    def node_of(self, problem: PlacementProblem) -> IntArray:
        """Return the node of every pod of the snapshot afterwards, shape ``(P,)``."""
        node_of = problem.snapshot.pods.node_of.copy()
        node_of[self.pod] = self.node
        return node_of


@dataclass(frozen=True, eq=False)
class SolveResult:
    """The answer of one solve.

    Attributes
    ----------
    placement
        The incumbent.
    status
        What is claimed: ``optimal``, ``feasible`` (with a bound) or ``heuristic`` (without).
    limit
        What cut the search short.
    method
        Who found the incumbent.
    levels
        Objective and bound of each level, in strict order.
    unplaced
        Why each pending pod that is not placed is not, by pod index.
    """

    placement: Placement
    status: Status
    limit: Limit
    method: Method
    levels: tuple[LevelValue, ...]
    unplaced: Mapping[int, Reason]

    @property
    def gap(self) -> float | None:
        """The largest gap of a level; None where one has no bound."""
        gaps = [level.gap for level in self.levels]
        known = [gap for gap in gaps if gap is not None]
        return max(known, default=0.0) if len(known) == len(gaps) else None
