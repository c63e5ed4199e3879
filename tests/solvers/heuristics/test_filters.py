"""The greedy filters on single nodes, and the cards that they choose."""

import numpy as np
import pytest

from koordopt.models.verify import verify
from koordopt.solvers.heuristics.pipeline import Pipeline
from koordopt.solvers.heuristics.profile import Profile
from tests.agreement import feasible_nodes, placement_after
from tests.builders import (
    GIB,
    HOSTNAME,
    MIB,
    class_index,
    make_device,
    make_node,
    make_pod,
    make_problem,
    pod_index,
)

WHOLE_CARD = {"nvidia.com/gpu": "1"}


def no_scores():
    """Return a profile without scores: the first feasible node in order wins."""
    return Profile(weights={})


def place_all(problem, profile=None):
    """Place what fits, in order; return the minors of each pod placed, checked as a plan."""
    pipeline = Pipeline(problem, profile or no_scores())
    minors = {}
    for p in problem.pending.tolist():
        n = pipeline.best_node(int(problem.snapshot.pods.class_of[p]))
        if n < 0:
            continue
        pipeline.place(p, n)
        held = pipeline.state.cards_of.get(p, ())
        names = problem.snapshot.pods.keys[p].partition("/")[2]
        minors[names] = [int(problem.snapshot.cards.minor[share.card]) for share in held]
    if pipeline.state.placed:
        p, n = pipeline.state.placed[-1]
        cards = pipeline.state.cards_of.get(p, ())
        pipeline.undo()
        assert verify(problem, placement_after(pipeline, p, n, cards)) == []
    return minors


def one_node(*memory, unhealthy=(), pods=(), **allocatable):
    return make_problem(
        [make_node("a", cpu="64", **allocatable)],
        pods,
        devices=[make_device("a", *memory, unhealthy=unhealthy)],
    )


def held(*entries):
    """Return the annotation of a pod that holds whole cards by minor."""
    cards = ",".join(
        f'{{"minor":{minor},"resources":{{"koordinator.sh/gpu-core":"100",'
        '"koordinator.sh/gpu-memory-ratio":"100"}}'
        for minor in entries
    )
    return {"scheduling.koordinator.sh/device-allocated": f'{{"gpu":[{cards}]}}'}


def test_whole_cards_of_different_memory_are_taken_whole():
    """Each of two pods gets one of the cards, and the memory of that card with it."""
    problem = one_node(
        40 * GIB, 80 * GIB, pods=[make_pod(name, requests=WHOLE_CARD) for name in "pq"]
    )
    pipeline = Pipeline(problem, no_scores())
    for p in problem.pending.tolist():
        pipeline.place(p, pipeline.best_node(int(problem.snapshot.pods.class_of[p])))
    memory = [share.memory for held in pipeline.state.cards_of.values() for share in held]
    assert memory == [40 * GIB, 80 * GIB]


def test_a_healthy_free_card_is_reached_beside_a_broken_one_in_use():
    """The node's total says one card, and one in use; card by card there is one free."""
    running = make_pod("old", node="a", requests=WHOLE_CARD, annotations=held(0))
    allocatable = {"nvidia.com/gpu": "1"}
    single = make_pod("p", requests=WHOLE_CARD)
    double = make_pod("q", requests={"nvidia.com/gpu": "2"})
    problem = one_node(GIB, GIB, unhealthy=[0], pods=[running, single, double], **allocatable)
    assert feasible_nodes(problem, "p") == {"a"}
    assert feasible_nodes(problem, "q") == set()
    assert place_all(problem) == {"p": [1]}


def test_memory_is_counted_in_bytes_not_in_hundredths():
    """A card of 46068 MiB serves 23 pods of 2000 MiB; each is 4 % of it, rounded down."""
    asked = {"koordinator.sh/gpu-memory": "2000Mi"}
    pods = [make_pod(f"p{k:02}", requests=asked) for k in range(24)]
    problem = one_node(46068 * MIB, pods=pods)
    assert len(place_all(problem)) == 23
    assert len(place_all(problem, Profile())) == 23


def test_shares_above_half_go_one_to_a_card():
    asked = {"koordinator.sh/gpu": "60"}
    pods = [make_pod(f"p{k:02}", requests=asked) for k in range(16)]
    minors = place_all(one_node(*[GIB] * 8, pods=pods))
    assert sorted(minors.values()) == [[k] for k in range(8)]


def test_compute_refuses_where_memory_would_do():
    """Two pods of 60 % compute and 10 % memory do not share a card."""
    asked = {"koordinator.sh/gpu-core": "60", "koordinator.sh/gpu-memory-ratio": "10"}
    pods = [make_pod(name, requests=asked) for name in "pq"]
    assert len(place_all(one_node(GIB, pods=pods))) == 1


