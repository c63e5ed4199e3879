"""What greedy places at a time: a pod, or the members that a gang group needs to start."""

from __future__ import annotations

from dataclasses import dataclass

from koordopt.models.problem.placement import PlacementProblem

UnitOrder = tuple[int, int, int, str]


@dataclass(frozen=True, slots=True)
class Unit:
    """Pods that are placed together or not at all.

    Attributes
    ----------
    pods
        Candidates, hardest first.
    need
        Members that must be placed, by gang; empty for a single pod.
    group
        Gang group, -1 for a single pod of none.
    order
        Order among the units of one quota: priority descending, repairs of running gangs first,
        creation, name of the first pod.
    """

    pods: tuple[int, ...]
    need: tuple[tuple[int, int], ...]
    group: int
    order: UnitOrder

    @property
    def is_single(self) -> bool:
        """Whether the unit is one pod that needs no other."""
        return not self.need


def units_of(problem: PlacementProblem) -> list[Unit]:
    """Return the units of all pending pods that nothing holds back, in canonical order."""
    gangs = problem.snapshot.gangs
    members: dict[int, list[int]] = {}
    units = []
    for p in problem.pending.tolist():
        if p in problem.holds:
            continue
        g = gangs.gang_of.get(p)
        group = -1 if g is None else gangs.group_of[g]
        if group >= 0 and any(gangs.groups[group].need):
            members.setdefault(group, []).append(p)
        else:
            units.append(single(problem, p))
    units += [_group_unit(problem, group, pods) for group, pods in sorted(members.items())]
    return units


def single(problem: PlacementProblem, p: int) -> Unit:
    """Return the unit of pod ``p`` alone."""
    gangs = problem.snapshot.gangs
    g = gangs.gang_of.get(p)
    repairs = False
    if g is not None:
        spec, bound = gangs.gangs[g].spec, len(gangs.gangs[g].bound)
        repairs = spec is not None and 0 < bound < spec.min_member
    group = -1 if g is None else gangs.group_of[g]
    return Unit((p,), (), group, _order(problem, [p], repairs))


def _group_unit(problem: PlacementProblem, group: int, pods: list[int]) -> Unit:
    gangs, class_of = problem.snapshot.gangs, problem.snapshot.pods.class_of
    table = gangs.groups[group]
    repairs = any(gangs.gangs[g].bound for g in table.gangs)
    need = tuple((g, n) for g, n in zip(table.gangs, table.need, strict=True) if n)
    return Unit(
        tuple(sorted(pods, key=lambda p: (-problem.dominant_share(int(class_of[p])), p))),
        need,
        group,
        _order(problem, pods, repairs),
    )


def _order(problem: PlacementProblem, pods: list[int], repairs: bool) -> UnitOrder:
    table = problem.snapshot.pods
    priority = max(int(table.priority[p]) for p in pods)
    created = min(int(table.created_s[p]) for p in pods)
    return (-priority, 0 if repairs else 1, created, table.keys[min(pods)])
