"""What a pod asks of a node: the one function that every component counts with.

The effective request of a resource is the larger of what runs together in the end (containers and
sidecars) and the peak while starting (an init container beside the sidecars declared before it).
Pod-level requests replace that for cpu, memory and huge pages; overhead comes on top. Sums are
exact and rounded up once a pod.
"""

from collections.abc import Callable

from koordopt.models.api.core import Container, ContainerStatus, Pod, ResourceList
from koordopt.models.api.keys import HUGE_PAGES_PREFIX, RESOURCE_CPU, RESOURCE_MEMORY
from koordopt.models.units import amount_of_nanos, parse_quantity

DEFAULT_CPU = parse_quantity("100m")
"""What scoring takes a container to use that asks for no cpu."""
DEFAULT_MEMORY = parse_quantity("200Mi")
"""What scoring takes a container to use that asks for no memory."""

_Nanos = dict[str, int]
_Pick = Callable[[Container, ContainerStatus | None, bool], ResourceList]


def pod_requests(pod: Pod, bound: bool) -> dict[str, int]:
    """Return the effective request of a pod, with overhead.

    Parameters
    ----------
    pod
        The pod, with the API server's defaults (see ``default_pod``).
    bound
        Whether it stands on a node already. An in-place resize then counts: a container is taken
        at the largest of what it wants, has and was allocated, and without what it wants if the
        resize cannot be met.

    Returns
    -------
    dict[str, int]
        Resource name to amount in base units; resources at zero may be absent.
    """
    return _amounts(_requested_nanos(pod, bound, {}))


def pod_limits(pod: Pod, bound: bool) -> dict[str, int]:
    """Return the effective limit of a pod; overhead is added where there is a limit.

    Parameters
    ----------
    pod
        The pod.
    bound
        Whether it stands on a node already, so that an in-place resize counts.

    Returns
    -------
    dict[str, int]
        Resource name to amount in base units; a resource that is absent has no limit.
    """
    nanos = _aggregate(pod, bound, _limits_in_effect if bound else _wanted_limits)
    if pod.spec.resources is not None:
        _replace_pod_level(nanos, pod.spec.resources.limits)
    for name, quantity in pod.spec.overhead.items():
        if nanos.get(name):
            nanos[name] += quantity.nanos
    return _amounts(nanos)


def nonzero_requests(pod: Pod, bound: bool) -> dict[str, int]:
    """Return the cpu and memory that scoring takes a pod to use, both always present.

    Each container that names no request for one of the two counts with 100m or 200Mi; an explicit
    zero stays. With pod-level requests the defaults serve only for a resource that is in no
    request at all.

    Parameters
    ----------
    pod
        The pod.
    bound
        Whether it stands on a node already.

    Returns
    -------
    dict[str, int]
        ``cpu`` in thousandths of a core and ``memory`` in bytes.
    """
    defaults: ResourceList = {RESOURCE_CPU: DEFAULT_CPU, RESOURCE_MEMORY: DEFAULT_MEMORY}
    if _has_pod_level_requests(pod):
        present = _requested_nanos(pod, bound, {})
        defaults = {name: default for name, default in defaults.items() if name not in present}
    nanos = _requested_nanos(pod, bound, defaults)
    return _amounts({name: nanos.get(name, 0) for name in (RESOURCE_CPU, RESOURCE_MEMORY)})


def kubernetes_qos(pod: Pod) -> str:
    """Return the Kubernetes QoS class of a spec: Guaranteed, Burstable or BestEffort.

    Only cpu and memory above zero count, those of the pod itself where ``spec.resources`` is there
    at all, even if empty. A pod is Guaranteed if every container limits both and the sums of
    requests and limits agree.
    """
    requests: _Nanos = {}
    limits: _Nanos = {}
    resources = pod.spec.resources
    if resources is not None:
        _add_positive(requests, resources.requests)
        all_limited = _add_positive(limits, resources.limits) == 2
    else:
        all_limited = True
        for container in (*pod.spec.containers, *pod.spec.init_containers):
            _add_positive(requests, container.resources.requests)
            all_limited &= _add_positive(limits, container.resources.limits) == 2
    if not requests and not limits:
        return "BestEffort"
    return "Guaranteed" if all_limited and requests == limits else "Burstable"


def _add_positive(sums: _Nanos, resources: ResourceList) -> int:
    """Add cpu and memory above zero to ``sums``, and return how many of the two there were."""
    found = 0
    for name in (RESOURCE_CPU, RESOURCE_MEMORY):
        quantity = resources.get(name)
        if quantity is not None and quantity.nanos > 0:
            sums[name] = sums.get(name, 0) + quantity.nanos
            found += 1
    return found


def container_request_sums(pod: Pod) -> dict[str, int]:
    """Return what the containers of a spec ask for together, in billionths of a unit."""
    return _aggregate(pod, False, _wanted_requests)


