"""Laws of greedy plans, on clusters that nobody picked."""

import copy

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from koordopt.models.api.core import Pod
from koordopt.models.codec import Cycle, decode_cycle, encode_cycle
from koordopt.models.delta import ClusterDelta, advance, apply_delta
from koordopt.models.objective import evaluate
from koordopt.models.plan import Bind
from koordopt.models.problem.placement import PlacementProblem
from koordopt.models.result import Placement
from koordopt.models.snapshot import ClusterObjects, ClusterSnapshot
from koordopt.models.verify import verify
from koordopt.solvers.heuristics.greedy import Greedy, solve
from koordopt.solvers.heuristics.pipeline import Pipeline
from koordopt.solvers.heuristics.scores import opportunity
from koordopt.solvers.heuristics.units import units_of
from tests.builders import make_node, make_pod
from tests.properties.clusters import clusters
from tests.scenarios.invariants import assert_same_state, assert_sound, plan_of, shuffled

replace = msgspec.structs.replace
problems = clusters().map(
    lambda objects: PlacementProblem.from_snapshot(ClusterSnapshot.from_objects(objects))
)


@settings(max_examples=60)
@given(clusters(), st.integers(0, 9))
def test_every_plan_is_sound_and_the_same_in_any_order(objects, seed):
    """It verifies, its objective is recomputed, every pod has one answer, gangs start whole."""
    problem, result, plan = plan_of(objects, now_s=0)
    assert_sound(problem, result, plan)
    assert plan_of(shuffled(objects, seed), now_s=0)[2] == plan


@settings(max_examples=40)
@given(clusters())
def test_plans_of_a_cluster_that_nobody_changes_come_to_an_end(objects):
    """With no arrivals and no departures, a few cycles bind all that can be bound."""
    for _ in range(len(objects.pods) + 1):
        _, _, plan = plan_of(objects, now_s=0)
        objects = apply_delta(objects, ClusterDelta(binds=plan.binds))
        if not plan.binds:
            break
    assert plan.binds == ()


def choices(pipeline):
    """Return the node that every pending class would get now."""
    pods = pipeline.problem.snapshot.pods
    classes = np.unique(pods.class_of[pipeline.problem.pending]).tolist()
    return {c: pipeline.best_node(c) for c in classes}


def everything(greedy):
    """Return all that a placement changes, as plain values."""
    state, quota = greedy.pipeline.state, greedy.quota
    return copy.deepcopy(
        (
            [column.tolist() for column in state.free],
            state.free_of,
            state.scored_use,
            [list(counts) for counts in state.counts],
            state.placed,
            state.cards_of,
            state.card_free.tolist(),
            state.port_use.tolist(),
            (quota._used, quota._firm_used) if quota.is_active else None,
            choices(greedy.pipeline),
        )
    )


