"""Greedy decisions a second in memory, on one core, with everything that belongs to a decision.

What is timed is the product's own `Greedy`: units in the order of their arrival, each with its
quota check, class look-up, choice of a node, and the books kept of it. A live scheduler keeps
classes, so the first score row of every class is made before, and told in rows of its own, as are
snapshot and problem. `solve`, which orders the units itself and starts from nothing, is timed as a
whole.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np

from benchmarks.registry import Aim, Row, Size, Spread
from benchmarks.speed.instances import ARRIVALS, Arrival, Instance, Rules, arrivals
from koordopt.models.problem.placement import PlacementProblem
from koordopt.models.snapshot import ClusterSnapshot
from koordopt.solvers.heuristics.greedy import Greedy, solve
from koordopt.solvers.heuristics.pipeline import ClassRow, Pipeline
from koordopt.solvers.heuristics.profile import DEFAULT_WEIGHTS, Profile
from koordopt.solvers.heuristics.scores.fragmentation import FragmentationScore
from koordopt.solvers.heuristics.scores.opportunity import OpportunityScore
from koordopt.solvers.heuristics.units import Unit, units_of

BASELINE: Final = "without caches"
ROUNDS: Final = 5
_UNPRICED: Final = Profile(
    weights={
        name: weight
        for name, weight in DEFAULT_WEIGHTS.items()
        if name not in {FragmentationScore.name, OpportunityScore.name}
    }
)
"""The default profile without koordopt's own scores of cards."""


@dataclass(frozen=True)
class _Kind:
    """One kind of cluster, and the profile that schedules it.

    Attributes
    ----------
    name
        Name in the report.
    rules
        What every pod asks for.
    profile
        What is scored.
    aims
        Decisions a second in runs and interleaved, at 5,000 nodes; None where none is set.
    """

    name: str
    rules: Rules
    profile: Profile
    aims: tuple[float, float] | None


_DEFAULT: Final = Profile()
_KINDS: Final = (
    _Kind("basic", "basic", _DEFAULT, (75_000, 25_000)),
    _Kind("spread", "spread", _DEFAULT, (45_000, 15_000)),
    _Kind("affinity", "affinity", _DEFAULT, (45_000, 15_000)),
    _Kind("gangs", "gangs", _DEFAULT, (45_000, 15_000)),
    _Kind("devices", "devices", _UNPRICED, (5_000, 5_000)),
    # Prices look at every expected class for each node that changed; no aim is set for them.
    _Kind("devices, priced", "devices", _DEFAULT, None),
)
CASES: Final = tuple(kind.name for kind in _KINDS)
"""Names of the kinds of clusters that are timed."""


@dataclass(frozen=True)
class _Plan:
    """What is run at one size.

    Attributes
    ----------
    clusters
        Number of nodes, of pods that arrive, and of those that ask for cards.
    classes
        Number of pod templates.
    compared
        The first so many pods are placed by the baseline, too.
    rounds
        How often each figure is taken; the median counts.
    beside
        Number of nodes, pods that arrive, and pods that run already or do not.
    """

    clusters: tuple[tuple[int, int, int], ...]
    classes: int
    compared: int
    rounds: int
    beside: tuple[int, int, int]


_PLANS: Final[Mapping[Size, _Plan]] = {
    "smoke": _Plan(((50, 200, 60),), 100, 200, 1, (50, 150, 300)),
    "full": _Plan(
        ((100, 1_000, 150), (1_000, 10_000, 1_600), (5_000, 30_000, 8_000)),
        1_000,
        2_000,
        ROUNDS,
        (1_000, 3_000, 8_000),
    ),
}


class AfreshPipeline(Pipeline):
    """Decides as the pipeline does, but evaluates and masks every node for every decision."""

    def _repair(self, kept: ClassRow) -> None:
        self._renew(kept)

    def _new_row(self, c: int) -> ClassRow:
        kept = super()._new_row(c)
        kept.by_domain = None
        kept.is_filtered = kept.is_filtered or bool(kept.global_scores)
        return kept


def run(size: Size, seeds: int | None = None) -> list[Row]:
    """Return the rows of one run.

    Parameters
    ----------
    size
        ``smoke``, or ``full`` with up to 5,000 nodes.
    seeds
        Clusters drawn for each case; None for one.
    """
    plan = _PLANS[size]
    rows: list[Row] = []
    for nodes, pods, card_pods in plan.clusters:
        for kind in _KINDS:
            count = card_pods if kind.rules == "devices" else pods
            instance = Instance(nodes, count, kind.rules, classes=plan.classes)
            has_aim = size == "full" and nodes == plan.clusters[-1][0]
            rows += _cluster_rows(kind, instance, plan, seeds or 1, has_aim=has_aim)
    return rows + _beside_rows(plan)


@dataclass
class _Case:
    """One cluster with pods that arrive in one order, ready to be timed.

    Attributes
    ----------
    profile
        What is scored.
    prepared_s
        Seconds for snapshot and problem, from decoded objects.
    rows_s
        Seconds for the first score row of every pending class, last time.
    """

    problem: PlacementProblem
    units: list[Unit]
    profile: Profile
    prepared_s: float
    rows_s: float = 0.0

    @classmethod
    def of(
        cls, instance: Instance, profile: Profile = _DEFAULT, known: _Case | None = None
    ) -> _Case:
        """Return the case of ``instance``; ``known`` is one of the same cluster, if there is."""
        if known is None:
            objects = instance.objects()
            start = time.perf_counter()
            problem = PlacementProblem.from_snapshot(ClusterSnapshot.from_objects(objects))
            prepared_s = time.perf_counter() - start
        else:
            problem, prepared_s = known.problem, known.prepared_s
        unit_of = {p: unit for unit in units_of(problem) for p in unit.pods}
        order = dict.fromkeys(unit_of[p] for p in arrivals(problem, instance))
        return cls(problem, list(order), profile, prepared_s)

    def greedy(
        self, pipeline: Callable[[PlacementProblem, Profile], Pipeline] = Pipeline
    ) -> Greedy:
        """Return a scheduler that has met every class but placed nothing."""
        greedy = Greedy(self.problem, self.profile)
        greedy.pipeline = pipeline(self.problem, self.profile)
        start = time.perf_counter()
        for c in np.unique(self.problem.snapshot.pods.class_of[self.problem.pending]).tolist():
            greedy.pipeline.best_node(c)
        self.rows_s = time.perf_counter() - start
        return greedy


