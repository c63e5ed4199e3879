"""The choice of a node where all that is global depends on one topology domain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from operator import and_
from typing import Any, Final, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from koordopt.solvers.heuristics.domains import Domains
from koordopt.solvers.heuristics.plugins import GlobalFilter, GlobalScore

UNDECIDED: Final = -2
"""The best node depends on where the class is feasible, which an unfiltered row does not say."""


@runtime_checkable
class DomainFilter(Protocol):
    """A global filter that can judge domains instead of nodes."""

    def domains(self, c: int) -> Sequence[Domains]:
        """Return the domains that class ``c`` is judged by."""

    def verdict(self, c: int) -> list[bool]:
        """Return which domains class ``c`` may use now, and whether nodes without one."""


@runtime_checkable
class DomainScore(Protocol):
    """A global score that can score domains instead of nodes."""

    def domains(self, c: int) -> Sequence[Domains]:
        """Return the domains that class ``c`` is judged by."""

    def values(self, c: int) -> list[int]:
        """Return what tells the domains apart, the last for nodes without one."""

    def shares(self, values: Sequence[int], among: Sequence[bool]) -> list[int] | None:
        """Return the score of each domain; None where all ``among`` get the same."""


@dataclass(frozen=True, slots=True)
class ByDomain:
    """Chooses the best node for one class whose global plug-ins all judge the same domains.

    Their say is one mask and one addend a domain, and in canonical order a domain is a slice of
    the row, or a few. So the choice is one among the best of each slice.
    """

    c: int
    domains: Domains
    filters: tuple[DomainFilter, ...]
    scores: tuple[tuple[DomainScore, int], ...]

    @classmethod
    def of(
        cls,
        c: int,
        filters: Sequence[GlobalFilter],
        scores: Sequence[tuple[GlobalScore, int]],
    ) -> ByDomain | None:
        """Return the choice for class ``c``; None where the plug-ins judge otherwise.

        Parameters
        ----------
        c
            The class.
        filters, scores
            Global plug-ins that concern it, scores with their weight.
        """
        by_domain = tuple(plugin for plugin in filters if isinstance(plugin, DomainFilter))
        scored = tuple((s, weight) for s, weight in scores if isinstance(s, DomainScore))
        if not filters or len(by_domain) < len(filters) or len(scored) < len(scores):
            return None
        judges: tuple[DomainFilter | DomainScore, ...] = (*by_domain, *(s for s, _ in scored))
        first, *others = (each for judge in judges for each in judge.domains(c))
        if not first.parts or any(each is not first for each in others):
            return None
        return cls(c, first, by_domain, scored)

    def best(self, row: NDArray[np.signedinteger[Any]], *, is_filtered: bool) -> int:
        """Return the best node, the first of equals; -1 for none.

        ``UNDECIDED`` where scores depend on which domains have a feasible node, and the row is not
        filtered.
        """
        first, *others = self.filters
        allowed = first.verdict(self.c)
        for plugin in others:
            allowed = list(map(and_, allowed, plugin.verdict(self.c)))
        if not is_filtered and self._may_tell_apart(allowed):
            return UNDECIDED
        domains = self.domains
        is_open = [allowed[domain] for domain in domains.of_part]
        if not self.scores or not is_filtered:
            if all(is_open):
                return _argmax(row, 0, len(row))
            if is_open.count(True) == 1:
                return _argmax(row, *domains.parts[is_open.index(True)])
        tops = np.maximum.reduceat(row, domains.starts).tolist()
        totals = [top if usable else 0 for top, usable in zip(tops, is_open, strict=True)]
        if self.scores and is_filtered:
            self._add_scores(totals)
        best = max(totals)
        return _argmax(row, *domains.parts[totals.index(best)]) if best > 0 else -1

    def _may_tell_apart(self, allowed: Sequence[bool]) -> bool:
        """Return whether scores tell apart domains that are ``allowed``, if all are feasible."""
        return any(
            len(set(compress(plugin.values(self.c), allowed))) > 1 for plugin, _ in self.scores
        )

    def _add_scores(self, totals: list[int]) -> None:
        """Add the scores to the best of each part, where one is feasible."""
        of_part = self.domains.of_part
        among = [False] * (self.domains.count + 1)
        for domain, total in zip(of_part, totals, strict=True):
            if total:
                among[domain] = True
        for plugin, weight in self.scores:
            shares = plugin.shares(plugin.values(self.c), among)
            if shares is not None:
                for k, domain in enumerate(of_part):
                    if totals[k]:
                        totals[k] += weight * shares[domain]


def _argmax(row: NDArray[np.signedinteger[Any]], start: int, end: int) -> int:
    """Return the first of the best nodes from ``start`` to ``end``; -1 where all are refused."""
    n = start + int(row[start:end].argmax())
    return n if row.item(n) > 0 else -1
