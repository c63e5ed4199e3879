"""Laws of elastic quotas, on trees that nobody picked."""

import random
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from koordopt.models.quota import (
    QuotaForest,
    QuotaPod,
    QuotaSettings,
    QuotaSpec,
    admit,
    quota_arrays,
)
from koordopt.models.quota.sharing import Claim, divide, share
from koordopt.models.quota.spec import BUILTIN_LEAVES

RESOURCES = ("cpu", "memory")
AMOUNTS = st.integers(0, 60)


@st.composite
def resource_lists(draw, amounts=AMOUNTS, *, full=False):
    names = RESOURCES if full else draw(st.sets(st.sampled_from(RESOURCES)))
    return {name: draw(amounts) for name in sorted(names)}


@st.composite
def trees(draw, *, lawful=False):
    """Draw quotas; lawful ones set every dimension, lend, and weigh more than nothing."""
    specs = []
    for i in range(draw(st.integers(1, 7))):
        parent = draw(st.sampled_from(["", *(f"q{k}" for k in range(i))]))
        positive = st.integers(1, 60)
        most = draw(resource_lists(positive if lawful else AMOUNTS, full=lawful))
        least = draw(resource_lists(full=lawful))
        if lawful:
            least = {name: min(amount, most[name]) for name, amount in least.items()}
        specs.append(
            QuotaSpec(
                name=f"q{i}",
                parent=parent,
                is_parent=draw(st.booleans()),
                lends=lawful or draw(st.booleans()),
                min=least,
                max=most,
                shared_weight=draw(
                    resource_lists(positive, full=True) if lawful else st.none() | resource_lists()
                ),
            )
        )
    return specs


@st.composite
def pods_of(draw, specs, most=8):
    names = [spec.name for spec in specs] + sorted(BUILTIN_LEAVES)
    return [
        QuotaPod(
            name=f"ns/p{i}",
            quota=draw(st.sampled_from(names)),
            request=draw(resource_lists(st.integers(0, 30))),
            is_assigned=draw(st.booleans()),
            is_preemptible=draw(st.booleans()),
        )
        for i in range(draw(st.integers(0, most)))
    ]


SETTINGS = st.builds(
    QuotaSettings,
    enable_runtime=st.booleans(),
    scale_min=st.booleans(),
    guarantee_usage=st.booleans(),
)
TOTALS = resource_lists(st.integers(0, 150))


def states(forest):
    return {name: forest.state(name) for name in (*forest.names, "koordinator-root-quota")}


@st.composite
def claims(draw, most=6):
    rows = draw(
        st.lists(
            st.tuples(AMOUNTS, st.integers(0, 30), st.integers(0, 5), st.booleans()),
            min_size=1,
            max_size=most,
        )
    )
    return [Claim(f"q{i}", *row) for i, row in enumerate(rows)]


def poured(capacity, claims):
    """Return exact shares: the common level is raised from breakpoint to breakpoint."""
    result = [
        Fraction(c.guarantee if c.request > c.guarantee or not c.lends else c.request)
        for c in claims
    ]
    left = capacity - sum(result)
    open_ = {i for i, c in enumerate(claims) if c.request > c.guarantee and c.weight > 0}
    while left > 0 and open_:
        weight = sum(claims[i].weight for i in open_)
        step = min((claims[i].request - result[i]) / claims[i].weight for i in open_)
        step = min(step, left / weight)
        for i in open_:
            result[i] += step * claims[i].weight
        left -= step * weight
        open_ = {i for i in open_ if result[i] < claims[i].request}
    return result


@given(st.integers(0, 200), claims())
def test_shares_are_the_exact_ones_in_whole_units(capacity, claims):
    """Each share is within one unit a round of the exact one, and no unit is lost."""
    exact, shares = poured(capacity, claims), share(capacity, claims)
    for whole, part in zip(shares, exact, strict=True):
        assert abs(whole - part) < len(claims)
    assert sum(shares) == sum(exact)


@given(st.integers(0, 10**20), st.lists(st.integers(0, 10**20), min_size=1, max_size=8))
def test_division_loses_no_unit(amount, weights):
    parts = divide(amount, weights)
    if not any(weights):
        assert parts is None
        return
    assert sum(parts) == amount
    total = sum(weights)
    for part, weight in zip(parts, weights, strict=True):
        assert abs(Fraction(part) - Fraction(weight * amount, total)) < 1


@given(st.integers(0, 150), st.integers(0, 50), claims())
def test_more_capacity_lowers_no_share_by_more_than_rounding(capacity, more, claims):
    before, after = share(capacity, claims), share(capacity + more, claims)
    assert sum(after) >= sum(before)
    for low, high in zip(before, after, strict=True):
        assert high > low - 2 * len(claims)


@given(st.integers(0, 150), claims(), st.randoms(use_true_random=False))
def test_order_of_claims_does_not_matter(capacity, claims, rng):
    shuffled = rng.sample(claims, len(claims))
    by_name = dict(zip((c.name for c in shuffled), share(capacity, shuffled), strict=True))
    assert [by_name[c.name] for c in claims] == share(capacity, claims)


