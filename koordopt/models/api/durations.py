"""Durations as Go writes them, such as ``1h30m`` or ``500ms``."""

import re

_UNIT_NANOSECONDS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_PART = re.compile(r"(?P<whole>[0-9]*)(?:\.(?P<fraction>[0-9]*))?(?P<unit>ns|us|µs|μs|ms|s|m|h)")
_MAX_NANOSECONDS = 2**63 - 1
_MAX_LENGTH = 128


def parse_duration_s(text: str) -> float | None:
    """Return the seconds of a Go duration, or None if the text is none.

    Examples
    --------
    >>> parse_duration_s("1m30s"), parse_duration_s("1.5h"), parse_duration_s("10")
    (90.0, 5400.0, None)
    """
    sign = -1 if text.startswith("-") else 1
    body = text[1:] if text[:1] in ("+", "-") else text
    if body == "0":
        return 0.0
    if not body or len(body) > _MAX_LENGTH:
        return None
    nanoseconds = 0
    position = 0
    while position < len(body):
        part = _PART.match(body, position)
        if part is None or not (part["whole"] or part["fraction"]):
            return None
        fraction = part["fraction"] or ""
        unit = _UNIT_NANOSECONDS[part["unit"]]
        nanoseconds += int(part["whole"] + fraction or "0") * unit // 10 ** len(fraction)
        position = part.end()
    return sign * nanoseconds / 10**9 if nanoseconds <= _MAX_NANOSECONDS else None
