"""Cards and their records as no agent should write them."""

import json

import numpy as np
import pytest

from koordopt.models.api.decode import decode
from koordopt.models.snapshot import ClusterObjects, ClusterSnapshot
from tests.builders import make_device, make_node, make_pod

RECORD = "scheduling.koordinator.sh/device-allocated"


def holder(record):
    """Return a running pod that asks for a card and has this record."""
    return make_pod("old", node="a", requests={"nvidia.com/gpu": "1"}, annotations={RECORD: record})


def snapshot_of(devices, pods=()):
    objects = ClusterObjects(nodes=(make_node("a"),), devices=tuple(devices), pods=tuple(pods))
    return ClusterSnapshot.from_objects(objects)


def entry(amount, minor=0):
    return json.dumps({"gpu": [{"minor": minor, "resources": {"koordinator.sh/gpu-core": amount}}]})


@pytest.mark.parametrize(
    "record",
    [
        "{}",
        '{"gpu": null}',
        '{"gpu": []}',
        '{"rdma": [{"minor": 0}]}',
        '{"gpu": [1]}',
        "[" * 100_000,
        entry("-100"),
        entry("1e9999"),
        entry("100", minor=True),
    ],
)
def test_a_pod_whose_record_says_nothing_holds_a_card_all_the_same(record):
    """Otherwise its card would be given to another pod."""
    snapshot = snapshot_of([make_device("a", 2**30, 2**30)], [holder(record)])
    assert snapshot.cards.used.sum(axis=0).tolist() == [1000, 1000, 2**30]
    assert snapshot.warnings == ("Pod default/old: no readable device allocation; cards assumed",)


@pytest.mark.parametrize("amount", ["9223372036854775807", "1000000", "8E"])
def test_a_record_beyond_the_card_leaves_it_over_full(amount):
    snapshot = snapshot_of([make_device("a", 2**30, 2**30)], [holder(entry(amount))])
    first, second = snapshot.cards.capacity - snapshot.cards.used
    assert first.min() < 0
    assert second.tolist() == [1000, 1000, 2**30]


def test_of_two_cards_with_one_minor_the_first_counts():
    device = make_device("a", 2**30, 2**31)
    infos = tuple(info.model_copy(update={"minor": 3}) for info in device.spec.devices)
    spec = device.spec.model_copy(update={"devices": infos})
    snapshot = snapshot_of([device.model_copy(update={"spec": spec})])
    assert snapshot.cards.minor.tolist() == [3]
    assert snapshot.cards.capacity[:, 2].tolist() == [2**30]
    assert snapshot.warnings == ("Device a: gpu 3 is listed twice; the first counts",)


def test_a_card_of_absurd_size_keeps_within_64_bits():
    huge = "9223372036854775807"
    names = ("gpu-core", "gpu-memory", "gpu-memory-ratio")
    device = decode(
        {
            "apiVersion": "scheduling.koordinator.sh/v1alpha1",
            "kind": "Device",
            "metadata": {"name": "a"},
            "spec": {
                "devices": [
                    {
                        "type": "gpu",
                        "minor": 0,
                        "health": True,
                        "resources": {f"koordinator.sh/{name}": huge for name in names},
                    }
                ]
            },
        }
    )
    assert (snapshot_of([device]).cards.capacity > 2**49).all()
    assert snapshot_of([device]).cards.capacity.dtype == np.int64
