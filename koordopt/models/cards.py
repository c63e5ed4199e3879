"""The accelerator cards of a cluster, card by card."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from koordopt.models.api import keys
from koordopt.models.api.core import Pod
from koordopt.models.api.crds import Device, DeviceInfo
from koordopt.models.arrays import LARGEST_AMOUNT, IntArray, frozen
from koordopt.models.rules.device import (
    WHOLE,
    CardRequest,
    CardShare,
    RecordedShare,
    recorded_cards,
)


@dataclass(frozen=True, eq=False)
class CardTable:
    """Healthy and unhealthy GPU cards, sorted by node and minor.

    Attributes
    ----------
    node
        Node of each card, shape ``(D,)``.
    minor
        Minor number of each card on its node, shape ``(D,)``.
    capacity
        Compute and memory share in thousandths and memory in bytes, shape ``(D, 3)``; zero where
        the card is unhealthy.
    used
        The same, held by pods already bound.
    node_names
        Name of each node, for messages.
    """

    node: IntArray
    minor: IntArray
    capacity: IntArray
    used: IntArray
    node_names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.node)

    @cached_property
    def _first(self) -> IntArray:
        return np.searchsorted(self.node, np.arange(len(self.node_names) + 1))

    def on_node(self, n: int) -> range:
        """Return the cards of node ``n``; an empty range where none are known."""
        return range(int(self._first[n]), int(self._first[n + 1]))

    def name(self, d: int) -> str:
        """Return the name of card ``d`` for people: node and minor."""
        return f"{self.node_names[self.node[d]]}/gpu-{self.minor[d]}"


def card_table(
    devices: Sequence[Device],
    node_index: dict[str, int],
    bound: Sequence[tuple[Pod, int, CardRequest | None]],
) -> tuple[CardTable, dict[str, tuple[CardShare, ...]], tuple[str, ...]]:
    """Return the cards of ``devices``, what each bound pod holds of them, and warnings.

    Parameters
    ----------
    devices
        Device objects; those of nodes that are not in ``node_index`` are left out.
    node_index
        Index of each node name.
    bound
        Bound pods with their node and what they ask of cards.

    Notes
    -----
    A pod holds what its annotation records. One without a readable record holds the fullest cards
    that still have room, so that the sum is right even though the minor may not be.
    """
    rows, warnings = _rows(devices, node_index)
    capacity = np.zeros((len(rows), 3), dtype=np.int64)
    for d, (_, _, card) in enumerate(rows):
        if card.health:
            amounts = {name: min(v, LARGEST_AMOUNT) for name, v in card.amounts.items()}
            capacity[d] = (
                amounts.get(keys.RESOURCE_GPU_CORE, 0) * WHOLE // 100,
                amounts.get(keys.RESOURCE_GPU_MEMORY_RATIO, 0) * WHOLE // 100,
                amounts.get(keys.RESOURCE_GPU_MEMORY, 0),
            )
    node = np.array([n for n, _, _ in rows], dtype=np.int64)
    minor = np.array([m for _, m, _ in rows], dtype=np.int64)
    names = tuple(sorted(node_index, key=node_index.__getitem__))
    used = np.zeros_like(capacity)
    table = CardTable(frozen(node), frozen(minor), frozen(capacity), used, names)
    held: dict[str, tuple[CardShare, ...]] = {}
    unrecorded = []
    for pod, n, request in bound:
        if request is None or not table.on_node(n):
            continue
        recorded = recorded_cards(pod)
        if recorded is None:
            unrecorded.append((pod, n, request))
            continue
        held[pod.key] = _charge(table, n, recorded)
    for pod, n, request in unrecorded:
        shares = _guess(table, n, request)
        held[pod.key] = shares
        for share in shares:
            used[share.card] += (share.core, share.share, share.memory)
        warnings.append(f"Pod {pod.key}: no readable device allocation; cards assumed")
    frozen(used)
    return table, held, tuple(warnings)


def _rows(
    devices: Sequence[Device], node_index: dict[str, int]
) -> tuple[list[tuple[int, int, DeviceInfo]], list[str]]:
    """Return node, minor and card of every GPU, sorted, and warnings of minors given twice."""
    cards: dict[tuple[int, int], DeviceInfo] = {}
    warnings = []
    for device in devices:
        n = node_index.get(device.metadata.name)
        for card in device.spec.devices if n is not None else ():
            if card.type != "gpu" or n is None:
                continue
            if cards.setdefault((n, card.minor), card) is not card:
                warnings.append(
                    f"Device {device.metadata.name}: gpu {card.minor} is listed twice; "
                    "the first counts"
                )
    return [(*place, cards[place]) for place in sorted(cards)], warnings


def _charge(table: CardTable, n: int, recorded: Sequence[RecordedShare]) -> tuple[CardShare, ...]:
    by_minor = {int(table.minor[d]): d for d in table.on_node(n)}
    shares = []
    for entry in recorded:
        d = by_minor.get(entry.minor)
        if d is None:
            continue
        asked = CardRequest(1, entry.core, entry.share, entry.memory)
        exact = asked.on_card(int(table.capacity[d, 2])) or (entry.core, entry.share or 0, 0)
        core, share, memory = (min(v, LARGEST_AMOUNT) for v in exact)
        table.used[d] += (core, share, memory)
        shares.append(CardShare(d, core, share, memory))
    return tuple(shares)


def _guess(table: CardTable, n: int, request: CardRequest) -> tuple[CardShare, ...]:
    fitting = []
    for d in table.on_node(n):
        taken = request.on_card(int(table.capacity[d, 2]))
        if taken is None:
            continue
        free = table.capacity[d] - table.used[d]
        if (np.asarray(taken) <= free).all():
            fitting.append((int(free[1]), int(free[0]), d, taken))
    return tuple(CardShare(d, *taken) for _, _, d, taken in sorted(fitting)[: request.count])
