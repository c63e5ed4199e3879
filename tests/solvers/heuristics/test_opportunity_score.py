"""The opportunity cost as a plug-in: its scores, its cards, its prices, and who is silent."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from koordopt.solvers.heuristics.fragmentation import CardRequest, ExpectedPods, NodeCards
from koordopt.solvers.heuristics.opportunity import opportunity_cost, outlook, scarcity
from koordopt.solvers.heuristics.pipeline import Pipeline
from koordopt.solvers.heuristics.profile import Profile
from koordopt.solvers.heuristics.scores import opportunity as module
from koordopt.solvers.heuristics.scores.opportunity import FREE, OpportunityScore
from tests.builders import (
    GIB,
    class_index,
    make_device,
    make_node,
    make_pod,
    make_problem,
    pod_index,
)
from tests.strategies import problems

ALONE = Profile(weights={"OpportunityCost": 1})


def plugin_of(pipeline):
    """Return the plug-in of a pipeline, None where it has none."""
    found = [s for s, _ in pipeline.plugins.local_scores if isinstance(s, OpportunityScore)]
    return found[0] if found else None


def pod(name, **requests):
    asked = {"cpu": "1", **{f"koordinator.sh/{k}": str(v) for k, v in requests.items()}}
    return make_pod(name, requests=asked)


def several(cards, count, cpu="1"):
    asked = {"nvidia.com/gpu": str(cards), "cpu": cpu}
    return [make_pod(f"g{cards}-{k:02}", requests=asked) for k in range(count)]


def cluster(*pods, plain=0):
    """Return two nodes of two cards, and ``plain`` without, that pods are to go to."""
    nodes = [make_node(name, cpu="8") for name in "ab"]
    nodes += [make_node(f"plain{k}", cpu="8") for k in range(plain)]
    return make_problem(nodes, pods, devices=[make_device(name, GIB, GIB) for name in "ab"])


def test_scores_are_the_costs_below_a_fixed_origin():
    """Of two nodes of two cards, by the same formula on arrays written down by hand."""
    problem = cluster(*several(2, 1), *several(1, 3, "2"), pod("p", gpu=50), plain=1)
    mix = ExpectedPods(
        cpu=np.array([1000, 2000, 1000]),
        memory=np.zeros(3, dtype=np.int64),
        count=np.array([2, 1, 1]),
        share=np.array([1000, 1000, 500]),
        models=np.ones((3, 1), dtype=np.bool_),
        weight=np.array([1, 3, 1]),
    )
    ahead = outlook(mix, 2)
    half = NodeCards(
        np.array([8000, 7000]),
        np.array([8 * GIB, 8 * GIB]),
        np.array([[1000, 1000], [500, 1000]]),
        np.zeros(2, dtype=np.int64),
    )
    pipeline = Pipeline(problem, ALONE)
    whole = replace(half, cpu=np.array([8000, 8000]), cards=np.full((2, 2), 1000))
    prices = scarcity(whole, ahead)
    pipeline.place(pod_index(problem, "p"), 1)
    bound = plugin_of(pipeline).bind(class_index(problem, "p"))
    cost, _ = opportunity_cost(half, CardRequest(1000, 0, 1, 500), ahead, prices)
    assert cost[0] > cost[1]
    assert bound.many(None).tolist() == [*(FREE - cost).tolist(), FREE]


@given(problems(most_nodes=5), st.integers(0, 4))
@settings(max_examples=100)
def test_one_node_scores_as_it_does_among_many(problem, placed):
    pipeline = Pipeline(problem)
    class_of = problem.snapshot.pods.class_of
    for p in problem.pending[:placed].tolist():
        if (n := pipeline.best_node(int(class_of[p]))) >= 0:
            pipeline.place(p, n)
    for score, _ in pipeline.plugins.local_scores:
        for c in np.unique(class_of[problem.pending]).tolist():
            bound = score.bind(c)
            if bound is None:
                continue
            nodes = np.flatnonzero(pipeline.feasible(c))
            values = bound.many(nodes)
            assert values.tolist() == [bound.one(n) for n in nodes.tolist()]
            assert values.tolist() == bound.many(None)[nodes].tolist()
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(module, "ROWS_AT_ONCE", 1)
                assert values.tolist() == bound.many(nodes).tolist()
            assert ((values >= 0) & (values <= score.best)).all()


def test_the_card_that_costs_least_is_taken():
    """A card for 60 and 40: one of 40 free completes it, and so does the second of a whole one."""
    pods = [pod(f"w{k}", gpu=60) for k in range(6)] + [pod(f"v{k}", gpu=40) for k in range(6)]
    problem = cluster(*pods)
    pipeline = Pipeline(problem, ALONE)
    pipeline.place(pod_index(problem, "w0"), 0)
    (taken,) = pipeline.plugins.choose_cards(class_index(problem, "v0"), 0)
    assert pipeline.state.card_slot[taken.card] == 0
    pipeline.place(pod_index(problem, "v0"), 0)
    (taken,) = pipeline.plugins.choose_cards(class_index(problem, "v0"), 0)
    assert pipeline.state.card_slot[taken.card] == 1


def test_prices_are_looked_at_every_few_placements_and_come_back_with_an_undo(monkeypatch):
    monkeypatch.setattr(module, "PLACEMENTS_PER_PRICE", 2)
    problem = cluster(*several(2, 2), *several(1, 4))
    pipeline = Pipeline(problem, ALONE)
    c = class_index(problem, "g1-00")
    epoch = plugin_of(pipeline).bind(c).epoch
    epochs, rows = [epoch()], []
    pods = [pod_index(problem, f"g1-0{k}") for k in range(3)]
    for p, n in zip(pods, (0, 1, 0), strict=True):
        pipeline.best_node(c)
        rows.append(pipeline._rows[c].row.tolist())
        pipeline.place(p, n)
        epochs.append(epoch())
    assert epochs[0] == epochs[1] != epochs[2] == epochs[3]
    for k in (2, 1, 0):
        pipeline.undo()
        assert epoch() == epochs[k]
        pipeline.best_node(c)
        assert pipeline._rows[c].row.tolist() == rows[k]


def test_prices_met_again_after_an_undo_are_new_ones(monkeypatch):
    """Rows that slept through the undo must not take other prices for those they know."""
    monkeypatch.setattr(module, "PLACEMENTS_PER_PRICE", 2)
    problem = cluster(*several(2, 2), *several(1, 4))
    pipeline = Pipeline(problem, ALONE)
    epoch = plugin_of(pipeline).bind(class_index(problem, "g1-00")).epoch
    pods = [pod_index(problem, f"g1-0{k}") for k in range(2)]
    known = set()
    for nodes in ((0, 1), (0, 0)):
        for p, n in zip(pods, nodes, strict=True):
            pipeline.place(p, n)
        assert epoch() not in known
        known.add(epoch())
        pipeline.undo()
        pipeline.undo()


@pytest.mark.parametrize("name", ["NodeResourcesFit", "NodeResourcesBalancedAllocation"])
def test_scores_of_resources_are_silent_about_cards(name):
    """About pods that ask for them, and about nodes that have them."""
    problem = cluster(*several(1, 2), make_pod("p", requests={"cpu": "1"}), plain=1)
    pipeline = Pipeline(problem, Profile(weights={name: 1, "OpportunityCost": 1}))
    (resources, _), _ = pipeline.plugins.local_scores
    assert resources.bind(class_index(problem, "g1-00")) is None
    found = resources.bind(class_index(problem, "p")).many(None)
    assert found[:2].tolist() == [0, 0]
    assert found[2] > 0


def test_a_service_leaves_processors_to_cards_that_need_them():
    """A pod without cards takes the fuller of the nodes without, rather than an empty one with."""
    old = make_pod("old", node="plain0", requests={"cpu": "7"})
    problem = cluster(*several(1, 4, "4"), make_pod("p", requests={"cpu": "1"}), old, plain=1)
    for weights, best in (({}, "a"), ({"OpportunityCost": 10}, "plain0")):
        pipeline = Pipeline(problem, Profile(weights={"NodeResourcesFit": 1, **weights}))
        n = pipeline.best_node(class_index(problem, "p"))
        assert problem.snapshot.nodes.names[n] == best


def test_services_go_to_nodes_without_cards_and_spread_there():
    pods = [make_pod(f"p{k}", requests={"cpu": "1"}) for k in range(4)]
    problem = cluster(*several(1, 4, "4"), *pods, plain=2)
    pipeline = Pipeline(problem)
    found = []
    for k in range(4):
        found.append(pipeline.best_node(class_index(problem, "p0")))
        pipeline.place(pod_index(problem, f"p{k}"), found[-1])
    names = problem.snapshot.nodes.names
    assert [names[n] for n in found] == ["plain0", "plain1", "plain0", "plain1"]


def test_without_cards_or_requests_for_them_all_is_as_without_the_plugin():
    plain = [make_pod("p", requests={"cpu": "1"})]
    no_cards = make_problem([make_node("a")], [*plain, *several(1, 1)])
    assert plugin_of(Pipeline(no_cards)) is None
    unasked = Pipeline(cluster(*plain))
    assert plugin_of(unasked).bind(0) is None
    bound = unasked.plugins.local_scores[0][0].bind(0)
    assert bound.many(None).tolist() == [92, 92]
