"""The kit itself: what it lets pass, and what it does not."""

import re
from dataclasses import replace

import pytest

from koordopt.models.objective import evaluate
from koordopt.models.result import Placement
from koordopt.solvers.heuristics import greedy
from tests.scenarios.kit import cluster

solve = greedy.solve


def answer_with(monkeypatch, change):
    """Let greedy answer with ``change(problem, result)``."""
    monkeypatch.setattr(
        greedy, "solve", lambda problem, profile=None: change(problem, solve(problem, profile))
    )


def on_first_node(problem, result):
    """Place every pending pod on the first node, whatever it holds."""
    pods = problem.pending.tolist()
    placement = Placement.of(pods, [0] * len(pods), [0] * len(pods))
    levels = evaluate(problem, placement)
    return replace(result, placement=placement, levels=levels, unplaced={})


def test_cycle_fails_on_a_plan_that_breaks_a_rule(monkeypatch):
    """Two pods of three cores on a node of four."""
    answer_with(monkeypatch, on_first_node)
    story = cluster().nodes(2, cpu="4").pods("p", 2, cpu="3")
    with pytest.raises(AssertionError, match=r"violations: .*capacity"):
        story.cycle()


def test_cycle_fails_on_an_objective_that_is_not_the_plan_s(monkeypatch):
    """A solver that claims more than it placed."""
    answer_with(
        monkeypatch, lambda problem, result: replace(result, placement=Placement.of((), ()))
    )
    with pytest.raises(AssertionError, match="objective"):
        cluster().nodes(1).pod("p").cycle()


def test_cycle_fails_on_a_pod_without_an_answer(monkeypatch):
    """Neither placed nor told why not."""
    answer_with(monkeypatch, lambda problem, result: replace(result, unplaced={}))
    with pytest.raises(AssertionError, match="pods with an answer"):
        cluster().nodes(1).pod("p", cpu="99").cycle()


def test_cycle_fails_on_a_plan_that_depends_on_the_order_of_objects(monkeypatch):
    """A limit that greedy reads from the order of the input, not from the input."""

    def by_order(problem, result):
        names = [pod.key for pod in problem.snapshot.objects.pods]
        return replace(result, limit="none" if names == sorted(names) else "work")

    answer_with(monkeypatch, by_order)
    with pytest.raises(AssertionError, match="depends on the order"):
        cluster().nodes(1).pods("p", 5).cycle()


@pytest.mark.parametrize(
    ("expect", "message"),
    [
        (lambda story: story.expect_unplaced("fits"), "placed: {'fits': 'n1'}"),
        (lambda story: story.expect_placed("large"), "1 Insufficient cpu"),
        (lambda story: story.expect_placed("ghost"), "no pod ghost"),
        (lambda story: story.expect_on("n2", "fits"), "n1"),
        (lambda story: story.expect_unplaced("large", rule="quota"), "rule='capacity'"),
        (lambda story: story.expect_unplaced("large", about="q"), "object='nodes'"),
        (lambda story: story.expect_unplaced("large", says="Insufficient|gold"), "['gold'] not in"),
        (lambda story: story.expect_count(2, "fits", "large"), "fits"),
    ],
)
def test_expectation_that_does_not_hold_says_what_was_found(expect, message):
    """The message is what a person reads when a scenario fails."""
    story = cluster().nodes(1).pod("fits").pod("large", cpu="99").cycle()
    with pytest.raises(AssertionError, match=re.escape(message)):
        expect(story)


def test_plan_is_seen_by_the_next_cycle():
    """What is bound stays bound, and takes room."""
    story = cluster().nodes(1, cpu="2").pods("p", 2).cycle().pod("q").cycle()
    story.expect_on("n1", "p-0", "p-1").expect_unplaced("q", says="Insufficient cpu")
    assert story.plan.binds == ()


def test_names_stand_for_pods_gangs_and_families():
    """A pod by its name, all that share the name before the number, in any namespace."""
    story = cluster().nodes(1, cpu="64").gang("g", 2).pods("team/p", 3).pod("solo").cycle()
    assert story.count("g") == 2
    assert story.count("team/p", "solo") == 4
    assert story.placed("team/p-1") == {"team/p-1": "n1"}
