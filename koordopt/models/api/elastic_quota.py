"""Elastic quotas: a guaranteed amount, a cap, and a place in a tree."""

import json
from typing import Any

from pydantic import Field

from koordopt.errors import InvalidInputError
from koordopt.models.api import keys
from koordopt.models.api.custom import CustomModel, Metadata, ResourceMap, renamed_amounts
from koordopt.models.api.faults import read_quantity
from koordopt.models.units import amounts


class ElasticQuotaSpec(CustomModel):
    """The guaranteed amount and the cap of a quota."""

    min: ResourceMap = Field(default_factory=dict)
    max: ResourceMap = Field(default_factory=dict)


class ElasticQuotaStatus(CustomModel):
    """What a quota's pods use."""

    used: ResourceMap = Field(default_factory=dict)


class ElasticQuota(CustomModel):
    """A quota; its place in the tree stands in labels, most amounts in annotations.

    An annotation that cannot be read counts as absent; ``unreadable_annotations`` names it.
    """

    metadata: Metadata = Metadata()
    spec: ElasticQuotaSpec = ElasticQuotaSpec()
    status: ElasticQuotaStatus = ElasticQuotaStatus()

    @property
    def name(self) -> str:
        """Name, unique in the cluster whatever the namespace."""
        return self.metadata.name

    @property
    def parent(self) -> str:
        """Name of the parent quota; the root quota where none is named."""
        return self._label(keys.LABEL_QUOTA_PARENT) or keys.QUOTA_ROOT

    @property
    def is_parent(self) -> bool:
        """Whether other quotas may belong to this one."""
        return self._label(keys.LABEL_QUOTA_IS_PARENT) == "true"

    @property
    def lends(self) -> bool:
        """Whether others may use the part of min that stands idle."""
        return self._label(keys.LABEL_QUOTA_ALLOW_LENT) != "false"

    @property
    def tree_id(self) -> str:
        """The tree it belongs to; empty for the default tree."""
        return self._label(keys.LABEL_QUOTA_TREE_ID)

    @property
    def is_root(self) -> bool:
        """Whether it is the root of a tree of its own."""
        return self._label(keys.LABEL_QUOTA_IS_ROOT) == "true"

    @property
    def ignores_default_tree(self) -> bool:
        """Whether its total is left in the default tree as well."""
        return self._label(keys.LABEL_QUOTA_IGNORE_DEFAULT_TREE) == "true"

    @property
    def allows_force_update(self) -> bool:
        """Whether sums of min are not checked when it changes."""
        return self._label(keys.LABEL_QUOTA_ALLOW_FORCE_UPDATE) == "true"

    @property
    def min(self) -> dict[str, int]:
        """Guaranteed amounts; a resource that is absent is unset."""
        return renamed_amounts(self.spec.min, keys.RENAMED_BATCH_RESOURCES)

    @property
    def max(self) -> dict[str, int]:
        """Caps; a resource that is absent is not limited."""
        return renamed_amounts(self.spec.max, keys.RENAMED_BATCH_RESOURCES)

    @property
    def used(self) -> dict[str, int]:
        """Amounts in use, as the status has them."""
        return renamed_amounts(self.status.used, keys.RENAMED_BATCH_RESOURCES)

    @property
    def stated_weight(self) -> dict[str, int] | None:
        """Weights in sharing idle amounts as written; None where absent or unreadable."""
        return self._amounts(keys.ANNOTATION_QUOTA_SHARED_WEIGHT)

    @property
    def shared_weight(self) -> dict[str, int]:
        """Weights in force: those written, or max where they are absent, unreadable or all zero."""
        stated = self.stated_weight
        return stated if stated and any(stated.values()) else self.max

    @property
    def admission(self) -> dict[str, int]:
        """Cap of what may be submitted; max where none is written."""
        admission = self._amounts(keys.ANNOTATION_QUOTA_ADMISSION)
        return self.max if admission is None else admission

    @property
    def total_resource(self) -> dict[str, int] | None:
        """Capacity of the tree whose root this is; None where none is written."""
        return self._amounts(keys.ANNOTATION_QUOTA_TOTAL_RESOURCE)

    @property
    def unschedulable_resource(self) -> dict[str, int] | None:
        """The part of the total that stands on unusable nodes."""
        return self._amounts(keys.ANNOTATION_QUOTA_UNSCHEDULABLE_RESOURCE)

    @property
    def guaranteed(self) -> dict[str, int] | None:
        """Guaranteed amounts as the scheduler last wrote them."""
        return self._amounts(keys.ANNOTATION_QUOTA_GUARANTEED)

    @property
    def runtime(self) -> dict[str, int] | None:
        """Runtime quota as the scheduler last wrote it."""
        return self._amounts(keys.ANNOTATION_QUOTA_RUNTIME)

    @property
    def namespaces(self) -> tuple[str, ...]:
        """Namespaces whose pods belong to this quota unless they say otherwise."""
        return _read_names(self._annotation(keys.ANNOTATION_QUOTA_NAMESPACES)) or ()

    @property
    def strict_resources(self) -> tuple[str, ...]:
        """Resources whose max may not go below what is used."""
        return _read_names(self._annotation(keys.ANNOTATION_QUOTA_STRICT_KEYS)) or ()

    @property
    def unreadable_annotations(self) -> tuple[str, ...]:
        """Keys of annotations that were written but cannot be read, sorted."""
        unreadable = [
            key
            for keys_, read in (
                (_AMOUNT_ANNOTATIONS, _read_amounts),
                (_NAME_ANNOTATIONS, _read_names),
            )
            for key in keys_
            if self._annotation(key) and read(self._annotation(key)) is None
        ]
        return tuple(sorted(unreadable))

    def _label(self, key: str) -> str:
        return self.metadata.labels.get(key, "")

    def _annotation(self, key: str) -> str:
        return self.metadata.annotations.get(key, "")

    def _amounts(self, key: str) -> dict[str, int] | None:
        return _read_amounts(self._annotation(key))


_AMOUNT_ANNOTATIONS = (
    keys.ANNOTATION_QUOTA_SHARED_WEIGHT,
    keys.ANNOTATION_QUOTA_ADMISSION,
    keys.ANNOTATION_QUOTA_TOTAL_RESOURCE,
    keys.ANNOTATION_QUOTA_UNSCHEDULABLE_RESOURCE,
    keys.ANNOTATION_QUOTA_GUARANTEED,
    keys.ANNOTATION_QUOTA_RUNTIME,
)
_NAME_ANNOTATIONS = (keys.ANNOTATION_QUOTA_NAMESPACES, keys.ANNOTATION_QUOTA_STRICT_KEYS)


def _read_json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _read_amounts(text: str) -> dict[str, int] | None:
    """Return a resource list written as JSON, or None if it is none."""
    value = _read_json(text) if text else None
    if not isinstance(value, dict):
        return None
    try:
        return amounts(
            (name, read_quantity(item)) for name, item in value.items() if item is not None
        )
    except InvalidInputError:
        return None


def _read_names(text: str) -> tuple[str, ...] | None:
    """Return a list of names written as JSON, or None if it is none."""
    value = _read_json(text) if text else None
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        return None
    return tuple(value)
