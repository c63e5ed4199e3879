"""One planning session: what was read, the problem it makes, and the verified plan for it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib.resources import as_file, files
from pathlib import Path
from time import perf_counter
from typing import Any, Final

from koordopt.errors import InvalidInputError
from koordopt.models.plan import Plan
from koordopt.models.problem.placement import PlacementProblem
from koordopt.models.result import SolveResult
from koordopt.models.snapshot import ClusterSnapshot, SnapshotSettings
from koordopt.runtime.planner.controllers.workloads import complete
from koordopt.runtime.planner.reading.files import DEFAULT_MAX_INPUT, Source
from koordopt.runtime.planner.reading.inputs import Inputs
from koordopt.runtime.planner.reading.openb import read_openb
from koordopt.runtime.planner.reading.reader import read
from koordopt.runtime.settings import SchedulerSettings, read_settings
from koordopt.solvers.solve import solve

_SIZE: Final = re.compile(r"([0-9]{1,15}) ?(?:([KMGT])(i?)B?|B?)")
_POWER: Final = {"K": 1, "M": 2, "G": 3, "T": 4}


@dataclass(frozen=True)
class Sources:
    """Where a cluster is read from: files, the demo cluster, or a trace.

    Attributes
    ----------
    paths
        Files and folders; a path of ``-`` is standard input.
    demo
        Whether to read the demo cluster that ships with the package.
    nodes, pods
        CSV files of a trace.
    max_input
        Bytes that all of them together may have.
    """

    paths: tuple[Path, ...] = ()
    demo: bool = False
    nodes: Path | None = None
    pods: Path | None = None
    max_input: int = DEFAULT_MAX_INPUT

    def read(self) -> Inputs:
        """Return every object, with the pods that workloads would still make.

        Raises
        ------
        InvalidInputError
            If not exactly one kind of source is named.
        UnreadableInput
            If a file cannot be read as a whole.
        """
        if (self.nodes is None) != (self.pods is None):
            raise InvalidInputError("a trace needs both --nodes and --pods.")
        named = bool(self.paths) + self.demo + (self.nodes is not None)
        if named != 1:
            found = "nothing to plan" if not named else "several kinds of input"
            raise InvalidInputError(
                f"{found}; expected files or folders, --demo, or --nodes with --pods."
            )
        if self.nodes is not None and self.pods is not None:
            return complete(read_openb(self.nodes, self.pods, self.max_input))
        if self.demo:
            resource = files("koordopt.runtime.planner.demo") / "cluster.yaml"
            with as_file(resource) as path:
                return complete(read([path], self.max_input))
        sources: list[Source] = ["-" if str(path) == "-" else path for path in self.paths]
        return complete(read(sources, self.max_input))


class Stopwatch:
    """Seconds that each phase took.

    Parameters
    ----------
    clock
        Gives seconds from an arbitrary start.
    """

    def __init__(self, clock: Callable[[], float] = perf_counter) -> None:
        self._clock = clock
        self.seconds: dict[str, float] = {}

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Measure what runs inside."""
        start = self._clock()
        yield
        self.seconds[name] = round(self._clock() - start, 6)


@dataclass(frozen=True)
class Session:
    """A cluster that was read, and the problem that it poses.

    Attributes
    ----------
    inputs
        What was read and what was left out.
    settings
        What was tuned.
    problem
        The placement problem.
    stopwatch
        How long each phase took.
    """

    inputs: Inputs
    settings: SchedulerSettings
    problem: PlacementProblem
    stopwatch: Stopwatch = field(default_factory=Stopwatch)

    @classmethod
    def open(
        cls, sources: Sources, config: Path | None = None, profile: str | None = None
    ) -> Session:
        """Return the session of a cluster.

        Parameters
        ----------
        sources
            Where the cluster is read from.
        config
            A KubeSchedulerConfiguration; None for the defaults.
        profile
            Name of a profile in it; None for the first.
        """
        if config is None and profile is not None:
            raise InvalidInputError("--profile names a part of a configuration; give --config too.")
        stopwatch = Stopwatch()
        settings = SchedulerSettings() if config is None else read_settings(config, profile)
        with stopwatch.phase("read_s"):
            inputs = sources.read()
        with stopwatch.phase("snapshot_s"):
            snapshot = _snapshot(inputs, settings)
        with stopwatch.phase("problem_s"):
            problem = PlacementProblem.from_snapshot(
                snapshot, hard_affinity_weight=settings.profile.hard_affinity_weight
            )
        return cls(inputs, settings, problem, stopwatch)

    @property
    def warnings(self) -> list[str]:
        """What the input gets wrong without being left out, sorted."""
        return sorted({*self.problem.snapshot.warnings, *self.settings.warnings})

    @property
    def rejected(self) -> list[dict[str, str]]:
        """What was left out, as programs read it."""
        return [
            {
                "file": each.file,
                "object": each.object,
                "field": each.field,
                "found": each.found,
                "expected": each.expected,
            }
            for each in self.inputs.rejected
        ]

    def solve(self, policy: str) -> Solved:
        """Return the verified answer of ``policy`` to the problem."""
        with self.stopwatch.phase("solve_s"):
            result = solve(self.problem, policy, self.settings.profile)
        plan = Plan.from_result(self.problem, result)
        return Solved(self, result, replace(plan, warnings=tuple(self.warnings)))


@dataclass(frozen=True)
class Solved:
    """A session with its answer.

    Attributes
    ----------
    session
        The session.
    result
        The answer in indices.
    plan
        The answer by name.
    """

    session: Session
    result: SolveResult
    plan: Plan

    def to_dict(self, *, timings: bool = False) -> dict[str, Any]:
        """Return the object that ``plan -o json`` prints.

        Parameters
        ----------
        timings
            Whether to add how long each phase took, which differs from run to run.
        """
        shown = {**self.plan.to_dict(), "rejected": self.session.rejected}
        return shown | ({"timings": self.session.stopwatch.seconds} if timings else {})


def _snapshot(inputs: Inputs, settings: SchedulerSettings) -> ClusterSnapshot:
    quota = settings.quota
    if quota is not None:
        # Whether trees count is told by the quotas themselves: a configuration has no word for it.
        trees = any(each.tree_id for each in inputs.cluster.elastic_quotas)
        quota = replace(quota, multi_tree=trees)
    return ClusterSnapshot.from_objects(
        inputs.cluster, settings=SnapshotSettings(quota, settings.match_policy)
    )


def parse_size(text: str) -> int:
    """Return a size such as ``1GiB``, ``500MB`` or ``1000000`` in bytes.

    Raises
    ------
    InvalidInputError
        If it is no size.

    Examples
    --------
    >>> parse_size("2KiB"), parse_size("3MB"), parse_size("5")
    (2048, 3000000, 5)
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise InvalidInputError(f"--max-input is {text!r}; expected bytes, such as 1GiB or 500MB.")
    number, unit, binary = match.groups()
    scale: int = (1024 if binary else 1000) ** _POWER.get(unit, 0)
    return int(number) * scale
