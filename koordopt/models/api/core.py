"""Pods, nodes and the other core objects, with only the fields that scheduling reads.

Every field has a default, so a field that is absent (or null, see ``decode``) is the same as one
at its zero value. Quantities are parsed once, while an object is decoded. The structs are frozen
and hold no reference cycles, so the garbage collector need not track them.
"""

from datetime import datetime
from typing import Annotated

import msgspec

from koordopt.models.units import Quantity

ResourceList = dict[str, Quantity]
"""Resource name to quantity, as written in a manifest."""

Timestamp = Annotated[datetime, msgspec.Meta(tz=True)]
"""A moment with its time zone."""

Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
"""An integer as the API keeps it, in 32 bits."""

Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
"""An integer as the API keeps it, in 64 bits."""


class _Base(msgspec.Struct, frozen=True, kw_only=True, gc=False, rename="camel"):
    """Common settings of every struct below."""


# Metadata and selectors.


class OwnerReference(_Base, frozen=True, gc=False):
    """One owner of an object."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False


class ObjectMeta(_Base, frozen=True, gc=False):
    """Identity and labels of an object."""

    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    creation_timestamp: Timestamp | None = None
    deletion_timestamp: Timestamp | None = None
    deletion_grace_period_seconds: Int64 | None = None
    owner_references: tuple[OwnerReference, ...] = ()


class SelectorRequirement(_Base, frozen=True, gc=False):
    """One expression of a label, node or field selector."""

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class LabelSelector(_Base, frozen=True, gc=False):
    """A label selector as written; ``selectors.compile_selector`` gives its meaning."""

    match_labels: dict[str, str] = {}
    match_expressions: tuple[SelectorRequirement, ...] = ()


class NodeSelectorTerm(_Base, frozen=True, gc=False):
    """Requirements on one node, all of which must hold; an empty term matches nothing."""

    match_expressions: tuple[SelectorRequirement, ...] = ()
    match_fields: tuple[SelectorRequirement, ...] = ()


class NodeSelector(_Base, frozen=True, gc=False):
    """Terms of which one must hold."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()


# Affinity, tolerations, spread.


class PreferredSchedulingTerm(_Base, frozen=True, gc=False):
    """A node selector term with its weight."""

    weight: Int32 = 0
    preference: NodeSelectorTerm = NodeSelectorTerm()


class NodeAffinity(_Base, frozen=True, gc=False):
    """Node affinity; ``required`` and ``preferred`` are those during scheduling."""

    required: NodeSelector | None = msgspec.field(
        default=None, name="requiredDuringSchedulingIgnoredDuringExecution"
    )
    preferred: tuple[PreferredSchedulingTerm, ...] = msgspec.field(
        default=(), name="preferredDuringSchedulingIgnoredDuringExecution"
    )


class PodAffinityTerm(_Base, frozen=True, gc=False):
    """Pods that a term speaks of, and the topology over which it counts.

    ``label_selector`` None matches nothing. ``namespaces`` and ``namespace_selector`` keep the
    difference between absent and empty.
    """

    topology_key: str = ""
    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] | None = None
    namespace_selector: LabelSelector | None = None
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()


class WeightedPodAffinityTerm(_Base, frozen=True, gc=False):
    """A pod affinity term with its weight."""

    weight: Int32 = 0
    pod_affinity_term: PodAffinityTerm = PodAffinityTerm()


class PodAffinity(_Base, frozen=True, gc=False):
    """Pod affinity or anti-affinity; both have the same shape."""

    required: tuple[PodAffinityTerm, ...] = msgspec.field(
        default=(), name="requiredDuringSchedulingIgnoredDuringExecution"
    )
    preferred: tuple[WeightedPodAffinityTerm, ...] = msgspec.field(
        default=(), name="preferredDuringSchedulingIgnoredDuringExecution"
    )


