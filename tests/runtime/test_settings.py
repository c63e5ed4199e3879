"""The configuration file: what it sets, what it warns of, what it refuses."""

from typing import Any

import pytest
import yaml

from koordopt.errors import InvalidInputError
from koordopt.models.api.gangs import MatchPolicy
from koordopt.runtime.settings import NOT_BUILT, RULES, SchedulerSettings, read_settings
from koordopt.solvers.heuristics.profile import DEFAULT_WEIGHTS, Profile
from tests.runtime.conftest import Run, Write
from tests.runtime.manifests import node, pod

API = "kubescheduler.config.k8s.io/v1"


def configuration(*profiles: dict[str, Any]) -> str:
    """Return the text of a configuration."""
    return yaml.safe_dump(
        {"apiVersion": API, "kind": "KubeSchedulerConfiguration", "profiles": list(profiles)}
    )


def arguments(plugin: str, **values: Any) -> dict[str, Any]:
    """Return a profile with the arguments of one plug-in."""
    return {"schedulerName": "s", "pluginConfig": [{"name": plugin, "args": values}]}


def plugins(**points: Any) -> dict[str, Any]:
    """Return a profile with plug-ins by extension point."""
    return {"schedulerName": "s", "plugins": points}


def test_an_empty_configuration_changes_nothing(write: Write) -> None:
    assert read_settings(write(configuration())) == SchedulerSettings()
    assert read_settings(write(configuration({}))).profile == Profile()


def test_the_profile_is_the_first_or_the_one_named(write: Write) -> None:
    path = write(
        configuration(
            {"schedulerName": "one"},
            {**plugins(score={"disabled": [{"name": "*"}]}), "schedulerName": "two"},
        )
    )
    assert read_settings(path).profile.weights == DEFAULT_WEIGHTS
    assert read_settings(path, "two").profile.weights == {}
    with pytest.raises(InvalidInputError, match="no profile 'three'; it has one, two"):
        read_settings(path, "three")


@pytest.mark.parametrize(
    ("points", "changed"),
    [
        ({"score": {"enabled": [{"name": "NodeAffinity", "weight": 9}]}}, {"NodeAffinity": 9}),
        ({"score": {"enabled": [{"name": "NodeAffinity"}]}}, {"NodeAffinity": 1}),
        ({"multiPoint": {"enabled": [{"name": "NodeAffinity", "weight": 9}]}}, {"NodeAffinity": 9}),
        ({"score": {"disabled": [{"name": "NodeAffinity"}]}}, {"NodeAffinity": 0}),
        ({"multiPoint": {"disabled": [{"name": "NodeAffinity"}]}}, {"NodeAffinity": 0}),
        (
            {
                "score": {
                    "disabled": [{"name": "OpportunityCost"}],
                    "enabled": [{"name": "ExpectedFragmentation", "weight": 10}],
                }
            },
            {"OpportunityCost": 0, "ExpectedFragmentation": 10},
        ),
        (
            {
                "multiPoint": {"enabled": [{"name": "NodeAffinity", "weight": 9}]},
                "score": {"enabled": [{"name": "NodeAffinity", "weight": 4}]},
            },
            {"NodeAffinity": 4},
        ),
        (
            {
                "multiPoint": {"disabled": [{"name": "*"}]},
                "score": {"enabled": [{"name": "ImageLocality", "weight": 2}]},
            },
            {**dict.fromkeys(DEFAULT_WEIGHTS, 0), "ImageLocality": 2},
        ),
    ],
)
def test_weights_follow_the_extension_points(
    write: Write, points: dict[str, Any], changed: dict[str, int]
) -> None:
    weights = read_settings(write(configuration(plugins(**points)))).profile.weights
    expected = {**DEFAULT_WEIGHTS, **changed}
    assert {name: weights.get(name, 0) for name in expected} == expected


def test_fit_arguments_reach_the_profile(write: Write) -> None:
    strategy = {
        "type": "RequestedToCapacityRatio",
        "resources": [{"name": "cpu", "weight": 3}, {"name": "nvidia.com/gpu"}],
        "requestedToCapacityRatio": {
            "shape": [{"utilization": 0, "score": 10}, {"utilization": 60, "score": 2}]
        },
    }
    text = configuration(arguments("NodeResourcesFit", scoringStrategy=strategy))
    profile = read_settings(write(text)).profile
    assert profile.fit_strategy == "RequestedToCapacityRatio"
    assert profile.fit_resources == (("cpu", 3), ("nvidia.com/gpu", 1))
    assert profile.shape == ((0, 10), (60, 2))


def test_other_arguments_reach_their_settings(write: Write) -> None:
    configs = [
        arguments("NodeResourcesBalancedAllocation", resources=[{"name": "memory", "weight": 1}]),
        arguments("InterPodAffinity", hardPodAffinityWeight=40),
        arguments("Coscheduling", defaultMatchPolicy="only-waiting"),
        arguments(
            "ElasticQuota",
            enableRuntimeQuota=False,
            enableMinQuotaScale=False,
            defaultQuotaGroupMax={"cpu": "2", "memory": "1Gi"},
        ),
    ]
    entries = [entry for each in configs for entry in each["pluginConfig"]]
    found = read_settings(write(configuration({"schedulerName": "s", "pluginConfig": entries})))
    assert found.profile.balanced_resources == (("memory", 1),)
    assert found.profile.hard_affinity_weight == 40
    assert found.match_policy is MatchPolicy.ONLY_WAITING
    assert found.quota is not None
    assert (found.quota.enable_runtime, found.quota.scale_min) == (False, False)
    assert found.quota.default_max == {"cpu": 2000, "memory": 2**30}
    assert found.warnings == ()


