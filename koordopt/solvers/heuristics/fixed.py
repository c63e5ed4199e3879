"""Fixed-point shares of a node's capacity, exact where scores cut them to whole points."""

from __future__ import annotations

from typing import Final

import numpy as np

from koordopt.models.arrays import LARGEST_AMOUNT, IntArray

SHIFT: Final = 50
"""Binary places of a share."""
SHIFT_ARRAY: Final = np.array(SHIFT)
"""The same for NumPy, which takes longer over a Python integer than over a thousand shifts."""
LARGEST: Final = 1 << 61
"""Shares are cut here, so that the sum of two of them stays within int64."""
_HUNDRED: Final = 100 << SHIFT
_STEP: Final = 10
assert SHIFT % _STEP == 0
assert LARGEST_AMOUNT << _STEP < 1 << 63  # a remainder can be scaled by one step


def share_up(amount: int, capacity: int) -> int:
    """Return ``100 * amount / capacity`` in fixed point, rounded up; 0 without capacity.

    Notes
    -----
    For integers ``a``, ``b`` and a capacity ``C < 2^(SHIFT - 1)``, let ``A`` be the rounded-up
    share of ``a`` and ``B`` the rounded-down share of ``b``. Then ``(A - B) >> SHIFT`` is exactly
    ``floor(100 (a - b) / C)``: the roundings add less than 2, and from ``100 (a - b) / C`` up to
    the next integer it is at least ``2^SHIFT / C > 2`` in the same units, or nothing at all. So a
    score costs one subtraction and one shift, in Python and in NumPy alike, and no division.
    """
    if capacity <= 0:
        return 0
    share = -(-amount * _HUNDRED // capacity)
    if -LARGEST <= share <= LARGEST:
        return share
    return LARGEST if share > 0 else -LARGEST


def shares(amount: int | IntArray, capacity: IntArray, *, up: bool) -> IntArray:
    """Return the share of each capacity, rounded up or down, as ``share_up`` does for one.

    Parameters
    ----------
    amount
        One amount, or one for each capacity, at most ``LARGEST_AMOUNT`` in size.
    capacity
        Capacities, any shape; those that are 0 give 0.
    up
        Whether to round up.

    Notes
    -----
    Long division, ten binary digits at a time: the quotient needs more than 64 bits on the way.
    """
    divisor = np.maximum(capacity, 1)
    quotient, rest = np.divmod(np.multiply(amount, 100, dtype=np.int64), divisor)
    out_of_range = np.abs(quotient) >= LARGEST >> SHIFT
    result = np.where(out_of_range, 0, quotient)
    for _ in range(SHIFT // _STEP):
        digits, rest = np.divmod(rest << _STEP, divisor)
        result = (result << _STEP) + digits
    if up:
        result += rest > 0
    result = np.where(out_of_range, np.sign(quotient) * LARGEST, result)
    return np.where(capacity > 0, result, 0).astype(np.int64)
