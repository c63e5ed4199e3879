"""Saved cycles: one file with everything a decision was made from, and the decision itself.

A saved cycle holds the fields that scheduling reads and nothing else: no environment variables,
no commands, no annotations of other programs.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

import msgspec
from pydantic import BaseModel, ValidationError

from koordopt.errors import InvalidInputError
from koordopt.models.api.core import (
    Namespace,
    Node,
    Pod,
    PodDisruptionBudget,
    PriorityClass,
)
from koordopt.models.api.crds import Device, ElasticQuota, NodeMetric, PodGroup
from koordopt.models.snapshot import ClusterObjects
from koordopt.models.units import Quantity, parse_quantity

FORMAT: Final = 1
"""Version of the file format; a file of a later one is refused."""
MAX_BYTES: Final = 1 << 30
"""Largest size of a cycle once unpacked."""
_KEPT_ANNOTATIONS: Final = ("koordinator.sh/", "pod-group.scheduling.sigs.k8s.io")
_MODELS: Final[Mapping[str, type[BaseModel]]] = {
    "pod_groups": PodGroup,
    "elastic_quotas": ElasticQuota,
    "devices": Device,
    "node_metrics": NodeMetric,
}
_STRUCTS: Final[Mapping[str, type[msgspec.Struct]]] = {
    "nodes": Node,
    "pods": Pod,
    "namespaces": Namespace,
    "priority_classes": PriorityClass,
    "disruption_budgets": PodDisruptionBudget,
}


@dataclass(frozen=True)
class Cycle:
    """One decision with its input.

    Attributes
    ----------
    objects
        The cluster as it was read, defaults and transformations applied.
    policy
        Name of the policy that decided.
    settings
        Arguments of the decision as plain values, such as weights.
    plan
        The plan as ``Plan.to_dict`` gives it.
    """

    objects: ClusterObjects
    policy: str
    settings: Mapping[str, Any]
    plan: Mapping[str, Any]


def encode_cycle(cycle: Cycle) -> bytes:
    """Return ``cycle`` as the bytes of a file; equal cycles give equal bytes."""
    objects = {
        field.name: [_plain(value) for value in getattr(cycle.objects, field.name)]
        for field in fields(ClusterObjects)
    }
    document = {
        "format": FORMAT,
        "policy": cycle.policy,
        "settings": cycle.settings,
        "objects": objects,
        "plan": cycle.plan,
    }
    return gzip.compress(msgspec.json.encode(document, enc_hook=_encoded), mtime=0)


def decode_cycle(data: bytes) -> Cycle:
    """Return the cycle that ``encode_cycle`` made ``data`` of.

    Raises
    ------
    InvalidInputError
        If ``data`` is not a saved cycle, or one of a later format.
    """
    try:
        document = msgspec.json.decode(_unpacked(data))
        version = document["format"]
        if version != FORMAT:
            raise InvalidInputError(f"saved cycle has format {version}; expected {FORMAT}.")
        saved = document["objects"]
        kinds = ClusterObjects.__dataclass_fields__
        objects = ClusterObjects(
            **{name: tuple(_read(name, raw) for raw in saved.get(name, ())) for name in kinds}
        )
        return Cycle(objects, document["policy"], document["settings"], document["plan"])
    except InvalidInputError:
        raise
    except (OSError, EOFError, zlib.error, KeyError, TypeError, AttributeError) as error:
        raise InvalidInputError(f"not a saved cycle: {error}") from error
    except (msgspec.MsgspecError, ValidationError) as error:
        raise InvalidInputError(f"damaged saved cycle: {error}") from error


def _unpacked(data: bytes) -> bytes:
    unpacker = zlib.decompressobj(wbits=31)
    content = unpacker.decompress(data, MAX_BYTES)
    if unpacker.unconsumed_tail or not unpacker.eof:
        raise InvalidInputError(f"saved cycle is cut off or larger than {MAX_BYTES} bytes.")
    return content


def _plain(value: Any) -> Any:
    """Return an API object as plain values, without annotations that nobody reads."""
    if isinstance(value, BaseModel):
        plain = value.model_dump(by_alias=True, exclude_defaults=True)
    else:
        plain = msgspec.to_builtins(value, enc_hook=_encoded, str_keys=True)
    annotations = plain.get("metadata", {}).get("annotations")
    if annotations:
        plain["metadata"]["annotations"] = {
            key: text
            for key, text in annotations.items()
            if any(part in key for part in _KEPT_ANNOTATIONS)
        }
    return plain


def _encoded(value: Any) -> Any:
    if isinstance(value, Quantity):
        return str(value)
    raise NotImplementedError(f"{type(value).__name__} has no form in a saved cycle")


def _read(kind: str, raw: Any) -> Any:
    model = _MODELS.get(kind)
    if model is not None:
        return model.model_validate(raw)
    return msgspec.convert(raw, _STRUCTS[kind], dec_hook=_decoded)


def _decoded(kind: type, value: Any) -> Any:
    if kind is Quantity:
        return parse_quantity(value)
    raise NotImplementedError(f"{kind.__name__} has no form in a saved cycle")
