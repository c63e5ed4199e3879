"""Benchmark `openb`: placing GPU work as it arrives on a production cluster's nodes.

League *online*: one pod at a time, no second chance, nothing moves. For each trace and seed the
same arrivals meet koordopt's greedy pipeline with its default profile, the six policies of the
published study, and the bound of a linear relaxation; the published means, of other seeds, stand
beside them.
"""

from __future__ import annotations

import csv
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

from benchmarks.quality.openb_bound import allocation_bound
from benchmarks.quality.openb_online import run_online
from benchmarks.quality.openb_policies import BASELINES
from benchmarks.quality.openb_product import online_problem, place_online
from benchmarks.quality.openb_trace import POINTS, TRACES, arrivals, read_trace
from benchmarks.registry import Aim, Row, Size, Spread
from datasets.fetch import require

__all__ = ["Run", "run", "run_one"]

# Means of ten seeds, computed from the result files of hkust-adsl/kubernetes-scheduler-simulator.
_PUBLISHED = Path(__file__).with_name("openb_published.csv")
_FIRST_SEED = 42
_OURS = "ours"
_FULL_LOAD = POINTS.index(100)
_BELOW_FGD = 0.05  # points that the aim allows
_GAP_CLOSED = 50.0  # per cent that the aim asks for


@dataclass(frozen=True, slots=True)
class Run:
    """What one trace and seed gave.

    Attributes
    ----------
    trace, seed
        The input.
    allocated
        By policy, per cent of the cluster's GPUs allocated at each of ``POINTS``.
    seconds
        By policy, the time of the whole run; koordopt's without reading the cluster.
    bound
        Per cent that no policy can pass when 100 % have arrived.
    """

    trace: str
    seed: int
    allocated: dict[str, tuple[float, ...]]
    seconds: dict[str, float]
    bound: float


def run(size: Size, seeds: int | None = None) -> list[Row]:
    """Run the online league.

    Parameters
    ----------
    size
        ``full``: nine traces, ten seeds, every policy. ``smoke``: one trace and seed, FGD alone.
    seeds
        Number of seeds instead of the size's own.
    """
    data = require("openb")
    smoke = size == "smoke"
    traces = TRACES[:1] if smoke else TRACES
    policies = ("FGD",) if smoke else tuple(BASELINES)
    count = seeds or (1 if smoke else 10)
    inputs = [(name, _FIRST_SEED + k) for name in traces for k in range(count)]
    workers = min(len(inputs), os.cpu_count() or 1)
    runs: list[Run] = Parallel(n_jobs=workers)(
        delayed(run_one)(data, name, seed, policies) for name, seed in inputs
    )
    published = _published()
    rows = []
    for name in traces:
        rows += _trace_rows([r for r in runs if r.trace == name], published, aimed=not smoke)
    return rows + _summary_rows(runs, traces, aimed=not smoke)


def run_one(data: Path, name: str, seed: int, policies: Sequence[str]) -> Run:
    """Run koordopt and the named baselines on one trace and seed."""
    trace = read_trace(name, data)
    order = arrivals(trace, seed)
    node_order = np.random.default_rng([seed, 1]).permutation(trace.nodes.cpu.size)
    allocated: dict[str, tuple[float, ...]] = {}
    seconds: dict[str, float] = {}
    problem = online_problem(trace, order, node_order)
    for policy in (_OURS, *policies):
        start = time.perf_counter()
        if policy == _OURS:
            placed = place_online(trace, order, problem)
        else:
            placed = run_online(trace, order, node_order, BASELINES[policy](trace, seed))
        seconds[policy] = time.perf_counter() - start
        allocated[policy] = tuple((100 * placed / trace.capacity).tolist())
    bound = 100 * allocation_bound(trace, arrivals(trace, seed, 100)) / trace.capacity
    return Run(name, seed, allocated, seconds, bound)


def _published() -> dict[tuple[str, str], list[float]]:
    with _PUBLISHED.open(newline="") as file:
        return {
            (row["trace"], row["policy"]): [float(row[f"allocated_at_{p}"]) for p in POINTS]
            for row in csv.DictReader(file)
        }


def _mean(runs: Sequence[Run], policy: str, point: int) -> float:
    return float(np.mean([run.allocated[policy][point] for run in runs]))


def _trace_rows(
    runs: Sequence[Run], published: dict[tuple[str, str], list[float]], *, aimed: bool
) -> list[Row]:
    """Give one row for each point of one trace."""
    name = runs[0].trace
    policies = [policy for policy in runs[0].allocated if policy != _OURS]
    rows = []
    for point, percent in enumerate(POINTS):
        baselines = {policy: _mean(runs, policy, point) for policy in policies}
        for policy in policies:
            baselines[f"{policy}, published"] = published[name, policy][point]
        at_full = point == _FULL_LOAD
        rows.append(
            Row(
                case=f"{name}/online",
                metric=f"GPUs allocated, {percent} % arrived",
                unit="%",
                better="higher",
                ours=_mean(runs, _OURS, point),
                baselines=baselines,
                bound=float(np.mean([run.bound for run in runs])) if at_full else None,
                aim=Aim(">=", baselines["FGD"] - _BELOW_FGD) if aimed else None,
                spread=Spread.over([run.allocated[_OURS][point] for run in runs]),
            )
        )
    return rows


def _summary_rows(runs: Sequence[Run], traces: Sequence[str], *, aimed: bool) -> list[Row]:
    """Give the share of the gap between FGD and the bound that is closed, and the time of a run."""
    closed = []
    for name in traces:
        here = [run for run in runs if run.trace == name]
        fgd = _mean(here, "FGD", _FULL_LOAD)
        bound = float(np.mean([run.bound for run in here]))
        closed.append(100 * (_mean(here, _OURS, _FULL_LOAD) - fgd) / (bound - fgd))
    seconds = {
        policy: float(np.mean([run.seconds[policy] for run in runs])) for policy in runs[0].seconds
    }
    own = seconds.pop(_OURS)
    return [
        Row(
            case="all/online",
            metric="gap from FGD to the bound closed, 100 % arrived",
            unit="%",
            better="higher",
            ours=float(np.mean(closed)),
            baselines={"FGD": 0.0},
            aim=Aim(">=", _GAP_CLOSED) if aimed else None,
            spread=Spread.over(closed),
        ),
        Row(
            case="all/online",
            metric="time of a run",
            unit="s",
            better="lower",
            ours=own,
            baselines=seconds,
            clock=True,
            spread=Spread.over([run.seconds[_OURS] for run in runs]),
        ),
    ]
