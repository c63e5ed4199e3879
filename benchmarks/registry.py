"""What a benchmark is, what it reports, and the list of those there are."""

import importlib
import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from datasets.fetch import require
from koordopt.errors import InvalidInputError

Size = Literal["smoke", "full"]


@dataclass(frozen=True)
class Aim:
    """The value that a figure must reach.

    Attributes
    ----------
    op
        ``<=`` or ``>=``: on which side of `value` the figure must be.
    value
        In the unit of the row; computed from the same run where the aim is relative.
    """

    op: Literal["<=", ">="]
    value: float

    def holds(self, figure: float) -> bool:
        """Tell whether `figure` reaches the aim."""
        return figure <= self.value if self.op == "<=" else figure >= self.value


@dataclass(frozen=True)
class Spread:
    """The range of a figure over several seeds, in the unit of the row."""

    least: float
    median: float
    most: float

    @classmethod
    def over(cls, figures: Sequence[float]) -> "Spread":
        """Return the spread of `figures`, one for each seed.

        Examples
        --------
        >>> Spread.over([3.0, 1.0, 2.0])
        Spread(least=1.0, median=2.0, most=3.0)
        """
        return cls(min(figures), statistics.median(figures), max(figures))


@dataclass(frozen=True, kw_only=True)
class Row:
    """One figure of a benchmark, beside those of its baselines on the same input.

    Attributes
    ----------
    case
        The instance or instance class, such as ``default/online``.
    metric, unit
        What is measured, and in what; ``unit`` is empty for a bare number.
    better
        Which direction is an improvement.
    ours
        koordopt's figure: the mean where there are several seeds.
    baselines
        Name to figure, from the same run; None for a peer that is not installed.
    bound
        What no method can pass on this input; None where no bound is proven.
    aim
        What the figure must reach; None where no aim is set for this size.
    clock
        True where time decides the figure, so that a busy machine changes it.
    spread
        The range over the seeds; None for a single run.

    Raises
    ------
    InvalidInputError
        If a figure is not finite: it would have no meaning and no JSON.
    """

    case: str
    metric: str
    unit: str
    better: Literal["lower", "higher"]
    ours: float
    baselines: Mapping[str, float | None] = field(default_factory=dict)
    bound: float | None = None
    aim: Aim | None = None
    clock: bool = False
    spread: Spread | None = None

    def __post_init__(self) -> None:
        figures = {"ours": self.ours, "bound": self.bound, **self.baselines}
        for name, figure in figures.items():
            if figure is not None and not math.isfinite(figure):
                raise InvalidInputError(
                    f"{self.case}, {self.metric}: {name} is {figure}; expected a finite number."
                )

    @property
    def holds(self) -> bool | None:
        """Whether the aim is reached; None without an aim."""
        return None if self.aim is None else self.aim.holds(self.ours)


Runner = Callable[[Size, int | None], list[Row]]


@dataclass(frozen=True)
class Benchmark:
    """A named benchmark; its module is imported when it runs, not when it is listed.

    Attributes
    ----------
    name
        The word on the command line.
    summary
        One line for the list of benchmarks.
    module
        Module with ``run(size, seeds) -> list[Row]``; `seeds` None means the size's own number.
    data
        The data set that it reads from outside the checkout; None for one that needs no other.
    workers
        Processes or threads that decide.
    limits
        What ends a decision early, by name; empty where nothing does.
    """

    name: str
    summary: str
    module: str
    data: str | None = None
    workers: int = 1
    limits: Mapping[str, float] = field(default_factory=dict)

    def run(self, size: Size, seeds: int | None = None) -> list[Row]:
        """Return the rows of one run.

        Raises
        ------
        FileNotFoundError
            If the data set that the benchmark needs is not on this machine.
        """
        if self.data is not None:
            require(self.data)
        module: Any = importlib.import_module(self.module)
        return cast(Runner, module.run)(size, seeds)


BENCHMARKS: Mapping[str, Benchmark] = {
    benchmark.name: benchmark
    for benchmark in (
        Benchmark(
            "openb",
            "share of a production cluster's GPUs allocated as work arrives, default profile",
            "benchmarks.quality.openb",
            data="openb",
        ),
        Benchmark(
            "throughput",
            "greedy decisions a second in memory, bookkeeping included",
            "benchmarks.speed.throughput",
        ),
    )
}


def select(name: str) -> list[Benchmark]:
    """Return the benchmark called `name`, or every one for ``all``.

    Raises
    ------
    InvalidInputError
        If there is no such benchmark.
    """
    if name == "all":
        return list(BENCHMARKS.values())
    if name not in BENCHMARKS:
        known = ", ".join([*BENCHMARKS, "all"])
        raise InvalidInputError(f"there is no benchmark {name!r}; expected one of {known}.")
    return [BENCHMARKS[name]]
