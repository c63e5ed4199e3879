"""Filters, scores and the independent checker are one law, written down several times."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from koordopt.models.problem.placement import PlacementProblem
from koordopt.models.snapshot import ClusterObjects, ClusterSnapshot
from koordopt.models.verify import verify
from koordopt.solvers.heuristics.pipeline import Pipeline
from koordopt.solvers.heuristics.profile import Profile
from tests.agreement import checker_mask, filter_mask, placement_after
from tests.strategies import problems


def place_next(pipeline, p):
    """Place pod ``p`` where the pipeline wants it, and return whether it fits anywhere."""
    n = pipeline.best_node(int(pipeline.problem.snapshot.pods.class_of[p]))
    if n >= 0:
        pipeline.place(p, n)
    return n >= 0


def pending_classes(problem):
    return np.unique(problem.snapshot.pods.class_of[problem.pending]).tolist()


def recorded(state):
    """Return a copy of everything that a placement changes."""
    arrays = [*state.free, state.port_use, state.card_free]
    lists = [*state.free_of, *state.scored_use, *state.counts]
    return [a.tolist() for a in arrays] + [list(x) for x in lists], list(state.placed)


def scored(pipeline):
    """Return what every local score says of every node, to every class."""
    return [
        bound.many(None).tolist()
        for score, _ in pipeline.plugins.local_scores
        for c in pending_classes(pipeline.problem)
        if (bound := score.bind(c)) is not None
    ]


@given(problems())
@settings(max_examples=300)
def test_filters_leave_exactly_what_the_checker_accepts(problem):
    """At every step of a greedy run, for every pod, on every node."""
    pipeline = Pipeline(problem)
    waiting = problem.pending.tolist()
    for p in waiting:
        still = [q for q in waiting if q not in {placed for placed, _ in pipeline.state.placed}]
        for q in still:
            found, judged = filter_mask(pipeline, q), checker_mask(pipeline, q)
            assert found.tolist() == judged.tolist(), problem.snapshot.pods.keys[q]
        place_next(pipeline, p)


@given(problems())
def test_chosen_cards_are_among_those_that_the_checker_accepts(problem):
    """The cards chosen pass the checker, not only some cards of that node."""
    pipeline = Pipeline(problem)
    for p in problem.pending.tolist():
        c = int(problem.snapshot.pods.class_of[p])
        for n in np.flatnonzero(pipeline.feasible(c)).tolist():
            choose = pipeline.plugins.choose_cards
            cards = choose(c, n) if choose else ()
            assert verify(problem, placement_after(pipeline, p, n, cards)) == []
        place_next(pipeline, p)


FOUR = (("cpu", 2), ("memory", 1), ("ephemeral-storage", 1), ("nvidia.com/gpu", 3))
PROFILES = (
    Profile(),
    Profile(fit_strategy="MostAllocated", fit_resources=FOUR, balanced_resources=FOUR),
    Profile(
        fit_strategy="RequestedToCapacityRatio",
        fit_resources=FOUR,
        shape=((0, 0), (40, 3), (75, 10), (100, 6)),
    ),
)


@given(problems(), st.sampled_from(PROFILES))
def test_local_plugins_give_one_node_what_they_give_many(problem, profile):
    """Node by node, in one pass over some nodes and in one over all, before and after placing."""
    pipeline = Pipeline(problem, profile)
    nodes = np.arange(len(problem.capacity))[::-1].copy()
    for p in (None, *problem.pending.tolist()):
        if p is not None:
            place_next(pipeline, p)
        plugins = pipeline.plugins
        for plugin in (*plugins.local_filters, *(score for score, _ in plugins.local_scores)):
            for c in pending_classes(problem):
                bound = plugin.bind(c)
                if bound is None:
                    continue
                one = [bound.one(n) for n in nodes.tolist()]
                assert bound.many(nodes).tolist() == one
                assert bound.many(None)[nodes].tolist() == one


@given(problems())
def test_undo_restores_everything(problem):
    """Placing and taking back leaves every array as it was, whatever came between."""
    pipeline = Pipeline(problem)
    history = []
    for p in problem.pending.tolist():
        before = (recorded(pipeline.state), scored(pipeline))
        if place_next(pipeline, p):
            history.append(before)
    while history:
        pipeline.undo()
        assert (recorded(pipeline.state), scored(pipeline)) == history.pop()
    assert pipeline.state.cards_of == {}


@given(problems())
def test_rows_repaired_are_rows_computed_anew(problem):
    """A pipeline that repairs changed nodes decides as one that starts at the same state."""
    pipeline = Pipeline(problem)
    for p in problem.pending.tolist():
        fresh = Pipeline(problem)
        for q, n in pipeline.state.placed:
            fresh.state.place(q, n, pipeline.state.cards_of.get(q, ()))
            for refresh in fresh.plugins.refreshers:
                refresh(n)
        for c in pending_classes(problem):
            assert pipeline.best_node(c) == fresh.best_node(c)
            assert pipeline.feasible(c).tolist() == fresh.feasible(c).tolist()
        place_next(pipeline, p)


@given(problems())
def test_the_order_of_objects_changes_nothing(problem):
    """Nodes, pods, devices and namespaces in reverse give the same decisions, by name."""
    given_as = problem.snapshot.objects
    turned = ClusterObjects(
        nodes=given_as.nodes[::-1],
        pods=given_as.pods[::-1],
        namespaces=given_as.namespaces[::-1],
        devices=given_as.devices[::-1],
    )
    other = PlacementProblem.from_snapshot(ClusterSnapshot.from_objects(turned))
    runs = []
    for each in (problem, other):
        pipeline = Pipeline(each)
        for p in each.pending.tolist():
            place_next(pipeline, p)
        keys, names = each.snapshot.pods.keys, each.snapshot.nodes.names
        runs.append([(keys[p], names[n]) for p, n in pipeline.state.placed])
    assert runs[0] == runs[1]