@given(st.data(), trees(lawful=True))
def test_units_are_conserved_at_every_parent(data, specs):
    """Runtimes of children add up to the smaller of capacity and limited requests."""
    total = data.draw(resource_lists(st.integers(0, 150), full=True))
    forest = QuotaForest(specs, total, data.draw(pods_of(specs)))
    top = [n for n in forest.structure.top[""] if n not in BUILTIN_LEAVES]
    groups = [(forest.capacity(), top)]
    groups += [(forest.runtime(n), below) for n, below in forest.structure.children.items()]
    for capacity, children in groups:
        for resource in RESOURCES:
            asked = sum(forest.state(n).limited_request.get(resource, 0) for n in children)
            given_out = sum(forest.runtime(n)[resource] for n in children)
            assert given_out == min(capacity.get(resource, 0), asked)


@given(st.data(), trees(lawful=True), st.booleans())
def test_runtime_is_between_scaled_min_and_max(data, specs, scale_min):
    total = data.draw(resource_lists(st.integers(0, 150), full=True))
    settings = QuotaSettings(scale_min=scale_min)
    forest = QuotaForest(specs, total, data.draw(pods_of(specs)), settings)
    for spec in specs:
        state = forest.state(spec.name)
        for resource, runtime in state.runtime.items():
            asked = state.limited_request.get(resource, 0)
            assert min(asked, state.scaled_min[resource]) <= runtime
            assert runtime <= min(asked, spec.max[resource])


@given(st.data(), trees(), TOTALS, SETTINGS)
def test_order_of_objects_does_not_matter(data, specs, total, settings):
    pods = data.draw(pods_of(specs))
    rng = random.Random(data.draw(st.integers(0, 99)))
    forest = QuotaForest(specs, total, pods, settings)
    other = QuotaForest(rng.sample(specs, len(specs)), total, rng.sample(pods, len(pods)), settings)
    assert states(forest) == states(other)
    assert forest.warnings == other.warnings
    assert forest.names == other.names


@given(st.data(), trees(), TOTALS, SETTINGS)
def test_state_after_changes_equals_a_rebuild(data, specs, total, settings):
    """Pods come, change and go; what is left says everything about the state."""
    forest = QuotaForest(specs, {}, (), settings)
    for pod in data.draw(pods_of(specs, most=6)):
        forest.add_pod(pod)
    for pod in data.draw(pods_of(specs, most=6)):
        if pod.name in forest.pods:
            forest.replace_pod(pod)
    for name in list(forest.pods):
        if data.draw(st.booleans()):
            forest.remove_pod(name)
        states(forest)  # an answer in between must not outlive the next change
    forest.set_total(total)
    rebuilt = QuotaForest(specs, total, forest.pods.values(), settings)
    assert states(forest) == states(rebuilt)


@given(st.lists(st.tuples(*[st.integers(0, 6)] * 2), max_size=7), TOTALS, st.data())
def test_any_graph_of_parents_is_computed(edges, total, data):
    """Cycles, missing parents and duplicates give warnings and finite answers."""
    specs = [
        QuotaSpec(name=f"q{a}", parent=f"q{b}", max=data.draw(resource_lists()), namespace=str(i))
        for i, (a, b) in enumerate(edges)
    ]
    forest = QuotaForest(specs, total, data.draw(pods_of(specs)))
    assert sorted(forest.names) == sorted({spec.name for spec in specs} | BUILTIN_LEAVES)
    for name in forest.names:
        assert all(amount >= 0 for amount in forest.limit(name).values())
        assert len(set(forest.chain(name))) == len(forest.chain(name))
    assert forest.warnings or not specs


@given(st.data(), trees(), TOTALS, SETTINGS)
def test_admitted_pod_keeps_the_whole_chain_within_its_limits(data, specs, total, settings):
    """What is admitted fits at the quota and at every ancestor, in each dimension it names."""
    forest = QuotaForest(specs, total, data.draw(pods_of(specs)), settings)
    quota = data.draw(st.sampled_from([spec.name for spec in specs]))
    request = data.draw(resource_lists(st.integers(0, 30)))
    pod = QuotaPod(name="ns/incoming", quota=quota, request=request)
    forest.add_pod(pod)
    refusal = admit(forest, quota, request)
    charge = forest.charge(quota, request)
    short = {
        name
        for name in forest.chain(quota)
        for resource in charge
        if forest.used(name).get(resource, 0) + charge[resource]
        > forest.limit(name).get(resource, 10**9)
    }
    if refusal is None:
        assert not short
    else:
        assert refusal.quota in short or refusal.quota == quota


@given(st.data(), trees(), TOTALS, SETTINGS)
def test_arrays_and_admission_agree(data, specs, total, settings):
    forest = QuotaForest(specs, total, data.draw(pods_of(specs)), settings)
    quota = data.draw(st.sampled_from([spec.name for spec in specs]))
    request = data.draw(resource_lists(st.integers(1, 30)))
    is_preemptible = data.draw(st.booleans())
    arrays = quota_arrays(forest, RESOURCES)
    q = arrays.index[quota]
    asked = np.array([request.get(name, 0) for name in RESOURCES])
    charge = np.where(arrays.counted[q], asked, 0)
    over = arrays.used + charge > arrays.limit
    named = charge > 0
    firm = (arrays.non_preemptible_used[q] + charge > arrays.minimum[q]) & (not is_preemptible)
    fits = (
        not over[q].any()
        and not firm.any()
        and not over[list(arrays.chains[q][1:])][:, named].any()
    )
    assert fits == (admit(forest, quota, request, is_preemptible=is_preemptible) is None)
