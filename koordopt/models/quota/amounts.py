"""Arithmetic on resource lists: plain mappings from resource name to a whole amount.

An absent name is an unset dimension, which is not the same as zero.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping

from koordopt.errors import InvalidInputError
from koordopt.models.api.keys import RESOURCE_CPU
from koordopt.models.units import (
    NANOS_PER_MILLI,
    NANOS_PER_UNIT,
    Quantity,
    format_amount,
    is_binary_resource,
)


class Tally:
    """A sum of resource lists that can be taken apart again.

    A dimension is set while at least one list in the sum names it, so that a sum after removals
    equals the sum built from what is left, key for key.

    Attributes
    ----------
    amounts
        The sum, base units.
    """

    __slots__ = ("_terms", "amounts")

    def __init__(self) -> None:
        self.amounts: dict[str, int] = {}
        self._terms: dict[str, int] = {}

    def add(self, amounts: Mapping[str, int]) -> None:
        """Add one list."""
        for name, amount in amounts.items():
            self.amounts[name] = self.amounts.get(name, 0) + amount
            self._terms[name] = self._terms.get(name, 0) + 1

    def remove(self, amounts: Mapping[str, int]) -> None:
        """Take out one list that was added before."""
        for name, amount in amounts.items():
            left = self._terms[name] - 1
            if left:
                self._terms[name] = left
                self.amounts[name] -= amount
            else:
                del self._terms[name], self.amounts[name]


def masked(amounts: Mapping[str, int], names: Container[str]) -> dict[str, int]:
    """Return the part of ``amounts`` in the dimensions ``names``."""
    return {name: amount for name, amount in amounts.items() if name in names}


def larger(first: Mapping[str, int], second: Mapping[str, int]) -> dict[str, int]:
    """Return the larger amount in each dimension that either list sets."""
    result = dict(first)
    for name, amount in second.items():
        result[name] = max(result.get(name, amount), amount)
    return result


def capped(amounts: Mapping[str, int], caps: Mapping[str, int]) -> dict[str, int]:
    """Return ``amounts``, none above its cap; a dimension without a cap is unlimited."""
    return {name: min(amount, caps.get(name, amount)) for name, amount in amounts.items()}


def total(lists: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Return the sum of several lists, in every dimension that one of them sets."""
    result: dict[str, int] = {}
    for amounts in lists:
        for name, amount in amounts.items():
            result[name] = result.get(name, 0) + amount
    return result


def require_non_negative(label: str, amounts: Mapping[str, int]) -> None:
    """Raise ``InvalidInputError`` for the first negative amount, by name."""
    for name in sorted(amounts):
        if amounts[name] < 0:
            msg = f"{label} has {name} = {amounts[name]}; expected an amount of at least 0."
            raise InvalidInputError(msg)


def canonical_list(amounts: Mapping[str, int]) -> str:
    """Return a resource list as ``name:quantity`` by name, or ``<empty>``.

    Quantities are written as Kubernetes does.

    Examples
    --------
    >>> canonical_list({"memory": 3 << 20, "cpu": 1500, "example.com/card": 2000})
    'cpu:1500m,example.com/card:2k,memory:3Mi'
    """
    if not amounts:
        return "<empty>"
    return ",".join(f"{name}:{canonical(name, amounts[name])}" for name in sorted(amounts))


def canonical(resource: str, amount: int) -> str:
    """Return one amount as Kubernetes writes it."""
    if not amount:
        return "0"
    if is_binary_resource(resource):
        return format_amount(resource, amount)
    nanos = NANOS_PER_MILLI if resource == RESOURCE_CPU else NANOS_PER_UNIT
    return Quantity(amount * nanos).canonical
