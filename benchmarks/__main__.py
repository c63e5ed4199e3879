"""``python -m benchmarks``: run a benchmark and print its figures beside the baselines'.

Exit status: 0 done, 1 ``--check`` found a row that misses its aim, 2 the words are wrong, 3 a
data set is not on this machine (with ``all`` the benchmark is left out and named instead).
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace

from benchmarks.registry import BENCHMARKS, Benchmark, Row, Size, select
from benchmarks.report import Report, misses
from koordopt.errors import InvalidInputError


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    names = "\n".join(f"  {entry.name:<12}{entry.summary}" for entry in BENCHMARKS.values())
    words = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Run a benchmark and print its figures beside the baselines'.",
        epilog=f"benchmarks:\n{names}\n  {'all':<12}every one of them",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    words.add_argument("name", metavar="NAME", help="a benchmark, or all")
    words.add_argument(
        "--size",
        choices=("smoke", "full"),
        default="smoke",
        help="smoke ends in seconds, full in minutes (default: smoke)",
    )
    words.add_argument("--seeds", type=int, metavar="N", help="number of seeds (default: by size)")
    words.add_argument("--check", action="store_true", help="exit 1 if a row misses its aim")
    words.add_argument(
        "--no-clock", action="store_true", help="leave out the rows that time decides"
    )
    words.add_argument("-o", "--output", choices=("table", "json"), default="table")
    return words


def run(
    chosen: Sequence[Benchmark], size: Size, seeds: int | None, *, may_skip: bool
) -> tuple[list[Row], list[str]]:
    """Return the rows of the benchmarks, and a line for each one left out.

    With several benchmarks each case is preceded by the name of its own.

    Raises
    ------
    FileNotFoundError
        If a data set is missing and `may_skip` is false.
    """
    rows: list[Row] = []
    left_out: list[str] = []
    for benchmark in chosen:
        try:
            found = benchmark.run(size, seeds)
        except FileNotFoundError as missing:
            if not may_skip:
                raise
            left_out.append(f"{benchmark.name} is left out: {missing}")
            continue
        if may_skip:
            found = [replace(row, case=f"{benchmark.name}/{row.case}") for row in found]
        rows.extend(found)
    return rows, left_out


def report(name: str, chosen: Sequence[Benchmark], size: Size, rows: Sequence[Row]) -> Report:
    """Return the report over `rows`; limits of several benchmarks carry their names."""
    if len(chosen) == 1:
        limits = dict(chosen[0].limits)
    else:
        limits = {
            f"{benchmark.name}/{limit}": value
            for benchmark in chosen
            for limit, value in benchmark.limits.items()
        }
    workers = max(benchmark.workers for benchmark in chosen)
    return Report(benchmark=name, size=size, workers=workers, limits=limits, rows=rows)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    words = parser().parse_args(arguments)
    try:
        if words.seeds is not None and words.seeds < 1:
            raise InvalidInputError(f"--seeds is {words.seeds}; expected at least 1.")
        chosen = select(words.name)
        rows, left_out = run(chosen, words.size, words.seeds, may_skip=words.name == "all")
    except InvalidInputError as mistake:
        sys.stderr.write(f"{mistake}\n")
        return 2
    except FileNotFoundError as missing:
        sys.stderr.write(f"{words.name} cannot run: {missing}\n")
        return 3
    if words.no_clock:
        rows = [row for row in rows if not row.clock]
    printed = report(words.name, chosen, words.size, rows)
    sys.stdout.write(printed.to_json() if words.output == "json" else printed.to_table())
    sys.stdout.write("\n")
    missed = misses(rows) if words.check else []
    for line in left_out + missed:
        sys.stderr.write(f"{line}\n")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
