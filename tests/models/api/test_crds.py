"""Custom resources."""

import json
from typing import Any

import pytest

from koordopt.models.api import keys
from koordopt.models.api.crds import Device, ElasticQuota, NodeMetric
from koordopt.models.api.decode import ObjectError, decode
from koordopt.models.quotas import quota_spec


def make_quota(
    annotations: dict[str, Any] | None = None, labels: dict[str, str] | None = None, **spec: Any
) -> ElasticQuota:
    """Return a quota, with labels and annotations by the last part of their key."""
    written = {
        keys.QUOTA_PREFIX + key: value if isinstance(value, str) else json.dumps(value)
        for key, value in (annotations or {}).items()
    }
    named = {keys.QUOTA_PREFIX + key: value for key, value in (labels or {}).items()}
    quota = decode(
        {
            "apiVersion": "scheduling.sigs.k8s.io/v1alpha1",
            "kind": "ElasticQuota",
            "metadata": {"name": "q", "namespace": "ns", "annotations": written, "labels": named},
            "spec": spec,
        }
    )
    assert isinstance(quota, ElasticQuota)
    return quota


def test_quota_without_labels() -> None:
    """It lies under the root, lends, and weighs as much as its max."""
    quota = make_quota(min={"cpu": "1500m"}, max={"cpu": 4, "memory": "8Gi"})
    assert (quota.parent, quota.tree_id) == (keys.QUOTA_ROOT, "")
    assert quota.lends
    flags = (quota.is_parent, quota.is_root, quota.ignores_default_tree, quota.allows_force_update)
    assert not any(flags)
    assert quota.min == {"cpu": 1500}
    assert quota.shared_weight == quota.admission == quota.max == {"cpu": 4000, "memory": 8 << 30}
    assert quota.total_resource is None
    assert quota.namespaces == ()
    assert quota_spec(quota).shared_weight is None


def test_quota_reads_labels_and_annotations() -> None:
    """Flags are compared with exact words."""
    quota = make_quota(
        {
            "shared-weight": {"cpu": 2},
            "total-resource": {"cpu": 100},
            "namespaces": ["a", "b"],
            "guaranteed": {"cpu": 3},
        },
        {"parent": "p", "is-parent": "true", "is-root": "True", "allow-lent-resource": "false"},
        max={"cpu": 4},
    )
    spec = quota_spec(quota)
    assert (spec.name, spec.parent, spec.is_parent, spec.is_root) == ("q", "p", True, False)
    assert not spec.lends
    assert (spec.shared_weight, spec.total_resource) == ({"cpu": 2000}, {"cpu": 100_000})
    assert (spec.namespace, spec.bound_namespaces) == ("ns", ("a", "b"))
    assert quota.guaranteed == {"cpu": 3000}
    assert quota.unreadable_annotations == ()


@pytest.mark.parametrize("text", ["{", "[]", '{"cpu": "x"}', '{"cpu": "-1"}', "[" * 100_000])
def test_unreadable_annotations_count_as_absent_and_are_named(text: str) -> None:
    """The quota is used all the same."""
    quota = make_quota({"shared-weight": text, "total-resource": text}, max={"cpu": 4})
    assert quota.shared_weight == {"cpu": 4000}
    assert quota.total_resource is None
    assert quota.unreadable_annotations == (
        keys.ANNOTATION_QUOTA_SHARED_WEIGHT,
        keys.ANNOTATION_QUOTA_TOTAL_RESOURCE,
    )


@pytest.mark.parametrize("text", ["{", "{}", "[1]"])
def test_unreadable_namespaces_bind_none(text: str) -> None:
    """The annotation is named."""
    quota = make_quota({"namespaces": text})
    assert quota.namespaces == ()
    assert quota.unreadable_annotations == (keys.ANNOTATION_QUOTA_NAMESPACES,)


def test_all_zero_weight_is_max_and_a_partial_one_stands() -> None:
    """A resource that a weight does not name weighs nothing."""
    assert make_quota({"shared-weight": {"cpu": 0}}, max={"cpu": 4}).shared_weight == {"cpu": 4000}
    partial = make_quota({"shared-weight": {"cpu": 1}}, max={"cpu": 4, "memory": 5})
    assert partial.shared_weight == {"cpu": 1000}


def test_deprecated_batch_names_are_read_under_present_ones() -> None:
    """Unless the present one is there as well."""
    old = "koordinator.sh/batch-cpu"
    assert make_quota(min={old: 5}).min == {keys.RESOURCE_BATCH_CPU: 5}
    both = {old: 5, keys.RESOURCE_BATCH_CPU: 6}
    assert make_quota(max=both).max == both


def test_device_resources_and_topology() -> None:
    """Deprecated names are renamed, health is false unless stated."""
    entry = {
        "type": "gpu",
        "minor": 1,
        "resources": {"kubernetes.io/gpu-core": 100},
        "topology": {"socketID": -1, "nodeID": 0, "pcieID": "p", "busID": "b"},
        "vfGroups": [{"labels": None, "vfs": [{"minor": 2, "busID": "c"}]}],
    }
    raw = {"kind": "Device", "metadata": {"name": "n"}, "spec": {"devices": [entry]}}
    device = decode({"apiVersion": "scheduling.koordinator.sh/v1alpha1", **raw})
    assert isinstance(device, Device)
    card = device.spec.devices[0]
    assert card.amounts == {keys.RESOURCE_GPU_CORE: 100}
    assert not card.health
    assert card.topology is not None
    assert (card.topology.node_id, card.topology.pcie_id) == (0, "p")
    assert card.vf_groups[0].vfs[0].bus_id == "c"


def test_node_metric_gives_amounts() -> None:
    """Usage in base units; parts that are absent are empty."""
    usage = {"resources": {"cpu": "1500m", "memory": "1Gi"}}
    status = {
        "updateTime": "2026-01-01T00:00:00Z",
        "nodeMetric": {"nodeUsage": usage, "systemUsage": None},
        "podsMetric": [{"name": "p", "namespace": "ns", "podUsage": usage}],
    }
    raw = {"kind": "NodeMetric", "metadata": {"name": "n"}, "status": status}
    metric = decode({"apiVersion": "slo.koordinator.sh/v1alpha1", **raw})
    assert isinstance(metric, NodeMetric)
    assert metric.status.node_metric is not None
    assert metric.status.node_metric.node_usage.amounts == {"cpu": 1500, "memory": 1 << 30}
    assert metric.status.node_metric.system_usage.amounts == {}
    assert metric.status.pods_metric[0].pod_usage.amounts["cpu"] == 1500


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"min": {"cpu": "-1"}}, "spec.min.cpu"),
        ({"max": {"cpu": "1K"}}, "spec.max.cpu"),
        ({"max": []}, "spec.max"),
        ({"max": {5: 1}}, "spec.max"),
    ],
)
def test_bad_quota_is_refused_with_its_field(spec: dict[str, Any], field: str) -> None:
    """The same kind of message as for pods."""
    with pytest.raises(ObjectError) as caught:
        make_quota(**spec)
    assert (caught.value.object, caught.value.field) == ("ElasticQuota ns/q", field)
