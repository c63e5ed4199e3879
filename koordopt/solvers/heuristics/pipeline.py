"""Filter and score, incrementally: the decision where one pod goes.

Pods of one class ask the same of every node, so a class keeps one row of scores over the nodes.
A placement changes one node; each class keeps its position in the log of changed nodes and
repairs, when it is asked for again, just the nodes that changed in between: one by one in Python
where they are few, in one pass over arrays where they are many.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from koordopt.models.arrays import BoolArray, IntArray
from koordopt.models.problem.placement import PlacementProblem
from koordopt.solvers.heuristics.by_domain import UNDECIDED, ByDomain
from koordopt.solvers.heuristics.plugins import (
    BEST,
    BoundFilter,
    BoundScore,
    GlobalFilter,
    GlobalScore,
    LocalFilter,
)
from koordopt.solvers.heuristics.profile import Profile
from koordopt.solvers.heuristics.registry import Plugins, plugins_for
from koordopt.solvers.heuristics.state import PlacementState

FEW: Final = 14
"""Up to this many changed nodes are repaired one by one; a pass over arrays costs as much."""
_ONE: Final = np.array(1)


@dataclass(slots=True)
class ClassRow:
    """What the pipeline keeps for one class.

    Attributes
    ----------
    row
        Local score of each node plus 1, or 0 where a local filter refuses it, shape ``(N,)``.
    seen
        Length of the change log up to which ``row`` is right.
    is_filtered
        Whether ``row`` is 0 wherever a local filter refuses now. If not, changed nodes have
        their score, and the best is filtered when it is asked for: it nearly always passes, as
        scores mostly favour room. Where it does not, the class is filtered from then on.
    few
        Up to so many changed nodes are repaired one by one.
    allowed
        Nodes that the class may use, whatever runs on them, shape ``(N,)``; None for all.
    allowed_of
        The same as bytes.
    epochs
        Give the epoch of each score that has epochs.
    epoch
        The epochs that ``row`` is of.
    by_domain
        Chooses where the global plug-ins all judge the same few domains; None where they do not.
    base
        Score that no placement changes, shape ``(N,)``, and the same as a list; None without one.
    """

    row: NDArray[np.signedinteger[Any]]
    seen: int
    is_filtered: bool
    few: int
    allowed: BoolArray | None
    allowed_of: bytes | None
    filters: tuple[BoundFilter, ...]
    scores: tuple[tuple[BoundScore, int], ...]
    epochs: tuple[Callable[[], int], ...]
    epoch: tuple[int, ...]
    base: IntArray | None
    base_of: list[int] | None
    global_filters: tuple[GlobalFilter, ...]
    global_scores: tuple[tuple[GlobalScore, int], ...]
    by_domain: ByDomain | None


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
        self._rows: dict[int, ClassRow] = {}
        self._choose_cards = self.plugins.choose_cards
        self._refreshers = self.plugins.refreshers
        self._changes = self.state.changes
        self._row_type = _smallest_type(self.plugins)

    def best_node(self, c: int) -> int:
        """Return the best feasible node for a pod of class ``c``; -1 where there is none.

        Ties go to the first node in canonical order.
        """
        kept = self._rows.get(c) or self._new_row(c)
        if kept.seen != self._changes.length:
            self._repair(kept)
        if kept.by_domain is not None:
            n = kept.by_domain.best(kept.row, is_filtered=kept.is_filtered)
            if n == UNDECIDED:
                self._filter(kept)
                return self.best_node(c)
        elif kept.global_scores:
            return _argmax(self._with_global(c, kept))
        else:
            n = self._best_admitted(c, kept)
        if n >= 0 and not kept.is_filtered:
            for bound in kept.filters:
                if not bound.one(n):
                    self._filter(kept)
                    return self.best_node(c)
        return n

    def _best_admitted(self, c: int, kept: ClassRow) -> int:
        n = _argmax(kept.row)
        # The best of all nodes, where it is admitted, is the best of those admitted.
        for plugin in kept.global_filters:
            if n >= 0 and not plugin.admits(c, n):
                admitted = self._admitted(c, kept)
                return _argmax(kept.row if admitted is None else kept.row * admitted)
        return n

    def place(self, p: int, n: int) -> None:
        """Put pod ``p`` on node ``n``, which must be feasible for it."""
        choose = self._choose_cards
        self.state.place(p, n, () if choose is None else choose(self._class_of[p], n))
        self._note(n)

    def undo(self) -> int:
        """Take back the last placement, and return its pod."""
        p, n = self.state.undo()
        self._note(n)
        return p

    def _note(self, n: int) -> None:
        for refresh in self._refreshers:
            refresh(n)
        self._changes.note(n)

    def feasible(self, c: int) -> BoolArray:
        """Return the nodes that class ``c`` may use now, shape ``(N,)``."""
        kept = self._rows.get(c) or self._new_row(c)
        self._repair(kept)
        self._filter(kept)
        return self._feasible(c, kept)

    def _feasible(self, c: int, kept: ClassRow) -> BoolArray:
        feasible = kept.row > 0
        admitted = self._admitted(c, kept)
        if admitted is not None:
            feasible &= admitted
        return feasible

    def _admitted(self, c: int, kept: ClassRow) -> BoolArray | None:
        """Return the nodes that no global filter refuses, shape ``(N,)``; None for all."""
        admitted: BoolArray | None = None
        for plugin in kept.global_filters:
            mask = plugin.mask(c)
            if mask is not None:
                admitted = mask if admitted is None else admitted & mask
        return admitted

    def _with_global(self, c: int, kept: ClassRow) -> NDArray[np.signedinteger[Any]]:
        """Return the row with the say of the global plug-ins, 0 where refused."""
        feasible = self._feasible(c, kept)
        total = kept.row
        for plugin, weight in kept.global_scores:
            scores = plugin.scores(c, feasible)
            if scores is not None:
                total = total + weight * scores.astype(total.dtype)
        return total * feasible

    def _repair(self, kept: ClassRow) -> None:
        """Bring a row up to date with the nodes that changed since it was."""
        if kept.epochs and _epoch(kept) != kept.epoch:
            self._renew(kept)
            return
        changes, row = self._changes, kept.row
        behind = changes.length - kept.seen
        if behind == 1:
            row[changes.last] = _one(kept, changes.last)
        elif behind <= kept.few:
            for n in changes.nodes(kept.seen).tolist():
                row[n] = _one(kept, n)
        elif (part := changes.since(kept.seen)) is not None:
            nodes = changes.nodes(kept.seen)
            row[nodes] = _many(kept, nodes, part).astype(row.dtype)
        else:
            self._renew(kept)
        kept.seen = changes.length

    def _renew(self, kept: ClassRow) -> None:
        """Evaluate all nodes."""
        kept.epoch = _epoch(kept)
        kept.row[:] = _many(kept, None, None)
        kept.seen = self._changes.length

    def _filter(self, kept: ClassRow) -> None:
        """Apply the local filters to a whole row, and from now on to every repair."""
        if not kept.is_filtered:
            for bound in kept.filters:
                kept.row *= bound.many(None)
            kept.is_filtered = True

    def _new_row(self, c: int) -> ClassRow:
        plugins = self.plugins
        allowed: BoolArray | None = self.problem.masks.eligible(c)
        if allowed is not None and allowed.all():
            allowed = None
        base = plugins.fixed_score(c)
        global_filters = tuple(f for f in plugins.global_filters if f.concerns(c))
        global_scores = tuple((s, w) for s, w in plugins.global_scores if s.concerns(c))
        scores = tuple(
            (bound, weight)
            for plugin, weight in plugins.local_scores
            if (bound := plugin.bind(c)) is not None
        )
        kept = ClassRow(
            row=np.zeros(len(self.problem.capacity), dtype=self._row_type),
            seen=self._changes.length,
            is_filtered=True,
            few=FEW,
            allowed=allowed,
            allowed_of=None if allowed is None else allowed.tobytes(),
            filters=_bound(plugins.local_filters, c),
            scores=scores,
            epochs=tuple(score.epoch for score, _ in scores if score.epoch is not None),
            epoch=(),
            base=base,
            base_of=None if base is None else base.tolist(),
            global_filters=global_filters,
            global_scores=global_scores,
            by_domain=ByDomain.of(c, global_filters, global_scores),
        )
        self._renew(kept)
        # Global scores need to know all feasible nodes, and costly ones are spared the others.
        is_costly = any(score.recent is None for score, _ in kept.scores)
        has_scores = bool(kept.global_scores) and kept.by_domain is None
        kept.is_filtered = is_costly or has_scores
        if is_costly:
            kept.few = 1  # what one node costs is mostly the call
        self._rows[c] = kept
        return kept


def _smallest_type(plugins: Plugins) -> type[np.signedinteger[Any]]:
    """Return the smallest integer type that holds every score: rows are many, and read whole."""
    most = 1 + sum(weight * score.best for score, weight in plugins.local_scores)
    most += BEST * (plugins.fixed_weight + sum(weight for _, weight in plugins.global_scores))
    return next(t for t in (np.int16, np.int32, np.int64) if most <= np.iinfo(t).max)


def _argmax(row: NDArray[np.signedinteger[Any]]) -> int:
    """Return the first of the best nodes; -1 where none has more than 0."""
    n = int(row.argmax()) if len(row) else -1
    return n if n >= 0 and row.item(n) > 0 else -1


def _bound(filters: tuple[LocalFilter, ...], c: int) -> tuple[BoundFilter, ...]:
    return tuple(bound for plugin in filters if (bound := plugin.bind(c)) is not None)


def _epoch(kept: ClassRow) -> tuple[int, ...]:
    return tuple(epoch() for epoch in kept.epochs)


def _one(kept: ClassRow, n: int) -> int:
    """Return the row's entry for node ``n``."""
    if kept.allowed_of is not None and not kept.allowed_of[n]:
        return 0
    if kept.is_filtered:
        for bound in kept.filters:
            if not bound.one(n):
                return 0
    total = 1 if kept.base_of is None else 1 + kept.base_of[n]
    for score, weight in kept.scores:
        total += weight * score.one(n)
    return total


