"""Filters and scores of recorded pods on recorded clusters, as kube-scheduler's own code answered.

Every pending pod is tried alone: nothing is placed in between.
"""

from collections.abc import Iterator
from functools import partial

import numpy as np
import pytest

from koordopt.models.api.decode import decode
from koordopt.models.problem.placement import PlacementProblem
from koordopt.models.snapshot import ClusterObjects, ClusterSnapshot
from koordopt.solvers.heuristics.diagnose import diagnose
from koordopt.solvers.heuristics.pipeline import Pipeline
from koordopt.solvers.heuristics.profile import DEFAULT_WEIGHTS, Profile
from koordopt.solvers.heuristics.registry import plugins_for
from koordopt.solvers.heuristics.scores.images import ImageScore
from koordopt.solvers.heuristics.scores.normalised import NodeAffinityScore, TaintScore
from tests.oracle.records import Record, assert_agreement

pytestmark = pytest.mark.oracle

FIT_WORDS = ("Insufficient ", "Too many pods")
GPU = "example.com/gpu"
TWO = (("cpu", 1), ("memory", 1))
FOUR = (("cpu", 2), ("memory", 1), ("ephemeral-storage", 1), (GPU, 3))
SHAPE = ((0, 0), (40, 3), (75, 10), (100, 6))
STRATEGIES = ("LeastAllocated", "MostAllocated", "RequestedToCapacityRatio")


def _profiles() -> dict[str, Profile]:
    """Return a profile that has one score alone, by the key of the record."""
    balanced = "NodeResourcesBalancedAllocation"
    alone = {name: Profile(weights={name: 1}) for name in DEFAULT_WEIGHTS}
    alone[f"{balanced}/4"] = Profile(weights={balanced: 1}, balanced_resources=FOUR)
    for strategy in STRATEGIES:
        for suffix, resources in (("", TWO), ("/4", FOUR)):
            alone[f"NodeResourcesFit/{strategy}{suffix}"] = Profile(
                weights={"NodeResourcesFit": 1},
                fit_strategy=strategy,
                fit_resources=resources,
                shape=SHAPE,
            )
    return alone


PROFILES = _profiles()


class _Cluster:
    """A recorded cluster with all of its pending pods."""

    def __init__(self, record: Record) -> None:
        pending = [_decoded("Pod", case["pod"]) for case in record["cases"]]
        snapshot = ClusterSnapshot.from_objects(
            ClusterObjects(
                nodes=[_decoded("Node", node) for node in record["nodes"]],
                pods=[*(_decoded("Pod", pod) for pod in record["pods"]), *pending],
                namespaces=[_decoded("Namespace", each) for each in record["namespaces"]],
            ),
            pending=[pod.key for pod in pending],
        )
        self.names = snapshot.nodes.names
        self.pipeline = Pipeline(PlacementProblem.from_snapshot(snapshot))
        pods = snapshot.pods
        self.class_of = [int(pods.class_of[pods.index[pod.key]]) for pod in pending]

    def scores(self, key: str, c: int, feasible: np.ndarray) -> np.ndarray:
        """Return the score of every node under ``key``, right where it is feasible."""
        state = self.pipeline.state
        # These stay silent where all nodes are alike, for the recorded value moves nothing.
        always = {"TaintToleration": TaintScore, "NodeAffinity": NodeAffinityScore}
        if key in always:
            return always[key](state).values(c, feasible)
        plugins = plugins_for(state, PROFILES[key])
        found = [plugin.scores(c, feasible) for plugin, _ in plugins.global_scores]
        found += [
            bound.many(None)
            for plugin, _ in plugins.local_scores
            if (bound := plugin.bind(c)) is not None
        ]
        if key == ImageScore.name:
            found.append(plugins.fixed_score(c))
        given = [scores for scores in found if scores is not None]
        return given[0] if given else np.zeros(len(self.names), dtype=np.int64)


def _decoded(kind, raw):
    return decode({"apiVersion": "v1", "kind": kind, **raw})


def _is_decided_otherwise(case: Record, plugin: str) -> bool:
    """Return whether a rule that differs on purpose decides about ``plugin`` here."""
    return plugin == "InterPodAffinity" and "ipa:namespaceSelector:negative" in case["tags"]


