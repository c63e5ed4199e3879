"""May one more pod use its quota? The answer, and the one quota that stands in the way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from koordopt.models.quota.amounts import canonical, canonical_list
from koordopt.models.quota.forest import QuotaForest


class QuotaRule(Enum):
    """Which comparison a pod failed."""

    LIMIT = "limit"
    NON_PREEMPTIBLE = "non-preemptible"
    ANCESTOR = "ancestor"


@dataclass(frozen=True, slots=True)
class QuotaRefusal:
    """Why a pod may not use its quota now.

    Attributes
    ----------
    rule
        The comparison that failed.
    quota
        The quota that stands in the way: the pod's own, or the nearest ancestor that is short.
    path
        Quotas from that one down to the pod's own.
    resources
        Dimensions that are short, sorted.
    limit
        What the quota may use, or its min where ``rule`` is about non-preemptible pods.
    used
        What is used of it.
    request
        The part of the pod's request that counts.
    """

    rule: QuotaRule
    quota: str
    path: tuple[str, ...]
    resources: tuple[str, ...]
    limit: Mapping[str, int]
    used: Mapping[str, int]
    request: Mapping[str, int]

    @property
    def message(self) -> str:
        """The refusal in the words that tools of the ecosystem look for."""
        limit, used = canonical_list(self.limit), canonical_list(self.used)
        rest = (
            f"pod's request: {canonical_list(self.request)}, "
            f"exceedDimensions: [{' '.join(self.resources)}]"
        )
        if self.rule is QuotaRule.NON_PREEMPTIBLE:
            return (
                f"Insufficient non-preemptible quotas, quotaName: {self.quota}, min: {limit}, "
                f"nonPreemptibleUsed: {used}, {rest}"
            )
        where = f"quotaName: {self.quota}"
        if self.rule is QuotaRule.ANCESTOR:
            where = f"quotaNameTopo: [{' '.join(self.path)}]"
        return f"Insufficient quotas, {where}, runtime: {limit}, used: {used}, {rest}"

    @property
    def explanation(self) -> str:
        """The same for a person: the quota, and the sum that does not hold in each dimension."""
        sums = (
            f"{name}: {canonical(name, self.used.get(name, 0))}"
            f" + {canonical(name, self.request.get(name, 0))}"
            f" > {canonical(name, self.limit[name])}"
            for name in self.resources
        )
        what = "min of quota" if self.rule is QuotaRule.NON_PREEMPTIBLE else "quota"
        return f"{what} {self.quota}, {', '.join(sums)}"


def admit(
    forest: QuotaForest, quota: str, request: Mapping[str, int], *, is_preemptible: bool = True
) -> QuotaRefusal | None:
    r"""Return why a pod may not use its quota, or ``None`` if it may.

    Parameters
    ----------
    forest
        The quotas; the pod should be among its pending pods, since the runtime follows requests.
    quota
        Quota of the pod, resolved.
    request
        Amounts the pod asks for, base units.
    is_preemptible
        Whether the pod may be preempted; if not, it has to fit into the min as well.

    Raises
    ------
    InvalidInputError
        If the quota does not exist.

    Notes
    -----
    In this order, each only where both sides are set:

    .. math::

        \mathrm{used}_q + \mathrm{req} \le \mathrm{limit}_q, \qquad
        \mathrm{npused}_q + \mathrm{req} \le \min{}_q, \qquad
        \mathrm{used}_a + \mathrm{req} \le \mathrm{limit}_a \quad \forall a \succ q

    The pod's own quota must hold in every dimension; an ancestor only in those the pod names.
    """
    charge = forest.charge(quota, request)
    limit = forest.runtime if forest.settings.enable_runtime else forest.limit
    refusal = _short(QuotaRule.LIMIT, (quota,), limit(quota), forest.used(quota), charge, None)
    if refusal is None and not is_preemptible:
        minimum, used = forest.spec(quota).min, forest.non_preemptible_used(quota)
        refusal = _short(QuotaRule.NON_PREEMPTIBLE, (quota,), minimum, used, charge, None)
    if refusal is None:
        refusal = _ancestor_short(forest, quota, limit, charge)
    if refusal is None and forest.settings.enable_runtime:
        # What a parent leaves unset is not shared below it; there max alone is the limit.
        refusal = _short(
            QuotaRule.LIMIT, (quota,), forest.limit(quota), forest.used(quota), charge, None
        ) or _ancestor_short(forest, quota, forest.limit, charge)
    return refusal


def _ancestor_short(
    forest: QuotaForest,
    quota: str,
    limit: Callable[[str], Mapping[str, int]],
    charge: Mapping[str, int],
) -> QuotaRefusal | None:
    """Return the refusal of the nearest ancestor that is short."""
    path: tuple[str, ...] = (quota,)
    for ancestor in forest.chain(quota)[1:]:
        path = (ancestor, *path)
        refusal = _short(
            QuotaRule.ANCESTOR, path, limit(ancestor), forest.used(ancestor), charge, charge
        )
        if refusal is not None:
            return refusal
    return None


def _short(
    rule: QuotaRule,
    path: tuple[str, ...],
    limit: Mapping[str, int],
    used: Mapping[str, int],
    charge: Mapping[str, int],
    only: Iterable[str] | None,
) -> QuotaRefusal | None:
    """Return the refusal of the first quota in ``path``, judged in ``only`` or in all set."""
    compared = {*used, *charge} if only is None else set(only)
    resources = tuple(
        sorted(
            name
            for name in compared & limit.keys()
            if used.get(name, 0) + charge.get(name, 0) > limit[name]
        )
    )
    if not resources:
        return None
    return QuotaRefusal(rule, path[0], path, resources, dict(limit), dict(used), dict(charge))
