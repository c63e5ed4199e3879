"""Fragmentation against a scalar reading of its definition, on small random nodes."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from koordopt.errors import InvalidInputError
from koordopt.solvers.heuristics import fragmentation as module
from koordopt.solvers.heuristics.fragmentation import (
    CardRequest,
    ExpectedPods,
    NodeCards,
    fits,
    fragmentation,
    fragmentation_score,
    most_frequent,
    place,
    placement_delta,
)

MODELS = 2
SHARES = (0, 200, 470, 500, 810, 1000)


def integers(values: list[int]) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def node(cpu: int, memory: int, cards: list[int], model: int = 0) -> NodeCards:
    return NodeCards(
        integers([cpu]), integers([memory]), integers([cards]).reshape(1, -1), integers([model])
    )


def expected(*classes: tuple[int, int, int, int, int]) -> ExpectedPods:
    """Build classes of (cpu, memory, count, share, weight) that any model serves."""
    cpu, memory, count, share, weight = integers([list(c) for c in classes]).T
    return ExpectedPods(
        cpu, memory, count, share, np.ones((len(classes), MODELS), dtype=np.bool_), weight
    )


@st.composite
def requests(draw: st.DrawFn) -> CardRequest:
    count = draw(st.integers(0, 3))
    share = {0: 0, 1: draw(st.sampled_from(SHARES[1:]))}.get(count, 1000)
    models = draw(st.none() | st.lists(st.booleans(), min_size=MODELS, max_size=MODELS))
    return CardRequest(
        cpu=draw(st.integers(0, 8)),
        memory=draw(st.integers(0, 8)),
        count=count,
        share=share,
        models=None if models is None else np.array(models),
    )


@st.composite
def clusters(draw: st.DrawFn) -> NodeCards:
    size = draw(st.integers(1, 5))
    amounts = st.lists(st.integers(0, 12), min_size=size, max_size=size)
    cards = st.lists(st.sampled_from((0, 190, 500, 530, 1000)), min_size=3, max_size=3)
    return NodeCards(
        integers(draw(amounts)),
        integers(draw(amounts)),
        integers(draw(st.lists(cards, min_size=size, max_size=size))),
        integers(draw(st.lists(st.integers(0, MODELS - 1), min_size=size, max_size=size))),
    )


@st.composite
def mixes(draw: st.DrawFn) -> ExpectedPods:
    pods = draw(st.lists(requests(), min_size=1, max_size=6))
    every = np.ones(MODELS, dtype=np.bool_)
    return ExpectedPods(
        cpu=integers([p.cpu for p in pods]),
        memory=integers([p.memory for p in pods]),
        count=integers([p.count for p in pods]),
        share=integers([p.share for p in pods]),
        models=np.array([every if p.models is None else p.models for p in pods]),
        weight=integers([draw(st.integers(1, 9)) for _ in pods]),
    )


def runs(cpu: int, memory: int, cards: list[int], model: int, pod: CardRequest) -> bool:
    if pod.cpu > cpu or pod.memory > memory:
        return False
    if not pod.count:
        return True
    if pod.models is not None and not pod.models[model]:
        return False
    return sum(free >= pod.share for free in cards) >= pod.count


def scalar_fragmentation(
    cpu: int, memory: int, cards: list[int], model: int, mix: ExpectedPods
) -> int:
    total = 0
    for t in range(mix.cpu.size):
        pod = CardRequest(
            int(mix.cpu[t]), int(mix.memory[t]), int(mix.count[t]), int(mix.share[t]), mix.models[t]
        )
        usable = 0
        if pod.count and runs(cpu, memory, cards, model, pod):
            usable = sum(free for free in cards if free >= pod.share)
        total += int(mix.weight[t]) * (sum(cards) - usable)
    return total


def state(nodes: NodeCards, row: int) -> tuple[int, int, list[int], int]:
    return (
        int(nodes.cpu[row]),
        int(nodes.memory[row]),
        nodes.cards[row].tolist(),
        int(nodes.model[row]),
    )


@given(clusters(), mixes())
def test_fragmentation_equals_its_definition(nodes: NodeCards, mix: ExpectedPods) -> None:
    wanted = [scalar_fragmentation(*state(nodes, row), mix) for row in range(nodes.cpu.size)]
    assert fragmentation(nodes, mix).tolist() == wanted


@given(clusters(), requests())
def test_a_pod_fits_where_cpu_memory_model_and_enough_cards_do(
    nodes: NodeCards, request_: CardRequest
) -> None:
    wanted = [runs(*state(nodes, row), request_) for row in range(nodes.cpu.size)]
    assert fits(nodes, request_).tolist() == wanted


@given(clusters(), requests(), mixes())
def test_delta_is_the_fragmentation_after_the_best_placement_less_before(
    nodes: NodeCards, request_: CardRequest, mix: ExpectedPods
) -> None:
    able = nodes.rows(np.flatnonzero(fits(nodes, request_)))
    delta, card = placement_delta(able, request_, mix)
    for row in range(able.cpu.size):
        cpu, memory, cards, model = state(able, row)
        before = scalar_fragmentation(cpu, memory, cards, model, mix)
        if request_.is_shared:
            choices = [k for k in range(len(cards)) if cards[k] >= request_.share]
        else:
            choices = [-1]
        afters = {}
        for choice in choices:
            left = list(cards)
            if choice >= 0:
                left[choice] -= request_.share
            else:
                for k in [k for k in range(len(left)) if left[k] == 1000][: request_.count]:
                    left[k] = 0
            afters[choice] = scalar_fragmentation(
                cpu - request_.cpu, memory - request_.memory, left, model, mix
            )
        least = min(afters.values())
        assert delta[row] == least - before
        assert card[row] == min(k for k in choices if afters[k] == least)


@given(clusters(), requests(), mixes())
def test_place_gives_the_state_that_the_delta_speaks_of(
    nodes: NodeCards, request_: CardRequest, mix: ExpectedPods
) -> None:
    able = nodes.rows(np.flatnonzero(fits(nodes, request_)))
    kept = able.cards.copy()
    delta, card = placement_delta(able, request_, mix)
    after = place(able, request_, card)
    assert (fragmentation(after, mix) - fragmentation(able, mix)).tolist() == delta.tolist()
    assert (kept.sum(axis=1) - after.cards.sum(axis=1)).tolist() == (
        [request_.count * request_.share] * able.cpu.size
    )
    assert np.array_equal(able.cards, kept)


def test_a_shared_pod_takes_the_card_that_no_expected_pod_could_use() -> None:
    mix = expected((1, 1, 1, 500, 1))
    _, card = placement_delta(node(8, 8, [1000, 300]), CardRequest(1, 1, 1, 300), mix)
    assert card.tolist() == [1]


def test_idle_cards_are_lost_to_expected_pods_without_cpu_for_them() -> None:
    mix = expected((4, 0, 1, 500, 3), (1, 0, 1, 500, 1))
    assert fragmentation(node(2, 8, [1000, 400]), mix).tolist() == [3 * 1400 + 400]


@pytest.mark.parametrize("total_weight", [1, 7, 8152])
def test_score_is_the_floor_of_the_sigmoid(total_weight: int) -> None:
    delta = np.random.default_rng(5).integers(-9000, 9000, 2000) * total_weight
    wanted = [math.floor(100 / (1 + math.exp(int(d) / (1000 * total_weight)))) for d in delta]
    assert fragmentation_score(delta, total_weight).tolist() == wanted


def test_no_change_scores_the_middle() -> None:
    assert fragmentation_score(integers([1, 0, -1]), 10).tolist() == [49, 50, 50]


def test_most_frequent_takes_the_heaviest_classes_until_they_cover_enough() -> None:
    mix = expected((1, 1, 1, 500, 60), (2, 1, 1, 500, 5), (3, 1, 1, 500, 35))
    assert most_frequent(mix, 95).weight.tolist() == [60, 35]
    assert most_frequent(mix, 96).weight.tolist() == [60, 35, 5]


def test_most_frequent_without_memory_joins_classes_that_differ_in_it_alone() -> None:
    mix = expected((1, 1, 1, 500, 2), (1, 2, 1, 500, 3), (2, 2, 1, 500, 4))
    joined = most_frequent(mix, 100, with_memory=False)
    assert joined.weight.tolist() == [5, 4]
    assert joined.memory.tolist() == [0, 0]


@pytest.mark.parametrize(("count", "share"), [(0, 500), (1, 0), (1, 1001), (2, 500)])
def test_a_request_for_part_of_several_cards_or_of_none_is_refused(count: int, share: int) -> None:
    with pytest.raises(InvalidInputError, match=f"share {share} of {count} cards"):
        CardRequest(1, 1, count, share)


def test_expected_pods_need_a_class_with_a_weight() -> None:
    with pytest.raises(InvalidInputError, match="no weight below 1"):
        expected((1, 1, 1, 500, 0))


def test_chunks_give_what_single_nodes_give() -> None:
    random = np.random.default_rng(3)
    size = 1500
    nodes = NodeCards(
        random.integers(1, 12, size),
        random.integers(1, 12, size),
        np.hstack([random.choice([0, 300, 1000], (size, 2)), np.full((size, 1), 1000)]),
        random.integers(0, MODELS, size),
    )
    mix = expected((4, 2, 1, 470, 3), (1, 9, 2, 1000, 1))
    request_ = CardRequest(1, 1, 1, 300)
    delta, card = placement_delta(nodes, request_, mix)
    for row in (0, 1023, 1024, 1499):
        alone = placement_delta(nodes.rows(integers([row])), request_, mix)
        assert (delta[row], card[row]) == (alone[0][0], alone[1][0])


def test_weights_are_the_same_without_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """As for mixes of so many distinct requests that the table would be too large."""
    random = np.random.default_rng(5)
    count = random.integers(0, 3, 30)
    share = np.where(count == 1, random.integers(1, 11, 30) * 100, 1000) * (count > 0)
    numbers = [random.integers(0, 9, 30) for _ in range(2)]
    models = random.integers(0, 2, (30, 2)).astype(np.bool_)
    nodes = [random.integers(0, 10, 50), random.integers(0, 10, 50), random.integers(0, 2, 50)]
    weight = random.integers(1, 9, 30)
    found = []
    for cells in (module._MOST_CELLS, 0):
        monkeypatch.setattr(module, "_MOST_CELLS", cells)
        pods = ExpectedPods(numbers[0], numbers[1], count, share, models, weight)
        found.append(pods.weight_that_fits(*nodes).tolist())
    assert found[0] == found[1]
