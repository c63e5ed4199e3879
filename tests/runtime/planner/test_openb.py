"""Reading the openb traces."""

from pathlib import Path

import pytest

from koordopt.models.api import keys
from koordopt.models.api.requests import pod_requests
from koordopt.runtime.planner.reading.inputs import Inputs, UnreadableInput
from koordopt.runtime.planner.reading.openb import POD_SLOTS, read_openb

NODES = "sn,cpu_milli,memory_mib,gpu,model\nn0,32000,262144,0,\nn1,64000,262144,2,P100\n"
PODS = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time\n"
    "p0,12000,16384,1,1000,,LS,Running,0\n"
    "p1,6000,12288,1,460,V100M16|P100|P100,BE,Running,427061\n"
    "p2,500,1,0,0,,Burstable,Succeeded,1\n"
    "p3,8000,1024,8,1000,,Guaranteed,Failed,2\n"
)


def trace(folder: Path, nodes: str = NODES, pods: str = PODS) -> Inputs:
    (folder / "nodes.csv").write_text(nodes)
    (folder / "pods.csv").write_text(pods)
    return read_openb(folder / "nodes.csv", folder / "pods.csv")


def test_nodes_have_their_capacity_model_and_cards(tmp_path: Path) -> None:
    """Cards are devices; a node without any has no device object."""
    cluster = trace(tmp_path).cluster
    plain, with_cards = cluster.nodes
    assert plain.status.allocatable["cpu"].milli() == 32_000
    assert plain.status.allocatable["memory"].value() == 262_144 * 2**20
    assert plain.status.allocatable["pods"].value() == POD_SLOTS
    assert keys.LABEL_GPU_MODEL not in plain.metadata.labels
    assert with_cards.metadata.labels[keys.LABEL_GPU_MODEL] == "P100"
    assert with_cards.status.allocatable[keys.RESOURCE_GPU_CORE].value() == 200
    (device,) = cluster.devices
    assert device.metadata.name == "n1"
    assert [(card.type, card.minor, card.health) for card in device.spec.devices] == [
        ("gpu", 0, True),
        ("gpu", 1, True),
    ]


def test_pods_ask_for_shares_of_a_card_or_for_whole_ones(tmp_path: Path) -> None:
    """In per cent; all are pending, whatever their phase was."""
    pods = trace(tmp_path).cluster.pods
    requests = [pod_requests(pod, bound=False) for pod in pods]
    assert [each.get(keys.RESOURCE_GPU_CORE, 0) for each in requests] == [100, 46, 0, 800]
    assert [each.get(keys.RESOURCE_GPU_MEMORY_RATIO, 0) for each in requests] == [100, 46, 0, 800]
    assert requests[0]["cpu"] == 12_000
    assert requests[0]["memory"] == 16_384 * 2**20
    assert all(not pod.spec.node_name and not pod.is_finished for pod in pods)


def test_only_ls_is_production_and_the_rest_has_no_class(tmp_path: Path) -> None:
    """Requests stay native even for best effort."""
    pods = trace(tmp_path).cluster.pods
    labels = [pod.metadata.labels.get(keys.LABEL_PRIORITY_CLASS) for pod in pods]
    assert labels == ["koord-prod", None, None, None]


def test_a_gpu_spec_is_a_set_of_models(tmp_path: Path) -> None:
    """It becomes a required affinity to the label of the nodes."""
    pods = trace(tmp_path).cluster.pods
    assert pods[0].spec.affinity is None
    affinity = pods[1].spec.affinity
    assert affinity is not None
    assert affinity.node_affinity is not None
    assert affinity.node_affinity.required is not None
    ((requirement,),) = (
        term.match_expressions for term in affinity.node_affinity.required.node_selector_terms
    )
    assert requirement.key == keys.LABEL_GPU_MODEL
    assert requirement.operator == "In"
    assert requirement.values == ("P100", "V100M16")


def test_traces_without_the_optional_columns_are_read(tmp_path: Path) -> None:
    """Two of the published mixes have five columns only."""
    inputs = trace(tmp_path, pods="name,cpu_milli,memory_mib,num_gpu,gpu_milli\np0,1,1,1,1000\n")
    assert [pod.metadata.name for pod in inputs.cluster.pods] == ["p0"]
    assert not inputs.rejected


@pytest.mark.parametrize(
    ("row", "field", "found"),
    [
        ("p9,-1,1,0,0", "cpu_milli", "'-1'"),
        ("p9,1.5,1,0,0", "cpu_milli", "'1.5'"),
        ("p9,²,1,0,0", "cpu_milli", "'²'"),
        ("p9,1,,0,0", "memory_mib", "''"),
        ("p9,1,9999999999999,0,0", "memory_mib", "'9999999999999'"),
        ("p9,1,1,1,1010", "gpu_milli", "'1010'"),
        ("p9,1,1,1,455", "gpu_milli", "455"),
        ("p9,1,1,2,500", "gpu_milli", "500"),
        ("p9,1,1,0,500", "gpu_milli", "500"),
        ("p9,1,1,1,0", "gpu_milli", "0"),
        (",1,1,0,0", "name", "''"),
        ("a/b,1,1,0,0", "name", "'a/b'"),
        ("a\x1b[31m,1,1,0,0", "name", r"'a\x1b[31m'"),
        ("p9,1,1", "row", "3 cells"),
        ("p9,1,1,0,0,LS", "row", "6 cells"),
    ],
)
def test_a_bad_row_is_left_out_with_its_line(
    tmp_path: Path, row: str, field: str, found: str
) -> None:
    """The rows around it count."""
    header = "name,cpu_milli,memory_mib,num_gpu,gpu_milli\n"
    inputs = trace(tmp_path, pods=f"{header}p0,1,1,0,0\n{row}\np1,1,1,0,0\n")
    assert [pod.metadata.name for pod in inputs.cluster.pods] == ["p0", "p1"]
    (rejected,) = inputs.rejected
    assert rejected.file == f"{tmp_path}/pods.csv:3"
    assert (rejected.field, rejected.found) == (field, found)


def test_a_node_with_cards_needs_their_model_and_a_name_of_its_own(tmp_path: Path) -> None:
    """Both faults are lines of the node list."""
    inputs = trace(tmp_path, nodes=f"{NODES}n2,1,1,1,\nn0,1,1,0,\n")
    assert len(inputs.cluster.nodes) == 2
    assert {(each.object, each.field) for each in inputs.rejected} == {
        ("Node n2", "model"),
        ("Node n0", "metadata.name"),
    }


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        ("", "line 1: no column name"),
        ("name,cpu_milli\np0,1\n", "line 1: no column memory_mib"),
        (PODS + 'p9,"1', "line 6: "),
    ],
)
def test_a_file_that_is_no_trace_is_unreadable(tmp_path: Path, pods: str, expected: str) -> None:
    """One line with the file."""
    with pytest.raises(UnreadableInput, match=expected):
        trace(tmp_path, pods=pods)
