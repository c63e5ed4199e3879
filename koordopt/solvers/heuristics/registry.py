"""Which filters and scores the pipeline asks, in which order, with which weight."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from koordopt.models.arrays import IntArray
from koordopt.models.rules.device import CardShare
from koordopt.solvers.heuristics.filters.capacity import CapacityFilter
from koordopt.solvers.heuristics.plugins import (
    GlobalFilter,
    GlobalScore,
    LocalFilter,
    LocalScore,
)
from koordopt.solvers.heuristics.profile import Profile
from koordopt.solvers.heuristics.scores.allocation import AllocationScore
from koordopt.solvers.heuristics.scores.balanced import BalancedScore
from koordopt.solvers.heuristics.state import PlacementState


@dataclass(frozen=True)
class Plugins:
    """The plug-ins of one pipeline.

    Attributes
    ----------
    local_filters, global_filters
        Filters; a node must pass all.
    local_scores, global_scores
        Scores with their weight.
    fixed_score
        Weighted score of every node that no placement changes, for a class; None for none.
    choose_cards
        Cards that a pod of a class gets on a node; None where the cluster has no cards.
    refreshers
        What must hear of every changed node.
    """

    local_filters: tuple[LocalFilter, ...]
    global_filters: tuple[GlobalFilter, ...]
    local_scores: tuple[tuple[LocalScore, int], ...]
    global_scores: tuple[tuple[GlobalScore, int], ...]
    fixed_score: Callable[[int], IntArray | None]
    choose_cards: Callable[[int, int], tuple[CardShare, ...]] | None
    refreshers: tuple[Callable[[int], None], ...]


def plugins_for(state: PlacementState, profile: Profile) -> Plugins:
    """Return the plug-ins that ``profile`` names, over ``state``."""
    weight_of = profile.weights.get
    local_scores: list[tuple[LocalScore, int]] = []
    if weight := weight_of("NodeResourcesFit", 0):
        fit = AllocationScore(
            state, profile.fit_strategy, profile.fit_resources, profile.shape
        )
        local_scores.append((fit, weight))
    if weight := weight_of("NodeResourcesBalancedAllocation", 0):
        balanced = BalancedScore(state, [name for name, _ in profile.balanced_resources])
        local_scores.append((balanced, weight))
    return Plugins(
        local_filters=(CapacityFilter(state),),
        global_filters=(),
        local_scores=tuple(local_scores),
        global_scores=(),
        fixed_score=lambda _: None,
        choose_cards=None,
        refreshers=tuple(score.refresh for score, _ in local_scores),
    )