def _many(kept: ClassRow, nodes: IntArray | None, part: slice | None) -> IntArray:
    """Return the row's entries for ``nodes``, or for all.

    Parameters
    ----------
    kept
        The row.
    nodes
        Nodes to look at; None for all.
    part
        Where these nodes stand in the change log; None for all nodes.
    """
    fits = _fits(kept, nodes, part)
    total: IntArray | None = None
    for score, weight in kept.scores:
        if score.recent is None and fits is not None:
            values = _where_needed(score, nodes, fits)
        else:
            values = (
                score.many(nodes) if part is None or score.recent is None else score.recent(part)
            )
        if weight != 1:
            values *= weight
        if total is None:
            total = values
        else:
            total += values
    if total is None:
        total = np.zeros(len(kept.row) if nodes is None else len(nodes), dtype=np.int64)
    if kept.base is not None:
        total += kept.base if nodes is None else kept.base.take(nodes)
    total += _ONE
    if fits is not None:
        total *= fits
    return total


def _fits(kept: ClassRow, nodes: IntArray | None, part: slice | None) -> BoolArray | None:
    """Return which of ``nodes`` pass what is applied to rows now; None where all do."""
    fits: BoolArray | None = None
    if kept.allowed is not None:
        fits = kept.allowed.copy() if nodes is None else kept.allowed.take(nodes)
    for bound in kept.filters if kept.is_filtered else ():
        passes = bound.many(nodes) if part is None or bound.recent is None else bound.recent(part)
        if fits is None:
            fits = passes
        else:
            fits &= passes
    return fits


def _where_needed(score: BoundScore, nodes: IntArray | None, fits: BoolArray) -> IntArray:
    """Return the values of a costly score, once a node and only where ``fits``; 0 elsewhere."""
    values = np.zeros(len(fits), dtype=np.int64)
    if nodes is None:
        values[fits] = score.many(np.flatnonzero(fits))
    else:
        distinct, position = np.unique(nodes[fits], return_inverse=True)
        values[fits] = score.many(distinct)[position]
    return values
