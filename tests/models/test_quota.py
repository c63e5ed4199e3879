"""Sharing of capacity between quotas, changes of pods, and the arrays made of it all."""

import numpy as np
import pytest

from koordopt.errors import InvalidInputError
from koordopt.models.quota import (
    UNSET,
    QuotaForest,
    QuotaPod,
    QuotaSettings,
    QuotaSpec,
    quota_arrays,
)
from tests.models.quota_builders import GI, child, pending, running

SHARING = [
    # id, capacity, rows of (name, request, weight, min), keyword settings, runtimes
    ("EQ-R1", 100, [("a", 50, 40, 20), ("b", 50, 60, 30), ("c", 10, 50, 25)], {}, [40, 50, 10]),
    ("EQ-R2", 100, [("a", 80, 40, 20), ("b", 80, 60, 30), ("c", 10, 50, 25)], {}, [36, 54, 10]),
    ("EQ-R3", 100, [("a", 80, 40, 20), ("b", 40, 60, 30), ("c", 10, 50, 25)], {}, [50, 40, 10]),
    (
        "EQ-R4",
        100,
        [("a", 5, 40, 20), ("b", 90, 60, 30), ("c", 10, 50, 25)],
        {"keeps": {"a"}},
        [20, 70, 10],
    ),
    ("EQ-R5", 100, [("a", 90, 0, 20), ("b", 90, 60, 30)], {}, [20, 80]),
    ("EQ-R6", 100, [("a", 90, 0, 20), ("b", 50, 60, 30)], {}, [20, 50]),
    ("EQ-R7", 100, [("a", 90, 1, 20), ("b", 90, 1, 30), ("c", 90, 1, 20)], {}, [30, 40, 30]),
    ("EQ-R8", 40, [("a", 60, 40, 30), ("b", 60, 60, 30)], {"scale_min": False}, [30, 30]),
    ("EQ-R9", 40, [("a", 60, 40, 30), ("b", 60, 60, 30)], {}, [20, 20]),
    ("EQ-R11", 10, [("a", 10, 1, 0), ("b", 10, 1, 0), ("c", 10, 1, 0)], {}, [4, 3, 3]),
    ("EQ-R12", 11, [("a", 10, 1, 0), ("b", 10, 1, 0), ("c", 10, 1, 0)], {}, [4, 4, 3]),
    ("EQ-R13", 10, [("a", 10, 3, 0), ("b", 10, 2, 0), ("c", 10, 2, 0)], {}, [4, 3, 3]),
    ("EQ-R14", 100, [("a", 0, 1, 20), ("b", 0, 1, 20)], {}, [0, 0]),
    (
        "EQ-R15",
        120,
        [("a", 96, 40, 20), ("b", 40, 60, 40), ("c", 10, 50, 30), ("d", 100, 20, 10)],
        {},
        [47, 40, 10, 23],
    ),
    (
        "EQ-R16",
        96000,
        [("a", 96000, 60, 50000), ("b", 60000, 40, 20000), ("c", 20000, 20, 10000)],
        {},
        [58000, 25333, 12667],
    ),
    ("EQ-R17", 100, [("a", 30, 40, 40), ("b", 100, 60, 30)], {"keeps": {"a"}}, [40, 60]),
]


@pytest.mark.parametrize(
    ("capacity", "rows", "how", "runtimes"),
    [case[1:] for case in SHARING],
    ids=[case[0] for case in SHARING],
)
def test_capacity_is_shared(capacity, rows, how, runtimes):
    """Guarantees first, then the rest by weight up to what each asks for."""
    keeps = how.get("keeps", set())
    forest = QuotaForest(
        [child(n, weight=w, least=m, lends=n not in keeps) for n, _, w, m in rows],
        {"cpu": capacity},
        [pending(name, request) for name, request, _, _ in rows if request],
        QuotaSettings(scale_min=how.get("scale_min", True)),
    )
    assert [forest.runtime(name)["cpu"] for name, *_ in rows] == runtimes


def test_scaled_mins_replace_the_given_ones():
    """EQ-R9: mins of 30 and 30 in a capacity of 40 become 20 and 20."""
    forest = QuotaForest([child("a", least=30), child("b", least=30)], {"cpu": 40})
    assert [forest.scaled_min(name)["cpu"] for name in ("a", "b")] == [20, 20]


def test_guaranteed_usage_counts_as_min():
    """EQ-R10: what runs is guaranteed where the gate says so, and no min is lent."""
    forest = QuotaForest(
        [child("a", weight=50, least=20), child("b", weight=50, least=20)],
        {"cpu": 100},
        [running("a", 60), pending("a", 30), pending("b", 90)],
        QuotaSettings(guarantee_usage=True),
    )
    assert forest.state("a").guaranteed == {"cpu": 60}
    assert [forest.runtime(name)["cpu"] for name in ("a", "b")] == [70, 30]


def test_no_min_is_lent_where_usage_is_guaranteed():
    settings = QuotaSettings(guarantee_usage=True)
    specs = [child("a", least=20), child("b")]
    forest = QuotaForest(specs, {"cpu": 100}, [pending("b", 100)], settings)
    assert [forest.runtime(name)["cpu"] for name in ("a", "b")] == [20, 80]


def test_weight_of_nothing_is_the_max():
    """An all-zero list is no weight at all: shares follow the maxes, 20 to 60."""
    specs = [
        QuotaSpec(name="a", max={"cpu": 20}, shared_weight={"cpu": 0}),
        QuotaSpec(name="b", max={"cpu": 60}, shared_weight={}),
    ]
    forest = QuotaForest(specs, {"cpu": 40}, [pending("a", 99), pending("b", 99)])
    assert [forest.runtime(name)["cpu"] for name in ("a", "b")] == [10, 30]


