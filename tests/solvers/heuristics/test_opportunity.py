"""What placements cost the pods expected next: each term, and the prices of what is scarce."""

import numpy as np
import pytest
from scipy.stats import norm

from koordopt.errors import InvalidInputError
from koordopt.solvers.heuristics import opportunity
from koordopt.solvers.heuristics.fragmentation import CardRequest, ExpectedPods, NodeCards
from koordopt.solvers.heuristics.opportunity import (
    Outlook,
    Scarcity,
    card_values,
    opportunity_cost,
    outlook,
    scarcity,
)

MOST_CARDS = 8


def mix(
    *classes: tuple[int, int, int, int], models: list[list[bool]] | None = None
) -> ExpectedPods:
    """Build classes of (cpu, count, share, weight) without memory, on two models."""
    cpu, count, share, weight = np.array(classes, dtype=np.int64).T
    allowed = np.ones((len(classes), 2), dtype=np.bool_) if models is None else np.array(models)
    return ExpectedPods(cpu, np.zeros_like(cpu), count, share, allowed, weight)


def nodes(*rows: tuple[int, list[int], int]) -> NodeCards:
    """Build nodes of (cpu, cards, model) with memory to spare."""
    return NodeCards(
        np.array([row[0] for row in rows], dtype=np.int64),
        np.full(len(rows), 10**6, dtype=np.int64),
        np.array([row[1] for row in rows], dtype=np.int64),
        np.array([row[2] for row in rows], dtype=np.int64),
    )


def cost(state: NodeCards, request: CardRequest, ahead: Outlook) -> np.ndarray:
    return opportunity_cost(state, request, ahead, Scarcity.none(ahead))[0]


def test_a_card_is_worth_the_best_pattern_that_fits() -> None:
    # Cards for pods of 600 are the margin (600 each); two of 470 must share one to be as good.
    value = card_values(mix((1, 1, 600, 60), (1, 1, 470, 40)))
    assert value[[0, 469, 470, 599, 600, 939, 940, 1000]].tolist() == [
        0,
        0,
        300,
        300,
        600,
        600,
        600,
        600,
    ]


def test_card_value_never_falls_with_more_free_nor_exceeds_it() -> None:
    random = np.random.default_rng(11)
    shares = [50, 230, 320, 470, 590, 650, 810, 1000]
    for _ in range(5):
        value = card_values(
            mix(
                *[
                    (1, 1, share, int(w))
                    for share, w in zip(shares, random.integers(1, 99, 8), strict=True)
                ]
            )
        )
        assert (np.diff(value) >= 0).all()
        assert (value <= np.arange(1001)).all()


def test_a_share_completes_a_pattern_rather_than_open_a_card() -> None:
    ahead = outlook(mix((1, 1, 600, 60), (1, 1, 470, 40)), MOST_CARDS)
    state = nodes((8, [1000, 0], 0), (8, [530, 0], 0))
    costs = cost(state, CardRequest(1, 0, 1, 470), ahead)
    assert costs[1] < costs[0]


def test_a_share_takes_the_card_of_its_pattern_within_a_node() -> None:
    ahead = outlook(mix((1, 1, 600, 60), (1, 1, 470, 40)), MOST_CARDS)
    _, card = opportunity_cost(
        nodes((8, [400, 1000, 530], 0)), CardRequest(1, 0, 1, 470), ahead, Scarcity.none(ahead)
    )
    assert card.tolist() == [2]


def test_stranding_is_the_newsvendor_loss() -> None:
    pods = mix((4000, 1, 500, 3), (20000, 1, 1000, 2), (3000, 1, 250, 5))
    ahead = outlook(pods, MOST_CARDS)
    asked = pods.count * pods.share
    ratio = (pods.weight @ pods.cpu) / (pods.weight @ asked)
    variance = (pods.weight @ (pods.cpu - ratio * asked) ** 2) / (pods.weight @ asked)
    idle = np.array([250, 1000, 4000, 8000, 8000, 8000])
    cpu = np.array([3000, 0, 50_000, 100_000, 130_000, 400_000])
    spread = np.sqrt(variance * idle)
    z = (cpu - ratio * idle) / spread
    loss = np.minimum(spread * (norm.pdf(z) - z * norm.sf(z)) / ratio, idle)
    assert opportunity._stranded(idle, cpu, ahead) == pytest.approx(loss, abs=4)


