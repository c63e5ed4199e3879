"""The openb league on small made-up traces, and on the real one where it is in place."""

import numpy as np
import pytest

from benchmarks.quality.openb import run
from benchmarks.quality.openb_bound import allocation_bound
from benchmarks.quality.openb_online import Cluster, Policy, _ScoreRow, run_online
from benchmarks.quality.openb_policies import BASELINES, FirstOfBest, best_fit, packing
from benchmarks.quality.openb_product import online_problem, place_online
from benchmarks.quality.openb_trace import POINTS, Trace, arrivals
from datasets.fetch import destination
from koordopt.models.verify import verify
from koordopt.solvers.heuristics.fragmentation import CardRequest, Ints, NodeCards
from koordopt.solvers.heuristics.greedy import Greedy
from koordopt.solvers.heuristics.units import single

POLICIES = ["ours", *BASELINES]


def small_trace(seed: int = 0) -> Trace:
    """Build 12 nodes of two models, and a mix of shared, whole, several and no cards."""
    random = np.random.default_rng(seed)
    cards = np.where(np.arange(4) < np.array([2, 4] * 6)[:, None], 1000, 0)
    nodes = NodeCards(
        cpu=np.array([24_000, 32_000] * 6),
        memory=np.full(12, 100),
        cards=cards,
        model=np.array([0, 1] * 6),
    )
    requests = (
        CardRequest(2_000, 3, 0, 0),
        CardRequest(4_000, 5, 1, 470),
        CardRequest(3_000, 5, 1, 810),
        CardRequest(9_000, 9, 1, 1000, np.array([True, False])),
        CardRequest(20_000, 9, 2, 1000),
    )
    return Trace("small", nodes, ("a", "b"), requests, random.integers(0, len(requests), 40))


def policy(name: str, trace: Trace) -> FirstOfBest:
    return BASELINES[name](trace, 7)


def run_league(name: str, trace: Trace, order: Ints) -> Ints:
    if name == "ours":
        return place_online(trace, order, online_problem(trace, order, np.arange(12)))
    return run_online(trace, order, np.arange(12), policy(name, trace))


def test_arrivals_ask_for_the_load_and_no_more_than_one_pod_beyond() -> None:
    trace = small_trace()
    order = arrivals(trace, 3)
    asked = trace.asked[order].cumsum()
    assert asked[-1] >= trace.capacity * POINTS[-1] / 100 > asked[-2]
    assert np.array_equal(order, arrivals(trace, 3))


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_no_policy_passes_the_bound(name: str, seed: int) -> None:
    trace = small_trace(seed)
    placed = run_league(name, trace, arrivals(trace, seed))
    at_full = POINTS.index(100)
    assert 0 < placed[at_full] <= allocation_bound(trace, arrivals(trace, seed, 100)) + 1e-3
    assert (np.diff(placed) >= 0).all()