@settings(max_examples=60)
@given(problems, st.integers(0, 6), st.integers(0, 12), st.sampled_from((1, 2, 64)))
def test_taking_placements_back_restores_everything(problem, first, then, price):
    """Arrays, counters, cards, quotas and score rows, after failed gangs as after singles.

    And the prices of cards, which are looked at after every ``price`` placements.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(opportunity, "PLACEMENTS_PER_PRICE", price)
        take_back(problem, first, then)


def take_back(problem, first, then):
    """Place ``first`` units and then others, take those back, and compare."""
    greedy = Greedy(problem)
    units = sorted(units_of(problem), key=lambda unit: unit.order)
    for unit in units[:first]:
        greedy.place_unit(unit)
    mark, before = greedy.placed, everything(greedy)
    for unit in units[first : first + then]:
        tried = greedy.placed
        if not unit.is_single:
            greedy.try_members(unit, tried)
            greedy.roll_back(tried)  # no pod is placed twice
        greedy.place_unit(unit)
    greedy.roll_back(mark)
    assert everything(greedy) == before
    fresh = Pipeline(problem)
    for p, n in greedy.pipeline.state.placed:
        fresh.place(p, n)
    assert choices(fresh) == choices(greedy.pipeline)
    for c in choices(fresh):
        assert fresh.feasible(c).tolist() == greedy.pipeline.feasible(c).tolist()
        assert fresh._rows[c].row.tolist() == greedy.pipeline._rows[c].row.tolist()


@given(
    st.lists(st.integers(1, 6), min_size=1, max_size=4),
    st.integers(1, 3),
    st.integers(1, 12),
    st.integers(0, 3),
    st.integers(0, 5),
)
def test_equal_pods_fill_every_slot_so_more_capacity_never_hurts(cpus, cpu, pods, grown, by):
    """For equal pods and no other rule, greedy places as many as fit: that is the optimum."""

    def placed(amounts):
        nodes = [make_node(f"n{k}", cpu=str(amount)) for k, amount in enumerate(amounts)]
        asked = [make_pod(f"p{k}", requests={"cpu": str(cpu)}) for k in range(pods)]
        snapshot = ClusterSnapshot.from_objects(ClusterObjects(nodes=nodes, pods=asked))
        return len(solve(PlacementProblem.from_snapshot(snapshot)).placement)

    larger = [amount + by * (k == grown % len(cpus)) for k, amount in enumerate(cpus)]
    assert placed(cpus) == min(pods, sum(amount // cpu for amount in cpus))
    assert placed(cpus) <= placed(larger) <= placed([*larger, 1])


@settings(max_examples=40)
@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=3),
    st.lists(st.integers(1, 4), min_size=1, max_size=4),
    st.data(),
)
def test_packing_that_is_valid_stays_valid_with_more_capacity(cpus, asked, data):
    """So the optimum of pure packing never falls; greedy itself may do worse in more room."""
    node_of = data.draw(
        st.lists(st.integers(0, len(cpus) - 1), min_size=len(asked), max_size=len(asked))
    )

    def is_valid(amounts):
        nodes = [make_node(f"n{k}", cpu=str(amount)) for k, amount in enumerate(amounts)]
        pods = [make_pod(f"p{k}", requests={"cpu": str(cpu)}) for k, cpu in enumerate(asked)]
        snapshot = ClusterSnapshot.from_objects(ClusterObjects(nodes=nodes, pods=pods))
        problem = PlacementProblem.from_snapshot(snapshot)
        return not verify(problem, Placement.of(range(len(asked)), node_of))

    fits = all(
        sum(cpu for cpu, n in zip(asked, node_of, strict=True) if n == k) <= amount
        for k, amount in enumerate(cpus)
    )
    assert is_valid(cpus) == fits
    assert not fits or is_valid([amount + 1 for amount in cpus])
    assert is_valid([*cpus, 9]) == fits


def renamed(objects, node_name, pod_name):
    """Return the objects under other names, every reference to a node among them."""

    def pod(value: Pod) -> Pod:
        node = value.spec.node_name
        return replace(
            value,
            metadata=replace(value.metadata, name=pod_name(value.metadata.name)),
            spec=replace(value.spec, node_name=node_name(node) if node else ""),
        )

    return ClusterObjects(
        nodes=tuple(
            replace(node, metadata=replace(node.metadata, name=node_name(node.metadata.name)))
            for node in objects.nodes
        ),
        devices=tuple(
            device.model_copy(
                update={
                    "metadata": device.metadata.model_copy(
                        update={"name": node_name(device.metadata.name)}
                    )
                }
            )
            for device in objects.devices
        ),
        pods=tuple(map(pod, objects.pods)),
        namespaces=objects.namespaces,
        pod_groups=objects.pod_groups,
        elastic_quotas=objects.elastic_quotas,
    )


@settings(max_examples=30)
@given(clusters())
def test_names_that_sort_alike_change_no_plan(objects):
    """Pods and nodes are told apart by name, and by name in nothing but ties."""
    _, result, plan = plan_of(objects, now_s=0)
    others = renamed(objects, "node-{}".format, "pod-{}".format)
    _, again, other_plan = plan_of(others, now_s=0)
    assert again.levels == result.levels
    assert [(bind.pod, bind.node, bind.step) for bind in other_plan.binds] == [
        (bind.pod.replace("/", "/pod-"), f"node-{bind.node}", bind.step) for bind in plan.binds
    ]


@settings(max_examples=30)
@given(clusters(), st.permutations(range(8)), st.permutations(range(16)))
def test_any_other_names_change_no_value_of_a_plan(objects, nodes, pods):
    """The same placement under other names is as valid and worth the same, level by level."""
    problem, result, _ = plan_of(objects, now_s=0)
    node_names = {f"n{k}": f"m{n}" for k, n in enumerate(nodes)}
    # Bound pods keep their order: whose cards are not recorded is given some in that order.
    pod_names = {f"b{k}": f"b{k}" for k in range(3)}
    pod_names |= {f"p{k}": f"x{number:02}" for k, number in enumerate(pods)}
    others = renamed(objects, node_names.__getitem__, pod_names.__getitem__)
    other = PlacementProblem.from_snapshot(ClusterSnapshot.from_objects(others, now_s=0))
    table, names = problem.snapshot.pods, problem.snapshot.nodes.names
    index = {}
    for p, pod in enumerate(table.objects):
        key = f"{pod.metadata.namespace}/{pod_names[pod.metadata.name]}"
        index[p] = other.snapshot.pods.index[key]
    card_of = {other.snapshot.cards.name(d): d for d in range(len(other.snapshot.cards))}

    def moved(share):
        node, _, minor = problem.snapshot.cards.name(share.card).partition("/")
        return type(share)(
            card_of[f"{node_names[node]}/{minor}"], share.core, share.share, share.memory
        )

    placement = Placement.of(
        [index[p] for p in result.placement.pod.tolist()],
        [other.snapshot.nodes.index[node_names[names[n]]] for n in result.placement.node.tolist()],
        result.placement.step.tolist(),
        {index[p]: tuple(map(moved, held)) for p, held in result.placement.cards.items()},
    )
    assert verify(other, placement) == []
    assert evaluate(other, placement) == result.levels


@settings(max_examples=40)
@given(clusters(), st.data())
def test_snapshot_carried_over_equals_one_taken_anew(objects, data):
    """Binds of the plan and others, and departures of any pods: tables, quotas, gangs, cards."""
    snapshot = ClusterSnapshot.from_objects(objects, now_s=0)
    _, _, plan = plan_of(objects, now_s=0)
    planned = {bind.pod: bind for bind in plan.binds}
    binds = [
        planned.get(snapshot.pods.keys[p]) or Bind(snapshot.pods.keys[p], node, 0)
        for p in np.flatnonzero(snapshot.pods.node_of < 0).tolist()
        if (node := data.draw(st.sampled_from((None, *snapshot.nodes.names)))) is not None
    ]
    departed = data.draw(st.sets(st.sampled_from(snapshot.pods.keys)))
    delta = ClusterDelta(binds=tuple(binds), departed=frozenset(departed))
    live = advance(snapshot, delta, now_s=0)
    rebuilt = ClusterSnapshot.from_objects(apply_delta(objects, delta), now_s=0)
    assert isinstance(live, ClusterSnapshot)
    assert_same_state(live, rebuilt)
    first, second = (solve(PlacementProblem.from_snapshot(each)) for each in (live, rebuilt))
    assert first.levels == second.levels
    assert first.unplaced == second.unplaced
    np.testing.assert_array_equal(first.placement.pod, second.placement.pod)
    np.testing.assert_array_equal(first.placement.node, second.placement.node)


@settings(max_examples=40)
@given(clusters())
def test_saved_cycle_comes_back_equal(objects):
    """To the object, and to the byte when it is saved again."""
    _, _, plan = plan_of(objects, now_s=0)
    cycle = Cycle(objects, "greedy", {"weights": {"NodeAffinity": 2}}, plan.to_dict())
    data = encode_cycle(cycle)
    again = decode_cycle(data)
    assert again == cycle
    assert encode_cycle(again) == data
    assert plan_of(again.objects, now_s=0)[2] == plan