def _refusals(cluster: _Cluster, c: int) -> dict[str, dict[str, tuple[str, list[str]]]]:
    """Return code and reasons of every plug-in that refuses, by node."""
    found: dict[str, dict[str, tuple[str, list[str]]]] = {name: {} for name in cluster.names}
    for refusal in diagnose(cluster.pipeline, c):
        # A slot is never the reason for giving a node up, not even where it has none at all.
        is_final = not refusal.eviction_could_help and refusal.message != "Too many pods"
        for n in np.flatnonzero(refusal.nodes).tolist():
            by_plugin = found[cluster.names[n]]
            code, reasons = by_plugin.get(refusal.plugin, ("Unschedulable", []))
            if is_final:
                code = "UnschedulableAndUnresolvable"
            by_plugin[refusal.plugin] = (code, sorted([*reasons, refusal.message]))
    return found


def _filter_differences(cluster: _Cluster, c: int, case: Record) -> Iterator[str]:
    ours = _refusals(cluster, c)
    for name in cluster.names:
        theirs = {
            each["plugin"]: (each["code"], each["reasons"])
            for each in case["rejected"].get(name, ())
        }
        for plugin in sorted(theirs.keys() | ours[name].keys()):
            found, recorded = ours[name].get(plugin), theirs.get(plugin)
            if found != recorded and not _is_decided_otherwise(case, plugin):
                yield f"{name} {plugin}: found {found}, recorded {recorded}"


def _feasible_differences(cluster: _Cluster, c: int, case: Record) -> Iterator[str]:
    mask = cluster.pipeline.feasible(c)
    feasible = sorted(cluster.names[n] for n in np.flatnonzero(mask).tolist())
    if feasible != sorted(case["feasible"]):
        yield f"feasible: found {feasible}, recorded {sorted(case['feasible'])}"


def _score_differences(cluster: _Cluster, c: int, case: Record) -> Iterator[str]:
    if not case["feasible"]:
        return
    feasible = cluster.pipeline.feasible(c)
    index = {name: n for n, name in enumerate(cluster.names)}
    has_pod_level = "podLevelResources" in case["tags"]
    recorded = {**case["scores"], **{key: {} for key in case["skipped"]}}
    total = np.zeros(len(cluster.names), dtype=np.int64)
    for key, by_node in recorded.items():
        scores = cluster.scores(key, c, feasible)
        weight = DEFAULT_WEIGHTS.get(key.removesuffix("/LeastAllocated"), 0)
        total += weight * scores
        if has_pod_level and key.startswith("NodeResourcesFit/"):
            continue  # ours uses pod-level requests in the score as well
        for name in case["feasible"]:
            found, wanted = int(scores[index[name]]), by_node.get(name, 0)
            if abs(found - wanted) > 1:
                yield f"{key} of {name}: found {found}, recorded {wanted}"
    if has_pod_level:
        return
    for name, wanted in case["total"].items():
        if abs(int(total[index[name]]) - wanted) > 1:
            yield f"total of {name}: found {total[index[name]]}, recorded {wanted}"
    best = cluster.names[cluster.pipeline.best_node(c)]
    if case["total"][best] < max(case["total"].values()) - 1:
        yield f"best node: found {best} with {case['total'][best]}, recorded {case['total']}"


def _differences(compare, record: Record, *, affinity_decides: bool = True) -> Iterator[str]:
    cluster = _Cluster(record)
    for number, (c, case) in enumerate(zip(cluster.class_of, record["cases"], strict=True)):
        if affinity_decides and _is_decided_otherwise(case, "InterPodAffinity"):
            continue
        for difference in compare(cluster, c, case):
            yield f"case {number} {case['tags']}: {difference}"


def test_refusals_agree():
    """Every plug-in refuses exactly the recorded nodes, with the recorded code and reasons."""
    compare = partial(_differences, _filter_differences, affinity_decides=False)
    assert_agreement("upstream/filters", compare)


def test_feasible_nodes_agree():
    """The pipeline leaves exactly the recorded nodes."""
    assert_agreement("upstream/filters", partial(_differences, _feasible_differences))


def test_scores_agree():
    """Every score and the weighted total are within one point of the recorded ones."""
    assert_agreement("upstream/filters", partial(_differences, _score_differences))
