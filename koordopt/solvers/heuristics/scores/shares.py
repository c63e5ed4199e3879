"""The use of resources on every node, as the resource scores reckon it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from koordopt.models.api import keys
from koordopt.models.arrays import IntArray
from koordopt.solvers.heuristics.changes import Where
from koordopt.solvers.heuristics.fixed import SHIFT, share_up, shares
from koordopt.solvers.heuristics.shapes import capacity_of
from koordopt.solvers.heuristics.state import PlacementState

NATIVE = frozenset({keys.RESOURCE_CPU, keys.RESOURCE_MEMORY, keys.RESOURCE_EPHEMERAL_STORAGE})
"""Resources that count in a score even where a pod does not ask for them."""

FULL: Final = 100 << SHIFT
"""The whole of a capacity, in fixed point."""

_SCORED_POSITION = {keys.RESOURCE_CPU: 0, keys.RESOURCE_MEMORY: 1}


class UseOf:
    """Use of one resource on every node.

    Parameters
    ----------
    state
        The state that is scored.
    resource
        Name of the resource.
    with_defaults
        Whether containers without a request count with the default amounts of CPU and memory.

    Attributes
    ----------
    capacity
        What each node can give, shape ``(N,)``.
    with_defaults
        Whether defaults make a difference in this cluster.
    column
        Amount of each node now: what is free where ``is_free``, or what is in use.
    """

    def __init__(self, state: PlacementState, resource: str, *, with_defaults: bool) -> None:
        problem = state.problem
        r = problem.snapshot.resource_index.get(resource)
        self.resource = resource
        self.capacity: IntArray = capacity_of(problem, resource)
        self._classes = problem.snapshot.classes
        self.with_defaults = with_defaults and _has_defaults(state, resource)
        self.column: list[int]
        self.is_free = r is not None and not self.with_defaults
        if self.with_defaults:
            self.column = state.scored_use[_SCORED_POSITION[resource]]
        elif r is None:
            self.column = [0] * len(self.capacity)
        else:
            self.column = state.free_of[r]

    def asked(self, c: int) -> int:
        """Return what a pod of class ``c`` adds."""
        cls = self._classes[c]
        request = cls.nonzero_request if self.with_defaults else cls.request
        return request.get(self.resource, 0)

    def all_used(self) -> IntArray:
        """Return the use of every node now, shape ``(N,)``."""
        amounts = np.array(self.column, dtype=np.int64)
        return self.capacity - amounts if self.is_free else amounts


def _has_defaults(state: PlacementState, resource: str) -> bool:
    """Return whether some container of the cluster counts with a default amount."""
    return resource in _SCORED_POSITION and any(
        cls.nonzero_request.get(resource, 0) != cls.request.get(resource, 0)
        for cls in state.problem.snapshot.classes
    )


class NodeShares:
    """Shares of some resources on every node, as scores read them: of free room, or of use.

    Parameters
    ----------
    state
        The state that is scored.
    uses
        The resources.
    is_free
        Whether free room is what counts, or use.

    Attributes
    ----------
    of_node
        Share of each resource, in fixed point and rounded up: a list over nodes each.
    """

    def __init__(self, state: PlacementState, uses: Sequence[UseOf], *, is_free: bool) -> None:
        self.uses = uses
        self.is_free = is_free
        self._changes = state.changes
        shapes = state.shapes(tuple(use.resource for use in uses))
        self.capacities, self.row_of = shapes.rows, shapes.of_node
        self.row_list, self._capacity_lists = shapes.of_node_list, shapes.row_lists
        used = [use.all_used() for use in uses]
        columns = [
            shares(use.capacity - amount if is_free else amount, use.capacity, up=True)
            for use, amount in zip(uses, used, strict=True)
        ]
        self._now = state.changes.track(np.stack(columns, axis=1))
        self.of_node: list[list[int]] = [column.tolist() for column in columns]
        self._columns = [
            (use.column, use.is_free is is_free, column)
            for use, column in zip(uses, self.of_node, strict=True)
        ]
        # Free room is never above its capacity nor use below 0, so one bound is enough.
        self._bound = np.full_like(self._now.now, 0 if is_free else FULL)
        self._added: dict[int, IntArray] = {}
        # What was asked for last, at which length of the change log, for whom, and the answer.
        self._last: tuple[Where, int, IntArray, IntArray] | None = None

    @classmethod
    def of(
        cls,
        state: PlacementState,
        resources: Sequence[str],
        *,
        with_defaults: bool,
        is_free: bool,
    ) -> NodeShares:
        """Return the shares of ``resources``, the same to all scores that read the same."""
        uses = [UseOf(state, name, with_defaults=with_defaults) for name in resources]
        identity = (*((use.resource, use.with_defaults) for use in uses), is_free)
        found = state.derived.get(identity)
        if found is None:
            found = state.derived[identity] = cls(state, uses, is_free=is_free)
        assert isinstance(found, NodeShares)
        return found

    def refresh(self, n: int) -> None:
        """Take note that the pods of node ``n`` changed."""
        now, capacities = self._now.now, self._capacity_lists[self.row_list[n]]
        for k, (column, is_scored, share_of) in enumerate(self._columns):
            capacity, amount = capacities[k], column[n]
            share = share_up(amount if is_scored else capacity - amount, capacity)
            share_of[n] = share
            now[n, k] = share

    def added(self, c: int) -> IntArray:
        """Return what a pod of class ``c`` adds, by distinct capacities and resource.

        Negative where free room is scored, and rounded so that sums are exact in whole points.
        """
        added = self._added.get(c)
        if added is None:
            up = not self.is_free
            columns = [
                shares(use.asked(c), self.capacities[:, k], up=up)
                for k, use in enumerate(self.uses)
            ]
            added = np.stack(columns, axis=1)
            self._added[c] = added = -added if self.is_free else added
        return added

    def after(self, c: int) -> Callable[[Where], IntArray]:
        """Return what gives the shares once a pod of class ``c`` is there, within 0 and 100.

        It is given nodes, and returns an array of shape ``(nodes, resources)`` that is not to be
        changed: two scores that ask one after the other about the same nodes get one array.
        """
        plus_of, row_of, now, bound = self.added(c), self.row_of, self._now, self._bound
        limited: Callable[..., IntArray] = np.maximum if self.is_free else np.minimum
        changes = self._changes

        def after(where: Where) -> IntArray:
            length, last = changes.length, self._last
            if last and last[0] is where and last[1] == length and last[2] is plus_of:
                return last[3]
            parts = plus_of.take(row_of.of(where), axis=0)
            parts += now.of(where)
            limited(parts, bound[: len(parts)], out=parts)
            self._last = (where, length, plus_of, parts)
            return parts

        return after
