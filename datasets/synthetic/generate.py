"""``python -m datasets.synthetic.generate NAME``: a cluster made from a seed, as one v1 List.

The same recipe gives the same bytes on every machine and Python version: the numbers come from
`random.Random`, whose integers are the same everywhere, and everything that is drawn is an integer.
"""

import argparse
import hashlib
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any, Literal

from koordopt.errors import InvalidInputError

Variant = Literal["plain", "spread", "affinity", "gangs"]
Manifest = dict[str, Any]

VARIANTS: tuple[Variant, ...] = ("plain", "spread", "affinity", "gangs")
GIBIBYTES_PER_CORE = (1, 2, 4, 8)
POD_MILLICORES = (100, 250, 500, 1000, 2000, 4000, 8000)
PRIORITIES = (0, 1000, 5000, 9000)
# Cores, GiB of memory and GPUs of a node.
NODE_SHAPES = ((16, 64, 0), (32, 128, 0), (48, 192, 0), (64, 256, 0), (64, 512, 8), (96, 768, 8))
PODS_PER_NODE = 110
FIRST_CREATED = datetime(2026, 1, 1, tzinfo=UTC)
DIGESTS = Path(__file__).with_name("DIGESTS")


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """What a generated cluster is made from.

    Attributes
    ----------
    pods, nodes
        Number of pending pods and of nodes.
    classes
        Number of pod templates that the pods are drawn from.
    zones
        Number of zones; the first is the largest, each next one has a share less.
    variant
        The rule that every pod carries beside its requests: none, a hard spread over zones, a
        required anti-affinity to its own class on a node, or a gang with its neighbours.
    run_length
        Pods of one class that arrive in a row, and the members of a gang; 1 interleaves.
    filled_percent
        Least and most of a node's CPU that running pods hold before, drawn for each node.
    seed
        Seed of everything that is drawn.

    Raises
    ------
    InvalidInputError
        If a number is out of range.
    """

    pods: int
    nodes: int
    classes: int = 20
    zones: int = 3
    variant: Variant = "plain"
    run_length: int = 20
    filled_percent: tuple[int, int] = (0, 0)
    seed: int = 1

    def __post_init__(self) -> None:
        for name in ("pods", "nodes", "classes", "zones", "run_length"):
            if getattr(self, name) < 1:
                raise InvalidInputError(f"{name} is {getattr(self, name)}; expected at least 1.")
        low, high = self.filled_percent
        if not 0 <= low <= high <= 100:
            raise InvalidInputError(
                f"filled_percent is {low}, {high}; expected 0 to 100, in order."
            )
        if self.variant not in VARIANTS:
            raise InvalidInputError(
                f"variant is {self.variant!r}; expected one of {', '.join(VARIANTS)}."
            )


# Small instances that tests read by name; `DIGESTS` keeps what each must be.
INSTANCES: Mapping[str, Recipe] = {
    "plain": Recipe(pods=200, nodes=20, filled_percent=(5, 60), seed=11),
    "interleaved": Recipe(pods=200, nodes=20, run_length=1, filled_percent=(5, 60), seed=12),
    "spread": Recipe(pods=200, nodes=20, variant="spread", filled_percent=(5, 60), seed=13),
    "affinity": Recipe(pods=200, nodes=20, variant="affinity", run_length=5, seed=14),
    "gangs": Recipe(pods=200, nodes=20, variant="gangs", filled_percent=(30, 80), seed=15),
}


@dataclass(frozen=True)
class _Template:
    name: str
    millicores: int
    memory_gibibytes: int
    priority: int


def generate(recipe: Recipe) -> list[Manifest]:
    """Return the nodes, running pods, pod groups and pending pods of a recipe, in that order.

    Pending pods arrive in the order given, a thousand a second.
    """
    random = Random(recipe.seed)
    templates = [_template(random, number) for number in range(recipe.classes)]
    nodes = [_node(random, recipe, number) for number in range(recipe.nodes)]
    running = [pod for node in nodes for pod in _running(random, recipe, templates, node)]
    pending: list[Manifest] = []
    groups: list[Manifest] = []
    while len(pending) < recipe.pods:
        template = random.choice(templates)
        size = min(recipe.run_length, recipe.pods - len(pending))
        gang = None
        if recipe.variant == "gangs":
            gang = f"gang-{len(groups):05d}"
            groups.append(_pod_group(gang, size))
        first = len(pending)
        pending += [_pending(recipe, template, first + k, gang) for k in range(size)]
    return [*nodes, *running, *groups, *pending]


def as_list(manifests: Sequence[Manifest]) -> str:
    """Return the manifests as one v1 List, the form that ``kubectl get -o json`` prints."""
    body = {"apiVersion": "v1", "kind": "List", "items": list(manifests)}
    return json.dumps(body, indent=1, sort_keys=True) + "\n"


