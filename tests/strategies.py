"""Small random clusters, in each of which a few rules of placement have something to say.

A cluster that is under all rules at once has few nodes open to any pod, and hides what one rule
gets wrong behind the others. So each draws the rules that take part.
"""

from hypothesis import strategies as st

from tests.builders import (
    GIB,
    HOSTNAME,
    ZONE,
    make_device,
    make_namespace,
    make_node,
    make_pod,
    make_problem,
)

# The first of each is drawn most, so that pods meet others that their selectors read.
_LABELS = ({"app": "web"}, {"app": "web"}, {"app": "db"}, {})
_NAMESPACES = ("default", "default", "default", "other")
_KEYS = (HOSTNAME, ZONE, "rack")
_SIDES = ("DoNotSchedule", "DoNotSchedule", "DoNotSchedule", "ScheduleAnyway")
RULES = ("room", "taints", "nodes", "ports", "cards", "spread", "company")


def _maybe(strategy, otherwise=None):
    """Give ``otherwise`` some of the time."""
    return st.one_of(strategy, strategy, st.just(otherwise))


selectors = st.sampled_from(
    (
        {"matchLabels": {"app": "web"}},
        {"matchLabels": {"app": "web"}},
        None,
        {},
        {"matchLabels": {"app": "db"}},
        {"matchExpressions": [{"key": "app", "operator": "Exists"}]},
        {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["web"]}]},
    )
)

taints = st.fixed_dictionaries(
    {
        "key": st.sampled_from(("dedicated", "spot")),
        "value": st.sampled_from(("a", "b")),
        "effect": st.sampled_from(("NoSchedule", "NoExecute", "PreferNoSchedule")),
    }
)

tolerations = st.one_of(
    st.just({"operator": "Exists"}),
    st.fixed_dictionaries(
        {
            "key": st.sampled_from(("dedicated", "spot", "node.kubernetes.io/unschedulable")),
            "operator": st.just("Exists"),
        },
        optional={"effect": st.sampled_from(("NoSchedule", "PreferNoSchedule"))},
    ),
    st.fixed_dictionaries(
        {"key": st.sampled_from(("dedicated", "spot")), "value": st.sampled_from(("a", "b"))}
    ),
)


@st.composite
def spread_constraints(draw):
    """Give a topology spread constraint."""
    constraint = {
        "topologyKey": draw(st.sampled_from(_KEYS)),
        "maxSkew": draw(st.sampled_from((1, 1, 1, 2))),
        "whenUnsatisfiable": draw(st.sampled_from(_SIDES)),
        "labelSelector": draw(selectors),
        "nodeAffinityPolicy": draw(st.sampled_from(("Honor", "Ignore"))),
        "nodeTaintsPolicy": draw(st.sampled_from(("Honor", "Ignore"))),
    }
    if constraint["whenUnsatisfiable"] == "DoNotSchedule":
        constraint["minDomains"] = draw(st.sampled_from((1, 1, 2, 3)))
    return constraint


@st.composite
def affinity_terms(draw):
    """Give a term of pod affinity or anti-affinity."""
    term = {"topologyKey": draw(st.sampled_from(_KEYS)), "labelSelector": draw(selectors)}
    scope = draw(st.sampled_from(("own", "named", "selected", "all")))
    if scope == "named":
        term["namespaces"] = ["other"]
    elif scope == "selected":
        term["namespaceSelector"] = {"matchLabels": {"team": "x"}}
    elif scope == "all":
        term["namespaceSelector"] = {}
    return term


@st.composite
def affinities(draw, rules):
    """Give the affinity of a pod: any of required and preferred terms, towards nodes and pods."""
    affinity = {}
    if "nodes" in rules:
        affinity["nodeAffinity"] = draw(node_affinities())
    for side in ("podAffinity", "podAntiAffinity") if "company" in rules else ():
        required = draw(st.lists(affinity_terms(), max_size=2))
        preferred = draw(st.lists(affinity_terms(), max_size=2))
        affinity[side] = {
            "requiredDuringSchedulingIgnoredDuringExecution": required,
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": draw(st.integers(1, 100)), "podAffinityTerm": term} for term in preferred
            ],
        }
    return affinity


@st.composite
def node_affinities(draw):
    """Give the affinity of a pod towards nodes."""
    requirements = st.sampled_from(
        (
            {"key": "rack", "operator": "Exists"},
            {"key": "rack", "operator": "Gt", "values": ["1"]},
            {"key": ZONE, "operator": "NotIn", "values": ["z1"]},
        )
    )
    wanted = draw(_maybe(st.lists(st.lists(requirements, max_size=2), min_size=1, max_size=2)))
    preferred = draw(st.lists(st.lists(requirements, max_size=2), max_size=2))
    affinity = {
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": draw(st.integers(1, 100)), "preference": {"matchExpressions": term}}
            for term in preferred
        ]
    }
    if wanted is not None:
        affinity["requiredDuringSchedulingIgnoredDuringExecution"] = {
            "nodeSelectorTerms": [{"matchExpressions": term} for term in wanted]
        }
    return affinity


