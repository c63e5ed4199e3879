"""A cluster as a story: what is there, a cycle of planning, and what must have come of it.

    cluster().nodes(3, cpu=8).gang("train", 4, cpu=6).cycle().expect_unplaced("train")

Every cycle reads the cluster anew, places what is pending with greedy, checks what holds for any
plan (see ``invariants``), and applies the plan, so that the next cycle sees it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from koordopt.models.api import keys
from koordopt.models.api.core import Pod
from koordopt.models.api.decode import Object, decode
from koordopt.models.delta import ClusterDelta, apply_delta
from koordopt.models.plan import Bind, Plan
from koordopt.models.problem.placement import PlacementProblem
from koordopt.models.reason import Reason
from koordopt.models.snapshot import ClusterObjects, ClusterSnapshot, SnapshotSettings
from tests.scenarios import invariants, manifests

_FIELDS = {
    "Node": "nodes",
    "Pod": "pods",
    "Namespace": "namespaces",
    "PodGroup": "pod_groups",
    "ElasticQuota": "elastic_quotas",
    "Device": "devices",
}
_SHUFFLE_SEED = 20260101


def cluster(settings: SnapshotSettings | None = None) -> Scenario:
    """Return an empty cluster at second 0."""
    return Scenario(settings)


class Scenario:
    """A cluster, its clock and its last plan; every verb returns the scenario itself.

    Names without a namespace are in ``default``; the name of a gang stands for all its pods.
    """

    def __init__(self, settings: SnapshotSettings | None = None) -> None:
        self.objects = ClusterObjects()
        self.settings = settings
        self.second = 0
        self.plan: Plan | None = None
        self.problem: PlacementProblem | None = None
        self._nodes_made = 0

    # -- what is there ---------------------------------------------------------------------

    def add(self, *raw: Mapping[str, Any]) -> Scenario:
        """Add manifests, or replace the objects of the same kind and name."""
        arrived: dict[str, list[Object]] = {}
        for each in raw:
            found = decode(each)
            assert found is not None, f"{each['kind']} is not read"
            arrived.setdefault(_FIELDS[each["kind"]], []).append(found)
        fields = {kind: tuple(values) for kind, values in arrived.items()}
        return self._apply(ClusterDelta(arrived=ClusterObjects(**fields)))

    def nodes(self, count: int, **node: Any) -> Scenario:
        """Add ``count`` equal nodes, named n1, n2 and so on."""
        first = self._nodes_made + 1
        self._nodes_made += count
        return self.add(
            *(manifests.node(f"n{k}", **node) for k in range(first, self._nodes_made + 1))
        )

    def node(self, name: str, **node: Any) -> Scenario:
        """Add one node, or replace it."""
        return self.add(manifests.node(name, **node))

    def cards(self, node: str, *cards: str | tuple[str, bool]) -> Scenario:
        """Give ``node`` GPU cards: the memory of each, or its memory and whether it is healthy."""
        pairs = tuple((card, True) if isinstance(card, str) else card for card in cards)
        return self.add(manifests.device(node, pairs))

    def pod(
        self, name: str, *, quota: str = "", age_s: float = 0, labels: Any = None, **pod: Any
    ) -> Scenario:
        """Add a pod created ``age_s`` before now; pending unless it is ``on`` a node."""
        marks = {**(labels or {}), **({keys.LABEL_QUOTA_NAME: quota} if quota else {})}
        namespace, name = _split(name)
        return self.add(manifests.pod(name, namespace, self.second - age_s, labels=marks, **pod))

    def pods(self, name: str, count: int, *, start: int = 0, **pod: Any) -> Scenario:
        """Add ``count`` equal pods, named ``name-0``, ``name-1`` and so on."""
        for k in range(start, start + count):
            self.pod(f"{name}-{k}", **pod)
        return self

    def gang(
        self,
        name: str,
        members: int,
        *,
        minimum: int | None = None,
        declared_by: str = "PodGroup",
        policy: str = "",
        groups: tuple[str, ...] = (),
        **pod: Any,
    ) -> Scenario:
        """Add a gang with its pods, by a ``PodGroup`` or by ``annotations`` on the pods."""
        minimum = members if minimum is None else minimum
        said = manifests.gang_annotations(policy=policy, groups=groups)
        if declared_by == "PodGroup":
            self.pod_group(name, minimum, said)
        return self.members(
            name, members, minimum=minimum, declared_by=declared_by, said=said, **pod
        )

    def pod_group(
        self, name: str, minimum: int, annotations: Mapping[str, str] | None = None
    ) -> Scenario:
        """Add a PodGroup without pods."""
        namespace, group = _split(name)
        return self.add(manifests.pod_group(group, namespace, minimum, annotations))

    def members(
        self,
        name: str,
        count: int,
        *,
        start: int = 0,
        minimum: int = 0,
        declared_by: str = "PodGroup",
        said: Mapping[str, str] | None = None,
        labels: Mapping[str, str] | None = None,
        **pod: Any,
    ) -> Scenario:
        """Add pods to a gang, ``name-0`` and so on."""
        _, group = _split(name)
        if declared_by == "PodGroup":
            return self.pods(
                name,
                count,
                start=start,
                labels={**(labels or {}), keys.LABEL_POD_GROUP: group},
                **pod,
            )
        annotations = {
            keys.ANNOTATION_GANG_NAME: group,
            keys.ANNOTATION_GANG_MIN_AVAILABLE: str(minimum),
            **(said or {}),
        }
        return self.pods(name, count, start=start, labels=labels, annotations=annotations, **pod)

    def quota(self, name: str, **quota: Any) -> Scenario:
        """Add a quota: ``least`` is its min, ``most`` its max."""
        return self.add(manifests.quota(name, **quota))

    def namespace(self, name: str, **labels: str) -> Scenario:
        """Add a namespace."""
        return self.add(manifests.namespace(name, labels))

    # -- what happens ----------------------------------------------------------------------

    def cycle(self) -> Scenario:
        """Plan what is pending, check the plan, and apply it."""
        now_s = int(manifests.EPOCH.timestamp()) + self.second
        problem, result, plan = invariants.plan_of(self.objects, now_s, self.settings)
        invariants.assert_sound(problem, result, plan)
        other = invariants.shuffled(self.objects, _SHUFFLE_SEED)
        again = invariants.plan_of(other, now_s, self.settings)[2]
        assert again.to_dict() == plan.to_dict(), "the plan depends on the order of objects"
        self.problem, self.plan = problem, plan
        return self._apply(ClusterDelta(binds=plan.binds))

    def advance(self, seconds: int) -> Scenario:
        """Let time pass."""
        self.second += seconds
        return self

    def remove(self, *names: str) -> Scenario:
        """Delete pods, or all pods of a gang."""
        return self._apply(ClusterDelta(departed=frozenset(self._pods(*names))))

    def finish(self, *names: str) -> Scenario:
        """Let pods run to their end; they are still there, and use nothing."""
        keys_ = set(self._pods(*names))
        ended = tuple(
            msgspec.structs.replace(
                pod, status=msgspec.structs.replace(pod.status, phase="Succeeded")
            )
            for pod in self.objects.pods
            if pod.key in keys_
        )
        return self._apply(ClusterDelta(arrived=ClusterObjects(pods=ended)))

    def drop_node(self, *names: str) -> Scenario:
        """Remove nodes together with the pods on them."""
        lost = frozenset(p.key for p in self.objects.pods if p.spec.node_name in names)
        return self._apply(ClusterDelta(departed=lost, removed_nodes=frozenset(names)))

    def _apply(self, delta: ClusterDelta) -> Scenario:
        self.objects = apply_delta(self.objects, delta)
        return self

    # -- what is so ------------------------------------------------------------------------

    def placed(self, *names: str) -> dict[str, str]:
        """Return the node of each bound pod among ``names``; of all without names."""
        chosen = set(self._pods(*names)) if names else {pod.key for pod in self.objects.pods}
        return {
            pod.key.removeprefix("default/"): pod.spec.node_name
            for pod in self.objects.pods
            if pod.key in chosen and pod.spec.node_name
        }

    def count(self, *names: str) -> int:
        """Return how many of the pods have a node."""
        return len(self.placed(*names))

    def bind_of(self, name: str) -> Bind:
        """Return how the last plan binds a pod."""
        assert self.plan is not None
        key = "/".join(_split(name))
        return next(bind for bind in self.plan.binds if bind.pod == key)

    def reason(self, name: str) -> Reason:
        """Return why the last plan leaves a pod pending."""
        assert self.plan is not None
        return self.plan.unplaced["/".join(_split(name))]

    def snapshot(self) -> ClusterSnapshot:
        """Return the cluster as it is now."""
        now_s = int(manifests.EPOCH.timestamp()) + self.second
        return ClusterSnapshot.from_objects(self.objects, now_s=now_s, settings=self.settings)

    def runtime(self, quota: str) -> dict[str, int]:
        """Return what a quota may use now."""
        forest = self.snapshot().quotas.forest
        assert forest is not None
        return forest.runtime(quota)

    def used(self, quota: str) -> dict[str, int]:
        """Return what a quota uses now."""
        forest = self.snapshot().quotas.forest
        assert forest is not None
        return dict(forest.used(quota))

    def cards_used(self) -> dict[str, tuple[int, int, int]]:
        """Return core, memory share (thousandths) and bytes in use of each card in use."""
        cards = self.snapshot().cards
        rows = enumerate(map(tuple, cards.used.tolist()))
        return {cards.name(d): row for d, row in rows if any(row)}

    # -- what must be ----------------------------------------------------------------------

    def expect_placed(self, *names: str) -> Scenario:
        """Require every one of these pods to have a node."""
        missing = [key for key in self._pods(*names) if not self._find(key).spec.node_name]
        assert not missing, f"{missing} pending: {self._why(missing)}"
        return self

    def expect_on(self, node: str, *names: str) -> Scenario:
        """Require these pods to be on ``node``."""
        found = self.placed(*names)
        assert found == dict.fromkeys(found, node), found
        return self.expect_placed(*names)

    def expect_unplaced(
        self, *names: str, rule: str = "", about: str = "", says: str = ""
    ) -> Scenario:
        """Require these pods to be pending, for a reason of ``rule``, about an object.

        The message must contain every part of ``says``, which ``|`` separates.
        """
        assert not self.placed(*names), f"placed: {self.placed(*names)}"
        for key in self._pods(*names):
            reason = self.reason(key)
            assert rule in ("", reason.rule), reason
            assert about in ("", reason.object), reason
            absent = [part for part in says.split("|") if part not in reason.message]
            assert not absent, f"{absent} not in {reason.message!r}"
        return self

    def expect_count(self, count: int, *names: str) -> Scenario:
        """Require exactly ``count`` of these pods to have a node."""
        assert self.count(*names) == count, self.placed(*names)
        return self

    def _why(self, missing: list[str]) -> dict[str, str]:
        reasons = self.plan.unplaced if self.plan else {}
        return {key: reasons[key].message for key in missing if key in reasons}

    def _find(self, key: str) -> Pod:
        return next(pod for pod in self.objects.pods if pod.key == key)

    def _pods(self, *names: str) -> list[str]:
        """Return the pods of the given names, each a pod, a gang, or what ``pods`` made."""
        found: list[str] = []
        for name in names:
            key = "/".join(_split(name))
            own = [
                pod.key
                for pod in self.objects.pods
                if pod.key == key or pod.key.rpartition("-")[0] == key
            ]
            assert own, f"no pod {name}"
            found += sorted(own)
        return found


def _split(name: str) -> tuple[str, str]:
    """Return namespace and name."""
    namespace, _, own = name.rpartition("/")
    return namespace or "default", own
