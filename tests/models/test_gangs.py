"""Gangs of a snapshot: members, groups, what a start needs, and what holds it."""

import pytest

from koordopt.models.api import keys
from koordopt.models.api.decode import decode
from koordopt.models.api.gangs import MatchPolicy
from koordopt.models.gangs import gang_table
from koordopt.models.snapshot import SnapshotSettings
from tests.scenarios.kit import cluster


def gangs_of(story):
    return story.snapshot().gangs


def needs(story):
    """Return what each gang needs, by id."""
    table = gangs_of(story)
    return {
        table.gangs[g].id: need
        for group in table.groups
        for g, need in zip(group.gangs, group.need, strict=True)
    }


def holds(story):
    return {group.id: group.hold and group.hold.message for group in gangs_of(story).groups}


def test_gangs_are_told_apart_by_namespace():
    """Two gangs of one name in two namespaces have nothing to do with each other."""
    story = cluster().gang("g", 2).gang("other/g", 3)
    table = gangs_of(story)
    assert [(gang.id, len(gang.pods)) for gang in table.gangs] == [("default/g", 2), ("other/g", 3)]
    assert len(table.groups) == 2


@pytest.mark.parametrize(
    ("policy", "need"),
    [("once-satisfied", 0), ("waiting-and-running", 2), ("only-waiting", 3)],
)
def test_need_of_a_gang_that_runs_in_part_depends_on_who_counts(policy, need):
    """Minimum 3, one bound."""
    story = cluster().nodes(1).gang("g", 3, policy=policy).members("g", 1, on="n1")
    assert needs(story) == {"default/g": need}
    assert gangs_of(story).gangs[0].was_satisfied


def test_policy_of_the_settings_counts_where_a_gang_states_none():
    """A gang's own word comes first."""
    settings = SnapshotSettings(gang_match_policy=MatchPolicy.ONLY_WAITING)
    story = cluster(settings).nodes(1).gang("a", 2).gang("b", 2, policy="once-satisfied")
    story.members("a", 1, on="n1").members("b", 1, on="n1")
    assert needs(story) == {"default/a": 2, "default/b": 0}


def test_one_satisfied_gang_satisfies_its_group():
    """The group started together once, so a member of any of its gangs may come back alone."""
    groups = ("default/a", "default/b")
    story = cluster().nodes(1).gang("a", 2, groups=groups).gang("b", 2, groups=groups)
    assert needs(story) == {"default/a": 2, "default/b": 2}
    story.members("a", 1, on="n1")
    assert needs(story) == {"default/a": 0, "default/b": 0}


def test_groups_join_whoever_is_named_by_one_of_them():
    """Of three, a names b, b names c, c names nobody: they are one group."""
    story = cluster().gang("a", 1, groups=("default/a", "default/b"))
    story.gang("b", 1, groups=("default/b", "default/c")).gang("c", 1)
    table = gangs_of(story)
    assert [group.id for group in table.groups] == ["default/a,default/b,default/c"]
    assert table.group_of == (0, 0, 0)


def test_pod_group_without_pods_is_a_gang_that_waits_for_them():
    """Its group cannot start either."""
    groups = ("default/a", "default/b")
    story = cluster().gang("a", 1, groups=groups).pod_group("b", 2)
    assert holds(story) == {
        "default/a,default/b": "gang default/b: child pods not collected enough: "
        "0 of 2 members exist"
    }


def test_gang_with_a_minimum_of_nothing_holds_nobody():
    """Minimum 0: each member comes for itself."""
    story = cluster().nodes(1, cpu="1").gang("g", 2, minimum=0)
    assert needs(story) == {"default/g": 0}
    assert holds(story) == {"default/g": None}
    story.cycle().expect_count(1, "g")


def test_started_gang_is_not_held_for_members_that_have_left():
    """Once satisfied, two of three pods being gone is no reason to wait."""
    story = cluster().nodes(1).gang("g", 3).members("g", 1, on="n1").remove("g-1")
    assert holds(story) == {"default/g": None}


def test_gang_that_counts_the_waiting_is_held_below_its_minimum():
    """Only-waiting forgets that the gang once ran."""
    story = cluster().nodes(1).gang("g", 3, policy="only-waiting").members("g", 1, on="n1")
    story.remove("g-1")
    assert holds(story) == {
        "default/g": "gang default/g: child pods not collected enough: 2 of 3 members exist"
    }


def test_the_oldest_readable_pod_decides_the_parameters_of_a_gang():
    """Names do not tell who came first; creation does."""

    def member(name, minimum, created):
        annotations = {
            keys.ANNOTATION_GANG_NAME: "g",
            keys.ANNOTATION_GANG_MIN_AVAILABLE: minimum,
        }
        metadata = {"name": name, "annotations": annotations, "creationTimestamp": created}
        return decode({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {}})

    pods = [
        member("a", "3", "2026-01-02T00:00:00Z"),
        member("b", "2", "2026-01-01T00:00:00Z"),
        member("c", "many", "2025-01-01T00:00:00Z"),
    ]
    (gang,) = gang_table(pods, [-1, -1, -1], (), ()).gangs
    assert gang.spec.min_member == 2
