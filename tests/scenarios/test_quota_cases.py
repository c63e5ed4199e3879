"""Elastic quotas over successive plans of a changing cluster."""

import pytest

from koordopt.models.quota.spec import QuotaSettings
from koordopt.models.snapshot import SnapshotSettings
from tests.scenarios.kit import cluster

BY_MAX = SnapshotSettings(quota=QuotaSettings(enable_runtime=False))
FIRM = {"quota.scheduling.koordinator.sh/preemptible": "false"}


def test_c07_full_quota_of_high_priority_pods_starves_nobody_else():
    """Quota a is full with many pods pending at 9000; the one pod of b at 5000 binds at once."""
    story = cluster().nodes(2, cpu="8").quota("a", most={"cpu": "4"}).quota("b", most={"cpu": "4"})
    story.pod("big", cpu="4", quota="a", on="n1").pods("more", 50, quota="a", priority=9000)
    story.pod("other", quota="b", priority=5000).cycle().expect_placed("other")
    story.expect_unplaced("more", rule="quota", about="a", says="quota a, cpu: 4 + 1 > 4")
    assert len(set(story.plan.unplaced.values())) == 1


def test_c09_first_pod_of_a_fresh_quota_is_admitted():
    """Ten empty nodes of 160 cores; min 10, max 40: a pod of 12 cores binds in cycle 1."""
    story = cluster().nodes(10, cpu="160", memory="320Gi")
    story.quota("q", least={"cpu": "10", "memory": "8Gi"}, most={"cpu": "40", "memory": "80Gi"})
    story.pod("first", cpu="12", requests={"memory": "8Gi"}, quota="q")
    assert story.runtime("q")["cpu"] >= 12_000
    story.cycle().expect_placed("first")


def two_children(settings=None, **parent):
    story = cluster(settings).nodes(2, cpu="8").quota("p", is_parent=True, **parent)
    for child in "ab":
        story.quota(child, parent="p", most={"cpu": "500m"})
        story.pod(f"pod-{child}", cpu="300m", quota=child)
    return story


def test_c10_children_together_stay_within_the_parent():
    """Parent 500m, a pod of 300m in each child: one runs, the other names the parent."""
    story = two_children(BY_MAX, most={"cpu": "500m"}).cycle().expect_count(1, "pod-a", "pod-b")
    story.expect_unplaced(
        "pod-b", rule="quota", about="p", says="parent quota p, cpu: 300m + 300m > 500m"
    )


def test_c10_runtime_of_children_never_sums_to_more_than_the_parent():
    """With runtime quotas the parent's 500m are shared out, and each pod names its own share."""
    story = two_children(least={"cpu": "500m"}, most={"cpu": "500m"}, lends=False).cycle()
    assert story.runtime("a")["cpu"] + story.runtime("b")["cpu"] == 500
    story.expect_unplaced("pod-a", rule="quota", about="a", says="0 + 300m > 250m")
    story.pod("small", cpu="200m", quota="b").remove("pod-b").cycle()
    story.expect_placed("pod-a", "small")
    assert story.used("p") == {"cpu": 500}


def test_c10_a_quota_that_its_parent_keeps_short_names_the_parent():
    """The child may have 9 and its parent has 2, both in use: the parent stands in the way."""
    story = cluster().nodes(1, cpu="16").quota("p", most={"cpu": "2"}, is_parent=True)
    story.quota("q", parent="p", most={"cpu": "9"}).pods("runs", 2, quota="q", on="n1")
    story.pod("next", quota="q").cycle()
    story.expect_unplaced("next", rule="quota", about="p", says="parent quota p, cpu: 2 + 1 > 2")


def test_c11_pod_is_bound_in_the_cycle_after_its_runtime_rose():
    """Min 10, max 40, used 9: a pod of 3 waits at runtime 9 and is bound at runtime 12."""
    story = cluster().nodes(1, cpu="9").quota("q", least={"cpu": "10"}, most={"cpu": "40"})
    story.pods("runs", 9, quota="q", on="n1").pod("next", cpu="3", quota="q").cycle()
    story.expect_unplaced("next", rule="quota", about="q", says="quota q, cpu: 9 + 3 > 9")
    story.node("n2", cpu="3").cycle().expect_on("n2", "next")
    assert story.runtime("q") == {"cpu": 12_000}


