"""The greedy scores on clusters small enough to reckon by hand."""

import math

import numpy as np
import pytest

from koordopt.solvers.heuristics.pipeline import Pipeline
from koordopt.solvers.heuristics.profile import Profile
from koordopt.solvers.heuristics.scores.images import normalised_name
from koordopt.solvers.heuristics.scores.normalised import NodeAffinityScore, TaintScore
from tests.builders import (
    GIB,
    HOSTNAME,
    MIB,
    ZONE,
    class_index,
    make_device,
    make_node,
    make_pod,
    make_problem,
)

WEB = {"app": "web"}


def scores_of(problem, name, pod="p", feasible=None):
    """Return the say of one score about a pod, by node; None for no say."""
    pipeline = Pipeline(problem, Profile(weights={name: 1}))
    c = class_index(problem, pod)
    if name == "ImageLocality":
        found = pipeline.plugins.fixed_score(c)
    elif pipeline.plugins.global_scores:
        ((plugin, _),) = pipeline.plugins.global_scores
        found = plugin.scores(c, pipeline.feasible(c) if feasible is None else feasible)
    elif not pipeline.plugins.local_scores:
        found = None
    else:
        ((plugin, _),) = pipeline.plugins.local_scores
        bound = plugin.bind(c)
        found = None if bound is None else bound.many(None)
    if found is None:
        return None
    return dict(zip(problem.snapshot.nodes.names, found.tolist(), strict=True))


def soft(key):
    return {"key": key, "effect": "PreferNoSchedule"}


def test_soft_taints_are_scored_against_the_worst_node():
    nodes = [
        make_node("a"),
        make_node("b", taints=[soft("x")]),
        make_node("c", taints=[soft("x"), soft("y"), soft("z")]),
    ]
    problem = make_problem(nodes, [make_pod("p")])
    assert scores_of(problem, "TaintToleration") == {"a": 100, "b": 67, "c": 0}
    without_c = np.array([True, True, False])
    found = scores_of(problem, "TaintToleration", feasible=without_c)
    assert (found["a"], found["b"]) == (100, 0)


def test_equal_soft_taints_have_no_say():
    """All alike, with some or with none: the value is known, and moves nothing."""
    for taints, value in (((), 100), ((soft("x"),), 0)):
        nodes = [make_node(name, taints=taints) for name in "ab"]
        problem = make_problem(nodes, [make_pod("p")])
        assert scores_of(problem, "TaintToleration") is None
        score = TaintScore(Pipeline(problem).state)
        assert score.values(class_index(problem, "p"), np.ones(2, np.bool_)).tolist() == [value] * 2


