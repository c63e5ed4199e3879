"""Counts of pods per topology domain, the common ground of spread and inter-pod affinity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from koordopt.models.arrays import BoolArray, IntArray, frozen

if TYPE_CHECKING:
    from koordopt.models.snapshot import ClusterSnapshot


@dataclass(frozen=True, eq=False)
class Counter:
    """How many pods of certain classes run in each domain of one topology key.

    Attributes
    ----------
    key
        The topology key; a domain is one value of this node label.
    domain_of
        Domain of each node, shape ``(N,)``; -1 where the node lacks the label.
    scope
        Nodes whose pods count, shape ``(N,)``; None where all nodes with the label do.
    classes
        Pod classes that count, ascending.
    base
        Pods already bound, by domain, shape ``(T,)``.
    """

    key: str
    domain_of: IntArray
    scope: BoolArray | None
    classes: tuple[int, ...]
    base: IntArray


class CounterTable:
    """Interns the counters of a problem, so that rules which count the same share one.

    Notes
    -----
    A placement of class ``c`` on node ``n`` raises the counters ``of_class[c]`` by one in the
    domain of ``n``, where it has one and lies in the counter's scope.
    """

    def __init__(self, snapshot: ClusterSnapshot) -> None:
        self._snapshot = snapshot
        self._position: dict[tuple[object, ...], int] = {}
        self.counters: list[Counter] = []
        self.of_class: list[list[int]] = [[] for _ in snapshot.classes]

    def __len__(self) -> int:
        return len(self.counters)

    def __getitem__(self, j: int) -> Counter:
        return self.counters[j]

    def add(
        self,
        key: str,
        classes: tuple[int, ...],
        *,
        scope: BoolArray | None = None,
        terminating: bool = True,
    ) -> int:
        """Return the index of the counter of ``classes`` per domain of ``key``.

        Parameters
        ----------
        key
            The topology key.
        classes
            Pod classes that count, ascending.
        scope
            Nodes whose pods count, shape ``(N,)``; None for every node with the label.
        terminating
            Whether pods that are being deleted still count.
        """
        identity = (key, classes, None if scope is None else scope.tobytes(), terminating)
        j = self._position.get(identity)
        if j is None:
            j = self._position[identity] = len(self.counters)
            self.counters.append(self._count(key, classes, scope, terminating))
            for c in classes:
                self.of_class[c].append(j)
        return j

    def _count(
        self, key: str, classes: tuple[int, ...], scope: BoolArray | None, terminating: bool
    ) -> Counter:
        column = self._snapshot.nodes.column(key)
        pods = self._snapshot.pods
        counted = np.zeros(len(self._snapshot.classes), dtype=np.bool_)
        counted[list(classes)] = True
        chosen = counted[pods.class_of] & (pods.node_of >= 0)
        if not terminating:
            chosen &= ~pods.terminating
        nodes = pods.node_of[chosen]
        if scope is not None:
            nodes = nodes[scope[nodes]]
        domains = column.code[nodes]
        base = np.bincount(domains[domains >= 0], minlength=len(column.values))
        return Counter(key, column.code, scope, classes, frozen(base.astype(np.int64)))


class Tally:
    """Values of all counters while the placements of a plan are replayed one by one."""

    def __init__(self, table: CounterTable) -> None:
        self._table = table
        self._values = [counter.base.copy() for counter in table.counters]

    def __getitem__(self, j: int) -> IntArray:
        return self._values[j]

    def add(self, c: int, n: int) -> None:
        """Count one pod of class ``c`` on node ``n``."""
        for j in self._table.of_class[c]:
            counter = self._table[j]
            domain = counter.domain_of[n]
            if domain >= 0 and (counter.scope is None or counter.scope[n]):
                self._values[j][domain] += 1
