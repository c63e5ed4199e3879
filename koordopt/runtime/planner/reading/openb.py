"""Reads the openb traces: a node list and a pod list in CSV, of a production GPU cluster.

All pods are pending; their phase and their times are ignored. Requests stay native. A pod asks
for GPUs in per cent of a card: ``num_gpu`` whole cards, or ``gpu_milli`` thousandths of one.
Class ``LS`` is production, ``BE`` and the rest have none.
"""

import csv
import re
from collections.abc import Iterator, Mapping
from io import StringIO
from pathlib import Path
from typing import Any, Final, NamedTuple

from koordopt.models.api import keys
from koordopt.models.api.decode import decode
from koordopt.models.api.faults import ObjectError, shown
from koordopt.runtime.planner.reading.files import DEFAULT_MAX_INPUT, contents
from koordopt.runtime.planner.reading.inputs import (
    Found,
    Inputs,
    Rejected,
    UnreadableInput,
    collect,
    object_label,
)

POD_SLOTS: Final = 100_000
"""Pods a node may hold. The trace knows no such limit, so none may bind."""

NAMESPACE: Final = "default"
"""Namespace of the pods."""

_NODE_COLUMNS = ("sn", "cpu_milli", "memory_mib", "gpu", "model")
_POD_COLUMNS = ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli")
_WHOLE_CARD = 1000
_PERCENT = 10
# Of thousandths of a core and of MiB; enough for any node, and far from overflow as bytes.
_MOST = 10**12
_MOST_CARDS = 1_000
_DIGITS = re.compile(r"[0-9]{1,13}")
_NAME = re.compile(r"[^\s/]{1,253}")


def read_openb(nodes: Path, pods: Path, max_input: int = DEFAULT_MAX_INPUT) -> Inputs:
    """Return the nodes, devices and pods of a trace.

    Parameters
    ----------
    nodes
        CSV with the columns ``sn, cpu_milli, memory_mib, gpu, model``.
    pods
        CSV with the columns ``name, cpu_milli, memory_mib, num_gpu, gpu_milli`` and, where the
        trace has them, ``gpu_spec`` (models that will do, split by ``|``) and ``qos``. Others are
        ignored.
    max_input
        Bytes that both together may have.

    Returns
    -------
    Inputs
        The same types as a cluster in YAML gives. Rows that cannot be used are rejected, each
        under its file and line.

    Raises
    ------
    UnreadableInput
        If a file is missing, empty, too large, not UTF-8, no CSV, or lacks a column.

    Notes
    -----
    A node is labelled with the model of its cards (`keys.LABEL_GPU_MODEL`), and ``gpu_spec``
    becomes a required node affinity to that label. The memory of cards is not in the trace:
    compute and memory are asked for in the same share.

    References
    ----------
    Weng et al., "Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation
    Gradient Descent", USENIX ATC 2023.
    """
    found: list[Found] = []
    rejected: list[Rejected] = []
    readers = ((nodes, _NODE_COLUMNS, _node), (pods, _POD_COLUMNS, _pod))
    budget = max_input
    for path, columns, convert in readers:
        ((label, data),) = contents([path], budget)
        budget -= len(data)
        for row in _rows(label, data, columns):
            try:
                _check_width(row)
                found += [_found(row, raw) for raw in convert(row)]
            except _BadRowError as error:
                rejected.append(error.rejected)
    return collect(found, rejected)


class _Row(NamedTuple):
    """A line of a CSV file: where it stands, the columns that it must have, and its cells.

    ``width`` is the number of cells, which is that of the columns unless the line is at fault.
    """

    where: str
    columns: tuple[str, ...]
    cells: Mapping[str, str]
    width: int

    @property
    def label(self) -> str:
        """Kind and name of the object, the name as it stands."""
        name = self.cells[self.columns[0]].strip()
        name = name if _is_name(name) else shown(name)
        if self.columns is _NODE_COLUMNS:
            return object_label("Node", "", name)
        return object_label("Pod", NAMESPACE, name)


class _BadRowError(Exception):
    """A row that cannot be used; never leaves this module."""

    def __init__(self, row: _Row, column: str, found: str, expected: str) -> None:
        super().__init__(column)
        self.rejected = Rejected(row.where, row.label, column, found, expected)


def _rows(file: str, data: bytes, columns: tuple[str, ...]) -> Iterator[_Row]:
    """Yield the rows of a CSV file that has at least the given columns."""
    table = csv.reader(StringIO(data.decode(), newline=""), strict=True)
    try:
        header = [name.strip() for name in next(table, [])]
        missing = [name for name in columns if name not in header]
        if missing:
            msg = f"{file}: line 1: no column {missing[0]}; expected {', '.join(columns)}"
            raise UnreadableInput(msg)
        for cells in table:
            if cells:
                padded = [*cells, *[""] * len(header)]
                by_column = dict(zip(header, padded, strict=False))
                yield _Row(f"{file}:{table.line_num}", columns, by_column, len(cells))
    except csv.Error as error:
        msg = f"{file}: line {table.line_num}: {error}; expected CSV"
        raise UnreadableInput(msg) from error