def test_a_pod_rich_in_cpu_goes_where_cpu_abounds() -> None:
    ahead = outlook(mix((12_000, 1, 1000, 3), (3_000, 1, 1000, 1)), MOST_CARDS)
    state = nodes((40_000, [1000] * 4, 0), (90_000, [1000] * 4, 0))
    rich = cost(state, CardRequest(30_000, 0, 1, 1000), ahead)
    poor = cost(state, CardRequest(1_000, 0, 1, 1000), ahead)
    assert rich[1] < rich[0]
    assert rich[0] - rich[1] > poor[0] - poor[1]


def test_pods_that_may_go_anywhere_leave_the_scarce_model_to_those_that_need_it() -> None:
    ahead = outlook(
        mix((1, 1, 1000, 5), (1, 1, 1000, 5), models=[[True, False], [True, True]]), MOST_CARDS
    )
    state = nodes((99, [1000], 0), (99, [1000], 1), (99, [1000], 1), (99, [1000], 1))
    prices = scarcity(state, ahead)
    assert prices.model.tolist() == [opportunity.PRICE_SCALE, 0]
    costs, _ = opportunity_cost(state, CardRequest(1, 0, 1, 1000), ahead, prices)
    assert costs[0] > costs[1:].max()


def test_models_have_no_price_while_every_pod_may_go_anywhere() -> None:
    ahead = outlook(mix((1, 1, 1000, 5), (1, 1, 500, 5)), MOST_CARDS)
    assert not scarcity(nodes((9, [1000], 0), (9, [300], 1)), ahead).model.any()


def test_the_last_place_for_many_cards_is_kept_and_plenty_is_free() -> None:
    ahead = outlook(mix((1, 1, 500, 8), (1, 4, 1000, 4)), MOST_CARDS)
    empty, used = (99, [1000] * 4, 0), (99, [1000, 1000, 1000, 0], 0)
    scarce = nodes(empty, *[used] * 9)
    prices = scarcity(scarce, ahead)
    assert prices.slot.tolist() == [opportunity.PRICE_SCALE]
    costs, _ = opportunity_cost(scarce, CardRequest(1, 0, 1, 500), ahead, prices)
    assert (costs[0] - costs[1:] > 4000 // opportunity.STEP // 2).all()
    few = outlook(mix((1, 1, 500, 10_000), (1, 4, 1000, 1)), MOST_CARDS)
    assert not scarcity(nodes(*[empty] * 50), few).slot.any()


def test_a_full_cluster_has_prices_too() -> None:
    ahead = outlook(mix((1, 1, 500, 8), (1, 4, 1000, 4)), MOST_CARDS)
    assert scarcity(nodes((0, [0, 0, 0, 0], 0)), ahead).same_as(Scarcity.none(ahead))


def test_the_cost_of_a_node_depends_on_that_node_alone() -> None:
    random = np.random.default_rng(2)
    size = 60
    state = NodeCards(
        random.integers(5_000, 90_000, size),
        random.integers(1, 10**6, size),
        random.choice([0, 190, 530, 1000], (size, MOST_CARDS)) | 0,
        random.integers(0, 2, size),
    )
    state.cards[:, 0] = 1000
    ahead = outlook(
        mix((3_000, 1, 810, 9), (9_000, 1, 470, 5), (12_000, 1, 1000, 5), (60_000, 8, 1000, 1)),
        MOST_CARDS,
    )
    prices = scarcity(state, ahead)
    for request in (
        CardRequest(4_000, 1, 1, 470),
        CardRequest(5_000, 1, 1, 1000),
        CardRequest(900, 1, 0, 0),
    ):
        costs, cards = opportunity_cost(state, request, ahead, prices)
        for row in range(0, size, 7):
            alone = opportunity_cost(state.rows(np.array([row])), request, ahead, prices)
            assert (costs[row], cards[row]) == (alone[0][0], alone[1][0])


def test_a_mix_without_cards_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="no class that asks for cards"):
        outlook(mix((1, 0, 0, 5)), MOST_CARDS)


def test_a_price_lp_without_an_optimum_gives_no_prices():
    """Infeasible limits stand for whatever may go wrong inside the solver."""
    prices = opportunity._maximise(
        np.ones(1), np.array([[1.0], [-1.0]]), np.array([1.0, -2.0]), None
    )
    assert prices.tolist() == [0.0, 0.0]