def preferring(*weighted):
    terms = [
        {
            "weight": weight,
            "preference": {"matchExpressions": [{"key": key, "operator": "Exists"}]},
        }
        for key, weight in weighted
    ]
    return {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": terms}}


def test_preferred_node_affinity_is_scored_against_the_best_node():
    nodes = [
        make_node("a", labels={"x": "", "y": ""}),
        make_node("b", labels={"y": ""}),
        make_node("c"),
    ]
    pod = make_pod("p", affinity=preferring(("x", 20), ("y", 10)))
    problem = make_problem(nodes, [pod])
    assert scores_of(problem, "NodeAffinity") == {"a": 100, "b": 33, "c": 0}


def test_a_preference_that_no_node_meets_has_no_say():
    problem = make_problem([make_node("a")], [make_pod("p", affinity=preferring(("x", 20)))])
    assert scores_of(problem, "NodeAffinity") is None
    score = NodeAffinityScore(Pipeline(problem).state)
    assert score.values(class_index(problem, "p"), np.ones(1, np.bool_)).tolist() == [0]


def spread(**changes):
    return {
        "topologyKey": ZONE,
        "maxSkew": 1,
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": WEB},
        **changes,
    }


def crowd(**count_on):
    return [
        make_pod(f"{node}{k}", node=node, labels=WEB)
        for node, count in count_on.items()
        for k in range(count)
    ]


ZONED = [make_node("a", zone="za"), make_node("b", zone="zb"), make_node("c")]


def test_soft_spread_prefers_the_emptier_domain():
    """Two domains weigh ln 4 a pod: 3 and 1 pods are 4.16 and 1.39, rounded 4 and 1."""
    pod = make_pod("p", topologySpreadConstraints=[spread()])
    problem = make_problem(ZONED, [*crowd(a=3, b=1), pod])
    assert round(3 * math.log(4)) == 4
    assert round(math.log(4)) == 1
    assert scores_of(problem, "PodTopologySpread") == {"a": 25, "b": 100, "c": 0}


def test_soft_spread_over_nothing_gives_all_nodes_with_the_key_the_best_score():
    pod = make_pod("p", topologySpreadConstraints=[spread()])
    problem = make_problem(ZONED, [pod])
    assert scores_of(problem, "PodTopologySpread") == {"a": 100, "b": 100, "c": 0}


def test_the_weight_of_a_constraint_counts_the_domains_of_feasible_nodes():
    """With one domain a pod weighs ln 3: 4 pods are 4.39, and alone they are the best."""
    pod = make_pod("p", topologySpreadConstraints=[spread(), spread(topologyKey=HOSTNAME)])
    nodes = [make_node("a", zone="za"), make_node("b", zone="za")]
    problem = make_problem(nodes, [*crowd(a=3, b=1), pod])
    # a: 4 ln 3 + 3 ln 4 = 8.55, b: 4 ln 3 + ln 4 = 5.78.
    assert scores_of(problem, "PodTopologySpread") == {"a": 100 * 6 // 9, "b": 100}


def test_a_pod_without_soft_spread_has_no_say_from_it():
    hard = spread(whenUnsatisfiable="DoNotSchedule")
    for constraints in ([], [hard]):
        pod = make_pod("p", topologySpreadConstraints=constraints)
        assert scores_of(make_problem(ZONED, [pod]), "PodTopologySpread") is None


def wishing(weight, side="podAffinity", labels=WEB):
    term = {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": labels}}
    wish = {"weight": weight, "podAffinityTerm": term}
    return {side: {"preferredDuringSchedulingIgnoredDuringExecution": [wish]}}


def test_wishes_are_stretched_between_the_least_and_the_most():
    pod = make_pod("p", affinity=wishing(10))
    problem = make_problem(ZONED, [*crowd(a=4, b=1), pod])
    assert scores_of(problem, "InterPodAffinity") == {"a": 100, "b": 25, "c": 0}


def test_anti_affinity_wishes_count_against():
    pod = make_pod("p", affinity=wishing(10, "podAntiAffinity"))
    problem = make_problem(ZONED, [*crowd(a=4, b=1), pod])
    assert scores_of(problem, "InterPodAffinity") == {"a": 0, "b": 75, "c": 100}


def test_wishes_and_needs_of_running_pods_count():
    """A wish of weight 3 and a required term, at weight 1, both draw the pod."""
    required = {
        "podAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": WEB}}
            ]
        }
    }
    running = [
        make_pod("x", node="a", affinity=wishing(3)),
        make_pod("y", node="b", labels=WEB, affinity=required),
    ]
    problem = make_problem(ZONED, [*running, make_pod("p", labels=WEB)])
    assert scores_of(problem, "InterPodAffinity") == {"a": 100, "b": 33, "c": 0}


def test_the_share_is_cut_as_floats_are():
    """29 of 100 gives 28, for 100 * 0.29 is a hair below 29."""
    pod = make_pod("p", affinity=wishing(1))
    nodes = [make_node(name, pods=200) for name in "abc"]
    problem = make_problem(nodes, [*crowd(a=100, b=29), pod])
    assert scores_of(problem, "InterPodAffinity") == {"a": 100, "b": 28, "c": 0}


