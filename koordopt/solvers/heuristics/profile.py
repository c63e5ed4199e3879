"""What the greedy pipeline scores by: the profile of a scheduler, as integers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from koordopt.models.api import keys

Strategy = Literal["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"]

DEFAULT_WEIGHTS: Mapping[str, int] = MappingProxyType(
    {
        "TaintToleration": 3,
        "NodeAffinity": 2,
        "PodTopologySpread": 2,
        "InterPodAffinity": 2,
        "NodeResourcesFit": 1,
        "NodeResourcesBalancedAllocation": 1,
        "ImageLocality": 1,
        "OpportunityCost": 10,
        "ExpectedFragmentation": 0,
    }
)
"""Weight of each score plug-in, by its name; the last two are koordopt's own."""

_CPU_AND_MEMORY = ((keys.RESOURCE_CPU, 1), (keys.RESOURCE_MEMORY, 1))


@dataclass(frozen=True)
class Profile:
    """Weights and arguments of the score plug-ins.

    Attributes
    ----------
    weights
        Weight of each score plug-in; one that is missing or 0 is off.
    fit_strategy
        How ``NodeResourcesFit`` scores.
    fit_resources, balanced_resources
        Resources with their weight; the balanced score ignores weights.
    shape
        Utilisation (0 to 100) and score (0 to 10) of ``RequestedToCapacityRatio``, ascending.
    hard_affinity_weight
        Preference for nodes whose pods require a pod's company.
    """

    weights: Mapping[str, int] = field(default_factory=lambda: DEFAULT_WEIGHTS)
    fit_strategy: Strategy = "LeastAllocated"
    fit_resources: tuple[tuple[str, int], ...] = _CPU_AND_MEMORY
    balanced_resources: tuple[tuple[str, int], ...] = _CPU_AND_MEMORY
    shape: tuple[tuple[int, int], ...] = ((0, 0), (100, 10))
    hard_affinity_weight: int = 1
