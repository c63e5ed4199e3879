"""What reaches a terminal or a page, and what happens where a stream or a file is not there."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from koordopt.runtime.planner.reading.inputs import UnreadableInput
from koordopt.runtime.planner.reading.reader import read
from tests.runtime.conftest import Run, Write
from tests.runtime.manifests import node, pod

NASTY = "red\x1b[31m\x07\x9b\u202e\u2028\nend"
CONTROLS = "\x1b\x07\x9b\u202e\u2028"
HARMLESS = r"red\x1b[31m\x07\x9b\u202e\u2028\nend"


def nasty_cluster():
    """Return pods that bring a name into reasons and warnings which no API server would take."""
    gated = pod("gated")
    gated["spec"]["schedulingGates"] = [{"name": NASTY}]
    grouped = pod("grouped")
    grouped["metadata"]["labels"] = {"pod-group.scheduling.sigs.k8s.io": NASTY}
    lost = pod("lost")
    lost["spec"]["nodeName"] = NASTY
    return [node("a"), gated, grouped, lost]


@pytest.mark.parametrize("verb", [("plan",), ("explain", "--cluster")])
def test_names_move_no_cursor(run: Run, write: Write, verb: tuple[str, ...]) -> None:
    ran = run(*verb, write(nasty_cluster()))
    assert ran.status == 0
    assert f"waits for scheduling gate {HARMLESS}" in ran.out
    assert f"can't find gang default/{HARMLESS}" in ran.out
    assert f"node {HARMLESS} is not in the input" in ran.err
    assert not set(CONTROLS) & set(ran.out + ran.err)


def test_a_report_shows_them_as_text_too(run: Run, write: Write, tmp_path: Path) -> None:
    page = tmp_path / "plan.html"
    assert run("plan", write(nasty_cluster()), "--report", page).status == 0
    body = page.read_text(encoding="utf-8").partition("<script>")[0]
    assert HARMLESS in body
    assert not set(CONTROLS) & set(body)


def test_an_error_shows_the_name_of_a_file_as_text(run: Run, tmp_path: Path) -> None:
    ran = run("plan", tmp_path / "red\x1b[31m\u202e.yaml")
    assert ran.status == 2
    assert r"red\x1b[31m\u202e.yaml: does not exist" in ran.err


def koordopt(words: str) -> subprocess.CompletedProcess[str]:
    """Run the command line of a shell."""
    command = f"exec {sys.executable} -c 'from koordopt.runtime.main import main; main()' {words}"
    return subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("words", ["plan --demo", "plan --demo -o json", "explain --demo"])
def test_a_closed_output_is_an_outside_failure(words: str) -> None:
    done = koordopt(f"{words} >&-")
    assert (done.returncode, done.stderr) == (3, "koordopt: standard output is closed\n")


def test_a_closed_input_cannot_be_read() -> None:
    done = koordopt("plan - <&-")
    assert done.returncode == 2
    assert done.stderr.startswith("koordopt: standard input: cannot be read")


def test_a_file_of_a_folder_that_leads_nowhere_is_told(tmp_path: Path, write: Write) -> None:
    """Planning without it would give its nodes and pods away."""
    write([node("a")])
    (tmp_path / "gone.yaml").symlink_to(tmp_path / "moved")
    with pytest.raises(UnreadableInput, match=r"gone\.yaml: cannot be read \(No such file"):
        read([tmp_path])
    (tmp_path / "gone.yaml").unlink()
    (tmp_path / "loop.yaml").symlink_to(tmp_path / "loop.yaml")
    with pytest.raises(UnreadableInput, match=r"loop\.yaml: cannot be read \(Too many levels"):
        read([tmp_path])


def test_pipes_in_a_folder_are_passed_over(tmp_path: Path, write: Write) -> None:
    write([node("a")])
    os.mkfifo(tmp_path / "pipe.yaml")
    assert len(read([tmp_path]).cluster.nodes) == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root may look into every folder")
def test_a_folder_that_may_not_be_looked_into_is_told(tmp_path: Path, write: Write) -> None:
    write([node("a")])
    (tmp_path / "closed").mkdir(mode=0)
    with pytest.raises(UnreadableInput, match=r"closed: cannot be read \(Permission denied\)"):
        read([tmp_path])


def test_a_path_that_is_too_long_cannot_be_read() -> None:
    with pytest.raises(UnreadableInput, match="cannot be read"):
        read([Path("x" * 5000)])
