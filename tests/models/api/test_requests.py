"""Effective pod requests."""

from typing import Any

import pytest

from koordopt.models.api.core import Pod
from koordopt.models.api.decode import decode
from koordopt.models.api.requests import (
    kubernetes_qos,
    nonzero_requests,
    pod_limits,
    pod_requests,
)


def make_pod(spec: dict[str, Any], status: dict[str, Any] | None = None) -> Pod:
    """Return a pod as it is read."""
    raw = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
    pod = decode({**raw, "status": status or {}})
    assert isinstance(pod, Pod)
    return pod


def container(name: str, cpu: str, **more: Any) -> dict[str, Any]:
    """Return a container that asks for cpu."""
    return {"name": name, "resources": {"requests": {"cpu": cpu}}, **more}


def sidecar(cpu: str) -> dict[str, Any]:
    """Return an init container that keeps running."""
    return container("sidecar", cpu, restartPolicy="Always")


@pytest.mark.parametrize(
    ("init", "apps", "cpu"),
    [
        ([sidecar("250m")], ["4"], 4250),
        ([sidecar("100m"), container("init", "200m")], ["100m"], 300),
        ([container("init", "200m"), sidecar("100m")], ["100m"], 200),
        ([container("init", "3")], ["1", "1"], 3000),
    ],
)
def test_sidecars_count_beside_the_app_and_beside_later_inits(
    init: list[dict[str, Any]], apps: list[str], cpu: int
) -> None:
    """Order matters: an init container runs beside the sidecars declared before it."""
    containers = [container(f"app{i}", cpu) for i, cpu in enumerate(apps)]
    pod = make_pod({"initContainers": init, "containers": containers})
    assert pod_requests(pod, bound=False) == {"cpu": cpu}


def test_pod_level_requests_replace_cpu_and_memory_only() -> None:
    """Overhead comes on top, extended resources stay a matter of containers."""
    resources = {"requests": {"cpu": "1", "example.com/gpu": "2"}}
    spec = {
        "containers": [{"name": "c", "resources": resources}],
        "resources": {"requests": {"cpu": "4", "example.com/gpu": "9"}},
        "overhead": {"cpu": "100m", "memory": "1Mi"},
    }
    expected = {"cpu": 4100, "example.com/gpu": 2, "memory": 1 << 20}
    assert pod_requests(make_pod(spec), bound=False) == expected


@pytest.mark.parametrize(("reason", "cpu"), [("Deferred", 5000), ("Infeasible", 3000)])
def test_resize_counts_the_largest_of_what_is_wanted_and_held(reason: str, cpu: int) -> None:
    """A resize that the node refused for good no longer counts, and a pending pod has none."""
    status = {
        "conditions": [{"type": "PodResizePending", "status": "True", "reason": reason}],
        "containerStatuses": [
            {
                "name": "c",
                "allocatedResources": {"cpu": "3"},
                "resources": {"requests": {"cpu": "2"}},
            }
        ],
    }
    pod = make_pod({"containers": [container("c", "5")]}, status)
    assert pod_requests(pod, bound=True) == {"cpu": cpu}
    assert pod_requests(pod, bound=False) == {"cpu": 5000}


def test_overhead_adds_to_limits_only_where_there_is_one() -> None:
    """No limit plus overhead is still no limit."""
    spec = {
        "containers": [{"name": "c", "resources": {"limits": {"cpu": "1"}}}],
        "overhead": {"cpu": "100m", "memory": "1Mi"},
    }
    assert pod_limits(make_pod(spec), bound=False) == {"cpu": 1100}


def test_scores_take_a_container_without_a_request_to_use_something() -> None:
    """Each container that names no request counts with the default; an explicit zero stays."""
    spec = {"containers": [container("a", "0"), {"name": "b"}]}
    expected = {"cpu": 100, "memory": 2 * (200 << 20)}
    assert nonzero_requests(make_pod(spec), bound=False) == expected


@pytest.mark.parametrize(
    ("resources", "qos"),
    [
        ({}, "BestEffort"),
        ({"requests": {"example.com/gpu": 1}}, "BestEffort"),
        ({"requests": {"cpu": 1}}, "Burstable"),
        ({"limits": {"cpu": 1}}, "Burstable"),
        ({"limits": {"cpu": 1, "memory": 1}}, "Guaranteed"),
        ({"requests": {"cpu": 1}, "limits": {"cpu": 2, "memory": 1}}, "Burstable"),
    ],
)
def test_kubernetes_qos_follows_from_cpu_and_memory(resources: dict[str, Any], qos: str) -> None:
    """Requests that follow from limits count as well."""
    assert kubernetes_qos(make_pod({"containers": [{"name": "c", "resources": resources}]})) == qos
