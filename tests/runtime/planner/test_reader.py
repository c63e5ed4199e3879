"""Reading a cluster from files, folders and standard input."""

import io
import json
import os
import random
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from koordopt.errors import InvalidInputError
from koordopt.runtime.planner.reading.inputs import Inputs, UnreadableInput
from koordopt.runtime.planner.reading.reader import read
from koordopt.runtime.planner.reading.yamltext import read_yaml, resolve_plain
from tests.runtime.planner.manifests import node, pod, workload, write

POD_YAML = """\
apiVersion: v1
kind: Pod
metadata: {name: web-0, namespace: shop}
spec: {containers: [{name: main, resources: {requests: {cpu: 500m, memory: 1Gi}}}]}
"""


def keys(inputs: Inputs) -> list[str]:
    return [each.key for each in inputs.cluster.pods]


def only_line(inputs: Inputs) -> str:
    (rejected,) = inputs.rejected
    return str(rejected)


def unreadable(path: Path, **limits: int) -> str:
    """Return the line that reading a file ends with."""
    with pytest.raises(UnreadableInput) as caught:
        read([path], **limits)
    line = str(caught.value)
    assert "\n" not in line
    return line.replace(f"{path.parent}/", "")


def read_or_refuse(path: Path) -> Inputs | None:
    """Return what a file holds, or None where it is refused with one line."""
    line = ""
    try:
        return read([path])
    except UnreadableInput as error:
        line = str(error)
    assert line
    assert "\n" not in line
    return None


# Forms of input.


def test_every_form_of_one_cluster_reads_the_same(tmp_path: Path) -> None:
    """A list, a stream of documents and one document after another, in YAML and in JSON."""
    objects = [pod("a"), pod("b"), node()]
    listed = {"apiVersion": "v1", "kind": "List", "metadata": None, "items": objects}
    forms = {
        "list.yaml": yaml.safe_dump(listed),
        "stream.yml": yaml.safe_dump_all(objects),
        "list.json": json.dumps(listed, indent=4),
        "lines.json": "\n".join(map(json.dumps, objects)),
        "pretty.json": "\n".join(json.dumps(each, indent=2) for each in objects),
        "json-in.yaml": json.dumps(listed),
        "json-stream.yaml": "\n---\n".join(map(json.dumps, objects)),
    }
    clusters = []
    for name, text in forms.items():
        path = tmp_path / name
        path.write_text(text)
        inputs = read([path])
        assert not inputs.rejected
        clusters.append(inputs.cluster)
    assert [each.key for each in clusters[0].pods] == ["shop/a", "shop/b"]
    assert all(each == clusters[0] for each in clusters)


def test_items_of_a_typed_list_take_their_kind_from_it(tmp_path: Path) -> None:
    """The API server leaves kind and version out of the items of a ``PodList``."""
    items = [
        {key: value for key, value in pod(name).items() if key in ("metadata", "spec")}
        for name in "ab"
    ]
    listed = {"items": items, "kind": "PodList", "apiVersion": "v1"}
    for name, text in (("a.json", json.dumps(listed)), ("a.yaml", yaml.safe_dump(listed))):
        path = tmp_path / name
        path.write_text(text)
        assert keys(read([path])) == ["shop/a", "shop/b"]


def test_a_folder_gives_its_manifests_and_passes_over_the_rest(tmp_path: Path) -> None:
    """Sub-folders count; hidden folders, other files and files without our kinds do not hurt."""
    (tmp_path / "apps").mkdir()
    (tmp_path / ".git").mkdir()
    write(tmp_path / "apps" / "b.json", pod("b"))
    write(tmp_path / "a.yaml", pod("a"))
    (tmp_path / ".git" / "c.yaml").write_text("[broken")
    (tmp_path / "README.md").write_text("no manifest")
    (tmp_path / "other.yml").write_text("apiVersion: v1\nkind: Secret\nmetadata: {name: x}\n")
    inputs = read([tmp_path])
    assert keys(inputs) == ["shop/a", "shop/b"]
    assert inputs.files["Pod shop/b"] == str(tmp_path / "apps" / "b.json")


