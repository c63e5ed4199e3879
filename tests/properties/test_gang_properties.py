"""Gangs over several cycles of clusters that nobody picked."""

from hypothesis import given, settings
from hypothesis import strategies as st

from koordopt.models.delta import ClusterDelta, apply_delta
from koordopt.models.plan import Bind
from koordopt.models.problem.placement import PlacementProblem
from koordopt.models.result import Placement
from koordopt.models.rules import gang as gang_rule
from koordopt.models.snapshot import ClusterSnapshot
from tests.scenarios.kit import cluster

NAMES = ("a", "b", "c")
CYCLES = 3


@st.composite
def gang_stories(draw):
    """Give a cluster with up to three gangs, some in groups, some of whose pods run already."""
    story = cluster().nodes(draw(st.integers(1, 4)), cpu="2")
    together = draw(st.sampled_from(((), ("a", "b"), ("a", "b", "c"))))
    for name in NAMES[: draw(st.integers(1, 3))]:
        members = draw(st.integers(1, 4))
        story.gang(
            name,
            members,
            minimum=draw(st.integers(1, 4)),
            declared_by=draw(st.sampled_from(("PodGroup", "annotations"))),
            policy=draw(st.sampled_from(("", "only-waiting", "waiting-and-running"))),
            groups=tuple(f"default/{other}" for other in together) if name in together else (),
            cpu=draw(st.sampled_from(("1", "2"))),
            priority=draw(st.sampled_from((0, 9))),
        )
    return story.pods("solo", draw(st.integers(0, 3)), cpu="1", priority=5)


@settings(max_examples=60)
@given(gang_stories(), st.data())
def test_gangs_start_whole_whatever_comes_and_goes(story, data):
    """Three cycles with departures in between; every cycle asserts whole starts and true plans."""
    for _ in range(CYCLES):
        story.cycle()
        present = sorted(pod.key for pod in story.objects.pods)
        leaving = data.draw(st.sets(st.sampled_from(present), max_size=2)) if present else ()
        for key in leaving:
            story.remove(key)


def starts_whole(snapshot, chosen):
    """Tell from the objects alone whether ``chosen`` pods may start in one step."""
    table = snapshot.gangs
    for group in table.groups:
        members = {p for g in group.gangs for p in table.gangs[g].pods}
        if not members & chosen:
            continue
        if group.hold is not None:
            return False
        runs = any(table.gangs[g].was_satisfied for g in group.gangs)
        for g in group.gangs:
            gang, policy = table.gangs[g], table.gangs[g].spec.match_policy.value
            starting = len(chosen & set(gang.pods))
            counted = starting + (len(gang.bound) if policy == "waiting-and-running" else 0)
            is_free = policy == "once-satisfied" and runs
            if counted < gang.spec.min_member and not is_free:
                return False
    return True


@settings(max_examples=60)
@given(gang_stories(), st.data())
def test_checker_accepts_exactly_the_whole_starts(story, data):
    """Any set of pending pods, in one step, beside any that run already."""
    keys = [pod.key for pod in story.objects.pods]
    for key in data.draw(st.sets(st.sampled_from(keys), max_size=3)):
        story.objects = _bound(story.objects, key)
    snapshot = ClusterSnapshot.from_objects(story.objects)
    problem = PlacementProblem.from_snapshot(snapshot)
    pending = problem.pending.tolist()
    chosen = sorted(data.draw(st.sets(st.sampled_from(pending)))) if pending else []
    placement = Placement.of(chosen, [0] * len(chosen), [0] * len(chosen))
    assert (not gang_rule.violations(problem, placement)) == starts_whole(snapshot, set(chosen))


def _bound(objects, key):
    return apply_delta(objects, ClusterDelta(binds=(Bind(key, "n1", 0),)))
