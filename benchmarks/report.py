"""What a run of the suite prints: a JSON object for programs, a table for people."""

import json
import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from benchmarks.registry import Row, Size

CHECKOUT = Path(__file__).resolve().parent.parent

# Distributions whose version can change a figure.
MEASURED_WITH = ("koordopt", "numpy", "scipy", "ortools", "msgspec", "pydantic", "joblib")


@dataclass(frozen=True, kw_only=True)
class Report:
    """The rows of one run, and all that is needed to read them elsewhere.

    Attributes
    ----------
    benchmark, size
        What was run.
    workers
        Processes or threads that decide.
    limits
        What ends a decision early, by name.
    rows
        The figures, in the order of the benchmark.
    """

    benchmark: str
    size: Size
    workers: int
    limits: Mapping[str, float]
    rows: Sequence[Row]

    def to_json(self) -> str:
        """Return the report as one JSON object."""
        return json.dumps(
            {
                "benchmark": self.benchmark,
                "size": self.size,
                "commit": commit(),
                "versions": versions(),
                "machine": machine(),
                "workers": self.workers,
                "limits": dict(self.limits),
                "rows": [row_object(row) for row in self.rows],
            },
            indent=2,
            allow_nan=False,
        )

    def to_table(self) -> str:
        """Return the report as aligned text, with where it was measured above the rows."""
        where = machine()
        limits = ", ".join(f"{name} {value:g}" for name, value in self.limits.items()) or "none"
        head = (
            f"{self.benchmark}, size {self.size}, commit {commit() or 'unknown'}\n"
            f"{where['cpu']}, {where['cores']} cores; workers {self.workers}; limits: {limits}\n"
            + ", ".join(f"{name} {version}" for name, version in versions().items())
        )
        return f"{head}\n\n{_aligned([_cells(row) for row in self.rows])}"


def misses(rows: Sequence[Row]) -> list[str]:
    """Return one line for each row that misses its aim."""
    return [
        f"{row.case}, {row.metric}: {row.ours:.6g} {row.unit}".rstrip()
        + f"; the aim is {row.aim.op} {row.aim.value:.6g}."
        for row in rows
        if row.aim is not None and not row.holds
    ]


def row_object(row: Row) -> dict[str, Any]:
    """Return `row` as it stands in the JSON; ``spread`` only where there are several seeds."""
    entry: dict[str, Any] = {
        "case": row.case,
        "metric": row.metric,
        "unit": row.unit,
        "better": row.better,
        "ours": row.ours,
        "baselines": dict(row.baselines),
        "bound": row.bound,
        "aim": None if row.aim is None else asdict(row.aim),
        "holds": row.holds,
        "clock": row.clock,
    }
    if row.spread is not None:
        entry["spread"] = asdict(row.spread)
    return entry


def commit() -> str | None:
    """Return the commit measured, marked ``-dirty`` if files differ; None outside Git."""
    state = _git("describe", "--always", "--abbrev=40", "--dirty", "--exclude=*")
    return state or None


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that decide the figures."""
    found = {"python": platform.python_version()}
    for name in MEASURED_WITH:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def machine() -> dict[str, str | int]:
    """Return processor, usable cores, memory in bytes and system."""
    return {
        "cpu": _cpu_model(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "system": platform.platform(),
    }


def _git(*arguments: str) -> str:
    try:
        done = subprocess.run(
            ["git", "-C", str(CHECKOUT), *arguments], capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _cpu_model() -> str:
    description = Path("/proc/cpuinfo")
    if description.exists():
        for line in description.read_text(encoding="utf-8").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.machine()


def _cells(row: Row) -> dict[str, str]:
    baselines = ", ".join(f"{name} {_figure(value)}" for name, value in row.baselines.items())
    spread = "" if row.spread is None else f"{row.spread.least:.6g} to {row.spread.most:.6g}"
    return {
        "case": row.case,
        "metric": row.metric,
        "ours": f"{row.ours:.6g} {row.unit}".rstrip(),
        "spread": spread,
        "bound": "" if row.bound is None else f"{row.bound:.6g}",
        "aim": "" if row.aim is None else f"{row.aim.op} {row.aim.value:.6g}",
        "holds": {None: "", True: "yes", False: "NO"}[row.holds],
        "baselines": baselines,
    }


def _figure(value: float | None) -> str:
    return "not installed" if value is None else f"{value:.6g}"


def _aligned(rows: Sequence[Mapping[str, str]]) -> str:
    if not rows:
        return "no rows"
    # A column that says nothing in any row is left out; the first row has the titles.
    titles = [title for title in rows[0] if any(row[title] for row in rows)]
    lines = [titles, *([row[title] for title in titles] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )
