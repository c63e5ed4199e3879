"""Fills in the numeric priority of pods that name a class, as the API server does on creation."""

from typing import Final

import msgspec

from koordopt.models.api.core import Pod
from koordopt.models.api.qos import PriorityBand
from koordopt.models.snapshot import ClusterObjects

BUILT_IN: Final = {
    "system-cluster-critical": 2_000_000_000,
    "system-node-critical": 2_000_001_000,
    **{band.value: band.default_priority for band in PriorityBand if band.value},
}
"""Priority of the classes that exist, or are taken to, where the input has no object for them."""


_DEFAULT_POLICY: Final = "PreemptLowerPriority"


class UnknownPriorityClassError(Exception):
    """A pod names a priority class that nothing defines; never leaves the planner."""


class _Class(msgspec.Struct, frozen=True):
    value: int
    preemption_policy: str = ""


class PriorityClasses:
    """The named priorities of a cluster.

    A class is defined by its object; where that is not in the input, by a pod of the cluster that
    names it and bears its number; else it may be built in. Of several defaults the lowest counts,
    as it does for the API server.

    Parameters
    ----------
    cluster
        Objects that were read.
    """

    def __init__(self, cluster: ClusterObjects) -> None:
        self._classes = {name: _Class(value) for name, value in BUILT_IN.items()}
        for pod in cluster.pods:
            if pod.spec.priority_class_name and pod.spec.priority is not None:
                seen = _Class(pod.spec.priority, pod.spec.preemption_policy)
                self._classes[pod.spec.priority_class_name] = seen
        self._default: _Class | None = None
        for each in cluster.priority_classes:
            defined = _Class(each.value, each.preemption_policy)
            self._classes[each.metadata.name] = defined
            is_lower = self._default is None or each.value < self._default.value
            if each.global_default and is_lower:
                self._default = defined

    def resolved(self, pod: Pod) -> Pod:
        """Return a pod with the priority of its class, or of the default class.

        Parameters
        ----------
        pod
            Any pod; one that has a number already is returned as it is.

        Returns
        -------
        Pod
            The same pod where there is nothing to fill in.

        Raises
        ------
        UnknownPriorityClassError
            If it names a class that is not defined.
        """
        spec = pod.spec
        if spec.priority is not None:
            return pod
        name = spec.priority_class_name
        found = self._classes.get(name) if name else self._default
        if found is None:
            if name:
                raise UnknownPriorityClassError(name)
            return pod
        # The API server refuses a pod whose own policy is not that of its class.
        policy = found.preemption_policy or _DEFAULT_POLICY
        filled = msgspec.structs.replace(spec, priority=found.value, preemption_policy=policy)
        return msgspec.structs.replace(pod, spec=filled)
