"""Quotas as trees: who is whose parent, whatever the objects say about each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from koordopt.models.api.keys import QUOTA_DEFAULT, QUOTA_ROOT, QUOTA_SYSTEM
from koordopt.models.quota.spec import (
    BUILTIN_LEAVES,
    DEFAULT_TREE,
    QuotaSettings,
    QuotaSpec,
    QuotaWarning,
    is_builtin,
)


@dataclass(frozen=True, slots=True)
class QuotaStructure:
    """Every quota in its place.

    Attributes
    ----------
    specs
        Spec of each quota by name, the built-in leaves included and the roots left out. Negative
        amounts are replaced by 0.
    parent
        Parent of each quota; ``None`` directly under the root of its tree.
    children
        Children of each quota that has some, by name.
    top
        Quotas directly under the root, by tree and then by name.
    order
        Every quota, parents before their children.
    warnings
        What was wrong with the objects, sorted.
    """

    specs: Mapping[str, QuotaSpec]
    parent: Mapping[str, str | None]
    children: Mapping[str, tuple[str, ...]]
    top: Mapping[str, tuple[str, ...]]
    order: tuple[str, ...]
    warnings: tuple[QuotaWarning, ...]

    def chain(self, name: str) -> tuple[str, ...]:
        """Return the quota and its ancestors below the root, nearest first."""
        chain = [name]
        above = self.parent[name]
        while above is not None:
            chain.append(above)
            above = self.parent[above]
        return tuple(chain)

    def tree_of(self, name: str) -> str:
        """Return the identifier of the tree that the quota lives in."""
        return self.specs[name].tree_id


def build_structure(specs: Iterable[QuotaSpec], settings: QuotaSettings) -> QuotaStructure:
    """Return the trees that a set of quotas forms.

    Parameters
    ----------
    specs
        All quotas, in any order. A quota whose parent is missing, lives in another tree or is
        built in hangs directly under the root; so does the first name of a cycle. Of several
        quotas with one name, the one of the first namespace counts.
    settings
        Settings of all trees.
    """
    warnings: set[QuotaWarning] = set()
    known = _distinct(specs, settings, warnings)
    parent = _parents(known, warnings)
    _break_cycles(parent, warnings)
    children: dict[str, list[str]] = {}
    top: dict[str, list[str]] = {DEFAULT_TREE: []}
    for name in sorted(known):
        above = parent[name]
        if above is None:
            top.setdefault(known[name].tree_id, []).append(name)
        else:
            children.setdefault(above, []).append(name)
    order = [name for tree in sorted(top) for name in top[tree]]
    for name in order:  # grows while it is read: parents come before their children
        order.extend(children.get(name, ()))
    return QuotaStructure(
        specs=known,
        parent=parent,
        children={name: tuple(below) for name, below in children.items()},
        top={tree: tuple(names) for tree, names in top.items()},
        order=tuple(order),
        warnings=tuple(sorted(warnings)),
    )


def _distinct(
    specs: Iterable[QuotaSpec], settings: QuotaSettings, warnings: set[QuotaWarning]
) -> dict[str, QuotaSpec]:
    known: dict[str, QuotaSpec] = {}
    for spec in sorted(specs, key=lambda spec: (spec.name, spec.namespace, repr(spec))):
        if spec.name == QUOTA_ROOT:
            continue
        if spec.name in known:
            warnings.add(
                QuotaWarning(
                    spec.name,
                    "duplicate",
                    "",
                    f"quota {spec.name} exists in namespaces {known[spec.name].namespace!r} and "
                    f"{spec.namespace!r}; the first counts",
                )
            )
            continue
        known[spec.name] = _cleaned(spec, settings, warnings)
    for name in (QUOTA_DEFAULT, QUOTA_SYSTEM):
        given = known.get(name)
        maximum = (given.max if given else None) or settings.builtin_max(name)
        known[name] = QuotaSpec(name=name, max=maximum, min=given.min if given else {})
    return known


def _cleaned(spec: QuotaSpec, settings: QuotaSettings, warnings: set[QuotaWarning]) -> QuotaSpec:
    def cleaned(label: str, amounts: Mapping[str, int]) -> dict[str, int]:
        for resource in sorted(amounts):
            if amounts[resource] < 0:
                message = (
                    f"{resource}: {label} {amounts[resource]} of {spec.name} is negative; "
                    "treated as 0"
                )
                warnings.add(QuotaWarning(spec.name, "negative", resource, message))
        return {resource: max(amount, 0) for resource, amount in amounts.items()}

    return replace(
        spec,
        tree_id=spec.tree_id if settings.multi_tree else DEFAULT_TREE,
        min=cleaned("min", spec.min),
        max=cleaned("max", spec.max),
        shared_weight=cleaned("shared weight", spec.shared_weight or {}),
        total_resource=cleaned("total resource", spec.total_resource),
    )


def _parents(known: Mapping[str, QuotaSpec], warnings: set[QuotaWarning]) -> dict[str, str | None]:
    parent: dict[str, str | None] = {}
    for name, spec in known.items():
        parent[name] = None
        if not spec.parent or spec.parent == QUOTA_ROOT or name in BUILTIN_LEAVES:
            continue
        above = known.get(spec.parent)
        if above is None:
            rule, problem = "parent-missing", "does not exist"
        elif is_builtin(above.name):
            rule, problem = "parent-builtin", "is built in and has no children"
        elif above.tree_id != spec.tree_id:
            rule = "parent-in-other-tree"
            problem = f"lives in tree {above.tree_id!r}, not {spec.tree_id!r}"
        else:
            parent[name] = spec.parent
            if not above.is_parent:
                message = f"parent {spec.parent} of {name} does not declare to be a parent"
                warnings.add(QuotaWarning(name, "parent-is-leaf", "", message))
            continue
        message = f"parent {spec.parent} of {name} {problem}; placed directly under the root"
        warnings.add(QuotaWarning(name, rule, "", message))
    return parent


def _break_cycles(parent: dict[str, str | None], warnings: set[QuotaWarning]) -> None:
    """Cut every cycle above its first name."""
    rooted: set[str] = set()
    for start in sorted(parent):
        path: dict[str, None] = {}  # a set that keeps its order
        at: str | None = start
        while at is not None and at not in rooted and at not in path:
            path[at] = None
            at = parent[at]
        if at is not None and at in path:
            walked = list(path)
            cycle = walked[walked.index(at) :]
            first = min(cycle)
            parent[first] = None
            message = (
                f"quotas {', '.join(sorted(cycle))} are each other's ancestors; {first} placed "
                "directly under the root"
            )
            warnings.add(QuotaWarning(first, "cycle", "", message))
        rooted.update(path)
