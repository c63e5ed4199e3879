"""The published figures that the `openb` benchmark prints beside its own."""

import csv
from pathlib import Path

import pytest

import datasets.openb

POINTS = (90, 95, 100, 110, 120, 130)
POLICIES = {"BestFit", "Clustering", "DotProd", "FGD", "Packing", "Random"}


@pytest.fixture(scope="module")
def allocated() -> dict[tuple[str, str], list[float]]:
    """Per cent allocated at each point, by trace and policy."""
    path = Path(datasets.openb.__file__).with_name("published_allocation.csv")
    with path.open(encoding="utf-8", newline="") as file:
        return {
            (row["trace"], row["policy"]): [float(row[f"allocated_at_{point}"]) for point in POINTS]
            for row in csv.DictReader(file)
        }


def test_every_trace_has_every_policy(allocated: dict[tuple[str, str], list[float]]) -> None:
    traces = {trace for trace, _ in allocated}
    assert allocated.keys() == {(trace, policy) for trace in traces for policy in POLICIES}


def test_more_arrivals_never_lower_what_is_allocated(
    allocated: dict[tuple[str, str], list[float]],
) -> None:
    assert all(values == sorted(values) for values in allocated.values())


def test_nobody_allocates_more_than_was_asked_for(
    allocated: dict[tuple[str, str], list[float]],
) -> None:
    # A pod arrives whole, so the share asked for may pass the point by one pod's cards.
    assert all(values[0] <= 90.2 and values[-1] <= 100 for values in allocated.values())


def test_fragmentation_gradient_descent_wins_at_full_load_everywhere(
    allocated: dict[tuple[str, str], list[float]],
) -> None:
    at_full = POINTS.index(100)
    for trace in {trace for trace, _ in allocated}:
        best = max(POLICIES, key=lambda policy: allocated[trace, policy][at_full])
        assert best == "FGD", trace
