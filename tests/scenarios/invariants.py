"""What holds after every cycle of every scenario, whatever the scenario is about."""

import random
from collections import Counter

import numpy as np

from koordopt.models.delta import ClusterDelta, advance, apply_delta
from koordopt.models.objective import evaluate
from koordopt.models.plan import Plan
from koordopt.models.problem.placement import PlacementProblem
from koordopt.models.result import SolveResult
from koordopt.models.rules.device import CARD_RESOURCES
from koordopt.models.snapshot import ClusterObjects, ClusterSnapshot, SnapshotSettings
from koordopt.models.verify import verify
from koordopt.solvers.heuristics import greedy

KINDS = tuple(ClusterObjects.__dataclass_fields__)


def plan_of(
    objects: ClusterObjects, now_s: int, settings: SnapshotSettings | None = None
) -> tuple[PlacementProblem, SolveResult, Plan]:
    """Return the problem of placing what is pending, and the greedy answer."""
    snapshot = ClusterSnapshot.from_objects(objects, now_s=now_s, settings=settings)
    problem = PlacementProblem.from_snapshot(snapshot)
    result = greedy.solve(problem)
    return problem, result, Plan.from_result(problem, result)


def shuffled(objects: ClusterObjects, seed: int) -> ClusterObjects:
    """Return the same objects in another order."""
    shuffle = random.Random(seed).sample
    parts = {kind: getattr(objects, kind) for kind in KINDS}
    return ClusterObjects(**{kind: tuple(shuffle(v, len(v))) for kind, v in parts.items()})


def assert_sound(problem: PlacementProblem, result: SolveResult, plan: Plan) -> None:
    """Assert everything that is true of any plan and of the cluster after it."""
    assert verify(problem, result.placement) == []
    assert result.levels == evaluate(problem, result.placement)
    _assert_one_answer_a_pod(problem, plan)
    before, delta = problem.snapshot, ClusterDelta(binds=plan.binds)
    live = advance(before, delta, now_s=before.now_s)
    assert isinstance(live, ClusterSnapshot)
    _assert_within(_room(before), problem.used, PlacementProblem.from_snapshot(live).used)
    _assert_within(before.cards.capacity, before.cards.used, live.cards.used)
    if before.quotas.arrays is not None and live.quotas.arrays is not None:
        arrays = before.quotas.arrays
        _assert_within(arrays.limit, arrays.used, live.quotas.arrays.used)
    _assert_gangs_whole(before, live)
    rebuilt = ClusterSnapshot.from_objects(
        apply_delta(before.objects, delta), now_s=before.now_s, settings=before.settings
    )
    assert_same_state(live, rebuilt)


def _room(snapshot: ClusterSnapshot) -> np.ndarray:
    """Return what nodes can give; totals of cards say nothing where every card is known."""
    room = snapshot.allocatable.copy()
    counted_one_by_one = [r for r, name in enumerate(snapshot.resources) if name in CARD_RESOURCES]
    room[np.ix_(np.unique(snapshot.cards.node), counted_one_by_one)] = np.iinfo(np.int64).max
    return room


def _assert_one_answer_a_pod(problem: PlacementProblem, plan: Plan) -> None:
    pods = problem.snapshot.pods
    pending = Counter(pods.keys[p] for p in problem.pending.tolist())
    assert Counter([bind.pod for bind in plan.binds] + list(plan.unplaced)) == pending
    assert all(reason.message and reason.object for reason in plan.unplaced.values())


def _assert_within(limit: np.ndarray, before: np.ndarray, after: np.ndarray) -> None:
    """Assert that nothing exceeds its limit but what did so already, and that no further."""
    assert (after <= np.maximum(limit, before)).all()


def _assert_gangs_whole(before: ClusterSnapshot, after: ClusterSnapshot) -> None:
    """Assert that a group of gangs that had not started either did so whole or stayed."""
    for group in before.gangs.groups:
        old = [before.gangs.gangs[g] for g in group.gangs]
        new = [after.gangs.gangs[g] for g in group.gangs]
        if any(gang.was_satisfied for gang in old) or not any(gang.bound for gang in new):
            continue
        assert all(len(gang.bound) >= gang.spec.min_member for gang in new), group.id


def assert_same_state(live: ClusterSnapshot, rebuilt: ClusterSnapshot) -> None:
    """Assert that two snapshots say the same of pods, quotas, gangs and cards, name by name."""
    assert live.now_s == rebuilt.now_s
    assert live.pods.keys == rebuilt.pods.keys
    assert live.pods.objects == rebuilt.pods.objects
    assert live.nodes.names == rebuilt.nodes.names
    np.testing.assert_array_equal(live.pods.node_of, rebuilt.pods.node_of)
    np.testing.assert_array_equal(live.quotas.quota_of, rebuilt.quotas.quota_of)
    assert live.gangs == rebuilt.gangs
    assert live.held_cards == rebuilt.held_cards
    np.testing.assert_array_equal(live.cards.used, rebuilt.cards.used)
    assert live.warnings == rebuilt.warnings
    assert live.finished == rebuilt.finished
    assert _requests(live) == _requests(rebuilt)
    assert _quota_rows(live) == _quota_rows(rebuilt)


def _requests(snapshot: ClusterSnapshot) -> list[dict[str, int]]:
    return [dict(snapshot.classes[c].request) for c in snapshot.pods.class_of.tolist()]


def _quota_rows(snapshot: ClusterSnapshot) -> dict[str, dict[str, dict[str, int]]]:
    """Return the amounts of every quota by table, quota and resource that a pod asks for."""
    arrays = snapshot.quotas.arrays
    if arrays is None:
        return {}
    asked = {name for request in _requests(snapshot) for name in request}
    tables = ("limit", "minimum", "guaranteed", "used", "non_preemptible_used", "counted")
    return {
        table: {
            f"{quota}/{resource}": value
            for quota, row in zip(arrays.names, getattr(arrays, table).tolist(), strict=True)
            for resource, value in zip(arrays.resources, row, strict=True)
            if resource in asked
        }
        for table in tables
    }
