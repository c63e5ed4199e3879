"""Pods that Deployments, ReplicaSets and StatefulSets lack."""

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from koordopt.models.api.core import OwnerReference, Pod
from koordopt.runtime.planner.controllers.owners import TEMPLATE_HASH, Owners
from koordopt.runtime.planner.controllers.templates import (
    Template,
    count,
    generated_names,
    mapping,
    owner_of,
)
from koordopt.runtime.planner.reading.inputs import Workload, short_hash

_REVISION: Final = "deployment.kubernetes.io/revision"
_NUMBER: Final = re.compile(r"[0-9]{1,18}")
_POD_NAME: Final = "statefulset.kubernetes.io/pod-name"
_POD_INDEX: Final = "apps.kubernetes.io/pod-index"


def deployment_pods(workload: Workload, owners: Owners) -> Iterator[Pod]:
    """Yield the pods that a Deployment lacks: its replicas less its live pods of any revision.

    They are of the newest revision in the input. A paused Deployment rolls nothing out, but the
    revision that it has is kept up.
    """
    spec = mapping(workload.raw, "spec")
    active = owners.active(workload)
    missing = count(spec, "replicas", 1) - len(active)
    if spec.get("paused") is True and not active and not owners.replica_sets(workload):
        return
    if missing <= 0:
        return
    newest = max(owners.replica_sets(workload), key=_revision, default=None)
    if newest is not None:
        replica_set = newest.name
        template = Template(workload, owner_of(newest), newest.raw)
    else:
        revision = _hash(workload, active)
        replica_set = f"{workload.name}-{revision}"
        owner = OwnerReference(
            api_version="apps/v1", kind="ReplicaSet", name=replica_set, controller=True
        )
        template = Template(workload, owner, labels={TEMPLATE_HASH: revision})
    names = generated_names(workload, owners.names(workload.namespace))
    for name in islice(names, missing):
        yield template.pod(name)


def replica_set_pods(workload: Workload, owners: Owners) -> Iterator[Pod]:
    """Yield the pods that a ReplicaSet lacks; none where its Deployment speaks for it."""
    if owners.has_deployment(workload):
        return
    spec = mapping(workload.raw, "spec")
    missing = count(spec, "replicas", 1) - len(owners.active(workload))
    if missing <= 0:
        return
    template = Template(workload, owner_of(workload))
    names = generated_names(workload, owners.names(workload.namespace))
    for name in islice(names, missing):
        yield template.pod(name)


def stateful_set_pods(workload: Workload, owners: Owners) -> Iterator[Pod]:
    """Yield the pods that a StatefulSet lacks, by ordinal; a pod keeps its name whatever its state.

    All are made at once, also where the controller would wait for one before the next: the
    question is whether all of them fit.
    """
    spec = mapping(workload.raw, "spec")
    replicas = count(spec, "replicas", 1)
    ordinals = spec.get("ordinals")
    first = count(ordinals, "start", 0, "spec.ordinals.") if isinstance(ordinals, dict) else 0
    taken = owners.names(workload.namespace)
    template = Template(workload, owner_of(workload)) if replicas else None
    for ordinal in range(first, first + replicas):
        name = f"{workload.name}-{ordinal}"
        if template is not None and name not in taken:
            yield template.pod(name, {_POD_NAME: name, _POD_INDEX: str(ordinal)})


def _hash(workload: Workload, active: list[Pod]) -> str:
    """Return the revision of a Deployment without ReplicaSets: that of its pods, or a new one."""
    known = {pod.metadata.labels[TEMPLATE_HASH] for pod in active}
    if len(known) == 1:
        return known.pop()
    return short_hash(json.dumps(mapping(workload.raw, "spec").get("template"), sort_keys=True))


def _revision(replica_set: Workload) -> tuple[int, str]:
    """Return the number of a ReplicaSet's revision; 0 where it states none."""
    annotations = mapping(replica_set.raw, "metadata").get("annotations")
    text = str(annotations.get(_REVISION)) if isinstance(annotations, dict) else ""
    return int(text) if _NUMBER.fullmatch(text) else 0, replica_set.name