@pytest.mark.parametrize(
    ("image", "name"),
    [
        ("app", "app:latest"),
        ("app:v1", "app:v1"),
        ("host:5000/app", "host:5000/app:latest"),
        ("host:5000/app:v1", "host:5000/app:v1"),
    ],
)
def test_latest_stands_in_for_a_missing_tag(image, name):
    assert normalised_name(image) == name


def test_image_bytes_are_scaled_by_the_share_of_nodes_that_hold_them():
    """1200 MiB on one node of two counts 600: 100 * (600 - 23) / (1000 - 23) = 59."""
    nodes = [make_node("a", images={"app:latest": 1200 * MIB}), make_node("b")]
    problem = make_problem(nodes, [make_pod("p")])
    assert scores_of(problem, "ImageLocality") == {"a": 59, "b": 0}


def test_images_that_no_node_holds_have_no_say():
    nodes = [make_node("a", images={"app:v1": 1200 * MIB}), make_node("b")]
    assert scores_of(make_problem(nodes, [make_pod("p")]), "ImageLocality") is None


GPU_NODES = [make_node("a", cpu="8"), make_node("b", cpu="8")]


def share(name, per_cent, **more):
    return make_pod(name, requests={"koordinator.sh/gpu": str(per_cent), "cpu": "1"}, **more)


def test_fragmentation_prefers_the_card_that_is_open_already():
    """Half a card fits beside half a card; on a whole one it would spoil it for whole requests."""
    pods = [
        share("old", 50, node="b"),
        share("p", 50),
        *(make_pod(f"w{k}", requests={"nvidia.com/gpu": "1"}) for k in range(3)),
    ]
    devices = [make_device(name, GIB) for name in "ab"]
    problem = make_problem(GPU_NODES, pods, devices=devices)
    found = scores_of(problem, "ExpectedFragmentation")
    assert found["b"] > found["a"]
    pipeline = Pipeline(problem, Profile(weights={"ExpectedFragmentation": 1}))
    assert problem.snapshot.nodes.names[pipeline.best_node(class_index(problem, "p"))] == "b"


def test_fragmentation_spares_the_processors_that_idle_cards_need():
    """A pod without cards that takes the last processors of a node strands its card."""
    nodes = [make_node("a", cpu="2"), make_node("b", cpu="2")]
    waiting = [make_pod(f"w{k}", requests={"nvidia.com/gpu": "1", "cpu": "1"}) for k in range(3)]
    pods = [make_pod("p", requests={"cpu": "2"}), *waiting]
    problem = make_problem(nodes, pods, devices=[make_device("a", GIB)])
    found = scores_of(problem, "ExpectedFragmentation")
    assert found["b"] > found["a"]


def test_fragmentation_has_no_say_without_cards_or_without_requests_for_them():
    pods = [share("p", 50)]
    assert scores_of(make_problem(GPU_NODES, pods), "ExpectedFragmentation") is None
    devices = [make_device("a", GIB)]
    plain = make_problem(GPU_NODES, [make_pod("p")], devices=devices)
    assert scores_of(plain, "ExpectedFragmentation") is None


def test_the_card_that_was_scored_is_the_card_that_is_taken():
    """Best fit would take 30 of the half card and leave 20, which no expected pod can use."""
    pods = [
        share("old", 50, node="a"),
        share("p", 30),
        *(share(f"w{k:02}", 50) for k in range(20)),
    ]
    problem = make_problem(GPU_NODES[:1], pods, devices=[make_device("a", GIB, GIB)])
    c = class_index(problem, "p")
    for weights, expected in (({}, 500), ({"ExpectedFragmentation": 1}, 1000)):
        pipeline = Pipeline(problem, Profile(weights=weights))
        (chosen,) = pipeline.plugins.choose_cards(c, 0)
        slot = pipeline.state.card_slot[chosen.card]
        assert int(pipeline.state.card_free[1, 0, slot]) == expected
