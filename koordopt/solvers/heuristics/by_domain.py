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

    def points(self, values: Sequence[int]) -> list[int] | None:
        """Return the scores of domains by their ``values``; None where all get the same."""


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
        totals: list[int] = np.maximum.reduceat(row, domains.starts).tolist()
        for k, domain in enumerate(domains.of_part):
            if not allowed[domain]:
                totals[k] = 0
        if is_filtered and self.scores:
            self._add_scores(totals)
        best = max(totals)
        if best <= 0:
            return -1
        start, end = domains.parts[totals.index(best)]
        return start + int(row[start:end].argmax())

    def _may_tell_apart(self, allowed: Sequence[bool]) -> bool:
        """Return whether scores tell apart domains that are ``allowed``, if all are feasible."""
        return any(
            len(set(compress(plugin.values(self.c), allowed))) > 1 for plugin, _ in self.scores
        )

    def _add_scores(self, totals: list[int]) -> None:
        """Add the scores to the best of each part, where one is feasible."""
        of_part = self.domains.of_part
        for plugin, weight in self.scores:
            values, feasible, known = plugin.values(self.c), [], []
            for k, total in enumerate(totals):
                if total:
                    feasible.append(k)
                    known.append(values[of_part[k]])
            points = plugin.points(known)
            if points is not None:
                for k, each in zip(feasible, points, strict=True):
                    totals[k] += weight * each
