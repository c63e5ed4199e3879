"""Which quota a pod belongs to, and trees that contradict themselves."""

import pytest

from koordopt.models.quota import (
    QuotaForest,
    QuotaResolver,
    QuotaSettings,
    QuotaSpec,
)
from tests.models.quota_builders import DEFAULT, GI, PLENTY, SYSTEM, child, pending, running

RESOLUTION = [
    ("EQ-A8", [QuotaSpec(name="q")], "ghost", "ns1", DEFAULT),
    ("EQ-A9", [QuotaSpec(name="ns1", namespace="ns1")], "", "ns1", "ns1"),
    ("EQ-A10", [QuotaSpec(name="X", bound_namespaces=("ns1",))], "", "ns1", "X"),
    ("label wins", [QuotaSpec(name="ns1", namespace="ns1"), QuotaSpec(name="q")], "q", "ns1", "q"),
    ("name needs its namespace", [QuotaSpec(name="ns1", namespace="other")], "", "ns1", DEFAULT),
    (
        "own name before a binding",
        [QuotaSpec(name="X", bound_namespaces=("ns1",)), QuotaSpec(name="ns1", namespace="ns1")],
        "",
        "ns1",
        "ns1",
    ),
    (
        "unknown label does not fall through",
        [QuotaSpec(name="ns1", namespace="ns1")],
        "ghost",
        "ns1",
        DEFAULT,
    ),
    (
        "namespace of a parent",
        [QuotaSpec(name="ns1", namespace="ns1", is_parent=True)],
        "",
        "ns1",
        DEFAULT,
    ),
    (
        "bound to a parent",
        [QuotaSpec(name="X", bound_namespaces=("ns1",), is_parent=True)],
        "",
        "ns1",
        DEFAULT,
    ),
    ("parent named outright", [QuotaSpec(name="X", is_parent=True)], "X", "ns1", "X"),
    ("built in", [], SYSTEM, "ns1", SYSTEM),
    ("nobody may name the root", [], "koordinator-root-quota", "ns1", DEFAULT),
]


@pytest.mark.parametrize(
    ("specs", "label", "namespace", "quota"),
    [case[1:] for case in RESOLUTION],
    ids=[case[0] for case in RESOLUTION],
)
def test_quota_of_a_pod(specs, label, namespace, quota):
    assert QuotaResolver(specs).quota_of(label, namespace) == quota


def test_without_the_default_quota_only_the_label_counts():
    resolver = QuotaResolver([QuotaSpec(name="ns1", namespace="ns1")], use_default=False)
    assert resolver.quota_of("ns1", "elsewhere") == "ns1"
    assert resolver.quota_of("", "ns1") is None
    assert resolver.quota_of("ghost", "ns1") is None


def rules(forest):
    return [(warning.rule, warning.quota) for warning in forest.warnings]


def test_missing_parent_is_replaced_by_the_root():
    forest = QuotaForest([child("q", parent="ghost", most=10)], {"cpu": 100})
    assert forest.chain("q") == ("q",)
    assert rules(forest) == [("parent-missing", "q")]


def test_cycle_is_cut_above_its_first_name():
    specs = [child("b", parent="a"), child("c", parent="b"), child("a", parent="c")]
    forest = QuotaForest(specs, {"cpu": 10}, [pending("c", 4)])
    assert forest.chain("c") == ("c", "b", "a")
    assert ("cycle", "a") in rules(forest)
    assert forest.runtime("c") == {"cpu": 4}


def test_quota_that_is_its_own_parent_hangs_under_the_root():
    forest = QuotaForest([child("a", parent="a")], {"cpu": 10})
    assert forest.chain("a") == ("a",)
    assert ("cycle", "a") in rules(forest)


def test_duplicate_name_counts_once():
    specs = [child("q", most=7, namespace="b"), child("q", most=5, namespace="a")]
    forest = QuotaForest(specs, {"cpu": 10})
    assert forest.spec("q").max == {"cpu": 5}
    assert rules(forest) == [("duplicate", "q")]


