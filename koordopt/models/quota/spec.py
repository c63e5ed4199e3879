"""What a quota is told to be: one value per quota, and the settings they share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from koordopt.models.api.keys import (
    QUOTA_DEFAULT,
    QUOTA_ROOT,
    QUOTA_SYSTEM,
    RESOURCE_CPU,
    RESOURCE_MEMORY,
)

BUILTIN_LEAVES = frozenset({QUOTA_DEFAULT, QUOTA_SYSTEM})
"""Quotas of the default tree that take no part in sharing: they are limited by their max alone."""

DEFAULT_TREE = ""
"""Identifier of the tree that gets what no other tree owns."""

# A fifth of the largest 64-bit integer, in cores and in bytes: no limit, and sums do not overflow.
_UNLIMITED = ((1 << 63) - 1) // 5


def _unlimited_cpu_and_memory() -> Mapping[str, int]:
    return {RESOURCE_CPU: _UNLIMITED, RESOURCE_MEMORY: _UNLIMITED}


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaSpec:
    """One quota as its owner wrote it. Resource lists are in base units; absent means unset.

    Attributes
    ----------
    name
        Name, unique in the cluster.
    parent
        Name of the parent; empty for a quota directly under the root.
    is_parent
        Whether it declares to have children.
    lends
        Whether others may use the part of its min that nobody asks for.
    min
        Guaranteed amounts.
    max
        Caps. A resource without one is neither limited nor counted for the quota's own pods.
    shared_weight
        Weights in sharing what is idle; ``None``, empty or all zero stands for ``max``.
    namespace
        Namespace of the object, which also binds that namespace when the names are equal.
    bound_namespaces
        Namespaces whose pods belong to this quota unless they say otherwise.
    tree_id
        Tree of the quota; empty for the default tree.
    is_root
        Whether it is the root of its tree and brings ``total_resource``.
    total_resource
        Capacity of the tree that this quota is the root of.
    ignore_default_tree
        Whether the default tree keeps the capacity that this tree was given.
    """

    name: str
    parent: str = ""
    is_parent: bool = False
    lends: bool = True
    min: Mapping[str, int] = field(default_factory=dict)
    max: Mapping[str, int] = field(default_factory=dict)
    shared_weight: Mapping[str, int] | None = None
    namespace: str = ""
    bound_namespaces: tuple[str, ...] = ()
    tree_id: str = DEFAULT_TREE
    is_root: bool = False
    total_resource: Mapping[str, int] = field(default_factory=dict)
    ignore_default_tree: bool = False

    @property
    def effective_weight(self) -> Mapping[str, int]:
        """Weights in force: the given ones, or ``max`` where none is positive."""
        weight = self.shared_weight
        if weight and any(amount > 0 for amount in weight.values()):
            return weight
        return self.max


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaSettings:
    """How quotas are computed, as the scheduler's arguments and feature gates say.

    Attributes
    ----------
    enable_runtime
        Limit a quota by its runtime; otherwise by its max.
    scale_min
        Scale the mins of children down in proportion when their sum exceeds what there is.
    guarantee_usage
        Count what runs as guaranteed; then no quota lends its min.
    multi_tree
        Honour tree identifiers; otherwise everything lives in the default tree.
    default_max, system_max
        Max of the built-in default and system quotas where no object of theirs says otherwise.
    """

    enable_runtime: bool = True
    scale_min: bool = True
    guarantee_usage: bool = False
    multi_tree: bool = False
    default_max: Mapping[str, int] = field(default_factory=_unlimited_cpu_and_memory)
    system_max: Mapping[str, int] = field(default_factory=_unlimited_cpu_and_memory)

    def builtin_max(self, name: str) -> Mapping[str, int]:
        """Return the max of the built-in leaf ``name``."""
        return self.default_max if name == QUOTA_DEFAULT else self.system_max


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaPod:
    """What quotas need to know of a pod.

    Attributes
    ----------
    name
        Unique key, ``namespace/name``.
    quota
        Quota the pod belongs to, resolved.
    request
        Amounts it asks for, base units; the part outside its quota's ``max`` does not count.
    is_assigned
        Whether it sits on a node, so that it uses what it asks for.
    is_preemptible
        Whether it may be preempted; if not, it has to fit into its quota's min.
    """

    name: str
    quota: str
    request: Mapping[str, int]
    is_assigned: bool = False
    is_preemptible: bool = True


@dataclass(frozen=True, slots=True, order=True)
class QuotaWarning:
    """A quota that breaks a law of the tree; it is computed all the same.

    Attributes
    ----------
    quota
        The quota concerned.
    rule
        Short name of the law.
    resource
        Dimension concerned, or empty.
    message
        One sentence for a person.
    """

    quota: str
    rule: str
    resource: str
    message: str


def is_builtin(name: str) -> bool:
    """Return whether ``name`` is the root, the default or the system quota."""
    return name == QUOTA_ROOT or name in BUILTIN_LEAVES