def _rate(greedy: Greedy, units: Sequence[Unit]) -> float:
    """Return the pods decided on in a second."""
    gc.collect()
    start = time.perf_counter()
    for unit in units:
        greedy.place_unit(unit)
    return sum(len(unit.pods) for unit in units) / (time.perf_counter() - start)


def _first(units: Sequence[Unit], pods: int) -> list[Unit]:
    """Return the first units that together have ``pods`` pods."""
    total = np.cumsum([len(unit.pods) for unit in units])
    return list(units[: int(np.searchsorted(total, pods)) + 1])


def _cluster_rows(
    kind: _Kind, instance: Instance, plan: _Plan, seeds: int, *, has_aim: bool
) -> list[Row]:
    """Return the rows of one cluster size and rule: both arrivals, setup and whole solve."""
    found: list[_Figures] = []
    prepared, first_rows, solved = [], [], []
    for seed in range(1, seeds + 1):
        known: _Case | None = None
        for arrival in ARRIVALS:
            drawn = replace(instance, arrival=arrival, seed=seed)
            # Who belongs to which gang depends on the arrival; all else does not.
            case = _Case.of(drawn, kind.profile, None if kind.rules == "gangs" else known)
            known = case
            found.append(_figures(arrival, case, plan))
            first_rows.append(case.rows_s)
        assert known is not None  # there are two arrivals
        prepared.append(known.prepared_s)
        start = time.perf_counter()
        solve(known.problem, kind.profile)
        solved.append(instance.pods / (time.perf_counter() - start))
    name = f"{instance.nodes} nodes/{kind.name}"
    rows = []
    for k, arrival in enumerate(ARRIVALS):
        figures = [entry for entry in found if entry.arrival == arrival]
        aim = Aim(">=", kind.aims[k]) if has_aim and kind.aims is not None else None
        rows += _decision_rows(f"{name}/{arrival}", figures, aim)
    return [
        *rows,
        _timed(name, "whole solve", "1/s", "higher", solved),
        _timed(name, "snapshot and problem", "s", "lower", prepared),
        _timed(name, "first score rows", "s", "lower", first_rows),
    ]


@dataclass(frozen=True)
class _Figures:
    """Decisions a second in each round, the baseline's, and the share of equal placements."""

    arrival: Arrival
    ours: list[float]
    baseline: float
    same: float


def _figures(arrival: Arrival, case: _Case, plan: _Plan) -> _Figures:
    ours = [_rate(case.greedy(), case.units) for _ in range(plan.rounds)]
    compared = _first(case.units, plan.compared)
    greedy, baseline = case.greedy(), case.greedy(AfreshPipeline)
    _rate(greedy, compared)
    rate = _rate(baseline, compared)
    one, other = greedy.pipeline.state.placed, baseline.pipeline.state.placed
    same = sum(a == b for a, b in zip(one, other, strict=False)) / max(len(one), len(other), 1)
    return _Figures(arrival, ours, rate, same)


def _decision_rows(case: str, figures: Sequence[_Figures], aim: Aim | None) -> list[Row]:
    ours = [rate for entry in figures for rate in entry.ours]
    return [
        Row(
            case=case,
            metric="decisions",
            unit="1/s",
            better="higher",
            ours=statistics.median(ours),
            baselines={BASELINE: statistics.median(entry.baseline for entry in figures)},
            aim=aim,
            clock=True,
            spread=Spread.over(ours),
        ),
        Row(
            case=case,
            metric="placed as the baseline does",
            unit="",
            better="higher",
            ours=min(entry.same for entry in figures),
            aim=Aim(">=", 1),
        ),
    ]


def _timed(
    case: str, metric: str, unit: str, better: Literal["lower", "higher"], figures: list[float]
) -> Row:
    return Row(
        case=case,
        metric=metric,
        unit=unit,
        better=better,
        ours=statistics.median(figures),
        clock=True,
        spread=Spread.over(figures),
    )


def _beside_rows(plan: _Plan) -> list[Row]:
    """Return how much slower the same pods are placed where others run already."""
    nodes, pods, running = plan.beside
    empty = Instance(nodes, pods, classes=plan.classes, filled_percent=(0, 0))
    busy = replace(empty, filled_percent=(40, 50), running=running)
    rows = []
    for arrival in ARRIVALS:
        cases = [_Case.of(replace(instance, arrival=arrival)) for instance in (empty, busy)]
        rates: list[list[float]] = [[], []]
        for _ in range(plan.rounds):
            for case, into in zip(cases, rates, strict=True):
                into.append(_rate(case.greedy(), case.units))
        alone, beside = (statistics.median(into) for into in rates)
        rows.append(
            Row(
                case=f"{nodes} nodes/{pods} pods beside {running}/{arrival}",
                metric="rate against an empty cluster",
                unit="",
                better="higher",
                ours=beside / alone,
                aim=Aim(">=", 0.9) if plan.rounds > 1 else None,
                clock=True,
            )
        )
    return rows
