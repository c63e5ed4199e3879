"""Quotas as integer arrays, for problems and their rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from koordopt.models.arrays import BoolArray, IntArray, frozen
from koordopt.models.quota.forest import QuotaForest

UNSET = int(np.iinfo(np.int64).max // 4)
"""Stands for an unset dimension of a limit or min; larger amounts are cut to it."""


@dataclass(frozen=True, slots=True)
class QuotaArrays:
    """Limits and usage of ``Q`` quotas over ``R`` resources, all read-only.

    Attributes
    ----------
    resources
        Names of the resource axis, length ``R``.
    names
        Names of the quotas, length ``Q``, parents before their children. Roots are left out:
        what they share is in the limits of the quotas below them.
    parent
        Index of each quota's parent, shape ``(Q,)``, int64; -1 directly under a root.
    chains
        For each quota its own index and those of its ancestors, nearest first.
    limit
        What usage is compared with, base units, shape ``(Q, R)``, int64; ``UNSET`` is no limit.
    minimum
        Min for pods that may not be preempted, shape ``(Q, R)``, int64; ``UNSET`` is no limit.
    guaranteed
        Min after scaling, the part of the quota that comes first, shape ``(Q, R)``, int64.
    used, non_preemptible_used
        Usage of the quota and all below it, base units, shape ``(Q, R)``, int64.
    counted
        Whether requests of the quota's own pods count, here and above, shape ``(Q, R)``, bool.

    Notes
    -----
    A pod of quota ``q`` with the request ``request[r]`` is charged
    ``np.where(counted[q], request, 0)`` in each quota of ``chains[q]``. ``admit`` refuses it where
    ``used + charge > limit`` in any dimension of ``q`` itself, or of an ancestor in a dimension
    that the pod's request names.
    """

    resources: tuple[str, ...]
    names: tuple[str, ...]
    parent: IntArray
    chains: tuple[tuple[int, ...], ...]
    limit: IntArray
    minimum: IntArray
    guaranteed: IntArray
    used: IntArray
    non_preemptible_used: IntArray
    counted: BoolArray

    @property
    def index(self) -> dict[str, int]:
        """Index of each quota by name."""
        return {name: q for q, name in enumerate(self.names)}


def quota_arrays(forest: QuotaForest, resources: tuple[str, ...]) -> QuotaArrays:
    """Return the quotas of a forest on a resource axis.

    Parameters
    ----------
    forest
        The quotas with their pods.
    resources
        Names of the resource axis; dimensions of quotas outside it are left out.
    """
    names = forest.names
    index = {name: q for q, name in enumerate(names)}
    chains = tuple(tuple(index[link] for link in forest.chain(name)) for name in names)

    def table(rows: list[Mapping[str, int]], unset: int) -> IntArray:
        values = [[min(row.get(r, unset), UNSET) for r in resources] for row in rows]
        return frozen(np.array(values, dtype=np.int64).reshape(len(names), len(resources)))

    specs = [forest.spec(name) for name in names]
    counted = np.array([[r in spec.max for r in resources] for spec in specs], dtype=np.bool_)
    return QuotaArrays(
        resources=resources,
        names=names,
        parent=frozen(
            np.array([chain[1] if len(chain) > 1 else -1 for chain in chains], dtype=np.int64)
        ),
        chains=chains,
        limit=table([forest.limit(name) for name in names], UNSET),
        minimum=table([spec.min for spec in specs], UNSET),
        guaranteed=table([forest.scaled_min(name) for name in names], 0),
        used=table([forest.used(name) for name in names], 0),
        non_preemptible_used=table([forest.non_preemptible_used(name) for name in names], 0),
        counted=frozen(counted.reshape(len(names), len(resources))),
    )
