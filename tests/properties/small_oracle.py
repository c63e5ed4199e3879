"""What makes a set of placements right, in plain Python over API objects.

It shares nothing with the package but the decoded objects, and knows only what the small clusters
of ``test_brute_force`` contain.
"""

from koordopt.models.api.core import Node, Pod
from koordopt.models.snapshot import ClusterObjects

QUOTA = "quota.scheduling.koordinator.sh/name"
PARENT = "quota.scheduling.koordinator.sh/parent"
GANG = "pod-group.scheduling.sigs.k8s.io"


def is_valid(objects: ClusterObjects, binds: list[tuple[str, str]]) -> bool:
    """Return whether pods may be bound, as ``namespace/name`` and node, one after another."""
    nodes = {node.metadata.name: node for node in objects.nodes}
    pods = {pod.key: pod for pod in objects.pods}
    running = [(pod, nodes[pod.spec.node_name]) for pod in objects.pods if pod.spec.node_name]
    before = list(running)
    for key, name in binds:
        pod, node = pods[key], nodes[name]
        if not _may_run(pod, node, running, objects):
            return False
        running.append((pod, node))
    return _gangs_whole(objects, before, [pods[key] for key, _ in binds])


def _may_run(
    pod: Pod, node: Node, running: list[tuple[Pod, Node]], objects: ClusterObjects
) -> bool:
    here = [other for other, where in running if where is node]
    return (
        sum(map(_cpu, [*here, pod])) <= _milli(node.status.allocatable["cpu"])
        and all(_tolerates(pod, taint) for taint in node.spec.taints)
        and all(node.metadata.labels.get(k) == v for k, v in pod.spec.node_selector.items())
        and not set(_ports(pod)) & {port for other in here for port in _ports(other)}
        and not any(_objects_to(pod, node, other, where) for other, where in running)
        and not any(_objects_to(other, where, pod, node) for other, where in running)
        and all(_is_even(pod, node, rule, running, objects) for rule in _spread(pod))
        and _quotas_hold(pod, running, objects)
    )


def _milli(quantity: object) -> int:
    text = str(quantity)
    return int(text[:-1]) if text.endswith("m") else int(text) * 1000


def _cpu(pod: Pod) -> int:
    return sum(_milli(c.resources.requests["cpu"]) for c in pod.spec.containers)


def _tolerates(pod: Pod, taint) -> bool:
    return any(t.operator == "Exists" and t.key == taint.key for t in pod.spec.tolerations)


def _ports(pod: Pod) -> list[int]:
    return [port.host_port for c in pod.spec.containers for port in c.ports if port.host_port]


def _objects_to(pod: Pod, node: Node, other: Pod, where: Node) -> bool:
    """Return whether ``pod`` on ``node`` must not share a domain with ``other``."""
    anti = pod.spec.affinity and pod.spec.affinity.pod_anti_affinity
    return any(
        _matches(term.label_selector, other)
        and node.metadata.labels[term.topology_key] == where.metadata.labels[term.topology_key]
        for term in (anti.required if anti else ())
    )


def _matches(selector, pod: Pod) -> bool:
    return all(pod.metadata.labels.get(k) == v for k, v in selector.match_labels.items())


def _spread(pod: Pod):
    return pod.spec.topology_spread_constraints


def _is_even(
    pod: Pod, node: Node, rule, running: list[tuple[Pod, Node]], objects: ClusterObjects
) -> bool:
    counts = {each.metadata.labels[rule.topology_key]: 0 for each in objects.nodes}
    for other, where in running:
        if _matches(rule.label_selector, other):
            counts[where.metadata.labels[rule.topology_key]] += 1
    # The skew is judged against the lowest count before the pod itself is counted.
    lowest = min(counts.values())
    own = _matches(rule.label_selector, pod)
    return counts[node.metadata.labels[rule.topology_key]] + own - lowest <= rule.max_skew


def _quotas_hold(pod: Pod, running: list[tuple[Pod, Node]], objects: ClusterObjects) -> bool:
    quotas = {quota.metadata.name: quota for quota in objects.elastic_quotas}

    def chain(each: Pod) -> list[str]:
        name = each.metadata.labels.get(QUOTA, "")
        links = []
        while name in quotas:
            links.append(name)
            name = quotas[name].metadata.labels.get(PARENT, "")
        return links

    return all(
        _cpu(pod) + sum(_cpu(other) for other, _ in running if name in chain(other))
        <= _milli(quotas[name].spec.max["cpu"])
        for name in chain(pod)
    )


def _gangs_whole(objects: ClusterObjects, before: list[tuple[Pod, Node]], bound: list[Pod]) -> bool:
    """Return whether each gang of which a pod is bound had started, or starts whole."""
    for group in objects.pod_groups:
        name = group.metadata.name
        has_started = any(pod.metadata.labels.get(GANG) == name for pod, _ in before)
        starting = sum(pod.metadata.labels.get(GANG) == name for pod in bound)
        if starting and not has_started and starting < group.spec.min_member:
            return False
    return True
