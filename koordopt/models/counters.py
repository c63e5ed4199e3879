"""Counts of pods per topology domain, the common ground of spread and inter-pod affinity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from koordopt.models.arrays import BoolArray, IntArray, frozen

if TYPE_CHECKING:
    from koordopt.models.snapshot import ClusterSnapshot

EACH_NODE = ""
"""In place of a topology key: every node is a domain by itself, whatever its labels."""


@dataclass(frozen=True, eq=False)
class Counter:
    """How many pods of certain classes run in each domain of one topology key.

    Attributes
    ----------
    key
        The topology key; a domain is one value of this node label. Or ``EACH_NODE``.
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
        self._bound = {flag: _pods_by_class(snapshot, flag) for flag in (True, False)}
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
        domain_of, domains = self._domains(key)
        nodes_of, first = self._bound[terminating]
        nodes = np.concatenate(
            [nodes_of[:0], *(nodes_of[first[c] : first[c + 1]] for c in classes)]
        )
        if scope is not None:
            nodes = nodes[scope[nodes]]
        found = domain_of[nodes]
        base = np.bincount(found[found >= 0], minlength=domains)
        return Counter(key, domain_of, scope, classes, frozen(base.astype(np.int64)))

    def _domains(self, key: str) -> tuple[IntArray, int]:
        """Return the domain of each node, and the number of domains."""
        nodes = self._snapshot.nodes
        if key == EACH_NODE:
            return frozen(np.arange(len(nodes), dtype=np.int64)), len(nodes)
        column = nodes.column(key)
        return column.code, len(column.values)


def _pods_by_class(snapshot: ClusterSnapshot, terminating: bool) -> tuple[IntArray, IntArray]:
    """Return the nodes of bound pods, class by class, and where each class begins.

    Counting one class must not cost a pass over all pods: a cluster has thousands of counters.
    """
    pods = snapshot.pods
    bound = np.flatnonzero((pods.node_of >= 0) & (terminating | ~pods.terminating))
    classes = pods.class_of[bound]
    order = np.argsort(classes, kind="stable")
    first = np.searchsorted(classes[order], np.arange(len(snapshot.classes) + 1))
    return pods.node_of[bound][order], first.astype(np.int64)


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
