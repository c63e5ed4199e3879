"""The laws of quota trees that the webhook enforces, as warnings."""

from __future__ import annotations

from koordopt.models.quota.amounts import canonical
from koordopt.models.quota.spec import DEFAULT_TREE, QuotaSpec, QuotaWarning
from koordopt.models.quota.structure import QuotaStructure


def broken_laws(structure: QuotaStructure) -> list[QuotaWarning]:
    """Return what the amounts of the quotas contradict, sorted.

    Checked in each dimension: a min without a max or above it, the mins of the children above
    the min of their parent (one that is unset counts as 0), and a child's max above its parent's.
    Checked once: a namespace bound by two quotas, and a tree without one root of its own.
    """
    warnings = [*_bound_twice(structure), *_roots(structure)]
    for name in structure.order:
        spec = structure.specs[name]
        warnings += _min_above_max(spec)
        below = [structure.specs[child] for child in structure.children.get(name, ())]
        if below:
            warnings += _mins_above_parent(spec, below)
            for child in below:
                warnings += _max_above_parent(spec, child)
    return sorted(warnings)


def _bound_twice(structure: QuotaStructure) -> list[QuotaWarning]:
    warnings = []
    owner: dict[str, str] = {}
    for name in sorted(structure.specs):
        for namespace in structure.specs[name].bound_namespaces:
            first = owner.setdefault(namespace, name)
            if first != name:
                message = f"namespace {namespace} is bound by {first} and {name}; the first counts"
                warnings.append(QuotaWarning(name, "bound-twice", "", message))
    return warnings


def _roots(structure: QuotaStructure) -> list[QuotaWarning]:
    warnings = []
    for tree, top in structure.top.items():
        if tree == DEFAULT_TREE:
            continue
        members = [name for name in structure.order if structure.tree_of(name) == tree]
        roots = sorted(name for name in members if structure.specs[name].is_root)
        if not roots:
            message = f"no quota brings a total resource to tree {tree}; it owns nothing"
            warnings.append(QuotaWarning(top[0], "tree-without-root", "", message))
        for name in roots[1:]:
            message = f"tree {tree} has roots {roots[0]} and {name}; the first brings its capacity"
            warnings.append(QuotaWarning(name, "second-root", "", message))
    return warnings


def _min_above_max(spec: QuotaSpec) -> list[QuotaWarning]:
    warnings = []
    for resource in sorted(spec.min):
        least = _show(resource, spec.min[resource])
        if resource not in spec.max:
            message = f"{resource}: min {least} of {spec.name}, but its max is unset"
            warnings.append(QuotaWarning(spec.name, "min-without-max", resource, message))
        elif spec.min[resource] > spec.max[resource]:
            most = _show(resource, spec.max[resource])
            message = f"{resource}: min {least} > max {most} of {spec.name}"
            warnings.append(QuotaWarning(spec.name, "min-above-max", resource, message))
    return warnings


def _mins_above_parent(parent: QuotaSpec, children: list[QuotaSpec]) -> list[QuotaWarning]:
    warnings = []
    for resource in sorted({resource for child in children for resource in child.min}):
        mins = [child.min.get(resource, 0) for child in children]
        if sum(mins) > parent.min.get(resource, 0):
            names = " + ".join(
                f"{_show(resource, amount)} ({child.name})"
                for child, amount in zip(children, mins, strict=True)
                if amount
            )
            if resource in parent.min:
                least = _show(resource, parent.min[resource])
            else:
                least = "0 (unset, treated as 0)"
            message = f"{resource}: mins {names} > min {least} of their parent {parent.name}"
            warnings.append(QuotaWarning(parent.name, "mins-above-parent", resource, message))
    return warnings


def _max_above_parent(parent: QuotaSpec, child: QuotaSpec) -> list[QuotaWarning]:
    warnings = []
    for resource in sorted(child.max):
        most = parent.max.get(resource)
        if most is not None and child.max[resource] > most:
            message = (
                f"{resource}: max {_show(resource, child.max[resource])} of {child.name} > max "
                f"{_show(resource, most)} of its parent {parent.name}"
            )
            warnings.append(QuotaWarning(child.name, "max-above-parent", resource, message))
    return warnings


def _show(resource: str, amount: int) -> str:
    text = canonical(resource, amount)
    # A bare number of bytes is the usual slip: a "4" that was meant as 4Gi.
    return f"{text} (bytes)" if resource == "memory" and text.isdigit() and amount else text
