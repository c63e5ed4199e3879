"""Reads a plan back, by name, and turns it into a placement that the checker can judge."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated, Final

import msgspec

from koordopt.errors import InvalidInputError
from koordopt.models.api.faults import fault_of_conversion, shown
from koordopt.models.arrays import LARGEST_AMOUNT
from koordopt.models.objective import evaluate
from koordopt.models.problem.placement import PlacementProblem
from koordopt.models.result import LevelValue, Placement
from koordopt.models.rules.device import CardRequest, CardShare
from koordopt.models.verify import verify
from koordopt.models.violation import Violation
from koordopt.runtime.planner.reading.files import Source, contents
from koordopt.runtime.planner.reading.inputs import UnreadableInput
from koordopt.runtime.planner.reading.jsontext import read_json
from koordopt.runtime.planner.reading.yamltext import read_yaml

RULE: Final = "plan"
"""Rule of violations that concern the plan as such."""


_Number = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
_Bytes = Annotated[int, msgspec.Meta(ge=0, le=LARGEST_AMOUNT)]


class PlannedDevice(msgspec.Struct, frozen=True):
    """What a plan gives of one card; see ``koordopt.models.plan.DeviceShare``."""

    minor: _Number
    share: _Number
    type: str = "gpu"
    memory: _Bytes | None = None


class PlannedBind(msgspec.Struct, frozen=True):
    """One placement of a plan; without ``step`` it is bound together with the one before."""

    pod: str
    node: str
    step: _Number | None = None
    devices: tuple[PlannedDevice, ...] = ()


class PlannedPod(msgspec.Struct, frozen=True):
    """A pod that a plan names elsewhere."""

    pod: str


class PlannedLevel(msgspec.Struct, frozen=True):
    """What a plan claims of one objective level."""

    name: str
    objective: int


class PlanFile(msgspec.Struct, frozen=True):
    """A plan as it stands in a file; what is None is not claimed."""

    placements: tuple[PlannedBind, ...]
    unplaced: tuple[PlannedPod, ...] | None = None
    levels: tuple[PlannedLevel, ...] | None = None
    evictions: tuple[PlannedPod, ...] = ()


def read_plan(path: Source, max_input: int) -> PlanFile:
    """Return the plan in a file of JSON or YAML.

    Raises
    ------
    UnreadableInput
        If the file cannot be read, or is no plan. One line.
    """
    if path != "-" and Path(path).is_dir():
        raise UnreadableInput(f"{path}: is a folder; expected a plan.")
    ((label, data),) = contents([path], max_input)
    try:
        is_json = data.lstrip().startswith(b"{")
        documents = list(read_json(data) if is_json else read_yaml(data))
    except InvalidInputError as error:
        raise UnreadableInput(f"{label}: {error}") from error
    if len(documents) != 1:
        raise UnreadableInput(f"{label}: has {len(documents)} documents; expected one plan.")
    value = documents[0].value
    try:
        return msgspec.convert(value, PlanFile)
    except msgspec.ValidationError as error:
        if "missing required field" in str(error):
            raise UnreadableInput(f"{label}: is no plan: {error}.") from error
        fault = fault_of_conversion(value, error)
        msg = f"{label}: {fault.field} is {shown(fault.found)}; expected {fault.expected}."
        raise UnreadableInput(msg) from error


def judge(
    problem: PlacementProblem, plan: PlanFile
) -> tuple[list[Violation], tuple[LevelValue, ...]]:
    """Return everything that a plan does wrong, and the true value of each objective level.

    Parameters
    ----------
    problem
        The cluster that the plan is for.
    plan
        The plan, whoever made it.

    Notes
    -----
    Placements that name a pod or node which the cluster lacks are violations and left out of what
    is judged further.
    """
    placement, unknown = _placement(problem, plan)
    judged = verify(problem, placement)
    found = {*unknown, *_lost(problem, plan), *judged}
    if any(violation.rule == RULE for violation in judged):
        return sorted(found), ()  # a placement that cannot be read has no value
    levels = evaluate(problem, placement)
    if plan.levels is not None and not unknown:
        found.update(_wrong_claims(plan.levels, levels))
    return sorted(found), levels


def _placement(problem: PlacementProblem, plan: PlanFile) -> tuple[Placement, list[Violation]]:
    """Return the placement that a plan states, and what it names that does not exist."""
    snapshot = problem.snapshot
    pods: list[int] = []
    nodes: list[int] = []
    steps: list[int] = []
    cards: dict[int, tuple[CardShare, ...]] = {}
    found = [
        Violation(RULE, each.pod, "evicted", "no evictions: bound pods stay")
        for each in plan.evictions
    ]
    step = 0
    for bind in plan.placements:
        step = step if bind.step is None else bind.step
        p, n = snapshot.pods.index.get(bind.pod), snapshot.nodes.index.get(bind.node)
        if p is None:
            found.append(Violation(RULE, bind.pod, "placed", "pods of the cluster only"))
        if n is None:
            found.append(Violation(RULE, bind.pod, f"on node {bind.node}", "nodes of the cluster"))
        if p is None or n is None:
            continue
        pods.append(p)
        nodes.append(n)
        steps.append(step)
        if bind.devices:
            cards[p], unknown = _cards(problem, p, n, bind)
            found += unknown
    return Placement.of(pods, nodes, steps, cards), found


def _cards(
    problem: PlacementProblem, p: int, n: int, bind: PlannedBind
) -> tuple[tuple[CardShare, ...], list[Violation]]:
    """Return the cards that a placement names, and those that its node lacks."""
    cards = problem.snapshot.cards
    by_minor = {int(cards.minor[d]): d for d in cards.on_node(n)}
    shares, unknown = [], []
    for device in bind.devices:
        d = by_minor.get(device.minor) if device.type == "gpu" else None
        if d is None:
            name = f"{device.type} {device.minor} of node {bind.node}"
            unknown.append(Violation(RULE, bind.pod, name, "devices of the node"))
        else:
            shares.append(_share(problem, p, d, device))
    return tuple(shares), unknown


def _share(problem: PlacementProblem, p: int, d: int, device: PlannedDevice) -> CardShare:
    """Return what a plan gives of card ``d``.

    A plan tells the larger of compute and memory share. Where that is what the pod must get, both
    are known; otherwise it is taken for both, and the rule finds it wrong.
    """
    snapshot = problem.snapshot
    request = snapshot.classes[snapshot.pods.class_of[p]].cards
    if isinstance(request, CardRequest):
        due = request.on_card(int(snapshot.cards.capacity[d, 2]))
        if due is not None:
            core, share, memory = due
            if max(core, share) == device.share and device.memory in (None, memory):
                return CardShare(d, core, share, memory)
    return CardShare(d, device.share, device.share, device.memory or 0)


def _lost(problem: PlacementProblem, plan: PlanFile) -> list[Violation]:
    """Return the pods that a plan with a list of the unplaced forgets, or names in both lists."""
    if plan.unplaced is None:
        return []
    names = problem.snapshot.pods.keys
    told = Counter(dict.fromkeys([bind.pod for bind in plan.placements], 1))
    told.update(each.pod for each in plan.unplaced)
    pending = {names[p] for p in problem.pending.tolist()}
    return [
        *(
            Violation(RULE, pod, "neither placed nor unplaced", "one of both")
            for pod in pending
            if not told[pod]
        ),
        *(
            Violation(RULE, pod, "placed or unplaced twice", "once")
            for pod, times in told.items()
            if times > 1
        ),
        *(
            Violation(RULE, each.pod, "unplaced", "pending pods of the cluster")
            for each in plan.unplaced
            if each.pod not in pending
        ),
    ]


def _wrong_claims(
    claims: tuple[PlannedLevel, ...], levels: tuple[LevelValue, ...]
) -> list[Violation]:
    """Return the objective levels whose value a plan states wrongly."""
    true = {level.name: level.objective for level in levels}
    return [
        Violation("objective", claim.name, str(claim.objective), str(true.get(claim.name, "none")))
        for claim in claims
        if true.get(claim.name) != claim.objective
    ]
