"""The openb trace as arrays: nodes with GPUs, classes of identical pods, seeded arrivals."""

from __future__ import annotations

import csv
import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from koordopt.errors import InvalidInputError
from koordopt.solvers.heuristics.fragmentation import (
    WHOLE_CARD,
    CardRequest,
    ExpectedPods,
    Ints,
    NodeCards,
)

__all__ = ["POINTS", "TRACES", "Trace", "arrivals", "expected_pods", "find_data", "read_trace"]

TRACES = (
    "default",
    "cpu100",
    "cpu250",
    "gpushare40",
    "gpushare100",
    "gpuspec10",
    "gpuspec33",
    "multigpu20",
    "multigpu50",
)
POINTS = (90, 95, 100, 110, 120, 130)
"""Per cent of the cluster's GPUs requested so far, at which the allocation is recorded."""

_POPULAR_PERCENT = 95


@dataclass(frozen=True, slots=True)
class Trace:
    """One pod mix on the GPU nodes.

    Attributes
    ----------
    name
        The trace's name, as in :data:`TRACES`.
    nodes
        The empty nodes, in the file's order; memory in MiB.
    models
        The names of the card models, sorted.
    requests
        One request for each class of identical pods, sorted.
    class_of_pod
        The class of every pod in the file, ``(pods,)``.
    """

    name: str
    nodes: NodeCards
    models: tuple[str, ...]
    requests: tuple[CardRequest, ...]
    class_of_pod: Ints

    @property
    def capacity(self) -> int:
        """Thousandths of a card in the whole cluster."""
        return int(self.nodes.cards.sum())

    @property
    def asked(self) -> Ints:
        """Thousandths that a pod of each class asks for, ``(classes,)``."""
        return np.array([r.count * r.share for r in self.requests], dtype=np.int64)


def find_data(folder: Path | None = None) -> Path:
    """Give the folder of the openb files: the one given, else ``KOORDOPT_DATA``, else the cache."""
    root = os.environ.get("KOORDOPT_DATA", "~/.cache/koordopt")
    data = folder or Path(root).expanduser() / "openb"
    if not (data / "openb_node_list_gpu_node.csv").is_file():
        raise InvalidInputError(
            f"openb data: no openb_node_list_gpu_node.csv in {data}: expected the files of the "
            "Alibaba cluster trace gpu-v2023 (github.com/alibaba/clusterdata); "
            "set KOORDOPT_DATA to the folder that holds openb/"
        )
    return data


def read_trace(name: str, data: Path) -> Trace:
    """Read one of :data:`TRACES` from ``data``."""
    with (data / "openb_node_list_gpu_node.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    models = tuple(sorted({row["model"] for row in rows}))
    nodes = _nodes(rows, models)
    with (data / f"openb_pod_list_{name}.csv").open(newline="") as file:
        pods = [
            (
                int(row["cpu_milli"]),
                int(row["memory_mib"]),
                int(row["num_gpu"]),
                int(row["gpu_milli"]),
                row.get("gpu_spec") or "",
            )
            for row in csv.DictReader(file)
        ]
    classes = sorted(set(pods))
    number = {pod: index for index, pod in enumerate(classes)}
    return Trace(
        name=name,
        nodes=nodes,
        models=models,
        requests=tuple(_request(pod, models) for pod in classes),
        class_of_pod=np.array([number[pod] for pod in pods], dtype=np.int64),
    )


def arrivals(trace: Trace, seed: int, percent: int = POINTS[-1]) -> Ints:
    """Give the classes of the pods in the order they arrive.

    The trace's pods shuffled, then pods drawn from it, until ``percent`` of the cluster's GPUs
    are requested.
    """
    random = np.random.default_rng(seed)
    wanted = trace.capacity * percent // 100
    asked = trace.asked
    order = random.permutation(trace.class_of_pod)
    while asked[order].sum() < wanted:
        order = np.concatenate([order, random.choice(trace.class_of_pod, trace.class_of_pod.size)])
    last = int(np.searchsorted(asked[order].cumsum(), wanted))
    return order[: last + 1]


def expected_pods(trace: Trace, *, with_memory: bool) -> ExpectedPods:
    """Give the most frequent classes that together cover 95 % of the pods.

    Without memory, classes that differ in nothing else are one, as in the published scheduler.
    """
    counts: Counter[tuple[int, int, int, int, tuple[bool, ...]]] = Counter()
    for index, pods in enumerate(np.bincount(trace.class_of_pod, minlength=len(trace.requests))):
        request = trace.requests[index]
        allowed = [True] * len(trace.models) if request.models is None else request.models
        key = (request.cpu, request.memory if with_memory else 0, request.count, request.share)
        counts[*key, tuple(bool(a) for a in allowed)] += int(pods)
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    covered = np.cumsum([pods for _, pods in ordered])
    enough = int(np.searchsorted(covered * 100, _POPULAR_PERCENT * covered[-1])) + 1
    chosen = ordered[:enough]
    cpu, memory, count, share = np.array([key[:4] for key, _ in chosen], dtype=np.int64).T
    return ExpectedPods(
        cpu=cpu,
        memory=memory,
        count=count,
        share=share,
        models=np.array([key[4] for key, _ in chosen], dtype=np.bool_),
        weight=np.array([pods for _, pods in chosen], dtype=np.int64),
    )


def _nodes(rows: list[dict[str, str]], models: tuple[str, ...]) -> NodeCards:
    gpus = np.array([int(row["gpu"]) for row in rows], dtype=np.int64)
    cards = np.where(np.arange(gpus.max()) < gpus[:, None], WHOLE_CARD, 0).astype(np.int64)
    return NodeCards(
        cpu=np.array([int(row["cpu_milli"]) for row in rows], dtype=np.int64),
        memory=np.array([int(row["memory_mib"]) for row in rows], dtype=np.int64),
        cards=cards,
        model=np.array([models.index(row["model"]) for row in rows], dtype=np.int64),
    )


def _request(pod: tuple[int, int, int, int, str], models: tuple[str, ...]) -> CardRequest:
    cpu, memory, count, share, spec = pod
    allowed = np.array([model in spec.split("|") for model in models]) if spec else None
    return CardRequest(cpu, memory, count, share, allowed)
