"""Names of labels, annotations and resources that are read or written.

Grouped by subject. ``LABEL_`` and ``ANNOTATION_`` say where a key stands, ``RESOURCE_`` names an
entry of a resource list.
"""

from collections.abc import Mapping
from types import MappingProxyType

# Resources of Kubernetes itself.
RESOURCE_CPU = "cpu"
RESOURCE_MEMORY = "memory"
RESOURCE_EPHEMERAL_STORAGE = "ephemeral-storage"
RESOURCE_PODS = "pods"
HUGE_PAGES_PREFIX = "hugepages-"

# Overcommitted resources: cpu in thousandths of a core, memory in bytes.
RESOURCE_BATCH_CPU = "kubernetes.io/batch-cpu"
RESOURCE_BATCH_MEMORY = "kubernetes.io/batch-memory"
RESOURCE_MID_CPU = "kubernetes.io/mid-cpu"
RESOURCE_MID_MEMORY = "kubernetes.io/mid-memory"

# Device resources.
RESOURCE_GPU = "koordinator.sh/gpu"
RESOURCE_GPU_CORE = "koordinator.sh/gpu-core"
RESOURCE_GPU_MEMORY = "koordinator.sh/gpu-memory"
RESOURCE_GPU_MEMORY_RATIO = "koordinator.sh/gpu-memory-ratio"
RESOURCE_GPU_SHARED = "koordinator.sh/gpu.shared"
RESOURCE_RDMA = "koordinator.sh/rdma"
RESOURCE_FPGA = "koordinator.sh/fpga"
RESOURCE_NVIDIA_GPU = "nvidia.com/gpu"
RESOURCE_AMD_GPU = "amd.com/gpu"
RESOURCE_DCU_GPU = "dcu.com/gpu"
RESOURCE_NPU_CORE = "huawei.com/npu-core"
RESOURCE_NPU_CPU = "huawei.com/npu-cpu"
RESOURCE_NPU_DVPP = "huawei.com/npu-dvpp"

RENAMED_BATCH_RESOURCES: Mapping[str, str] = MappingProxyType(
    {
        "koordinator.sh/batch-cpu": RESOURCE_BATCH_CPU,
        "koordinator.sh/batch-memory": RESOURCE_BATCH_MEMORY,
    }
)
"""Deprecated name to present name, overcommitted resources."""

RENAMED_DEVICE_RESOURCES: Mapping[str, str] = MappingProxyType(
    {
        "kubernetes.io/rdma": RESOURCE_RDMA,
        "kubernetes.io/fpga": RESOURCE_FPGA,
        "kubernetes.io/gpu": RESOURCE_GPU,
        "kubernetes.io/gpu-core": RESOURCE_GPU_CORE,
        "kubernetes.io/gpu-memory": RESOURCE_GPU_MEMORY,
        "kubernetes.io/gpu-memory-ratio": RESOURCE_GPU_MEMORY_RATIO,
    }
)
"""Deprecated name to present name, device resources."""

RENAMED_RESOURCES: Mapping[str, str] = MappingProxyType(
    {**RENAMED_BATCH_RESOURCES, **RENAMED_DEVICE_RESOURCES}
)
"""Deprecated name to present name, every resource."""

# QoS and priority.
LABEL_QOS_CLASS = "koordinator.sh/qosClass"
LABEL_PRIORITY_CLASS = "koordinator.sh/priority-class"
LABEL_SUB_PRIORITY = "koordinator.sh/priority"

# Gangs.
LABEL_POD_GROUP = "pod-group.scheduling.sigs.k8s.io"
LABEL_POD_GROUP_NAME_OLD = "pod-group.scheduling.sigs.k8s.io/name"
LABEL_POD_GROUP_MIN_AVAILABLE_OLD = "pod-group.scheduling.sigs.k8s.io/min-available"
ANNOTATION_GANG_NAME = "gang.scheduling.koordinator.sh/name"
ANNOTATION_GANG_MIN_AVAILABLE = "gang.scheduling.koordinator.sh/min-available"
ANNOTATION_GANG_TOTAL = "gang.scheduling.koordinator.sh/total-number"
ANNOTATION_GANG_WAITING_TIME = "gang.scheduling.koordinator.sh/waiting-time"
ANNOTATION_GANG_MODE = "gang.scheduling.koordinator.sh/mode"
ANNOTATION_GANG_GROUPS = "gang.scheduling.koordinator.sh/groups"
ANNOTATION_GANG_MATCH_POLICY = "gang.scheduling.koordinator.sh/match-policy"
ANNOTATION_GANG_MATCH_POLICY_ALIAS = "pod-group.scheduling.sigs.k8s.io/match-policy"
ANNOTATION_GANG_TOPOLOGY_SPEC = "gang.scheduling.koordinator.sh/network-topology-spec"
ANNOTATION_GANG_TOPOLOGY_INDEX = "gang.scheduling.koordinator.sh/network-topology-index"
ANNOTATION_TOPOLOGY_SELECTOR = "scheduling.koordinator.sh/network-topology-selector"
ANNOTATION_BIND_GANG_GROUP_ID = "internal.scheduling.koordinator.sh/bind-gang-group-id"
ANNOTATION_BIND_GANG_MEMBER_COUNT = "internal.scheduling.koordinator.sh/bind-gang-member-count"

