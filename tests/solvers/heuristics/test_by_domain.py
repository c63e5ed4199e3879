"""Choosing by domain is choosing from all nodes, with the say of each domain on its nodes."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from koordopt.solvers.heuristics.by_domain import UNDECIDED, ByDomain
from koordopt.solvers.heuristics.domains import FEW, Domains
from koordopt.solvers.heuristics.filters.spread import SpreadFilter
from koordopt.solvers.heuristics.pipeline import Pipeline
from koordopt.solvers.heuristics.scores.pod_affinity import PodAffinityScore
from tests.builders import HOSTNAME, ZONE, class_index, make_node, make_pod, make_problem

WEIGHT = 3
DOMAINS = 3


class Allowing:
    """A filter with a fixed verdict."""

    def __init__(self, verdict):
        self._verdict = verdict

    def verdict(self, c):
        return list(self._verdict)


class Valuing(PodAffinityScore):
    """A score with fixed sums."""

    def __init__(self, values):
        self._values = values

    def values(self, c):
        return list(self._values)


bools = st.lists(st.booleans(), min_size=DOMAINS + 1, max_size=DOMAINS + 1)
sums = st.lists(st.integers(0, 4), min_size=DOMAINS + 1, max_size=DOMAINS + 1)


@given(st.data(), bools, bools, sums, st.booleans())
def test_the_best_node_is_that_of_the_whole_row(data, first, second, values, is_scored):
    """Domains in one run of nodes or in several, nodes without one, ties and full domains."""
    of_node = data.draw(st.lists(st.integers(-1, DOMAINS - 1), min_size=1, max_size=12))
    domain_of = np.array([*of_node, DOMAINS - 1])
    row = np.array(
        data.draw(st.lists(st.integers(0, 99), min_size=len(domain_of), max_size=len(domain_of))),
        dtype=np.int16,
    )
    score = Valuing(values)
    scores = ((score, WEIGHT),) if is_scored else ()
    choice = ByDomain(0, Domains(domain_of), (Allowing(first), Allowing(second)), scores)
    allowed = np.logical_and(first, second)[domain_of]
    feasible = allowed & (row > 0)
    total = row.astype(np.int64)
    if is_scored and feasible.any():
        known = sorted({int(d) for d in domain_of[feasible]})
        points = score.points([values[d] for d in known]) or [0] * len(known)
        of_domain = dict(zip(known, points, strict=True))
        total += WEIGHT * np.array([of_domain.get(int(d), 0) for d in domain_of])
    total *= feasible
    expected = int(total.argmax()) if feasible.any() else -1
    assert choice.best(row, is_filtered=True) == expected
    unfiltered = choice.best(row, is_filtered=False)
    assert unfiltered in ({expected, UNDECIDED} if is_scored else {expected})


def test_a_class_that_is_spread_over_zones_is_placed_by_zone():
    assert chooses_by_domain(zones=2, key=ZONE)


def test_a_class_that_is_spread_over_many_nodes_is_not():
    assert not chooses_by_domain(zones=FEW + 1, key=HOSTNAME)


def chooses_by_domain(zones, key):
    """Return whether a pod with a hard spread over ``key`` is placed by domain."""
    limit = {
        "maxSkew": 1,
        "topologyKey": key,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "a"}},
    }
    problem = make_problem(
        nodes=[make_node(f"n{k}", zone=f"z{k}") for k in range(zones)],
        pods=[make_pod("p", labels={"app": "a"}, topologySpreadConstraints=[limit])],
    )
    plugin = SpreadFilter(Pipeline(problem).state)
    return ByDomain.of(class_index(problem, "p"), [plugin], []) is not None