def test_c11_departure_in_another_quota_raises_the_runtime():
    """Used 10 of 10 beside a busy tenant; five cores of the tenant leave, and the pod is bound."""
    story = cluster().nodes(1, cpu="20")
    for name in ("q", "tenant"):
        story.quota(name, least={"cpu": "10"}, most={"cpu": "40"})
        story.pods(f"{name}-runs", 10, quota=name, on="n1")
    story.pod("next", cpu="2", quota="q").cycle()
    story.expect_unplaced("next", rule="quota", about="q", says="quota q, cpu: 10 + 2 > 10")
    story.remove(*(f"tenant-runs-{k}" for k in range(5))).cycle().expect_placed("next")


def test_c12_request_of_one_child_lowers_what_the_other_may_use():
    """Child 2 took all 12 cores; child 1 asks for its min of 8: runtimes become 8 and 4."""
    story = cluster().nodes(3, cpu="4").quota("p", is_parent=True, most={"cpu": "12"})
    story.quota("one", parent="p", least={"cpu": "8"}, most={"cpu": "16"})
    story.quota("two", parent="p", least={"cpu": "4"}, most={"cpu": "16"})
    story.pods("lent", 3, cpu="4", quota="two").cycle().expect_placed("lent")
    story.pods("owner", 2, cpu="4", quota="one").cycle()
    assert story.runtime("one") == {"cpu": 8_000}
    assert story.runtime("two") == {"cpu": 4_000}
    assert story.used("p") == {"cpu": 12_000}
    story.expect_unplaced("owner", rule="quota", about="p", says="parent quota p, cpu: 12 + 4 > 12")
    assert story.reason("owner-0").eviction_could_help


def test_c13_use_of_the_default_quota_is_taken_off_once():
    """100 cores, 20 in the default quota, min 50, max 80, request 80: runtime 80, not 60."""
    story = cluster().nodes(1, cpu="100").pod("other", cpu="20", on="n1")
    story.quota("q", least={"cpu": "50"}, most={"cpu": "80"}).pods("work", 8, cpu="10", quota="q")
    assert story.runtime("q") == {"cpu": 80_000}
    story.cycle().expect_placed("work")


@pytest.mark.parametrize(("cpu", "fits"), [("10", True), ("11", False)])
def test_eq_a1_a2_pod_fits_the_runtime_or_not(cpu, fits):
    """EQ-A1, EQ-A2: runtime 20, used 10."""
    story = cluster().nodes(2, cpu="10").quota("q", most={"cpu": "40"})
    story.pod("runs", cpu="10", quota="q", on="n1").pod("next", cpu=cpu, quota="q").cycle()
    if fits:
        story.expect_on("n2", "next")
    else:
        story.expect_unplaced("next", rule="quota", about="q", says="cpu: 10 + 11 > 20")


def test_eq_a3_resource_without_a_max_is_not_limited():
    """EQ-A3: max names cpu alone, so eight cards pass."""
    story = cluster().nodes(1, **{"nvidia.com/gpu": 8}).quota("q", most={"cpu": "1"})
    story.pod("next", requests={"nvidia.com/gpu": 8}, quota="q").cycle().expect_placed("next")


def test_eq_a4_max_limits_where_runtime_quotas_are_off():
    """EQ-A4: max 40, what would be the runtime 20, used 20, pod 5."""
    story = cluster(BY_MAX).nodes(2, cpu="20").quota("q", most={"cpu": "40"})
    story.quota("tenant", least={"cpu": "20"}, most={"cpu": "20"}, lends=False)
    story.pods("runs", 20, quota="q", on="n1").pod("next", cpu="5", quota="q")
    assert story.runtime("q") == {"cpu": 20_000}
    story.cycle().expect_on("n2", "next")


def test_eq_a5_pod_that_may_not_be_preempted_must_fit_into_min():
    """EQ-A5: min 10, 8 in use by such pods, 3 more."""
    story = cluster().nodes(1, cpu="40").quota("q", least={"cpu": "10"}, most={"cpu": "40"})
    story.pods("runs", 8, quota="q", on="n1", labels=FIRM)
    story.pod("firm", cpu="3", quota="q", labels=FIRM).pod("soft", cpu="3", quota="q").cycle()
    story.expect_placed("soft")
    story.expect_unplaced("firm", rule="quota", about="q", says="min of quota q, cpu: 8 + 3 > 10")


