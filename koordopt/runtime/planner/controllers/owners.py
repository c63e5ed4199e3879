"""Which pods of the input belong to which controllers."""

from collections import defaultdict
from collections.abc import Sequence

from koordopt.models.api.core import Node, ObjectMeta, Pod
from koordopt.runtime.planner.reading.inputs import Inputs, Workload

TEMPLATE_HASH = "pod-template-hash"
"""Label by which a Deployment tells the pods of its revisions apart."""

_Key = tuple[str, str, str]


class Owners:
    """Pods and ReplicaSets by their controller.

    Parameters
    ----------
    inputs
        What was read.

    Attributes
    ----------
    nodes
        Nodes of the input.
    """

    def __init__(self, inputs: Inputs) -> None:
        self.nodes: Sequence[Node] = inputs.cluster.nodes
        self._deployments = {
            (each.namespace, each.name) for each in inputs.workloads if each.kind == "Deployment"
        }
        self._deployment_of: dict[tuple[str, str], str] = {}
        self._replica_sets: dict[tuple[str, str], list[Workload]] = defaultdict(list)
        for each in inputs.workloads:
            if each.kind == "ReplicaSet" and (name := _raw_controller(each, "Deployment")):
                self._deployment_of[each.namespace, each.name] = name
                self._replica_sets[each.namespace, name].append(each)
        self._pods: dict[_Key, list[Pod]] = defaultdict(list)
        self._names: dict[str, set[str]] = defaultdict(set)
        for pod in inputs.cluster.pods:
            self._add(pod)

    def _add(self, pod: Pod) -> None:
        meta = pod.metadata
        self._names[meta.namespace].add(meta.name)
        for owner in meta.owner_references:
            # Written by hand, a sole reference often lacks the mark of the controller.
            if owner.controller or len(meta.owner_references) == 1:
                self._pods[meta.namespace, owner.kind, owner.name].append(pod)
                if owner.kind == "ReplicaSet" and (name := self._deployment(meta, owner.name)):
                    self._pods[meta.namespace, "Deployment", name].append(pod)

    def _deployment(self, meta: ObjectMeta, replica_set: str) -> str | None:
        """Return the Deployment that a pod belongs to through its ReplicaSet.

        Lists of pods seldom hold the ReplicaSets too; their names end in the pods' hash.
        """
        ending = f"-{meta.labels.get(TEMPLATE_HASH)}"
        by_name = replica_set.removesuffix(ending) if replica_set.endswith(ending) else None
        return self._deployment_of.get((meta.namespace, replica_set), by_name)

    def pods(self, workload: Workload) -> list[Pod]:
        """Return every pod of a workload, finished ones and those being deleted included."""
        return self._pods.get((workload.namespace, workload.kind, workload.name), [])

    def active(self, workload: Workload) -> list[Pod]:
        """Return the pods of a workload that its controller counts."""
        pods = self.pods(workload)
        return [pod for pod in pods if not pod.is_finished and not pod.is_terminating]

    def names(self, namespace: str) -> set[str]:
        """Return the names of all pods of a namespace; whoever makes pods adds theirs."""
        return self._names[namespace]

    def replica_sets(self, deployment: Workload) -> list[Workload]:
        """Return the ReplicaSets of a Deployment, sorted by name."""
        return self._replica_sets.get((deployment.namespace, deployment.name), [])

    def has_deployment(self, replica_set: Workload) -> bool:
        """Whether a ReplicaSet belongs to a Deployment of the input, which speaks for it."""
        name = self._deployment_of.get((replica_set.namespace, replica_set.name))
        return name is not None and (replica_set.namespace, name) in self._deployments


def _raw_controller(workload: Workload, kind: str) -> str | None:
    """Return the name of the owner of one kind that an undecoded object states."""
    metadata = workload.raw.get("metadata")
    owners = metadata.get("ownerReferences") if isinstance(metadata, dict) else None
    for owner in owners if isinstance(owners, list) else ():
        if isinstance(owner, dict) and owner.get("kind") == kind:
            name = owner.get("name")
            return name if isinstance(name, str) else None
    return None
