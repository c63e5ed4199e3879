"""QoS classes and priority bands; the rows FX-V1 to FX-V6 of the specification."""

from typing import Any

import pytest

from koordopt.models.api.core import Pod
from koordopt.models.api.decode import decode
from koordopt.models.api.qos import (
    PriorityBand,
    QosClass,
    band_of,
    band_of_priority,
    parse_sub_priority,
    priority_of,
    qos_of,
    raw_band,
    sub_priority,
)

BAND = "koordinator.sh/priority-class"
QOS = "koordinator.sh/qosClass"


def make_pod(
    labels: dict[str, str], priority: int | None = None, kubernetes_qos: str = "Burstable"
) -> Pod:
    """Return a pod of a QoS class that its status states."""
    raw: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "labels": labels},
        "spec": {"priority": priority},
        "status": {"qosClass": kubernetes_qos},
    }
    pod = decode(raw)
    assert isinstance(pod, Pod)
    return pod


@pytest.mark.parametrize(
    ("pod", "raw", "effective", "qos"),
    [
        (make_pod({}, 9500), PriorityBand.PROD, PriorityBand.PROD, QosClass.LS),
        (make_pod({}, 8500), PriorityBand.NONE, PriorityBand.PROD, QosClass.LS),
        (
            make_pod({BAND: "koord-batch"}, 9500),
            PriorityBand.BATCH,
            PriorityBand.BATCH,
            QosClass.LS,
        ),
        (
            make_pod({BAND: "gold"}, 9500, "BestEffort"),
            PriorityBand.NONE,
            PriorityBand.BATCH,
            QosClass.BE,
        ),
        (make_pod({}, None, "Guaranteed"), PriorityBand.NONE, PriorityBand.PROD, QosClass.LSR),
        (make_pod({QOS: "BE"}, 5000), PriorityBand.BATCH, PriorityBand.BATCH, QosClass.BE),
    ],
    ids=[f"FX-V{number}" for number in range(1, 7)],
)
def test_classes_raw_and_effective(
    pod: Pod, raw: PriorityBand, effective: PriorityBand, qos: QosClass
) -> None:
    """Labels first, then numbers, then what Kubernetes says."""
    assert (raw_band(pod), band_of(pod), qos_of(pod)) == (raw, effective, qos)


@pytest.mark.parametrize(
    ("priority", "band"),
    [
        (2999, PriorityBand.NONE),
        (3000, PriorityBand.FREE),
        (3999, PriorityBand.FREE),
        (4000, PriorityBand.NONE),
        (5999, PriorityBand.BATCH),
        (7000, PriorityBand.MID),
        (8000, PriorityBand.NONE),
        (9999, PriorityBand.PROD),
        (10000, PriorityBand.NONE),
        (-7000, PriorityBand.NONE),
        (None, PriorityBand.NONE),
    ],
)
def test_band_is_the_thousand_of_the_priority(priority: int | None, band: PriorityBand) -> None:
    """Both ends belong to the band."""
    assert band_of_priority(priority) is band


def test_priority_falls_back_to_the_default_of_the_band() -> None:
    """Zero counts as unset."""
    assert priority_of(make_pod({BAND: "koord-mid"}, 0)) == 7500
    assert priority_of(make_pod({BAND: "koord-mid"}, 7100)) == 7100
    assert priority_of(make_pod({}, None, "BestEffort")) == 5500


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("5", 5), ("-7", -7), ("+7", 7), ("0x10", 16), ("010", 8), ("0o17", 15), ("0b11", 3),
        ("1_000", 1000), ("0", 0), ("2147483647", 2**31 - 1), ("2147483648", None), ("08", None),
        ("", None), ("bad", None), ("1__0", None), ("_1", None), ("1.5", None), ("5\n", None),
    ],
)  # fmt: skip
def test_sub_priority_is_an_integer_of_any_base(text: str, number: int | None) -> None:
    """What cannot be read, or does not fit 32 bits, counts as zero."""
    assert parse_sub_priority(text) == number
    assert sub_priority(make_pod({"koordinator.sh/priority": text})) == (number or 0)
