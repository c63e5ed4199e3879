"""The elastic quotas of a snapshot: who belongs where, and how much each may use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from koordopt.models.api import keys
from koordopt.models.api.crds import ElasticQuota
from koordopt.models.arrays import BoolArray, IntArray, frozen
from koordopt.models.pods import PodClass, PodTable
from koordopt.models.quota.arrays import QuotaArrays, quota_arrays
from koordopt.models.quota.forest import QuotaForest
from koordopt.models.quota.resolve import QuotaResolver
from koordopt.models.quota.spec import QuotaPod, QuotaSettings, QuotaSpec


@dataclass(frozen=True, eq=False)
class QuotaTable:
    """The quotas of a snapshot.

    Attributes
    ----------
    arrays
        Limits and usage over the resource axis; None where the cluster has no quotas.
    forest
        The quota trees that the arrays were read from; None likewise.
    quota_of
        Quota of each pod, shape ``(P,)``; -1 where it has none.
    non_preemptible
        Which pods must fit into the min of their quota, shape ``(P,)``.
    names_parent
        Which pods name a quota that only other quotas may belong to, shape ``(P,)``.
    """

    arrays: QuotaArrays | None
    forest: QuotaForest | None
    quota_of: IntArray
    non_preemptible: BoolArray
    names_parent: BoolArray


def quota_table(
    quotas: Sequence[ElasticQuota],
    pods: PodTable,
    classes: Sequence[PodClass],
    resources: tuple[str, ...],
    allocatable: IntArray,
    settings: QuotaSettings | None,
) -> tuple[QuotaTable, tuple[str, ...]]:
    """Return the quota table of a snapshot, and what its quotas get wrong.

    Parameters
    ----------
    quotas
        ElasticQuota objects, in any order.
    pods, classes
        The pods that belong to them.
    resources, allocatable
        Resource axis, and what each node can give, shape ``(N, R)``.
    settings
        How quotas are computed; None for the defaults, with trees where an object names one.
    """
    shape = len(pods)
    non_preemptible = frozen(
        np.array(
            [p.metadata.labels.get(keys.LABEL_QUOTA_PREEMPTIBLE) == "false" for p in pods.objects],
            dtype=np.bool_,
        )
    )
    quota_of = np.full(shape, -1, dtype=np.int64)
    names_parent = np.zeros(shape, dtype=np.bool_)
    if not quotas:
        table = QuotaTable(None, None, frozen(quota_of), non_preemptible, frozen(names_parent))
        return table, ()
    specs = [quota_spec(quota) for quota in quotas]
    settings = settings or QuotaSettings(multi_tree=any(spec.tree_id for spec in specs))
    resolver = QuotaResolver(specs)
    parents = {spec.name for spec in specs if spec.is_parent}
    members = []
    for p, pod in enumerate(pods.objects):
        label = pod.metadata.labels.get(keys.LABEL_QUOTA_NAME, "")
        name = resolver.quota_of(label, pod.metadata.namespace) or keys.QUOTA_DEFAULT
        names_parent[p] = label in parents
        members.append(
            QuotaPod(
                name=pods.keys[p],
                quota=name,
                request=classes[pods.class_of[p]].request,
                is_assigned=bool(pods.node_of[p] >= 0),
                is_preemptible=not non_preemptible[p],
            )
        )
    total = dict(zip(resources, allocatable.sum(axis=0).tolist(), strict=True))
    forest = QuotaForest(specs, total, members, settings)
    arrays = quota_arrays(forest, resources)
    position = {name: q for q, name in enumerate(arrays.names)}
    quota_of[:] = [position[member.quota] for member in members]
    table = QuotaTable(arrays, forest, frozen(quota_of), non_preemptible, frozen(names_parent))
    return table, tuple(f"ElasticQuota {w.quota}: {w.message}" for w in forest.warnings)


def quota_spec(quota: ElasticQuota) -> QuotaSpec:
    """Return what a quota tree is computed from."""
    return QuotaSpec(
        name=quota.name,
        parent="" if quota.parent == keys.QUOTA_ROOT else quota.parent,
        is_parent=quota.is_parent,
        lends=quota.lends,
        min=quota.min,
        max=quota.max,
        shared_weight=quota.stated_weight,
        namespace=quota.metadata.namespace,
        bound_namespaces=quota.namespaces,
        tree_id=quota.tree_id,
        is_root=quota.is_root,
        total_resource=quota.total_resource or {},
        ignore_default_tree=quota.ignores_default_tree,
    )
