"""Host ports: the smallest clusters on which they decide."""

import pytest

from tests.agreement import open_to, violations_of
from tests.builders import make_node, make_pod, make_problem


def port(number=80, address="", protocol="TCP"):
    return {
        "containerPort": 8080,
        "hostPort": number,
        "hostIP": address,
        "protocol": protocol,
    }


@pytest.mark.parametrize(
    ("mine", "is_open"),
    [
        (port(), False),
        (port(81), True),
        (port(protocol="UDP"), True),
        (port(address="10.0.0.1"), False),
        (port(address="10.0.0.2"), True),
        (port(address="::"), True),
        (port(address="0.0.0.0"), False),
    ],
)
def test_a_host_port_is_open_once_an_address(mine, is_open):
    running = make_pod("old", node="a", ports=[port(address="10.0.0.1")])
    pod = make_pod("p", ports=[mine])
    assert open_to(pod, make_node("a"), running=[running]) == ({"a"} if is_open else set())


def test_two_pods_of_one_plan_do_not_share_a_port():
    problem = make_problem(
        [make_node("a"), make_node("b")], [make_pod(name, ports=[port()]) for name in "pq"]
    )
    assert violations_of(problem, p="a", q="b") == []
    assert [v.object for v in violations_of(problem, p="a", q="a")] == ["default/q"]


def test_host_networking_makes_container_ports_host_ports():
    """The ports of init containers do not count, those of sidecars do."""
    node = make_node("a")
    old = make_pod("old", node="a", ports=[{"containerPort": 80}], hostNetwork=True)
    assert open_to(make_pod("p", ports=[port(80)]), node, running=[old]) == set()

    def beside(restart):
        init = {"name": "i", "image": "i", "ports": [port(90)], **restart}
        old = make_pod("old", node="a", initContainers=[init])
        return open_to(make_pod("p", ports=[port(90)]), node, running=[old])

    assert beside({}) == {"a"}
    assert beside({"restartPolicy": "Always"}) == set()
