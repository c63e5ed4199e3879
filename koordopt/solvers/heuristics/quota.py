"""Quota use as pods are placed one after another, with exact undo."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from koordopt.models.problem.placement import PlacementProblem
from koordopt.models.quota.arrays import UNSET


@dataclass(frozen=True)
class QuotaShort:
    """Why a quota has no room for a pod.

    Attributes
    ----------
    quota, resource
        Indices of the quota that blocks (the pod's own or an ancestor) and of the resource.
    used, asked, limit
        Amounts in base units; ``used + asked > limit``.
    own
        The pod's own quota.
    is_minimum
        Whether ``limit`` is the min, which binds pods that may not be preempted.
    """

    quota: int
    resource: int
    used: int
    asked: int
    limit: int
    own: int
    is_minimum: bool


class QuotaUse:
    """What every quota uses, as of the placements made so far.

    Parameters
    ----------
    problem
        The problem; without quotas nothing is ever refused.
    """

    def __init__(self, problem: PlacementProblem) -> None:
        table = problem.snapshot.quotas
        arrays = table.arrays
        self.is_active = arrays is not None
        self._quota_of: list[int] = table.quota_of.tolist()
        self._firm: list[bool] = table.non_preemptible.tolist()
        self._class_of: list[int] = problem.snapshot.pods.class_of.tolist()
        self._request = problem.request
        self._charge_memo: dict[tuple[int, int], tuple[tuple[int, int], ...]] = {}
        if arrays is None:
            return
        self._counts = arrays.counted
        self._chains = arrays.chains
        self._used: list[list[int]] = arrays.used.tolist()
        self._firm_used: list[list[int]] = arrays.non_preemptible_used.tolist()
        self._limit: list[list[int]] = arrays.limit.tolist()
        self._minimum: list[list[int]] = arrays.minimum.tolist()
        self._guaranteed: list[list[int]] = arrays.guaranteed.tolist()
        capped = arrays.limit < UNSET
        self._capped = [np.flatnonzero(row).tolist() for row in capped]

    def kind(self, p: int) -> tuple[int, int, bool]:
        """Return class, quota and firmness of pod ``p``; pods alike in them fare alike."""
        return self._class_of[p], self._quota_of[p], self._firm[p]

    def quota_of(self, p: int) -> int:
        """Return the quota of pod ``p``; -1 for none."""
        return self._quota_of[p]

    def charges(self, p: int) -> tuple[tuple[int, int], ...]:
        """Return what pod ``p`` is charged: pairs of resource index and amount."""
        c, q = self._class_of[p], self._quota_of[p]
        charges = self._charge_memo.get((c, q))
        if charges is None:
            row = np.where(self._counts[q], self._request[c], 0).tolist()
            charges = tuple((r, v) for r, v in enumerate(row) if v)
            self._charge_memo[(c, q)] = charges
        return charges

    def refusal(self, p: int) -> QuotaShort | None:
        """Return the first quota without room for pod ``p``, its own first; None for none."""
        if not self.is_active:
            return None
        own = self._quota_of[p]
        charges = self.charges(p)
        asked = dict(charges)
        used, limit = self._used[own], self._limit[own]
        for r in self._capped[own]:
            # What the pod does not ask for still refuses it where its own quota is over.
            if used[r] + asked.get(r, 0) > limit[r]:
                return QuotaShort(own, r, used[r], asked.get(r, 0), limit[r], own, False)
        if self._firm[p]:
            used, limit = self._firm_used[own], self._minimum[own]
            for r, amount in charges:
                if used[r] + amount > limit[r]:
                    return QuotaShort(own, r, used[r], amount, limit[r], own, True)
        for q in self._chains[own][1:]:
            used, limit = self._used[q], self._limit[q]
            for r, amount in charges:
                if used[r] + amount > limit[r]:
                    return QuotaShort(q, r, used[r], amount, limit[r], own, False)
        return None

    def charge(self, p: int, sign: int = 1) -> None:
        """Count pod ``p`` in its quota and every ancestor; ``sign`` -1 takes it back."""
        if not self.is_active:
            return
        own = self._quota_of[p]
        charges = self.charges(p)
        for q in self._chains[own]:
            used = self._used[q]
            for r, amount in charges:
                used[r] += sign * amount
        if self._firm[p]:
            used = self._firm_used[own]
            for r, amount in charges:
                used[r] += sign * amount

    def is_guaranteed(self, p: int) -> bool:
        """Return whether the quota of ``p`` stays within its guaranteed part with it."""
        if not self.is_active:
            return False
        own = self._quota_of[p]
        used, guaranteed = self._used[own], self._guaranteed[own]
        charges = self.charges(p)
        return bool(charges) and all(used[r] + v <= guaranteed[r] for r, v in charges)

    def used_share(self, q: int) -> float:
        """Return the largest share of its limit that quota ``q`` uses; 0 without quotas."""
        if not self.is_active or q < 0:
            return 0.0
        used, limit = self._used[q], self._limit[q]
        return max((used[r] / limit[r] if limit[r] else 1.0 for r in self._capped[q]), default=0.0)
