"""How an answer is printed."""

from enum import StrEnum


class Format(StrEnum):
    """For people, or for programs."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


def printable(text: str) -> str:
    r"""Return a text that stays on its line and moves no cursor, whoever chose the names in it.

    Examples
    --------
    >>> printable("red\x1b[31m"), printable("Zürich")
    ('red\\x1b[31m', 'Zürich')
    """
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)
