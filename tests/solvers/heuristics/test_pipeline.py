"""The pipeline's shortcuts change what a decision costs, never what it is."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.speed.instances import RULES, Instance, arrivals
from benchmarks.speed.throughput import AfreshPipeline
from koordopt.solvers.heuristics import pipeline as module
from koordopt.solvers.heuristics.greedy import Greedy
from koordopt.solvers.heuristics.pipeline import Pipeline
from koordopt.solvers.heuristics.profile import DEFAULT_WEIGHTS, Profile
from koordopt.solvers.heuristics.scores import opportunity
from koordopt.solvers.heuristics.units import units_of
from tests.builders import class_index, make_node, make_pod, make_problem
from tests.strategies import problems

PROFILES = (
    Profile(),
    Profile(fit_strategy="MostAllocated"),
    Profile(fit_strategy="RequestedToCapacityRatio"),
    Profile(weights={**DEFAULT_WEIGHTS, "NodeResourcesFit": 1000, "InterPodAffinity": 700}),
    Profile(weights={"InterPodAffinity": 1}),
    Profile(weights={"ExpectedFragmentation": 10, "NodeResourcesFit": 1}),
)


def decisions(pipeline, pods):
    """Place ``pods`` one after another, take every fourth back at once, and return the nodes."""
    class_of, found = pipeline.problem.snapshot.pods.class_of, []
    for k, p in enumerate(pods):
        n = pipeline.best_node(int(class_of[p]))
        found.append(n)
        if n >= 0:
            pipeline.place(p, n)
            if k % 4 == 3:
                pipeline.undo()
    return found


@given(
    problems(most_nodes=6, most_pending=8),
    st.sampled_from(PROFILES),
    st.sampled_from((0, 2, module.FEW)),
    st.sampled_from((1, 2, 64)),
)
@settings(max_examples=200)
def test_decisions_are_those_of_a_pipeline_that_evaluates_all_nodes(problem, profile, few, price):
    """With every plug-in and strategy, repairing one by one, from the log, or over all nodes.

    Prices of cards are looked at after every ``price`` placements.
    """
    pods = [p for _ in range(2) for p in problem.pending.tolist()]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "FEW", few)
        patch.setattr(opportunity, "PLACEMENTS_PER_PRICE", price)
        ours = decisions(Pipeline(problem, profile), pods)
        assert ours == decisions(AfreshPipeline(problem, profile), pods)


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("strategy", ["LeastAllocated", "MostAllocated"])
def test_clusters_that_fill_up_get_the_same_placements(rules, strategy):
    """40 nodes with more pods than fit: rows of all kinds of repair, and many refusals."""
    instance = Instance(40, 900, rules, "interleaved", classes=60, filled_percent=(20, 90))
    problem = instance.problem()
    unit_of = {p: unit for unit in units_of(problem) for p in unit.pods}
    order = list(dict.fromkeys(unit_of[p] for p in arrivals(problem, instance)))
    placed = []
    for pipeline in (Pipeline, AfreshPipeline):
        greedy = Greedy(problem)
        greedy.pipeline = pipeline(problem, Profile(fit_strategy=strategy))
        done = [greedy.place_unit(unit) for unit in order]
        placed.append((done, greedy.pipeline.state.placed))
    assert placed[0] == placed[1]
    assert not all(placed[0][0])


@given(problems(most_nodes=6, most_pending=6))
def test_tracked_plugins_give_for_the_log_what_they_give_for_its_nodes(problem):
    """Whatever was placed: the log's copy of the last change of each node is what it has now."""
    pipeline = Pipeline(problem)
    decisions(pipeline, problem.pending.tolist())
    changes, plugins = pipeline.state.changes, pipeline.plugins
    for seen in range(changes.length):
        part = changes.since(seen)
        if part is None:
            continue
        nodes = changes.nodes(seen)
        last = [k for k, n in enumerate(nodes) if n not in nodes[k + 1 :]]
        for plugin in (*plugins.local_filters, *(score for score, _ in plugins.local_scores)):
            for c in np.unique(problem.snapshot.pods.class_of[problem.pending]).tolist():
                bound = plugin.bind(c)
                if bound is not None and bound.recent is not None:
                    expected = [bound.one(n) for n in nodes[last].tolist()]
                    assert bound.recent(part)[last].tolist() == expected


def test_ties_go_to_the_first_node():
    problem = make_problem(nodes=[make_node(name) for name in "cab"], pods=[make_pod("p")])
    assert problem.snapshot.nodes.names == ("a", "b", "c")
    assert Pipeline(problem).best_node(class_index(problem, "p")) == 0


def test_no_node_is_best_of_none():
    problem = make_problem(nodes=[], pods=[make_pod("p")])
    assert Pipeline(problem).best_node(class_index(problem, "p")) == -1


def test_weights_beyond_the_smallest_integers_are_kept():
    """Scores of 100 times a weight of 1,000 do not fit into 16 bits."""
    problem = make_problem(nodes=[make_node("a"), make_node("b")], pods=[make_pod("p")])
    heavy = Profile(weights={"NodeResourcesFit": 1000})
    pipeline = Pipeline(problem, heavy)
    assert pipeline.best_node(class_index(problem, "p")) == 0
    score = pipeline.plugins.local_scores[0][0].bind(0).one(0)
    assert pipeline._rows[0].row.tolist() == [1 + 1000 * score] * 2
    assert 1000 * score > np.iinfo(np.int16).max
