"""Gangs over successive plans of a changing cluster."""

import itertools

import pytest

from tests.scenarios.kit import cluster

POLICIES = ("once-satisfied", "waiting-and-running", "only-waiting")
PAIR = ("default/a", "default/b")


def test_gang_is_placed_whole_or_not_at_all():
    """Three nodes seat three of four members, so nobody starts; a fourth node seats all."""
    story = cluster().nodes(3, cpu="8").gang("train", 4, cpu="6").cycle()
    story.expect_unplaced("train", says="gang default/train needs 4 more members, 3 fit")
    story.nodes(1, cpu="8").cycle().expect_placed("train")
    assert len({story.bind_of(f"train-{k}").step for k in range(4)}) == 1


def test_c15_one_of_two_gang_groups_starts_whole_and_the_other_not_at_all():
    """Groups {a, b} and {c, d} of one slot each, two slots: whoever is first, one group starts."""
    groups = {"a": ("a", "b"), "b": ("a", "b"), "c": ("c", "d"), "d": ("c", "d")}
    for order in itertools.permutations(groups):
        story = cluster().nodes(2, cpu="1")
        for age_s, name in enumerate(reversed(order)):
            together = tuple(f"default/{other}" for other in groups[name])
            story.gang(name, 1, groups=together, age_s=age_s)
        story.cycle().cycle()
        assert {story.count("a", "b"), story.count("c", "d")} == {0, 2}, order


@pytest.mark.parametrize("policy", POLICIES[:2])
@pytest.mark.parametrize("solo_age_s", [0, 7200])
def test_c17_repair_of_a_running_gang_outranks_a_newcomer_of_equal_priority(policy, solo_age_s):
    """A gang of two lost a member; the one slot that returns is the gang's, older solo or not."""
    story = cluster().nodes(2, cpu="1").gang("g", 2, policy=policy).cycle().expect_placed("g")
    lost = story.placed("g-1")["g-1"]
    story.advance(8000).drop_node(lost).members("g", 1, start=1)
    story.pod("solo", age_s=solo_age_s).node("back", cpu="1").cycle()
    story.expect_on("back", "g-1").expect_unplaced("solo", rule="capacity")


def test_a_higher_priority_outranks_the_repair_of_a_gang():
    """Only among equals does the running gang come first."""
    story = cluster().nodes(2, cpu="1").gang("g", 2).cycle()
    story.remove("g-1").members("g", 1, start=1).pod("urgent", priority=10).cycle()
    story.expect_placed("urgent").expect_unplaced("g-1", rule="capacity")


@pytest.mark.parametrize("declared_by", ["PodGroup", "annotations"])
def test_c18_gang_starts_in_the_first_cycle_after_its_last_member_came(declared_by):
    """Minimum 3, pods at second 0, 1 and 2: nothing before, all of them then."""
    story = cluster().nodes(1, cpu="8")
    if declared_by == "PodGroup":
        story.pod_group("g", 3)
    for k in range(3):
        story.members("g", 1, start=k, minimum=3, declared_by=declared_by).cycle()
        story.expect_count(0 if k < 2 else 3, "g").advance(1)


def test_c18_second_half_of_a_gang_group_may_come_after_half_an_hour():
    """Gang a at second 0, gang b at second 1700: both start right then."""
    story = cluster().nodes(1, cpu="8").gang("a", 2, groups=PAIR).cycle()
    story.expect_unplaced("a", rule="gang", says="default/b")
    story.advance(1700).gang("b", 2, groups=PAIR).cycle().expect_placed("a", "b")


def test_c20_gang_larger_than_its_quota_does_not_start_at_all():
    """Head and three workers of one core, all needed, limit three cores: none starts."""
    story = cluster().nodes(4).quota("q", most={"cpu": "3"}).gang("job", 4, quota="q").cycle()
    story.expect_unplaced("job", says="needs 4 more members, 3 fit|quota q, cpu: 3 + 1 > 3")


