"""From a parsed or unparsed API object to a value that is right, or an error that says why not.

An object is read in three steps: its shape (unknown fields are ignored, null is the same as
absent), what the API server would refuse in it, and what is done to every object when it is read:
present resource names, the node reservation, and the API server's defaults.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec
import pydantic

from koordopt.errors import InvalidInputError
from koordopt.models.api import checks, core, crds
from koordopt.models.api.defaults import default_namespace, default_pod
from koordopt.models.api.faults import (
    Fault,
    ObjectError,
    describe,
    fault_of_conversion,
    fault_of_model,
    read_quantity,
    shown,
)
from koordopt.models.api.transform import transform_node, transform_pod
from koordopt.models.units import Quantity

__all__ = ["Object", "ObjectError", "decode", "decode_json", "is_supported"]

Object: TypeAlias = (
    core.Pod
    | core.Node
    | core.Namespace
    | core.PriorityClass
    | core.PodDisruptionBudget
    | crds.PodGroup
    | crds.ElasticQuota
    | crds.Device
    | crds.NodeMetric
)
"""Any object that is read."""

_MAX_DEPTH: Final = 64
"""How deeply an object may nest; a pod needs 14 levels."""


def _read_quantity(_type: type, value: Any) -> Quantity:
    """Return a quantity for msgspec, which adds the path to an error raised here."""
    return read_quantity(value)


# Typed, because True equals 1; the few distinct quantities of a cluster are parsed once.
_quantity_hook: Final[Callable[[type, Any], Any]] = lru_cache(maxsize=65536, typed=True)(
    _read_quantity
)


class _Kind(NamedTuple):
    """How objects of one kind are read."""

    type: Any
    fault: Callable[[Any], Fault | None]
    prepare: Callable[[Any], Any]
    is_namespaced: bool
    from_json: msgspec.json.Decoder[Any] | None


def _same(value: Any) -> Any:
    return value


def _core(
    type_: Any,
    fault: Callable[[Any], Fault | None],
    prepare: Callable[[Any], Any] = _same,
    is_namespaced: bool = False,
) -> _Kind:
    decoder = msgspec.json.Decoder(type_, dec_hook=_quantity_hook)
    return _Kind(type_, fault, prepare, is_namespaced, decoder)


def _custom(type_: Any, is_namespaced: bool) -> _Kind:
    return _Kind(type_, checks.name_fault, _same, is_namespaced, None)


_KINDS: Final[Mapping[tuple[str, str], _Kind]] = {
    ("", "Pod"): _core(
        core.Pod, checks.pod_fault, lambda pod: default_pod(transform_pod(pod)), is_namespaced=True
    ),
    ("", "Node"): _core(core.Node, checks.node_fault, transform_node),
    ("", "Namespace"): _core(core.Namespace, checks.name_fault, default_namespace),
    ("scheduling.k8s.io", "PriorityClass"): _core(core.PriorityClass, checks.name_fault),
    ("policy", "PodDisruptionBudget"): _core(
        core.PodDisruptionBudget, checks.budget_fault, is_namespaced=True
    ),
    ("scheduling.sigs.k8s.io", "PodGroup"): _custom(crds.PodGroup, is_namespaced=True),
    ("scheduling.sigs.k8s.io", "ElasticQuota"): _custom(crds.ElasticQuota, is_namespaced=True),
    ("scheduling.koordinator.sh", "Device"): _custom(crds.Device, is_namespaced=False),
    ("slo.koordinator.sh", "NodeMetric"): _custom(crds.NodeMetric, is_namespaced=False),
}


class _Envelope(msgspec.Struct, rename="camel"):
    """What says which kind an object is of."""

    api_version: str | None = None
    kind: str | None = None


_envelope: Final = msgspec.json.Decoder(_Envelope)


def _kind_of(api_version: object, kind: object) -> _Kind | None:
    if not isinstance(api_version, str) or not isinstance(kind, str):
        return None
    return _KINDS.get((api_version.rpartition("/")[0], kind))


def is_supported(api_version: object, kind: object) -> bool:
    """Whether objects of this kind are read."""
    return _kind_of(api_version, kind) is not None


def decode(raw: Mapping[str, Any]) -> Object | None:
    """Return the object that parsed YAML or JSON describes.

    Parameters
    ----------
    raw
        The object with ``apiVersion`` and ``kind``.

    Returns
    -------
    Object or None
        The object, ready for use: with defaults, present resource names, and a node's reservation
        taken off. None for a kind that is not read.

    Raises
    ------
    ObjectError
        If the object cannot be used.
    """
    kind = _kind_of(raw.get("apiVersion"), raw.get("kind"))
    if kind is None:
        return None
    if kind.from_json is None:
        return _decode_model(raw, kind)
    try:
        value = msgspec.convert(raw, kind.type, dec_hook=_quantity_hook)
    except (msgspec.ValidationError, UnicodeError):
        # Nearly always a null where a list or a mapping could stand.
        value = _convert_without_nulls(raw, kind)
    return _finish(value, kind)


def decode_json(data: bytes | str) -> Object | None:
    """Return the object that JSON text describes; otherwise as `decode`.

    Raises
    ------
    ObjectError
        If the object cannot be used.
    InvalidInputError
        If this is not JSON, or no object.
    """
    try:
        envelope = _envelope.decode(data)
        kind = _kind_of(envelope.api_version, envelope.kind)
        if kind is None:
            return None
        if kind.from_json is not None:
            try:
                return _finish(kind.from_json.decode(data), kind)
            except msgspec.ValidationError:
                pass  # read it once more, leniently and with a full account of what is wrong
        return decode(msgspec.json.decode(data))
    except msgspec.ValidationError as error:
        raise InvalidInputError("text is no Kubernetes object; expected kind and more.") from error
    except (msgspec.DecodeError, RecursionError) as error:
        raise InvalidInputError(f"text is no JSON: {error}.") from error


def _finish(value: Any, kind: _Kind) -> Object:
    fault = kind.fault(value)
    if fault is not None:
        name = {"name": value.metadata.name, "namespace": value.metadata.namespace}
        raise _error(describe({"metadata": name}, kind.type.__name__), fault)
    if kind.is_namespaced and not value.metadata.namespace:
        metadata = msgspec.structs.replace(value.metadata, namespace="default")
        value = msgspec.structs.replace(value, metadata=metadata)
    prepared: Object = kind.prepare(value)
    return prepared


def _error(object_: str, fault: Fault) -> ObjectError:
    return ObjectError(object_, fault.field, shown(fault.found), fault.expected)


def _convert_without_nulls(raw: Mapping[str, Any], kind: _Kind) -> Any:
    label = describe(raw, kind.type.__name__)
    cleaned = _without_nulls(raw, label)
    try:
        return msgspec.convert(cleaned, kind.type, dec_hook=_quantity_hook)
    except msgspec.ValidationError as error:
        raise _error(label, fault_of_conversion(cleaned, error)) from error
    except UnicodeError as error:
        raise ObjectError(label, "object", "text with half a character", "Unicode") from error


def _decode_model(raw: Mapping[str, Any], kind: _Kind) -> Object:
    label = describe(raw, kind.type.__name__)
    cleaned = _without_nulls(raw, label)
    try:
        value = kind.type.model_validate(cleaned)
    except pydantic.ValidationError as error:
        raise _error(label, fault_of_model(error)) from error
    fault = kind.fault(value)
    if fault is not None:
        raise _error(label, fault)
    if kind.is_namespaced and not value.metadata.namespace:
        metadata = value.metadata.model_copy(update={"namespace": "default"})
        value = value.model_copy(update={"metadata": metadata})
    model: Object = value
    return model


def _without_nulls(raw: Mapping[str, Any], label: str) -> Any:
    """Return ``raw`` without entries that are null, at any depth.

    Raises
    ------
    ObjectError
        If it nests without end. What is shared by aliases is copied once.
    """
    done: dict[int, Any] = {}

    def clean(value: Any, depth: int) -> Any:
        if not isinstance(value, dict | list):
            return value
        if depth > _MAX_DEPTH:
            raise ObjectError(label, "object", "nested too deeply", f"at most {_MAX_DEPTH} levels")
        copy = done.get(id(value))
        if copy is None:
            if isinstance(value, dict):
                copy = {
                    key: clean(item, depth + 1) for key, item in value.items() if item is not None
                }
            else:
                copy = [clean(item, depth + 1) for item in value]
            done[id(value)] = copy
        return copy

    return clean(dict(raw), 0)
