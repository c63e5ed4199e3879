"""Reads what may be tuned: the profile of a scheduler's configuration file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import yaml

from koordopt.errors import InvalidInputError
from koordopt.models.api import config
from koordopt.models.api.config import ConfigModel, Plugin, PluginSet, SchedulerProfile
from koordopt.models.api.gangs import MatchPolicy
from koordopt.models.quota.spec import QuotaSettings
from koordopt.models.units import amounts
from koordopt.solvers.heuristics.profile import DEFAULT_WEIGHTS, Profile

MAX_BYTES: Final = 2**20
"""Size of a configuration file; real ones have some kilobytes."""
MAX_DEPTH: Final = 32
MAX_VALUES: Final = 100_000
"""Values in a configuration file, those that aliases repeat included."""

RULES: Final = frozenset(
    {
        "Coscheduling", "DefaultBinder", "DeviceShare", "ElasticQuota", "InterPodAffinity",
        "NodeAffinity", "NodeName", "NodePorts", "NodeResourcesFit", "NodeUnschedulable",
        "PodTopologySpread", "PrioritySort", "SchedulingGates", "TaintToleration",
    }
)  # fmt: skip
"""Plug-ins whose rules hold in every plan, whatever a configuration says."""

NOT_BUILT: Final = frozenset(
    {
        "AzureDiskLimits", "CinderLimits", "DefaultPreBind", "DefaultPreemption",
        "DynamicResources", "EBSLimits", "GCEPDLimits", "LoadAwareScheduling",
        "NodeNUMAResource", "NodeResourcesFitPlus", "NodeVolumeLimits", "Reservation",
        "ScarceResourceAvoidance", "SchedulingHint", "VolumeBinding", "VolumeRestrictions",
        "VolumeZone",
    }
)  # fmt: skip
"""Plug-ins that are known and have no part in a plan yet."""

OTHER_FIELDS: Final = frozenset(
    {
        "percentageOfNodesToScore", "bind", "permit", "postBind", "postFilter", "preBind",
        "preEnqueue", "preFilter", "preScore", "queueSort", "reserve",
    }
)  # fmt: skip
"""Fields of a profile and its plug-ins that have no place in a plan; expected in any file."""

ALL: Final = "*"


@dataclass(frozen=True)
class SchedulerSettings:
    """What may be tuned about a plan.

    Attributes
    ----------
    profile
        Weights and arguments of the score plug-ins.
    quota
        How quotas are computed; None for the defaults.
    match_policy
        What counts towards a gang's minimum where the gang does not say.
    warnings
        What the configuration says without effect, sorted.
    """

    profile: Profile = field(default_factory=Profile)
    quota: QuotaSettings | None = None
    match_policy: MatchPolicy = MatchPolicy.ONCE_SATISFIED
    warnings: tuple[str, ...] = ()


def read_settings(path: Path, name: str | None = None) -> SchedulerSettings:
    """Return the settings that a profile of a KubeSchedulerConfiguration states.

    Parameters
    ----------
    path
        The file, YAML or JSON.
    name
        ``schedulerName`` of the profile; None for the first.

    Raises
    ------
    InvalidInputError
        If the file cannot be read, is no such configuration, or lacks the profile. One line.
    """
    try:
        return _settings(_load(path), name)
    except InvalidInputError as error:
        raise InvalidInputError(f"{path}: {error}") from error


def _settings(raw: Any, name: str | None) -> SchedulerSettings:
    parsed = config.parse(config.KubeSchedulerConfiguration, raw)
    if parsed.api_version.rpartition("/")[0] != config.GROUP:
        expected = f"{config.GROUP}/v1"
        raise InvalidInputError(f"apiVersion is {parsed.api_version!r}; expected {expected}.")
    names = [profile.scheduler_name for profile in parsed.profiles]
    if name is None and not names:
        return SchedulerSettings()
    if name is not None and name not in names:
        known = ", ".join(names) or "none"
        raise InvalidInputError(f"has no profile {name!r}; it has {known}.")
    index = 0 if name is None else names.index(name)
    return _of_profile(parsed.profiles[index], f"profiles[{index}]")


def _of_profile(profile: SchedulerProfile, where: str) -> SchedulerSettings:
    """Return the settings of one profile, which stands at ``where`` in its file."""
    arguments = _Arguments(profile, where)
    fit = arguments.of("NodeResourcesFit", config.NodeResourcesFitArgs)
    balanced = arguments.of(
        "NodeResourcesBalancedAllocation", config.NodeResourcesBalancedAllocationArgs
    )
    affinity = arguments.of("InterPodAffinity", config.InterPodAffinityArgs)
    quota = arguments.of("ElasticQuota", config.ElasticQuotaArgs)
    gangs = arguments.of("Coscheduling", config.CoschedulingArgs)
    default = Profile()
    strategy = fit.scoring_strategy
    return SchedulerSettings(
        profile=Profile(
            weights=_weights(profile),
            fit_strategy=strategy.type,
            fit_resources=_resources(strategy.resources) or default.fit_resources,
            balanced_resources=_resources(balanced.resources) or default.balanced_resources,
            shape=_shape(strategy, arguments.place("NodeResourcesFit")) or default.shape,
            hard_affinity_weight=affinity.hard_pod_affinity_weight,
        ),
        quota=_quota(quota) if "ElasticQuota" in arguments else None,
        match_policy=MatchPolicy(gangs.default_match_policy),
        warnings=tuple(sorted(_warnings(profile, arguments))),
    )


class _Arguments:
    """The plug-in arguments of a profile; keeps note of those without effect."""

    def __init__(self, profile: SchedulerProfile, where: str) -> None:
        self._raw: dict[str, Mapping[str, Any]] = {}
        self._place: dict[str, str] = {}
        self._read: set[str] = set()
        self.unread: list[str] = []
        for index, entry in enumerate(profile.plugin_config):
            if entry.name in self._raw:
                msg = f"{where}.pluginConfig names {entry.name} twice; expected it once."
                raise InvalidInputError(msg)
            self._raw[entry.name] = entry.args
            self._place[entry.name] = f"{where}.pluginConfig[{index}].args"

    def __contains__(self, plugin: str) -> bool:
        return plugin in self._raw

    def place(self, plugin: str) -> str:
        """Return where the arguments of a plug-in stand."""
        return self._place.get(plugin, plugin)

    def of(self, plugin: str, model: type[config.Model]) -> config.Model:
        """Return the arguments of a plug-in, or its defaults."""
        self._read.add(plugin)
        raw = {
            name: value
            for name, value in self._raw.get(plugin, {}).items()
            if name not in ("apiVersion", "kind")
        }
        arguments = config.parse(model, raw, self.place(plugin))
        self.unread += config.unread(arguments, f"{plugin}.")
        return arguments

    def others(self) -> list[str]:
        """Return the plug-ins whose arguments nobody asked for."""
        return [name for name in self._raw if name not in self._read]


def _weights(profile: SchedulerProfile) -> dict[str, int]:
    """Return the weight of each score plug-in that is on.

    Every default plug-in is on at its default weight; ``multiPoint`` speaks before ``score``, and
    either first turns off and then on.
    """
    weights = dict(DEFAULT_WEIGHTS)
    for plugins in (profile.plugins.multi_point, profile.plugins.score):
        for plugin in plugins.disabled:
            if plugin.name == ALL:
                weights.clear()
            weights.pop(plugin.name, None)
        for plugin in plugins.enabled:
            if plugin.name in DEFAULT_WEIGHTS:
                weights[plugin.name] = plugin.weight or 1
    return weights


def _resources(specs: Sequence[config.ResourceSpec]) -> tuple[tuple[str, int], ...]:
    return tuple((spec.name, spec.weight or 1) for spec in specs)


def _shape(strategy: config.ScoringStrategy, where: str) -> tuple[tuple[int, int], ...]:
    """Return the curve of the fit score; empty where its strategy has none."""
    if strategy.type != "RequestedToCapacityRatio":
        return ()
    ratio = strategy.requested_to_capacity_ratio
    points = tuple((p.utilization, p.score) for p in (ratio.shape if ratio else ()))
    used = [utilisation for utilisation, _ in points]
    if not used or used != sorted(set(used)):
        field = f"{where}.scoringStrategy.requestedToCapacityRatio.shape"
        found = f"at utilizations {used}" if used else "empty"
        raise InvalidInputError(f"{field} is {found}; expected points, utilization ascending.")
    return points


def _quota(arguments: config.ElasticQuotaArgs) -> QuotaSettings:
    settings = QuotaSettings(
        enable_runtime=arguments.enable_runtime_quota, scale_min=arguments.enable_min_quota_scale
    )
    if arguments.default_quota_group_max is not None:
        limit = amounts(arguments.default_quota_group_max.items())
        settings = replace(settings, default_max=limit)
    if arguments.system_quota_group_max is not None:
        limit = amounts(arguments.system_quota_group_max.items())
        settings = replace(settings, system_max=limit)
    return settings


def _warnings(profile: SchedulerProfile, arguments: _Arguments) -> list[str]:
    """Return what a profile says without effect."""
    plugins = profile.plugins
    points: dict[str, PluginSet] = {
        "multiPoint": plugins.multi_point, "filter": plugins.filter, "score": plugins.score
    }  # fmt: skip
    enabled = {p.name for point in points.values() for p in point.enabled}
    named = (enabled | set(arguments.others())) - RULES - DEFAULT_WEIGHTS.keys()
    own = {p.name for p in plugins.score.enabled} & (RULES - DEFAULT_WEIGHTS.keys())
    off = _turned_off(plugins.filter.disabled) | _turned_off(plugins.multi_point.disabled)
    off -= {p.name for p in plugins.filter.enabled + plugins.multi_point.enabled}
    found = {
        "unknown plug-ins, ignored": named - NOT_BUILT,
        "plug-ins that are not built yet, without effect": named & NOT_BUILT,
        "score plug-ins that score nothing here": own,
        "rules that are turned off there and hold all the same": off,
        "fields without effect on a plan": {*_fields(arguments), *_extra(profile)},
    }
    return [
        f"configuration: {what}: {', '.join(sorted(names))}"
        for what, names in found.items()
        if names
    ]


def _turned_off(plugins: Sequence[Plugin]) -> set[str]:
    return {plugin.name for plugin in plugins if plugin.name in RULES}


def _fields(arguments: _Arguments) -> list[str]:
    """Return the arguments without effect, those of known plug-ins that nobody reads included."""
    whole = [name for name in arguments.others() if name in RULES | DEFAULT_WEIGHTS.keys()]
    return [*arguments.unread, *whole]


def _extra(profile: SchedulerProfile) -> list[str]:
    """Return the unknown fields of a profile and of the plug-in sets that are read."""
    plugins = profile.plugins
    sets: tuple[ConfigModel, ...] = (plugins.multi_point, plugins.filter, plugins.score)
    unknown = {*(profile.model_extra or ()), *(plugins.model_extra or ())} - OTHER_FIELDS
    return [*unknown, *(path for each in sets for path in config.unread(each, "plugins."))]


def _load(path: Path) -> Any:
    """Return the value of a YAML or JSON file, within bounds."""
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise InvalidInputError(
            f"cannot be read ({error.strerror}); expected a {config.KIND}."
        ) from error
    if len(data) > MAX_BYTES:
        raise InvalidInputError(f"has more than {MAX_BYTES} bytes; expected a {config.KIND}.")
    try:
        text = data.decode()
        _check_depth(text)
        value = yaml.load(text, Loader=yaml.CSafeLoader)
    except InvalidInputError:
        raise
    except UnicodeDecodeError as error:
        raise InvalidInputError("is not UTF-8; expected UTF-8 text.") from error
    except (yaml.YAMLError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f"line {mark.line + 1}: " if mark else ""
        problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
        raise InvalidInputError(f"{line}{problem}; expected YAML.") from error
    _check_size(value)
    return value


def _check_depth(text: str) -> None:
    """Raise where a text nests without end, before anything recurses into it."""
    depth = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MAX_DEPTH:
            raise InvalidInputError(f"nests deeper than {MAX_DEPTH} levels.")


def _check_size(value: Any) -> None:
    """Raise where aliases make a small text stand for a huge value."""
    seen = 1
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if not isinstance(item, dict | list):
            continue
        seen += len(item)
        if seen > MAX_VALUES:
            raise InvalidInputError(f"stands for more than {MAX_VALUES} values.")
        waiting += item.values() if isinstance(item, dict) else item
