r"""GPU cards, whole and shared: what a pod asks of each card, and that no card is given twice.

A request is a number of cards and an amount of each: compute (``core``) and memory share, in
thousandths of the card, and memory in bytes. With :math:`u_d` the sum over the pods that hold card
``d``, in each of the three, :math:`u_d \le C_d`; a pod never holds one card twice. What is not
given follows from the card's memory ``M``: ``memory = share · M`` or
``share = floor(100 · memory / M)`` hundredths.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from koordopt.models.api import keys
from koordopt.models.api.core import Pod
from koordopt.models.api.faults import read_quantity
from koordopt.models.arrays import LARGEST_AMOUNT
from koordopt.models.units import amount
from koordopt.models.violation import Violation

if TYPE_CHECKING:
    from koordopt.models.problem.placement import PlacementProblem
    from koordopt.models.result import Placement

RULE = "device"
WHOLE = 1000
"""Thousandths of one card."""

_VENDOR_CARDS = frozenset({keys.RESOURCE_NVIDIA_GPU, keys.RESOURCE_AMD_GPU, keys.RESOURCE_DCU_GPU})
_NPU = frozenset({keys.RESOURCE_NPU_CORE, keys.RESOURCE_NPU_CPU, keys.RESOURCE_NPU_DVPP})
CARD_RESOURCES = _VENDOR_CARDS | {
    keys.RESOURCE_GPU,
    keys.RESOURCE_GPU_SHARED,
    keys.RESOURCE_GPU_CORE,
    keys.RESOURCE_GPU_MEMORY,
    keys.RESOURCE_GPU_MEMORY_RATIO,
}
"""Resources that are counted card by card where the cards of a node are known."""

_FAMILY = CARD_RESOURCES | _NPU
_UNSHARED_COMBINATIONS = (
    {keys.RESOURCE_GPU_MEMORY},
    {keys.RESOURCE_GPU_MEMORY_RATIO},
    {keys.RESOURCE_GPU_CORE, keys.RESOURCE_GPU_MEMORY},
    {keys.RESOURCE_GPU_CORE, keys.RESOURCE_GPU_MEMORY_RATIO},
    {keys.RESOURCE_NPU_CORE, keys.RESOURCE_GPU_MEMORY_RATIO},
)


@dataclass(frozen=True)
class CardRequest:
    """What a pod asks of GPU cards.

    Attributes
    ----------
    count
        Number of different cards.
    core
        Compute of each card, thousandths.
    share
        Memory share of each card, thousandths; None where it follows from ``memory``.
    memory
        Memory of each card, bytes; None where it follows from ``share``.
    """

    count: int
    core: int
    share: int | None
    memory: int | None

    @property
    def is_shared(self) -> bool:
        """Whether the pod leaves room on its cards for others."""
        return self.share is None or self.share < WHOLE

    def on_card(self, memory_bytes: int) -> tuple[int, int, int] | None:
        """Return core, share and memory taken of a card; None where it can never serve.

        Parameters
        ----------
        memory_bytes
            Memory of the card; 0 where it is not known.
        """
        if self.memory is None:
            given = self.share or 0
            return self.core, given, given * memory_bytes // WHOLE
        if memory_bytes <= 0:
            return None
        share = self.share
        if share is None:
            share = 100 * self.memory // memory_bytes * (WHOLE // 100)
        return self.core, share, self.memory


@dataclass(frozen=True)
class InvalidCardRequest:
    """A combination of card resources that means nothing; such a pod never runs."""

    message: str


@dataclass(frozen=True, order=True)
class CardShare:
    """What one pod holds of one card.

    Attributes
    ----------
    card
        Index of the card in the snapshot's ``CardTable``.
    core, share
        Compute and memory share, thousandths.
    memory
        Memory, bytes.
    """

    card: int
    core: int
    share: int
    memory: int


def cards_of(request: Mapping[str, int]) -> CardRequest | InvalidCardRequest | None:
    """Return what a pod with ``request`` asks of cards; None where it asks for none.

    Parameters
    ----------
    request
        Effective request of the pod, base units.
    """
    asked = {name: v for name, v in request.items() if name in _FAMILY and v > 0}
    if not asked:
        return None
    names = set(asked)
    vendor = names & _VENDOR_CARDS
    if len(names) == 1 and vendor:
        return CardRequest(asked[vendor.pop()], WHOLE, WHOLE, None)
    if names == {keys.RESOURCE_GPU}:
        asked = {
            keys.RESOURCE_GPU_CORE: asked[keys.RESOURCE_GPU],
            keys.RESOURCE_GPU_MEMORY_RATIO: asked[keys.RESOURCE_GPU],
        }
        names = set(asked)
    if keys.RESOURCE_GPU_SHARED in names:
        return _shared(asked)
    if names not in _UNSHARED_COMBINATIONS:
        return _invalid(asked)
    for name in (keys.RESOURCE_GPU_CORE, keys.RESOURCE_GPU_MEMORY_RATIO):
        if asked.get(name, 0) > 100 and asked[name] % 100:
            return InvalidCardRequest(f"invalid resource unit {name}: {asked[name]}")
    # A share of 300 means three cards; so does compute of 300 where memory comes as an amount.
    cards = asked.get(keys.RESOURCE_GPU_MEMORY_RATIO, asked.get(keys.RESOURCE_GPU_CORE, 0))
    return _per_card(asked, cards // 100 if cards > 100 else 1)


def _shared(asked: Mapping[str, int]) -> CardRequest | InvalidCardRequest:
    count = asked[keys.RESOURCE_GPU_SHARED]
    rest = set(asked) - {keys.RESOURCE_GPU_SHARED}
    if keys.RESOURCE_NPU_CORE in rest:
        known = {keys.RESOURCE_NPU_CORE, keys.RESOURCE_NPU_CPU, keys.RESOURCE_GPU_MEMORY}
        if (
            rest - {keys.RESOURCE_NPU_DVPP} != known
            or count > 1
            or asked.get(keys.RESOURCE_NPU_DVPP, 0) > 100
        ):
            return _invalid(asked)
        return _per_card(asked, count)
    if rest - {keys.RESOURCE_GPU_CORE} not in (
        {keys.RESOURCE_GPU_MEMORY},
        {keys.RESOURCE_GPU_MEMORY_RATIO},
    ):
        return _invalid(asked)
    for name in (keys.RESOURCE_GPU_CORE, keys.RESOURCE_GPU_MEMORY_RATIO):
        amount = asked.get(name, 0)
        if amount % count or amount // count > 100:
            return InvalidCardRequest(f"invalid resource unit {name}: {amount}")
    return _per_card(asked, count)


def _invalid(asked: Mapping[str, int]) -> InvalidCardRequest:
    return InvalidCardRequest(f"invalid resource device requests: [{' '.join(sorted(asked))}]")


def _per_card(asked: Mapping[str, int], count: int) -> CardRequest:
    def each(name: str) -> int | None:
        return asked[name] // count if name in asked else None

    ratio, core = each(keys.RESOURCE_GPU_MEMORY_RATIO), each(keys.RESOURCE_GPU_CORE)
    return CardRequest(
        count=count,
        core=(core or 0) * WHOLE // 100,
        share=None if ratio is None else ratio * WHOLE // 100,
        memory=each(keys.RESOURCE_GPU_MEMORY),
    )


@dataclass(frozen=True)
class RecordedShare:
    """What the annotation of a bound pod says that it holds of one card.

    Percentages are thousandths here; None where the annotation is silent.
    """

    minor: int
    core: int
    share: int | None
    memory: int | None


def recorded_cards(pod: Pod) -> tuple[RecordedShare, ...] | None:
    """Return the cards that the ``device-allocated`` annotation of ``pod`` records.

    Returns
    -------
    tuple[RecordedShare, ...] | None
        One entry a card; None without a readable annotation, or where it names no card.
    """
    text = pod.metadata.annotations.get(keys.ANNOTATION_DEVICE_ALLOCATED)
    if not text:
        return None
    try:
        entries = json.loads(text).get("gpu") or []
        return tuple(_recorded(entry) for entry in entries) or None
    except (ValueError, AttributeError, KeyError, TypeError, RecursionError):
        return None


def _recorded(entry: Mapping[str, object]) -> RecordedShare:
    resources = entry["resources"]
    if not isinstance(resources, Mapping) or type(entry["minor"]) is not int:
        raise TypeError("device allocation without a minor or resources")
    amounts = {
        name: min(amount(name, (read_quantity(q),)), LARGEST_AMOUNT)
        for name, q in resources.items()
    }
    amounts = {keys.RENAMED_RESOURCES.get(name, name): v for name, v in amounts.items()}
    ratio = amounts.get(keys.RESOURCE_GPU_MEMORY_RATIO)
    return RecordedShare(
        minor=entry["minor"],
        core=amounts.get(keys.RESOURCE_GPU_CORE, 0) * WHOLE // 100,
        share=None if ratio is None else ratio * WHOLE // 100,
        memory=amounts.get(keys.RESOURCE_GPU_MEMORY),
    )


def violations(problem: PlacementProblem, placement: Placement) -> list[Violation]:
    """Return cards given beyond their capacity, and pods with other cards than they asked for."""
    snapshot, cards = problem.snapshot, problem.snapshot.cards
    used = cards.used.copy()
    found = []
    for p, n in zip(placement.pod.tolist(), placement.node.tolist(), strict=True):
        request = snapshot.classes[snapshot.pods.class_of[p]].cards
        held = placement.cards.get(p, ())
        if isinstance(request, InvalidCardRequest):
            wrong = request.message
        elif request is None or not cards.on_node(n):
            wrong = "cards without asking" if held else ""
        else:
            wrong = _wrong_cards(request, held, n, problem)
        if wrong:
            found.append(Violation(RULE, snapshot.pods.keys[p], wrong, str(request)))
        for share in held:
            used[share.card] += (share.core, share.share, share.memory)
    touched = np.unique([s.card for held in placement.cards.values() for s in held])
    found += [
        Violation(RULE, cards.name(d), _amounts(used[d]), _amounts(cards.capacity[d]))
        for d in touched.astype(np.int64).tolist()
        if (used[d] > cards.capacity[d]).any()
    ]
    return found


def _wrong_cards(
    request: CardRequest,
    held: tuple[CardShare, ...],
    node: int,
    problem: PlacementProblem,
) -> str:
    cards = problem.snapshot.cards
    if len({share.card for share in held}) != request.count or len(held) != request.count:
        return f"{len(held)} cards"
    for share in held:
        if cards.node[share.card] != node:
            return f"{cards.name(share.card)} of another node"
        taken = request.on_card(int(cards.capacity[share.card, 2]))
        if taken != (share.core, share.share, share.memory):
            return f"{share.core}/{share.share}/{share.memory} of {cards.name(share.card)}"
    return ""


def _amounts(row: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> str:
    core, share, memory = row.tolist()
    return f"core {core}, share {share} thousandths, memory {memory} bytes"
