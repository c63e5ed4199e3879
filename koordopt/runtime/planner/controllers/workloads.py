"""Turns controllers' objects into the pods that their controllers would still make.

A workload whose pods are all in the input adds nothing; one that lacks some adds those. Pods get
names that depend on nothing but the workload and their number, so that plans repeat.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from types import MappingProxyType
from typing import Final

from koordopt.models.api.core import Pod
from koordopt.runtime.planner.controllers.daemons import daemon_set_pods
from koordopt.runtime.planner.controllers.jobs import job_pods
from koordopt.runtime.planner.controllers.owners import Owners
from koordopt.runtime.planner.controllers.priorities import (
    PriorityClasses,
    UnknownPriorityClassError,
)
from koordopt.runtime.planner.controllers.replicas import (
    deployment_pods,
    replica_set_pods,
    stateful_set_pods,
)
from koordopt.runtime.planner.controllers.templates import UnusableWorkloadError
from koordopt.runtime.planner.reading.inputs import Inputs, Rejected, Workload, object_label

_CLASS_FIELD: Final = "spec.priorityClassName"
_CLASS_EXPECTED: Final = "the name of a PriorityClass in the input"

MAX_PODS_MADE: Final = 200_000
"""Pods that all workloads together may become."""


def complete(inputs: Inputs) -> Inputs:
    """Return inputs with every pod that controllers and the API server would add or fill in.

    Parameters
    ----------
    inputs
        What was read.

    Returns
    -------
    Inputs
        The same with the missing pods of workloads, and with priorities resolved. Workloads that
        cannot be used, and pods whose priority class is not defined, are among the rejected.
    """
    owners = Owners(inputs)
    classes = PriorityClasses(inputs.cluster)
    pods, rejected = _prioritised(inputs, classes)
    files = dict(inputs.files)
    budget = MAX_PODS_MADE
    for workload in inputs.workloads:
        try:
            made = _pods(workload, owners, classes, budget)
        except UnusableWorkloadError as error:
            rejected.append(
                Rejected(workload.file, workload.label, error.field, error.found, error.expected)
            )
            continue
        budget -= len(made)
        pods += made
        files |= {object_label("Pod", *_identity(pod)): workload.file for pod in made}
    return replace(
        inputs,
        cluster=replace(inputs.cluster, pods=tuple(sorted(pods, key=_identity))),
        rejected=tuple(sorted({*inputs.rejected, *rejected})),
        files=MappingProxyType(files),
    )


def _prioritised(inputs: Inputs, classes: PriorityClasses) -> tuple[list[Pod], list[Rejected]]:
    """Return the pods of the input with their priority, and those whose class is not defined.

    A pod that runs already is kept in any case: what it uses is not free.
    """
    pods: list[Pod] = []
    rejected: list[Rejected] = []
    for pod in inputs.cluster.pods:
        try:
            pods.append(classes.resolved(pod))
        except UnknownPriorityClassError as error:
            if pod.spec.node_name:
                pods.append(pod)
                continue
            label = object_label("Pod", *_identity(pod))
            file = inputs.files[label]
            rejected.append(Rejected(file, label, _CLASS_FIELD, repr(str(error)), _CLASS_EXPECTED))
    return pods, rejected


def _identity(pod: Pod) -> tuple[str, str]:
    return pod.metadata.namespace, pod.metadata.name


def _pods(workload: Workload, owners: Owners, classes: PriorityClasses, budget: int) -> list[Pod]:
    """Return the pods that a workload lacks."""
    made = list(islice(_CONTROLLERS[workload.kind](workload, owners), budget + 1))
    if len(made) > budget:
        expected = f"at most {MAX_PODS_MADE} pods of all workloads together"
        raise UnusableWorkloadError("spec", "more pods than a plan takes", expected)
    try:
        return [classes.resolved(pod) for pod in made]
    except UnknownPriorityClassError as error:
        field = f"spec.template.{_CLASS_FIELD}"
        raise UnusableWorkloadError(field, repr(str(error)), _CLASS_EXPECTED) from error


_CONTROLLERS: Final[Mapping[str, Callable[[Workload, Owners], Iterator[Pod]]]] = {
    "Deployment": deployment_pods,
    "ReplicaSet": replica_set_pods,
    "StatefulSet": stateful_set_pods,
    "DaemonSet": daemon_set_pods,
    "Job": job_pods,
}
