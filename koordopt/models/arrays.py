"""Array types shared by snapshots, problems and results."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

IntArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]

LARGEST_AMOUNT = 1 << 50
"""Amounts are cut here (10^12 cores, 1 PiB), so that sums over 8,000 pods stay within int64.

Capacities are cut to this value and requests to one more, so a request beyond it fits nowhere.
"""


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return ``array`` marked read-only, as snapshots and problems hand out."""
    array.setflags(write=False)
    return array
