"""The throughput benchmark measures what it says, on clusters that are what they say."""

import pytest

from benchmarks.registry import BENCHMARKS
from benchmarks.report import misses
from benchmarks.speed.instances import ARRIVALS, RULES, Instance, arrivals
from benchmarks.speed.throughput import BASELINE, CASES


@pytest.fixture(scope="module")
def rows():
    return BENCHMARKS["throughput"].run("smoke")


def test_smoke_reports_every_rule_and_arrival_beside_the_baseline(rows):
    decisions = [row for row in rows if row.metric == "decisions"]
    assert [row.case for row in decisions] == [
        f"50 nodes/{name}/{arrival}" for name in CASES for arrival in ARRIVALS
    ]
    assert all(row.ours > 0 and row.baselines[BASELINE] > 0 and row.clock for row in decisions)


def test_what_time_does_not_decide_holds(rows):
    """Placements are the baseline's, on any machine however busy."""
    judged = [row for row in rows if not row.clock]
    assert len(judged) == len(CASES) * len(ARRIVALS)
    assert misses(judged) == []
    assert all(row.aim is not None for row in judged)


def test_no_aim_on_speed_at_smoke_size(rows):
    assert all(row.aim is None for row in rows if row.clock)


@pytest.mark.parametrize("rules", RULES)
def test_every_template_is_a_class_of_its_own(rules):
    problem = Instance(20, 800, rules, classes=40).problem()
    names = problem.snapshot.pods.objects
    templates = {names[p].metadata.labels["app"] for p in problem.pending.tolist()}
    assert len(templates) > 20
    assert len(set(problem.snapshot.pods.class_of[problem.pending].tolist())) == len(templates)


@pytest.mark.parametrize("rules", RULES)
def test_pods_carry_the_rule_and_a_quota(rules):
    problem = Instance(20, 100, rules, classes=10).problem()
    classes = sorted(set(problem.snapshot.pods.class_of[problem.pending].tolist()))
    limited = {
        "basic": [False],
        "spread": [bool(problem.spread[c].hard) for c in classes],
        "affinity": [problem.affinity[c].is_hard for c in classes],
        "gangs": [len(problem.snapshot.gangs.groups) == 5],
        "devices": [problem.snapshot.classes[c].cards is not None for c in classes],
    }
    for name, carried in limited.items():
        if name == rules:
            assert all(carried) or rules == "basic"
        elif name != "gangs":
            assert not any(carried)
    table = problem.snapshot.quotas
    assert table.arrays is not None
    assert all(len(table.arrays.chains[table.quota_of[p]]) == 2 for p in problem.pending.tolist())


def test_arrivals_come_in_runs_of_one_template_or_mixed():
    instance = Instance(20, 100, classes=10)
    problem = instance.problem()
    classes = problem.snapshot.pods.class_of[arrivals(problem, instance)].tolist()
    assert all(len(set(classes[k : k + 20])) == 1 for k in range(0, 100, 20))
    mixed = arrivals(problem, Instance(20, 100, arrival="interleaved", classes=10))
    assert sorted(mixed) == sorted(problem.pending.tolist())
    assert len(set(problem.snapshot.pods.class_of[mixed[:20]].tolist())) > 1


def test_gangs_are_alike_in_runs_and_mixed_otherwise():
    for arrival, alike in (("runs", True), ("interleaved", False)):
        problem = Instance(20, 100, "gangs", arrival, classes=10).problem()
        pods, gangs = problem.snapshot.pods, problem.snapshot.gangs
        kinds = [{int(pods.class_of[p]) for p in gang.pods} for gang in gangs.gangs]
        assert [len(gang.pods) for gang in gangs.gangs] == [20] * 5
        assert all(len(kind) == 1 for kind in kinds) is alike


def test_running_pods_are_cut_to_the_number_asked_for():
    instance = Instance(20, 20, classes=10, filled_percent=(40, 50), running=30)
    assert (instance.problem().snapshot.pods.node_of >= 0).sum() == 30
