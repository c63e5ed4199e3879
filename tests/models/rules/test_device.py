"""Cards: what the checker finds in plans that hand them out wrongly."""

import pytest

from koordopt.models.result import Placement
from koordopt.models.rules.device import CardShare
from koordopt.models.verify import verify
from tests.builders import GIB, make_device, make_node, make_pod, make_problem, pod_index

HALF = {"koordinator.sh/gpu": "50"}
HALF_SHARE = (500, 500, GIB)


def faults(asked, node, **cards):
    """Return what the checker says about pods on a node, by the cards (and shares) of each."""
    problem = make_problem(
        [make_node("a"), make_node("b")],
        [make_pod(name, requests=asked) for name in cards],
        devices=[make_device("a", 2 * GIB, 2 * GIB, unhealthy=[1]), make_device("b", 2 * GIB)],
    )
    pods = [pod_index(problem, name) for name in cards]
    held = dict(
        zip(
            pods, (tuple(CardShare(*share) for share in own) for own in cards.values()), strict=True
        )
    )
    placement = Placement.of(pods, [problem.snapshot.nodes.index[node]] * len(pods), cards=held)
    return [(fault.rule, fault.object, fault.found) for fault in verify(problem, placement)]


def test_two_halves_of_a_card_are_a_card():
    assert faults(HALF, "a", p=[(0, *HALF_SHARE)], q=[(0, *HALF_SHARE)]) == []


def test_three_halves_are_not():
    found = faults(HALF, "a", p=[(0, *HALF_SHARE)], q=[(0, *HALF_SHARE)], r=[(0, *HALF_SHARE)])
    amounts = f"core 1500, share 1500 thousandths, memory {3 * GIB} bytes"
    assert found == [("device", "a/gpu-0", amounts)]


def test_a_broken_card_has_nothing_to_give():
    """Its memory is not known either, so that the share holds no bytes."""
    found = faults(HALF, "a", p=[(1, 500, 500, 0)])
    assert found == [("device", "a/gpu-1", "core 500, share 500 thousandths, memory 0 bytes")]


@pytest.mark.parametrize(
    ("held", "found"),
    [
        ([], "0 cards"),
        ([(0, *HALF_SHARE)] * 2, "2 cards"),
        ([(2, *HALF_SHARE)], "b/gpu-0 of another node"),
        ([(0, 500, 400, GIB)], f"500/400/{GIB} of a/gpu-0"),
    ],
)
def test_a_pod_holds_what_it_asked_for(held, found):
    assert faults(HALF, "a", p=held) == [("device", "default/p", found)]


def test_cards_without_asking_are_found():
    found = faults({"cpu": "1"}, "a", p=[(0, *HALF_SHARE)])
    assert found == [("device", "default/p", "cards without asking")]


@pytest.mark.parametrize("node", ["a", "c"])
def test_a_request_that_means_nothing_is_a_fault_anywhere(node):
    """On a node with known cards, and on one without."""
    problem = make_problem(
        [make_node("a"), make_node("c", **{"koordinator.sh/gpu-core": "100"})],
        [make_pod("p", requests={"koordinator.sh/gpu-core": "50"})],
        devices=[make_device("a", GIB)],
    )
    placement = Placement.of([0], [problem.snapshot.nodes.index[node]])
    message = "invalid resource device requests: [koordinator.sh/gpu-core]"
    assert (message, "device") in [(v.found, v.rule) for v in verify(problem, placement)]
