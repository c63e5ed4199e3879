"""Readings of the recorded quota decisions, shared by the tests that compare with them."""

from collections import Counter

from koordopt.models.quota import QuotaPod, QuotaSpec

_NAMES = {"cpu_milli": "cpu", "memory_bytes": "memory"}


def amounts(recorded):
    """Return a recorded resource list under the names of the API."""
    return {_NAMES.get(name, name): amount for name, amount in recorded.items()}


def set_amounts(listed):
    """Return a list without its zeros: in a sum they say nothing, and depend on what once was."""
    return {name: amount for name, amount in listed.items() if amount}


def spec_of(quota):
    """Return the quota of a record."""
    return QuotaSpec(
        name=quota["name"],
        parent=quota["parent"],
        is_parent=quota["is_parent"],
        lends=quota.get("allow_lent_resource", True),
        min=amounts(quota["min"]),
        max=amounts(quota["max"]),
        shared_weight=amounts(quota.get("shared_weight") or {}),
        tree_id=quota.get("tree_id", ""),
        is_root=quota.get("is_root", False),
        total_resource=amounts(quota.get("total_resource") or {}),
        ignore_default_tree=quota.get("ignore_default_tree", False),
    )


def pod_of(pod, quota):
    """Return the pod of a record, in the quota it was found to belong to."""
    return QuotaPod(
        name=pod["name"],
        quota=quota,
        request=amounts(pod["request"]),
        is_assigned=pod.get("assigned", False),
        is_preemptible=not pod.get("non_preemptible", False),
    )


def inputs_after_changes(record):
    """Return quotas, cluster total and pods as the record's changes leave them."""
    quotas = {quota["name"]: quota for quota in record["quotas"] or ()}
    pods = {pod["name"]: pod for pod in record["pods"] or ()}
    total = Counter(record["cluster_total"])
    for change in record.get("changes") or ():
        match change["op"]:
            case "update_quota":
                quotas[change["quota"]["name"]] = change["quota"]
            case "delete_pod":
                pods.pop(change["pod"])
            case "add_cluster_total":
                total.update(change["delta"])
            case "refresh_all":
                pass
            case other:
                msg = f"change {other!r} in {record['id']} is not understood"
                raise ValueError(msg)
    return list(quotas.values()), amounts(total), list(pods.values())
