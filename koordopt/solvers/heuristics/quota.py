"""Quota use as pods are placed one after another, with exact undo."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from koordopt.models.problem.placement import PlacementProblem
from koordopt.models.quota.arrays import UNSET

Kind: TypeAlias = tuple[int, int, bool]
"""Class, quota, and whether the pod must fit into the min of its quota."""


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


class _Limit(NamedTuple):
    """A limit that a pod must keep: ``used[resource] + asked <= limit``."""

    quota: int
    used: list[int]
    resource: int
    asked: int
    limit: int
    is_minimum: bool


class _Account(NamedTuple):
    """What pods of one kind are charged, prepared for the many that come.

    Attributes
    ----------
    charges
        Pairs of resource index and amount.
    sums
        Where the charges are added, by resource.
    checks
        Sums, resource and the most that may be in use before, in the order of ``limits``.
    limits
        What must be kept, in the order in which it is looked at.
    """

    charges: tuple[tuple[int, int], ...]
    sums: tuple[list[int], ...]
    checks: tuple[tuple[list[int], int, int], ...]
    limits: tuple[_Limit, ...]


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
        self._kinds: list[Kind] = list(zip(self._class_of, self._quota_of, self._firm, strict=True))
        self._accounts: dict[Kind, _Account] = {}
        self._account_of: list[_Account | None] = [None] * len(self._kinds)
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

    def kind(self, p: int) -> Kind:
        """Return class, quota and firmness of pod ``p``; pods alike in them fare alike."""
        return self._kinds[p]

    def quota_of(self, p: int) -> int:
        """Return the quota of pod ``p``; -1 for none."""
        return self._quota_of[p]

    def charges(self, p: int) -> tuple[tuple[int, int], ...]:
        """Return what pod ``p`` is charged: pairs of resource index and amount."""
        return self._account(p).charges

    def _account(self, p: int) -> _Account:
        account = self._account_of[p]
        if account is None:
            kind = self._kinds[p]
            account = self._accounts.get(kind)
            if account is None:
                account = self._accounts[kind] = self._open(*kind)
            self._account_of[p] = account
        return account

    def _open(self, c: int, own: int, firm: bool) -> _Account:
        """Return the account of pods of class ``c`` in quota ``own``."""
        row = np.where(self._counts[own], self._request[c], 0).tolist()
        charges = tuple((r, v) for r, v in enumerate(row) if v)
        # What a pod does not ask for still refuses it where its own quota is over.
        limits = [
            _Limit(own, self._used[own], r, row[r], self._limit[own][r], False)
            for r in self._capped[own]
        ]
        if firm:
            used, limit = self._firm_used[own], self._minimum[own]
            limits += [_Limit(own, used, r, amount, limit[r], True) for r, amount in charges]
        for q in self._chains[own][1:]:
            used, limit = self._used[q], self._limit[q]
            limits += [_Limit(q, used, r, amount, limit[r], False) for r, amount in charges]
        sums = [self._used[q] for q in self._chains[own]]
        if firm:
            sums.append(self._firm_used[own])
        checks = [(limit.used, limit.resource, limit.limit - limit.asked) for limit in limits]
        return _Account(charges, tuple(sums), tuple(checks), tuple(limits))

    def refusal(self, p: int) -> QuotaShort | None:
        """Return the first quota without room for pod ``p``, its own first; None for none."""
        if not self.is_active:
            return None
        account = self._account_of[p] or self._account(p)
        for k, (used, r, most) in enumerate(account.checks):
            if used[r] > most:
                return self._short(p, account.limits[k])
        return None

    def shortfalls(self, p: int) -> list[QuotaShort]:
        """Return every quota without room for pod ``p``, its own first."""
        if not self.is_active:
            return []
        limits = self._account(p).limits
        return [self._short(p, x) for x in limits if x.used[x.resource] + x.asked > x.limit]

    def _short(self, p: int, of: _Limit) -> QuotaShort:
        used = of.used[of.resource]
        own = self._quota_of[p]
        return QuotaShort(of.quota, of.resource, used, of.asked, of.limit, own, of.is_minimum)

    def charge(self, p: int, sign: int = 1) -> None:
        """Count pod ``p`` in its quota and every ancestor; ``sign`` -1 takes it back."""
        if not self.is_active:
            return
        charges, sums, _, _ = self._account_of[p] or self._account(p)
        for used in sums:
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
