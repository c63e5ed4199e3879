"""The scheduler's configuration file: profiles, plug-ins with weights, and plug-in arguments.

Only what decides a plan is given a type; everything else is kept as it stands, so that a reader
can say what it passes over.
"""

from typing import Annotated, Any, Final, Literal, TypeVar

import pydantic
from pydantic import ConfigDict, Field

from koordopt.errors import InvalidInputError
from koordopt.models.api.custom import CustomModel, ResourceMap
from koordopt.models.api.faults import fault_of_model, shown

GROUP: Final = "kubescheduler.config.k8s.io"
"""API group of the configuration."""

KIND: Final = "KubeSchedulerConfiguration"

_Weight = Annotated[int, Field(strict=True, ge=0, le=2**31 - 1)]
_ResourceWeight = Annotated[int, Field(strict=True, ge=0, le=100)]
_Percent = Annotated[int, Field(strict=True, ge=0, le=100)]
_Points = Annotated[int, Field(strict=True, ge=0, le=10)]
_Bool = Annotated[bool, Field(strict=True)]
_Name = Annotated[str, Field(min_length=1)]


class ConfigModel(CustomModel):
    """Common settings: unknown fields are kept in ``model_extra``."""

    model_config = ConfigDict(extra="allow")


class Plugin(ConfigModel):
    """A plug-in by name; a weight of 0 stands for 1, as it does upstream."""

    name: _Name
    weight: _Weight = 0


class PluginSet(ConfigModel):
    """Plug-ins that one extension point turns on and off; ``*`` turns all off."""

    enabled: tuple[Plugin, ...] = ()
    disabled: tuple[Plugin, ...] = ()


class Plugins(ConfigModel):
    """Plug-ins by extension point."""

    multi_point: PluginSet = PluginSet()
    filter: PluginSet = PluginSet()
    score: PluginSet = PluginSet()


class PluginConfig(ConfigModel):
    """The arguments of one plug-in."""

    name: _Name
    args: dict[str, Any] = Field(default_factory=dict)


class SchedulerProfile(ConfigModel):
    """One profile of a scheduler."""

    scheduler_name: str = "default-scheduler"
    plugins: Plugins = Plugins()
    plugin_config: tuple[PluginConfig, ...] = ()


class KubeSchedulerConfiguration(ConfigModel):
    """A scheduler's configuration."""

    api_version: str
    kind: Literal["KubeSchedulerConfiguration"]
    profiles: tuple[SchedulerProfile, ...] = ()


class ResourceSpec(ConfigModel):
    """A resource with its weight in a score; 0 stands for 1."""

    name: _Name
    weight: _ResourceWeight = 1


class ShapePoint(ConfigModel):
    """One point of a utilisation curve."""

    utilization: _Percent
    score: _Points


class CapacityRatio(ConfigModel):
    """The curve of ``RequestedToCapacityRatio``."""

    shape: tuple[ShapePoint, ...] = ()


class ScoringStrategy(ConfigModel):
    """How much of a node should be in use."""

    type: Literal["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"] = "LeastAllocated"
    resources: tuple[ResourceSpec, ...] = ()
    requested_to_capacity_ratio: CapacityRatio | None = None


class NodeResourcesFitArgs(ConfigModel):
    """Arguments of ``NodeResourcesFit``."""

    scoring_strategy: ScoringStrategy = ScoringStrategy()


class NodeResourcesBalancedAllocationArgs(ConfigModel):
    """Arguments of ``NodeResourcesBalancedAllocation``."""

    resources: tuple[ResourceSpec, ...] = ()


class InterPodAffinityArgs(ConfigModel):
    """Arguments of ``InterPodAffinity``."""

    hard_pod_affinity_weight: _Percent = 1


class ElasticQuotaArgs(ConfigModel):
    """Arguments of ``ElasticQuota``; None where the default applies."""

    enable_runtime_quota: _Bool = True
    enable_min_quota_scale: _Bool = True
    default_quota_group_max: ResourceMap | None = None
    system_quota_group_max: ResourceMap | None = None


class CoschedulingArgs(ConfigModel):
    """Arguments of ``Coscheduling``."""

    default_match_policy: Literal["only-waiting", "waiting-and-running", "once-satisfied"] = (
        "once-satisfied"
    )


Model = TypeVar("Model", bound=ConfigModel)


def parse(model: type[Model], raw: Any, where: str = "") -> Model:
    """Return what parsed YAML or JSON states, as ``model``.

    Parameters
    ----------
    model
        What to read it as.
    raw
        The parsed text.
    where
        Path of ``raw`` in its file, which a message puts before the field.

    Raises
    ------
    InvalidInputError
        If it is something else. One line: field, what was found, what was expected.
    """
    try:
        return model.model_validate(raw)
    except pydantic.ValidationError as error:
        fault = fault_of_model(error)
        first = error.errors(include_url=False)[0]
        expected = _expectation(first.get("ctx", {}), first["type"]) or fault.expected
        field = ".".join(part for part in (where, fault.field) if part and part != "object")
        found = "missing" if first["type"] == "missing" else shown(fault.found)
        msg = f"{field or 'the text'} is {found}; expected {expected}."
        raise InvalidInputError(msg) from error


def unread(model: ConfigModel, where: str = "") -> list[str]:
    """Return the paths of the fields that have no type here, in the model and below it."""
    found = [f"{where}{name}" for name in model.model_extra or ()]
    for name, field in type(model).model_fields.items():
        value = getattr(model, name)
        path = f"{where}{field.alias or name}"
        if isinstance(value, ConfigModel):
            found += unread(value, f"{path}.")
        elif isinstance(value, tuple):
            for index, item in enumerate(value):
                if isinstance(item, ConfigModel):
                    found += unread(item, f"{path}[{index}].")
    return found


def _expectation(context: dict[str, Any], kind: str) -> str:
    """Return what a number, a choice or a text had to be; empty where that is told already."""
    if "ge" in context:
        return f"a whole number of at least {context['ge']}"
    if "le" in context:
        return f"a whole number of at most {context['le']}"
    if kind == "literal_error":
        return str(context["expected"])
    return {"string_too_short": "a name", "missing": "one"}.get(kind, "")
