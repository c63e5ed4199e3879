"""What is wrong with an object: which field, what stands there, and what should."""

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import msgspec
import pydantic

from koordopt.errors import InvalidInputError
from koordopt.models.units import NANOS_PER_UNIT, Quantity, parse_quantity

_MAX_SHOWN: Final = 60
_MAX_NANOS: Final = (2**63 - 1) * NANOS_PER_UNIT
QUANTITY: Final = "a quantity such as 500m, 2 or 4Gi, not negative and at most 9223372036854775807"
MOMENT: Final = "a date and time with a zone, such as 2026-01-31T12:00:00Z"


class ObjectError(InvalidInputError):
    """Raised for an object that cannot be used; the objects beside it still can.

    Attributes
    ----------
    object
        Kind and ``namespace/name``, or what is known of them.
    field
        Path of the field at fault, such as ``spec.containers[0].resources.requests.cpu``.
    found
        What stands there, as a message shows it.
    expected
        What should stand there.
    """

    def __init__(self, object_: str, field: str, found: str, expected: str) -> None:
        field = one_line(field)
        super().__init__(f"{object_}: {field} is {found}; expected {expected}.")
        self.object = object_
        self.field = field
        self.found = found
        self.expected = expected

    def __reduce__(self) -> tuple[type["ObjectError"], tuple[str, str, str, str]]:
        """Rebuild from the four parts when it crosses a process border."""
        return (ObjectError, (self.object, self.field, self.found, self.expected))


class Fault(NamedTuple):
    """A field, the value found there, and what was expected."""

    field: str
    found: object
    expected: str


def shown(value: object) -> str:
    """Return a value as a message shows it: one line, quoted, cut when it is long."""
    if value is None:
        return "nothing"
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    text = repr(value[: 2 * _MAX_SHOWN] if isinstance(value, str) else value)
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}..."


def one_line(text: str) -> str:
    """Return a text as it is if it prints on one line, else quoted."""
    return text if text.isprintable() else shown(text)


def describe(raw: Mapping[str, Any], kind: str) -> str:
    """Return how a message names an object: kind and ``namespace/name``, or what there is."""
    metadata = raw.get("metadata")
    metadata = metadata if isinstance(metadata, Mapping) else {}
    name, namespace = metadata.get("name"), metadata.get("namespace")
    if not isinstance(name, str) or not name:
        prefix = metadata.get("generateName")
        name = f"{prefix}*" if isinstance(prefix, str) and prefix else "without a name"
    if isinstance(namespace, str) and namespace:
        name = f"{namespace}/{name}"
    return f"{kind} {one_line(name)}"


# Faults that msgspec finds.

_LOCATED = re.compile(r"(?P<what>.*?)(?: - at (?P<key>`key` in )?`\$(?P<path>[^`]*)`)?", re.DOTALL)
_STEP = re.compile(r"\.(?P<name>[^.\[]+)|\[(?P<index>[0-9]+|\.\.\.)\]")
_GOT = re.compile(r"Expected `(?P<types>[^`]+)`(?P<bound> [<>]=? .+)?")
_WORDS: Final = {
    "object": "a mapping",
    "array": "a list",
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "datetime": MOMENT,
}


def fault_of_conversion(raw: object, error: msgspec.ValidationError) -> Fault:
    """Return the fault that msgspec found in ``raw``."""
    match = _LOCATED.fullmatch(str(error))
    assert match is not None  # every part is optional
    expected = _expectation(match["what"])
    value, path = raw, ""
    for step in _STEP.finditer(match["path"] or ""):
        if step["name"] is not None:
            name: object = step["name"]
            path = f"{path}.{name}" if path else str(name)
            value = value.get(name) if isinstance(value, Mapping) else None
        elif step["index"] == "...":
            name, value = _culprit(value, expected)
            path = f"{path}.{name}"
        else:
            value = value[int(step["index"])] if isinstance(value, list | tuple) else None
            path = f"{path}[{step['index']}]"
    if match["key"]:
        wrong = (
            [key for key in value if not isinstance(key, str)] if isinstance(value, dict) else []
        )
        return Fault(path or "object", wrong[0] if wrong else value, "text as keys")
    return Fault(path or "object", value, expected)


def _expectation(what: str) -> str:
    got = _GOT.match(what)
    if got is None:
        return MOMENT if "RFC3339" in what else QUANTITY
    words = [_WORDS[each] for each in got["types"].split(" | ") if each in _WORDS]
    bound = got["bound"] or ""
    return (" or ".join(words) or got["types"]) + bound.replace("<=", "up to").replace(">=", "from")


def _culprit(value: object, expected: str) -> tuple[object, object]:
    """Return the first entry of a mapping that is not as expected; msgspec does not name it."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            if expected == QUANTITY:
                if not is_quantity(item):
                    return key, item
            elif not isinstance(item, str):
                return key, item
    return "*", None


def read_quantity(value: Any) -> Quantity:
    """Return the quantity that a field of an object states.

    Raises
    ------
    InvalidInputError
        If it is none, is negative, or does not fit 64 bits.
    """
    quantity = parse_quantity(value)
    if not 0 <= quantity.nanos <= _MAX_NANOS:
        raise InvalidInputError(f"quantity is {shown(value)}; expected {QUANTITY}.")
    return quantity


def is_quantity(value: Any) -> bool:
    """Whether `read_quantity` takes a value."""
    try:
        read_quantity(value)
    except InvalidInputError:
        return False
    return True


# Faults that pydantic finds.

_PYDANTIC_WORDS: Final = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "greater_than_equal": "a whole number that fits 32 bits",
    "less_than_equal": "a whole number that fits 32 bits",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "tuple_type": "a list",
    "datetime_type": MOMENT,
    "datetime_parsing": MOMENT,
    "datetime_from_date_parsing": MOMENT,
    "timezone_aware": MOMENT,
    "value_error": QUANTITY,
}


def fault_of_model(error: pydantic.ValidationError) -> Fault:
    """Return the first fault that pydantic found."""
    first = error.errors(include_url=False, include_context=False)[0]
    steps, expected = first["loc"], _PYDANTIC_WORDS.get(first["type"], first["msg"])
    if steps and steps[-1] == "[key]":
        steps, expected = steps[:-2], "text as keys"
    path = ""
    for step in steps:
        path += f"[{step}]" if isinstance(step, int) else f".{step}" if path else step
    return Fault(path or "object", first["input"], expected)
