"""Greedy, unit by unit: order, whole gangs, second tries, and reasons that are true."""

import pytest

from koordopt.models.problem.placement import PlacementProblem
from koordopt.solvers.heuristics.greedy import Greedy, solve
from koordopt.solvers.heuristics.units import units_of
from tests.scenarios.kit import cluster


def problem_of(story):
    return PlacementProblem.from_snapshot(story.snapshot())


def named_units(story):
    """Return the units in order of one quota, as names of their pods."""
    problem = problem_of(story)
    keys = [key.removeprefix("default/") for key in problem.snapshot.pods.keys]
    units = sorted(units_of(problem), key=lambda unit: unit.order)
    return [" ".join(keys[p] for p in unit.pods) for unit in units]


def test_pods_without_a_gang_are_units_of_their_own():
    """Priority first, then age, then name."""
    story = cluster().pod("b").pod("a").pod("old", age_s=60).pod("high", priority=1)
    assert named_units(story) == ["high", "old", "a", "b"]


def test_gang_that_has_not_started_is_one_unit_hardest_member_first():
    """The member with the largest share of the cluster finds its seat first."""
    story = cluster().nodes(1).pod_group("g", 3)
    for k, cpu in enumerate(("1", "4", "2")):
        story.members("g", 1, start=k, cpu=cpu)
    assert named_units(story) == ["g-1 g-2 g-0"]


def test_gang_group_is_one_unit_with_what_each_gang_needs():
    """The order is that of its most important and of its oldest member."""
    groups = ("default/a", "default/b")
    story = cluster().nodes(1).gang("a", 2, minimum=1, groups=groups).pod("solo", priority=5)
    story.gang("b", 1, groups=groups, priority=7)
    problem = problem_of(story)
    (unit, _) = sorted(units_of(problem), key=lambda unit: unit.order)
    assert (len(unit.pods), unit.need, unit.is_single) == (3, ((0, 1), (1, 1)), False)
    assert unit.order[0] == -7


def test_gang_is_as_old_as_its_oldest_member():
    """A member that comes late does not send the others to the back."""
    story = cluster().pod_group("g", 2).members("g", 1, age_s=100).members("g", 1, start=1)
    assert named_units(story.pod("solo", age_s=50)) == ["g-0 g-1", "solo"]


def test_members_of_a_started_gang_are_single_and_repairs_come_first():
    """A repair is what brings the gang back to its minimum, not what grows it."""
    story = cluster().nodes(1, cpu="64").gang("g", 2).members("g", 1, on="n1")
    story.gang("grown", 3, minimum=2).members("grown", 2, on="n1").pod("a", age_s=99)
    assert named_units(story) == ["g-1", "a", "grown-2"]


def test_held_pods_are_in_no_unit():
    """They keep their reason without costing a try."""
    story = cluster().pod("p", schedulingGates=[{"name": "x"}]).gang("g", 1, minimum=2)
    assert named_units(story) == []


def test_unit_that_does_not_fit_leaves_no_trace():
    """Two seats for a gang of three: after the try nothing is placed, and a pair still fits."""
    story = cluster().nodes(2, cpu="1").gang("big", 3, priority=9).gang("pair", 2)
    greedy = Greedy(problem_of(story))
    big, pair = sorted(units_of(greedy.problem), key=lambda unit: unit.order)
    assert not greedy.place_unit(big)
    assert greedy.placed == 0
    assert greedy.pipeline.state.placed == []
    assert greedy.place_unit(pair)
    assert greedy.placement().step.tolist() == [0, 0]


def test_unit_that_does_not_fit_gives_its_cards_back():
    """Three whole cards asked for, two there: none is held, and a pair gets both."""
    whole = {"nvidia.com/gpu": 1}
    story = cluster().nodes(1, **{"nvidia.com/gpu": 2}).cards("n1", "40Gi", "40Gi")
    story.gang("big", 3, requests=whole, priority=9).gang("pair", 2, requests=whole)
    greedy = Greedy(problem_of(story))
    big, pair = sorted(units_of(greedy.problem), key=lambda unit: unit.order)
    assert not greedy.place_unit(big)
    assert greedy.pipeline.state.cards_of == {}
    assert (greedy.pipeline.state.card_free[0] == 1000).all()
    assert greedy.place_unit(pair)
    assert set(greedy.placement().cards) == set(pair.pods)


def test_other_members_stand_in_for_one_that_fits_nowhere():
    """Minimum 2 of three, the largest too large for any node: the other two start."""
    story = cluster().nodes(1, cpu="4").pod_group("g", 2)
    story.members("g", 1, cpu="9").members("g", 2, start=1).cycle()
    story.expect_placed("g-1", "g-2").expect_unplaced("g-0", rule="capacity")


