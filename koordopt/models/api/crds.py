"""Custom resources: pod groups, elastic quotas, devices and node metrics.

The models accept what the API server does: unknown fields are ignored, and null is the same as
absent. Deprecated resource names are read under their present names.
"""

from koordopt.models.api.custom import Metadata
from koordopt.models.api.device import Device, DeviceInfo
from koordopt.models.api.elastic_quota import ElasticQuota
from koordopt.models.api.node_metric import NodeMetric, Usage
from koordopt.models.api.pod_group import PodGroup

__all__ = [
    "Device",
    "DeviceInfo",
    "ElasticQuota",
    "Metadata",
    "NodeMetric",
    "PodGroup",
    "Usage",
]
