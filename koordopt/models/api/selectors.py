"""Label and node selectors: what is written, compiled to something that answers quickly.

A `Selector` is hashable, so that equal selectors of many pods can be answered once.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from itertools import chain

from koordopt.errors import InvalidInputError
from koordopt.models.api.core import (
    LabelSelector,
    NodeSelector,
    NodeSelectorTerm,
    SelectorRequirement,
)
from koordopt.models.api.labels import is_label_key, is_label_value, parse_int64

NAME_FIELD = "metadata.name"


class Operator(Enum):
    """How a requirement compares; the value is its spelling in a selector's text."""

    IN = "in"
    NOT_IN = "notin"
    EQUALS = "="
    DOUBLE_EQUALS = "=="
    NOT_EQUALS = "!="
    EXISTS = "exists"
    DOES_NOT_EXIST = "!"
    GREATER_THAN = ">"
    LESS_THAN = "<"


_LABEL_OPERATORS = {
    "In": Operator.IN,
    "NotIn": Operator.NOT_IN,
    "Exists": Operator.EXISTS,
    "DoesNotExist": Operator.DOES_NOT_EXIST,
}
NODE_OPERATORS = {**_LABEL_OPERATORS, "Gt": Operator.GREATER_THAN, "Lt": Operator.LESS_THAN}
_POSITIVE = frozenset({Operator.IN, Operator.EQUALS, Operator.DOUBLE_EQUALS})
_NEGATIVE = frozenset({Operator.NOT_IN, Operator.NOT_EQUALS})
_SETS = frozenset({Operator.IN, Operator.NOT_IN})
_EXISTENCE = frozenset({Operator.EXISTS, Operator.DOES_NOT_EXIST})
_COMPARISONS = frozenset({Operator.GREATER_THAN, Operator.LESS_THAN})


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on a label.

    Parameters
    ----------
    key
        Label key.
    operator
        How the label is compared.
    values
        What it is compared with; kept sorted.

    Raises
    ------
    InvalidInputError
        If the key or a value is not valid, or the number of values does not suit the operator.
    """

    key: str
    operator: Operator
    values: tuple[str, ...] = ()
    _set: frozenset[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Sort the values and check them."""
        object.__setattr__(self, "values", tuple(sorted(self.values)))
        object.__setattr__(self, "_set", frozenset(self.values))
        problem = self._problem()
        if problem:
            raise InvalidInputError(problem)

    def _problem(self) -> str:
        if not is_label_key(self.key):
            return f"selector key is {self.key!r}; expected a label key."
        count = len(self.values)
        if self.operator in _SETS and count == 0:
            return (
                f"selector on {self.key!r} has no values; {self.operator.value} needs at least one."
            )
        if self.operator in _EXISTENCE and count:
            return f"selector on {self.key!r} has values; Exists and DoesNotExist take none."
        if self.operator not in _SETS | _EXISTENCE and count != 1:
            return f"selector on {self.key!r} has {count} values; {self.operator.value} takes one."
        if self.operator in _COMPARISONS and parse_int64(self.values[0]) is None:
            return (
                f"selector on {self.key!r} compares with {self.values[0]!r}; expected an integer."
            )
        for value in self.values:
            if not is_label_value(value):
                return f"selector on {self.key!r} has value {value!r}; expected a label value."
        return ""

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether labels meet the requirement."""
        value = labels.get(self.key)
        operator = self.operator
        if operator in _POSITIVE:
            return value is not None and value in self._set
        if operator in _NEGATIVE:
            return value is None or value not in self._set
        if operator is Operator.EXISTS:
            return value is not None
        if operator is Operator.DOES_NOT_EXIST:
            return value is None
        number = None if value is None else parse_int64(value)
        bound = parse_int64(self.values[0])
        if number is None or bound is None:
            return False
        return number > bound if operator is Operator.GREATER_THAN else number < bound

    def __str__(self) -> str:
        """Return the text that `parse_selector` reads."""
        if self.operator is Operator.EXISTS:
            return self.key
        if self.operator is Operator.DOES_NOT_EXIST:
            return f"!{self.key}"
        if self.operator in _SETS:
            return f"{self.key} {self.operator.value} ({','.join(self.values)})"
        return f"{self.key}{self.operator.value}{self.values[0]}"


@dataclass(frozen=True, slots=True)
class Selector:
    """Requirements on labels, all of which must hold.

    Without requirements it matches everything, unless ``matches_nothing``.
    """

    requirements: tuple[Requirement, ...] = ()
    matches_nothing: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether it was written as an empty selector, which matches everything."""
        return not self.requirements and not self.matches_nothing

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether labels meet every requirement."""
        if self.matches_nothing:
            return False
        return all(requirement.matches(labels) for requirement in self.requirements)

    def __str__(self) -> str:
        """Return the text that `parse_selector` reads."""
        return ",".join(map(str, self.requirements))


EVERYTHING = Selector()
"""Matches every set of labels."""

NOTHING = Selector(matches_nothing=True)
"""Matches no set of labels."""


def _selector(requirements: Iterable[Requirement]) -> Selector:
    return Selector(tuple(sorted(requirements, key=lambda requirement: requirement.key)))


def compile_selector(selector: LabelSelector | None) -> Selector:
    """Return the meaning of a label selector: null matches nothing, an empty one everything.

    Raises
    ------
    InvalidInputError
        If a key, an operator or a value is not valid.
    """
    if selector is None:
        return NOTHING
    if not selector.match_labels and not selector.match_expressions:
        return EVERYTHING
    labels = (
        Requirement(key, Operator.EQUALS, (value,)) for key, value in selector.match_labels.items()
    )
    expressions = (_requirement(each, _LABEL_OPERATORS) for each in selector.match_expressions)
    return _selector(chain(labels, expressions))


def _requirement(expression: SelectorRequirement, operators: Mapping[str, Operator]) -> Requirement:
    operator = operators.get(expression.operator)
    if operator is None:
        raise InvalidInputError(
            f"selector operator is {expression.operator!r}; expected one of {', '.join(operators)}."
        )
    return Requirement(expression.key, operator, expression.values)


@dataclass(frozen=True, slots=True)
class CompiledNodeTerm:
    """Requirements on a node's labels and on its name, all of which must hold.

    ``included_names`` and ``excluded_names`` come from fields: a node's name must equal each of
    the first and none of the second. A term with ``is_void`` matches no node: it is empty or not
    valid.
    """

    labels: Selector = EVERYTHING
    included_names: tuple[str, ...] = ()
    excluded_names: tuple[str, ...] = ()
    is_void: bool = False

    def matches(self, labels: Mapping[str, str], name: str) -> bool:
        """Whether a node with these labels and this name meets the term."""
        return (
            not self.is_void
            and all(included == name for included in self.included_names)
            and name not in self.excluded_names
            and self.labels.matches(labels)
        )


_VOID_TERM = CompiledNodeTerm(is_void=True)


def compile_node_term(term: NodeSelectorTerm) -> CompiledNodeTerm:
    """Return the meaning of a node selector term.

    An empty term matches nothing. So does one that is not valid, for example ``Gt`` with an
    operand that is no integer: the API server lets such a term pass, and the terms beside it still
    count.
    """
    if not term.match_expressions and not term.match_fields:
        return _VOID_TERM
    included: list[str] = []
    excluded: list[str] = []
    for expression in term.match_fields:
        if expression.key != NAME_FIELD or len(expression.values) != 1:
            return _VOID_TERM
        if expression.operator == "In":
            included.append(expression.values[0])
        elif expression.operator == "NotIn":
            excluded.append(expression.values[0])
        else:
            return _VOID_TERM
    try:
        labels = _selector(_requirement(each, NODE_OPERATORS) for each in term.match_expressions)
    except InvalidInputError:
        return _VOID_TERM
    return CompiledNodeTerm(labels, tuple(included), tuple(excluded))


@dataclass(frozen=True, slots=True)
class CompiledNodeSelector:
    """Node selector terms of which one must hold; without terms it matches no node."""

    terms: tuple[CompiledNodeTerm, ...] = ()

    def matches(self, labels: Mapping[str, str], name: str) -> bool:
        """Whether a node with these labels and this name meets one of the terms."""
        return any(term.matches(labels, name) for term in self.terms)


def compile_node_selector(selector: NodeSelector) -> CompiledNodeSelector:
    """Return the meaning of a node selector."""
    return CompiledNodeSelector(tuple(map(compile_node_term, selector.node_selector_terms)))
