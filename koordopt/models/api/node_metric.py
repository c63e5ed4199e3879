"""What nodes and their pods use, as the agent last reported it."""

from typing import Annotated

from pydantic import AwareDatetime, BeforeValidator, Field

from koordopt.models.api.custom import CustomModel, Metadata, ResourceMap, without_nulls
from koordopt.models.api.device import DeviceInfo
from koordopt.models.units import amounts


class Usage(CustomModel):
    """Measured or predicted amounts, and those of single devices."""

    resources: ResourceMap = Field(default_factory=dict)
    devices: tuple[DeviceInfo, ...] = ()

    @property
    def amounts(self) -> dict[str, int]:
        """The amounts in base units."""
        return amounts(self.resources.items())


class AggregatedUsage(CustomModel):
    """Usage over a window, by kind of aggregation (``avg``, ``p95`` and so on)."""

    duration: str = ""
    usage: Annotated[dict[str, Usage], BeforeValidator(without_nulls)] = Field(default_factory=dict)


class NodeUsage(CustomModel):
    """What runs on a node uses."""

    node_usage: Usage = Usage()
    system_usage: Usage = Usage()
    aggregated_node_usages: tuple[AggregatedUsage, ...] = ()
    aggregated_system_usages: tuple[AggregatedUsage, ...] = ()


class PodMetric(CustomModel):
    """What a pod uses."""

    name: str = ""
    namespace: str = ""
    pod_usage: Usage = Usage()
    priority: str = ""
    qos: str = ""


class Prediction(CustomModel):
    """A predicted amount."""

    resource: Usage = Usage()


class NodeMetricStatus(CustomModel):
    """The last report of a node."""

    update_time: AwareDatetime | None = None
    node_metric: NodeUsage | None = None
    pods_metric: tuple[PodMetric, ...] = ()
    prod_reclaimable_metric: Prediction | None = None
    prod_peak_metric: Prediction | None = None


class CollectPolicy(CustomModel):
    """How usage is collected."""

    aggregate_duration_seconds: int | None = None
    report_interval_seconds: int | None = None


class NodeMetricSpec(CustomModel):
    """How a node reports."""

    metric_collect_policy: CollectPolicy | None = None


class NodeMetric(CustomModel):
    """What the node of the same name uses."""

    metadata: Metadata = Metadata()
    spec: NodeMetricSpec = NodeMetricSpec()
    status: NodeMetricStatus = NodeMetricStatus()
