"""How an answer is printed."""

from enum import StrEnum


class Format(StrEnum):
    """For people, or for programs."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"
