"""Gang parameters; the rows CS-12 to CS-15 of the specification."""

import json
from typing import Any

import pytest

from koordopt.models.api import keys
from koordopt.models.api.core import ObjectMeta, Pod
from koordopt.models.api.crds import PodGroup
from koordopt.models.api.durations import parse_duration_s
from koordopt.models.api.gangs import (
    GangMode,
    MatchPolicy,
    gang_name,
    names_pod_group,
    spec_of_group,
    spec_of_pod,
    spec_of_pods,
)


def make_pod(labels: dict[str, str] | None = None, **annotations: str) -> Pod:
    """Return a pod of gang ``g``, with annotations by the last part of their key."""
    prefix = "gang.scheduling.koordinator.sh/"
    written = {prefix + key.replace("_", "-"): value for key, value in annotations.items()}
    return Pod(
        metadata=ObjectMeta(
            name="p",
            namespace="ml",
            labels=labels or {},
            annotations={prefix + "name": "g", **written},
        )
    )


def test_defaults_of_a_gang_that_states_its_minimum() -> None:
    """Strict, once satisfied, ten minutes, alone."""
    spec = spec_of_pod(make_pod(min_available="3"))
    assert spec is not None
    assert (spec.id, spec.min_member, spec.total) == ("ml/g", 3, 3)
    assert (spec.mode, spec.match_policy) == (GangMode.STRICT, MatchPolicy.ONCE_SATISFIED)
    assert (spec.wait_s, spec.groups, spec.group_id) == (600.0, ("ml/g",), "ml/g")


@pytest.mark.parametrize("text", ["x", "", "3.0", "99999999999"])
def test_cs_12_unreadable_minimum_leaves_the_gang_uninitialised(text: str) -> None:
    """The next pod that states one decides."""
    assert spec_of_pod(make_pod(min_available=text)) is None
    later = make_pod(min_available="2")
    found = spec_of_pods([make_pod(min_available=text), later, make_pod(min_available="9")])
    assert found == spec_of_pod(later)


@pytest.mark.parametrize(
    ("total", "expected"), [("2", 3), ("5", 5), ("0", 3), ("x", 3), ("", 3), ("-1", 3)]
)
def test_cs_13_total_is_at_least_the_minimum(total: str, expected: int) -> None:
    """A smaller or unreadable total is the minimum."""
    spec = spec_of_pod(make_pod(min_available="3", total_number=total))
    assert spec is not None
    assert spec.total == expected


@pytest.mark.parametrize(
    ("text", "wait_s"), [("0s", 600), ("abc", 600), ("30s", 30), ("-5s", 600), ("10", 600)]
)
def test_cs_14_waiting_time(text: str, wait_s: float) -> None:
    """Zero, negative and unreadable times are the default."""
    spec = spec_of_pod(make_pod(min_available="3", waiting_time=text))
    assert spec is not None
    assert spec.wait_s == wait_s


def test_cs_15_label_of_the_pod_group_wins() -> None:
    """It also means that the pod's own parameters do not count."""
    pod = make_pod(
        {keys.LABEL_POD_GROUP: "p", keys.LABEL_POD_GROUP_NAME_OLD: "g"}, min_available="3"
    )
    assert gang_name(pod) == "p"
    assert names_pod_group(pod)
    assert spec_of_pod(pod) is None


def test_deprecated_labels_name_gang_and_minimum() -> None:
    """They come before annotations."""
    labels = {
        keys.LABEL_POD_GROUP_NAME_OLD: "old",
        keys.LABEL_POD_GROUP_MIN_AVAILABLE_OLD: "2",
    }
    spec = spec_of_pod(make_pod(labels, min_available="7"))
    assert spec is not None
    assert (spec.id, spec.min_member) == ("ml/old", 2)
    assert gang_name(Pod()) is None


@pytest.mark.parametrize(
    ("annotations", "mode", "policy"),
    [
        ({"mode": "NonStrict"}, GangMode.NON_STRICT, MatchPolicy.ONLY_WAITING),
        ({"mode": "strict"}, GangMode.STRICT, MatchPolicy.ONLY_WAITING),
        ({"match_policy": "waiting-and-running"}, GangMode.STRICT, MatchPolicy.WAITING_AND_RUNNING),
        ({"match_policy": "?"}, GangMode.STRICT, MatchPolicy.ONLY_WAITING),
    ],
)
def test_unknown_words_are_the_default(
    annotations: dict[str, str], mode: GangMode, policy: MatchPolicy
) -> None:
    """Here the configured default is another than the built-in one."""
    pod = make_pod(min_available="1", **annotations)
    spec = spec_of_pod(pod, default_policy=MatchPolicy.ONLY_WAITING)
    assert spec is not None
    assert (spec.mode, spec.match_policy) == (mode, policy)


def test_pod_group_states_the_same() -> None:
    """Its timeout is a number of seconds; the alias of the policy serves where the key is empty."""
    raw: dict[str, Any] = {
        "metadata": {
            "name": "g",
            "namespace": "ml",
            "annotations": {
                keys.ANNOTATION_GANG_MATCH_POLICY: "",
                keys.ANNOTATION_GANG_MATCH_POLICY_ALIAS: "only-waiting",
                keys.ANNOTATION_GANG_GROUPS: json.dumps(["ml/z", "ml/g"]),
            },
        },
        "spec": {"minMember": 4, "scheduleTimeoutSeconds": 30},
    }
    spec = spec_of_group(PodGroup.model_validate(raw))
    assert (spec.min_member, spec.wait_s) == (4, 30.0)
    assert spec.match_policy is MatchPolicy.ONLY_WAITING
    assert spec.group_id == "ml/g,ml/z"
    raw["spec"]["scheduleTimeoutSeconds"] = 0
    raw["metadata"]["annotations"][keys.ANNOTATION_GANG_GROUPS] = "{"
    spec = spec_of_group(PodGroup.model_validate(raw))
    assert (spec.wait_s, spec.groups) == (600.0, ("ml/g",))


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("10m", 600.0), ("1h2m3.5s", 3723.5), ("300ms", 0.3), ("1.5h", 5400.0), ("5m0s", 300.0),
        ("0", 0.0), ("-1s", -1.0), ("1µs", 1e-6), (".5s", 0.5), ("1.s", 1.0),
        ("", None), ("10", None), ("s", None), (".s", None), ("1d", None), ("1s ", None),
        ("9999999999h", None),
    ],
)  # fmt: skip
def test_durations_are_read_as_go_writes_them(text: str, seconds: float | None) -> None:
    """A number needs a unit, unless it is zero."""
    assert parse_duration_s(text) == seconds
