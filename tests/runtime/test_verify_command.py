"""``koordopt verify``: what it finds in plans that were tampered with."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.runtime.conftest import Ran, Run, Write
from tests.runtime.manifests import device, member, node, pod, pod_group

PlanObject = dict[str, Any]
GPU = {"nvidia.com/gpu": "1"}
CLUSTER = [
    node("a", "4", **GPU),
    node("b", "2"),
    device("a", 2),
    pod("bound", on="b"),
    pod_group("g", 2),
    member("g-1", "g"),
    member("g-2", "g"),
    pod("card", **GPU),
    pod("big", "9"),
]


@pytest.fixture
def judged(run: Run, write: Write) -> Callable[[Callable[[PlanObject], None]], Ran]:
    """Return a function that changes the true plan and has it judged."""
    cluster = write(CLUSTER)
    value = run("plan", cluster, "-o", "json").value

    def call(change: Callable[[PlanObject], None]) -> Ran:
        plan = json.loads(json.dumps(value))
        change(plan)
        return run(
            "verify", write(json.dumps(plan), "plan.json"), "--cluster", cluster, "-o", "json"
        )

    return call


def bind_of(plan: PlanObject, name: str) -> dict[str, Any]:
    """Return the placement of a pod."""
    return next(each for each in plan["placements"] if each["pod"] == f"default/{name}")


Judged = Callable[[Callable[[PlanObject], None]], Ran]


def found(ran: Ran) -> set[tuple[str, str]]:
    """Return rule and object of each violation, after a look at the exit status."""
    violations = ran.value["violations"]
    assert all(list(each) == ["rule", "object", "found", "allowed"] for each in violations)
    assert ran.status == (1 if violations else 0)
    return {(each["rule"], each["object"]) for each in violations}


def test_a_plan_of_ours_breaks_no_rule_and_is_worth_what_it_says(run: Run, write: Write) -> None:
    cluster = write(CLUSTER)
    plan = run("plan", cluster, "-o", "json")
    ran = run("verify", write(plan.out, "plan.json"), "--cluster", cluster, "-o", "json")
    assert found(ran) == set()
    true = {level["name"]: level["objective"] for level in plan.value["levels"]}
    assert {level["name"]: level["objective"] for level in ran.value["levels"]} == true


@pytest.mark.parametrize("name", ["demo.json", "demo.yaml"])
def test_json_and_yaml_are_read_alike(run: Run, write: Write, name: str) -> None:
    plan = run("plan", "--demo", "-o", Path(name).suffix[1:]).out
    assert run("verify", write(plan, name), "--demo").out.startswith("every rule holds\n")
    assert run("verify", "-", "--demo", stdin=plan).status == 0


def test_a_pod_on_a_full_node_is_found(judged: Judged) -> None:
    def change(plan: PlanObject) -> None:
        plan["placements"].append({"pod": "default/big", "node": "b", "step": 99})
        plan["unplaced"] = []

    assert ("capacity", "b") in found(judged(change))


def test_names_that_the_cluster_lacks_are_found(judged: Judged) -> None:
    def change(plan: PlanObject) -> None:
        plan["placements"].append({"pod": "default/ghost", "node": "a", "step": 99})
        bind_of(plan, "card")["node"] = "nowhere"

    assert {("plan", "default/ghost"), ("plan", "default/card")} <= found(judged(change))


def test_a_card_that_the_node_lacks_is_found(judged: Judged) -> None:
    def change(plan: PlanObject) -> None:
        bind_of(plan, "card")["devices"][0]["minor"] = 7

    assert ("plan", "default/card") in found(judged(change))


@pytest.mark.parametrize("share", [400, 2000])
def test_another_share_than_was_asked_for_is_found(judged: Judged, share: int) -> None:
    def change(plan: PlanObject) -> None:
        bind_of(plan, "card")["devices"][0]["share"] = share

    assert ("device", "default/card") in found(judged(change))


def test_a_pod_that_is_bound_already_or_twice_is_found(judged: Judged) -> None:
    def change(plan: PlanObject) -> None:
        plan["placements"].append({"pod": "default/bound", "node": "a", "step": 98})
        plan["placements"].append({**bind_of(plan, "card"), "step": 99})

    ran = judged(change)
    assert {("plan", "default/bound"), ("plan", "default/card")} <= found(ran)
    assert ran.value["levels"] == []


def test_a_gang_that_is_bound_in_two_steps_is_found(judged: Judged) -> None:
    def change(plan: PlanObject) -> None:
        for step, bind in enumerate(plan["placements"]):
            bind["step"] = step

    assert ("gang", "default/g") in found(judged(change))


def test_steps_that_run_backwards_are_found(judged: Judged) -> None:
    assert ("plan", "steps") in found(judged(lambda plan: plan["placements"].reverse()))


def test_a_plan_without_steps_is_bound_at_once(judged: Judged) -> None:
    def change(plan: PlanObject) -> None:
        for bind in plan["placements"]:
            del bind["step"]

    assert found(judged(change)) == set()


def test_a_wrong_claim_about_the_objective_is_found(judged: Judged) -> None:
    def change(plan: PlanObject) -> None:
        plan["levels"][0]["objective"] += 1

    assert found(judged(change)) == {("objective", "priority 0")}


def test_a_pod_that_is_forgotten_or_told_twice_is_found(judged: Judged) -> None:
    def forget(plan: PlanObject) -> None:
        plan["unplaced"] = []

    def repeat(plan: PlanObject) -> None:
        plan["unplaced"].append({"pod": "default/card"})

    assert found(judged(forget)) == {("plan", "default/big")}
    assert found(judged(repeat)) == {("plan", "default/card")}


def test_evictions_are_not_allowed(judged: Judged) -> None:
    def change(plan: PlanObject) -> None:
        plan["evictions"] = [{"pod": "default/bound", "node": "b"}]

    assert found(judged(change)) == {("plan", "default/bound")}


def test_placements_alone_are_a_plan(judged: Judged) -> None:
    def change(plan: PlanObject) -> None:
        for key in set(plan) - {"placements"}:
            del plan[key]

    assert found(judged(change)) == set()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        '{"placements": 3}',
        '{"placements": [{"pod": "a"}]}',
        '{"placements": [{"pod": "a", "node": 3}]}',
        '{"placements": [{"pod": "a", "node": "b", "step": "x"}]}',
        '{"placements": [{"pod": "a", "node": "b", "step": -1}]}',
        '{"placements": [{"pod": "a", "node": "b", "step": 1e30}]}',
        '{"placements": [{"pod": "a", "node": "b", "step": 1%s}]}' % ("0" * 40),
        '{"placements": [{"pod": "a", "node": "b", "devices": [{"minor": 0, "share": -1}]}]}',
        '{"placements": [',
        "placements: []\n---\nplacements: []\n",
        '{"placements": ' + "[" * 100_000,
    ],
)
def test_what_is_no_plan_is_one_line_and_status_2(run: Run, write: Write, text: str) -> None:
    path = write(text, "plan.json" if text.startswith("{") else "plan.yaml")
    ran = run("verify", path, "--demo")
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith(f"koordopt: {path}: ")
    assert ran.err.count("\n") == 1


def test_the_table_names_each_violation(run: Run, write: Write) -> None:
    plan = {"placements": [{"pod": "default/big", "node": "b"}]}
    ran = run("verify", write(yaml.safe_dump(plan), "plan.yaml"), "--cluster", write(CLUSTER))
    assert ran.status == 1
    assert ran.out.startswith("1 violations\n")
    assert "capacity  b" in ran.out


def test_a_rejected_object_is_status_2_though_every_rule_holds(run: Run, write: Write) -> None:
    cluster = write([*CLUSTER, pod("bad", "-1")])
    ran = run("verify", write("placements: []", "plan.yaml"), "--cluster", cluster, "-o", "json")
    assert ran.status == 2
    assert [each["object"] for each in ran.value["rejected"]] == ["Pod default/bad"]


NAMES = st.sampled_from(
    ["default/g-1", "default/g-2", "default/card", "default/big", "default/bound", "x", "", "a/b/c"]
)
DEVICE = st.fixed_dictionaries(
    {"minor": st.integers(-1, 3), "share": st.sampled_from([0, 500, 1000, 2**31 - 1])},
    optional={"type": st.sampled_from(["gpu", "rdma"]), "memory": st.integers(0, 2**51)},
)
BIND = st.fixed_dictionaries(
    {"pod": NAMES, "node": st.sampled_from(["a", "b", "nowhere"])},
    optional={"step": st.integers(-1, 2**31), "devices": st.lists(DEVICE, max_size=3)},
)
PLAN = st.fixed_dictionaries(
    {"placements": st.lists(BIND, max_size=6)},
    optional={
        "unplaced": st.lists(st.fixed_dictionaries({"pod": NAMES}), max_size=3),
        "levels": st.lists(
            st.fixed_dictionaries({"name": NAMES, "objective": st.integers()}), max_size=2
        ),
        "evictions": st.none() | st.lists(st.fixed_dictionaries({"pod": NAMES}), max_size=1),
    },
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(plan=PLAN)
def test_whatever_a_plan_says_it_is_judged_or_refused(
    run: Run, write: Write, plan: PlanObject
) -> None:
    ran = run("verify", write(json.dumps(plan), "plan.json"), "--cluster", write(CLUSTER))
    assert (ran.status, ran.err.count("\n")) in ((0, 0), (1, 0), (2, 1))
