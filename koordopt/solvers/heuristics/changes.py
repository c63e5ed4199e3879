"""Which nodes changed since a reader last looked, and what they were left with."""

from __future__ import annotations

from typing import Any, Final, Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from koordopt.models.arrays import IntArray

Where: TypeAlias = IntArray | slice | None
"""Nodes that one pass looks at: by index, or those of a part of the change log; None for all."""

Scalar = TypeVar("Scalar", bound=np.generic)

_LEAST_ROOM: Final = 64


class Track(Generic[Scalar]):
    """Numbers of every node, one row a node, with a copy in the order of changes.

    A pass over the nodes that changed lately reads neighbouring rows of the copy; picking them
    out of the whole cluster, column by column, would cost more than the arithmetic on them.

    Attributes
    ----------
    now
        The numbers as they are, shape ``(N,)`` or ``(N, K)``; whoever keeps them writes here.
    log
        Those of the nodes in the change log, in its order.
    """

    __slots__ = ("log", "now")

    def __init__(self, values: NDArray[Scalar], room: int) -> None:
        self.now = np.ascontiguousarray(values)
        self.log = np.zeros((room, *values.shape[1:]), dtype=values.dtype)

    def of(self, where: Where) -> NDArray[Scalar]:
        """Return the rows of the nodes ``where``; not a copy where they lie side by side."""
        if where is None:
            return self.now
        if isinstance(where, slice):
            return self.log[where]
        return self.now.take(where, axis=0)


class ChangeLog:
    """The nodes that changed, in order, each as often as it did.

    Parameters
    ----------
    count
        Number of nodes.

    Attributes
    ----------
    length
        Changes so far; a reader keeps the length up to which it has looked.
    last
        The node that changed last.

    Notes
    -----
    Only the latest changes are kept, at least one for every node: a reader further behind
    looks at all nodes anyway. A node that changed twice stands there twice, and the later
    entry is right, so readers write in the order of the log.
    """

    def __init__(self, count: int) -> None:
        self.length = 0
        self.last = -1
        self._count = count
        self._kept = max(count, _LEAST_ROOM)
        self._nodes = np.zeros(2 * self._kept, dtype=np.int64)
        self._first = 0
        self._copied = 0
        self._tracks: list[Track[Any]] = []

    def track(self, values: NDArray[Scalar]) -> Track[Scalar]:
        """Return a track that starts with ``values``, shape ``(N,)`` or ``(N, K)``."""
        track = Track(values, len(self._nodes))
        if values.size:
            self._tracks.append(track)
        return track

    def note(self, n: int) -> None:
        """Note that node ``n`` changed."""
        end = self.length - self._first
        if end == 2 * self._kept:
            self._forget()
            end = self._kept
        self._nodes[end] = n
        self.last = n
        self.length += 1

    def nodes(self, seen: int) -> IntArray:
        """Return the nodes that changed since the log had length ``seen``; one a change."""
        return self._nodes[seen - self._first : self.length - self._first]

    def since(self, seen: int) -> slice | None:
        """Return the part of the log after length ``seen``; None where all nodes are cheaper."""
        if 4 * (self.length - seen) > 3 * self._count:
            return None
        self._copy()
        return slice(seen - self._first, self.length - self._first)

    def _copy(self) -> None:
        """Copy what the nodes noted since the last copy have now."""
        start, end = self._copied - self._first, self.length - self._first
        if end - start == 1:
            n = self._nodes[start]
            for track in self._tracks:
                track.log[start] = track.now[n]
        elif end > start:
            nodes = self._nodes[start:end]
            for track in self._tracks:
                track.log[start:end] = track.now.take(nodes, axis=0)
        self._copied = self.length

    def _forget(self) -> None:
        """Move the latest changes to the front."""
        self._copy()
        keep = slice(len(self._nodes) - self._kept, None)
        self._nodes[: self._kept] = self._nodes[keep].copy()
        for track in self._tracks:
            track.log[: self._kept] = track.log[keep].copy()
        self._first = self.length - self._kept