def container_limit_sums(pod: Pod) -> dict[str, int]:
    """Return what the containers of a spec are limited to together, in billionths of a unit."""
    return _aggregate(pod, False, _wanted_limits)


def is_resize_infeasible(pod: Pod) -> bool:
    """Whether the node has refused the pod's pending in-place resize for good."""
    for condition in pod.status.conditions:
        if condition.type == "PodResizePending":
            return condition.reason == "Infeasible"
    return False


def is_sidecar(container: Container) -> bool:
    """Whether an init container keeps running beside the containers."""
    return container.restart_policy == "Always"


def _requested_nanos(pod: Pod, bound: bool, defaults: ResourceList) -> _Nanos:
    spec = pod.spec
    if len(spec.containers) == 1 and not (
        spec.init_containers or defaults or (bound and pod.status.container_statuses)
    ):
        # Nearly every pod: nothing to add up.
        only = spec.containers[0].resources.requests
        nanos = {name: quantity.nanos for name, quantity in only.items()}
    else:
        pick = _requests_in_effect if bound else _wanted_requests
        nanos = _aggregate(pod, bound, pick, defaults)
    if spec.resources is not None:
        _replace_pod_level(nanos, spec.resources.requests)
    _add(nanos, spec.overhead)
    return nanos


def _aggregate(pod: Pod, bound: bool, pick: _Pick, defaults: ResourceList | None = None) -> _Nanos:
    """Return what the containers of a pod need together, in billionths of a unit."""
    infeasible = bound and is_resize_infeasible(pod)
    statuses: dict[str, ContainerStatus] = {}
    if bound:
        statuses = {status.name: status for status in pod.status.init_container_statuses}
        statuses |= {status.name: status for status in pod.status.container_statuses}

    def resources_of(container: Container, has_status: bool = True) -> ResourceList:
        status = statuses.get(container.name) if has_status else None
        picked = pick(container, status, infeasible)
        return {**defaults, **picked} if defaults else picked

    total: _Nanos = {}
    for container in pod.spec.containers:
        _add(total, resources_of(container))
    sidecars: _Nanos = {}
    peak: _Nanos = {}
    for container in pod.spec.init_containers:
        if is_sidecar(container):
            resources = resources_of(container)
            _add(total, resources)
            _add(sidecars, resources)
            _raise_to(peak, sidecars)
        else:
            starting = dict(sidecars)
            _add(starting, resources_of(container, has_status=False))
            _raise_to(peak, starting)
    _raise_to(total, peak)
    return total


def _wanted_requests(container: Container, _status: object, _infeasible: bool) -> ResourceList:
    return container.resources.requests


def _wanted_limits(container: Container, _status: object, _infeasible: bool) -> ResourceList:
    return container.resources.limits


def _requests_in_effect(
    container: Container, status: ContainerStatus | None, infeasible: bool
) -> ResourceList:
    if status is None or status.resources is None:
        return container.resources.requests
    largest = _largest(status.resources.requests, status.allocated_resources)
    return largest if infeasible else _largest(container.resources.requests, largest)


def _limits_in_effect(
    container: Container, status: ContainerStatus | None, infeasible: bool
) -> ResourceList:
    if status is None or status.resources is None:
        return container.resources.limits
    if infeasible:
        return status.resources.limits
    return _largest(container.resources.limits, status.resources.limits)


def _largest(first: ResourceList, second: ResourceList) -> ResourceList:
    largest = dict(first)
    for name, quantity in second.items():
        present = largest.get(name)
        if present is None or present.nanos < quantity.nanos:
            largest[name] = quantity
    return largest


def _add(sums: _Nanos, resources: ResourceList) -> None:
    for name, quantity in resources.items():
        sums[name] = sums.get(name, 0) + quantity.nanos


def _raise_to(sums: _Nanos, floor: _Nanos) -> None:
    for name, nanos in floor.items():
        if nanos > sums.get(name, -1):
            sums[name] = nanos


def is_pod_level_resource(name: str) -> bool:
    """Whether a pod may ask for this resource as a whole, above its containers."""
    return name in (RESOURCE_CPU, RESOURCE_MEMORY) or name.startswith(HUGE_PAGES_PREFIX)


def _has_pod_level_requests(pod: Pod) -> bool:
    resources = pod.spec.resources
    return resources is not None and any(map(is_pod_level_resource, resources.requests))


def _replace_pod_level(nanos: _Nanos, resources: ResourceList) -> None:
    for name, quantity in resources.items():
        if is_pod_level_resource(name):
            nanos[name] = quantity.nanos


def _amounts(nanos: _Nanos) -> dict[str, int]:
    return {name: amount_of_nanos(name, value) for name, value in nanos.items()}
