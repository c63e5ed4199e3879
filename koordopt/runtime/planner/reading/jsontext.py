"""Manifests in JSON: one object, a list, or several one after another.

A list is first cut into its items without looking into them, and each item is decoded on its
own, so at no time does the whole list exist as Python values (measured: 50 MB in 0.2 s). Where a
key is given twice the last value counts, as it does for kubectl.
"""

import json
import re
from collections.abc import Iterator
from math import isinf
from typing import Final

import msgspec

from koordopt.errors import InvalidInputError
from koordopt.runtime.planner.reading.documents import Document, with_list_kind

_TOKEN: Final = re.compile(rb'"(?:[^"\\]|\\.)*+"|[\[\]{}]', re.DOTALL)
_BYTE: Final = re.compile(r" \(byte (\d+)\)$")
_MAX_DIGITS: Final = 1_000


class _List(msgspec.Struct):
    """The outside of a list; an object of any other kind has no ``items``."""

    kind: msgspec.Raw = msgspec.Raw(b"null")
    api_version: msgspec.Raw = msgspec.field(default=msgspec.Raw(b"null"), name="apiVersion")
    items: msgspec.Raw = msgspec.Raw(b"null")


def _float(text: str) -> float | str:
    """Return a number, or the text of one that is too large for a double."""
    number = float(text)
    return text if isinf(number) else number


def _int(text: str) -> int | str:
    """Return a whole number, or the text of one with more digits than any amount has."""
    return text if len(text) > _MAX_DIGITS else int(text)


_as_list: Final = msgspec.json.Decoder(_List)
_as_items: Final = msgspec.json.Decoder(list[msgspec.Raw])
_as_value: Final = msgspec.json.Decoder(float_hook=_float)


def read_json(data: bytes) -> Iterator[Document]:
    """Yield the objects of a JSON text, lists taken apart.

    Parameters
    ----------
    data
        One JSON object in UTF-8, or several with nothing but white space between them.

    Yields
    ------
    Document
        An object, or an item of a list (an object with an array under ``items``).

    Raises
    ------
    InvalidInputError
        If the text is not JSON, ends early, is nested too deep, or has something else than an
        object at its top. The message starts with the line where that is known.
    """
    try:
        outer = _as_list.decode(data)
    except (msgspec.DecodeError, RecursionError) as error:
        spans = _split(data) if "trailing" in str(error) else []
        if len(spans) < 2:
            raise _unreadable(error, data, 0) from error
    else:
        yield from _objects(outer, data, "document 1")
        return
    for number, (start, end) in enumerate(spans, 1):
        text = data[start:end]
        try:
            outer = _as_list.decode(text)
        except (msgspec.DecodeError, RecursionError) as error:
            raise _unreadable(error, data, start) from error
        yield from _objects(outer, text, f"document {number}")


def _objects(outer: _List, text: bytes, place: str) -> Iterator[Document]:
    """Yield the object that a text holds, or its items."""
    items = bytes(outer.items)
    if not items.startswith(b"["):
        yield Document(_value(text), place)
        return
    parent = {"kind": _value(outer.kind), "apiVersion": _value(outer.api_version)}
    for index, item in enumerate(_as_items.decode(items)):
        yield Document(with_list_kind(_value(item), parent), f"{place}, items[{index}]")


def _value(text: bytes | msgspec.Raw) -> object:
    """Return the value of a JSON text that is known to be well formed."""
    try:
        return _as_value.decode(text)
    except msgspec.ValidationError:
        # An integer of hundreds of digits: one bad object, not a bad file.
        return json.loads(bytes(text), parse_int=_int, parse_float=_float)


def _split(data: bytes) -> list[tuple[int, int]]:
    """Return where each value at the top starts and ends; nothing when there is more between."""
    spans: list[tuple[int, int]] = []
    depth = start = end = 0
    for token in _TOKEN.finditer(data):
        character = token[0]
        if character in (b"{", b"["):
            if depth == 0:
                start = token.start()
                if data[end:start].strip():
                    return []
            depth += 1
        elif character in (b"}", b"]"):
            depth -= 1
            if depth == 0:
                end = token.end()
                spans.append((start, end))
    return [] if data[end:].strip() else spans


def _unreadable(error: Exception, data: bytes, start: int) -> InvalidInputError:
    """Return the error of a text that is not JSON, with the line where that shows."""
    problem = str(error)
    if isinstance(error, RecursionError):
        return InvalidInputError("nested too deep; expected a Kubernetes object")
    if isinstance(error, msgspec.ValidationError):
        return InvalidInputError("an array or a single value; expected an object")
    if "truncated" in problem:
        line = data.rstrip().count(b"\n") + 1
        return InvalidInputError(f"line {line}: ends within a value; expected the rest of the JSON")
    byte = _BYTE.search(problem)
    problem = _BYTE.sub("", problem).removeprefix("JSON is malformed: ")
    if byte is None:
        return InvalidInputError(f"{problem}; expected JSON")
    at = start + int(byte[1])
    line = data.count(b"\n", 0, at) + 1
    column = at - data.rfind(b"\n", 0, at)
    return InvalidInputError(f"line {line}, column {column}: {problem}; expected JSON")
