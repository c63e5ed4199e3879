"""Objects as manifests have them, for tests to vary."""

import json
from pathlib import Path
from typing import Any


def pod(name: str = "web-0", namespace: str | None = "shop", **spec: Any) -> dict[str, Any]:
    """Return a pod that asks for one core."""
    metadata = {"name": name} if namespace is None else {"name": name, "namespace": namespace}
    container = {"name": "main", "resources": {"requests": {"cpu": "1"}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": [container], **spec},
    }


def node(name: str = "node-0", **spec: Any) -> dict[str, Any]:
    """Return a node of eight cores."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "spec": spec,
        "status": {"allocatable": {"cpu": "8", "memory": "32Gi", "pods": "110"}},
    }


def workload(kind: str, name: str = "web", **spec: Any) -> dict[str, Any]:
    """Return a controller's object whose pods ask for one core."""
    template = {
        "metadata": {"labels": {"app": name}},
        "spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "1"}}}]},
    }
    return {
        "apiVersion": "batch/v1" if kind == "Job" else "apps/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {"template": template, **spec},
    }


def owned(raw: dict[str, Any], kind: str, name: str) -> dict[str, Any]:
    """Return an object with a controller."""
    owner = {"apiVersion": "apps/v1", "kind": kind, "name": name, "controller": True}
    return {**raw, "metadata": {**raw["metadata"], "ownerReferences": [owner]}}


def write(path: Path, *objects: dict[str, Any]) -> Path:
    """Write objects as a list in JSON, and return the path."""
    listed = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
    path.write_text(json.dumps(listed))
    return path
