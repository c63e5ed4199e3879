"""The openb trace as arrays: nodes with GPUs, classes of identical pods, seeded arrivals."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from koordopt.solvers.heuristics.fragmentation import (
    WHOLE_CARD,
    CardRequest,
    ExpectedPods,
    Ints,
    NodeCards,
)

__all__ = ["POINTS", "TRACES", "Trace", "arrivals", "expected_pods", "read_trace"]

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


def expected_pods(trace: Trace) -> ExpectedPods:
    """Give the trace's classes, each weighted by its pods."""
    requests = trace.requests
    everything = np.ones(len(trace.models), dtype=np.bool_)
    return ExpectedPods(
        cpu=np.array([r.cpu for r in requests], dtype=np.int64),
        memory=np.array([r.memory for r in requests], dtype=np.int64),
        count=np.array([r.count for r in requests], dtype=np.int64),
        share=np.array([r.share for r in requests], dtype=np.int64),
        models=np.array([everything if r.models is None else r.models for r in requests]),
        weight=np.bincount(trace.class_of_pod, minlength=len(requests)).astype(np.int64),
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
