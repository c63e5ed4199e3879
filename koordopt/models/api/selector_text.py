"""Selectors written as text, such as ``app in (web, db),tier!=cache,!canary``."""

import re
from typing import NamedTuple, NoReturn

from koordopt.errors import InvalidInputError
from koordopt.models.api.selectors import Operator, Requirement, Selector

_SPACE = " \t\r\n"
# An operator is the longest of these; a word is anything up to a space or one of their characters.
_TOKEN = re.compile(rf"[{_SPACE}]*(?:(?P<symbol>==|!=|[=!(),<>])|(?P<word>[^{_SPACE}=!(),<>]+)|\Z)")
_OPERATORS = {
    operator.value: operator
    for operator in Operator
    if operator not in (Operator.EXISTS, Operator.DOES_NOT_EXIST)
}


class _Token(NamedTuple):
    text: str
    is_word: bool


_END = _Token("", is_word=False)


def parse_selector(text: str) -> Selector:
    """Return the selector that a text stands for.

    The empty text matches everything. ``in`` and ``notin`` accept empty values, as in ``a in ()``.

    Raises
    ------
    InvalidInputError
        If the text does not parse, or a key or value is not valid.
    """
    return _Parser(text).parse()


class _Parser:
    """One pass over the tokens of a selector."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens: list[_Token] = []
        position = 0
        while match := _TOKEN.match(text, position):
            position = match.end()
            if match["word"] is not None:
                self._tokens.append(_Token(match["word"], is_word=True))
            elif match["symbol"] is not None:
                self._tokens.append(_Token(match["symbol"], is_word=False))
            else:
                break
        self._next = 0

    def parse(self) -> Selector:
        if self._peek() is _END:
            return Selector()
        requirements = [self._requirement()]
        while (token := self._take()) is not _END:
            if token.text != ",":
                self._fail(token, "',' or the end")
            requirements.append(self._requirement())
        requirements.sort(key=lambda requirement: requirement.key)
        return Selector(tuple(requirements))

    def _requirement(self) -> Requirement:
        token = self._take()
        if token == ("!", False):
            return Requirement(self._word(self._take()), Operator.DOES_NOT_EXIST)
        key = self._word(token)
        if self._peek() is _END or self._peek().text == ",":
            return Requirement(key, Operator.EXISTS)
        token = self._take()
        operator = _OPERATORS.get(token.text)
        if operator is None:
            self._fail(token, "in, notin, =, ==, !=, < or >")
        if operator in (Operator.IN, Operator.NOT_IN):
            return Requirement(key, operator, self._values())
        if self._peek() is _END or self._peek().text == ",":
            return Requirement(key, operator, ("",))
        return Requirement(key, operator, (self._word(self._take()),))

    def _values(self) -> tuple[str, ...]:
        """Return the words between brackets; a comma without a word beside it is an empty one."""
        token = self._take()
        if token.text != "(":
            self._fail(token, "'('")
        values: set[str] = set()
        expects_word = True
        while (token := self._take()).text != ")":
            if token.is_word and expects_word:
                values.add(token.text)
                expects_word = False
            elif token.text == ",":
                if expects_word:
                    values.add("")
                expects_word = True
            else:
                self._fail(token, "',' or ')'")
        if expects_word:
            values.add("")
        return tuple(values)

    def _word(self, token: _Token) -> str:
        if not token.is_word:
            self._fail(token, "a word")
        return token.text

    def _peek(self) -> _Token:
        return self._tokens[self._next] if self._next < len(self._tokens) else _END

    def _take(self) -> _Token:
        token = self._peek()
        self._next += 1
        return token

    def _fail(self, token: _Token, expected: str) -> NoReturn:
        found = repr(token.text) if token.text else "the end"
        raise InvalidInputError(f"selector {self._text!r} has {found}; expected {expected}.")