host_ports = st.fixed_dictionaries(
    {
        "containerPort": st.just(80),
        "hostPort": st.sampled_from((8080, 9090)),
        "hostIP": st.sampled_from(("", "127.0.0.1", "::")),
        "protocol": st.sampled_from(("TCP", "UDP")),
    }
)

card_requests = st.sampled_from(
    (
        {"nvidia.com/gpu": "1"},
        {"nvidia.com/gpu": "2"},
        {"koordinator.sh/gpu": "60"},
        {"koordinator.sh/gpu-memory": "3Gi"},
        {"koordinator.sh/gpu-memory": "1366Mi"},
        {"koordinator.sh/gpu-core": "30", "koordinator.sh/gpu-memory-ratio": "40"},
        {"koordinator.sh/gpu.shared": "2", "koordinator.sh/gpu-memory-ratio": "100"},
        {"koordinator.sh/gpu-core": "50"},
    )
)


@st.composite
def pods(draw, name, nodes, rules):
    """Give a pod under some rules, on one of ``nodes`` or pending where there are none."""

    def under(rule, strategy, otherwise=()):
        return draw(_maybe(strategy, otherwise)) if rule in rules else otherwise

    requests = under("room", st.sampled_from(({"cpu": "500m"}, {"cpu": "1"}, {"cpu": "2"})), {})
    requests = requests | under("cards", card_requests, {})
    constraints = st.lists(
        spread_constraints(),
        min_size=1,
        max_size=2,
        unique_by=lambda s: (s["topologyKey"], s["whenUnsatisfiable"]),
    )
    ports = st.lists(host_ports, min_size=1, max_size=2, unique_by=lambda p: p["hostPort"])
    return make_pod(
        name,
        node=draw(st.sampled_from(nodes)) if nodes else "",
        namespace=draw(st.sampled_from(_NAMESPACES)),
        labels=draw(st.sampled_from(_LABELS)),
        requests=requests,
        ports=under("ports", ports),
        image=draw(st.sampled_from(("app", "db:v2"))),
        is_deleted=bool(nodes) and draw(st.integers(0, 4)) == 0,
        tolerations=under("taints", st.lists(tolerations, min_size=1, max_size=2)),
        nodeSelector=under("nodes", st.just({"rack": "1"}), {}),
        affinity=draw(_maybe(affinities(rules), {})),
        topologySpreadConstraints=under("spread", constraints),
    )


@st.composite
def nodes(draw, name, rules):
    """Give a node; slots and processors are scarce where there is to be want of room."""
    is_scarce = "room" in rules
    rack = draw(st.sampled_from(("", "1", "2")))
    marks = st.lists(taints, max_size=2, unique_by=lambda t: (t["key"], t["effect"]))
    return make_node(
        name,
        cpu=draw(st.sampled_from(("1", "4"))) if is_scarce else "64",
        pods=draw(st.integers(1, 4)) if is_scarce else 110,
        zone=draw(st.sampled_from((None, "z1", "z2"))),
        labels={"rack": rack} if rack else {},
        taints=draw(marks) if "taints" in rules else (),
        unschedulable="taints" in rules and draw(st.integers(0, 4)) == 0,
        images={"app:latest": 500 << 20} if draw(st.booleans()) else {},
        **{"nvidia.com/gpu": str(draw(st.integers(0, 2)))},
    )


@st.composite
def devices(draw, node):
    """Give the cards of a node; None where they are not known."""
    sizes = draw(_maybe(st.lists(st.sampled_from((4 * GIB, 8 * GIB)), min_size=1, max_size=3)))
    if sizes is None:
        return None
    broken = draw(_maybe(st.sets(st.integers(0, len(sizes) - 1), max_size=1), ()))
    return make_device(node, *sizes, unhealthy=broken)


@st.composite
def problems(draw, most_nodes=4, most_bound=6, most_pending=4):
    """Give the placement problem of a small cluster."""
    rules = draw(st.sets(st.sampled_from(RULES), min_size=1, max_size=3))
    names = [f"n{k}" for k in range(draw(st.sampled_from((3, 2, most_nodes, 1))))]
    found = [draw(devices(name)) for name in names] if "cards" in rules else []
    bound = [draw(pods(f"b{k}", names, rules)) for k in range(draw(st.integers(0, most_bound)))]
    pending = [draw(pods(f"p{k}", (), rules)) for k in range(draw(st.integers(1, most_pending)))]
    return make_problem(
        [draw(nodes(name, rules)) for name in names],
        [*bound, *pending],
        namespaces=[make_namespace("default"), make_namespace("other", {"team": "x"})],
        devices=[device for device in found if device is not None],
    )
