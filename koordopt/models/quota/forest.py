"""The quotas of a cluster with their pods: requests, guarantees, runtimes and limits.

The runtime of a tree is computed when it is asked for and kept until something changes; a change
of a pod costs its quota's chain only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from koordopt.errors import InvalidInputError
from koordopt.models.api.keys import QUOTA_ROOT
from koordopt.models.quota.amounts import masked, require_non_negative, total
from koordopt.models.quota.laws import broken_laws
from koordopt.models.quota.ledger import Ledger
from koordopt.models.quota.runtime import TreeRuntime
from koordopt.models.quota.spec import (
    BUILTIN_LEAVES,
    DEFAULT_TREE,
    QuotaPod,
    QuotaSettings,
    QuotaSpec,
    QuotaWarning,
)
from koordopt.models.quota.structure import QuotaStructure, build_structure


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaState:
    """All amounts of one quota at one moment, base units; absent means unset.

    Attributes
    ----------
    child_request
        Requests of its own pods and limited requests of its children.
    request
        The same, raised to min where the quota does not lend.
    limited_request
        The request cut to max: what the parent sees.
    self_request, self_used
        Sums over its own pods alone.
    used
        Usage of its pods and of all quotas below.
    non_preemptible_request, non_preemptible_used
        The part of pods that may not be preempted.
    allocated, guaranteed
        Usage that is guaranteed, and the larger of it and min; empty unless usage is guaranteed.
    shared_weight
        Weights in force.
    scaled_min
        Min after scaling to the parent's capacity.
    runtime
        Amounts it may use now, in the dimensions of its max.
    runtime_all
        The same before that cut: in the dimensions that its parent shares out.
    limit
        What admission compares with, see ``QuotaForest.limit``.
    """

    child_request: Mapping[str, int]
    request: Mapping[str, int]
    limited_request: Mapping[str, int]
    self_request: Mapping[str, int]
    self_used: Mapping[str, int]
    used: Mapping[str, int]
    non_preemptible_request: Mapping[str, int]
    non_preemptible_used: Mapping[str, int]
    allocated: Mapping[str, int]
    guaranteed: Mapping[str, int]
    shared_weight: Mapping[str, int]
    scaled_min: Mapping[str, int]
    runtime: Mapping[str, int]
    runtime_all: Mapping[str, int]
    limit: Mapping[str, int]


class QuotaForest:
    """Every quota tree of a cluster.

    Parameters
    ----------
    specs
        All quotas, in any order; the built-in ones need not be among them.
    total
        Allocatable amounts of the whole cluster, base units.
    pods
        Pods that belong to quotas, pending or assigned, in any order.
    settings
        Settings of all trees.

    Raises
    ------
    InvalidInputError
        If a pod names a quota that does not exist, comes twice, or has a negative request. A
        tree that merely contradicts itself is computed, see ``warnings``.

    Notes
    -----
    The children of the root share what the tree owns less what the default and system quotas
    use; the children of any other quota share its runtime. A resource that no max of a parent
    names is not shared below it.
    """

    def __init__(
        self,
        specs: Iterable[QuotaSpec],
        total: Mapping[str, int],
        pods: Iterable[QuotaPod] = (),
        settings: QuotaSettings | None = None,
    ) -> None:
        self.settings = settings or QuotaSettings()
        self.structure: QuotaStructure = build_structure(specs, self.settings)
        self._total = dict(total)
        self._roots = {
            tree: self._ledger(QuotaSpec(name=QUOTA_ROOT), None) for tree in self.structure.top
        }
        self._ledgers: dict[str, Ledger] = {}
        for name in self.structure.order:
            parent = self.structure.parent[name]
            tree = self.structure.tree_of(name)
            above = self._roots[tree] if parent is None else self._ledgers[parent]
            self._ledgers[name] = self._ledger(self.structure.specs[name], above)
        self._pods: dict[str, QuotaPod] = {}
        self._runtimes: dict[str, TreeRuntime] = {}
        for pod in pods:
            self.add_pod(pod)

    # -- what there is ---------------------------------------------------------------------

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all quotas but the roots, parents before their children."""
        return self.structure.order

    @property
    def warnings(self) -> tuple[QuotaWarning, ...]:
        """What the objects get wrong, in structure and in amounts, sorted."""
        return tuple(sorted((*self.structure.warnings, *broken_laws(self.structure))))

    @property
    def pods(self) -> Mapping[str, QuotaPod]:
        """The pods by name."""
        return self._pods

    def spec(self, name: str) -> QuotaSpec:
        """Return what the quota is told to be."""
        self._known(name)
        return self.structure.specs[name]

    def chain(self, name: str) -> tuple[str, ...]:
        """Return the quota and its ancestors below the root, nearest first."""
        self._known(name)
        return self.structure.chain(name)

    # -- changes ---------------------------------------------------------------------------

    def set_total(self, total: Mapping[str, int]) -> None:
        """Replace the allocatable amounts of the whole cluster."""
        self._total = dict(total)
        self._runtimes.clear()

    def add_pod(self, pod: QuotaPod) -> None:
        """Count a pod that was not known before."""
        ledger = self._known(pod.quota)
        if pod.name in self._pods:
            msg = f"pod {pod.name} is already counted in quota {self._pods[pod.name].quota}."
            raise InvalidInputError(msg)
        require_non_negative(f"request of pod {pod.name}", pod.request)
        self._pods[pod.name] = pod
        amounts = self._counted(pod)
        ledger.change_request(amounts, is_preemptible=pod.is_preemptible, is_added=True)
        if pod.is_assigned:
            ledger.change_used(amounts, is_preemptible=pod.is_preemptible, is_added=True)
        self._runtimes.pop(self.structure.tree_of(pod.quota), None)

    def remove_pod(self, name: str) -> QuotaPod:
        """Forget a pod, and return it as it was known."""
        if name not in self._pods:
            msg = f"pod {name} is not counted in any quota."
            raise InvalidInputError(msg)
        pod = self._pods.pop(name)
        ledger = self._ledgers[pod.quota]
        amounts = self._counted(pod)
        if pod.is_assigned:
            ledger.change_used(amounts, is_preemptible=pod.is_preemptible, is_added=False)
        ledger.change_request(amounts, is_preemptible=pod.is_preemptible, is_added=False)
        self._runtimes.pop(self.structure.tree_of(pod.quota), None)
        return pod

    def replace_pod(self, pod: QuotaPod) -> None:
        """Count a known pod as it is now: moved, resized, assigned or no longer so."""
        known = self.remove_pod(pod.name)
        try:
            self.add_pod(pod)
        except InvalidInputError:
            self.add_pod(known)
            raise

    # -- answers ---------------------------------------------------------------------------

    def charge(self, name: str, request: Mapping[str, int]) -> dict[str, int]:
        """Return the part of a pod's request that counts in its quota and all above."""
        return masked(request, self.spec(name).max)

    def capacity(self, tree: str = DEFAULT_TREE) -> dict[str, int]:
        """Return what the quotas directly under the root of a tree share.

        What the default and system quotas use is taken off once; nothing falls below 0.
        """
        owned = self.owned(tree)
        if tree == DEFAULT_TREE:
            used = total(self._ledgers[name].used.amounts for name in sorted(BUILTIN_LEAVES))
            owned = _less(owned, used)
        return {name: max(amount, 0) for name, amount in owned.items()}

    def owned(self, tree: str = DEFAULT_TREE) -> dict[str, int]:
        """Return the amounts a tree owns; the default tree may owe more than it has."""
        brought = self._brought()
        if tree != DEFAULT_TREE:
            return dict(brought[tree].total_resource) if tree in brought else {}
        taken = (spec.total_resource for spec in brought.values() if not spec.ignore_default_tree)
        return _less(self._total, total(taken))

    def state(self, name: str) -> QuotaState:
        """Return all amounts of a quota, those of the default tree's root included."""
        if name == QUOTA_ROOT:
            return self.root_state()
        ledger = self._known(name)
        runtime = self._runtime(self.structure.tree_of(name))
        return self._state(
            ledger,
            weight={} if name in BUILTIN_LEAVES else ledger.spec.effective_weight,
            scaled=runtime.scaled_min[name],
            runtime_all=runtime.runtime[name],
            limit=self.limit(name),
        )

    def root_state(self, tree: str = DEFAULT_TREE) -> QuotaState:
        """Return the sums over a whole tree; its runtime and limit are the capacity."""
        if tree not in self._roots:
            msg = f"tree {tree!r} has no quota; expected one of {sorted(self._roots)}."
            raise InvalidInputError(msg)
        capacity = self.capacity(tree)
        return self._state(
            self._roots[tree], weight={}, scaled={}, runtime_all=capacity, limit=capacity
        )

    def runtime(self, name: str) -> dict[str, int]:
        """Return what a quota may use of the capacity that is shared, within its dimensions."""
        spec = self.spec(name)
        return masked(self._runtime(spec.tree_id).runtime[name], spec.max)

    def limit(self, name: str) -> dict[str, int]:
        """Return what the usage of a quota is compared with.

        The runtime, or max where runtime quotas are off. A dimension that the parent leaves
        unset is not shared below it, so there the quota's own max is the limit as well.
        """
        limit = dict(self.spec(name).max)
        if self.settings.enable_runtime:
            limit.update(self.runtime(name))
        return limit

    def used(self, name: str) -> Mapping[str, int]:
        """Return what the pods of a quota and of all quotas below use."""
        return self._known(name).used.amounts

    def non_preemptible_used(self, name: str) -> Mapping[str, int]:
        """Return the part of the usage that may not be preempted."""
        return self._known(name).non_preemptible_used.amounts

    def scaled_min(self, name: str) -> Mapping[str, int]:
        """Return the min of a quota after scaling to its parent's capacity."""
        return self._runtime(self.spec(name).tree_id).scaled_min[name]

    # -- inside ----------------------------------------------------------------------------

    def _counted(self, pod: QuotaPod) -> dict[str, int]:
        """Return what a pod adds to the sums; one that asks for nothing sets no dimension."""
        charge = self.charge(pod.quota, pod.request)
        return charge if any(charge.values()) else {}

    def _ledger(self, spec: QuotaSpec, above: Ledger | None) -> Ledger:
        return Ledger(spec, above, guarantees_usage=self.settings.guarantee_usage)

    def _known(self, name: str) -> Ledger:
        ledger = self._ledgers.get(name)
        if ledger is None:
            msg = f"quota {name!r} does not exist."
            raise InvalidInputError(msg)
        return ledger

    def _brought(self) -> dict[str, QuotaSpec]:
        """Return, by tree, the quota that brings its capacity: the first root by name."""
        brought: dict[str, QuotaSpec] = {}
        for name in sorted(self.structure.specs):
            spec = self.structure.specs[name]
            if spec.is_root and spec.tree_id != DEFAULT_TREE:
                brought.setdefault(spec.tree_id, spec)
        return brought

    def _runtime(self, tree: str) -> TreeRuntime:
        runtime = self._runtimes.get(tree)
        if runtime is None:
            runtime = TreeRuntime(
                self.structure, self._ledgers, tree, self.capacity(tree), self.settings
            )
            self._runtimes[tree] = runtime
        return runtime

    def _state(
        self,
        ledger: Ledger,
        *,
        weight: Mapping[str, int],
        scaled: Mapping[str, int],
        runtime_all: Mapping[str, int],
        limit: Mapping[str, int],
    ) -> QuotaState:
        is_root = ledger.above is None
        return QuotaState(
            child_request={} if is_root else dict(ledger.child_request.amounts),
            request=dict(ledger.request),
            limited_request=dict(ledger.limited_request),
            self_request=dict(ledger.self_request.amounts),
            self_used=dict(ledger.self_used.amounts),
            used=dict(ledger.used.amounts),
            non_preemptible_request=dict(ledger.non_preemptible_request.amounts),
            non_preemptible_used=dict(ledger.non_preemptible_used.amounts),
            allocated=dict(ledger.allocated.amounts),
            guaranteed={} if is_root else dict(ledger.guaranteed),
            shared_weight=dict(weight),
            scaled_min=dict(scaled),
            runtime=dict(runtime_all) if is_root else masked(runtime_all, ledger.spec.max),
            runtime_all=dict(runtime_all),
            limit=dict(limit),
        )


def _less(amounts: Mapping[str, int], taken: Mapping[str, int]) -> dict[str, int]:
    return {name: amounts.get(name, 0) - taken.get(name, 0) for name in (*amounts, *taken)}
