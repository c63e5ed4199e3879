"""Clusters for the throughput benchmark: a thousand pod classes, quotas, and one more rule."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any, Final, Literal, cast

from datasets.synthetic.generate import Manifest, Recipe, generate
from koordopt.models.api import keys
from koordopt.models.api.core import Node, Pod
from koordopt.models.api.crds import Device, ElasticQuota, PodGroup
from koordopt.models.api.decode import decode
from koordopt.models.problem.placement import PlacementProblem
from koordopt.models.snapshot import ClusterObjects, ClusterSnapshot

Rules = Literal["basic", "spread", "affinity", "gangs", "devices"]
Arrival = Literal["runs", "interleaved"]

RULES: tuple[Rules, ...] = ("basic", "spread", "affinity", "gangs", "devices")
ARRIVALS: tuple[Arrival, ...] = ("runs", "interleaved")
RUN_LENGTH: Final = 20
_PARENT_QUOTAS: Final = 10
_LEAVES_OF_EACH: Final = 10
_CARD_GIBIBYTES: Final = 80
_GANG_LABEL: Final = "pod-group.scheduling.sigs.k8s.io"
# What one pod in ten asks of cards, by the last digit of its template: whole ones or a share.
_WHOLE_CARDS: Final[Mapping[int, int]] = {0: 1, 1: 1, 2: 2, 3: 4}
_CARD_SHARES: Final = (10, 20, 25, 30, 50, 75)


@dataclass(frozen=True)
class Instance:
    """A cluster with pods that arrive.

    Attributes
    ----------
    nodes, pods
        Number of nodes and of pods that arrive.
    rules
        What every pod asks for beside room and quota.
    arrival
        In runs of 20 alike, or interleaved.
    classes
        Number of pod templates, each with requests of its own.
    filled_percent
        Least and most of a node's CPU that running pods hold before.
    running
        Running pods at most; None for as many as fill the nodes.
    seed
        Seed of everything that is drawn.
    """

    nodes: int
    pods: int
    rules: Rules = "basic"
    arrival: Arrival = "runs"
    classes: int = 1000
    filled_percent: tuple[int, int] = (5, 30)
    running: int | None = None
    seed: int = 1

    def objects(self) -> ClusterObjects:
        """Return the API objects, decoded."""
        variant = {"spread": "spread", "affinity": "affinity", "gangs": "gangs"}.get(self.rules)
        recipe = Recipe(
            pods=self.pods,
            nodes=self.nodes,
            classes=self.classes,
            run_length=RUN_LENGTH,
            filled_percent=self.filled_percent,
            seed=self.seed,
        )
        if variant is not None:
            recipe = replace(recipe, variant=cast(Any, variant))
        manifests = _with_running(generate(recipe), self.running, Random(self.seed))
        change = _CHANGES.get(self.rules)
        for manifest in manifests:
            if manifest["kind"] == "Pod":
                _make_distinct(manifest)
                if change is not None:
                    change(manifest)
        if self.rules == "devices":
            manifests += list(_devices(manifests))
        if self.rules == "gangs" and self.arrival == "interleaved":
            _mix_gangs(manifests, Random(self.seed))
        manifests += _quotas(self)
        return _decoded(manifests)

    def problem(self) -> PlacementProblem:
        """Return the problem of placing the pods that arrive."""
        return PlacementProblem.from_snapshot(ClusterSnapshot.from_objects(self.objects()))


def arrivals(problem: PlacementProblem, instance: Instance) -> list[int]:
    """Return the pending pods in the order in which they arrive."""
    number = {p: _number(problem.snapshot.pods.objects[p].metadata.name) for p in problem.pending}
    order = sorted(problem.pending.tolist(), key=number.__getitem__)
    if instance.arrival == "interleaved":
        Random(instance.seed).shuffle(order)
    return order


def _with_running(manifests: list[Manifest], most: int | None, random: Random) -> list[Manifest]:
    """Return the manifests with at most ``most`` running pods, drawn from all nodes."""
    running = [k for k, m in enumerate(manifests) if "nodeName" in m["spec"]]
    if most is None or len(running) <= most:
        return manifests
    kept = set(random.sample(running, most))
    return [m for k, m in enumerate(manifests) if "nodeName" not in m["spec"] or k in kept]


def _number(name: str) -> int:
    """Return the place in the order of arrival that the generator wrote into a pod's name."""
    return int(name.rpartition("-")[2])


def _template(pod: Manifest) -> int:
    return int(pod["metadata"]["labels"]["app"].rpartition("-")[2])


def _requests(pod: Manifest) -> dict[str, str]:
    requests: dict[str, str] = pod["spec"]["containers"][0]["resources"]["requests"]
    return requests