def test_contradictions_are_told_with_both_names_and_both_numbers():
    forest = QuotaForest(
        [
            QuotaSpec(name="p", is_parent=True, max={"cpu": 1000, "memory": 4}),
            QuotaSpec(
                name="q",
                parent="p",
                min={"cpu": 2000, "memory": 4 * GI},
                max={"cpu": 1500, "memory": 4},
            ),
        ],
        {"cpu": 1000},
    )
    assert [warning.message for warning in forest.warnings] == [
        "cpu: mins 2 (q) > min 0 (unset, treated as 0) of their parent p",
        "memory: mins 4Gi (q) > min 0 (unset, treated as 0) of their parent p",
        "cpu: max 1500m of q > max 1 of its parent p",
        "cpu: min 2 > max 1500m of q",
        "memory: min 4Gi > max 4 (bytes) of q",
    ]


def test_namespace_bound_twice_goes_to_the_first_name():
    specs = [
        QuotaSpec(name="b", bound_namespaces=("ns1",)),
        QuotaSpec(name="a", bound_namespaces=("ns1",)),
    ]
    assert rules(QuotaForest(specs, {})) == [("bound-twice", "b")]
    assert QuotaResolver(specs).quota_of("", "ns1") == "a"


def test_tree_without_capacity_or_with_two_roots_is_told():
    def root(name, cpu):
        return child(name, tree_id="t2", is_root=True, total_resource={"cpu": cpu})

    specs = [child("q", tree_id="t1"), root("r2", 5), root("r1", 7)]
    forest = QuotaForest(specs, {"cpu": 10}, settings=QuotaSettings(multi_tree=True))
    assert rules(forest) == [("tree-without-root", "q"), ("second-root", "r2")]
    assert (forest.capacity("t1"), forest.capacity("t2")) == ({}, {"cpu": 7})


def test_negative_amounts_count_as_zero():
    forest = QuotaForest([child("q", least=-1, most=-5)], {"cpu": 10}, [pending("q", 3)])
    assert forest.state("q").limited_request == {"cpu": 0}
    assert rules(forest) == [("negative", "q"), ("negative", "q")]


def test_trees_own_what_their_roots_bring():
    def tree(name, cpu, **kwargs):
        return QuotaSpec(
            name=f"root-{name}",
            is_root=True,
            is_parent=True,
            tree_id=name,
            max={"cpu": PLENTY},
            total_resource={"cpu": cpu},
            **kwargs,
        )

    specs = [
        tree("t1", 30),
        tree("t2", 20, ignore_default_tree=True),
        child("q1", parent="root-t1", tree_id="t1"),
        child("q0"),
        child("stray", parent="root-t1", tree_id="t2"),
    ]
    pods = [pending("q1", 50), pending("q0", 500)]
    forest = QuotaForest(specs, {"cpu": 100}, pods, QuotaSettings(multi_tree=True))
    assert [forest.capacity(tree) for tree in ("", "t1", "t2")] == [
        {"cpu": 70},
        {"cpu": 30},
        {"cpu": 20},
    ]
    assert (forest.runtime("q1"), forest.runtime("q0")) == ({"cpu": 30}, {"cpu": 70})
    assert rules(forest) == [("parent-in-other-tree", "stray")]
    together = QuotaForest(specs, {"cpu": 100}, pods)
    assert together.capacity() == {"cpu": 100}


def test_deep_tree_is_computed():
    """A chain of 3,000 quotas is no deeper than Python allows calls to nest."""
    specs = [child(f"q{i:04}", parent=f"q{i - 1:04}" if i else "") for i in range(3000)]
    forest = QuotaForest(specs, {"cpu": 10}, [running("q2999", 4)])
    assert forest.runtime("q2999") == {"cpu": 4}
    assert forest.used("q0000") == {"cpu": 4}