@pytest.mark.parametrize(
    ("profile", "warning"),
    [
        (plugins(score={"enabled": [{"name": "Fantasy"}]}), "unknown plug-ins, ignored: Fantasy"),
        (
            plugins(filter={"enabled": [{"name": "LoadAwareScheduling"}]}),
            "plug-ins that are not built yet, without effect: LoadAwareScheduling",
        ),
        (
            plugins(score={"enabled": [{"name": "DeviceShare", "weight": 1}]}),
            "score plug-ins that score nothing here: DeviceShare",
        ),
        (
            plugins(filter={"disabled": [{"name": "TaintToleration"}]}),
            "rules that are turned off there and hold all the same: TaintToleration",
        ),
        (
            arguments("Coscheduling", enablePreemption=True),
            "fields without effect on a plan: Coscheduling.enablePreemption",
        ),
        (
            {"schedulerName": "s", "plugin": {}},
            "fields without effect on a plan: plugin",
        ),
    ],
)
def test_what_has_no_effect_is_a_warning(
    write: Write, profile: dict[str, Any], warning: str
) -> None:
    found = read_settings(write(configuration(profile)))
    assert found.warnings == (f"configuration: {warning}",)


def test_a_full_configuration_of_the_reference_is_taken(run: Run, write: Write) -> None:
    ours = sorted(NOT_BUILT | RULES)
    profile = {
        "schedulerName": "koord-scheduler",
        "percentageOfNodesToScore": 50,
        "plugins": {
            "queueSort": {"disabled": [{"name": "*"}], "enabled": [{"name": "PrioritySort"}]},
            "filter": {"enabled": [{"name": name} for name in ours]},
            "score": {"enabled": [{"name": "Reservation", "weight": 5000}]},
        },
    }
    path = write(configuration(profile), "config.yaml")
    ran = run("plan", "--demo", "--config", path, "-o", "json")
    assert (ran.status, ran.err) == (0, "")
    (warning,) = [w for w in ran.value["warnings"] if w.startswith("configuration")]
    assert "LoadAwareScheduling" in warning


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the text is nothing; expected a mapping"),
        ("kind: [", "expected YAML"),
        ("a: " + "[" * 200, "nest"),
        ("&a [*a, *a]", "stands for more than"),
        ("apiVersion: v1\nkind: Pod\n", "kind is 'Pod'; expected 'KubeSchedulerConfiguration'"),
        (configuration().replace("kubescheduler.config", "other"), "apiVersion is 'other"),
        (configuration(plugins(score=3)), r"profiles\[0\].plugins.score is 3; expected a mapping"),
        (
            configuration(plugins(score={"enabled": [{"name": "ImageLocality", "weight": -1}]})),
            r"enabled\[0\].weight is -1; expected a whole number of at least 0",
        ),
        (
            configuration(plugins(score={"enabled": [{"name": "ImageLocality", "weight": "1"}]})),
            r"enabled\[0\].weight is '1'; expected a whole number",
        ),
        (
            configuration(arguments("NodeResourcesFit", scoringStrategy={"type": "Best"})),
            "scoringStrategy.type is 'Best'; expected 'LeastAllocated'",
        ),
        (
            configuration(
                arguments("NodeResourcesFit", scoringStrategy={"type": "RequestedToCapacityRatio"})
            ),
            "shape is empty; expected points",
        ),
        (
            configuration(arguments("InterPodAffinity", hardPodAffinityWeight=101)),
            "hardPodAffinityWeight is 101; expected a whole number of at most 100",
        ),
        (
            configuration(arguments("ElasticQuota", defaultQuotaGroupMax={"cpu": "-1"})),
            "defaultQuotaGroupMax.cpu is '-1'; expected a quantity",
        ),
    ],
)
def test_a_wrong_configuration_is_one_line_and_status_2(
    run: Run, write: Write, text: str, message: str
) -> None:
    path = write(text, "config.yaml")
    with pytest.raises(InvalidInputError, match=message):
        read_settings(path)
    ran = run("plan", "--demo", "--config", path)
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith(f"koordopt: {path}: ")
    assert ran.err.count("\n") == 1


def test_a_configuration_decides_where_pods_go(run: Run, write: Write) -> None:
    cluster = write([node("a"), node("b"), pod("old", "2", on="a"), pod("new", "1")])

    def where(strategy: str) -> str:
        only_fit = {
            "score": {"disabled": [{"name": "*"}], "enabled": [{"name": "NodeResourcesFit"}]}
        }
        profile = {
            **plugins(**only_fit),
            **arguments("NodeResourcesFit", scoringStrategy={"type": strategy}),
        }
        config = write(configuration(profile), "config.yaml")
        (bind,) = run("plan", cluster, "--config", config, "-o", "json").value["placements"]
        return str(bind["node"])

    assert (where("LeastAllocated"), where("MostAllocated")) == ("b", "a")