def _make_distinct(pod: Manifest) -> None:
    """Give every template requests of its own, and a quota.

    The generator draws from a few sizes; what real workloads ask for rarely coincides, and with few
    distinct sizes a scheduler would have few classes.
    """
    number, requests = _template(pod), _requests(pod)
    millicores = int(requests["cpu"].removesuffix("m"))
    mebibytes = 1024 * int(requests["memory"].removesuffix("Gi"))
    requests["cpu"] = f"{millicores - number % 40}m"
    requests["memory"] = f"{mebibytes - number // 40}Mi"
    leaf = number % (_PARENT_QUOTAS * _LEAVES_OF_EACH)
    pod["metadata"]["labels"][keys.LABEL_QUOTA_NAME] = f"team-{leaf:03d}"


def _mix_affinity(pod: Manifest) -> None:
    """Turn the anti-affinity of every other template into required company in its zone."""
    if _template(pod) % 2 == 0 or "affinity" not in pod["spec"]:
        return
    terms = pod["spec"]["affinity"].pop("podAntiAffinity")
    (term,) = terms["requiredDuringSchedulingIgnoredDuringExecution"]
    term["topologyKey"] = keys.LABEL_ZONE
    pod["spec"]["affinity"]["podAffinity"] = terms


def _ask_for_cards(pod: Manifest) -> None:
    """Give a pending pod whole cards or a share of one, by its template."""
    if "nodeName" in pod["spec"]:
        return
    number, requests = _template(pod), _requests(pod)
    whole = _WHOLE_CARDS.get(number % 10)
    if whole is not None:
        requests[keys.RESOURCE_GPU_CORE] = str(100 * whole)
        requests[keys.RESOURCE_GPU_MEMORY_RATIO] = str(100 * whole)
    else:
        share = _CARD_SHARES[number // 10 % len(_CARD_SHARES)]
        requests[keys.RESOURCE_GPU_CORE] = str(share)
        requests[keys.RESOURCE_GPU_MEMORY_RATIO] = str(share)


_CHANGES: Mapping[str, Callable[[Manifest], None]] = {
    "affinity": _mix_affinity,
    "devices": _ask_for_cards,
}


def _devices(manifests: Sequence[Manifest]) -> Iterator[Manifest]:
    """Yield the devices of every node with GPUs, whose totals become allocatable."""
    for node in manifests:
        if node["kind"] != "Node":
            continue
        count = int(node["status"]["allocatable"].pop("nvidia.com/gpu", "0"))
        if not count:
            continue
        node["status"]["allocatable"].update(_card_amounts(count))
        cards = [
            {"type": "gpu", "minor": m, "health": True, "resources": _card_amounts(1)}
            for m in range(count)
        ]
        yield {
            "apiVersion": "scheduling.koordinator.sh/v1alpha1",
            "kind": "Device",
            "metadata": {"name": node["metadata"]["name"]},
            "spec": {"devices": cards},
        }


def _card_amounts(count: int) -> dict[str, str]:
    return {
        keys.RESOURCE_GPU_CORE: str(100 * count),
        keys.RESOURCE_GPU_MEMORY_RATIO: str(100 * count),
        keys.RESOURCE_GPU_MEMORY: f"{_CARD_GIBIBYTES * count}Gi",
    }


def _mix_gangs(manifests: Sequence[Manifest], random: Random) -> None:
    """Deal the members of all gangs anew, so that a gang has members of many classes."""
    pods = [m for m in manifests if m["kind"] == "Pod" and "nodeName" not in m["spec"]]
    gangs = [pod["metadata"]["labels"][_GANG_LABEL] for pod in pods]
    random.shuffle(gangs)
    for pod, gang in zip(pods, gangs, strict=True):
        pod["metadata"]["labels"][_GANG_LABEL] = gang


def _quotas(instance: Instance) -> list[Manifest]:
    """Return a quota tree with room for all: what is timed are decisions, not refusals."""
    total = {"cpu": str(100 * instance.nodes), "memory": f"{1000 * instance.nodes}Gi"}
    found = []
    for parent in range(_PARENT_QUOTAS):
        name = f"department-{parent}"
        found.append(_quota(name, total, {keys.LABEL_QUOTA_IS_PARENT: "true"}))
        for leaf in range(_LEAVES_OF_EACH):
            label = {keys.LABEL_QUOTA_PARENT: name}
            found.append(_quota(f"team-{parent * _LEAVES_OF_EACH + leaf:03d}", total, label))
    return found


def _quota(name: str, most: Mapping[str, str], labels: Mapping[str, str]) -> Manifest:
    return {
        "apiVersion": "scheduling.sigs.k8s.io/v1alpha1",
        "kind": "ElasticQuota",
        "metadata": {"name": name, "namespace": "default", "labels": dict(labels)},
        "spec": {"max": dict(most), "min": {}},
    }


def _decoded(manifests: Sequence[Manifest]) -> ClusterObjects:
    by_type: dict[type, list[Any]] = {}
    for manifest in manifests:
        value = decode(manifest)
        by_type.setdefault(type(value), []).append(value)
    return ClusterObjects(
        nodes=by_type.get(Node, ()),
        pods=by_type.get(Pod, ()),
        pod_groups=by_type.get(PodGroup, ()),
        elastic_quotas=by_type.get(ElasticQuota, ()),
        devices=by_type.get(Device, ()),
    )
