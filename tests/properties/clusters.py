"""Random clusters with gangs, quotas and cards, beside what ``tests.strategies`` draws."""

import json

import msgspec
from hypothesis import strategies as st

from koordopt.models.api import keys
from koordopt.models.api.decode import decode
from koordopt.models.snapshot import ClusterObjects
from tests.builders import GIB, make_device, make_namespace, make_node, make_pod
from tests.scenarios import manifests
from tests.strategies import RULES, pods

GANGS = ("a", "b")
MINIMUM = {"a": "2", "b": "3"}
"""What pods say of their gang, all the same: where they differ, the first by name decides."""
QUOTAS = ("q", "r", "s")
CARD_TOTALS = {"nvidia.com/gpu": "8", "koordinator.sh/gpu.shared": "800"}


@st.composite
def nodes_and_devices(draw, most):
    """Give nodes, of which some have known cards."""
    nodes, devices = [], []
    for k in range(draw(st.integers(1, most))):
        name = f"n{k}"
        sizes = draw(st.sampled_from(((), (), (4 * GIB, 8 * GIB), (8 * GIB,))))
        if sizes:
            devices.append(make_device(name, *sizes, unhealthy=draw(st.sampled_from(((), (0,))))))
        nodes.append(
            make_node(
                name,
                cpu=draw(st.sampled_from(("2", "4"))),
                pods=draw(st.sampled_from((2, 110))),
                zone=draw(st.sampled_from((None, "z1", "z2"))),
                labels={"rack": "1"} if draw(st.booleans()) else {},
                **(CARD_TOTALS if draw(st.booleans()) else {}),
            )
        )
    return nodes, devices


@st.composite
def pod_groups(draw):
    """Give PodGroups; some of the gangs that pods name have none."""
    groups = []
    for name in draw(st.sets(st.sampled_from(GANGS))):
        together = draw(st.sets(st.sampled_from(GANGS), max_size=2))
        said = {
            keys.ANNOTATION_GANG_GROUPS: json.dumps(
                [f"default/{other}" for other in sorted(together)]
            ),
            keys.ANNOTATION_GANG_MATCH_POLICY: draw(
                st.sampled_from(("", "only-waiting", "waiting-and-running"))
            ),
        }
        minimum = draw(st.sampled_from((0, 1, 2, 2, 3)))
        groups.append(decode(manifests.pod_group(name, "default", minimum, said)))
    return groups


@st.composite
def elastic_quotas(draw):
    """Give a few quotas, some below others."""
    quotas = []
    for k, name in enumerate(draw(st.lists(st.sampled_from(QUOTAS), unique=True))):
        parents = [quota.metadata.name for quota in quotas]
        quotas.append(
            decode(
                manifests.quota(
                    name,
                    least=draw(st.sampled_from(({}, {"cpu": "1"}, {"cpu": "2"}))),
                    most=draw(st.sampled_from(({"cpu": "2"}, {"cpu": "4"}, {"memory": "1Gi"}))),
                    parent=draw(st.sampled_from(["", *parents])),
                    is_parent=k == 0 and draw(st.booleans()),
                    lends=draw(st.booleans()),
                )
            )
        )
    return quotas


@st.composite
def plain_pods(draw, name, nodes):
    """Give a pod that asks for cores and nothing else."""
    cpu = draw(st.sampled_from(("500m", "1", "2", "3")))
    return make_pod(name, node=draw(st.sampled_from(nodes)) if nodes else "", requests={"cpu": cpu})


@st.composite
def members(draw, name, nodes, rules):
    """Give a pod that may belong to a gang and a quota, with a priority and an age.

    Half of them ask for cores alone, so that gangs do start.
    """
    pod = draw(plain_pods(name, nodes) if draw(st.booleans()) else pods(name, nodes, rules))
    labels, annotations = dict(pod.metadata.labels), {}
    how = draw(st.sampled_from(("none", "none", "label", "annotation")))
    gang = draw(st.sampled_from(GANGS))
    if how == "label":
        labels[keys.LABEL_POD_GROUP] = gang
    elif how == "annotation":
        annotations = {
            keys.ANNOTATION_GANG_NAME: gang,
            keys.ANNOTATION_GANG_MIN_AVAILABLE: draw(st.sampled_from((MINIMUM[gang], "x"))),
        }
    if quota := draw(st.sampled_from(("", *QUOTAS))):
        labels[keys.LABEL_QUOTA_NAME] = quota
    if draw(st.integers(0, 3)) == 0:
        labels[keys.LABEL_QUOTA_PREEMPTIBLE] = "false"
    created = manifests.EPOCH.replace(minute=draw(st.integers(0, 59)))
    metadata = msgspec.structs.replace(
        pod.metadata, labels=labels, annotations=annotations, creation_timestamp=created
    )
    spec = msgspec.structs.replace(pod.spec, priority=draw(st.sampled_from((0, 0, 9000))))
    return msgspec.structs.replace(pod, metadata=metadata, spec=spec)


@st.composite
def clusters(draw, most_nodes=4, most_bound=3, most_pending=7):
    """Give the objects of a small cluster in which every rule may have something to say."""
    nodes, devices = draw(nodes_and_devices(most_nodes))
    names = [node.metadata.name for node in nodes]
    rules = draw(st.sets(st.sampled_from(RULES), max_size=3))
    bound = [draw(members(f"b{k}", names, rules)) for k in range(draw(st.integers(0, most_bound)))]
    pending = [draw(members(f"p{k}", (), rules)) for k in range(draw(st.integers(1, most_pending)))]
    return ClusterObjects(
        nodes=tuple(nodes),
        pods=(*bound, *pending),
        namespaces=(make_namespace("default"), make_namespace("other", {"team": "x"})),
        pod_groups=tuple(draw(pod_groups())),
        elastic_quotas=tuple(draw(elastic_quotas())),
        devices=tuple(devices),
    )
