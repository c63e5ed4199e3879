"""What the change log tells a reader, however far behind, is what the cluster has now."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from koordopt.solvers.heuristics.changes import ChangeLog
from koordopt.solvers.heuristics.domains import FEW, Domains

NODES = 6


@given(st.lists(st.tuples(st.integers(0, NODES - 1), st.booleans()), max_size=400))
def test_a_reader_that_applies_the_log_has_what_is_now(steps):
    """Whether it reads after every change or after many, in the log or over all nodes."""
    changes = ChangeLog(NODES)
    pairs = changes.track(np.zeros((NODES, 2), dtype=np.int64))
    flags = changes.track(np.zeros(NODES, dtype=np.bool_))
    copy, seen = np.zeros((NODES, 3), dtype=np.int64), 0
    for k, (n, reads) in enumerate(steps, 1):
        pairs.now[n] = (k, -k)
        flags.now[n] = k % 2
        changes.note(n)
        assert changes.last == n
        if not reads:
            continue
        part = changes.since(seen)
        nodes = slice(None) if part is None else changes.nodes(seen)
        copy[nodes, :2] = pairs.of(part)
        copy[nodes, 2] = flags.of(part)
        seen = changes.length
        assert copy[:, :2].tolist() == pairs.now.tolist()
        assert copy[:, 2].tolist() == flags.now.tolist()


def test_a_reader_far_behind_is_sent_to_all_nodes():
    changes = ChangeLog(NODES)
    for n in range(NODES):
        changes.note(n)
    assert changes.since(0) is None
    assert changes.since(NODES - 1) == slice(NODES - 1, NODES)


def test_a_track_gives_nodes_by_index():
    track = ChangeLog(3).track(np.array([[1, 2], [3, 4], [5, 6]]))
    assert track.of(np.array([2, 0])).tolist() == [[5, 6], [1, 2]]


@pytest.mark.parametrize("count", [3, FEW + 1])
def test_a_verdict_on_domains_reaches_their_nodes(count):
    """Neighbours or not, many domains or few; and nodes that have none."""
    domain_of = np.array([*range(count), -1, 0, 0, 2])
    domains = Domains(domain_of)
    verdict = np.arange(count) % 2 == 0
    for without in (True, False):
        expected = [without if d < 0 else bool(verdict[d]) for d in domain_of.tolist()]
        assert domains.over(verdict, without=without).tolist() == expected
        assert domains.over(verdict, without=without).tolist() == expected
    scores = (*range(10, 10 + count), 7)
    assert domains.scores_over(scores).tolist() == [scores[d] for d in domain_of.tolist()]


@pytest.mark.parametrize("count", [3, FEW + 1])
def test_domains_of_nodes(count):
    domain_of = np.array([*range(count), -1, 0, 0, 2])
    nodes = np.zeros(len(domain_of), dtype=np.bool_)
    nodes[[1, count, count + 3]] = True
    found = Domains(domain_of).of_nodes(nodes)
    assert np.flatnonzero(found).tolist() == [1, 2, count]


def test_no_nodes_have_no_domains():
    empty = Domains(np.zeros(0, dtype=np.int64))
    assert empty.of_nodes(np.zeros(0, dtype=np.bool_)).tolist() == [False]
    assert empty.over(np.zeros(0, dtype=np.bool_), without=True).tolist() == []
