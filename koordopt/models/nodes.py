"""Nodes as columns: label codes, topology domains, taints and allocatable amounts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from koordopt.models.api import keys
from koordopt.models.api.core import Node, Taint
from koordopt.models.arrays import BoolArray, IntArray, frozen


@dataclass(frozen=True)
class LabelColumn:
    """One label key over all nodes.

    Attributes
    ----------
    values
        The distinct values, sorted.
    code
        Index into ``values`` of each node, shape ``(N,)``; -1 where the node lacks the label.
    """

    values: tuple[str, ...]
    code: IntArray

    def is_in(self, wanted: Sequence[str]) -> BoolArray:
        """Return which nodes carry one of ``wanted``, shape ``(N,)``."""
        position = {value: i for i, value in enumerate(self.values)}
        table = np.zeros(len(self.values) + 1, dtype=np.bool_)
        for value in wanted:
            if value in position:
                table[position[value]] = True
        return table[self.code]  # code -1 reads the last entry, which stays False


@dataclass(frozen=True, eq=False)
class NodeTable:
    """All nodes of one snapshot, in canonical order (zone, then name).

    Nodes of one zone are neighbours, so that a zone is a slice of every array.
    """

    objects: tuple[Node, ...]
    names: tuple[str, ...]
    _columns: dict[str, LabelColumn] = field(default_factory=dict, repr=False)

    @classmethod
    def from_objects(cls, nodes: Sequence[Node]) -> NodeTable:
        """Return the table of ``nodes``, whatever order they come in."""
        ordered = tuple(
            sorted(
                nodes,
                key=lambda node: (
                    node.metadata.labels.get(keys.LABEL_ZONE, ""),
                    node.metadata.name,
                ),
            )
        )
        return cls(ordered, tuple(node.metadata.name for node in ordered))

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def index(self) -> dict[str, int]:
        """The index of each node name."""
        return {name: n for n, name in enumerate(self.names)}

    @cached_property
    def unschedulable(self) -> BoolArray:
        """Which nodes are cordoned, shape ``(N,)``."""
        flags = np.fromiter((n.spec.unschedulable for n in self.objects), np.bool_, len(self))
        return frozen(flags)

    @cached_property
    def taint_sets(self) -> tuple[tuple[tuple[Taint, ...], ...], IntArray]:
        """The distinct taint lists, and the index of each node's, shape ``(N,)``."""
        position: dict[tuple[tuple[str, str, str], ...], int] = {}
        lists: list[tuple[Taint, ...]] = []
        index = np.zeros(len(self), dtype=np.int64)
        for n, node in enumerate(self.objects):
            taints = tuple(node.spec.taints)
            key = tuple((t.key, t.value, t.effect) for t in taints)
            if key not in position:
                position[key] = len(lists)
                lists.append(taints)
            index[n] = position[key]
        return tuple(lists), frozen(index)

    def column(self, key: str) -> LabelColumn:
        """Return the column of label ``key``; all -1 where no node carries it."""
        column = self._columns.get(key)
        if column is None:
            found = [node.metadata.labels.get(key) for node in self.objects]
            values = tuple(sorted({value for value in found if value is not None}))
            position = {value: i for i, value in enumerate(values)}
            code = np.fromiter(
                (-1 if value is None else position[value] for value in found), np.int64, len(self)
            )
            column = self._columns[key] = LabelColumn(values, frozen(code))
        return column

    def amounts(self, resources: Sequence[str], allocatable: Sequence[dict[str, int]]) -> IntArray:
        """Return ``allocatable`` as a matrix, shape ``(N, R)``; absent amounts are 0."""
        matrix = np.zeros((len(self), len(resources)), dtype=np.int64)
        for n, amounts in enumerate(allocatable):
            for r, resource in enumerate(resources):
                matrix[n, r] = amounts.get(resource, 0)
        return matrix
