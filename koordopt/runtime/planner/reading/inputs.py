"""What a plan is made from: the objects that were read, and those that were turned away."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from types import MappingProxyType
from typing import Any, Final

import msgspec
from pydantic import BaseModel

from koordopt.errors import InvalidInputError
from koordopt.models.api.core import Namespace, Node, Pod, PodDisruptionBudget, PriorityClass
from koordopt.models.api.crds import Device, ElasticQuota, NodeMetric, PodGroup
from koordopt.models.snapshot import ClusterObjects
from koordopt.runtime.planner.formats import printable

_NAME_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
# No vowels and no digits that look like letters, so that no word appears by accident.

_FIELD_OF_TYPE: Final[Mapping[type, str]] = {
    Node: "nodes",
    Pod: "pods",
    Namespace: "namespaces",
    PriorityClass: "priority_classes",
    PodDisruptionBudget: "disruption_budgets",
    PodGroup: "pod_groups",
    ElasticQuota: "elastic_quotas",
    Device: "devices",
    NodeMetric: "node_metrics",
}


class UnreadableInput(InvalidInputError):  # noqa: N818 - an input, told apart by its name
    """Raised for a file that cannot be read as a whole; nothing is planned then."""


@dataclass(frozen=True, slots=True, order=True)
class Rejected:
    """An object that was left out, and why.

    Attributes
    ----------
    file
        Where it stands, as the caller named it.
    object
        Kind and ``namespace/name``, or the place in the file where it has no name.
    field
        Path of the field at fault.
    found
        What stands there.
    expected
        What should.
    """

    file: str
    object: str
    field: str
    found: str
    expected: str

    def __str__(self) -> str:
        """Return the one line that a person reads; it cannot break or move the cursor."""
        return printable(
            f"{self.file}: {self.object}: {self.field} is {self.found}; expected {self.expected}"
        )


@dataclass(frozen=True, slots=True)
class Workload:
    """A controller's object: it is planned through the pods that it would make.

    Attributes
    ----------
    kind
        ``Deployment``, ``ReplicaSet``, ``StatefulSet``, ``DaemonSet`` or ``Job``.
    namespace, name
        Its identity.
    file
        Where it stands.
    raw
        The object as read.
    """

    kind: str
    namespace: str
    name: str
    file: str
    raw: Mapping[str, Any]

    @property
    def label(self) -> str:
        """Kind and ``namespace/name``."""
        return f"{self.kind} {self.namespace}/{self.name}"


def object_label(kind: str, namespace: str, name: str) -> str:
    """Return how messages name an object: kind and ``namespace/name``, or kind and name."""
    return f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}"


@dataclass(frozen=True, slots=True)
class Inputs:
    """Everything that was read, in an order that does not depend on the files.

    Attributes
    ----------
    cluster
        Decoded objects by kind, each tuple sorted by namespace and name.
    workloads
        Controllers' objects, sorted by kind, namespace and name.
    rejected
        What was left out, sorted.
    files
        File of each object that was kept, by its label (see `object_label`).
    """

    cluster: ClusterObjects = field(default_factory=ClusterObjects)
    workloads: tuple[Workload, ...] = ()
    rejected: tuple[Rejected, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Found:
    """A usable object as it was found: its label, its file, and a decoded object or `Workload`."""

    label: str
    file: str
    value: Any


def collect(found: Iterable[Found], rejected: Iterable[Rejected] = ()) -> Inputs:
    """Return inputs in canonical order, with one object of each name.

    Parameters
    ----------
    found
        Usable objects; of several with one label the one whose content sorts first is kept.
    rejected
        What was left out already.

    Returns
    -------
    Inputs
        The same, sorted; objects whose name was taken are among the rejected.
    """
    kept, repeated = _without_repeats(found)
    by_type: dict[type, list[Any]] = {}
    for item in kept:
        by_type.setdefault(type(item.value), []).append(item.value)
    workloads: list[Workload] = by_type.pop(Workload, [])
    return Inputs(
        cluster=ClusterObjects(
            **{
                _FIELD_OF_TYPE[kind]: tuple(sorted(values, key=_name))
                for kind, values in by_type.items()
                if kind in _FIELD_OF_TYPE
            }
        ),
        workloads=tuple(sorted(workloads, key=lambda w: (w.kind, w.namespace, w.name))),
        rejected=tuple(sorted({*rejected, *repeated})),
        files=MappingProxyType({item.label: item.file for item in kept}),
    )


def short_hash(text: str) -> str:
    """Return five characters, as controllers put them behind names, that depend on a text.

    Examples
    --------
    >>> short_hash("web/0") == short_hash("web/0") != short_hash("web/1")
    True
    """
    number = int.from_bytes(sha256(text.encode()).digest()[:8], "big")
    characters = []
    for _ in range(5):
        number, index = divmod(number, len(_NAME_ALPHABET))
        characters.append(_NAME_ALPHABET[index])
    return "".join(characters)


def _name(value: Any) -> tuple[str, str]:
    return value.metadata.namespace, value.metadata.name


def _without_repeats(found: Iterable[Found]) -> tuple[list[Found], list[Rejected]]:
    """Return one object of each name, and the others as rejected.

    Which one is kept depends on what they say, not on where they stand.
    """
    by_label: dict[str, list[Found]] = {}
    for item in found:
        by_label.setdefault(item.label, []).append(item)
    kept: list[Found] = []
    rejected: list[Rejected] = []
    for label, items in by_label.items():
        if len(items) > 1:
            items.sort(key=lambda item: (_content(item.value), item.file))
        kept.append(items[0])
        rejected += [
            Rejected(
                item.file,
                label,
                "metadata.name",
                f"a duplicate ({number} of {len(items)}; one in {items[0].file} is kept)",
                "a name that no other object of this kind has",
            )
            for number, item in enumerate(items[1:], 2)
        ]
    return kept, rejected


def _content(value: object) -> bytes:
    """Return the bytes by which objects of one name are compared."""
    if isinstance(value, Workload):
        value = value.raw
    elif isinstance(value, BaseModel):
        value = value.model_dump(mode="json", by_alias=True)
    return msgspec.json.encode(value, enc_hook=str, order="sorted")
