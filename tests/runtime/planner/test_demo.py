"""The cluster that comes with the package."""

from koordopt.runtime.planner.demo import read_demo


def test_the_demo_is_valid_and_small() -> None:
    """Nothing in it is left out, and it is read in a blink."""
    inputs = read_demo()
    cluster = inputs.cluster
    assert not inputs.rejected
    assert len(cluster.nodes) == 15
    assert {node.metadata.labels["topology.kubernetes.io/zone"] for node in cluster.nodes} == set(
        "abc"
    )
    assert 55 <= len(cluster.pods) <= 75
    assert {device.metadata.name for device in cluster.devices} == {"gpu-a1", "gpu-b1"}
    assert len(cluster.elastic_quotas) == 3
    assert len(cluster.pod_groups) == 2
    assert len(cluster.disruption_budgets) == 2


def test_every_running_pod_of_the_demo_is_on_a_node_that_holds_it() -> None:
    """No node is overcommitted, so the plan starts from a state that is possible."""
    cluster = read_demo().cluster
    free = {
        node.metadata.name: {
            name: quantity.nanos for name, quantity in node.status.allocatable.items()
        }
        for node in cluster.nodes
    }
    for pod in cluster.pods:
        if pod.spec.node_name:
            left = free[pod.spec.node_name]
            for name, quantity in pod.spec.containers[0].resources.requests.items():
                left[name] -= quantity.nanos
    assert all(amount >= 0 for left in free.values() for amount in left.values())
