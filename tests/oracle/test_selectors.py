"""Label selectors agree with what Kubernetes selects."""

from collections.abc import Iterator

import msgspec
import pytest

from koordopt.errors import InvalidInputError
from koordopt.models.api.core import LabelSelector
from koordopt.models.api.selector_text import parse_selector
from koordopt.models.api.selectors import Selector, compile_selector
from tests.oracle.records import Record, assert_agreement

pytestmark = pytest.mark.oracle


def _selector(record: Record) -> Selector:
    if record["kind"] == "parse":
        return parse_selector(record["s"])
    written = record["selector"]
    return compile_selector(None if written is None else msgspec.convert(written, LabelSelector))


def _differences(record: Record) -> Iterator[str]:
    written = record["s"] if record["kind"] == "parse" else record["selector"]
    try:
        selector = _selector(record)
    except InvalidInputError:
        if record["ok"]:
            yield f"{written!r} is refused"
        return
    if not record["ok"]:
        yield f"{written!r} is read as {selector}"
        return
    if selector.is_empty != record["empty"]:
        yield f"{written!r}: empty is {selector.is_empty}"
    if str(selector) != record.get("string", ""):
        yield f"{written!r}: text is {str(selector)!r}, expected {record.get('string')!r}"
    for labels, expected in zip(record["labels"], record["matches"], strict=True):
        if selector.matches(labels) != expected:
            yield f"{written!r} matches {labels}: expected {expected}"


def test_selectors_select_what_kubernetes_selects() -> None:
    """Every selector, as an object or as text, is refused alike or matches the same labels."""
    assert_agreement("upstream/selectors", _differences)
