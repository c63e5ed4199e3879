"""Effective pod requests agree with what Kubernetes counts."""

from collections.abc import Iterator, Mapping

import pytest

from koordopt.models.api.core import Pod
from koordopt.models.api.decode import decode
from koordopt.models.api.requests import (
    kubernetes_qos,
    nonzero_requests,
    pod_limits,
    pod_requests,
)
from tests.oracle.records import Record, assert_agreement

pytestmark = pytest.mark.oracle


def _without_zeros(amounts: Mapping[str, int]) -> dict[str, int]:
    return {name: amount for name, amount in amounts.items() if amount}


def _differences(record: Record) -> Iterator[str]:
    pod = decode({"apiVersion": "v1", "kind": "Pod", **record["pod"]})
    assert isinstance(pod, Pod)
    found = {
        "requests": pod_requests(pod, bound=True),
        "limits": pod_limits(pod, bound=True),
        "specRequests": pod_requests(pod, bound=False),
        "specLimits": pod_limits(pod, bound=False),
        "nonZero": nonzero_requests(pod, bound=True),
    }
    for field, amounts in found.items():
        if _without_zeros(amounts) != _without_zeros(record[field]):
            yield f"{field} is {amounts}, expected {record[field]}"
    if kubernetes_qos(pod) != record["qos"]:
        yield f"qos is {kubernetes_qos(pod)}, expected {record['qos']}"


def test_pods_ask_for_what_kubernetes_counts() -> None:
    """Requests, limits and QoS class are the same, bound or pending, resized or not."""
    assert_agreement("upstream/requests", _differences)
