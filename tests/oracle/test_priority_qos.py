"""QoS classes and priority bands agree with the reference."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from koordopt.models.api import keys, qos
from koordopt.models.api.core import Pod
from koordopt.models.api.decode import decode
from tests.oracle.records import Record, assert_agreement

pytestmark = pytest.mark.oracle


def _quantities(amounts: Mapping[str, int]) -> dict[str, str]:
    """Return recorded amounts as a manifest writes them."""
    written = {}
    for name, amount in amounts.items():
        if name == "cpu_milli":
            written["cpu"] = f"{amount}m"
        else:
            written["memory" if name == "memory_bytes" else name] = str(amount)
    return written


def _pod(recorded: Mapping[str, Any]) -> Pod:
    containers = [
        {
            "name": f"c{index}",
            "resources": {each: _quantities(container[each]) for each in container},
        }
        for index, container in enumerate(recorded["containers"])
    ]
    pod = decode(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "p", "labels": recorded.get("labels")},
            "spec": {
                "priority": recorded.get("priority"),
                "priorityClassName": recorded.get("priority_class_name"),
                "containers": containers,
            },
            "status": {"qosClass": recorded.get("status_qos_class")},
        }
    )
    assert isinstance(pod, Pod)
    return pod


def _differences(record: Record) -> Iterator[str]:
    pod = _pod(record["pod"])
    label = pod.metadata.labels.get(keys.LABEL_SUB_PRIORITY, "")
    found = {
        "kubernetes_qos": qos.effective_kubernetes_qos(pod),
        "qos_raw": qos.raw_qos(pod).value,
        "qos_with_default": qos.qos_of(pod).value,
        "priority_class_raw": qos.raw_band(pod).value,
        "priority_class_with_default": qos.band_of(pod).value,
        "priority_value_with_default": qos.priority_of(pod),
        "sub_priority": {
            "value": qos.sub_priority(pod),
            "parse_error": bool(label) and qos.parse_sub_priority(label) is None,
        },
    }
    # `webhook`, what admission answers, is not about classes; every other field is compared.
    for field in record["expect"].keys() - {"webhook"}:
        if found[field] != record["expect"][field]:
            yield f"{field} is {found[field]}, expected {record['expect'][field]}"


def test_classes_and_bands_are_those_of_the_reference() -> None:
    """Raw and effective QoS class, band, priority and sub-priority are the same."""
    assert_agreement("reference/priority_qos", _differences)
