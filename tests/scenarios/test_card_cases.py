"""GPU cards, one by one, over successive plans."""

import json

import pytest

from koordopt.models.units import parse_quantity
from tests.scenarios.kit import cluster

CORE, RATIO = "koordinator.sh/gpu-core", "koordinator.sh/gpu-memory-ratio"
MEMORY, SHARED = "koordinator.sh/gpu-memory", "koordinator.sh/gpu.shared"
GI = 1 << 30


def gpu_node(story, name, *cards, healthy=None):
    """Add a node with cards, its totals those of ``healthy`` of them."""
    memories = [card if isinstance(card, str) else card[0] for card in cards]
    usable = memories[: len(cards) if healthy is None else healthy]
    share = 100 * len(usable)
    total = sum(parse_quantity(memory).nanos for memory in usable) // 10**9
    totals = {
        CORE: share,
        RATIO: share,
        MEMORY: total,
        SHARED: share,
        "nvidia.com/gpu": len(usable),
    }
    return story.node(name, cpu="96", **totals).cards(name, *cards)


def allocation(minor, share=100):
    record = {"gpu": [{"minor": minor, "resources": {CORE: str(share), RATIO: str(share)}}]}
    return {"scheduling.koordinator.sh/device-allocated": json.dumps(record)}


@pytest.mark.parametrize("whole", [{"nvidia.com/gpu": 1}, {CORE: 100, RATIO: 100}])
def test_c27_whole_card_is_all_of_whichever_card_is_given(whole):
    """Cards of 40Gi and 80Gi: two pods get one each, and their memory is recorded."""
    story = gpu_node(cluster(), "n1", "40Gi", "80Gi").pods("p", 2, requests=whole).cycle()
    story.expect_placed("p")
    shares = [share for k in range(2) for share in story.bind_of(f"p-{k}").devices]
    assert {share.minor: share.memory for share in shares} == {0: 40 * GI, 1: 80 * GI}
    assert {name: row[2] for name, row in story.cards_used().items()} == {
        "n1/gpu-0": 40 * GI,
        "n1/gpu-1": 80 * GI,
    }


@pytest.mark.parametrize(("cards", "fits"), [(1, True), (2, False)])
def test_c28_free_is_what_healthy_cards_have_left(cards, fits):
    """Card 0 is in use and unhealthy, so the node offers one; card 1 is free and can be had."""
    whole = {CORE: 100, RATIO: 100}
    story = gpu_node(cluster(), "n1", ("40Gi", False), "40Gi", healthy=1)
    story.pod("runs", requests=whole, on="n1", annotations=allocation(0))
    story.pod("next", requests={CORE: 100 * cards, RATIO: 100 * cards}).cycle()
    if fits:
        assert [share.minor for share in story.bind_of("next").devices] == [1]
    else:
        story.expect_unplaced("next", rule="device")


def test_c28_unhealthy_card_is_never_chosen():
    """Card 0 is free and unhealthy: the first pod gets card 1, and there is none for the second."""
    story = gpu_node(cluster(), "n1", ("40Gi", False), "40Gi")
    story.pods("p", 2, requests={CORE: 100, RATIO: 100}).cycle().expect_count(1, "p")
    assert [share.minor for bind in story.plan.binds for share in bind.devices] == [1]
    story.expect_unplaced("p-1", rule="device")


def test_c29_cards_are_booked_where_the_pod_is_and_only_while_it_is():
    """A pod annotated for n1 but unbound books nothing there; it books n2 once it runs there."""
    whole = {CORE: 100, RATIO: 100}
    story = gpu_node(gpu_node(cluster(), "n1", "40Gi"), "n2", "40Gi")
    story.pod("first", requests=whole, on="n1", annotations=allocation(0))
    story.pod("moved", requests=whole, annotations=allocation(0))
    assert set(story.cards_used()) == {"n1/gpu-0"}
    story.remove("first").pod(
        "first", requests=whole, nodeSelector={"kubernetes.io/hostname": "n1"}
    )
    story.cycle().expect_on("n1", "first").expect_on("n2", "moved")
    assert set(story.cards_used()) == {"n1/gpu-0", "n2/gpu-0"}
    story.remove("first")
    assert set(story.cards_used()) == {"n2/gpu-0"}
    assert story.remove("moved").cards_used() == {}


def test_c30_memory_of_a_card_is_given_in_whole_pieces():
    """24 pods of 2000Mi on a card of 46068Mi: 23 are bound."""
    story = gpu_node(cluster(), "n1", "46068Mi").pods("p", 24, cpu="1", requests={MEMORY: "2000Mi"})
    story.cycle().expect_count(23, "p")


def test_c30_bookings_of_the_same_cycle_count():
    """16 pods of 0.6 cards on 8 cards: one a card, however much the node has in total."""
    story = gpu_node(cluster(), "n1", *["40Gi"] * 8).pods("p", 16, requests={CORE: 60, RATIO: 60})
    story.cycle().expect_count(8, "p")
    assert sorted(s.minor for bind in story.plan.binds for s in bind.devices) == list(range(8))
    story.cycle().expect_count(8, "p")


@pytest.mark.parametrize("order", [(10, 1), (1, 10)])
def test_c31_two_containers_with_a_card_each_get_two_cards(order):
    """Cards of 10Gi, containers of 10Gi and 1Gi in either order: two cards, none over-booked."""
    containers = [
        {"name": f"c{gib}", "resources": {"requests": {SHARED: 1, MEMORY: f"{gib}Gi"}}}
        for gib in order
    ]
    story = gpu_node(cluster(), "n1", "10Gi", "10Gi").pod("p", containers=containers).cycle()
    assert [share.minor for share in story.bind_of("p").devices] == [0, 1]
    assert sum(row[2] for row in story.cards_used().values()) == 11 * GI


def test_combination_of_card_resources_without_a_meaning_is_held():
    """Compute alone says nothing about memory; the reason names the resources."""
    story = gpu_node(cluster(), "n1", "40Gi").pod("p", requests={CORE: 50}).cycle()
    story.expect_unplaced("p", rule="device", about="default/p", says="invalid|gpu-core")