def test_c20_members_beyond_the_minimum_wait_as_elastic():
    """The same with a minimum of three: three start, the fourth waits for quota."""
    story = cluster().nodes(4).quota("q", most={"cpu": "3"})
    story.gang("job", 4, minimum=3, quota="q").cycle().expect_count(3, "job")
    (last,) = {f"job-{k}" for k in range(4)} - story.placed("job").keys()
    story.expect_unplaced(last, rule="quota", about="q", says="3 + 1 > 3")


def test_c20_head_and_workers_as_a_gang_group_start_with_the_head():
    """The head is a gang of its own, so it is among those that start."""
    groups = ("default/head", "default/work")
    story = cluster().nodes(4).quota("q", most={"cpu": "3"})
    story.gang("head", 1, groups=groups, quota="q")
    story.gang("work", 3, minimum=2, groups=groups, quota="q").cycle()
    story.expect_placed("head").expect_count(2, "work")


def test_cs1_gang_below_its_minimum_of_pods_waits():
    """CS-1: minimum 3, two children."""
    story = cluster().nodes(3).gang("g", 2, minimum=3).cycle()
    story.expect_unplaced("g", rule="gang", about="default/g", says="2 of 3 members exist")


def test_cs6_minimum_starts_in_one_step_and_the_third_member_follows():
    """CS-6: minimum 2, three children, all fit."""
    story = cluster().nodes(3).gang("g", 3, minimum=2).cycle().expect_placed("g")
    steps = sorted(story.bind_of(f"g-{k}").step for k in range(3))
    assert steps[0] == steps[1] < steps[2]


@pytest.mark.parametrize(
    ("policy", "starts"),
    [("once-satisfied", True), ("only-waiting", False), ("waiting-and-running", True)],
)
def test_cs6_to_cs8_late_member_starts_alone_unless_only_the_waiting_count(policy, starts):
    """CS-6, CS-7, CS-8: minimum 2, two are bound, the third comes alone."""
    story = cluster().nodes(3).gang("g", 2, policy=policy).cycle().expect_placed("g")
    story.members("g", 1, start=2).cycle().expect_count(3 if starts else 2, "g")
    if not starts:
        story.expect_unplaced("g-2", rule="gang", says="needs 2 more members")


def test_cs9_gangs_of_a_group_start_together():
    """CS-9: a's two wait until b's second is there; then four start in one step."""
    story = cluster().nodes(4).gang("a", 2, groups=PAIR).gang("b", 1, minimum=2, groups=PAIR)
    story.cycle().expect_unplaced("a", rule="gang", about="default/b").expect_count(0, "b")
    story.members("b", 1, start=1).cycle().expect_placed("a", "b")
    assert len({story.bind_of(f"{gang}-{k}").step for gang in "ab" for k in range(2)}) == 1


def test_cs10_group_that_lists_an_unknown_gang_waits_for_it():
    """CS-10: the group names a gang without pods or object; all members say so."""
    story = cluster().nodes(4).gang("a", 2, groups=("default/a", "n/C")).cycle()
    story.expect_unplaced("a", rule="gang", says="member gangs [n/C] don't exist")


def test_cs11_member_that_is_made_anew_starts_alone():
    """CS-11: once satisfied, one of three bound pods is deleted and comes back."""
    story = cluster().nodes(3).gang("g", 3).cycle().remove("g-1")
    story.members("g", 1, start=1).cycle().expect_placed("g")


def test_cs11_gang_whose_members_have_finished_counts_as_satisfied():
    """A member that ran to its end shows that the gang once started."""
    story = cluster().nodes(3).gang("g", 2).cycle().finish("g-0", "g-1")
    story.members("g", 1, start=2).cycle().expect_placed("g-2")


