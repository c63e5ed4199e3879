"""What the pods of each quota ask for and use, kept along the chain to the root."""

from __future__ import annotations

from collections.abc import Mapping

from koordopt.models.quota.amounts import Tally, capped, larger
from koordopt.models.quota.spec import QuotaSpec


class Ledger:
    """Requests and usage of one quota and everything below it.

    Attributes
    ----------
    spec
        The quota; a root has an empty one.
    above
        Ledger of the parent, the root's included; ``None`` at the root.
    self_request, self_used
        Sums over the pods of the quota itself.
    child_request
        The same requests plus the limited requests of the children.
    used, non_preemptible_request, non_preemptible_used
        Sums over the pods of the quota and all quotas below.
    allocated
        What its own pods use and its children are guaranteed; empty unless usage is guaranteed.
    request, limited_request, guaranteed
        Derived, and current after every change.
    """

    __slots__ = (
        "above",
        "allocated",
        "child_request",
        "guaranteed",
        "guarantees_usage",
        "lends",
        "limited_request",
        "non_preemptible_request",
        "non_preemptible_used",
        "request",
        "self_request",
        "self_used",
        "spec",
        "used",
    )

    def __init__(self, spec: QuotaSpec, above: Ledger | None, *, guarantees_usage: bool) -> None:
        self.spec = spec
        self.above = above
        self.guarantees_usage = guarantees_usage
        self.lends = spec.lends and not guarantees_usage
        self.self_request = Tally()
        self.self_used = Tally()
        self.child_request = Tally()
        self.used = Tally()
        self.non_preemptible_request = Tally()
        self.non_preemptible_used = Tally()
        self.allocated = Tally()
        self.request: dict[str, int] = {}
        self.limited_request: dict[str, int] = {}
        self.guaranteed: dict[str, int] = {}
        self._derive_request()
        self._derive_guarantee()

    def change_request(
        self, amounts: Mapping[str, int], *, is_preemptible: bool, is_added: bool
    ) -> None:
        """Add or remove the request of one of the quota's own pods, up to the root."""
        _change(self.self_request, amounts, is_added=is_added)
        _change(self.child_request, amounts, is_added=is_added)
        self._derive_request()
        if not is_preemptible:
            ledger: Ledger | None = self
            while ledger is not None:
                _change(ledger.non_preemptible_request, amounts, is_added=is_added)
                ledger = ledger.above

    def change_used(
        self, amounts: Mapping[str, int], *, is_preemptible: bool, is_added: bool
    ) -> None:
        """Add or remove the usage of one of the quota's own pods, up to the root."""
        _change(self.self_used, amounts, is_added=is_added)
        ledger: Ledger | None = self
        while ledger is not None:
            _change(ledger.used, amounts, is_added=is_added)
            if not is_preemptible:
                _change(ledger.non_preemptible_used, amounts, is_added=is_added)
            ledger = ledger.above
        if self.guarantees_usage:
            _change(self.allocated, amounts, is_added=is_added)
            self._derive_guarantee()

    def _derive_request(self) -> None:
        """Bring requests up to date from here to the root, as far as the change reaches."""
        ledger = self
        while True:
            asked, spec = ledger.child_request.amounts, ledger.spec
            ledger.request = dict(asked) if ledger.lends else larger(asked, spec.min)
            before, after = ledger.limited_request, capped(ledger.request, spec.max)
            ledger.limited_request = after
            if ledger.above is None or before == after:
                return
            ledger.above.child_request.remove(before)
            ledger.above.child_request.add(after)
            ledger = ledger.above

    def _derive_guarantee(self) -> None:
        """Bring guarantees up to date from here to the root, as far as the change reaches."""
        ledger = self
        while self.guarantees_usage:
            before = ledger.guaranteed
            ledger.guaranteed = larger(ledger.allocated.amounts, ledger.spec.min)
            if ledger.above is None or before == ledger.guaranteed:
                return
            ledger.above.allocated.remove(before)
            ledger.above.allocated.add(ledger.guaranteed)
            ledger = ledger.above


def _change(tally: Tally, amounts: Mapping[str, int], *, is_added: bool) -> None:
    if is_added:
        tally.add(amounts)
    else:
        tally.remove(amounts)
