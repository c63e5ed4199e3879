"""Filter and score, incrementally: the decision where one pod goes.

Pods of one class ask the same of every node, so a class keeps one row of scores over the nodes.
A placement changes one node; each class keeps its position in the log of changed nodes and
repairs, when it is asked for again, just the nodes that changed in between: one by one in Python
where they are few, in one pass over arrays where they are many.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from koordopt.models.arrays import BoolArray, IntArray
from koordopt.models.problem.placement import PlacementProblem
from koordopt.models.rules.device import CardShare
from koordopt.solvers.heuristics.plugins import (
    BoundFilter,
    BoundScore,
    GlobalFilter,
    GlobalScore,
    LocalFilter,
)
from koordopt.solvers.heuristics.profile import Profile
from koordopt.solvers.heuristics.registry import Plugins, plugins_for
from koordopt.solvers.heuristics.state import PlacementState

FEW = 14
"""Up to this many changed nodes are repaired one by one; a pass over arrays costs as much."""


@dataclass(slots=True)
class _ClassRow:
    """What the pipeline keeps for one class.

    Attributes
    ----------
    row
        Local score of each node plus 1, or 0 where a local filter refuses it, shape ``(N,)``.
    seen
        Length of the change log up to which ``row`` is right.
    """

    row: IntArray
    seen: int
    allowed: BoolArray
    allowed_bytes: bytes
    filters: tuple[BoundFilter, ...]
    scores: tuple[tuple[BoundScore, int], ...]
    base: IntArray | None
    global_filters: tuple[GlobalFilter, ...]
    global_scores: tuple[tuple[GlobalScore, int], ...]


class Pipeline:
    """Decides pod by pod, and takes decisions back.

    Parameters
    ----------
    problem
        The problem.
    profile
        Weights and arguments of the score plug-ins.

    Attributes
    ----------
    state
        The cluster as of the placements made so far.
    """

    def __init__(self, problem: PlacementProblem, profile: Profile | None = None) -> None:
        self.problem = problem
        self.profile = profile or Profile()
        self.state = PlacementState(problem)
        self.plugins: Plugins = plugins_for(self.state, self.profile)
        self._class_of: list[int] = problem.snapshot.pods.class_of.tolist()
        self._rows: dict[int, _ClassRow] = {}
        self._log = np.zeros(1024, dtype=np.int64)
        self._logged = 0

    def best_node(self, c: int) -> int:
        """Return the best feasible node for a pod of class ``c``; -1 where there is none.

        Ties go to the first node in canonical order.
        """
        kept = self._refreshed(c)
        row = kept.row
        if kept.global_filters or kept.global_scores:
            row = self._with_global(c, kept)
        n = int(row.argmax()) if len(row) else -1
        return n if n >= 0 and row[n] > 0 else -1

    def place(self, p: int, n: int) -> None:
        """Put pod ``p`` on node ``n``, which must be feasible for it."""
        cards: tuple[CardShare, ...] = ()
        if self.plugins.choose_cards is not None:
            cards = self.plugins.choose_cards(self._class_of[p], n)
        self.state.place(p, n, cards)
        self._note(n)

    def undo(self) -> int:
        """Take back the last placement, and return its pod."""
        p, n = self.state.undo()
        self._note(n)
        return p

    def _note(self, n: int) -> None:
        for refresh in self.plugins.refreshers:
            refresh(n)
        if self._logged == len(self._log):
            self._log = np.concatenate([self._log, np.zeros_like(self._log)])
        self._log[self._logged] = n
        self._logged += 1

    def feasible(self, c: int) -> BoolArray:
        """Return the nodes that class ``c`` may use now, shape ``(N,)``."""
        kept = self._refreshed(c)
        return self._feasible(c, kept)

    def _feasible(self, c: int, kept: _ClassRow) -> BoolArray:
        feasible = kept.row > 0
        for plugin in kept.global_filters:
            mask = plugin.mask(c)
            if mask is not None:
                feasible &= mask
        return feasible

    def _with_global(self, c: int, kept: _ClassRow) -> IntArray:
        """Return the row with the say of the global plug-ins, 0 where refused."""
        feasible = self._feasible(c, kept)
        total = kept.row
        for plugin, weight in kept.global_scores:
            scores = plugin.scores(c, feasible)
            if scores is not None:
                total = total + weight * scores
        return total * feasible

    def _refreshed(self, c: int) -> _ClassRow:
        kept = self._rows.get(c)
        if kept is None:
            kept = self._rows[c] = self._new_row(c)
            return kept
        behind = self._logged - kept.seen
        if behind == 0:
            return kept
        if behind <= FEW:
            row = kept.row
            for n in self._log[kept.seen : self._logged].tolist():
                row[n] = _one(kept, n)
        elif behind < len(kept.row):
            nodes = self._log[kept.seen : self._logged]
            kept.row[nodes] = _many(kept, nodes)
        else:
            kept.row = _many(kept, None)
        kept.seen = self._logged
        return kept

    def _new_row(self, c: int) -> _ClassRow:
        plugins = self.plugins
        allowed = self.problem.eligible(c)
        kept = _ClassRow(
            row=np.zeros(0, dtype=np.int64),
            seen=self._logged,
            allowed=allowed,
            allowed_bytes=allowed.tobytes(),
            filters=_bound(plugins.local_filters, c),
            scores=tuple(
                (bound, weight)
                for plugin, weight in plugins.local_scores
                if (bound := plugin.bind(c)) is not None
            ),
            base=plugins.fixed_score(c),
            global_filters=tuple(f for f in plugins.global_filters if f.mask(c) is not None),
            global_scores=tuple(
                (plugin, weight)
                for plugin, weight in plugins.global_scores
                if plugin.scores(c, allowed) is not None
            ),
        )
        kept.row = _many(kept, None)
        return kept


def _bound(filters: tuple[LocalFilter, ...], c: int) -> tuple[BoundFilter, ...]:
    return tuple(bound for plugin in filters if (bound := plugin.bind(c)) is not None)


def _one(kept: _ClassRow, n: int) -> int:
    """Return the row's entry for node ``n``."""
    if not kept.allowed_bytes[n]:
        return 0
    for bound in kept.filters:
        if not bound.one(n):
            return 0
    total = 1 if kept.base is None else 1 + int(kept.base[n])
    for score, weight in kept.scores:
        total += weight * score.one(n)
    return total


def _many(kept: _ClassRow, nodes: IntArray | None) -> IntArray:
    """Return the row's entries for ``nodes``, or for all."""
    fits = kept.allowed.copy() if nodes is None else kept.allowed.take(nodes)
    for bound in kept.filters:
        fits &= bound.many(nodes)
    if kept.base is None:
        total = np.ones(len(fits), dtype=np.int64)
    else:
        total = 1 + (kept.base if nodes is None else kept.base.take(nodes))
    for score, weight in kept.scores:
        part = score.many(nodes)
        total += part if weight == 1 else weight * part
    total *= fits
    return total
