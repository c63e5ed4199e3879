"""Taints, cordons, node affinity, ports and capacity: the smallest cases of each."""

import pytest

from tests.agreement import feasible_nodes, violations_of
from tests.builders import make_node, make_pod, make_problem

NO_SCHEDULE = {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}


def open_to(pod, *nodes, running=()):
    return feasible_nodes(make_problem(nodes, [*running, pod]), pod.metadata.name)


@pytest.mark.parametrize(
    ("toleration", "is_open"),
    [
        (None, False),
        ({"key": "dedicated", "value": "gpu"}, True),
        ({"key": "dedicated", "operator": "Exists"}, True),
        ({"operator": "Exists"}, True),
        ({"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}, True),
        ({"key": "dedicated", "value": "gpu", "effect": "NoExecute"}, False),
        ({"key": "dedicated", "value": "cpu"}, False),
        ({"key": "dedicate", "operator": "Exists"}, False),
    ],
)
def test_a_hard_taint_must_be_tolerated(toleration, is_open):
    pod = make_pod("p", tolerations=[toleration] if toleration else [])
    assert open_to(pod, make_node("a", taints=[NO_SCHEDULE])) == ({"a"} if is_open else set())


def test_every_hard_taint_must_be_tolerated_and_soft_ones_need_not():
    other = {"key": "other", "effect": "NoExecute"}
    soft = {"key": "soft", "effect": "PreferNoSchedule"}
    pod = make_pod("p", tolerations=[{"key": "dedicated", "operator": "Exists"}])
    nodes = [
        make_node("a", taints=[NO_SCHEDULE, soft]),
        make_node("b", taints=[NO_SCHEDULE, other]),
    ]
    assert open_to(pod, *nodes) == {"a"}
    problem = make_problem(nodes, [pod])
    assert violations_of(problem, p="a") == []
    assert [v.rule for v in violations_of(problem, p="b")] == ["taint"]


def test_a_cordon_is_judged_apart_from_its_taint():
    cordoned = make_node("a", unschedulable=True)
    tolerant = make_pod(
        "p", tolerations=[{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}]
    )
    assert open_to(make_pod("p"), cordoned) == set()
    assert open_to(tolerant, cordoned) == {"a"}


def expression(operator, *values, key="disk"):
    return {"key": key, "operator": operator, "values": list(values)}


def required(*terms):
    selector = {"nodeSelectorTerms": list(terms)}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": selector}}


DISKS = [
    make_node("a", labels={"disk": "10"}),
    make_node("b", labels={"disk": "ssd"}),
    make_node("c"),
]


@pytest.mark.parametrize(
    ("expressions", "expected"),
    [
        ([expression("In", "ssd", "10")], {"a", "b"}),
        ([expression("NotIn", "ssd")], {"a", "c"}),
        ([expression("Exists")], {"a", "b"}),
        ([expression("DoesNotExist")], {"c"}),
        ([expression("Gt", "9")], {"a"}),
        ([expression("Lt", "9")], set()),
        ([expression("Gt", "soon")], set()),
        ([expression("Exists"), expression("NotIn", "10")], {"b"}),
        ([], set()),
    ],
)
def test_expressions_of_a_required_term(expressions, expected):
    """All must hold; what does not compare as integers never matches, and no more an empty term."""
    pod = make_pod("p", affinity=required({"matchExpressions": expressions}))
    assert open_to(pod, *DISKS) == expected


def test_one_required_term_is_enough_and_the_selector_must_hold_as_well():
    terms = (
        {"matchExpressions": [expression("Gt", "soon")]},
        {"matchExpressions": [expression("In", "ssd")]},
        {"matchFields": [expression("In", "c", key="metadata.name")]},
    )
    assert open_to(make_pod("p", affinity=required(*terms)), *DISKS) == {"b", "c"}
    pod = make_pod("p", affinity=required(*terms), nodeSelector={"disk": "ssd"})
    assert open_to(pod, *DISKS) == {"b"}


def test_names_that_contradict_each_other_leave_no_node():
    fields = [expression("In", name, key="metadata.name") for name in ("a", "b")]
    assert open_to(make_pod("p", affinity=required({"matchFields": fields})), *DISKS) == set()
    assert open_to(
        make_pod(
            "p",
            affinity=required({"matchFields": [expression("NotIn", "a", key="metadata.name")]}),
        ),
        *DISKS,
    ) == {"b", "c"}


def test_a_pod_that_names_its_node_goes_nowhere_else():
    pods = [make_pod("p", node="b"), make_pod("lost", node="gone")]
    problem = make_problem(DISKS, pods, pending=["default/p", "default/lost"])
    assert feasible_nodes(problem, "p") == {"b"}
    assert feasible_nodes(problem, "lost") == set()
    assert [v.rule for v in violations_of(problem, p="a")] == ["node-affinity"]


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
