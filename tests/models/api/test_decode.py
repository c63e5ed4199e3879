"""Objects are read leniently, and what cannot be used is named exactly."""

import copy
import json
import pickle
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from koordopt.errors import InvalidInputError
from koordopt.models.api.core import Namespace, Node, Pod, PodDisruptionBudget, PriorityClass
from koordopt.models.api.crds import Device, ElasticQuota, NodeMetric, PodGroup
from koordopt.models.api.decode import Object, ObjectError, decode, decode_json, is_supported
from koordopt.models.units import amounts

POD = yaml.safe_load("""
apiVersion: v1
kind: Pod
metadata:
  name: web-1
  namespace: team-a
  uid: u1
  labels: {app: web, pod-template-hash: abc}
  annotations: {note: text}
  creationTimestamp: "2026-03-01T10:31:27Z"
  ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web, uid: r1, controller: true}]
spec:
  nodeSelector: {disk: ssd}
  priority: 9500
  priorityClassName: high
  hostNetwork: true
  overhead: {cpu: 10m}
  schedulingGates: [{name: example.com/gate}]
  tolerations: [{key: gpu, operator: Exists, effect: NoSchedule, tolerationSeconds: 5}]
  resources: {requests: {cpu: 2}, limits: {cpu: 3}}
  topologySpreadConstraints:
  - maxSkew: 1
    minDomains: 2
    topologyKey: zone
    whenUnsatisfiable: DoNotSchedule
    labelSelector:
      matchLabels: {app: web}
      matchExpressions: [{key: a, operator: In, values: [b]}]
    matchLabelKeys: [pod-template-hash]
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms:
        - matchExpressions: [{key: cores, operator: Gt, values: ["8"]}]
          matchFields: [{key: metadata.name, operator: In, values: [n1]}]
      preferredDuringSchedulingIgnoredDuringExecution:
      - {weight: 5, preference: {matchExpressions: [{key: a, operator: Exists}]}}
    podAntiAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
      - {topologyKey: host, namespaces: [x], namespaceSelector: {}, labelSelector: {}}
      preferredDuringSchedulingIgnoredDuringExecution:
      - {weight: 7, podAffinityTerm: {topologyKey: host, labelSelector: {matchLabels: {app: web}}}}
  initContainers:
  - {name: i, image: busybox, restartPolicy: Always, resources: {requests: {cpu: 1}}}
  containers:
  - name: c
    image: app:v1
    ports: [{containerPort: 80, hostIP: 127.0.0.1}]
    resources: {requests: {cpu: 500m}, limits: {cpu: 1, memory: 1Gi}}
status:
  phase: Running
  qosClass: Burstable
  startTime: "2026-03-01T10:31:27Z"
  conditions: [{type: Ready, status: "True", lastTransitionTime: "2026-03-01T10:31:27Z"}]
  containerStatuses: [{name: c, allocatedResources: {cpu: 1}, resources: {requests: {cpu: 1}}}]
""")


def changed(path: tuple[str | int, ...], value: Any) -> dict[str, Any]:
    """Return the pod with another value at ``path``; ``...`` takes the field away."""
    raw: dict[str, Any] = copy.deepcopy(POD)
    place: Any = raw
    for step in path[:-1]:
        place = place[step]
    if value is ...:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return raw


def outcome(raw: dict[str, Any]) -> Object | str | None:
    """Return the object, or the message that refuses it."""
    try:
        return decode(raw)
    except ObjectError as error:
        return str(error)


