"""Manifests in YAML, read event by event.

The parser is libyaml's; building Python values straight from its events takes a quarter of the
time of a loader that composes nodes first (measured: 50 MB of ``kubectl get -o yaml`` in 8 s), and
a list is handed on item by item, so memory does not grow with it. Plain scalars mean what they
mean to kubectl. What it takes silently and nobody can want is refused: aliases without end,
nesting without end, tags of other languages, and a key given twice.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple, NoReturn

import yaml
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from koordopt.errors import InvalidInputError
from koordopt.models.api.faults import shown
from koordopt.runtime.planner.reading.documents import Document, with_list_kind

MAX_DEPTH: Final = 100
"""Levels of nesting; a pod needs about twelve."""

MAX_ALIASES: Final = 1_000
"""Aliases in one object. Writers that share equal parts need a handful."""

MAX_EXPANDED_NODES: Final = 1_000_000
"""Nodes that the aliases of one file may stand for, all together."""

_TAG = "tag:yaml.org,2002:"
_TRUE = frozenset({"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"})
_FALSE = frozenset({"false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"})
_NULL = frozenset({"", "~", "null", "Null", "NULL"})
# A plain scalar that starts otherwise is a string, which spares most of them the look-up.
_MAY_BE_TYPED = frozenset("+-.0123456789~nNtTfFyYoO")
_INTEGER = re.compile(r"[-+]?(?:0[bB][01]+|0[oO]?[0-7]+|0[xX][0-9a-fA-F]+|0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_OCTAL = re.compile(r"([-+]?)0([0-7]+)\Z")
# Sixty-four bits have at most this many characters in any base that is allowed, sign included.
_MAX_INTEGER_CHARS = 67
_INT64_MAX = 2**63 - 1


def read_yaml(data: bytes) -> Iterator[Document]:
    """Yield the objects of a YAML stream, lists taken apart.

    Parameters
    ----------
    data
        UTF-8 text of one or more documents. Empty documents are passed over.

    Yields
    ------
    Document
        An object, or an item of a list (a mapping with a sequence under ``items``).

    Raises
    ------
    InvalidInputError
        If the text is not YAML, is nested or aliased beyond the limits, or a document is not a
        mapping. The message starts with the line.
    """
    parser = yaml.CSafeLoader(data)
    try:
        yield from _Builder(parser).documents()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        msg = f"{where}{error.problem or error.context}; expected YAML"
        raise InvalidInputError(msg) from error
    except yaml.reader.ReaderError as error:
        line = data.count(b"\n", 0, error.position) + 1
        msg = f"line {line}: {error.reason}; expected YAML"
        raise InvalidInputError(msg) from error
    finally:
        parser.dispose()


def resolve_plain(text: str) -> object:
    """Return the value of a scalar written without quotes.

    Parameters
    ----------
    text
        The scalar.

    Returns
    -------
    object
        None, a bool, an int, a float or the text itself. Dates, numbers in base 60 and the single
        letters ``y`` and ``n`` stay text, and so do numbers that no 64-bit type holds.

    Examples
    --------
    >>> [resolve_plain(text) for text in ("yes", "0777", "1e3", "12:30:45", "2024-05-01", "")]
    [True, 511, 1000.0, '12:30:45', '2024-05-01', None]
    """
    if text in _NULL:
        return None
    if text[0] not in _MAY_BE_TYPED:
        return text
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    if len(text) <= _MAX_INTEGER_CHARS and _INTEGER.fullmatch(text):
        # Python wants 0o before octal digits, where YAML 1.1 has a bare zero.
        octal = _OCTAL.match(text)
        value = int(octal[1] + octal[2], 8) if octal else int(text, 0)
        if abs(value) <= _INT64_MAX:
            return value
    if _FLOAT.fullmatch(text):
        number = float(text)
        return text if number in (float("inf"), float("-inf")) else number
    return text


class _Aliased(NamedTuple):
    """An anchored value and how many nodes it has, aliases within it counted in full."""

    value: object
    nodes: int


class _Builder:
    """Python values from a stream of parser events."""

    def __init__(self, parser: yaml.CSafeLoader) -> None:
        # Events are told apart by type here, millions of times; their stubs only get in the way.
        self._next: Callable[[], Any] = parser.get_event
        self._anchors: dict[str, _Aliased | None] = {}
        self._depth = 0
        self._nodes = 0
        self._aliases = 0
        self._expanded = 0
        self._repeated_key: tuple[str, int] | None = None

    def documents(self) -> Iterator[Document]:
        """Yield the objects of every document."""
        number = 0
        is_empty = True
        while not isinstance(event := self._next(), StreamEndEvent):
            if not isinstance(event, DocumentStartEvent):
                continue
            number += 1
            place = f"document {number}"
            self._anchors.clear()
            self._begin_object()
            root = self._next()
            if isinstance(root, MappingStartEvent):
                is_empty = False
                yield from self._root(root, place)
            elif self._node(root) is not None:
                kind = "sequence" if isinstance(root, SequenceStartEvent) else "single value"
                self._fail(root, f"{place} is a {kind}", "a mapping with apiVersion and kind")
        if is_empty:
            msg = "holds no object; expected Kubernetes objects"
            raise InvalidInputError(msg)

    def _root(self, start: Any, place: str) -> Iterator[Document]:
        """Yield a document, or, when it is a list, each item as soon as it is complete."""
        before = self._enter(start)
        root: dict[str, object] = {}
        merges: list[dict[str, object]] = []
        nameless: list[Document] = []
        is_list = False
        while not isinstance(event := self._next(), MappingEndEvent):
            key, is_merge = self._key(event)
            event = self._next()
            if key == "items" and isinstance(event, SequenceStartEvent) and not is_list:
                is_list = True
                for item in self._items(event, place):
                    if isinstance(item.value, dict) and item.value.get("kind") is None:
                        nameless.append(item)
                    else:
                        yield item
            elif is_merge:
                merges += self._merged(event)
            else:
                self._put(root, key, event)
        self._leave(start, root, before, merges)
        if not is_list:
            yield Document(root, place, self._repeated_key)
        for item in nameless:
            yield item._replace(value=with_list_kind(item.value, root))

    def _items(self, start: Any, place: str) -> Iterator[Document]:
        """Yield the items of a list."""
        before = self._enter(start)
        index = 0
        while not isinstance(event := self._next(), SequenceEndEvent):
            # Whole items that are aliases count against the list, parts of items against the item.
            if not isinstance(event, AliasEvent):
                self._begin_object()
            value = self._node(event)
            yield Document(value, f"{place}, items[{index}]", self._repeated_key)
            index += 1
        self._leave(start, None, before)

    def _begin_object(self) -> None:
        self._aliases = 0
        self._repeated_key = None

    def _node(self, event: Any) -> object:
        """Return the value that starts with an event."""
        kind = type(event)
        if kind is ScalarEvent:
            self._nodes += 1
            value = self._scalar(event)
            if event.anchor is not None:
                self._anchors[event.anchor] = _Aliased(value, 1)
            return value
        if kind is MappingStartEvent:
            return self._mapping(event)
        if kind is SequenceStartEvent:
            return self._sequence(event)
        return self._alias(event)

    def _mapping(self, start: Any) -> dict[str, object]:
        before = self._enter(start)
        result: dict[str, object] = {}
        merges: list[dict[str, object]] = []
        next_event = self._next
        while type(event := next_event()) is not MappingEndEvent:
            key, is_merge = self._key(event)
            if is_merge:
                merges += self._merged(next_event())
            else:
                self._put(result, key, next_event())
        self._leave(start, result, before, merges)
        return result

    def _sequence(self, start: Any) -> list[object]:
        before = self._enter(start)
        result: list[object] = []
        next_event = self._next
        while type(event := next_event()) is not SequenceEndEvent:
            result.append(self._node(event))
        self._leave(start, result, before)
        return result

    def _put(self, into: dict[str, object], key: str, event: Any) -> None:
        """Read a value and store it under a key."""
        if key in into and self._repeated_key is None:
            self._repeated_key = (key, event.start_mark.line + 1)
        into[key] = self._node(event)

    def _merged(self, event: Any) -> list[dict[str, object]]:
        """Read the mappings that ``<<`` merges, the strongest first."""
        value = self._node(event)
        sources: list[Any] = value if isinstance(value, list) else [value]
        for source in sources:
            if not isinstance(source, dict):
                self._fail(event, "<< merges something else", "a mapping, or a list of them")
        return sources

    def _key(self, event: Any) -> tuple[str, bool]:
        """Return a key as text, and whether it is the merge key."""
        if type(event) is not ScalarEvent:
            self._fail(event, "a key is not a single value", "a string")
        if event.anchor is not None:
            self._anchors[event.anchor] = _Aliased(event.value, 1)
        self._nodes += 1
        # kubectl turns numbers and booleans that stand as keys into strings.
        return event.value, event.value == "<<" and event.implicit[0]

    def _scalar(self, event: Any) -> object:
        text: str = event.value
        tag = event.tag
        if tag is None or tag == "!":
            return resolve_plain(text) if tag is None and event.implicit[0] else text
        if tag in (_TAG + "str", _TAG + "timestamp"):
            return text
        value = resolve_plain(text)
        if tag == _TAG + "float" and type(value) is int:
            return float(value)
        wanted = {"int": int, "float": float, "bool": bool, "null": type(None)}
        if not tag.startswith(_TAG) or type(value) is not wanted.get(tag.removeprefix(_TAG)):
            name = tag.replace(_TAG, "!!")
            self._fail(event, f"{shown(text)} has the tag {shown(name)}", "a plain value")
        return value

    def _alias(self, event: Any) -> object:
        """Return what an alias stands for, within the limits."""
        target = self._anchors.get(event.anchor)
        if target is None:
            known = event.anchor in self._anchors
            problem = "stands for a value that holds it" if known else "has no anchor"
            self._fail(event, f"alias {shown(event.anchor)} {problem}", "an earlier anchor")
        self._aliases += 1
        self._nodes += target.nodes
        self._expanded += target.nodes
        if self._aliases > MAX_ALIASES:
            self._fail(event, f"more than {MAX_ALIASES} aliases in one object", "fewer")
        if self._expanded > MAX_EXPANDED_NODES:
            found = f"aliases stand for more than {MAX_EXPANDED_NODES} values"
            self._fail(event, found, "a file without such repetition")
        return target.value

    def _enter(self, start: Any) -> int:
        """Go one level down, and return the number of nodes before it."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            self._fail(start, f"nested deeper than {MAX_DEPTH} levels", "a Kubernetes object")
        tag = start.tag
        if tag is not None and tag not in (_TAG + "map", _TAG + "seq", "!"):
            self._fail(start, f"tag {shown(tag)}", "plain YAML")
        if start.anchor is not None:
            self._anchors[start.anchor] = None
        self._nodes += 1
        return self._nodes - 1

    def _leave(
        self,
        start: Any,
        value: Any,
        nodes_before: int,
        merges: Sequence[dict[str, object]] = (),
    ) -> None:
        """Go one level up; what the value says itself wins over what it merges."""
        for source in merges:
            for key, merged in source.items():
                value.setdefault(key, merged)
        self._depth -= 1
        if start.anchor is not None:
            self._anchors[start.anchor] = _Aliased(value, self._nodes - nodes_before)

    def _fail(self, event: Any, found: str, expected: str) -> NoReturn:
        line = event.start_mark.line + 1
        msg = f"line {line}: {found}; expected {expected}"
        raise InvalidInputError(msg)