def test_runtime_of_a_parent_is_the_capacity_of_its_children():
    """EQ-R18: two levels, requests going up and runtimes coming down."""
    forest = QuotaForest(
        [
            child("t1b", parent="t1", weight=1, least=20, most=60),
            child("t1a", parent="t1", weight=1, least=20, most=60),
            child("t2", weight=40, least=40, most=60),
            child("t1", weight=60, least=40, most=100, is_parent=True),
        ],
        {"cpu": 100},
        [pending("t1a", 50), pending("t1b", 10), pending("t2", 100)],
    )
    assert forest.state("t1").request == {"cpu": 60}
    assert forest.state("t2").limited_request == {"cpu": 60}
    runtimes = {name: forest.runtime(name)["cpu"] for name in ("t1", "t2", "t1a", "t1b")}
    assert runtimes == {"t1": 52, "t2": 48, "t1a": 42, "t1b": 10}


def test_parent_sees_a_request_only_up_to_max():
    """EQ-R19: of a request of 30 under a max of 10, ten propagate."""
    forest = QuotaForest(
        [child("p", is_parent=True), child("q", parent="p", most=10)],
        {"cpu": 100},
        [pending("q", 30)],
    )
    assert forest.state("q").request == {"cpu": 30}
    assert forest.state("p").child_request == {"cpu": 10}


def test_mins_are_scaled_in_proportion():
    """EQ-R20: mins 40, 40, 20 in a capacity of 50 become 20, 20, 10."""
    forest = QuotaForest(
        [child("a", least=40), child("b", least=40), child("c", least=20)], {"cpu": 50}
    )
    assert [forest.scaled_min(name)["cpu"] for name in "abc"] == [20, 20, 10]


def test_quota_that_keeps_its_min_reserves_it_without_pods():
    forest = QuotaForest(
        [child("a", least=40, lends=False), child("b")], {"cpu": 100}, [pending("b", 100)]
    )
    assert forest.state("a").request == {"cpu": 40}
    assert forest.runtime("b") == {"cpu": 60}


def test_pod_that_cannot_be_replaced_stays_as_it_was():
    forest = QuotaForest([child("q")], {"cpu": 10}, [running("q", 3)])
    with pytest.raises(InvalidInputError, match="quota 'ghost' does not exist"):
        forest.replace_pod(QuotaPod(name="q/running", quota="ghost", request={"cpu": 1}))
    assert forest.used("q") == {"cpu": 3}


def test_more_nodes_raise_the_runtime():
    forest = QuotaForest([child("q")], {"cpu": 10}, [pending("q", 30)])
    assert forest.runtime("q") == {"cpu": 10}
    forest.set_total({"cpu": 25})
    assert forest.runtime("q") == {"cpu": 25}


@pytest.mark.parametrize(
    ("pod", "message"),
    [
        (pending("ghost", 1), "quota 'ghost' does not exist"),
        (pending("q", 1, "known"), "pod q/known is already counted in quota q"),
        (pending("q", -1), "request of pod q/pending has cpu = -1; expected"),
    ],
)
def test_wrong_pod_is_refused(pod, message):
    forest = QuotaForest([child("q")], {"cpu": 10}, [pending("q", 3, "known")])
    with pytest.raises(InvalidInputError, match=message):
        forest.add_pod(pod)
    assert list(forest.pods) == ["q/known"]


def test_unknown_pod_and_tree_are_refused():
    forest = QuotaForest([], {"cpu": 10})
    with pytest.raises(InvalidInputError, match="pod ns/ghost is not counted"):
        forest.remove_pod("ns/ghost")
    with pytest.raises(InvalidInputError, match="tree 'ghost' has no quota"):
        forest.root_state("ghost")


def test_arrays_say_the_same_as_the_forest():
    forest = QuotaForest(
        [
            child("p", least=5, most=20, is_parent=True),
            QuotaSpec(name="q", parent="p", min={"cpu": 2}, max={"cpu": 20, "gpu": 4}),
        ],
        {"cpu": 10, "memory": GI, "gpu": 8},
        [
            running("q", 3, is_preemptible=False),
            QuotaPod(name="q/b", quota="q", request={"cpu": 9, "memory": 5, "gpu": 9}),
        ],
    )
    arrays = quota_arrays(forest, ("cpu", "memory", "gpu"))
    p, q = arrays.index["p"], arrays.index["q"]
    assert arrays.parent[[p, q]].tolist() == [-1, p]
    assert arrays.chains[q] == (q, p)
    assert arrays.limit[[p, q]].tolist() == [[10, UNSET, UNSET], [10, UNSET, 4]]
    assert arrays.minimum[[p, q]].tolist() == [[5, UNSET, UNSET], [2, UNSET, UNSET]]
    assert arrays.guaranteed[[p, q]].tolist() == [[5, 0, 0], [2, 0, 0]]
    assert arrays.used[[p, q]].tolist() == [[3, 0, 0], [3, 0, 0]]
    assert arrays.non_preemptible_used[[p, q]].tolist() == [[3, 0, 0], [3, 0, 0]]
    assert arrays.counted[q].tolist() == [True, False, True]
    assert arrays.limit.dtype == np.int64
    with pytest.raises(ValueError, match="read-only"):
        arrays.limit[0, 0] = 1


def test_arrays_cut_amounts_that_limit_nothing():
    arrays = quota_arrays(QuotaForest([child("q", most=1 << 70)], {"cpu": 1 << 70}), ("cpu",))
    assert arrays.limit[arrays.index["q"], 0] == 0  # nobody asks
    forest = QuotaForest(
        [child("q", most=1 << 70)], {"cpu": 1}, settings=QuotaSettings(enable_runtime=False)
    )
    assert quota_arrays(forest, ("cpu",)).limit.max() == UNSET
