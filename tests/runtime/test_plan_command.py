"""``koordopt plan``: the object for programs, the tables for people."""

import json
import random
import re
from importlib.resources import files

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from koordopt.runtime.planner.display.tables import MOST_ROWS, Page, plan_text
from koordopt.runtime.planner.session import Session, Sources
from tests.runtime.conftest import Run, Write
from tests.runtime.manifests import as_list, device, member, node, pod, pod_group

KEYS = [
    "status",
    "limit",
    "method",
    "levels",
    "gap",
    "placements",
    "unplaced",
    "evictions",
    "warnings",
    "rejected",
]
DEMO = yaml.safe_load(
    files("koordopt.runtime.planner.demo").joinpath("cluster.yaml").read_text(encoding="utf-8")
)["items"]


def test_the_object_has_the_documented_keys(run: Run) -> None:
    value = run("plan", "--demo", "-o", "json").value
    assert list(value) == KEYS
    assert (value["status"], value["method"], value["limit"]) == ("heuristic", "greedy", "none")
    assert all(set(each) >= {"pod", "node", "step"} for each in value["placements"])
    assert all(list(each) == ["pod", "reason", "relaxation"] for each in value["unplaced"])
    assert list(value["levels"][0]) == ["name", "sense", "objective", "bound", "gap"]
    assert list(value["unplaced"][0]["reason"]) == [
        "rule",
        "object",
        "message",
        "eviction_could_help",
    ]


def test_yaml_says_the_same_as_json(run: Run) -> None:
    as_yaml = run("plan", "--demo", "-o", "yaml").out
    assert yaml.safe_load(as_yaml) == run("plan", "--demo", "-o", "json").value
    assert "&id" not in as_yaml


def test_timings_are_told_only_when_asked_for(run: Run) -> None:
    timings = run("plan", "--demo", "-o", "json", "--timings").value["timings"]
    assert list(timings) == ["read_s", "snapshot_s", "problem_s", "solve_s"]
    assert all(seconds >= 0 for seconds in timings.values())
    assert "solve_s: " in run("plan", "--demo", "--timings").out


def test_devices_stand_beside_the_placement(run: Run, write: Write) -> None:
    gpu = {"nvidia.com/gpu": "2"}
    path = write([node("a", **gpu), device("a", 2), pod("p", **gpu)])
    (placed,) = run("plan", path, "-o", "json").value["placements"]
    assert [(d["type"], d["minor"], d["share"]) for d in placed["devices"]] == [
        ("gpu", 0, 1000),
        ("gpu", 1, 1000),
    ]


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32), cut=st.integers(0, len(DEMO)))
def test_the_same_bytes_whatever_the_order_of_objects_and_files(
    run: Run, write: Write, seed: int, cut: int
) -> None:
    items = random.Random(seed).sample(DEMO, len(DEMO))
    first, second = write(as_list(items[:cut]), "a.json"), write(as_list(items[cut:]), "b.json")
    shuffled = run("plan", second, first, "-o", "json")
    assert shuffled == run("plan", "--demo", "-o", "json")


def test_the_same_bytes_with_bad_objects_in_any_order(run: Run, write: Write) -> None:
    items = [node("a"), node("a", "2"), pod("p"), pod("p", "2"), pod("q", "x"), pod("r", "-1")]
    outputs = {
        run("plan", write(random.Random(seed).sample(items, len(items))), "-o", "json").out
        for seed in range(6)
    }
    assert len(outputs) == 1
    assert len(json.loads(outputs.pop())["rejected"]) == 4


def test_output_in_a_pipe_has_neither_colours_nor_boxes_nor_cut_cells(
    run: Run, write: Write
) -> None:
    long = "x" * 200
    text = run("plan", write([node("a", "1"), pod(long), pod("big", "9")])).out
    assert "\x1b" not in text
    assert "─" not in text
    assert f"default/{long}" in text


def test_a_terminal_gets_lines_within_its_width() -> None:
    solved = Session.open(Sources(demo=True)).solve("greedy")
    for width in (60, 80, 120, 200):
        text = plan_text(solved, Page(is_terminal=True, width=width))
        plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
        tables = [line for line in plain.splitlines() if "─" in line]
        assert tables
        assert max(map(len, tables)) <= width
    assert "\x1b[1m" in text


def test_the_summary_counts_pods_gangs_and_priorities(run: Run, write: Write) -> None:
    path = write(
        [
            node("a", "4"),
            pod_group("g", 2),
            member("g-1", "g"),
            member("g-2", "g"),
            pod("high", priority=100),
            pod("big", "8"),
        ]
    )
    text = run("plan", path).out
    assert text.startswith("3 of 4 pending pods placed (1 nodes, 4 pods)\n")
    assert "  gangs: 1 of 1\n  priority 100: 1 of 1\n  priority 0: 2 of 3\n" in text
    assert "Gang default/g" in text
    assert re.search(r"^capacity +1 .*default/big", text, re.MULTILINE)


def test_pods_of_one_owner_share_a_row(run: Run, write: Write) -> None:
    pods = [pod(f"web-{i}", owner=("StatefulSet", "web")) for i in range(3)]
    text = run("plan", write([node("a", "2"), node("b", "1"), *pods])).out
    assert re.search(r"^StatefulSet default/web +3 of 3 +a ×2, b$", text, re.MULTILINE)


def test_long_tables_are_cut_with_a_note(run: Run, write: Write) -> None:
    pods = [pod(f"p{i:03}", "10m") for i in range(MOST_ROWS + 7)]
    nodes = [node(f"n{i:03}") for i in range(MOST_ROWS + 2)]
    text = run("plan", write([*nodes, *pods])).out
    assert "… and 7 more (-o json)\n" in text
    assert "… and 2 more (--report)\n" in text


def test_bars_show_what_was_used_and_what_is_new() -> None:
    page = Page(is_terminal=False)
    assert page.bar(20, 50) in ("██▓▓▓░░░░░", "##+++.....")
    assert page.bar(0, 0) in ("░" * 10, "." * 10)
    assert page.bar(150, 150) in ("█" * 10, "#" * 10)


def test_a_trace_is_planned_like_a_cluster(run: Run, write: Write) -> None:
    nodes = write("sn,cpu_milli,memory_mib,gpu,model\nn1,8000,1024,1,T4\n", "nodes.csv")
    pods = write(
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli\np1,1000,10,1,500\np2,1000,10,1,600\n",
        "pods.csv",
    )
    value = run("plan", "--nodes", nodes, "--pods", pods, "-o", "json").value
    assert len(value["placements"]) == 1
    assert value["unplaced"][0]["reason"]["rule"] == "device"


@pytest.mark.parametrize("size", ["1000000", "1MB", "1MiB", "1Gi", "2 GB"])
def test_sizes_are_read_with_and_without_units(run: Run, size: str) -> None:
    assert run("plan", "--demo", "--max-input", size).status == 0
