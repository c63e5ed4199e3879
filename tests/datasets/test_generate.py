"""A generated cluster is the same everywhere, and is what its recipe says."""

import json
from collections import Counter
from itertools import groupby

import pytest

from datasets.synthetic.generate import (
    INSTANCES,
    NODE_SHAPES,
    Manifest,
    Recipe,
    digest,
    generate,
    main,
    recorded_digests,
)
from koordopt.errors import InvalidInputError


def of_kind(manifests: list[Manifest], kind: str) -> list[Manifest]:
    return [entry for entry in manifests if entry["kind"] == kind]


def pending(manifests: list[Manifest]) -> list[Manifest]:
    return [pod for pod in of_kind(manifests, "Pod") if "nodeName" not in pod["spec"]]


@pytest.mark.parametrize("name", INSTANCES)
def test_named_instance_is_the_one_on_record(name: str) -> None:
    assert digest(generate(INSTANCES[name])) == recorded_digests()[name]


def test_cluster_has_the_pods_and_nodes_asked_for() -> None:
    made = generate(Recipe(pods=33, nodes=7, filled_percent=(50, 90)))
    assert len(pending(made)) == 33
    assert len(of_kind(made, "Node")) == 7


def test_running_pods_stay_within_the_share_of_cpu_asked_for() -> None:
    made = generate(Recipe(pods=1, nodes=30, filled_percent=(40, 70)))
    used: Counter[str] = Counter()
    for pod in of_kind(made, "Pod"):
        cpu = pod["spec"]["containers"][0]["resources"]["requests"]["cpu"]
        used[pod["spec"].get("nodeName", "")] += int(cpu.removesuffix("m"))
    shares = [
        used[node["metadata"]["name"]] / int(node["status"]["allocatable"]["cpu"]) / 10
        for node in of_kind(made, "Node")
    ]
    assert max(shares) <= 70
    assert sum(shares) / len(shares) > 30


def test_arrivals_come_in_runs_of_one_template() -> None:
    made = generate(Recipe(pods=60, nodes=1, run_length=20))
    runs = [len(list(run)) for _, run in groupby(pending(made), lambda p: p["metadata"]["labels"])]
    assert sum(runs) == 60
    assert all(length % 20 == 0 for length in runs)


def test_every_gang_has_as_many_members_as_it_needs() -> None:
    made = generate(INSTANCES["gangs"])
    members = Counter(
        pod["metadata"]["labels"]["pod-group.scheduling.sigs.k8s.io"] for pod in pending(made)
    )
    needed = {
        group["metadata"]["name"]: group["spec"]["minMember"] for group in of_kind(made, "PodGroup")
    }
    assert members == needed


def test_earlier_zones_have_more_nodes() -> None:
    made = generate(Recipe(pods=1, nodes=600, zones=3))
    zones = Counter(
        node["metadata"]["labels"]["topology.kubernetes.io/zone"] for node in of_kind(made, "Node")
    )
    assert zones["zone-0"] > zones["zone-1"] > zones["zone-2"] > 0


def test_every_node_shape_occurs() -> None:
    made = generate(Recipe(pods=1, nodes=200))
    shapes = {
        (amounts["cpu"], amounts["memory"], amounts.get("nvidia.com/gpu", "0"))
        for amounts in (node["status"]["allocatable"] for node in of_kind(made, "Node"))
    }
    assert shapes == {(str(c), f"{m}Gi", str(g)) for c, m, g in NODE_SHAPES}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"pods": 0}, "pods is 0; expected at least 1"),
        ({"filled_percent": (60, 50)}, "filled_percent is 60, 50"),
        ({"variant": "odd"}, "variant is 'odd'"),
    ],
)
def test_recipe_out_of_range_is_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        Recipe(**{"pods": 1, "nodes": 1, **changes})


def test_command_prints_one_list_with_the_changes_asked_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["spread", "--pods", "3", "--nodes", "2"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["kind"] == "List"
    assert len(pending(printed["items"])) == 3
    assert main(["--pods", "0"]) == 2