# Elastic quotas.
QUOTA_PREFIX = "quota.scheduling.koordinator.sh/"
LABEL_QUOTA_NAME = QUOTA_PREFIX + "name"
LABEL_QUOTA_PARENT = QUOTA_PREFIX + "parent"
LABEL_QUOTA_IS_PARENT = QUOTA_PREFIX + "is-parent"
LABEL_QUOTA_ALLOW_LENT = QUOTA_PREFIX + "allow-lent-resource"
LABEL_QUOTA_TREE_ID = QUOTA_PREFIX + "tree-id"
LABEL_QUOTA_IS_ROOT = QUOTA_PREFIX + "is-root"
LABEL_QUOTA_PROFILE = QUOTA_PREFIX + "profile"
LABEL_QUOTA_IGNORE_DEFAULT_TREE = QUOTA_PREFIX + "ignore-default-tree"
LABEL_QUOTA_PREEMPTIBLE = QUOTA_PREFIX + "preemptible"
LABEL_QUOTA_ALLOW_FORCE_UPDATE = QUOTA_PREFIX + "allow-force-update"
ANNOTATION_QUOTA_SHARED_WEIGHT = QUOTA_PREFIX + "shared-weight"
ANNOTATION_QUOTA_RUNTIME = QUOTA_PREFIX + "runtime"
ANNOTATION_QUOTA_REQUEST = QUOTA_PREFIX + "request"
ANNOTATION_QUOTA_CHILD_REQUEST = QUOTA_PREFIX + "child-request"
ANNOTATION_QUOTA_GUARANTEED = QUOTA_PREFIX + "guaranteed"
ANNOTATION_QUOTA_ALLOCATED = QUOTA_PREFIX + "allocated"
ANNOTATION_QUOTA_ADMISSION = QUOTA_PREFIX + "admission"
ANNOTATION_QUOTA_STRICT_KEYS = QUOTA_PREFIX + "max-strict-check-resource-keys"
ANNOTATION_QUOTA_NAMESPACES = QUOTA_PREFIX + "namespaces"
ANNOTATION_QUOTA_TOTAL_RESOURCE = QUOTA_PREFIX + "total-resource"
ANNOTATION_QUOTA_UNSCHEDULABLE_RESOURCE = QUOTA_PREFIX + "unschedulable-resource"
QUOTA_ROOT = "koordinator-root-quota"
QUOTA_SYSTEM = "koordinator-system-quota"
QUOTA_DEFAULT = "koordinator-default-quota"

# Devices.
ANNOTATION_DEVICE_ALLOCATED = "scheduling.koordinator.sh/device-allocated"
ANNOTATION_DEVICE_ALLOCATE_HINT = "scheduling.koordinator.sh/device-allocate-hint"
ANNOTATION_DEVICE_JOINT_ALLOCATE = "scheduling.koordinator.sh/device-joint-allocate"
ANNOTATION_GPU_PARTITION_SPEC = "scheduling.koordinator.sh/gpu-partition-spec"
ANNOTATION_GPU_PARTITIONS = "scheduling.koordinator.sh/gpu-partitions"
LABEL_GPU_PARTITION_POLICY = "node.koordinator.sh/gpu-partition-policy"
LABEL_GPU_VENDOR = "node.koordinator.sh/gpu-vendor"
LABEL_GPU_MODEL = "node.koordinator.sh/gpu-model"
LABEL_GPU_DRIVER_VERSION = "node.koordinator.sh/gpu-driver-version"
LABEL_SECONDARY_DEVICE_PLANNED = "node.koordinator.sh/secondary-device-well-planned"
LABEL_GPU_ISOLATION_PROVIDER = "koordinator.sh/gpu-isolation-provider"

# Nodes and namespaces.
ANNOTATION_NODE_RESERVATION = "node.koordinator.sh/reservation"
ANNOTATION_NODE_RAW_ALLOCATABLE = "node.koordinator.sh/raw-allocatable"
ANNOTATION_NODE_AMPLIFICATION = "node.koordinator.sh/resource-amplification-ratio"
LABEL_NAMESPACE_NAME = "kubernetes.io/metadata.name"
LABEL_HOSTNAME = "kubernetes.io/hostname"
LABEL_ZONE = "topology.kubernetes.io/zone"
LABEL_REGION = "topology.kubernetes.io/region"

# Several schedulers, preemption.
LABEL_SCHEDULER_NAME = "scheduling.koordinator.sh/scheduler-name"
ANNOTATION_ORIGINAL_SCHEDULER_NAME = "internal.scheduling.koordinator.sh/original-scheduler-name"
LABEL_PREEMPTION_POLICY = "scheduling.koordinator.sh/preemption-policy"
LABEL_DISABLE_PREEMPTIBLE = "scheduling.koordinator.sh/disable-preemptible"