@pytest.mark.parametrize("minimum", ["x", ""])
def test_cs12_gang_without_a_readable_minimum_waits(minimum):
    """CS-12: a minimum that is no number."""
    story = cluster().nodes(3).members("g", 2, minimum=minimum, declared_by="annotations").cycle()
    story.expect_unplaced("g", rule="gang", about="default/g", says="has not init")


@pytest.mark.parametrize(("members", "bound"), [(2, 0), (3, 3)])
def test_cs13_total_below_the_minimum_changes_nothing(members, bound):
    """CS-13: total 2 under minimum 3 counts as 3."""
    said = {"gang.scheduling.koordinator.sh/total-number": "2"}
    story = cluster().nodes(3)
    story.members("g", members, minimum=3, declared_by="annotations", said=said).cycle()
    story.expect_count(bound, "g")


def test_cs14_waiting_time_holds_nobody_back():
    """CS-14: no waiting time, readable or not, ends a gang's chance to start later."""
    said = {"gang.scheduling.koordinator.sh/waiting-time": "1s"}
    story = cluster().nodes(3)
    story.members("g", 1, minimum=2, declared_by="annotations", said=said).cycle().advance(3600)
    story.members("g", 1, start=1, minimum=2, declared_by="annotations", said=said).cycle()
    story.expect_placed("g")


def test_cs15_pod_group_label_outranks_the_annotation():
    """CS-15: a pod of gang g by annotation and of p by label belongs to p."""
    label = {"pod-group.scheduling.sigs.k8s.io": "p"}
    story = cluster().nodes(3)
    story.members("g", 2, minimum=5, declared_by="annotations", labels=label).cycle()
    story.expect_unplaced("g", says="can't find gang default/p")
    story.pod_group("p", 2).cycle().expect_placed("g")


def test_e2e5_gang_starts_with_its_minimum_and_grows_when_there_is_room():
    """E2E-5: three nodes of four cores, minimum 3, four members of four cores."""
    story = cluster().nodes(3, cpu="4").gang("g", 4, minimum=3, cpu="4").cycle()
    story.expect_count(3, "g")
    assert len({bind.step for bind in story.plan.binds}) == 1
    (last,) = {f"g-{k}" for k in range(4)} - story.placed("g").keys()
    story.expect_unplaced(last, rule="capacity", says="3 Insufficient cpu")
    story.nodes(1, cpu="4").cycle().expect_on("n4", last)


def test_e2e6_members_that_fit_name_the_one_they_wait_for():
    """E2E-6: two nodes of four cores, three members of four cores: none starts."""
    story = cluster().nodes(2, cpu="4").gang("g", 3, cpu="4").cycle()
    says = "needs 3 more members, 2 fit|waits for default/g-2: 0/2 nodes are available"
    story.expect_unplaced("g-0", "g-1", rule="gang", about="default/g", says=says)
    story.expect_unplaced("g-2", rule="capacity", says="2 Insufficient cpu|default/g")


def test_gang_waits_for_a_member_that_is_held_by_a_gate():
    """A gang that is complete in number but not in pods that may start names the gated one."""
    story = cluster().nodes(3).gang("g", 2, minimum=3)
    story.members("g", 1, start=2, schedulingGates=[{"name": "later"}]).cycle()
    story.expect_unplaced("g-0", "g-1", rule="gang", says="waits for default/g-2|gate later")
    story.expect_unplaced("g-2", rule="gate")


def test_member_that_requires_company_is_placed_after_the_company():
    """The larger member may only run beside the smaller one, so it is tried once more after it."""
    near = {
        "podAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {
                    "topologyKey": "kubernetes.io/hostname",
                    "labelSelector": {"matchLabels": {"role": "leader"}},
                }
            ]
        }
    }
    story = cluster().nodes(2, cpu="8").pod_group("g", 2)
    story.members("g", 1, cpu="1", labels={"role": "leader"})
    story.members("g", 1, start=1, cpu="4", affinity=near).cycle().expect_placed("g")
