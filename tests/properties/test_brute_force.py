"""Every assignment of a few pods to a few nodes, judged once more by an oracle in plain Python."""

from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from koordopt.models.problem.placement import PlacementProblem
from koordopt.models.quota.spec import QuotaSettings
from koordopt.models.result import Placement
from koordopt.models.snapshot import ClusterSnapshot, SnapshotSettings
from koordopt.models.verify import verify
from koordopt.solvers.heuristics.greedy import solve
from tests.properties.small_oracle import is_valid
from tests.scenarios.kit import cluster

HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
BY_MAX = SnapshotSettings(quota=QuotaSettings(enable_runtime=False))
RULES = ("taints", "selectors", "ports", "apart", "spread", "gang", "quota")


def required_apart(key, app):
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


@st.composite
def pod_shapes(draw, rules):
    """Give the arguments of a pod under some of the rules."""

    def under(rule, *choices):
        return draw(st.sampled_from(choices)) if rule in rules else choices[0]

    app = draw(st.sampled_from(("x", "y")))
    key = draw(st.sampled_from((HOST, ZONE)))
    port = under("ports", 0, 80, 81)
    container = {
        "name": "main",
        "image": "app",
        "resources": {"requests": {"cpu": draw(st.sampled_from(("1", "2")))}},
        "ports": [{"containerPort": port, "hostPort": port}] if port else [],
    }
    shape = {
        "labels": {"app": app},
        "containers": [container],
        "tolerations": under("taints", [], [{"key": "t", "operator": "Exists"}]),
        "nodeSelector": under("selectors", {}, {ZONE: "za"}),
        "affinity": under("apart", {}, required_apart(key, "x"), required_apart(key, app)),
        "quota": under("quota", "", "q", "r"),
    }
    if under("spread", False, True):
        shape["topologySpreadConstraints"] = [
            {
                "maxSkew": draw(st.integers(1, 2)),
                "topologyKey": key,
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"app": app}},
                "nodeAffinityPolicy": "Ignore",
            }
        ]
    return shape


@st.composite
def small_stories(draw, most_pending=3):
    """Give up to three nodes and a few pods, some of which run already."""
    rules = draw(st.sets(st.sampled_from(RULES), max_size=4))
    story = cluster(BY_MAX)
    names = [f"n{k}" for k in range(draw(st.integers(1, 3)))]
    for name in names:
        taint = (("t", "", "NoSchedule"),) if draw(st.booleans()) and "taints" in rules else ()
        zone = draw(st.sampled_from(("za", "zb")))
        story.node(name, cpu=draw(st.sampled_from(("2", "4"))), zone=zone, taints=taint)
    if "quota" in rules:
        story.quota("p", is_parent=True, most={"cpu": draw(st.sampled_from(("2", "3")))})
        story.quota("q", parent="p", most={"cpu": "2"}).quota("r", parent="p", most={"cpu": "2"})
    if "gang" in rules:
        story.pod_group("g", draw(st.integers(2, 3)))
    for k in range(draw(st.integers(0, 2))):
        story.pod(f"run-{k}", on=draw(st.sampled_from(names)), **draw(pod_shapes(rules)))
    for k in range(draw(st.integers(1, most_pending))):
        shape = draw(pod_shapes(rules))
        if "gang" in rules and draw(st.booleans()):
            shape["labels"] = {**shape["labels"], "pod-group.scheduling.sigs.k8s.io": "g"}
        story.pod(f"p{k}", **shape)
    return story


def problem_of(story):
    return PlacementProblem.from_snapshot(
        ClusterSnapshot.from_objects(story.objects, settings=story.settings)
    )


def judged(problem, assignment):
    """Return whether the checker accepts pending pods on nodes, all in one step; -1 is nowhere."""
    pairs = [(p, n) for p, n in zip(problem.pending.tolist(), assignment, strict=True) if n >= 0]
    placement = Placement.of([p for p, _ in pairs], [n for _, n in pairs], [0] * len(pairs))
    return not verify(problem, placement)


def expected(problem, assignment):
    """Return whether the oracle accepts the same."""
    keys, names = problem.snapshot.pods.keys, problem.snapshot.nodes.names
    binds = [
        (keys[p], names[n])
        for p, n in zip(problem.pending.tolist(), assignment, strict=True)
        if n >= 0
    ]
    return is_valid(problem.snapshot.objects, binds)


@settings(max_examples=40)
@given(small_stories())
def test_checker_and_oracle_agree_on_every_assignment(story):
    """Three pods on three nodes are 64 ways; each is right or wrong for both."""
    problem = problem_of(story)
    nodes = range(-1, len(problem.capacity))
    for assignment in product(nodes, repeat=len(problem.pending)):
        assert judged(problem, assignment) == expected(problem, assignment), assignment


@settings(max_examples=60)
@given(small_stories(most_pending=5), st.data())
def test_checker_and_oracle_agree_on_larger_assignments(story, data):
    """Five pods are too many ways for each example, so some of them are drawn."""
    problem = problem_of(story)
    nodes = st.integers(-1, len(problem.capacity) - 1)
    for _ in range(8):
        assignment = [data.draw(nodes) for _ in problem.pending]
        assert judged(problem, assignment) == expected(problem, assignment), assignment


@settings(max_examples=60)
@given(small_stories(most_pending=5))
def test_greedy_leaves_no_pod_pending_that_still_fits(story):
    """Its plan is right for the oracle, and one more pod on any node would be wrong."""
    problem = problem_of(story)
    placement = solve(problem).placement
    keys, names = problem.snapshot.pods.keys, problem.snapshot.nodes.names
    binds = [
        (keys[p], names[n])
        for p, n in zip(placement.pod.tolist(), placement.node.tolist(), strict=True)
    ]
    objects = problem.snapshot.objects
    assert is_valid(objects, binds)
    placed = set(placement.pod.tolist())
    for p in problem.pending.tolist():
        if p not in placed:
            assert not any(is_valid(objects, [*binds, (keys[p], name)]) for name in names), keys[p]
