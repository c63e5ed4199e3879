"""What a gang is told to be, by its PodGroup or by its pods."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from koordopt.models.api import keys
from koordopt.models.api.core import Pod
from koordopt.models.api.crds import PodGroup
from koordopt.models.api.durations import parse_duration_s
from koordopt.models.api.labels import parse_int64

DEFAULT_WAIT_S = 600.0
"""How long members wait for each other where nothing says otherwise, seconds."""

MAX_MEMBERS = 2**31 - 1


class GangMode(Enum):
    """What the failure of one member means for the others."""

    STRICT = "Strict"
    NON_STRICT = "NonStrict"


class MatchPolicy(Enum):
    """Which members count towards the minimum."""

    ONLY_WAITING = "only-waiting"
    WAITING_AND_RUNNING = "waiting-and-running"
    ONCE_SATISFIED = "once-satisfied"


_MODES = {mode.value: mode for mode in GangMode}
_POLICIES = {policy.value: policy for policy in MatchPolicy}


@dataclass(frozen=True, slots=True)
class GangSpec:
    """The parameters of one gang.

    Attributes
    ----------
    id
        ``namespace/name``.
    min_member
        How many members start together at the least.
    total
        How many members must exist before any is scheduled; at least ``min_member``.
    mode
        Whether the failure of one member fails all.
    match_policy
        Which members count.
    wait_s
        How long members wait for each other, seconds.
    groups
        Ids of the gangs that start together, sorted; only its own where none are named.
    """

    id: str
    min_member: int
    total: int
    mode: GangMode
    match_policy: MatchPolicy
    wait_s: float
    groups: tuple[str, ...]

    @property
    def group_id(self) -> str:
        """The id that gangs which start together have in common."""
        return ",".join(self.groups)


def names_pod_group(pod: Pod) -> bool:
    """Whether the pod names a PodGroup, so that its gang exists only with that object."""
    return bool(pod.metadata.labels.get(keys.LABEL_POD_GROUP))


def gang_name(pod: Pod) -> str | None:
    """Return the name of the pod's gang, by label, by deprecated label, or by annotation."""
    labels = pod.metadata.labels
    return (
        labels.get(keys.LABEL_POD_GROUP)
        or labels.get(keys.LABEL_POD_GROUP_NAME_OLD)
        or pod.metadata.annotations.get(keys.ANNOTATION_GANG_NAME)
        or None
    )


def spec_of_group(
    group: PodGroup,
    default_policy: MatchPolicy = MatchPolicy.ONCE_SATISFIED,
    default_wait_s: float = DEFAULT_WAIT_S,
) -> GangSpec:
    """Return the gang that a PodGroup describes."""
    metadata, timeout_s = group.metadata, group.spec.schedule_timeout_seconds
    return _spec(
        f"{metadata.namespace}/{metadata.name}",
        group.spec.min_member,
        timeout_s if timeout_s and timeout_s > 0 else default_wait_s,
        metadata.annotations,
        default_policy,
    )


def spec_of_pod(
    pod: Pod,
    default_policy: MatchPolicy = MatchPolicy.ONCE_SATISFIED,
    default_wait_s: float = DEFAULT_WAIT_S,
) -> GangSpec | None:
    """Return the gang that a pod describes by itself.

    None for a pod of no gang, for one that names a PodGroup, and where the minimum is missing or
    no integer: such a gang is not initialised.
    """
    name = gang_name(pod)
    if name is None or names_pod_group(pod):
        return None
    annotations = pod.metadata.annotations
    minimum = pod.metadata.labels.get(keys.LABEL_POD_GROUP_MIN_AVAILABLE_OLD)
    if minimum is None:
        minimum = annotations.get(keys.ANNOTATION_GANG_MIN_AVAILABLE, "")
    min_member = parse_int64(minimum)
    if min_member is None or abs(min_member) > MAX_MEMBERS:
        return None
    wait_s = parse_duration_s(annotations.get(keys.ANNOTATION_GANG_WAITING_TIME, ""))
    return _spec(
        f"{pod.metadata.namespace}/{name}",
        min_member,
        wait_s if wait_s is not None and wait_s > 0 else default_wait_s,
        annotations,
        default_policy,
    )


def spec_of_pods(
    pods: Iterable[Pod],
    default_policy: MatchPolicy = MatchPolicy.ONCE_SATISFIED,
    default_wait_s: float = DEFAULT_WAIT_S,
) -> GangSpec | None:
    """Return the gang by the first of ``pods`` that describes it; later ones are ignored."""
    for pod in pods:
        spec = spec_of_pod(pod, default_policy, default_wait_s)
        if spec is not None:
            return spec
    return None


def _spec(
    gang_id: str,
    min_member: int,
    wait_s: float,
    annotations: Mapping[str, str],
    default_policy: MatchPolicy,
) -> GangSpec:
    min_member = max(0, min_member)
    total = parse_int64(annotations.get(keys.ANNOTATION_GANG_TOTAL, "")) or 0
    policy = annotations.get(keys.ANNOTATION_GANG_MATCH_POLICY) or annotations.get(
        keys.ANNOTATION_GANG_MATCH_POLICY_ALIAS, ""
    )
    return GangSpec(
        id=gang_id,
        min_member=min_member,
        total=total if min_member <= total <= MAX_MEMBERS else min_member,
        mode=_MODES.get(annotations.get(keys.ANNOTATION_GANG_MODE, ""), GangMode.STRICT),
        match_policy=_POLICIES.get(policy, default_policy),
        wait_s=float(wait_s),
        groups=_groups(annotations.get(keys.ANNOTATION_GANG_GROUPS, "")) or (gang_id,),
    )


def _groups(text: str) -> tuple[str, ...]:
    """Return the gang ids of a JSON list, sorted; none where it cannot be read."""
    try:
        value = json.loads(text) if text else []
    except (ValueError, RecursionError):
        return ()
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        return ()
    return tuple(sorted(set(value)))
