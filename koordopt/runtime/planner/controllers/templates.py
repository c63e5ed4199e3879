"""Pods from the pod template of a workload."""

import itertools
from collections.abc import Iterator, Mapping, MutableSet
from typing import Any, Final

import msgspec

from koordopt.models.api.core import OwnerReference, Pod
from koordopt.models.api.decode import decode
from koordopt.models.api.faults import ObjectError, shown
from koordopt.runtime.planner.reading.inputs import Workload, short_hash

_INT32_MAX: Final = 2**31 - 1
_MAX_GENERATED_PREFIX: Final = 58
_NOTHING: Final[Mapping[str, str]] = {}


class UnusableWorkloadError(Exception):
    """A workload that cannot become pods; never leaves the planner.

    Parameters
    ----------
    field
        Path of the field at fault.
    found, expected
        What stands there, and what should.
    """

    def __init__(self, field: str, found: str, expected: str) -> None:
        super().__init__(f"{field} is {found}; expected {expected}")
        self.field = field
        self.found = found
        self.expected = expected


class Template:
    """The pod template of a workload, decoded once.

    Parameters
    ----------
    workload
        Its object.
    owner
        The controller of the pods.
    raw
        Object whose ``spec.template`` counts, where that is not the workload's own.
    labels
        What the controller adds to the labels of every pod.

    Raises
    ------
    UnusableWorkloadError
        If there is no template, or no valid pod comes of it.
    """

    def __init__(
        self,
        workload: Workload,
        owner: OwnerReference,
        raw: Mapping[str, Any] | None = None,
        labels: Mapping[str, str] = _NOTHING,
    ) -> None:
        template = mapping(workload.raw if raw is None else raw, "spec", "template")
        metadata = template.get("metadata") or {}
        if not isinstance(metadata, dict):
            raise UnusableWorkloadError("spec.template.metadata", shown(metadata), "a mapping")
        given = metadata.get("labels") or {}
        if not isinstance(given, dict):
            raise UnusableWorkloadError("spec.template.metadata.labels", shown(given), "a mapping")
        try:
            base = decode(
                {
                    "apiVersion": "v1",
                    "kind": "Pod",
                    "metadata": {
                        "name": workload.name,
                        "namespace": workload.namespace,
                        "labels": {**(given), **labels},
                        "annotations": metadata.get("annotations"),
                    },
                    "spec": mapping(template, "spec", prefix="spec.template."),
                    "status": {"phase": "Pending"},
                }
            )
        except ObjectError as error:
            field = f"spec.template.{error.field}"
            raise UnusableWorkloadError(field, error.found, error.expected) from error
        if not isinstance(base, Pod):
            raise UnusableWorkloadError("spec.template", "no pod", "a pod template")
        meta = msgspec.structs.replace(base.metadata, owner_references=(owner,))
        self.base = msgspec.structs.replace(base, metadata=meta)

    def pod(
        self,
        name: str,
        labels: Mapping[str, str] = _NOTHING,
        annotations: Mapping[str, str] = _NOTHING,
    ) -> Pod:
        """Return a pod of this template with a name, and with some labels and annotations more."""
        base = self.base.metadata
        meta = msgspec.structs.replace(
            base,
            name=name,
            labels={**base.labels, **labels} if labels else base.labels,
            annotations={**base.annotations, **annotations} if annotations else base.annotations,
        )
        return msgspec.structs.replace(self.base, metadata=meta)


def owner_of(workload: Workload) -> OwnerReference:
    """Return the reference by which pods name a workload as their controller."""
    return OwnerReference(
        api_version=str(workload.raw.get("apiVersion")),
        kind=workload.kind,
        name=workload.name,
        uid=str(mapping(workload.raw, "metadata").get("uid") or ""),
        controller=True,
    )


def mapping(raw: Mapping[str, Any], *path: str, prefix: str = "") -> Mapping[str, Any]:
    """Return the mapping at a path that must have one.

    Raises
    ------
    UnusableWorkloadError
        If there is none.
    """
    value: Any = raw
    for depth, key in enumerate(path, 1):
        value = value.get(key)
        if not isinstance(value, dict):
            field = prefix + ".".join(path[:depth])
            raise UnusableWorkloadError(field, shown(value), "a mapping")
    return value  # type: ignore[no-any-return]


def count(section: Mapping[str, Any], key: str, default: int, prefix: str = "spec.") -> int:
    """Return a number of pods, or a default where the field is absent or null.

    Raises
    ------
    UnusableWorkloadError
        If it is no integer between 0 and the largest of 32 bits.
    """
    value = section.get(key)
    if value is None:
        return default
    if type(value) is not int or not 0 <= value <= _INT32_MAX:
        expected = f"a whole number from 0 to {_INT32_MAX}"
        raise UnusableWorkloadError(prefix + key, shown(value), expected)
    return value


def generated_names(
    workload: Workload, taken: MutableSet[str], suffix: str = "", seed: str = ""
) -> Iterator[str]:
    """Yield names that start with that of a workload and end in five characters, without end.

    Parameters
    ----------
    workload
        The endings differ between workloads. A long name is cut.
    taken
        Names that other pods have; those that are given out are added, since a few hundred pods
        are enough for two equal endings.
    suffix
        What stands between the name and the ending.
    seed
        Another seed gives other endings.
    """
    prefix = workload.name + suffix
    for number in itertools.count():
        ending = short_hash(f"{workload.label}/{suffix}/{seed}/{number}")
        name = f"{prefix}-"[:_MAX_GENERATED_PREFIX] + ending
        if name not in taken:
            taken.add(name)
            yield name
