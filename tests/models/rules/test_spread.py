"""Topology spread: the smallest clusters on which it decides."""

import pytest

from tests.agreement import feasible_nodes, violations_of
from tests.builders import HOSTNAME, ZONE, make_node, make_pod, make_problem

WEB = {"app": "web"}


def constraint(**changes):
    return {
        "topologyKey": ZONE,
        "maxSkew": 1,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": WEB},
        **changes,
    }


def two_zones(*pods, extra=()):
    return make_problem([make_node("a", zone="za"), make_node("b", zone="zb"), *extra], pods)


def incoming(name="p", labels=WEB, **changes):
    return make_pod(name, labels=labels, topologySpreadConstraints=[constraint(**changes)])


def test_a_domain_within_the_skew_is_open():
    problem = two_zones(incoming())
    assert feasible_nodes(problem, "p") == {"a", "b"}


def test_a_domain_beyond_the_skew_is_closed():
    problem = two_zones(make_pod("old", node="a", labels=WEB), incoming())
    assert feasible_nodes(problem, "p") == {"b"}
    assert [v.rule for v in violations_of(problem, p="a")] == ["topology-spread"]
    assert violations_of(problem, p="b") == []


def test_pods_are_judged_in_the_order_in_which_they_are_bound():
    """What is legal when it happens stays legal, and what is not is found at that pod."""
    problem = two_zones(incoming("p"), incoming("q"))
    assert violations_of(problem, p="a", q="b") == []
    assert [v.object for v in violations_of(problem, p="a", q="a")] == ["default/q"]


def test_an_empty_selector_counts_the_pod_alone():
    """Nobody else is counted, so every domain stays at one, whatever runs there."""
    crowd = [make_pod(f"old{k}", node="a", labels=WEB) for k in range(3)]
    assert feasible_nodes(two_zones(*crowd, incoming(labelSelector={})), "p") == {"a", "b"}


def test_terminating_pods_are_not_counted():
    old = make_pod("old", node="a", labels=WEB, is_deleted=True)
    assert feasible_nodes(two_zones(old, incoming()), "p") == {"a", "b"}


def test_pods_of_other_namespaces_are_not_counted():
    old = make_pod("old", node="a", namespace="other", labels=WEB)
    assert feasible_nodes(two_zones(old, incoming()), "p") == {"a", "b"}


def test_a_node_without_the_key_is_closed():
    problem = two_zones(incoming(), extra=[make_node("c")])
    assert feasible_nodes(problem, "p") == {"a", "b"}


def test_a_node_that_lacks_one_key_is_ignored_for_all_of_them():
    """The only zone with no pods is on a node without a rack, so it does not set the minimum."""
    nodes = [
        make_node("a", zone="za", labels={"rack": "1"}),
        make_node("b", zone="zb"),
    ]
    pod = make_pod(
        "p",
        labels=WEB,
        topologySpreadConstraints=[constraint(), constraint(topologyKey="rack", maxSkew=5)],
    )
    old = make_pod("old", node="a", labels=WEB)
    assert feasible_nodes(make_problem(nodes, [old, pod]), "p") == {"a"}


@pytest.mark.parametrize(("domains", "expected"), [(2, {"a", "b"}), (3, set())])
def test_too_few_domains_put_the_minimum_at_zero(domains, expected):
    olds = [make_pod(f"old{k}", node=node, labels=WEB) for k, node in enumerate("ab")]
    problem = two_zones(*olds, incoming(minDomains=domains))
    assert feasible_nodes(problem, "p") == expected


def test_a_domain_that_policies_exclude_counts_zero():
    """Its pods do not count, and it does not set the minimum; pods that tolerate it may enter."""
    taint = {"key": "k", "value": "v", "effect": "NoSchedule"}
    nodes = [make_node("a", zone="za"), make_node("b", zone="zb", taints=[taint])]
    olds = [make_pod("old", node="a", labels=WEB)]
    ignoring = make_problem(nodes, [*olds, incoming()])
    honouring = make_problem(nodes, [*olds, incoming(nodeTaintsPolicy="Honor")])
    assert feasible_nodes(ignoring, "p") == set()
    assert feasible_nodes(honouring, "p") == {"a"}


def test_affinity_policy_decides_whether_nodes_ruled_out_are_counted():
    nodes = [make_node("a", zone="za", labels={"disk": "ssd"}), make_node("b", zone="zb")]
    old = make_pod("old", node="a", labels=WEB)

    def problem(policy):
        pod = make_pod(
            "p",
            labels=WEB,
            nodeSelector={"disk": "ssd"},
            topologySpreadConstraints=[constraint(nodeAffinityPolicy=policy)],
        )
        return make_problem(nodes, [old, pod])

    assert feasible_nodes(problem("Honor"), "p") == {"a"}
    assert feasible_nodes(problem("Ignore"), "p") == set()


@pytest.mark.parametrize("with_revision", [False, True])
def test_rolling_update_counts_old_pods_unless_the_revision_is_a_key(with_revision):
    """Old 2/1 and three new ones at skew 2: all in one zone is legal only without the key."""
    changes = {"matchLabelKeys": ["rev"]} if with_revision else {}
    olds = [
        make_pod(f"old{k}", node=node, labels={**WEB, "rev": "1"}) for k, node in enumerate("aab")
    ]
    news = [incoming(f"new{k}", {**WEB, "rev": "2"}, maxSkew=2, **changes) for k in range(3)]
    problem = two_zones(*olds, *news)
    faults = violations_of(problem, new0="b", new1="b", new2="b")
    assert [v.object for v in faults] == (["default/new2"] if with_revision else [])


def test_soft_host_name_spread_counts_the_pods_of_the_node_itself():
    """Two nodes that share a host name are still counted apart, as a preference."""
    nodes = [make_node("a", labels={HOSTNAME: "x"}), make_node("b", labels={HOSTNAME: "x"})]
    pod = incoming(topologyKey=HOSTNAME, whenUnsatisfiable="ScheduleAnyway")
    problem = make_problem(nodes, [make_pod("old", node="a", labels=WEB), pod])
    (wish,) = problem.spread[int(problem.snapshot.pods.class_of[problem.pending[0]])].soft
    assert problem.counters[wish.counter].base.tolist() == [1, 0]
