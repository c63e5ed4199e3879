"""Quantities as Kubernetes writes them, and the integer units that amounts are counted in.

A `Quantity` is exact: an integer number of billionths, never a float. An amount is a plain
integer in the base unit of its resource: thousandths of a core for ``cpu``, units (bytes, counts)
for everything else, rounded up once after summing.
"""

import re
from collections.abc import Iterable
from enum import Enum
from functools import lru_cache
from typing import Final

from koordopt.errors import InvalidInputError

NANOS_PER_UNIT: Final = 10**9
NANOS_PER_MILLI: Final = 10**6
BINARY_CAP: Final = 2**63 - 1
"""Quantities with a binary suffix are cut at this many units."""
MAX_TEXT_LENGTH: Final = 1024
"""Longest quantity text that is read."""

_DECIMAL_EXPONENT: Final = {
    "n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18,
}  # fmt: skip
_BINARY_EXPONENT: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIX: Final = {exponent: suffix for suffix, exponent in _DECIMAL_EXPONENT.items()}
_BINARY_SUFFIX: Final = ("", *_BINARY_EXPONENT)
# Exponents have at most four digits after leading zeros: more would only cost time and memory.
_PATTERN: Final = re.compile(
    r"([+-]?)0*([0-9]*)(?:\.([0-9]*))?(?:([KMGTPE]i)|[eE]([+-]?)0*([0-9]{1,4})|([numkMGTPE]?))"
)


class Format(Enum):
    """How a quantity is written."""

    DECIMAL_SI = "DecimalSI"
    BINARY_SI = "BinarySI"
    DECIMAL_EXPONENT = "DecimalExponent"