@pytest.mark.parametrize("name", BASELINES)
def test_no_policy_overfills_a_node(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    placed = Cluster.place

    def checked(self: Cluster, node: int, request: CardRequest, card: int) -> None:
        before = self.nodes.cards[node].sum()
        placed(self, node, request, card)
        assert self.nodes.cpu[node] >= 0
        assert self.nodes.memory[node] >= 0
        assert self.nodes.cards[node].min() >= 0
        assert before - self.nodes.cards[node].sum() == request.count * request.share

    monkeypatch.setattr(Cluster, "place", checked)
    trace = small_trace()
    run_online(trace, arrivals(trace, 5), np.arange(12), policy(name, trace))


@pytest.mark.parametrize("name", [name for name in BASELINES if name != "Random"])
def test_scores_repaired_node_by_node_decide_as_scores_made_anew(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = small_trace()
    order = arrivals(trace, 4)
    repaired = run_online(trace, order, np.arange(12), policy(name, trace))
    kept = _ScoreRow.repair

    def repair_all(row: _ScoreRow, cluster: Cluster, policy: Policy) -> None:
        row._seen = None
        kept(row, cluster, policy)

    monkeypatch.setattr(_ScoreRow, "repair", repair_all)
    anew = run_online(trace, order, np.arange(12), policy(name, trace))
    assert anew.tolist() == repaired.tolist()


def test_the_cluster_that_koordopt_sees_is_that_of_the_trace() -> None:
    """Nodes in the league's order with their cards and models, and pods in order of arrival."""
    trace = small_trace()
    order, node_order = arrivals(trace, 5), np.random.default_rng(1).permutation(12)
    problem = online_problem(trace, order, node_order)
    snapshot, nodes = problem.snapshot, trace.nodes.rows(node_order)
    axis = snapshot.resource_index
    assert problem.capacity[:, axis["cpu"]].tolist() == nodes.cpu.tolist()
    assert problem.capacity[:, axis["memory"]].tolist() == (nodes.memory << 20).tolist()
    cards = np.bincount(snapshot.cards.node, minlength=12)
    assert cards.tolist() == (nodes.cards > 0).sum(axis=1).tolist()
    for p, number in zip(problem.pending.tolist(), order.tolist(), strict=True):
        request, c = trace.requests[number], int(snapshot.pods.class_of[p])
        cls = snapshot.classes[c]
        found = 0 if cls.cards is None else cls.cards.count * (cls.cards.share or 0)
        assert (cls.request["cpu"], found) == (request.cpu, request.count * request.share)
        models = np.ones(2, dtype=np.bool_) if request.models is None else request.models
        assert problem.masks.eligible(c).tolist() == models[nodes.model].tolist()


def test_what_koordopt_places_is_a_valid_plan() -> None:
    trace = small_trace()
    order = arrivals(trace, 5)
    problem = online_problem(trace, order, np.arange(12))
    greedy = Greedy(problem)
    for p in problem.pending.tolist():
        greedy.place_unit(single(problem, p))
    assert verify(problem, greedy.placement()) == []
    asked = trace.asked[order][greedy.placement().pod].sum()
    assert place_online(trace, order, problem)[-1] == asked


def test_the_bound_counts_cards_cut_by_patterns() -> None:
    nodes = NodeCards(np.array([99]), np.array([99]), np.array([[1000, 1000]]), np.array([0]))
    trace = Trace("cut", nodes, ("a",), (CardRequest(1, 1, 1, 600),), np.zeros(3, dtype=np.int64))
    assert allocation_bound(trace, np.zeros(3, dtype=np.int64)) == pytest.approx(1200)


def test_the_bound_counts_cpu() -> None:
    nodes = NodeCards(np.array([3_000]), np.array([99]), np.array([[1000, 1000]]), np.array([0]))
    trace = Trace(
        "cpu", nodes, ("a",), (CardRequest(2_000, 1, 1, 1000),), np.zeros(2, dtype=np.int64)
    )
    assert allocation_bound(trace, np.zeros(2, dtype=np.int64)) == pytest.approx(1500)


def test_packing_prefers_cards_in_use_then_nodes_in_use() -> None:
    cluster = Cluster(
        NodeCards(
            np.full(3, 9),
            np.full(3, 9),
            np.array([[1000, 1000], [1000, 1000], [1000, 1000]]),
            np.zeros(3, dtype=np.int64),
        )
    )
    cluster.place(1, CardRequest(1, 1, 1, 1000), -1)
    cluster.place(2, CardRequest(1, 1, 1, 400), 0)
    scores, cards = packing(cluster, np.arange(3), CardRequest(1, 1, 1, 500))
    assert scores.tolist() == [31, 49, 94]
    assert cards.tolist() == [0, 1, 0]


def test_best_fit_prefers_the_node_with_least_left() -> None:
    cluster = Cluster(
        NodeCards(
            np.array([64_000, 128_000]),
            np.full(2, 9),
            np.full((2, 2), 1000),
            np.zeros(2, dtype=np.int64),
        )
    )
    scores, _ = best_fit(cluster, np.arange(2), CardRequest(0, 1, 0, 0))
    assert scores.tolist() == [62, 37]


@pytest.mark.skipif(
    not (destination("openb") / "openb_pod_list_default.csv").is_file(),
    reason="the openb data set is not in place",
)
def test_the_smoke_size_reaches_what_the_full_one_asks_for() -> None:
    rows = {row.metric: row for row in run("smoke")}
    full = rows["GPUs allocated, 100 % arrived"]
    fgd, published = full.baselines["FGD"], full.baselines["FGD, published"]
    assert fgd is not None
    assert published is not None
    assert full.bound is not None
    assert abs(fgd - published) < 0.5
    assert fgd < full.ours < full.bound