def fields(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield the path of every field of parsed YAML."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        if isinstance(value, dict):
            yield (*path, key)
        if isinstance(item, dict | list):
            yield from fields(item, (*path, key))


@pytest.mark.parametrize("path", list(fields(POD)), ids=lambda path: ".".join(map(str, path)))
def test_null_is_the_same_as_absent(path: tuple[str | int, ...]) -> None:
    """For every field there is, also where that makes the object unusable."""
    assert outcome(changed(path, None)) == outcome(changed(path, ...))


@pytest.mark.parametrize("path", list(fields(POD)), ids=lambda path: ".".join(map(str, path)))
def test_unknown_fields_are_ignored(path: tuple[str | int, ...]) -> None:
    """Whatever stands beside the fields that are read."""
    raw = copy.deepcopy(POD)
    place: Any = raw
    for step in path[:-1]:
        place = place[step]
    maps = {"labels", "annotations", "nodeSelector", "matchLabels", "overhead", "requests"}
    maps |= {"limits", "allocatedResources"}
    if not maps.intersection(path):
        place["unheardOf"] = {"a": [None, 1]}
    assert decode(raw) == decode(POD)


def test_json_text_gives_the_same_object() -> None:
    """From bytes, from text, and with a null that sends it the long way."""
    text = json.dumps(POD)
    assert decode_json(text) == decode_json(text.encode()) == decode(POD)
    assert decode_json(json.dumps(changed(("spec", "tolerations"), None))) == decode(
        changed(("spec", "tolerations"), ...)
    )


def test_reading_again_changes_nothing() -> None:
    """Ports of the host network, requests from limits and merged label keys are there at once."""
    pod = decode(POD)
    assert isinstance(pod, Pod)
    container = pod.spec.containers[0]
    assert container.ports[0].host_port == 80
    assert amounts(container.resources.requests.items()) == {"cpu": 500, "memory": 1 << 30}
    assert decode(POD) == pod


@pytest.mark.parametrize(
    ("path", "value", "field", "found"),
    [
        (("metadata", "name"), "", "metadata.name", "nothing"),
        (("metadata", "name"), "a/b", "metadata.name", "'a/b'"),
        (("metadata", "name"), 5, "metadata.name", "5"),
        (("metadata", "labels", "app"), 7, "metadata.labels.app", "7"),
        (("metadata", "labels", "pod-template-hash"), "-x",
         "metadata.labels.pod-template-hash", "'-x'"),
        (("metadata", "labels", 5), "x", "metadata.labels", "5"),
        (("metadata", "creationTimestamp"), "today", "metadata.creationTimestamp", "'today'"),
        (("metadata", "creationTimestamp"), "2026-03-01T10:31:27", "metadata.creationTimestamp",
         "'2026-03-01T10:31:27'"),
        (("spec",), [], "spec", "a list"),
        (("spec", "priority"), 2**31, "spec.priority", "2147483648"),
        (("spec", "hostNetwork"), "yes", "spec.hostNetwork", "'yes'"),
        (("spec", "containers"), {}, "spec.containers", "a mapping"),
        (("spec", "containers", 0), None, "spec.containers[0]", "nothing"),
        (("spec", "containers", 0, "resources", "requests", "cpu"), "-1",
         "spec.containers[0].resources.requests.cpu", "'-1'"),
        (("spec", "containers", 0, "resources", "requests", "memory"), "1K",
         "spec.containers[0].resources.requests.memory", "'1K'"),
        (("spec", "containers", 0, "resources", "limits", "memory"), True,
         "spec.containers[0].resources.limits.memory", "True"),
        (("spec", "containers", 0, "resources", "limits", "memory"), "1e30",
         "spec.containers[0].resources.limits.memory", "'1e30'"),
        (("spec", "containers", 0, "resources", "requests", "nvidia.com/gpu"), "500m",
         "spec.containers[0].resources.requests.nvidia.com/gpu", "'500m'"),
        (("spec", "initContainers", 0, "resources", "requests", "cpu"), "x" * 500,
         "spec.initContainers[0].resources.requests.cpu", f"'{'x' * 59}..."),
        (("spec", "tolerations", 0, "operator"), "Is", "spec.tolerations[0].operator", "'Is'"),
        (("spec", "tolerations", 0, "effect"), "noschedule", "spec.tolerations[0].effect",
         "'noschedule'"),
        (("spec", "topologySpreadConstraints", 0, "maxSkew"), 0,
         "spec.topologySpreadConstraints[0].maxSkew", "0"),
        (("spec", "topologySpreadConstraints", 0, "whenUnsatisfiable"), "Never",
         "spec.topologySpreadConstraints[0].whenUnsatisfiable", "'Never'"),
        (("spec", "topologySpreadConstraints", 0, "labelSelector", "matchLabels", "app"), "a b",
         "spec.topologySpreadConstraints[0].labelSelector.matchLabels.app", "'a b'"),
    ],
)  # fmt: skip
def test_unusable_object_is_named_with_field_and_value(
    path: tuple[str | int, ...], value: Any, field: str, found: str
) -> None:
    """One line: object, field, what was found, what was expected."""
    with pytest.raises(ObjectError) as caught:
        decode(changed(path, value))
    error = caught.value
    assert error.object.startswith("Pod team-a/")
    assert (error.field, error.found) == (field, found)
    assert error.expected
    assert "\n" not in str(error)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


@pytest.mark.parametrize(
    ("kind", "term", "field"),
    [
        ("nodeAffinity", {"matchExpressions": [{"key": "a", "operator": "in", "values": ["b"]}]},
         "matchExpressions[0].operator"),
        ("nodeAffinity", {"matchExpressions": [{"key": "a", "operator": "In"}]},
         "matchExpressions[0].values"),
        ("nodeAffinity", {"matchExpressions": [{"key": "-", "operator": "Exists"}]},
         "matchExpressions[0].key"),
        ("nodeAffinity", {"matchFields": [{"key": "a", "operator": "In", "values": ["b"]}]},
         "matchFields[0].key"),
        ("podAffinity", {"labelSelector": {}}, "topologyKey"),
        ("podAntiAffinity",
         {"topologyKey": "z", "labelSelector": {"matchExpressions": [{"key": "a"}]}},
         "labelSelector.matchExpressions[0]"),
    ],
)  # fmt: skip
def test_affinity_that_the_server_would_refuse_is_refused(
    kind: str, term: dict[str, Any], field: str
) -> None:
    """It would otherwise match nothing, without a word."""
    required: Any = {"nodeSelectorTerms": [term]} if kind == "nodeAffinity" else [term]
    affinity = {kind: {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    with pytest.raises(ObjectError) as caught:
        decode(changed(("spec", "affinity"), affinity))
    assert caught.value.field.endswith(f"[0].{field}")


def test_one_bad_object_does_not_sink_the_list() -> None:
    """Three objects, one of them odd: two usable and one error that says what is odd."""
    odd = changed(("spec", "containers", 0, "resources", "requests", "cpu"), "lots")
    empty = changed(("spec", "tolerations"), None)
    outcomes = [outcome(raw) for raw in (POD, odd, empty)]
    assert [isinstance(each, Pod) for each in outcomes] == [True, False, True]


def test_object_that_nests_without_end_is_refused() -> None:
    """Aliases of YAML can make a mapping contain itself."""
    raw = changed(("spec", "tolerations"), None)
    raw["spec"]["itself"] = raw["spec"]
    with pytest.raises(ObjectError, match="levels"):
        decode(raw)


@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        ({"apiVersion": "v1", "kind": "Node", "status": {"capacity": {"cpu": 4}}}, Node),
        ({"apiVersion": "v1", "kind": "Namespace"}, Namespace),
        (
            {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": 5},
            PriorityClass,
        ),
        ({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget"}, PodDisruptionBudget),
        ({"apiVersion": "scheduling.sigs.k8s.io/v1alpha1", "kind": "PodGroup"}, PodGroup),
        ({"apiVersion": "scheduling.sigs.k8s.io/v1alpha1", "kind": "ElasticQuota"}, ElasticQuota),
        ({"apiVersion": "scheduling.koordinator.sh/v1alpha1", "kind": "Device"}, Device),
        ({"apiVersion": "slo.koordinator.sh/v1alpha1", "kind": "NodeMetric"}, NodeMetric),
    ],
)
def test_every_kind_is_read_and_needs_a_name(raw: dict[str, Any], kind: type[Any]) -> None:
    """The group decides, whatever the version; a namespaced object without one is in default."""
    named = {**raw, "metadata": {"name": "x", "labels": None}}
    value = decode(named)
    assert isinstance(value, kind)
    assert value == decode_json(json.dumps(named))
    assert is_supported(raw["apiVersion"], raw["kind"])
    is_namespaced = kind in (PodDisruptionBudget, PodGroup, ElasticQuota)
    assert value.metadata.namespace == ("default" if is_namespaced else "")
    with pytest.raises(ObjectError, match=r"metadata\.name is nothing"):
        decode(raw)


def test_node_defaults_and_namespace_label() -> None:
    """Allocatable is the capacity where it is not stated; a namespace carries its name."""
    named = {"apiVersion": "v1", "metadata": {"name": "x"}}
    node = decode({**named, "kind": "Node", "status": {"capacity": {"cpu": 4}}})
    assert isinstance(node, Node)
    assert amounts(node.status.allocatable.items()) == {"cpu": 4000}
    namespace = decode({**named, "kind": "Namespace"})
    assert isinstance(namespace, Namespace)
    assert namespace.metadata.labels == {"kubernetes.io/metadata.name": "x"}


@pytest.mark.parametrize(
    "raw",
    [{}, {"kind": "Pod"}, {"apiVersion": "v1", "kind": "Secret"}, {"apiVersion": 1, "kind": []}],
)
def test_other_kinds_are_none(raw: dict[str, Any]) -> None:
    """What is not ours is left alone, not refused."""
    assert decode(raw) is None


@pytest.mark.parametrize("text", ["", "{", "[]", "5", b"\xff", '{"kind": 5}', "[" * 100_000])
def test_text_that_is_no_object_is_refused(text: str | bytes) -> None:
    """Also where it nests without end."""
    with pytest.raises(InvalidInputError, match="text is no"):
        decode_json(text)


ODD_VALUES = (
    *(0, -1, 2**70, 1.5, float("nan"), True, "", "x", "\ud800", "a\nb", "x" * 5000, b"x"),
    *([], [None], [[]], ["x"], {}, {"x": None}, {None: 1}, {"x": {}}, {1: 2}, {"a\nb": 1}),
)


@pytest.mark.parametrize("path", list(fields(POD)), ids=lambda path: ".".join(map(str, path)))
def test_no_value_of_a_field_raises_anything_else(path: tuple[str | int, ...]) -> None:
    """Whatever stands in a field, the object is read or refused in one line."""
    for value in ODD_VALUES:
        result = outcome(changed(path, value))
        assert result is None or "\n" not in str(result)
