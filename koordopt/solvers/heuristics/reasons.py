"""Why units stay pending once greedy is done, as true reasons for each of their pods."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from koordopt.models.reason import Reason
from koordopt.models.rules import gang, quota
from koordopt.models.units import format_amount
from koordopt.solvers.heuristics.diagnose import diagnose, reason_from
from koordopt.solvers.heuristics.quota import QuotaShort
from koordopt.solvers.heuristics.units import Unit

if TYPE_CHECKING:
    from koordopt.solvers.heuristics.greedy import Greedy


class Reasons:
    """Finds reasons in the state that greedy left; pods alike in every respect share one."""

    def __init__(self, greedy: Greedy) -> None:
        self._greedy = greedy
        self._base = greedy.placed
        self._trial = 0
        self._memo: dict[tuple[tuple[int, int], tuple[int, int, bool]], Reason] = {}

    def of_pod(self, p: int) -> Reason:
        """Return why pod ``p`` cannot be placed as things stand."""
        greedy = self._greedy
        # While a gang is tried, its members take room that no other unit finds taken.
        trial = self._trial if greedy.placed > self._base else 0
        key = ((trial, greedy.placed), greedy.quota.kind(p))
        if key not in self._memo:
            if short := greedy.quota.shortfalls(p):
                self._memo[key] = self._quota_reason(p, self._cause(short))
            else:
                c = int(greedy.problem.snapshot.pods.class_of[p])
                self._memo[key] = reason_from(greedy.pipeline, c, diagnose(greedy.pipeline, c))
        return self._memo[key]

    def _cause(self, short: list[QuotaShort]) -> QuotaShort:
        """Return the quota to blame: the pod's own, unless that is short for want of a parent's.

        A quota below its max has just what its parents could share out; where the highest of
        them that is short has no more either, that one stands in the way.
        """
        first, table = short[0], self._greedy.problem.snapshot.quotas
        assert table.arrays is not None  # a quota refused
        assert table.forest is not None
        resource = self._greedy.problem.resources[first.resource]
        own_max = table.forest.spec(table.arrays.names[first.own]).max
        if first.is_minimum or first.limit >= own_max.get(resource, first.limit):
            return first
        above = [s for s in short[1:] if s.quota != s.own and s.resource == first.resource]
        return above[-1] if above else first

    def _quota_reason(self, p: int, short: QuotaShort) -> Reason:
        problem = self._greedy.problem
        arrays = problem.snapshot.quotas.arrays
        assert arrays is not None  # a quota refused
        resource = problem.resources[short.resource]
        used, asked, limit = (
            format_amount(resource, amount) for amount in (short.used, short.asked, short.limit)
        )
        name = arrays.names[short.quota]
        who = f"quota {name}" if short.quota == short.own else f"parent quota {name}"
        if short.is_minimum:
            who = f"min of {who}"
        message = f"{who}, {resource}: {used} + {asked} > {limit}"
        return Reason(quota.RULE, name, message, self._could_be_freed(p, short.own))

    def _could_be_freed(self, p: int, own: int) -> bool:
        """Return whether the quotas above pod ``p`` would have room for it if all others left.

        However little is in use, a quota gives no more than its max and than what its tree owns,
        and a pod that may not be preempted gets no more than the min.
        """
        table, resources = self._greedy.problem.snapshot.quotas, self._greedy.problem.resources
        assert table.arrays is not None  # a quota refused
        assert table.forest is not None
        specs = [table.forest.spec(table.arrays.names[q]) for q in table.arrays.chains[own]]
        most = [table.forest.owned(specs[0].tree_id), *(spec.max for spec in specs)]
        if table.non_preemptible[p]:
            most.append(specs[0].min)
        return all(
            amount <= each.get(resources[r], amount)
            for r, amount in self._greedy.quota.charges(p)
            for each in most
        )

    def of_unit(self, unit: Unit) -> dict[int, Reason]:
        """Return why each pod of ``unit`` stays pending."""
        if unit.is_single:
            return {unit.pods[0]: self.of_pod(unit.pods[0])}
        greedy = self._greedy
        mark = greedy.placed
        self._trial += 1
        fits, failed = greedy.try_members(unit, mark, self.of_pod)
        greedy.roll_back(mark)
        return self._gang_reasons(unit, fits, failed)

    def _gang_reasons(
        self, unit: Unit, fits: list[int], failed: dict[int, Reason]
    ) -> dict[int, Reason]:
        problem = self._greedy.problem
        gangs, names = problem.snapshot.gangs, problem.snapshot.pods.keys
        placed = {g: sum(gangs.gang_of[p] == g for p in fits) for g, _ in unit.need}
        short = [(g, need) for g, need in unit.need if placed[g] < need]
        g, need = short[0]
        gang_id = gangs.gangs[g].id
        shortfall = f"gang {gang_id} needs {need} more members, {placed[g]} fit"
        blockers = [p for p in unit.pods if p in failed and gangs.gang_of[p] == g]
        if blockers:
            first = blockers[0]
            cause = f"waits for {names[first]}: {failed[first].message}"
            could_help = failed[first].eviction_could_help
        else:
            held = [p for p in gangs.gangs[g].pods if p in problem.holds]
            cause = "no other member is pending"
            if held:
                cause = f"waits for {names[held[0]]}: {problem.holds[held[0]].message}"
            could_help = False
        waiting = Reason(gang.RULE, gang_id, f"{shortfall}; {cause}", could_help)
        return {
            p: replace(failed[p], message=f"{failed[p].message.rstrip('.')}; {shortfall}")
            if p in failed
            else waiting
            for p in unit.pods
        }


def reasons_of(greedy: Greedy, waiting: list[Unit]) -> dict[int, Reason]:
    """Return why every pending pod that was not placed was not, by pod index."""
    reasons = Reasons(greedy)
    found = dict(greedy.problem.holds)
    for unit in waiting:
        found.update(reasons.of_unit(unit))
    return dict(sorted(found.items()))
