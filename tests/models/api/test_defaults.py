"""What the API server fills in."""

from typing import Any

import msgspec
import pytest

from koordopt.models.api.core import Pod
from koordopt.models.api.decode import decode
from koordopt.models.api.defaults import default_pod, merge_match_label_keys
from koordopt.models.api.selectors import compile_selector
from koordopt.models.units import amounts


def make_pod(spec: dict[str, Any], labels: dict[str, str] | None = None) -> Pod:
    """Return a pod as it is read."""
    raw = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "labels": labels}}
    pod = decode({**raw, "spec": spec})
    assert isinstance(pod, Pod)
    return pod


def test_defaulting_twice_returns_the_same_object() -> None:
    """An object that had its defaults is not even copied."""
    spread = {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "ScheduleAnyway"}
    pod = make_pod(
        {
            "hostNetwork": True,
            "containers": [
                {"ports": [{"containerPort": 1}], "resources": {"limits": {"memory": "1"}}}
            ],
            "resources": {"limits": {"cpu": "1"}},
            "tolerations": [{"key": "a"}],
            "topologySpreadConstraints": [{**spread, "labelSelector": {}, "matchLabelKeys": ["v"]}],
        },
        {"v": "1"},
    )
    assert default_pod(pod) is pod


def test_small_defaults_are_filled_in() -> None:
    """Operators, policies, protocol, scheduler and grace period."""
    spread = {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "ScheduleAnyway"}
    spec = make_pod(
        {
            "containers": [{"ports": [{"containerPort": 1}]}],
            "tolerations": [{"key": "a"}],
            "topologySpreadConstraints": [spread],
        }
    ).spec
    assert spec.tolerations[0].operator == "Equal"
    port = spec.containers[0].ports[0]
    assert (port.protocol, port.host_port) == ("TCP", 0)
    constraint = spec.topology_spread_constraints[0]
    assert (constraint.node_affinity_policy, constraint.node_taints_policy) == ("Honor", "Ignore")
    assert (spec.scheduler_name, spec.termination_grace_period_seconds) == ("default-scheduler", 30)


@pytest.mark.parametrize(
    ("containers", "resources", "requests"),
    [
        ({"requests": {"cpu": 2}}, {"limits": {"cpu": 4}}, {"cpu": 2000}),
        ({}, {"limits": {"cpu": 4, "memory": 5}}, {"cpu": 4000, "memory": 5}),
        ({"requests": {"memory": 3}}, {"limits": {"cpu": 4}}, {"cpu": 4000, "memory": 3}),
        ({"requests": {"memory": 3}}, {"requests": {"cpu": 4}}, {"cpu": 4000}),
        ({"limits": {"hugepages-2Mi": "4Mi"}}, {"requests": {"cpu": 4}},
         {"cpu": 4000, "hugepages-2Mi": 4 << 20}),
        ({"requests": {"cpu": 2}}, {}, {}),
    ],
)  # fmt: skip
def test_pod_level_requests_follow_from_containers_then_limits(
    containers: dict[str, Any], resources: dict[str, Any], requests: dict[str, int]
) -> None:
    """Only where the pod as a whole states something."""
    pod = make_pod({"containers": [{"resources": containers}], "resources": resources})
    assert pod.spec.resources is not None
    assert amounts(pod.spec.resources.requests.items()) == requests


def test_label_keys_are_merged_once_and_mean_the_same() -> None:
    """Present labels become requirements; merging again, or after the server, adds nothing."""
    keys = {"matchLabelKeys": ["rev", "absent"], "mismatchLabelKeys": ["tenant"]}
    term = {"topologyKey": "z", "labelSelector": {"matchLabels": {"app": "web"}}, **keys}
    null = {"topologyKey": "z", **keys}
    spec = {
        "affinity": {
            "podAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [term, null],
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 1, "podAffinityTerm": term}
                ],
            }
        }
    }
    pod = make_pod(spec, {"rev": "2", "tenant": "a"})
    assert merge_match_label_keys(pod) is pod
    affinity = pod.spec.affinity
    assert affinity is not None
    assert affinity.pod_affinity is not None
    required = affinity.pod_affinity.required
    expected = "app=web,rev in (2),tenant notin (a)"
    preferred = affinity.pod_affinity.preferred[0].pod_affinity_term
    for each in (required[0], preferred):
        assert str(compile_selector(each.label_selector)) == expected
    assert required[1].label_selector is None
    twin = decode({"apiVersion": "v1", "kind": "Pod", **msgspec.to_builtins(pod)})
    assert twin == pod