class Quantity:
    """An exact amount of a resource; immutable.

    Quantities compare and hash by amount (``1`` equals ``1000m``); the text does not matter.

    Parameters
    ----------
    nanos
        Amount in billionths of a unit.
    style
        How the amount is written.
    text
        Text to show until the amount changes; empty for the canonical form.
    """

    __slots__ = ("nanos", "style", "text")

    nanos: int
    style: Format
    text: str

    def __init__(self, nanos: int, style: Format = Format.DECIMAL_SI, text: str = "") -> None:
        object.__setattr__(self, "nanos", nanos)
        object.__setattr__(self, "style", style)
        object.__setattr__(self, "text", text)

    def __setattr__(self, name: str, value: object) -> None:
        """Refuse: quantities are shared."""
        raise AttributeError(f"Quantity is immutable; cannot set {name!r}.")

    def __delattr__(self, name: str) -> None:
        """Refuse: quantities are shared."""
        raise AttributeError(f"Quantity is immutable; cannot delete {name!r}.")

    def __reduce__(self) -> tuple[type["Quantity"], tuple[int, Format, str]]:
        """Rebuild from the three parts when unpickled or copied."""
        return (Quantity, (self.nanos, self.style, self.text))

    def value(self) -> int:
        """Return the amount in units, rounded away from zero."""
        return _divide_away_from_zero(self.nanos, NANOS_PER_UNIT)

    def milli(self) -> int:
        """Return the amount in thousandths, rounded away from zero."""
        return _divide_away_from_zero(self.nanos, NANOS_PER_MILLI)

    @property
    def canonical(self) -> str:
        """The shortest text with a whole mantissa, in the style of the quantity.

        From 1000E on, no suffix is left and upstream writes the bare mantissa; this does too.
        Amounts of that size are refused wherever an object is read.
        """
        if self.style is Format.BINARY_SI and self._fits_binary():
            return _binary_text(self.nanos // NANOS_PER_UNIT)
        mantissa, exponent = _engineering(self.nanos)
        if self.style is Format.DECIMAL_EXPONENT:
            return f"{mantissa}e{exponent}" if exponent else str(mantissa)
        return f"{mantissa}{_DECIMAL_SUFFIX.get(exponent, '')}"

    def _fits_binary(self) -> bool:
        return self.nanos % NANOS_PER_UNIT == 0 and abs(self.nanos) >= 1024 * NANOS_PER_UNIT

    def __str__(self) -> str:
        """Return the text as written, or the canonical one."""
        return self.text or self.canonical

    def __repr__(self) -> str:
        """Return an expression that reads back."""
        return f"parse_quantity({str(self)!r})"

    def __bool__(self) -> bool:
        """Whether the amount is not zero."""
        return self.nanos != 0

    def __eq__(self, other: object) -> bool:
        """Whether both are the same amount."""
        return self.nanos == other.nanos if isinstance(other, Quantity) else NotImplemented

    def __lt__(self, other: "Quantity") -> bool:
        """Whether this is the smaller amount."""
        return self.nanos < other.nanos

    def __le__(self, other: "Quantity") -> bool:
        """Whether this is not the larger amount."""
        return self.nanos <= other.nanos

    def __hash__(self) -> int:
        """Return a hash of the amount."""
        return hash(self.nanos)

    def __add__(self, other: "Quantity") -> "Quantity":
        """Return the exact sum, in the style of the first."""
        return Quantity(self.nanos + other.nanos, self.style)

    def __sub__(self, other: "Quantity") -> "Quantity":
        """Return the exact difference, in the style of the first."""
        return Quantity(self.nanos - other.nanos, self.style)


def parse_quantity(source: str | int | float) -> Quantity:
    """Return the quantity that a manifest's text or number stands for.

    Parameters
    ----------
    source
        Text such as ``"1500m"``, ``"2Gi"``, ``"1e3"``, or a number as YAML and JSON give it.

    Returns
    -------
    Quantity
        Exact down to a billionth; finer amounts are rounded away from zero.

    Raises
    ------
    InvalidInputError
        If this is no quantity.

    Examples
    --------
    >>> parse_quantity("0.1Gi").value()
    107374183
    >>> parse_quantity("129e6") == parse_quantity("129M")
    True
    """
    if type(source) is str:
        return _parse_text(source)
    if isinstance(source, bool) or not isinstance(source, str | int | float):
        raise InvalidInputError(f"quantity is {source!r}; expected text or a number.")
    # repr gives the shortest decimal that reads back to the same float: 0.1 stays 0.1.
    return _parse_text(repr(source) if isinstance(source, float) else str(source))


@lru_cache(maxsize=65536)
def _parse_text(text: str) -> Quantity:
    match = _PATTERN.fullmatch(text) if 0 < len(text) <= MAX_TEXT_LENGTH else None
    if match is None:
        shown = text if len(text) <= 40 else text[:40] + "…"
        raise InvalidInputError(
            f"quantity is {shown!r}; expected a number with an optional suffix, "
            "such as 500m, 2, 1.5, 4Gi or 1e3 (exponents up to 9999)."
        )
    sign, whole, fraction, binary, exponent_sign, exponent_digits, decimal = match.groups()
    whole, fraction = whole or "0", fraction or ""
    digits = int(whole + fraction)
    if binary:
        exponent = _BINARY_EXPONENT[binary]
        nanos = _scaled(digits << exponent, 9 - len(fraction))
        nanos = min(nanos, BINARY_CAP * NANOS_PER_UNIT)
        # Below one unit a binary suffix says nothing.
        tiny = 0 < nanos < NANOS_PER_UNIT
        style = Format.DECIMAL_SI if tiny else Format.BINARY_SI
        keeps = not fraction and len(whole) + exponent * 3 // 10 <= 14 and digits % 8 != 0
    else:
        style = Format.DECIMAL_SI if exponent_digits is None else Format.DECIMAL_EXPONENT
        exponent = (
            _DECIMAL_EXPONENT[decimal]
            if exponent_digits is None
            else int(exponent_sign + exponent_digits)
        )
        nanos = _scaled(digits, exponent + 9 - len(fraction))
        keeps = _keeps_decimal_text(whole + fraction, exponent - len(fraction))
    return Quantity(-nanos if sign == "-" else nanos, style, text if keeps else "")


def _keeps_decimal_text(digits: str, exponent: int) -> bool:
    """Whether upstream shows the text as written: short, whole thousands apart, not rounded."""
    return (
        exponent % 3 == 0
        and exponent >= -9
        and len(digits) <= 18
        and digits[0] != "0"
        and not digits.endswith("000")
    )


def _scaled(digits: int, power: int) -> int:
    """Return ``digits * 10**power``, rounded up."""
    scale: int = 10 ** abs(power)
    return digits * scale if power >= 0 else -(-digits // scale)


def _divide_away_from_zero(number: int, divisor: int) -> int:
    return -(-number // divisor) if number >= 0 else number // divisor


def _engineering(nanos: int) -> tuple[int, int]:
    """Return mantissa and exponent, the largest multiple of three that keeps it whole."""
    if nanos == 0:
        return 0, 0
    exponent = -9
    while nanos % 1000 == 0:
        nanos //= 1000
        exponent += 3
    return nanos, exponent


def _binary_text(units: int) -> str:
    step = 0
    while units % 1024 == 0 and step < 6:
        units //= 1024
        step += 1
    return f"{units}{_BINARY_SUFFIX[step]}"


def amount(resource: str, quantities: Iterable[Quantity]) -> int:
    """Return the sum of quantities of one resource as an integer amount.

    The sum is exact and rounded up once: ``cpu`` in thousandths of a core, anything else in units.

    Parameters
    ----------
    resource
        Name of the resource.
    quantities
        What to add.

    Returns
    -------
    int
        The amount in base units.
    """
    return amount_of_nanos(resource, sum(quantity.nanos for quantity in quantities))


def amount_of_nanos(resource: str, nanos: int) -> int:
    """Return billionths of a unit as an amount of ``resource``, rounded away from zero."""
    return _divide_away_from_zero(nanos, NANOS_PER_MILLI if resource == "cpu" else NANOS_PER_UNIT)


def amounts(quantities: Iterable[tuple[str, Quantity]]) -> dict[str, int]:
    """Return each quantity of a resource list's items as an amount."""
    return {name: amount_of_nanos(name, quantity.nanos) for name, quantity in quantities}


def is_binary_resource(resource: str) -> bool:
    """Whether amounts of the resource are bytes and best shown with binary suffixes."""
    return resource.endswith(("memory", "storage")) or resource.startswith("hugepages-")


def format_amount(resource: str, amount: int) -> str:
    """Return an amount as a person would write it: ``1500m``, ``4Gi``, ``3``.

    The text parses back to the same amount.
    """
    if resource == "cpu":
        return Quantity(amount * NANOS_PER_MILLI).canonical
    if is_binary_resource(resource):
        return _binary_text(amount)
    return str(amount)
