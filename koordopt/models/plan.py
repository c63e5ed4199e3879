"""A plan: ordered steps with names, the reasons for what stays pending, and how good it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from koordopt.models.api import keys
from koordopt.models.problem.placement import PlacementProblem
from koordopt.models.reason import Reason
from koordopt.models.result import LevelValue, Limit, Method, SolveResult, Status
from koordopt.models.rules.device import WHOLE


@dataclass(frozen=True, order=True)
class DeviceShare:
    """What a pod gets of one card.

    Attributes
    ----------
    type
        Kind of device, ``gpu``.
    minor
        Number of the card on its node.
    core, memory_share
        Compute and memory share, thousandths of the card.
    memory
        Memory, bytes; 0 where the card's memory is not known.
    """

    type: str
    minor: int
    core: int
    memory_share: int
    memory: int

    @property
    def share(self) -> int:
        """Thousandths of the device: the larger of its compute and memory share."""
        return max(self.core, self.memory_share)

    @property
    def resources(self) -> dict[str, str]:
        """The amounts as an allocation annotation records them."""
        amounts = {
            keys.RESOURCE_GPU_CORE: str(self.core * 100 // WHOLE),
            keys.RESOURCE_GPU_MEMORY_RATIO: str(self.memory_share * 100 // WHOLE),
        }
        if self.memory:
            amounts[keys.RESOURCE_GPU_MEMORY] = str(self.memory)
        return amounts


@dataclass(frozen=True)
class Bind:
    """One pod that goes to one node.

    Attributes
    ----------
    pod
        ``namespace/name``.
    node
        Name of the node.
    step
        Pods of one step are bound together.
    devices
        Cards that the pod gets.
    """

    pod: str
    node: str
    step: int
    devices: tuple[DeviceShare, ...] = ()


@dataclass(frozen=True)
class Plan:
    """What to do, by name.

    Attributes
    ----------
    generation
        Generation of the snapshot that the plan was made for.
    status, limit, method, levels
        As in ``SolveResult``.
    binds
        Placements in bind order.
    unplaced
        Why each pending pod that is not placed is not, by ``namespace/name``.
    warnings
        What the input gets wrong without being left out.
    """

    generation: int
    status: Status
    limit: Limit
    method: Method
    levels: tuple[LevelValue, ...]
    binds: tuple[Bind, ...]
    unplaced: Mapping[str, Reason]
    warnings: tuple[str, ...]

    @classmethod
    def from_result(cls, problem: PlacementProblem, result: SolveResult) -> Plan:
        """Return ``result`` with the names of ``problem``."""
        snapshot, placement = problem.snapshot, result.placement
        keys, nodes = snapshot.pods.keys, snapshot.nodes.names
        rows = zip(
            placement.pod.tolist(), placement.node.tolist(), placement.step.tolist(), strict=True
        )
        return cls(
            generation=snapshot.generation,
            status=result.status,
            limit=result.limit,
            method=result.method,
            levels=result.levels,
            binds=tuple(
                Bind(keys[p], nodes[n], step, _devices(problem, result, p)) for p, n, step in rows
            ),
            unplaced={keys[p]: reason for p, reason in sorted(result.unplaced.items())},
            warnings=snapshot.warnings,
        )

    @property
    def gap(self) -> float | None:
        """The largest gap of a level; None where one has no bound."""
        gaps = [level.gap for level in self.levels]
        known = [gap for gap in gaps if gap is not None]
        return max(known, default=0.0) if len(known) == len(gaps) else None

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as the object that ``plan -o json`` prints, without ``rejected``."""
        return {
            "status": self.status,
            "limit": self.limit,
            "method": self.method,
            "levels": [level.to_dict() for level in self.levels],
            "gap": self.gap,
            "placements": [_bind_dict(bind) for bind in self.binds],
            "unplaced": [
                {
                    "pod": pod,
                    "reason": reason.to_dict(),
                    "relaxation": None,
                }
                for pod, reason in self.unplaced.items()
            ],
            "evictions": [],
            "warnings": list(self.warnings),
        }


def _devices(problem: PlacementProblem, result: SolveResult, p: int) -> tuple[DeviceShare, ...]:
    minor = problem.snapshot.cards.minor
    return tuple(
        DeviceShare("gpu", int(minor[held.card]), held.core, held.share, held.memory)
        for held in result.placement.cards.get(p, ())
    )


def _bind_dict(bind: Bind) -> dict[str, Any]:
    entry: dict[str, Any] = {"pod": bind.pod, "node": bind.node, "step": bind.step}
    if bind.devices:
        entry["devices"] = [
            {"type": d.type, "minor": d.minor, "share": d.share} for d in bind.devices
        ]
    return entry
