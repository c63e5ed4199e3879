"""Room on a node: the smallest clusters on which it decides."""

from tests.agreement import open_to, violations_of
from tests.builders import make_node, make_pod, make_problem


def test_room_is_what_running_pods_leave():
    node = make_node("a", cpu="2")
    old = make_pod("old", node="a", requests={"cpu": "1500m"})
    assert open_to(make_pod("p", requests={"cpu": "500m"}), node, running=[old]) == {"a"}
    assert open_to(make_pod("p", requests={"cpu": "501m"}), node, running=[old]) == set()
    problem = make_problem([node], [old, make_pod("p", requests={"cpu": "501m"})])
    (fault,) = violations_of(problem, p="a")
    assert (fault.rule, fault.found, fault.allowed) == ("capacity", "cpu 2001m", "2")


def test_a_pod_slot_is_needed_even_by_a_pod_that_asks_for_nothing():
    node = make_node("a", pods=1)
    assert open_to(make_pod("p"), node) == {"a"}
    assert open_to(make_pod("p"), node, running=[make_pod("old", node="a")]) == set()


def test_over_commitment_in_what_a_pod_does_not_ask_for_is_no_refusal():
    node = make_node("a", cpu="1")
    old = make_pod("old", node="a", requests={"cpu": "3"})
    assert open_to(make_pod("p", requests={"memory": "1Gi"}), node, running=[old]) == {"a"}


def test_sidecars_add_to_the_request_and_their_order_matters():
    """Sidecar 100m, then init 200m, then app 100m asks for 300m; with init first for 200m."""

    def sidecar():
        resources = {"requests": {"cpu": "100m"}}
        return {"name": "s", "image": "s", "restartPolicy": "Always", "resources": resources}

    init = {"name": "i", "image": "i", "resources": {"requests": {"cpu": "200m"}}}
    node = make_node("a", cpu="250m")
    asked = {"cpu": "100m"}
    first = make_pod("p", requests=asked, initContainers=[sidecar(), init])
    last = make_pod("p", requests=asked, initContainers=[init, sidecar()])
    assert open_to(first, node) == set()
    assert open_to(last, node) == {"a"}
