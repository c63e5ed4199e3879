"""What no policy can pass on the openb trace: a linear relaxation of the whole placement."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import csr_matrix

from benchmarks.quality.openb_trace import Trace
from koordopt.solvers.heuristics.fragmentation import WHOLE_CARD, Ints

__all__ = ["allocation_bound"]


@dataclass(slots=True)
class _Rows:
    """Rows ``coefficients @ x <= limit`` of a linear program, as they are added."""

    row: list[int] = field(default_factory=list)
    column: list[int] = field(default_factory=list)
    value: list[float] = field(default_factory=list)
    limit: list[float] = field(default_factory=list)

    def add(self, terms: list[tuple[int, float]], limit: float) -> None:
        """Add one row."""
        self.row += [len(self.limit)] * len(terms)
        self.column += [column for column, _ in terms]
        self.value += [value for _, value in terms]
        self.limit.append(limit)


def allocation_bound(trace: Trace, order: Ints) -> float:
    """Give an upper bound on the thousandths of a card that any policy allocates to the arrivals.

    Nodes of one shape (CPU, memory, cards, model) are pooled, and pods are divisible. Maximise the
    thousandths placed, subject for each shape to its CPU and memory, and to cards that are whole
    or cut by patterns. Patterns are paths of a flow: a unit of flow is a card, a step from
    ``p`` to ``p + share`` is a shared pod on it, shares in descending order.

    Parameters
    ----------
    trace
        Nodes and classes.
    order
        Class of each arriving pod.
    """
    arrived = np.bincount(order, minlength=len(trace.requests))
    nodes = trace.nodes
    number_of_cards = (nodes.cards > 0).sum(axis=1)
    shapes, nodes_of_shape = np.unique(
        np.stack([nodes.cpu, nodes.memory, number_of_cards, nodes.model], axis=1),
        axis=0,
        return_counts=True,
    )
    classes = np.flatnonzero(arrived).tolist()
    pairs = [
        (shape, number)
        for shape, (cpu, memory, cards, model) in enumerate(shapes.tolist())
        for number in classes
        if _fits_shape(trace, number, cpu, memory, cards, model)
    ]
    asked = {trace.requests[number].share for number in classes if trace.requests[number].is_shared}
    shares = sorted(asked, reverse=True)
    steps = _steps(shares)
    rows = _Rows()
    for number in classes:
        terms = [(column, 1.0) for column, (_, other) in enumerate(pairs) if other == number]
        rows.add(terms, float(arrived[number]))
    for shape, (cpu, memory, cards, _) in enumerate(shapes.tolist()):
        here = [(column, number) for column, (other, number) in enumerate(pairs) if other == shape]
        count = int(nodes_of_shape[shape])
        # Scaled to cores, GiB and cards: the solver's tolerances are absolute.
        rows.add([(c, trace.requests[k].cpu / 1000) for c, k in here], count * cpu / 1000)
        rows.add([(c, trace.requests[k].memory / 1024) for c, k in here], count * memory / 1024)
        first = len(pairs) + shape * (len(steps) + 1)
        _add_cards(rows, trace, here, shares, steps, first, count * cards)
    worth = np.zeros(len(pairs) + shapes.shape[0] * (len(steps) + 1))
    worth[: len(pairs)] = [trace.asked[number] / WHOLE_CARD for _, number in pairs]
    return _maximum(worth, rows) * WHOLE_CARD


def _fits_shape(trace: Trace, number: int, cpu: int, memory: int, cards: int, model: int) -> bool:
    request = trace.requests[number]
    if request.cpu > cpu or request.memory > memory or request.count > cards:
        return False
    return not request.count or request.models is None or bool(request.models[model])


def _steps(shares: list[int]) -> list[tuple[int, int, int]]:
    """Give the steps ``(from, to, share's index)`` of all paths with shares in descending order."""
    steps: set[tuple[int, int, int]] = set()
    seen: set[tuple[int, int]] = set()
    open_paths = [(0, 0)]
    while open_paths:
        position, first = open_paths.pop()
        if (position, first) in seen:
            continue
        seen.add((position, first))
        for index in range(first, len(shares)):
            end = position + shares[index]
            if end <= WHOLE_CARD:
                steps.add((position, end, index))
                open_paths.append((end, index))
    return sorted(steps)


def _add_cards(
    rows: _Rows,
    trace: Trace,
    here: list[tuple[int, int]],
    shares: list[int],
    steps: list[tuple[int, int, int]],
    first: int,
    cards: int,
) -> None:
    """Add one shape's cards: column ``first`` counts the whole ones, the steps' flow follows."""
    flow = [(first + 1 + offset, step) for offset, step in enumerate(steps)]
    rows.add([(first, 1.0)] + [(column, 1.0) for column, step in flow if step[0] == 0], cards)
    for position in sorted({step[1] for step in steps}):
        leaving = [(column, 1.0) for column, step in flow if step[0] == position]
        rows.add(leaving + [(column, -1.0) for column, step in flow if step[1] == position], 0.0)
    for index, share in enumerate(shares):
        placed = [(c, 1.0) for c, k in here if trace.requests[k].share == share]
        rows.add(placed + [(column, -1.0) for column, step in flow if step[2] == index], 0.0)
    whole = [
        (c, float(trace.requests[k].count))
        for c, k in here
        if trace.requests[k].count and not trace.requests[k].is_shared
    ]
    rows.add([*whole, (first, -1.0)], 0.0)


def _maximum(worth: NDArray[np.float64], rows: _Rows) -> float:
    matrix = csr_matrix((rows.value, (rows.row, rows.column)), shape=(len(rows.limit), worth.size))
    answer = linprog(-worth, A_ub=matrix, b_ub=rows.limit, bounds=(0, None), method="highs")
    if answer.status != 0:
        raise ArithmeticError(f"bound of {matrix.shape[0]} rows: {answer.message}")
    return float(-answer.fun)