def test_a_file_that_is_named_twice_is_read_once(tmp_path: Path) -> None:
    """As a file and as part of its folder."""
    path = write(tmp_path / "a.json", pod())
    assert not read([path, tmp_path, tmp_path / "." / "a.json"]).rejected


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Beside a file."""
    stdin = io.TextIOWrapper(io.BytesIO(POD_YAML.encode()))
    monkeypatch.setattr("sys.stdin", stdin)
    inputs = read(["-", write(tmp_path / "a.json", node())])
    assert keys(inputs) == ["shop/web-0"]
    assert inputs.files["Pod shop/web-0"] == "standard input"


def test_a_pipe_is_read(tmp_path: Path) -> None:
    """``koordopt plan <(kubectl get ...)`` names a file that cannot be measured beforehand."""
    reading, writing = os.pipe()
    os.write(writing, POD_YAML.encode())
    os.close(writing)
    try:
        assert keys(read([Path(f"/dev/fd/{reading}")])) == ["shop/web-0"]
    finally:
        os.close(reading)


# Leniency.


def test_unknown_fields_null_fields_and_unknown_kinds_are_passed_over(tmp_path: Path) -> None:
    """A real list has all three."""
    odd = pod("odd", newField={"deep": [1, None]}, tolerations=None, affinity=None)
    odd["metadata"] |= {"labels": None, "annotations": None, "managedFields": [{"f:x": {}}]}
    odd["status"] = None
    event = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"}, "count": 3}
    foreign = {"apiVersion": "example.com/v1", "kind": "Pod", "metadata": {"name": "x"}}
    inputs = read([write(tmp_path / "a.json", odd, event, foreign)])
    assert keys(inputs) == ["shop/odd"]
    assert not inputs.rejected


@pytest.mark.parametrize("kind", ["List", "PodList", "DeploymentList"])
def test_a_list_in_a_list_is_not_lost_without_a_word(tmp_path: Path, kind: str) -> None:
    """No client writes one, but nodes and pods in it must not just be missing."""
    inner = {"apiVersion": "v1", "kind": kind, "items": [pod("web-0")]}
    for file in (tmp_path / "cluster.json", tmp_path / "cluster.yaml"):
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": [node("a"), inner]})
        file.write_text(text, encoding="utf-8")
        (rejected,) = read([file]).rejected
        assert (rejected.field, rejected.found) == ("kind", "a list in a list")
        assert rejected.object == f"{kind} (document 1, items[1])"


def test_one_odd_object_does_not_sink_the_list(tmp_path: Path) -> None:
    """Three objects, one with a list where a mapping should be: two usable, one line."""
    odd = pod("odd")
    odd["spec"]["containers"] = {"name": "main"}
    inputs = read([write(tmp_path / "a.json", pod("a"), odd, pod("b"))])
    assert keys(inputs) == ["shop/a", "shop/b"]
    assert "Pod shop/odd: spec.containers" in only_line(inputs)


def test_an_object_without_namespace_is_in_default(tmp_path: Path) -> None:
    """Pods and workloads alike."""
    deployment = workload("Deployment")
    del deployment["metadata"]["namespace"]
    inputs = read([write(tmp_path / "a.json", pod(namespace=None), deployment)])
    assert keys(inputs) == ["default/web-0"]
    assert inputs.workloads[0].namespace == "default"


def test_a_generated_name_is_the_same_on_every_reading(tmp_path: Path) -> None:
    """``generateName`` stands in for a name that the API server would make up."""
    nameless = pod()
    nameless["metadata"] = {"generateName": "run-"}
    path = write(tmp_path / "a.json", nameless)
    (key,) = keys(read([path]))
    assert key.startswith("default/run-")
    assert keys(read([path])) == [key]


# Bad objects.


@pytest.mark.parametrize(
    ("change", "field", "found"),
    [
        ({"requests": {"cpu": "1Gx"}}, "requests.cpu", "'1Gx'"),
        ({"requests": {"memory": "-1"}}, "requests.memory", "'-1'"),
        ({"requests": {"memory": -1}}, "requests.memory", "-1"),
        ({"limits": {"cpu": [1]}}, "limits.cpu", "a list"),
        ({"requests": {"cpu": "9" * 5000}}, "requests.cpu", "'999"),
    ],
)
def test_a_bad_amount_is_one_line_with_field_and_value(
    tmp_path: Path, change: dict[str, Any], field: str, found: str
) -> None:
    """And the pod beside it is read."""
    bad = pod("bad")
    bad["spec"]["containers"][0]["resources"] = change
    inputs = read([write(tmp_path / "a.json", bad, pod("good"))])
    assert keys(inputs) == ["shop/good"]
    (rejected,) = inputs.rejected
    assert rejected.object == "Pod shop/bad"
    assert rejected.field.endswith(field)
    assert rejected.found.startswith(found)
    assert "quantity" in rejected.expected


@pytest.mark.parametrize("number", ["1e999", "9" * 400, "9" * 6000, "-1e400"])
def test_a_number_beyond_every_type_is_a_bad_object_not_a_bad_file(
    tmp_path: Path, number: str
) -> None:
    """In JSON and in YAML."""
    text = json.dumps(pod("bad")).replace('"cpu": "1"', f'"cpu": {number}')
    for suffix in ("json", "yaml"):
        path = tmp_path / f"a.{suffix}"
        path.write_text(text)
        assert only_line(read([path])).startswith(f"{path}: Pod shop/bad: spec.containers[0]")


def test_objects_without_kind_version_or_name_are_listed_by_their_place(tmp_path: Path) -> None:
    """There is nothing else to call them by."""
    bare = {"apiVersion": "v1", "kind": "Pod"}
    path = write(tmp_path / "a.json", {"metadata": {}}, {"kind": "Pod"}, bare, [])  # type: ignore[arg-type]
    fields = {each.object: each.field for each in read([path]).rejected}
    assert fields == {
        "document 1, items[0]": "kind",
        "Pod (document 1, items[1])": "apiVersion",
        "Pod (document 1, items[2])": "metadata.name",
        "document 1, items[3]": "object",
    }


def test_a_line_stays_one_line_whatever_names_hold(tmp_path: Path) -> None:
    """Names, namespaces, fields and keys come from the file, and files come from anywhere."""
    amounts = pod("a")
    amounts["spec"]["containers"][0]["resources"] = {"requests": {"x\n\x1b[2J": "-1"}}
    objects = [pod("a\nb"), pod("c", namespace="d\re"), {"kind": "Po\nd"}, amounts]
    inputs = read([write(tmp_path / "a.json", *objects, pod("e", namespace="f/g"))])
    assert len(inputs.rejected) == 5
    assert all(str(each).isprintable() for each in inputs.rejected)


def test_of_objects_with_one_name_one_is_kept_whatever_their_order(tmp_path: Path) -> None:
    """Across files, and not the first: the choice depends on what they say."""
    small, large = pod(priority=1), pod(priority=2)
    kept = []
    for first, second in ((small, large), (large, small)):
        paths = [write(tmp_path / "a.json", first), write(tmp_path / "b.json", second)]
        inputs = read(paths)
        assert "Pod shop/web-0: metadata.name is a duplicate" in only_line(inputs)
        kept.append(inputs.cluster.pods)
    assert kept[0] == kept[1]


def test_an_equal_copy_is_a_duplicate_too(tmp_path: Path) -> None:
    """Custom resources, workloads and pods."""
    quota = {
        "apiVersion": "scheduling.sigs.k8s.io/v1alpha1",
        "kind": "ElasticQuota",
        "metadata": {"name": "team", "namespace": "shop"},
        "spec": {"max": {"cpu": "4"}},
    }
    objects = [pod(), quota, workload("Deployment")]
    inputs = read([write(tmp_path / "a.json", *objects, *objects)])
    assert len(inputs.cluster.pods) == len(inputs.cluster.elastic_quotas) == 1
    assert len(inputs.workloads) == 1
    assert [each.field for each in inputs.rejected] == ["metadata.name"] * 3


def test_a_key_that_yaml_gives_twice_is_a_bad_object(tmp_path: Path) -> None:
    """Which of the two was meant nobody can know."""
    path = tmp_path / "a.yaml"
    path.write_text(POD_YAML + "metadata: {name: other}\n---\n" + POD_YAML.replace("web-0", "b"))
    inputs = read([path])
    assert keys(inputs) == ["shop/b"]
    assert "metadata is given twice, again on line 5" in only_line(inputs)


def test_the_order_of_objects_and_files_changes_nothing(tmp_path: Path) -> None:
    """Rejected ones included."""
    objects = [pod(name) for name in "cabd"] + [node(name) for name in "yx"]
    objects += [pod("a", priority=3), pod("bad", priority="high"), workload("Job")]
    random.seed(0)
    results = []
    for turn in range(4):
        random.shuffle(objects)
        path = tmp_path / "all.json"
        write(path, *objects)
        extra = write(tmp_path / "b.json", pod("z"))
        inputs = read([path, extra] if turn % 2 else [extra, path])
        results.append((inputs.cluster, inputs.workloads, inputs.rejected))
    assert all(each == results[0] for each in results)


# Unreadable input.


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("a.yaml", b"", "a.yaml: is empty"),
        ("a.json", b" \n\t", "a.json: is empty"),
        ("a.yaml", b"# nothing\n---\n", "a.yaml: holds no object"),
        ("a.yaml", b"kind: \xff\xfe\n", "a.yaml: line 1: byte 0xff is not UTF-8"),
        ("a.json", b'{"kind":"Pod","x":"\xc3("}', "a.json: line 1: byte 0xc3 is not UTF-8"),
        ("a.json", b'{"kind":"List","items":[{"kind"', "a.json: line 1: ends within a value"),
        ("a.json", b'{"kind":\n  nope}', "a.json: line 2, column 4: "),
        ("a.json", b"[1, 2]", "a.json: an array or a single value"),
        ("a.json", b'{"a":' * 100_000, "a.json: nested too deep"),
        ("a.json", b'{"items":[' + b"[" * 100_000 + b"]" * 100_000 + b"]}", "a.json: nested too"),
        ("a.yaml", b"a: " + b"[" * 100_000, "a.yaml: line 1"),
        ("a.yaml", b"".join(b" " * i + b"a:\n" for i in range(200)), "a.yaml: line 101: nested"),
        ("a.yaml", b"a:\n\tb: c\n", "a.yaml: line 2, column 1: "),
        ("a.yaml", b"kind: Pod\nx: \0\n", "a.yaml: line 2: control characters"),
        ("a.yaml", b"just words\n", "a.yaml: line 1: document 1 is a single value"),
        ("a.yaml", b"- kind: Pod\n", "a.yaml: line 1: document 1 is a sequence"),
        ("a.yaml", b"a: !!python/name:os.system x\n", "a.yaml: line 1: "),
        ("a.yaml", b"a: !Ref [x]\n", "a.yaml: line 1: tag '!Ref'"),
        ("a.yaml", b"a: *b\n", "a.yaml: line 1: alias 'b' has no anchor"),
        ("a.yaml", b"a: &a [*a]\n", "a.yaml: line 1: alias 'a' stands for a value that holds it"),
        ("a.yaml", b"? [a]\n: b\n", "a.yaml: line 1: a key is not a single value"),
        ("a.yaml", b"<<: 3\n", "a.yaml: line 1: << merges something else"),
    ],
)
def test_an_unreadable_file_is_one_line_that_says_where(
    tmp_path: Path, name: str, data: bytes, expected: str
) -> None:
    """No plan follows."""
    path = tmp_path / name
    path.write_bytes(data)
    assert unreadable(path).startswith(expected)


def test_an_invalid_byte_far_into_a_file_is_found_with_its_line(tmp_path: Path) -> None:
    """Also where a character straddles the pieces in which the file is checked."""
    path = tmp_path / "a.yaml"
    path.write_bytes(b"# " + b"x" * (2**20 - 4) + "\n€".encode() + b"\n\n\xe2\x82\n")
    assert unreadable(path).startswith("a.yaml: line 4: byte 0xe2 is not UTF-8")


def test_input_beyond_the_limit_is_refused_whatever_it_is(tmp_path: Path) -> None:
    """One file, or several together."""
    first, second = write(tmp_path / "a.json", pod("a")), write(tmp_path / "b.json", pod("b"))
    size = first.stat().st_size
    assert "exceeds the 100 bytes of --max-input" in unreadable(first, max_input=100)
    assert keys(read([first, second], max_input=2 * size)) == ["shop/a", "shop/b"]
    with pytest.raises(UnreadableInput, match=r"b\.json: exceeds"):
        read([first, second], max_input=2 * size - 1)


def test_missing_and_empty_places_are_refused(tmp_path: Path) -> None:
    """A file that is not there, a folder without manifests, nothing at all."""
    assert "does not exist" in unreadable(tmp_path / "none.yaml")
    (tmp_path / "folder").mkdir()
    assert "without manifests" in unreadable(tmp_path / "folder")
    with pytest.raises(UnreadableInput, match="no input"):
        read([])


def test_aliases_by_the_thousand_are_refused_before_they_cost_anything(tmp_path: Path) -> None:
    """Nested ones that multiply, one large value many times, and sheer number."""
    levels = [b"a: &a [x, x, x, x, x, x, x, x]"]
    levels += [b"%c: &%c [%s]" % (c, c, b", ".join([b"*%c" % (c - 1)] * 8)) for c in b"bcdefghij"]
    cases = {
        b"\n".join(levels): "aliases stand for more than",
        b"a: &a [" + b"x, " * 100_000 + b"]\nb: [" + b"*a, " * 900 + b"]": "aliases stand for",
        b"a: &a x\nb: [" + b"*a, " * 5_000 + b"]": "more than 1000 aliases in one object",
        b"items:\n- &a {kind: Pod}\n" + b"- *a\n" * 5_000: "more than 1000 aliases",
    }
    path = tmp_path / "a.yaml"
    for data, expected in cases.items():
        path.write_bytes(data)
        assert expected in unreadable(path)


def test_items_that_share_parts_by_alias_are_read(tmp_path: Path) -> None:
    """Writers of YAML share equal parts, thousands of times in a long list."""
    labels = {"app": "web"}
    objects = [pod(f"web-{i}") for i in range(3_000)]
    for each in objects:
        each["metadata"]["labels"] = labels
    path = tmp_path / "a.yaml"
    path.write_text(yaml.dump({"kind": "List", "items": objects}, Dumper=yaml.CSafeDumper))
    assert path.read_text().count("*id001") == 2_999
    inputs = read([path])
    assert len(inputs.cluster.pods) == 3_000
    assert not inputs.rejected


def test_merged_keys_yield_to_those_that_stand_there(tmp_path: Path) -> None:
    """And of several merged mappings the first wins."""
    text = "a: &a {x: 1, y: 1}\nb: &b {x: 2, z: 2}\nkind: K\nc: {<<: [*a, *b], y: 3}\n<<: *b\n"
    (document,) = read_yaml(text.encode())
    assert isinstance(document.value, dict)
    assert document.value["c"] == {"x": 1, "y": 3, "z": 2}
    assert document.value["z"] == 2
    assert document.repeated_key is None


# Values of plain scalars.


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", True), ("Off", False), ("y", "y"), ("n", "n"), ("~", None), ("", None),
        ("010", 8), ("0o17", 15), ("0x1F", 31), ("-7", -7), ("+7", 7), ("0", 0), ("09", 9.0),
        ("1e3", 1000.0), (".5", 0.5), ("1.", 1.0), ("1_000", "1_000"), ("12:30:45", "12:30:45"),
        ("2024-05-01", "2024-05-01"), ("2024-05-01T10:00:00Z", "2024-05-01T10:00:00Z"),
        ("9223372036854775807", 2**63 - 1), ("1e999", "1e999"), ("-", "-"), (".", "."),
        ("500m", "500m"), ("4Gi", "4Gi"), ("null", None), ("NULL", None), ("nullx", "nullx"),
    ],
)  # fmt: skip
def test_a_plain_scalar_means_what_it_means_to_kubectl(text: str, value: object) -> None:
    """Strings that look like dates or base-60 numbers stay strings."""
    resolved = resolve_plain(text)
    assert resolved == value
    assert type(resolved) is type(value)


def test_an_explicit_tag_counts_only_if_the_value_is_of_its_type(tmp_path: Path) -> None:
    """``!!str 12`` is text; ``!!int x`` is an error."""
    (document,) = read_yaml(b"kind: K\na: !!str 12\nb: !!float 3\nc: ! 12\nd: !!map {}\n")
    assert document.value == {"kind": "K", "a": "12", "b": 3.0, "c": "12", "d": {}}
    with pytest.raises(InvalidInputError, match="line 1: 'x' has the tag '!!int'"):
        list(read_yaml(b"a: !!int x\n"))


# Laws.

_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63) + 1, 2**63 - 1) | st.text()
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


class _Dumper(yaml.CSafeDumper):
    """Quotes also the text that only kubectl would take for a number, as kubectl does."""


_Dumper.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"[-+]?(?:0[oO][0-7]+|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)$"),
    list("+-.0123456789"),
)


@given(st.dictionaries(st.text(), _VALUES, max_size=4), st.booleans())
@example({"0E0": "1e3", "a": "0o17", "b": 1e20, "c": "09"}, False)
def test_what_was_written_as_yaml_or_json_is_read_back(value: dict[str, Any], flow: bool) -> None:
    """Whatever the text, the key order and the style; ``items`` would make it a list."""
    value.pop("items", None)
    text = yaml.dump(value, Dumper=_Dumper, default_flow_style=flow, allow_unicode=True)
    (document,) = read_yaml(text.encode())
    assert document.value == value
    if all(character.isprintable() for character in json.dumps(value, ensure_ascii=False)):
        (document,) = read_yaml(json.dumps(value, ensure_ascii=False).encode())
        assert document.value == value


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_arbitrary_bytes_are_read_or_refused_with_one_line(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    """Never another exception."""
    folder = tmp_path_factory.getbasetemp()
    for suffix in ("yaml", "json"):
        path = folder / f"any.{suffix}"
        path.write_bytes(data)
        read_or_refuse(path)


@pytest.mark.parametrize("suffix", ["json", "yaml"])
def test_input_cut_anywhere_is_refused_or_still_whole(tmp_path: Path, suffix: str) -> None:
    """JSON is always refused; YAML may end anywhere between two objects."""
    listed = {"apiVersion": "v1", "kind": "List", "items": [pod("a"), node()]}
    text = json.dumps(listed) if suffix == "json" else yaml.safe_dump(listed)
    path = tmp_path / f"a.{suffix}"
    for length in range(len(text) - 1):
        path.write_text(text[:length])
        inputs = read_or_refuse(path)
        if inputs is not None:
            assert suffix == "yaml"
            assert len(keys(inputs)) <= 1
