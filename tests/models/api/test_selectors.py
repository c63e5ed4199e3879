"""Label and node selectors."""

from typing import Any

import msgspec
import pytest

from koordopt.errors import InvalidInputError
from koordopt.models.api.core import LabelSelector, NodeSelector
from koordopt.models.api.selector_text import parse_selector
from koordopt.models.api.selectors import compile_node_selector, compile_selector


def node_matches(*terms: dict[str, Any], labels: dict[str, str], name: str = "n1") -> bool:
    """Whether a node meets one of the terms."""
    selector = msgspec.convert({"nodeSelectorTerms": list(terms)}, NodeSelector)
    return compile_node_selector(selector).matches(labels, name)


def expression(operator: str, *values: str, key: str = "cores") -> dict[str, Any]:
    """Return a term of one expression."""
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


def field(operator: str, *values: str, key: str = "metadata.name") -> dict[str, Any]:
    """Return a term of one field expression."""
    return {"matchFields": [{"key": key, "operator": operator, "values": list(values)}]}


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        (expression("In", "4", "8"), True),
        (expression("NotIn", "8"), False),
        (expression("NotIn", "8", key="absent"), True),
        (expression("Exists"), True),
        (expression("DoesNotExist", key="absent"), True),
        (expression("Gt", "7"), True),
        (expression("Gt", "8"), False),
        (expression("Lt", "9"), True),
        (expression("Gt", "7", key="absent"), False),
        (expression("Gt", "7", key="model"), False),
        (expression("Gt", "many"), False),
        (expression("Near", "8"), False),
        (field("In", "n1"), True),
        (field("NotIn", "n1"), False),
        (field("In", "n1", "n2"), False),
        (field("Exists"), False),
        (field("In", "n1", key="metadata.uid"), False),
        ({**expression("Exists"), **field("In", "n2")}, False),
        ({}, False),
    ],
)
def test_node_term(term: dict[str, Any], expected: bool) -> None:
    """What is not valid, or empty, matches nothing."""
    assert node_matches(term, labels={"cores": "8", "model": "a100"}) is expected


def test_one_term_is_enough_and_an_invalid_one_does_no_harm() -> None:
    """Terms are alternatives."""
    labels = {"cores": "8"}
    assert node_matches(expression("Gt", "x"), expression("In", "8"), labels=labels)
    assert not node_matches(labels=labels)


def test_null_selector_matches_nothing_and_an_empty_one_everything() -> None:
    """The two are not the same, and neither is equal to the other."""
    nothing, everything = compile_selector(None), compile_selector(LabelSelector())
    assert not nothing.matches({})
    assert not nothing.is_empty
    assert everything.matches({"a": "b"})
    assert everything.is_empty
    assert nothing != everything


@pytest.mark.parametrize(
    ("text", "labels", "expected"),
    [
        ("", {}, True),
        ("a in ()", {"a": ""}, True),
        ("a notin (b,c)", {}, True),
        ("a!=b", {"a": "c"}, True),
        ("!a, b", {"b": ""}, True),
        ("a>1,a<3", {"a": "2"}, True),
        ("a>1", {"a": "x"}, False),
        ("in in (in)", {"in": "in"}, True),
    ],
)
def test_text(text: str, labels: dict[str, str], expected: bool) -> None:
    """Words such as in are ordinary keys and values where one may stand."""
    selector = parse_selector(text)
    assert selector.matches(labels) is expected
    assert parse_selector(str(selector)) == selector


@pytest.mark.parametrize(
    "text", ["a,", ",", "a;", "a in", "a in (b", "a>1.5", "a=b c", "-a", "a=-"]
)
def test_text_that_does_not_parse_is_refused(text: str) -> None:
    """The message shows what was found."""
    with pytest.raises(InvalidInputError, match="selector"):
        parse_selector(text)


def test_equal_selectors_are_equal_keys() -> None:
    """So that pods of one workload are answered once, whatever the order of their labels."""
    first = compile_selector(LabelSelector(match_labels={"a": "1", "b": "2"}))
    second = compile_selector(LabelSelector(match_labels={"b": "2", "a": "1"}))
    assert len({first, second}) == 1
