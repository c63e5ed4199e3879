"""Which nodes refuse a pod by which rule, in the state that a placement leaves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from koordopt.models.arrays import BoolArray
from koordopt.models.problem.placement import PlacementProblem
from koordopt.models.result import Placement
from koordopt.solvers.heuristics.diagnose import diagnose
from koordopt.solvers.heuristics.pipeline import Pipeline
from koordopt.solvers.heuristics.profile import Profile


@dataclass(frozen=True)
class NodeGroup:
    """Nodes that refuse a pod for one reason; a node may be in several groups.

    Attributes
    ----------
    rule
        Name of the rule that refuses.
    message
        What a person reads.
    nodes
        The nodes, as indices, ascending.
    alone
        How many of them no other rule refuses.
    """

    rule: str
    message: str
    nodes: tuple[int, ...]
    alone: int


class Explainer:
    """Tells why nodes refuse pods once a placement is made.

    Parameters
    ----------
    problem
        The problem.
    placement
        A valid placement for it.
    profile
        Weights and arguments of the score plug-ins, as the placement was made with.
    """

    def __init__(
        self, problem: PlacementProblem, placement: Placement, profile: Profile | None = None
    ) -> None:
        self._problem = problem
        self._pipeline = Pipeline(problem, profile)
        for p, n in zip(placement.pod.tolist(), placement.node.tolist(), strict=True):
            self._pipeline.state.place(p, n, placement.cards.get(p, ()))
        for refresh in self._pipeline.plugins.refreshers:
            for n in np.unique(placement.node).tolist():
                refresh(n)
        self._known: dict[int, tuple[NodeGroup, ...]] = {}

    def node_groups(self, p: int) -> tuple[NodeGroup, ...]:
        """Return the nodes that refuse pod ``p`` by reason, in the order in which filters ask.

        Nothing for a pod that is held back whatever the nodes say.
        """
        if p in self._problem.holds:
            return ()
        c = int(self._problem.snapshot.pods.class_of[p])
        if c not in self._known:
            self._known[c] = self._groups(c)
        return self._known[c]

    def _groups(self, c: int) -> tuple[NodeGroup, ...]:
        by_rule: dict[str, BoolArray] = {}
        by_reason: dict[tuple[str, str], BoolArray] = {}
        none = np.zeros(len(self._problem.capacity), dtype=np.bool_)
        for refusal in diagnose(self._pipeline, c):
            reason = refusal.rule, refusal.message
            by_rule[refusal.rule] = by_rule.get(refusal.rule, none) | refusal.nodes
            by_reason[reason] = by_reason.get(reason, none) | refusal.nodes
        rules = np.sum([mask.astype(np.int64) for mask in by_rule.values()], axis=0)
        return tuple(
            NodeGroup(
                rule,
                message,
                tuple(np.flatnonzero(mask).tolist()),
                int((mask & (rules == 1)).sum()),
            )
            for (rule, message), mask in by_reason.items()
        )
