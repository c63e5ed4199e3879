"""From a verdict on topology domains to one on nodes."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

import numpy as np

from koordopt.models.arrays import BoolArray, IntArray, frozen

FEW: Final = 64
"""A key with at most this many domains has few distinct verdicts, so masks are kept."""
_MOST_KEPT: Final = 256


class Domains:
    """The domains of one topology key.

    Parameters
    ----------
    domain_of
        Domain of each node, shape ``(N,)``; -1 where it has none.

    Attributes
    ----------
    of_node
        The same as a list.
    count
        Number of domains that have a node.
    starts
        Where runs of neighbouring nodes of one domain begin, ascending.
    parts, of_part
        First node of each run and the node behind its last, and its domain; empty where they are
        many.
    """

    def __init__(self, domain_of: IntArray) -> None:
        self.domain_of = domain_of
        self.of_node: list[int] = domain_of.tolist()
        self.count = int(domain_of.max(initial=-1)) + 1
        self._masks: dict[tuple[bytes, bool], BoolArray] = {}
        self._scores: dict[tuple[int, ...], IntArray] = {}
        # In canonical order the nodes of one zone are neighbours.
        self.starts = np.flatnonzero(np.diff(domain_of, prepend=-2))
        self._domain_at = domain_of[self.starts]
        self.of_part: list[int] = []
        self.parts: list[tuple[int, int]] = []
        if len(self.starts) <= FEW:
            bounds = [*self.starts.tolist(), len(domain_of)]
            self.parts += pairwise(bounds)
            self.of_part += self._domain_at.tolist()

    def over(self, verdict: BoolArray, *, without: bool) -> BoolArray:
        """Return the verdict on each node's domain, shape ``(N,)``, read-only.

        Parameters
        ----------
        verdict
            One for each domain, shape ``(T,)``.
        without
            Verdict on nodes that have no domain.
        """
        if self.count > FEW:
            return self._over(verdict, without)
        key = (verdict.tobytes(), without)
        mask = self._masks.get(key)
        if mask is None:
            if len(self._masks) >= _MOST_KEPT:
                self._masks.clear()
            mask = self._masks[key] = self._over(verdict, without)
        return mask

    def _over(self, verdict: BoolArray, without: bool) -> BoolArray:
        # Domain -1 reads the last entry.
        return frozen(np.append(verdict, without).take(self.domain_of, mode="wrap"))

    def scores_over(self, scores: tuple[int, ...]) -> IntArray:
        """Return the score of each node's domain, shape ``(N,)``, read-only.

        Parameters
        ----------
        scores
            One for each of few domains, and one for nodes without.
        """
        found = self._scores.get(scores)
        if found is None:
            if len(self._scores) >= _MOST_KEPT:
                self._scores.clear()
            table = np.array(scores, dtype=np.int64)
            found = self._scores[scores] = frozen(table.take(self.domain_of, mode="wrap"))
        return found

    def of_nodes(self, nodes: BoolArray) -> BoolArray:
        """Return which domains have one of ``nodes``, shape ``(T + 1,)``; the last for none."""
        found = np.zeros(self.count + 1, dtype=np.bool_)
        if self.parts:
            parts = np.logical_or.reduceat(nodes, self.starts)
            found[self._domain_at[parts]] = True
        else:
            found[self.domain_of[nodes]] = True
        return found
