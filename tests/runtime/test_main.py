"""The command line: words, exit statuses, and one line for every fault."""

import json
import subprocess
import sys
from importlib.metadata import PackageNotFoundError

import pytest

from koordopt.errors import VerificationError
from koordopt.runtime.planner.session import Session, Sources
from tests.runtime.conftest import Run, Write
from tests.runtime.manifests import Manifest, node, pod

NEGATIVE = pod("bad", "-1")
WRONG = node("b", "4x")


def koordopt(*words: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run ``python -m koordopt`` as a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "koordopt", *words],
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.mark.parametrize("words", [["--help"], ["plan", "--help"], ["explain", "--help"]])
def test_help_is_status_0_and_shows_usage(run: Run, words: list[str]) -> None:
    ran = run(*words)
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.startswith("Usage: koordopt")


@pytest.mark.parametrize("verb", ["plan", "explain", "verify"])
def test_every_verb_has_examples(run: Run, verb: str) -> None:
    assert f"Examples:\n    koordopt {verb}" in run(verb, "--help").out.replace(
        "kubectl get nodes,pods -A -o yaml > cluster.yaml\n    ", ""
    ).replace("koordopt plan cluster.yaml -o json > plan.json\n    ", "")


def test_help_loads_neither_numpy_nor_pydantic() -> None:
    code = (
        "import sys, koordopt.runtime.main\n"
        "print(sorted({'numpy', 'pydantic', 'scipy', 'rich', 'yaml'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_version_is_that_of_the_package(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.metadata.version", lambda name: {"koordopt": "1.2.3"}[name])
    assert run("--version") == (0, "koordopt 1.2.3\n", "")


def test_a_checkout_that_is_not_installed_has_no_version(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr("importlib.metadata.version", missing)
    ran = run("--version")
    assert (ran.status, ran.err) == (0, "")
    assert "checkout" in ran.out


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["nope"],
        ["plan"],
        ["plan", "--nope"],
        ["plan", "--demo", "-o", "xml"],
        ["plan", "--demo", "--policy", "window"],
        ["plan", "--demo", "--policy", "exact"],
        ["plan", "--demo", "--policy", "best"],
        ["plan", "--demo", "--max-input", "3Q"],
        ["plan", "--demo", "--profile", "x"],
        ["plan", "--demo", "--report", "/no/such/folder/plan.html"],
        ["plan", "--demo", "also-a-file.yaml"],
        ["plan", "--nodes", "nodes.csv"],
        ["plan", "no-such-file.yaml"],
        ["explain", "nobody", "--demo"],
        ["verify", "--demo"],
        ["verify", "no-such-plan.json", "--demo"],
    ],
    ids=" ".join,
)
def test_wrong_words_are_one_line_and_status_2(run: Run, words: list[str]) -> None:
    ran = run(*words)
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith("koordopt: ")
    assert ran.err.count("\n") == 1


ALIASES = "a0: &a0 [x, x]\n" + "".join(
    f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]\n" for i in range(1, 3000)
)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"\n\n", id="blank"),
        pytest.param(b"kind: \xff\xfe", id="invalid UTF-8"),
        pytest.param(b'{"kind": "List", "items": [', id="truncated JSON"),
        pytest.param(b'{"a":' * 100_000, id="JSON 100,000 deep"),
        pytest.param(b"[" * 100_000, id="arrays 100,000 deep"),
        pytest.param(ALIASES.encode(), id="aliases by the thousand"),
        pytest.param(b"a: [", id="truncated YAML"),
        pytest.param(b"- 1\n- 2\n", id="no mapping"),
    ],
)
@pytest.mark.parametrize("name", ["cluster.yaml", "cluster.json"])
def test_unreadable_input_is_one_line_status_2_and_no_plan(
    run: Run, write: Write, content: bytes, name: str
) -> None:
    path = write(content, name)
    ran = run("plan", path, "-o", "json")
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith(f"koordopt: {path}: ")
    assert ran.err.count("\n") == 1


def test_input_over_the_limit_is_refused_whole(run: Run, write: Write) -> None:
    ran = run("plan", write([node("a")]), "--max-input", "100B")
    assert (ran.status, ran.out) == (2, "")
    assert "--max-input" in ran.err


@pytest.mark.parametrize(
    ("bad", "label", "field"),
    [
        pytest.param(WRONG, "Node b", "status.allocatable.cpu", id="wrong quantity"),
        pytest.param(NEGATIVE, "Pod default/bad", "requests.cpu", id="negative request"),
        pytest.param(node("a", "9"), "Node a", "metadata.name", id="duplicate name"),
    ],
)
def test_a_bad_object_is_left_out_and_the_rest_is_planned(
    run: Run, write: Write, bad: Manifest, label: str, field: str
) -> None:
    path = write([node("a"), pod("good"), bad])
    as_json, as_table = run("plan", path, "-o", "json"), run("plan", path)
    assert (as_json.status, as_json.err) == (2, "")
    assert [each["pod"] for each in as_json.value["placements"]] == ["default/good"]
    (rejected,) = as_json.value["rejected"]
    assert rejected["object"] == label
    assert rejected["field"].endswith(field)
    assert as_table.status == 2
    assert as_table.err.count("\n") == 1
    assert label in as_table.err
    assert as_table.out.startswith("1 of 1 pending pods placed")


def test_a_pod_on_a_missing_node_is_a_warning(run: Run, write: Write) -> None:
    path = write([node("a"), pod("lost", on="gone")])
    as_json, as_table = run("plan", path, "-o", "json"), run("plan", path)
    assert (as_json.status, as_json.err, as_table.status) == (0, "", 0)
    assert any("gone" in warning for warning in as_json.value["warnings"])
    assert as_table.err.startswith("koordopt: warning: Pod default/lost")


def test_unplaced_pods_are_an_answer_unless_all_must_be_placed(run: Run, write: Write) -> None:
    path = write([node("a", "1"), pod("big", "2")])
    assert run("plan", path).status == 0
    strict = run("plan", path, "--require-complete")
    assert strict.status == 1
    assert strict.err == "koordopt: 1 pending pods stay unplaced.\n"
    assert run("plan", write([node("a")]), "--require-complete").status == 0


def test_rejected_objects_outrank_an_incomplete_plan(run: Run, write: Write) -> None:
    path = write([node("a", "1"), pod("big", "2"), WRONG])
    assert run("plan", path, "--require-complete").status == 2


def test_standard_input_is_a_cluster_too() -> None:
    text = json.dumps({"kind": "NodeList", "apiVersion": "v1", "items": [node("a")]})
    done = koordopt("plan", "-", "-o", "json", stdin=text)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["placements"] == []


def test_a_fault_in_a_process_of_its_own_leaves_no_traceback() -> None:
    done = koordopt("plan", "-", stdin='{"a":' * 100_000)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("koordopt: standard input: nested too deep")
    assert done.stderr.count("\n") == 1


def test_a_reader_that_goes_away_ends_it_quietly() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "koordopt", "plan", "--demo"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        errors = process.stderr.read()
    assert (process.returncode, errors) == (141, b"")


def test_an_interrupt_ends_it_quietly(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: Sources) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Sources, "read", interrupted)
    assert run("plan", "--demo") == (130, "", "")


@pytest.mark.parametrize("error", [OSError("disk full"), VerificationError("a rule is broken")])
def test_what_the_caller_cannot_mend_is_status_3(
    run: Run, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def failing(*_: object) -> None:
        raise error

    monkeypatch.setattr(Session, "solve", failing)
    assert run("plan", "--demo") == (3, "", f"koordopt: {error}\n")