def test_eq_a6_min_without_a_resource_does_not_bind_it():
    """EQ-A6: min names cpu alone; a pod heavy in memory passes."""
    story = cluster().nodes(1, memory="100Gi")
    story.quota("q", least={"cpu": "10"}, most={"cpu": "40", "memory": "200Gi"})
    story.pod("firm", requests={"memory": "90Gi"}, quota="q", labels=FIRM).cycle()
    story.expect_placed("firm")


@pytest.mark.parametrize("settings", [None, BY_MAX])
def test_eq_a7_ancestors_are_always_checked(settings):
    """EQ-A7: the leaf has room, its parent uses 95 of 100, the pod asks for 10."""
    story = cluster(settings).nodes(2, cpu="100").quota("p", is_parent=True, most={"cpu": "100"})
    story.quota("q", parent="p", most={"cpu": "100"}).quota("z", parent="p", most={"cpu": "100"})
    story.pod("runs", cpu="95", quota="z", on="n1").pod("next", cpu="10", quota="q").cycle()
    story.expect_unplaced("next", rule="quota", says="> " if settings is None else "95 + 10 > 100")


@pytest.mark.parametrize(
    ("pod", "said", "quota"),
    [
        ("ns1/web", {"label": "ghost"}, "koordinator-default-quota"),
        ("ns1/web", {"quota": "ns1", "namespace": "ns1"}, "ns1"),
        ("ns1/web", {"quota": "x", "namespaces": ("ns1",)}, "x"),
    ],
    ids=["EQ-A8", "EQ-A9", "EQ-A10"],
)
def test_eq_a8_to_a10_pod_is_charged_to_its_quota(pod, said, quota):
    """EQ-A8, EQ-A9, EQ-A10: by label, by the quota of the namespace's name, by binding."""
    name = said.pop("quota", "other")
    label = said.pop("label", "")
    story = cluster().nodes(1).quota(name, most={"cpu": "8"}, **said).pod(pod, quota=label).cycle()
    story.expect_placed(pod)
    assert story.used(quota) == {"cpu": 1_000}


def test_pod_that_names_a_parent_quota_is_held():
    """Pods belong to quotas without children; the reason says what to do."""
    story = cluster().nodes(1).quota("p", is_parent=True, most={"cpu": "8"})
    story.quota("q", parent="p", most={"cpu": "8"}).pod("lost", quota="p").cycle()
    story.expect_unplaced("lost", rule="quota", about="p", says="name one of its children")


def test_quota_below_its_guarantee_comes_before_a_higher_priority_elsewhere():
    """One slot: quota a is below its min, b has none; a's pod gets it, whatever the priorities."""
    story = cluster(BY_MAX).nodes(1, cpu="1").quota("a", least={"cpu": "1"}, most={"cpu": "4"})
    story.quota("b", most={"cpu": "4"})
    story.pod("low", quota="a", priority=1).pod("high", quota="b", priority=9).cycle()
    story.expect_placed("low")


def test_quota_that_uses_less_of_its_share_comes_first_among_equals():
    """Equal priorities alternate between quotas, whoever came first."""
    story = cluster(BY_MAX).nodes(1, cpu="4")
    for name, age_s in (("a", 100), ("b", 0)):
        story.quota(name, most={"cpu": "8"}).pods(f"{name}-pod", 8, quota=name, age_s=age_s)
    story.cycle().expect_count(2, "a-pod").expect_count(2, "b-pod")


def test_c17_repair_comes_before_a_quota_that_uses_less_of_its_share():
    """One slot: the gang's quota is half used, the newcomer's not at all; the gang gets it."""
    story = cluster(BY_MAX).nodes(1, cpu="1").node("free", cpu="1")
    for name in ("a", "b"):
        story.quota(name, most={"cpu": "2"})
    story.pod_group("g", 2).members("g", 1, quota="a", on="n1").members("g", 1, start=1, quota="a")
    story.pod("solo", quota="b", age_s=60).cycle()
    story.expect_on("free", "g-1").expect_unplaced("solo", rule="capacity")


def test_finished_pods_free_their_quota():
    """A pod that ran to its end is still there, and no longer counts."""
    story = cluster().nodes(1).quota("q", most={"cpu": "1"}).pods("job", 2, quota="q").cycle()
    (first,) = story.placed("job")
    story.expect_count(1, "job").finish(first).cycle().expect_placed("job-0", "job-1")
    assert story.used("q") == {"cpu": 1_000}