def test_a_shared_pod_gets_the_fullest_card_that_still_fits():
    def pod(name, share):
        return make_pod(name, requests={"koordinator.sh/gpu": str(share)})

    pods = [pod("p0", 60), pod("p1", 50), pod("p2", 30), pod("p3", 30)]
    minors = place_all(one_node(*[GIB] * 3, pods=pods))
    assert minors == {"p0": [0], "p1": [1], "p2": [0], "p3": [1]}


def test_whole_cards_come_from_the_lowest_minors():
    asked = {"nvidia.com/gpu": "2"}
    running = make_pod("old", node="a", requests=WHOLE_CARD, annotations=held(1))
    problem = one_node(*[GIB] * 4, pods=[running, make_pod("p", requests=asked)])
    assert place_all(problem) == {"p": [0, 2]}


def test_a_pod_may_share_several_cards_but_never_one_twice():
    """Two cards at half each: a card with room for both halves is still one card."""
    asked = {"koordinator.sh/gpu.shared": "2", "koordinator.sh/gpu-memory-ratio": "100"}
    pods = [make_pod("p", requests=asked)]
    assert place_all(one_node(GIB, pods=pods)) == {}
    assert place_all(one_node(GIB, GIB, pods=pods)) == {"p": [0, 1]}


def test_a_node_without_known_cards_passes_by_its_totals():
    """Its kubelet chooses the card; what counts is the allocatable amount."""
    nodes = [make_node("a", **{"nvidia.com/gpu": "1"}), make_node("b")]
    pods = [make_pod("p", requests=WHOLE_CARD)]
    problem = make_problem(nodes, pods)
    assert feasible_nodes(problem, "p") == {"a"}
    assert place_all(problem) == {"p": []}


def test_nodes_with_and_without_known_cards_stand_side_by_side():
    nodes = [make_node("a"), make_node("b"), make_node("c", **{"nvidia.com/gpu": "1"})]
    devices = [make_device("a", GIB), make_device("b")]
    problem = make_problem(nodes, [make_pod("p", requests=WHOLE_CARD)], devices=devices)
    assert feasible_nodes(problem, "p") == {"a", "c"}


def test_a_request_that_means_nothing_is_refused_everywhere():
    nodes = [make_node("a", **{"koordinator.sh/gpu-core": "100"}), make_node("b")]
    pod = make_pod("p", requests={"koordinator.sh/gpu-core": "50"})
    assert feasible_nodes(make_problem(nodes, [pod]), "p") == set()
    problem = make_problem(nodes, [pod], devices=[make_device("b", GIB)])
    assert feasible_nodes(problem, "p") == set()


def test_memory_of_a_card_decides_which_card_serves():
    """Bytes that the small card lacks are found on the large one."""
    pods = [make_pod("p", requests={"koordinator.sh/gpu-memory": "6Gi"})]
    assert place_all(one_node(4 * GIB, 8 * GIB, pods=pods)) == {"p": [1]}


def test_constant_global_filters_stay_out_of_the_way():
    """A class without constraints has no mask, so its row never needs a look at the cluster."""
    problem = make_problem([make_node("a")], [make_pod("p")])
    pipeline = Pipeline(problem)
    c = class_index(problem, "p")
    assert [f.mask(c) for f in pipeline.plugins.global_filters] == [None, None]
    everywhere = np.ones(1, dtype=np.bool_)
    assert [s.scores(c, everywhere) for s, _ in pipeline.plugins.global_scores] == [None] * 4
    assert pipeline.plugins.local_filters[0].bind(c) is None
    assert pipeline.plugins.choose_cards is None


@pytest.mark.parametrize("count", [1, 2])
def test_cards_come_back_with_undo(count):
    pods = [make_pod("p", requests={"nvidia.com/gpu": str(count)})]
    problem = one_node(GIB, GIB, pods=pods)
    pipeline = Pipeline(problem)
    before = pipeline.state.card_free.copy()
    pipeline.place(pod_index(problem, "p"), 0)
    assert (pipeline.state.card_free[:2] == 0).sum() == 2 * count
    pipeline.undo()
    assert (pipeline.state.card_free == before).all()


def test_a_rolling_update_spreads_the_new_pods_alone():
    """Old 2/2/1, five new ones under their revision as a key: 2/2/1 again, in some order."""
    constraint = {
        "topologyKey": HOSTNAME,
        "maxSkew": 1,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
        "matchLabelKeys": ["rev"],
    }
    olds = [
        make_pod(f"old{k}", node=node, labels={"app": "web", "rev": "1"})
        for k, node in enumerate("aabbc")
    ]
    news = [
        make_pod(
            f"new{k}",
            labels={"app": "web", "rev": "2"},
            topologySpreadConstraints=[constraint],
        )
        for k in range(5)
    ]
    problem = make_problem([make_node(name) for name in "abc"], [*olds, *news])
    pipeline = Pipeline(problem, no_scores())
    for p in problem.pending.tolist():
        pipeline.place(p, pipeline.best_node(int(problem.snapshot.pods.class_of[p])))
    found = np.bincount([n for _, n in pipeline.state.placed], minlength=3)
    assert sorted(found.tolist()) == [1, 2, 2]
