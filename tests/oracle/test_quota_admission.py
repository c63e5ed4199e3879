"""Admission of one more pod into recorded quota trees."""

import re

import pytest

from koordopt.models.quota import QuotaForest, QuotaResolver, QuotaRule, QuotaSettings, admit
from koordopt.models.quota.spec import is_builtin
from tests.oracle.quota_records import amounts, pod_of, set_amounts, spec_of
from tests.oracle.records import assert_agreement

pytestmark = pytest.mark.oracle


def forest_of(record):
    """Return the quotas of a record with its pods, the incoming one pending, and that pod."""
    args = record["args"]
    specs = [spec_of(quota) for quota in record["quotas"]]
    resolver = QuotaResolver(specs)
    pods = [
        pod_of(pod, resolver.quota_of(pod["quota_label"], ""))
        for pod in (*(record["pods"] or ()), record["incoming"])
    ]
    settings = QuotaSettings(
        enable_runtime=args["enableRuntimeQuota"],
        scale_min=args["enableMinQuotaScale"],
        default_max=amounts(args["defaultQuotaGroupMax"]),
        system_max=amounts(args["systemQuotaGroupMax"]),
    )
    return QuotaForest(specs, amounts(record["cluster_total"]), pods, settings), pods[-1]


def mins_are_scaled(forest):
    """Return whether the mins of some quotas do not fit into what their parent has."""
    return any(forest.scaled_min(n) != forest.spec(n).min for n in forest.names)


def unset_above(forest, quota):
    """Return the dimensions of a quota that one of its ancestors leaves unset."""
    above = [forest.spec(name).max for name in forest.chain(quota)[1:]]
    return {name for name in forest.spec(quota).max if any(name not in most for most in above)}


def is_decided_otherwise(record, forest, refusal):
    """Return whether one of the policies that differ from the record decides this case."""
    args, expect = record["args"], record["expect"]
    quota = expect["resolved_quota"]
    if is_builtin(quota) and args["enableRuntimeQuota"]:
        return True  # limited by their max also with runtime quotas on
    if refusal and refusal.rule is QuotaRule.ANCESTOR and not args["enableCheckParentQuota"]:
        return expect["code"] == "Success"  # ancestors are always checked
    # An unset dimension is no barrier: the record lets the ancestor's runtime of it refuse.
    recorded = re.search(r"exceedDimensions: \[(.*)\]", expect["message"])
    short = set(recorded[1].split()) if recorded else set()
    short |= set(refusal.resources if refusal else ())
    return bool(short & unset_above(forest, quota)) and args["enableRuntimeQuota"]


def printed(message, forest, blocking):
    """Return a message without the dimensions of its limit that the quota does not set."""
    if not blocking:
        return message

    def kept(match):
        parts = [part for part in match[1].split(",") if part.rsplit(":", 1)[0] in most]
        return f"runtime: {','.join(parts)}, used"

    most = forest.spec(blocking).max
    return re.sub(r"runtime: (\S+), used", kept, message)


def state_differences(record, forest):
    """Return which usage and limits differ from the state the decision was taken on."""
    enable_runtime = record["args"]["enableRuntimeQuota"]
    for name, recorded in record["expect"]["quotas"].items():
        for field, found in (
            ("used", forest.used(name)),
            ("non_preemptible_used", forest.non_preemptible_used(name)),
        ):
            if found != amounts(recorded[field]):
                yield f"{field} of {name} is {found}, recorded {recorded[field]}"
        if not (is_transient(record, forest, name) or (is_builtin(name) and enable_runtime)):
            limit = recorded_limit(record, forest, name)
            if set_amounts(limit) != set_amounts(amounts(recorded["limit"])):
                yield f"limit of {name} is {limit}, recorded {recorded['limit']}"


def recorded_limit(record, forest, name):
    """Return the limit of a quota as records give it, in every dimension that is shared."""
    if record["args"]["enableRuntimeQuota"]:
        return forest.state(name).runtime_all
    return forest.limit(name)


def is_transient(record, forest, name):
    """Return whether the recorded limit of a quota is not yet final.

    The records' mins are scaled one chain at a time, so where they are scaled at all, the limits
    of some quotas follow from mins of their siblings that are not scaled yet.
    """
    recorded = amounts(record["expect"]["quotas"][name]["limit"])
    limit = recorded_limit(record, forest, name)
    return mins_are_scaled(forest) and set_amounts(limit) != set_amounts(recorded)


def differences(record):
    """Return what differs: the pod's quota, the state, the verdict, and its words."""
    forest, pod = forest_of(record)
    expect = record["expect"]
    if pod.quota != expect["resolved_quota"]:
        yield f"quota is {pod.quota}, recorded {expect['resolved_quota']}"
        return
    yield from state_differences(record, forest)
    refusal = admit(forest, pod.quota, pod.request, is_preemptible=pod.is_preemptible)
    if is_decided_otherwise(record, forest, refusal) or (
        not is_builtin(pod.quota)
        and any(is_transient(record, forest, name) for name in forest.chain(pod.quota))
    ):
        return
    message = refusal.message if refusal else ""
    wanted = printed(expect["message"], forest, refusal.quota if refusal else "")
    if (expect["code"] == "Success") != (refusal is None) or message != wanted:
        yield f"message is {message!r}, recorded {expect['code']} {wanted!r}"


def test_admission_agrees():
    """Every pod gets the recorded verdict, word for word, on the recorded state."""
    assert_agreement("reference/quota_admission", differences)
