"""Scaled mins and runtimes of a whole tree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from koordopt.models.quota.amounts import total
from koordopt.models.quota.ledger import Ledger
from koordopt.models.quota.sharing import Claim, scaled_min, share
from koordopt.models.quota.spec import BUILTIN_LEAVES, QuotaSettings
from koordopt.models.quota.structure import QuotaStructure


class TreeRuntime:
    """Scaled mins and runtimes of one tree, computed from the root down.

    Requests and guarantees come from below and do not depend on runtimes, so one pass gives the
    fixpoint.

    Parameters
    ----------
    structure
        All trees.
    ledgers
        Ledger of each quota by name.
    tree
        Identifier of the tree.
    capacity
        What the quotas directly under its root share, base units.
    settings
        Settings of all trees.

    Attributes
    ----------
    scaled_min
        Min of each quota after scaling to its parent's capacity.
    runtime
        Runtime of each quota in every dimension that its parent shares out; that of the built-in
        quotas is their max.

    Notes
    -----
    The root shares out every dimension that a max in the tree names; any other quota those of
    its own max, of which it shares its runtime.
    """

    def __init__(
        self,
        structure: QuotaStructure,
        ledgers: Mapping[str, Ledger],
        tree: str,
        capacity: Mapping[str, int],
        settings: QuotaSettings,
    ) -> None:
        self.scaled_min: dict[str, Mapping[str, int]] = {}
        self.runtime: dict[str, Mapping[str, int]] = {}
        self._ledgers = ledgers
        self._scales = settings.scale_min
        top = [name for name in structure.top[tree] if name not in BUILTIN_LEAVES]
        for name in set(structure.top[tree]) - set(top):
            self.scaled_min[name] = {}
            self.runtime[name] = ledgers[name].spec.max
        members = [name for name in structure.order if structure.tree_of(name) == tree]
        shared = {
            resource
            for name in members
            if name not in BUILTIN_LEAVES
            for resource in structure.specs[name].max
        }
        self._share_out(top, capacity, shared)
        for name in members:
            children = structure.children.get(name)
            if children:
                self._share_out(children, self.runtime[name], structure.specs[name].max)

    def _share_out(
        self,
        children: Iterable[str],
        capacity: Mapping[str, int],
        resources: Iterable[str],
    ) -> None:
        """Fill in the children of one parent.

        Mins are scaled to ``capacity`` in all its dimensions; it is shared in ``resources`` only.
        """
        ledgers = [self._ledgers[name] for name in children]
        scaled = self._scaled_mins(ledgers, capacity)
        runtimes: list[dict[str, int]] = [{} for _ in ledgers]
        for resource in sorted(resources):
            claims = [
                Claim(
                    ledger.spec.name,
                    ledger.limited_request.get(resource, 0),
                    max(minimum.get(resource, 0), ledger.guaranteed.get(resource, 0)),
                    ledger.spec.effective_weight.get(resource, 0),
                    ledger.lends,
                )
                for ledger, minimum in zip(ledgers, scaled, strict=True)
            ]
            shares = share(capacity.get(resource, 0), claims)
            for runtime, amount in zip(runtimes, shares, strict=True):
                runtime[resource] = amount
        for ledger, minimum, runtime in zip(ledgers, scaled, runtimes, strict=True):
            self.scaled_min[ledger.spec.name] = minimum
            self.runtime[ledger.spec.name] = runtime

    def _scaled_mins(
        self, ledgers: list[Ledger], capacity: Mapping[str, int]
    ) -> list[Mapping[str, int]]:
        mins: list[Mapping[str, int]] = [ledger.spec.min for ledger in ledgers]
        if not self._scales:
            return mins
        sums = total(mins)
        short = {name for name, amount in capacity.items() if sums.get(name, 0) > amount}
        if not short:
            return mins
        return [
            {
                name: scaled_min(capacity[name], amount, sums[name]) if name in short else amount
                for name, amount in minimum.items()
            }
            for minimum in mins
        ]