def test_easy_members_start_a_gang_that_its_hardest_would_block():
    """Minimum 2 of three on four cores: the one of four cores leaves no seat for another."""
    story = cluster().nodes(1, cpu="4").pod_group("g", 2)
    story.members("g", 1, cpu="4").members("g", 2, start=1, cpu="2").cycle()
    story.expect_placed("g-1", "g-2").expect_unplaced("g-0", rule="capacity")


def test_gang_that_failed_is_tried_again_when_others_are_placed():
    """g-0 would take g-1's only node; once that one is fuller, it goes elsewhere and both fit."""
    only_n1 = {"nodeSelector": {"kubernetes.io/hostname": "n1"}}
    story = cluster().nodes(2, cpu="4").pod_group("g", 2).members("g", 1, cpu="3", priority=1)
    story.members("g", 1, start=1, cpu="3", priority=1, **only_n1)
    assert len(solve(problem_of(story)).placement) == 0
    story.pod("small", cpu="1", **only_n1).cycle().expect_placed("g", "small")


def test_pods_that_wait_for_company_are_tried_again_once_it_came():
    """The one with the higher priority needs the other beside it."""
    term = {
        "topologyKey": "kubernetes.io/hostname",
        "labelSelector": {"matchLabels": {"app": "db"}},
    }
    near = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    story = cluster().nodes(2).pod("web", priority=9, affinity=near).pod("db", labels={"app": "db"})
    story.cycle().expect_on(story.placed("db")["db"], "web")


def test_pods_that_wait_for_balance_are_tried_again_once_it_came():
    """Two of app b must not stand more than one apart, and b's zones fill one after another."""
    rule = {
        "maxSkew": 1,
        "topologyKey": "topology.kubernetes.io/zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "b"}},
    }
    story = cluster().node("a", zone="a").node("b", zone="b")
    # Two of them may only go to a, which is open for the second once b has got one.
    labels, first = {"app": "b"}, {"topology.kubernetes.io/zone": "a"}
    spread = {"topologySpreadConstraints": [{**rule, "nodeAffinityPolicy": "Ignore"}]}
    story.pods("first", 2, priority=9, labels=labels, nodeSelector=first, **spread)
    story.pod("second", labels=labels, **spread).cycle().expect_placed("first", "second")


def test_reason_of_a_gang_speaks_of_its_own_trial():
    """Members alike in two gangs fail after different neighbours; each says what it met."""
    story = cluster().nodes(1, cpu="64", memory="100Gi")
    for name in ("q", "other"):
        story.quota(name, most={"cpu": "7"})
    heavy = {"requests": {"memory": "20Gi"}}
    story.pod_group("a", 3).members("a", 1, cpu="3", quota="q", **heavy)
    story.members("a", 1, start=1, cpu="2", quota="q", **heavy)
    story.members("a", 1, start=2, cpu="4", quota="q")
    story.pod_group("b", 3).members("b", 1, cpu="1", quota="other", **heavy)
    story.members("b", 2, start=1, cpu="4", quota="q").cycle()
    story.expect_unplaced("a-2", rule="quota", about="q", says="quota q, cpu: 5 + 4 > 7")
    story.expect_unplaced("b-2", rule="quota", about="q", says="quota q, cpu: 4 + 4 > 7")


@pytest.mark.parametrize("blocked", ["a", "b"])
def test_whole_group_names_the_gang_that_is_short(blocked):
    """Gang a fits and b does not, or the other way round."""
    groups = ("default/a", "default/b")
    story = cluster().nodes(1, cpu="4")
    for name in "ab":
        story.gang(name, 1, groups=groups, cpu="9" if name == blocked else "1")
    other = "b" if blocked == "a" else "a"
    story.cycle().expect_unplaced(other, rule="gang", about=f"default/{blocked}")
    story.expect_unplaced(other, says=f"needs 1 more members, 0 fit; waits for default/{blocked}-0")
    assert not story.reason(f"{other}-0").eviction_could_help


def test_eviction_could_help_where_the_room_is_taken_and_not_where_it_never_was():
    """One pod is larger than the node, the other than what is left of it."""
    story = cluster().nodes(1, cpu="4").pod("runs", cpu="3", on="n1")
    story.pod("large", cpu="5").pod("fair", cpu="2").cycle()
    assert not story.reason("large").eviction_could_help
    assert story.reason("fair").eviction_could_help


def test_result_claims_nothing_that_was_not_proven():
    """A heuristic, cut by nothing."""
    result = solve(problem_of(cluster().nodes(1).pod("p")))
    assert (result.status, result.limit, result.method, result.gap) == (
        "heuristic",
        "none",
        "greedy",
        None,
    )