def _check_width(row: _Row) -> None:
    """Raise if a row has more or fewer cells than the header."""
    if row.width != len(row.cells):
        raise _BadRowError(row, "row", f"{row.width} cells", f"{len(row.cells)} cells")


def _found(row: _Row, raw: dict[str, Any]) -> Found:
    """Decode an object of a row."""
    meta = raw["metadata"]
    label = object_label(raw["kind"], meta.get("namespace", ""), meta["name"])
    try:
        return Found(label, row.where, decode(raw))
    except ObjectError as error:
        raise _BadRowError(row, error.field, error.found, error.expected) from error


def _node(row: _Row) -> Iterator[dict[str, Any]]:
    """Yield the node of a row, and its devices when it has any."""
    name = _text(row, "sn")
    cards = _integer(row, "gpu", _MOST_CARDS)
    allocatable = {
        keys.RESOURCE_CPU: f"{_integer(row, 'cpu_milli')}m",
        keys.RESOURCE_MEMORY: f"{_integer(row, 'memory_mib')}Mi",
        keys.RESOURCE_PODS: str(POD_SLOTS),
    }
    labels = {keys.LABEL_HOSTNAME: name}
    model = row.cells["model"].strip()
    if cards:
        if not model:
            raise _BadRowError(row, "model", "empty", "the model of the cards")
        labels[keys.LABEL_GPU_MODEL] = model
        allocatable |= dict.fromkeys(
            (keys.RESOURCE_GPU_CORE, keys.RESOURCE_GPU_MEMORY_RATIO), str(100 * cards)
        )
        yield _device(name, cards, model)
    yield {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {"allocatable": allocatable, "capacity": allocatable},
    }


def _device(node: str, cards: int, model: str) -> dict[str, Any]:
    """Return the devices of a node: cards of one model, all healthy."""
    whole = {keys.RESOURCE_GPU_CORE: "100", keys.RESOURCE_GPU_MEMORY_RATIO: "100"}
    return {
        "apiVersion": "scheduling.koordinator.sh/v1alpha1",
        "kind": "Device",
        "metadata": {"name": node, "labels": {keys.LABEL_GPU_MODEL: model}},
        "spec": {
            "devices": [
                {"type": "gpu", "minor": minor, "health": True, "resources": whole}
                for minor in range(cards)
            ]
        },
    }


def _pod(row: _Row) -> Iterator[dict[str, Any]]:
    """Yield the pod of a row."""
    name = _text(row, "name")
    requests = {
        keys.RESOURCE_CPU: f"{_integer(row, 'cpu_milli')}m",
        keys.RESOURCE_MEMORY: f"{_integer(row, 'memory_mib')}Mi",
    }
    if percent := _gpu_percent(row):
        requests |= dict.fromkeys(
            (keys.RESOURCE_GPU_CORE, keys.RESOURCE_GPU_MEMORY_RATIO), str(percent)
        )
    labels = {}
    if row.cells.get("qos", "").strip() == "LS":
        labels = {keys.LABEL_QOS_CLASS: "LS", keys.LABEL_PRIORITY_CLASS: "koord-prod"}
    spec: dict[str, Any] = {"containers": [{"name": "main", "resources": {"requests": requests}}]}
    models = sorted({model.strip() for model in row.cells.get("gpu_spec", "").split("|")} - {""})
    if models:
        spec["affinity"] = {"nodeAffinity": _required_models(models)}
    yield {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels},
        "spec": spec,
        "status": {"phase": "Pending"},
    }


def _required_models(models: list[str]) -> dict[str, Any]:
    """Return a node affinity to cards of one of some models."""
    expression = {"key": keys.LABEL_GPU_MODEL, "operator": "In", "values": models}
    return {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchExpressions": [expression]}]
        }
    }


def _gpu_percent(row: _Row) -> int:
    """Return the share of GPUs that a pod asks for, 100 for a whole card; 0 for none."""
    cards = _integer(row, "num_gpu", _MOST_CARDS)
    milli = _integer(row, "gpu_milli", _WHOLE_CARD)
    if milli % _PERCENT:
        raise _BadRowError(row, "gpu_milli", str(milli), f"a multiple of {_PERCENT}")
    if cards > 1 and milli != _WHOLE_CARD:
        raise _BadRowError(row, "gpu_milli", str(milli), f"{_WHOLE_CARD} for each of several cards")
    if bool(cards) != bool(milli):
        expected = "0 where num_gpu is 0, more where it is not"
        raise _BadRowError(row, "gpu_milli", str(milli), expected)
    return cards * milli // _PERCENT


def _integer(row: _Row, column: str, most: int = _MOST) -> int:
    """Return a cell that holds an integer between 0 and a bound."""
    text = row.cells[column].strip()
    # Not isdigit: that is true of digits in other scripts and of superscripts too.
    if not _DIGITS.fullmatch(text) or int(text) > most:
        raise _BadRowError(row, column, shown(text), f"a whole number from 0 to {most}")
    return int(text)


def _is_name(text: str) -> bool:
    return _NAME.fullmatch(text) is not None and text.isprintable()


def _text(row: _Row, column: str) -> str:
    """Return a cell that holds a name."""
    text = row.cells[column].strip()
    if not _is_name(text):
        raise _BadRowError(row, column, shown(text), "a name")
    return text
