"""Reads a cluster from files, folders and standard input.

What comes out does not depend on the order of files or of the objects in them. A file that
cannot be read ends it (`UnreadableInput`); an object that cannot be used is left out and listed.
Keys that are unknown, fields that are null and kinds that planning does not read are passed over.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from koordopt.errors import InvalidInputError
from koordopt.models.api.decode import decode, is_supported
from koordopt.models.api.faults import ObjectError, shown
from koordopt.runtime.planner.reading.documents import Document
from koordopt.runtime.planner.reading.files import DEFAULT_MAX_INPUT, Source, contents
from koordopt.runtime.planner.reading.inputs import (
    Found,
    Inputs,
    Rejected,
    UnreadableInput,
    Workload,
    collect,
    object_label,
    short_hash,
)
from koordopt.runtime.planner.reading.jsontext import read_json
from koordopt.runtime.planner.reading.yamltext import read_yaml

WORKLOAD_GROUPS: Final[Mapping[str, str]] = {
    "Deployment": "apps",
    "ReplicaSet": "apps",
    "StatefulSet": "apps",
    "DaemonSet": "apps",
    "Job": "batch",
}
"""Kinds that become pods, with their API group."""

_NAMESPACED = frozenset(
    {"Pod", "PodDisruptionBudget", "PodGroup", "ElasticQuota", *WORKLOAD_GROUPS}
)
_NAME = re.compile(r"[^\s/]+")
_FIRST = re.compile(rb"\s*(\S)")


def read(paths: Sequence[Source], max_input: int = DEFAULT_MAX_INPUT) -> Inputs:
    """Return the objects of files, folders and standard input.

    Parameters
    ----------
    paths
        Files in YAML or JSON; folders, of which every file that ends in .yaml, .yml or .json is
        read, hidden ones apart; ``-`` for standard input. A file that is named twice is read once.
    max_input
        Bytes that all of them together may have.

    Returns
    -------
    Inputs
        Objects by type, workloads, and what was left out. Of several objects with one name the
        one whose content sorts first is kept.

    Raises
    ------
    UnreadableInput
        If there is nothing to read, or a file is missing, empty, too large, not UTF-8, neither
        YAML nor JSON, or nested or aliased without end. One line, with the file.
    """
    found: list[Found] = []
    rejected: list[Rejected] = []
    for label, data in contents(paths, max_input):
        of_file, refused = _read_file(label, data)
        found += of_file
        rejected += refused
    return collect(found, rejected)


def _read_file(label: str, data: bytes) -> tuple[list[Found], list[Rejected]]:
    """Return the objects of a file and those that it should not have."""
    first = _FIRST.match(data)
    if first is None:
        msg = f"{label}: is empty; expected Kubernetes objects in YAML or JSON"
        raise UnreadableInput(msg)
    looks_like_json = first[1] in b"{["
    is_json = label.endswith(".json")
    try:
        if not (is_json or looks_like_json):
            return _objects(label, read_yaml(data))
        try:
            return _objects(label, read_json(data))
        except InvalidInputError:
            # Braces may also open YAML in flow style, or JSON documents between lines of ---.
            if is_json:
                raise
            with suppress(InvalidInputError):
                return _objects(label, read_yaml(data))
            raise
    except InvalidInputError as error:
        msg = f"{label}: {error}"
        raise UnreadableInput(msg) from error


def _objects(file: str, documents: Iterable[Document]) -> tuple[list[Found], list[Rejected]]:
    """Return the usable objects of a file, and those that it should not have."""
    found: list[Found] = []
    rejected: list[Rejected] = []
    for document in documents:
        result = _object(file, document)
        if isinstance(result, Rejected):
            rejected.append(result)
        elif result is not None:
            found.append(result)
    return found, rejected


def _object(file: str, document: Document) -> Found | Rejected | None:
    """Return what one document is: an object, one to leave out, or nothing of ours."""
    raw, place, repeated = document
    if not isinstance(raw, dict):
        return Rejected(file, place, "object", shown(raw), "a mapping with apiVersion and kind")
    kind = raw.get("kind")
    if not isinstance(kind, str) or not kind:
        return Rejected(file, place, "kind", shown(kind), "a kind, such as Pod")
    version = raw.get("apiVersion")
    if not isinstance(version, str) or not version:
        return Rejected(file, f"{kind} ({place})", "apiVersion", shown(version), "one, such as v1")
    inner = kind.removesuffix("List")
    if inner != kind and (not inner or is_supported(version, inner) or inner in WORKLOAD_GROUPS):
        return Rejected(file, f"{kind} ({place})", "kind", "a list in a list", "an object")
    is_workload = WORKLOAD_GROUPS.get(kind) == version.rpartition("/")[0]
    if not is_workload and not is_supported(version, kind):
        return None
    raw, name, namespace = _named(raw, kind)
    label = object_label(kind, namespace, name) if name else f"{kind} ({place})"
    try:
        value = None if is_workload else decode(raw)
    except ObjectError as error:
        return Rejected(file, label, error.field, error.found, error.expected)
    for field, text in (("name", name), ("namespace", namespace or "none")):
        if not _NAME.fullmatch(text) or not text.isprintable():
            return Rejected(file, label, f"metadata.{field}", shown(text), f"a {field}")
    if repeated is not None:
        key, line = repeated
        return Rejected(file, label, key, f"given twice, again on line {line}", "one value")
    workload = Workload(kind, namespace, name, file, raw) if is_workload else None
    return Found(label, file, workload or value)


def _named(raw: dict[str, Any], kind: str) -> tuple[dict[str, Any], str, str]:
    """Return an object with its name and namespace filled in, and both.

    They are empty where there is none, or something else than text, which is found out later.
    """
    metadata = raw.get("metadata")
    if not isinstance(metadata, dict):
        return raw, "", ""
    name, namespace = metadata.get("name"), metadata.get("namespace")
    if not name and isinstance(prefix := metadata.get("generateName"), str) and prefix:
        # Any name will do that is the same on every reading.
        name = prefix + short_hash(json.dumps(raw, sort_keys=True))
    if not namespace and kind in _NAMESPACED:
        namespace = "default"
    if name != metadata.get("name") or namespace != metadata.get("namespace"):
        raw = {**raw, "metadata": {**metadata, "name": name, "namespace": namespace}}
    return (
        raw,
        name if isinstance(name, str) else "",
        namespace if isinstance(namespace, str) and kind in _NAMESPACED else "",
    )
