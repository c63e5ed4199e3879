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
    _assert_equal("violations", verify(problem, result.placement), [])
    _assert_equal("objective", result.levels, evaluate(problem, result.placement))
    _assert_one_answer_a_pod(problem, plan)
    before, delta = problem.snapshot, ClusterDelta(binds=plan.binds)
    live = advance(before, delta, now_s=before.now_s)
    assert isinstance(live, ClusterSnapshot), live
    used = PlacementProblem.from_snapshot(live).used
    _assert_within("nodes", _room(before), problem.used, used)
    _assert_within("cards", before.cards.capacity, before.cards.used, live.cards.used)
    if before.quotas.arrays is not None and live.quotas.arrays is not None:
        arrays = before.quotas.arrays
        _assert_within("quotas", arrays.limit, arrays.used, live.quotas.arrays.used)
    _assert_gangs_whole(before, live)
    rebuilt = ClusterSnapshot.from_objects(
        apply_delta(before.objects, delta), now_s=before.now_s, settings=before.settings
    )
    assert_same_state(live, rebuilt)


def _assert_equal(what: str, found: object, expected: object) -> None:
    assert found == expected, f"{what}: {found}; expected {expected}"


def _room(snapshot: ClusterSnapshot) -> np.ndarray:
    """Return what nodes can give; totals of cards say nothing where every card is known."""
    room = snapshot.allocatable.copy()
    counted_one_by_one = [r for r, name in enumerate(snapshot.resources) if name in CARD_RESOURCES]
    room[np.ix_(np.unique(snapshot.cards.node), counted_one_by_one)] = np.iinfo(np.int64).max
    return room


def _assert_one_answer_a_pod(problem: PlacementProblem, plan: Plan) -> None:
    pods = problem.snapshot.pods
    pending = Counter(pods.keys[p] for p in problem.pending.tolist())
    answers = Counter([bind.pod for bind in plan.binds] + list(plan.unplaced))
    _assert_equal("pods with an answer", answers, pending)
    mute = [key for key, reason in plan.unplaced.items() if not (reason.message and reason.object)]
    _assert_equal("reasons that say nothing", mute, [])


def _assert_within(what: str, limit: np.ndarray, before: np.ndarray, after: np.ndarray) -> None:
    """Assert that nothing exceeds its limit but what did so already, and that no further."""
    over = np.argwhere(after > np.maximum(limit, before)).tolist()
    assert not over, f"{what} over their limit, by row and resource: {over}"


def _assert_gangs_whole(before: ClusterSnapshot, after: ClusterSnapshot) -> None:
    """Assert that a group of gangs that had not started either did so whole or stayed."""
    for group in before.gangs.groups:
        old = [before.gangs.gangs[g] for g in group.gangs]
        new = [after.gangs.gangs[g] for g in group.gangs]
        if any(gang.was_satisfied for gang in old) or not any(gang.bound for gang in new):
            continue
        short = [gang.id for gang in new if len(gang.bound) < gang.spec.min_member]
        assert not short, f"gangs {short} of {group.id} started in part"


def assert_same_state(live: ClusterSnapshot, rebuilt: ClusterSnapshot) -> None:
    """Assert that two snapshots say the same of pods, quotas, gangs and cards, name by name."""
    for what in ("now_s", "gangs", "held_cards", "warnings", "finished"):
        _assert_equal(what, getattr(live, what), getattr(rebuilt, what))
    _assert_equal("names of nodes", live.nodes.names, rebuilt.nodes.names)
    _assert_equal("pods", live.pods.objects, rebuilt.pods.objects)
    np.testing.assert_array_equal(live.pods.node_of, rebuilt.pods.node_of)
    np.testing.assert_array_equal(live.quotas.quota_of, rebuilt.quotas.quota_of)
    np.testing.assert_array_equal(live.cards.used, rebuilt.cards.used)
    _assert_equal("requests", _requests(live), _requests(rebuilt))
    _assert_equal("quotas", _quota_rows(live), _quota_rows(rebuilt))


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