class Affinity(_Base, frozen=True, gc=False):
    """The three kinds of affinity."""

    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class Toleration(_Base, frozen=True, gc=False):
    """A taint that a pod tolerates; an empty operator means ``Equal``."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: Int64 | None = None


class TopologySpreadConstraint(_Base, frozen=True, gc=False):
    """A limit on how unevenly pods may stand over topology domains.

    Empty policies mean ``Honor`` for node affinity and ``Ignore`` for taints.
    """

    max_skew: Int32 = 0
    topology_key: str = ""
    when_unsatisfiable: str = ""
    label_selector: LabelSelector | None = None
    min_domains: Int32 | None = None
    node_affinity_policy: str = ""
    node_taints_policy: str = ""
    match_label_keys: tuple[str, ...] = ()


# Containers.


class ResourceRequirements(_Base, frozen=True, gc=False):
    """What a container or a pod asks for, and its limits."""

    requests: ResourceList = {}
    limits: ResourceList = {}


NO_RESOURCES = ResourceRequirements()
"""Nothing requested, nothing limited."""


class ContainerPort(_Base, frozen=True, gc=False):
    """A port of a container; an empty protocol means TCP."""

    container_port: Int32 = 0
    host_port: Int32 = 0
    host_ip: str = msgspec.field(default="", name="hostIP")
    protocol: str = ""


class Container(_Base, frozen=True, gc=False):
    """A container; as init container with ``restart_policy`` Always it is a sidecar."""

    name: str = ""
    image: str = ""
    resources: ResourceRequirements = NO_RESOURCES
    restart_policy: str = ""
    ports: tuple[ContainerPort, ...] = ()


class PodSchedulingGate(_Base, frozen=True, gc=False):
    """A gate that keeps a pod from being scheduled."""

    name: str = ""


class PodResourceClaim(_Base, frozen=True, gc=False):
    """A device claim of a pod."""

    name: str = ""
    resource_claim_name: str = ""
    resource_claim_template_name: str = ""


class PodSpec(_Base, frozen=True, gc=False):
    """What a pod asks of the scheduler."""

    node_name: str = ""
    scheduler_name: str = ""
    node_selector: dict[str, str] = {}
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    scheduling_gates: tuple[PodSchedulingGate, ...] = ()
    priority: Int32 | None = None
    priority_class_name: str = ""
    preemption_policy: str = ""
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    ephemeral_containers: tuple[Container, ...] = ()
    overhead: ResourceList = {}
    resources: ResourceRequirements | None = None
    host_network: bool = False
    resource_claims: tuple[PodResourceClaim, ...] = ()
    termination_grace_period_seconds: Int64 | None = None


# Pod status.


class Condition(_Base, frozen=True, gc=False):
    """A condition of a pod or a node."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: Timestamp | None = None


class ContainerStatus(_Base, frozen=True, gc=False):
    """Resources that a running container has; they differ from the spec during a resize."""

    name: str = ""
    allocated_resources: ResourceList = {}
    resources: ResourceRequirements | None = None


class PodStatus(_Base, frozen=True, gc=False):
    """What is known of a pod at run time."""

    phase: str = ""
    qos_class: str = ""
    conditions: tuple[Condition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    resize: str = ""
    start_time: Timestamp | None = None
    nominated_node_name: str = ""


class Pod(_Base, frozen=True, gc=False):
    """A pod."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def key(self) -> str:
        """``namespace/name``."""
        return f"{self.metadata.namespace}/{self.metadata.name}"

    @property
    def is_finished(self) -> bool:
        """Whether the pod has run to its end and uses nothing any more."""
        return self.status.phase in ("Succeeded", "Failed")

    @property
    def is_terminating(self) -> bool:
        """Whether the pod is being deleted."""
        return self.metadata.deletion_timestamp is not None


# Nodes.


class Taint(_Base, frozen=True, gc=False):
    """A taint of a node."""

    key: str = ""
    value: str = ""
    effect: str = ""


class NodeSpec(_Base, frozen=True, gc=False):
    """What keeps pods away from a node."""

    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class ContainerImage(_Base, frozen=True, gc=False):
    """An image that a node holds, with its size in bytes."""

    names: tuple[str, ...] = ()
    size_bytes: Int64 = 0


class NodeStatus(_Base, frozen=True, gc=False):
    """What a node offers."""

    allocatable: ResourceList = {}
    capacity: ResourceList = {}
    conditions: tuple[Condition, ...] = ()
    images: tuple[ContainerImage, ...] = ()


class Node(_Base, frozen=True, gc=False):
    """A node."""

    metadata: ObjectMeta = ObjectMeta()
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


# Other kinds.


class Namespace(_Base, frozen=True, gc=False):
    """A namespace; only its labels matter."""

    metadata: ObjectMeta = ObjectMeta()


class PriorityClass(_Base, frozen=True, gc=False):
    """A named priority."""

    metadata: ObjectMeta = ObjectMeta()
    value: Int32 = 0
    global_default: bool = False
    preemption_policy: str = ""


class PodDisruptionBudgetSpec(_Base, frozen=True, gc=False):
    """Which pods a budget protects; a null or empty selector protects none here."""

    min_available: Int32 | str | None = None
    max_unavailable: Int32 | str | None = None
    selector: LabelSelector | None = None


class PodDisruptionBudgetStatus(_Base, frozen=True, gc=False):
    """How many disruptions a budget still allows, and the pods already being disrupted."""

    disruptions_allowed: Int32 = 0
    current_healthy: Int32 = 0
    desired_healthy: Int32 = 0
    expected_pods: Int32 = 0
    disrupted_pods: dict[str, Timestamp] = {}


class PodDisruptionBudget(_Base, frozen=True, gc=False):
    """A limit on voluntary disruptions."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    status: PodDisruptionBudgetStatus = PodDisruptionBudgetStatus()
