"""Which quota a pod belongs to."""

from __future__ import annotations

from collections.abc import Iterable

from koordopt.models.api.keys import QUOTA_DEFAULT, QUOTA_ROOT
from koordopt.models.quota.spec import BUILTIN_LEAVES, QuotaSpec


class QuotaResolver:
    """Finds the quota of a pod from its label and namespace.

    Parameters
    ----------
    specs
        All quotas of the cluster, in any order. Where two quotas bind one namespace, the one
        whose name comes first gets it.
    use_default
        Whether pods without a quota of their own belong to the default quota. If not, only the
        label counts, and a pod without a known one has no quota (gate ``DisableDefaultQuota``).
    """

    def __init__(self, specs: Iterable[QuotaSpec], *, use_default: bool = True) -> None:
        self._use_default = use_default
        self._known = set(BUILTIN_LEAVES)
        self._by_name: dict[str, str] = {}
        self._by_binding: dict[str, str] = {}
        for spec in sorted(specs, key=lambda spec: (spec.name, spec.namespace)):
            if spec.name != QUOTA_ROOT:
                self._known.add(spec.name)
            # A parent takes only the pods that name it, so its namespace falls to the default.
            quota = QUOTA_DEFAULT if spec.is_parent else spec.name
            if spec.name == spec.namespace:
                self._by_name[spec.namespace] = quota
            for namespace in spec.bound_namespaces:
                self._by_binding.setdefault(namespace, quota)

    def quota_of(self, label: str, namespace: str) -> str | None:
        """Return the quota of a pod.

        Parameters
        ----------
        label
            Value of the pod's quota label, empty when it has none.
        namespace
            Namespace of the pod.

        Returns
        -------
        str or None
            The label's quota; else the quota whose name and namespace are the pod's namespace;
            else the quota that binds the namespace; else the default. A label that names no
            known quota leads to the default at once. ``None`` is a pod without any quota.
        """
        if label:
            if label in self._known:
                return label
            return QUOTA_DEFAULT if self._use_default else None
        if not self._use_default:
            return None
        found = self._by_name.get(namespace) or self._by_binding.get(namespace)
        return found or QUOTA_DEFAULT
