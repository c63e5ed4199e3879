"""Requests, scaled mins and runtimes of recorded quota trees."""

from collections import Counter

import pytest

from koordopt.models.quota import DEFAULT_TREE, QuotaForest, QuotaResolver, QuotaSettings
from koordopt.models.quota.spec import is_builtin
from tests.oracle.quota_records import (
    amounts,
    inputs_after_changes,
    pod_of,
    set_amounts,
    spec_of,
)
from tests.oracle.records import assert_agreement

pytestmark = pytest.mark.oracle

ROOT = "koordinator-root-quota"

SUMS = {
    "request": "request",
    "child_request": "child_request",
    "self_request": "self_request",
    "limited_request": "limited_request",
    "non_preemptible_request": "non_preemptible_request",
    "used": "used",
    "self_used": "self_used",
    "non_preemptible_used": "non_preemptible_used",
    "allocated": "allocated",
    "guaranteed": "guaranteed",
    "effective_shared_weight": "shared_weight",
}
SHARES = {"auto_scale_min": "scaled_min", "runtime": "runtime", "runtime_stored": "runtime_all"}


def not_negative(listed):
    """Return a list with its debts forgiven: a capacity never falls below zero here."""
    return {name: max(amount, 0) for name, amount in listed.items()}


def compared_fields(record, name):
    """Return the recorded fields of one quota that koordopt means to reproduce."""
    fields = {**SUMS, **SHARES}
    if "default_system_deducted_twice" in record.get("differs_from_spec_text", ()):
        fields = dict(SUMS)
    if is_builtin(name):
        # Recorded as never filled; ours are the max, and the capacity of the tree.
        fields.pop("runtime", None)
        fields.pop("runtime_stored", None)
    moved = any(change["op"] == "update_quota" for change in record.get("changes") or ())
    if name == ROOT and moved:
        # The recorded sums at the root keep parts of quotas that have moved elsewhere.
        for field in ("request", "limited_request", "allocated"):
            del fields[field]
    return fields


def runtime_differences(record):
    """Return which amounts differ from the recorded ones, or those of a rebuild from scratch."""
    quotas, total, pods = inputs_after_changes(record)
    forest = QuotaForest(
        [spec_of(quota) for quota in quotas],
        total,
        [pod_of(pod, pod["quota"]) for pod in pods],
        QuotaSettings(
            scale_min=record["min_scaling_enabled"],
            guarantee_usage=record["guarantee_usage_gate"],
        ),
    )
    expect = record["expect"]
    rebuilt = expect.get("differs_after_rebuild", {})
    for name, recorded in expect["quotas"].items():
        recorded = recorded | rebuilt.get(name, {})
        state = forest.state(name)
        for field, ours in compared_fields(record, name).items():
            found, wanted = getattr(state, ours), amounts(recorded[field])
            if field != "runtime":
                # Elsewhere a zero says as little as nothing; a runtime of zero is a limit.
                found, wanted = set_amounts(found), set_amounts(wanted)
            if found != wanted:
                yield f"{field} of {name} is {found}, recorded {wanted}"
    wanted = not_negative(amounts(expect["capacity_of_root_children"]))
    if forest.capacity() != wanted:
        yield f"capacity is {forest.capacity()}, recorded {wanted}"


def test_runtime_agrees():
    """Every amount of every quota is the recorded one."""
    assert_agreement("reference/quota_runtime", runtime_differences)


def forest_after_events(record):
    """Return the trees that a record's events leave, and the quotas deleted under their pods."""
    nodes, quotas, pods = {}, {}, []
    for event in record["events"]:
        match event["op"]:
            case "add_node":
                nodes[event["name"]] = Counter(amounts(event["allocatable"]))
            case "delete_node":
                del nodes[event["name"]]
            case "set_quota":
                quotas[event["name"]] = spec_of(event)
            case "delete_quota":
                del quotas[event["name"]]
            case "add_pod":
                pods.append(event)
            case other:
                pytest.fail(f"event {other!r} is not understood")
    resolver = QuotaResolver(quotas.values())
    forest = QuotaForest(
        quotas.values(),
        sum(nodes.values(), Counter()),
        [pod_of(pod, resolver.quota_of(pod["quota_label"], "")) for pod in pods],
        QuotaSettings(multi_tree=True, scale_min=record["min_scaling_enabled"]),
    )
    orphaned = {pod["quota_label"] for pod in pods} - quotas.keys()
    return forest, {name for name in orphaned if not is_builtin(name)}


def tree_differences(record):
    """Return what differs in the trees of one cluster: what they own, what their quotas get."""
    forest, orphaned = forest_after_events(record)
    for name, wanted in record["expect"]["quotas"].items():
        state = forest.state(name)
        if (forest.spec(name).tree_id or "default-tree") != wanted["tree"]:
            yield f"tree of {name} is {forest.spec(name).tree_id!r}, recorded {wanted['tree']!r}"
        for field in ("request", "used", "runtime"):
            found = set_amounts(getattr(state, field))
            if found != set_amounts(amounts(wanted[field])):
                yield f"{field} of {name} is {found}, recorded {wanted[field]}"
    for tree, wanted in record["expect"]["trees"].items():
        tree_id = DEFAULT_TREE if tree == "default-tree" else tree
        if set_amounts(forest.owned(tree_id)) != set_amounts(amounts(wanted["total"])):
            yield f"{tree} owns {forest.owned(tree_id)}, recorded {wanted['total']}"
        # Pods of a deleted quota use the default quota at once here, in the records later.
        if orphaned and tree_id == DEFAULT_TREE:
            continue
        shared = set_amounts(not_negative(amounts(wanted["capacity_of_root_children"])))
        if set_amounts(forest.capacity(tree_id)) != shared:
            yield f"{tree} shares {forest.capacity(tree_id)}, recorded {shared}"


def test_trees_agree():
    """Several trees on one cluster own and share what is recorded."""
    assert_agreement("reference/quota_multi_tree", tree_differences)
