"""Greedy placement: unit by unit in a fair order, whole gangs or nothing, quota as it goes."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from koordopt.models.objective import evaluate
from koordopt.models.problem.placement import PlacementProblem
from koordopt.models.reason import Reason
from koordopt.models.result import Placement, SolveResult
from koordopt.solvers.heuristics.pipeline import Pipeline
from koordopt.solvers.heuristics.profile import Profile
from koordopt.solvers.heuristics.quota import QuotaUse
from koordopt.solvers.heuristics.reasons import reasons_of
from koordopt.solvers.heuristics.units import Unit, single, units_of


class Greedy:
    """Places units one after another; every decision can be taken back exactly.

    Parameters
    ----------
    problem
        The problem.
    profile
        Weights and arguments of the score plug-ins.

    Attributes
    ----------
    pipeline
        Decides where a pod goes.
    quota
        Use of every quota.
    """

    def __init__(self, problem: PlacementProblem, profile: Profile | None = None) -> None:
        self.problem = problem
        self.pipeline = Pipeline(problem, profile)
        self.quota = QuotaUse(problem)
        self._steps: list[int] = []
        self._hopeless: set[tuple[int, int, bool]] = set()
        self._class_of: list[int] = problem.snapshot.pods.class_of.tolist()

    @property
    def placed(self) -> int:
        """How many pods have been placed."""
        return len(self._steps)

    def place_unit(self, unit: Unit) -> bool:
        """Place ``unit``, whole or not at all, and return whether that was possible.

        Members of a gang group beyond its need are left to be placed one by one.
        """
        step = self._steps[-1] + 1 if self._steps else 0
        if not unit.need:
            return self._place_pod(unit.pods[0], step)
        mark, needed = self.placed, sum(count for _, count in unit.need)
        for attempt in self._attempts(unit, needed):
            fits, _ = self.try_members(attempt, step)
            if len(fits) == needed:
                return True
            self.roll_back(mark)
        return False

    def _attempts(self, unit: Unit, needed: int) -> Iterator[Unit]:
        """Yield ``unit`` hardest member first, and easiest first where there is a choice.

        The hardest members find a seat while there is room; but where not all are needed, one of
        them may take the seats of two that would have been enough.
        """
        yield unit
        if needed < len(unit.pods) and len({self.quota.kind(p) for p in unit.pods}) > 1:
            yield replace(unit, pods=unit.pods[::-1])

    def try_members(
        self, unit: Unit, step: int, explain: Callable[[int], Reason] | None = None
    ) -> tuple[list[int], dict[int, Reason]]:
        """Place as many members as ``unit`` needs, hardest first, and keep what fits.

        Parameters
        ----------
        unit
            Unit of a gang group.
        step
            Step of the placements.
        explain
            Gives the reason of a member at the moment when it does not fit.

        Returns
        -------
        tuple
            The members placed, and the reason of each that was tried and did not fit. Members that
        lack company or balance are tried again after the others, as long as that helps.
        """
        gang_of = self.problem.snapshot.gangs.gang_of
        missing = dict(unit.need)
        fits: list[int] = []
        refused: set[tuple[int, int, bool]] = set()
        reasons: dict[int, Reason] = {}
        untried, before = list(unit.pods), -1
        while untried and len(fits) > before:
            before, again = len(fits), []
            for p in untried:
                g, kind = gang_of[p], self.quota.kind(p)
                if missing.get(g, 0) <= 0:
                    continue
                # Within one attempt room only shrinks, so a twin of a pod that failed fails too,
                # unless it needs company that may have come meanwhile.
                if (kind not in refused or self.may_revive(p)) and self._try_pod(p, step):
                    missing[g] -= 1
                    fits.append(p)
                    reasons.pop(p, None)
                    continue
                refused.add(kind)
                if explain is not None:
                    reasons[p] = explain(p)
                if self.may_revive(p):
                    again.append(p)
            untried = again
        return fits, reasons

    def roll_back(self, mark: int) -> None:
        """Take back every placement after the first ``mark``."""
        while len(self._steps) > mark:
            p = self.pipeline.undo()
            self.quota.charge(p, -1)
            self._steps.pop()

    def may_revive(self, p: int) -> bool:
        """Return whether pod ``p`` may fit later though it does not now, with nothing freed.

        Placements only ever take room, but they may bring required company, or raise the lowest
        count of a spread constraint.
        """
        c = self._class_of[p]
        return bool(self.problem.affinity[c].affinity or self.problem.spread[c].hard)

    def _place_pod(self, p: int, step: int) -> bool:
        kind = self.quota.kind(p)
        if self._hopeless and kind in self._hopeless:
            return False
        if self._try_pod(p, step):
            return True
        if not self.may_revive(p):
            self._hopeless.add(kind)
        return False

    def _try_pod(self, p: int, step: int) -> bool:
        if self.quota.refusal(p) is not None:
            return False
        n = self.pipeline.best_node(self._class_of[p])
        if n < 0:
            return False
        self.pipeline.place(p, n)
        self.quota.charge(p)
        self._steps.append(step)
        return True

    def placement(self) -> Placement:
        """Return the placements made so far."""
        state = self.pipeline.state
        pods, nodes = zip(*state.placed, strict=True) if state.placed else ((), ())
        return Placement.of(pods, nodes, self._steps, state.cards_of)


def solve(problem: PlacementProblem, profile: Profile | None = None) -> SolveResult:
    """Return the greedy plan for ``problem``.

    Parameters
    ----------
    problem
        The problem.
    profile
        Weights and arguments of the score plug-ins.

    Notes
    -----
    Units within their quota's guaranteed part come first, then by priority, repairs of running
    gangs, the used share of their quota's limit, age and name; the quota's share is taken anew
    after each of its units. Inside one quota, priority decides before the guarantee: the head of
    its queue speaks for it. Units that lacked company or balance are tried again
    for as long as a round places something, and so are gangs: with less room the scores may
    choose other nodes for the first members, and leave seats for the last.
    """
    greedy = Greedy(problem, profile)
    waiting, placed = _round(greedy, units_of(problem)), 0
    while greedy.placed > placed:
        placed = greedy.placed
        revivable: list[Unit] = []
        given_up: list[Unit] = []
        for unit in waiting:
            is_open = not unit.is_single or greedy.may_revive(unit.pods[0])
            (revivable if is_open else given_up).append(unit)
        waiting = given_up + _round(greedy, revivable)
    placement = greedy.placement()
    return SolveResult(
        placement=placement,
        status="heuristic",
        limit="none",
        method="greedy",
        levels=evaluate(problem, placement),
        unplaced=reasons_of(greedy, waiting),
    )


def _round(greedy: Greedy, units: Iterable[Unit]) -> list[Unit]:
    """Try every unit once in fair order, and return those that were not placed."""
    quota = greedy.quota
    queues: dict[int, list[tuple[tuple[int, int, int, str], Unit]]] = {}
    for unit in units:
        queues.setdefault(quota.quota_of(unit.pods[0]), []).append((unit.order, unit))
    for queue in queues.values():
        heapq.heapify(queue)

    def key(q: int) -> tuple[bool, int, int, float, int, str, int]:
        (priority, repair, created, name), unit = queues[q][0]
        guaranteed = quota.is_guaranteed(unit.pods[0])
        return (not guaranteed, priority, repair, quota.used_share(q), created, name, q)

    heads = [key(q) for q in queues]
    heapq.heapify(heads)
    waiting = []
    while heads:
        q = heapq.heappop(heads)[-1]
        _, unit = heapq.heappop(queues[q])
        if greedy.place_unit(unit):
            for p in _members_left(greedy, unit):
                extra = single(greedy.problem, p)
                heapq.heappush(queues[q], (extra.order, extra))
        else:
            waiting.append(unit)
        if queues[q]:
            heapq.heappush(heads, key(q))
    return waiting


def _members_left(greedy: Greedy, unit: Unit) -> list[int]:
    """Return the members of a gang group that its start did not need."""
    if unit.is_single:
        return []
    placed = {p for p, _ in greedy.pipeline.state.placed[-len(unit.pods) :]}
    return [p for p in unit.pods if p not in placed]