def digest(manifests: Sequence[Manifest]) -> str:
    """Return the SHA-256 of `as_list`."""
    return hashlib.sha256(as_list(manifests).encode()).hexdigest()


def recorded_digests() -> dict[str, str]:
    """Return the digest on record of each named instance."""
    lines = DIGESTS.read_text(encoding="utf-8").splitlines()
    return {name: value for value, name in (line.split() for line in lines)}


def _template(random: Random, number: int) -> _Template:
    millicores = random.choice(POD_MILLICORES)
    gibibytes = max(1, millicores * random.choice(GIBIBYTES_PER_CORE) // 1000)
    return _Template(f"app-{number:04d}", millicores, gibibytes, random.choice(PRIORITIES))


def _zone(random: Random, zones: int) -> int:
    # Zone k has (zones - k) shares: uneven, as grown clusters are.
    ticket = random.randrange(zones * (zones + 1) // 2)
    zone = 0
    while ticket >= zones - zone:
        ticket -= zones - zone
        zone += 1
    return zone


def _node(random: Random, recipe: Recipe, number: int) -> Manifest:
    cores, gibibytes, gpus = random.choice(NODE_SHAPES)
    name = f"node-{number:05d}"
    amounts = {"cpu": str(cores), "memory": f"{gibibytes}Gi", "pods": str(PODS_PER_NODE)}
    if gpus:
        amounts["nvidia.com/gpu"] = str(gpus)
    labels = {
        "kubernetes.io/hostname": name,
        "topology.kubernetes.io/zone": f"zone-{_zone(random, recipe.zones)}",
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": {},
        "status": {"capacity": amounts, "allocatable": dict(amounts)},
    }


def _running(
    random: Random, recipe: Recipe, templates: Sequence[_Template], node: Manifest
) -> Iterator[Manifest]:
    amounts = node["status"]["allocatable"]
    memory_left = int(amounts["memory"].removesuffix("Gi"))
    target = int(amounts["cpu"]) * 10 * random.randint(*recipe.filled_percent)
    used = pods = 0
    while pods < PODS_PER_NODE:
        template = random.choice(templates)
        if used + template.millicores > target or template.memory_gibibytes > memory_left:
            return
        used += template.millicores
        memory_left -= template.memory_gibibytes
        pod = _pod(template, f"{template.name}-{node['metadata']['name']}-{pods:03d}", 0)
        pod["spec"]["nodeName"] = node["metadata"]["name"]
        pod["status"] = {"phase": "Running"}
        pods += 1
        yield pod


def _pending(recipe: Recipe, template: _Template, number: int, gang: str | None) -> Manifest:
    pod = _pod(template, f"{template.name}-pending-{number:06d}", 1 + number // 1000)
    own = {"matchLabels": {"app": template.name}}
    if recipe.variant == "spread":
        pod["spec"]["topologySpreadConstraints"] = [
            {
                "maxSkew": 5,
                "topologyKey": "topology.kubernetes.io/zone",
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": own,
            }
        ]
    elif recipe.variant == "affinity":
        term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": own}
        pod["spec"]["affinity"] = {
            "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
        }
    if gang is not None:
        pod["metadata"]["labels"]["pod-group.scheduling.sigs.k8s.io"] = gang
    return pod


def _pod(template: _Template, name: str, created_s: int) -> Manifest:
    requests = {"cpu": f"{template.millicores}m", "memory": f"{template.memory_gibibytes}Gi"}
    created = FIRST_CREATED + timedelta(seconds=created_s)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "default",
            "labels": {"app": template.name},
            "creationTimestamp": created.strftime("%Y-%m-%dT%H:%M:%SZ"),
        },
        "spec": {
            "priority": template.priority,
            "containers": [{"name": "main", "image": "app", "resources": {"requests": requests}}],
        },
        "status": {"phase": "Pending"},
    }


def _pod_group(name: str, size: int) -> Manifest:
    return {
        "apiVersion": "scheduling.sigs.k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"minMember": size},
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m datasets.synthetic.generate",
        description="Print a cluster made from a seed as one v1 List.",
    )
    parser.add_argument("name", metavar="NAME", nargs="?", choices=[*INSTANCES], default="plain")
    for option in ("pods", "nodes", "classes", "zones", "run-length", "seed"):
        parser.add_argument(f"--{option}", type=int)
    parser.add_argument("--variant", choices=VARIANTS)
    parser.add_argument("--filled-percent", type=int, nargs=2, metavar=("LEAST", "MOST"))
    words = vars(parser.parse_args(arguments))
    base = INSTANCES[words.pop("name")]
    if words["filled_percent"] is not None:
        words["filled_percent"] = tuple(words["filled_percent"])
    changes = {name: value for name, value in words.items() if value is not None}
    try:
        recipe = replace(base, **changes)
    except InvalidInputError as mistake:
        sys.stderr.write(f"{mistake}\n")
        return 2
    sys.stdout.write(as_list(generate(recipe)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
