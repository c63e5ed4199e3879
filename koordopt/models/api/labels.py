"""What label keys and values may look like."""

import re
from functools import lru_cache

MAX_NAME_LENGTH = 63
MAX_PREFIX_LENGTH = 253

_NAME = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?")
_DNS_LABEL = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = re.compile(rf"{_DNS_LABEL}(?:\.{_DNS_LABEL})*")
# Go's strconv.ParseInt with base 10: an optional sign and ASCII digits.
_INTEGER = re.compile(r"[+-]?[0-9]+")


@lru_cache(maxsize=16384)
def is_label_value(value: str) -> bool:
    """Whether a label may have this value: empty, or at most 63 of ``A-Za-z0-9-_.``."""
    return not value or (len(value) <= MAX_NAME_LENGTH and _NAME.fullmatch(value) is not None)


@lru_cache(maxsize=16384)
def is_label_key(key: str) -> bool:
    """Whether a label may have this key: a name, or a DNS subdomain, a slash and a name."""
    prefix, slash, name = key.rpartition("/")
    if slash and (len(prefix) > MAX_PREFIX_LENGTH or not _SUBDOMAIN.fullmatch(prefix)):
        return False
    return len(name) <= MAX_NAME_LENGTH and _NAME.fullmatch(name) is not None


def is_subdomain(name: str) -> bool:
    """Whether an object that is named like a DNS subdomain may have this name."""
    return len(name) <= MAX_PREFIX_LENGTH and _SUBDOMAIN.fullmatch(name) is not None


def parse_int64(text: str) -> int | None:
    """Return the 64-bit integer that a label value stands for, or None if it is none."""
    # int64 has at most 19 digits; the bound on the length keeps leading zeros, not huge numbers.
    if len(text) > 256 or not _INTEGER.fullmatch(text):
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None
