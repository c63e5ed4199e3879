"""What the greedy pipeline asks of a filter and of a score.

A *local* plug-in judges a node by that node's own state, so its verdict stays valid until a pod is
placed there; the pipeline keeps it. A *global* one looks at the whole cluster (counts per topology
domain, or the best of all feasible nodes) and is asked anew for every decision.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias

from koordopt.models.arrays import BoolArray, IntArray

BEST: Final = 100
"""Largest score of most plug-ins, before their weight."""

NodeReason: TypeAlias = tuple[BoolArray, str, bool]
"""Nodes that are refused, shape ``(N,)``; what a person reads; whether evictions could help."""


@dataclass(frozen=True, slots=True)
class BoundFilter:
    """A local filter for one class: ``one(n)``, and ``many(nodes)`` (None for all nodes).

    One that judges by tracks of the change log alone gives ``recent`` as well: the same for a part
    of the log.
    """

    one: Callable[[int], bool]
    many: Callable[[IntArray | None], BoolArray]
    recent: Callable[[slice], BoolArray] | None = None


@dataclass(frozen=True, slots=True)
class BoundScore:
    """A local score for one class: ``one(n)``, and ``many(nodes)`` (None for all).

    All must give the same integer for a node, from 0 to the plug-in's ``best``; ``recent`` is as
    for filters. The arrays are the caller's to change. A score that depends on more than the node
    gives ``epoch`` as well: a number that changes, after a placement or an undo, when the scores
    given so far are void.
    """

    one: Callable[[int], int]
    many: Callable[[IntArray | None], IntArray]
    recent: Callable[[slice], IntArray] | None = None
    epoch: Callable[[], int] | None = None


class LocalFilter(Protocol):
    """Refuses nodes by their own state; ``name`` is that of kube-scheduler's plug-in."""

    name: str
    rule: str

    def bind(self, c: int) -> BoundFilter | None:
        """Return the filter for class ``c``; None where it never refuses the class."""

    def reasons(self, c: int) -> list[NodeReason]:
        """Return why nodes refuse class ``c`` now."""


class GlobalFilter(Protocol):
    """Refuses nodes by what runs elsewhere; ``name`` is that of kube-scheduler's plug-in."""

    name: str
    rule: str

    def concerns(self, c: int) -> bool:
        """Return whether the filter can ever refuse class ``c`` a node."""

    def admits(self, c: int, n: int) -> bool:
        """Return the same for one node as ``mask`` does for all."""

    def mask(self, c: int) -> BoolArray | None:
        """Return the nodes that class ``c`` may use now, ``(N,)``; None for all, always."""

    def reasons(self, c: int) -> list[NodeReason]:
        """Return why nodes refuse class ``c`` now."""


class LocalScore(Protocol):
    """Scores nodes by their own state, from 0 to ``best``."""

    name: str
    best: int

    def bind(self, c: int) -> BoundScore | None:
        """Return the score for class ``c``; None where all nodes get the same."""

    def refresh(self, n: int) -> None:
        """Take note that the pods of node ``n`` changed."""


class GlobalScore(Protocol):
    """Scores nodes against each other."""

    name: str

    def concerns(self, c: int) -> bool:
        """Return whether the score can ever tell nodes apart for class ``c``."""

    def scores(self, c: int, feasible: BoolArray) -> IntArray | None:
        """Return 0 to 100 for each node, ``(N,)``, valid where ``feasible``.

        None where all feasible nodes get the same.
        """
