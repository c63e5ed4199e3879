"""Gangs and gang groups: who starts together, who has come, and what still lacks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from koordopt.models.api.core import Pod
from koordopt.models.api.crds import PodGroup
from koordopt.models.api.gangs import (
    GangSpec,
    MatchPolicy,
    gang_name,
    names_pod_group,
    spec_of_group,
    spec_of_pods,
)
from koordopt.models.reason import Reason

RULE = "gang"


@dataclass(frozen=True)
class Gang:
    """One gang of a snapshot.

    Attributes
    ----------
    id
        ``namespace/name``.
    spec
        Its parameters; None where no pod states a readable minimum.
    exists
        Whether the pod group that its pods name, if they name one, is known.
    pods
        Its pods that have not finished, as indices, ascending.
    bound
        Those of them that have a node.
    was_satisfied
        Whether a member was ever seen bound, finished ones included.
    """

    id: str
    spec: GangSpec | None
    exists: bool
    pods: tuple[int, ...]
    bound: tuple[int, ...]
    was_satisfied: bool


@dataclass(frozen=True)
class GangGroup:
    """Gangs that start together.

    Attributes
    ----------
    id
        The sorted ids of its gangs, joined by commas.
    gangs
        Indices of its gangs that are known, ascending.
    need
        For each of them, how many members the plan must place at the least when it places any
        member of the group; 0 where the gang has started for good.
    hold
        Why no member can be placed, whatever the room; None where nothing is in the way.
    """

    id: str
    gangs: tuple[int, ...]
    need: tuple[int, ...]
    hold: Reason | None


@dataclass(frozen=True)
class GangTable:
    """The gangs of a snapshot.

    Attributes
    ----------
    gangs
        Sorted by id.
    groups
        Sorted by id; every gang is in one.
    gang_of
        Gang of each pod that has one, by pod index.
    group_of
        Group of each gang.
    """

    gangs: tuple[Gang, ...] = ()
    groups: tuple[GangGroup, ...] = ()
    gang_of: Mapping[int, int] = field(default_factory=dict)
    group_of: tuple[int, ...] = ()


def gang_table(
    pods: Sequence[Pod],
    node_of: Sequence[int],
    finished: Sequence[Pod],
    pod_groups: Sequence[PodGroup],
    default_policy: MatchPolicy = MatchPolicy.ONCE_SATISFIED,
) -> GangTable:
    """Return the gangs that ``pods`` and ``pod_groups`` form.

    Parameters
    ----------
    pods
        Live pods in canonical order.
    node_of
        Node of each, -1 while pending. A pod bound to an unknown node counts as bound.
    finished
        Pods that have run to their end; they only show that their gang once started.
    pod_groups
        PodGroup objects.
    default_policy
        What counts towards the minimum where a gang does not say.
    """
    members: dict[str, list[int]] = {}
    for p, pod in enumerate(pods):
        if (name := gang_name(pod)) is not None:
            members.setdefault(f"{pod.metadata.namespace}/{name}", []).append(p)
    groups = {f"{g.metadata.namespace}/{g.metadata.name}": g for g in pod_groups}
    started = {
        f"{pod.metadata.namespace}/{name}"
        for pod in finished
        if pod.spec.node_name and (name := gang_name(pod)) is not None
    }
    gangs = []
    for gang_id in sorted(members.keys() | groups.keys()):
        own = tuple(members.get(gang_id, ()))
        bound = tuple(p for p in own if node_of[p] >= 0 or pods[p].spec.node_name)
        exists, spec = _spec(gang_id, [pods[p] for p in own], groups, default_policy)
        satisfied = bool(bound) or gang_id in started
        gangs.append(Gang(gang_id, spec, exists, own, bound, satisfied))
    gang_of = {p: g for g, gang in enumerate(gangs) for p in gang.pods}
    table, group_of = _group(gangs)
    return GangTable(tuple(gangs), table, gang_of, group_of)


def _spec(
    gang_id: str,
    pods: Sequence[Pod],
    groups: Mapping[str, PodGroup],
    default_policy: MatchPolicy,
) -> tuple[bool, GangSpec | None]:
    """Return whether the gang exists, and its parameters."""
    group = groups.get(gang_id)
    if group is not None:
        return True, spec_of_group(group, default_policy)
    if any(names_pod_group(pod) for pod in pods):
        return False, None
    # The first that parses decides; which was first, only the creation can tell afterwards.
    oldest_first = sorted(pods, key=_creation)
    return True, spec_of_pods(oldest_first, default_policy)


def _creation(pod: Pod) -> tuple[bool, float, str]:
    moment = pod.metadata.creation_timestamp
    return moment is None, moment.timestamp() if moment else 0.0, pod.key


def _group(gangs: Sequence[Gang]) -> tuple[tuple[GangGroup, ...], tuple[int, ...]]:
    """Return the gang groups and the group of each gang.

    Gangs that one of them declares to bind together form one group, also where another of them
    does not say so.
    """
    position = {gang.id: g for g, gang in enumerate(gangs)}
    leader = list(range(len(gangs)))

    def find(g: int) -> int:
        while leader[g] != g:
            leader[g] = leader[leader[g]]
            g = leader[g]
        return g

    missing: dict[int, set[str]] = {}
    for g, gang in enumerate(gangs):
        for other in gang.spec.groups if gang.spec else ():
            if other in position:
                a, b = sorted((find(g), find(position[other])))
                leader[b] = a
            else:
                missing.setdefault(g, set()).add(other)
    together: dict[int, list[int]] = {}
    for g in range(len(gangs)):
        together.setdefault(find(g), []).append(g)
    table: list[GangGroup] = []
    group_of = [0] * len(gangs)
    for members in together.values():
        for g in members:
            group_of[g] = len(table)
        absent = set().union(*(missing.get(g, set()) for g in members))
        table.append(_gang_group([gangs[g] for g in members], tuple(members), sorted(absent)))
    return tuple(table), tuple(group_of)


def _gang_group(gangs: Sequence[Gang], members: tuple[int, ...], absent: list[str]) -> GangGroup:
    satisfied = any(gang.was_satisfied for gang in gangs)
    need = []
    for gang in gangs:
        if gang.spec is None:
            need.append(0)
            continue
        policy, bound = gang.spec.match_policy, len(gang.bound)
        if policy is MatchPolicy.ONCE_SATISFIED and satisfied:
            need.append(0)
        elif policy is MatchPolicy.WAITING_AND_RUNNING:
            need.append(max(0, gang.spec.min_member - bound))
        else:
            need.append(gang.spec.min_member)
    group_id = ",".join(sorted([gang.id for gang in gangs] + absent))
    return GangGroup(group_id, members, tuple(need), _hold(gangs, group_id, absent, satisfied))


def _hold(
    gangs: Sequence[Gang], group_id: str, absent: list[str], satisfied: bool
) -> Reason | None:
    def held(object_id: str, message: str) -> Reason:
        return Reason(RULE, object_id, message, eviction_could_help=False)

    for gang in gangs:
        if not gang.exists:
            return held(gang.id, f"can't find gang {gang.id}: its PodGroup does not exist")
        if gang.spec is None:
            return held(gang.id, f"gang {gang.id} has not init: no pod states a readable minimum")
    waiting = [
        (gang, gang.spec)
        for gang in gangs
        if gang.spec is not None
        and not (satisfied and gang.spec.match_policy is MatchPolicy.ONCE_SATISFIED)
    ]
    # A group that has started for good asks no more who is missing.
    if absent and waiting:
        return held(group_id, f"member gangs [{' '.join(absent)}] don't exist")
    for gang, spec in waiting:
        if len(gang.pods) < spec.min_member:
            count = f"{len(gang.pods)} of {spec.min_member} members exist"
            return held(gang.id, f"gang {gang.id}: child pods not collected enough: {count}")
    return None
