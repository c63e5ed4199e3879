"""Quantities agree with what Kubernetes reads."""

from collections.abc import Iterator

import pytest

from koordopt.errors import InvalidInputError
from koordopt.models.units import parse_quantity
from tests.oracle.records import Record, assert_agreement

pytestmark = pytest.mark.oracle


def _differences(record: Record) -> Iterator[str]:
    text = record["s"]
    try:
        quantity = parse_quantity(text)
    except InvalidInputError:
        if record["ok"]:
            yield f"{text!r} is refused"
        return
    if not record["ok"]:
        yield f"{text!r} is read as {quantity}"
        return
    expected = {
        "canonical": record["canonical"],
        "format": record["format"],
        "string": record.get("string", record["canonical"]),
        "value": record["value"],
        "milli": record["milli"],
    }
    found = {
        "canonical": quantity.canonical,
        "format": quantity.style.value,
        "string": str(quantity),
        "value": quantity.value(),
        "milli": quantity.milli(),
    }
    # `wrong` names integers that overflowed or were rounded towards zero upstream.
    for field in expected.keys() - set(record.get("wrong", ())):
        if found[field] != expected[field]:
            yield f"{text!r}: {field} is {found[field]}, expected {expected[field]}"


def test_quantities_are_read_as_kubernetes_reads_them() -> None:
    """Every text is accepted or refused alike, and stands for the same amount."""
    assert_agreement("upstream/quantities", _differences)
