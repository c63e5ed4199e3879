"""Which filters and scores the pipeline asks, in which order, with which weight."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from koordopt.models.arrays import IntArray
from koordopt.models.rules.device import CardShare
from koordopt.solvers.heuristics.filters.capacity import CapacityFilter
from koordopt.solvers.heuristics.filters.cards import CardFilter
from koordopt.solvers.heuristics.filters.pod_affinity import PodAffinityFilter
from koordopt.solvers.heuristics.filters.ports import PortFilter
from koordopt.solvers.heuristics.filters.spread import SpreadFilter
from koordopt.solvers.heuristics.plugins import (
    GlobalFilter,
    GlobalScore,
    LocalFilter,
    LocalScore,
)
from koordopt.solvers.heuristics.profile import Profile
from koordopt.solvers.heuristics.scores.allocation import AllocationScore
from koordopt.solvers.heuristics.scores.balanced import BalancedScore
from koordopt.solvers.heuristics.scores.card_score import CardScore
from koordopt.solvers.heuristics.scores.fragmentation import FragmentationScore
from koordopt.solvers.heuristics.scores.images import ImageScore
from koordopt.solvers.heuristics.scores.normalised import NodeAffinityScore, TaintScore
from koordopt.solvers.heuristics.scores.opportunity import OpportunityScore, SilentOnCards
from koordopt.solvers.heuristics.scores.pod_affinity import PodAffinityScore
from koordopt.solvers.heuristics.scores.spread import SpreadScore
from koordopt.solvers.heuristics.state import PlacementState

ChooseCards: TypeAlias = Callable[[int, int], tuple[CardShare, ...]]
"""Gives the cards of a pod of a class on a node that is feasible for it."""


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
    fixed_weight
        The weight in it.
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
    fixed_weight: int
    choose_cards: ChooseCards | None
    refreshers: tuple[Callable[[int], None], ...]


def plugins_for(state: PlacementState, profile: Profile) -> Plugins:
    """Return the plug-ins that ``profile`` names, over ``state``; filters in upstream's order."""
    cards = CardFilter(state)
    local_scores = _local_scores(state, profile, cards)
    return Plugins(
        local_filters=(PortFilter(state), CapacityFilter(state), cards),
        global_filters=(SpreadFilter(state), PodAffinityFilter(state)),
        local_scores=local_scores,
        global_scores=_global_scores(state, profile),
        fixed_score=_fixed_score(state, profile),
        fixed_weight=profile.weights.get(ImageScore.name, 0),
        choose_cards=_card_chooser(cards, [score for score, _ in local_scores]),
        # Scores that read the same numbers bring them up to date together.
        refreshers=tuple(dict.fromkeys(score.refresh for score, _ in local_scores)),
    )


_Score = TypeVar("_Score")


def _weighted(
    builders: Mapping[str, Callable[[], _Score]], profile: Profile
) -> tuple[tuple[_Score, int], ...]:
    """Return the scores that have a weight, with it; the others are not even built."""
    return tuple(
        (build(), weight)
        for name, build in builders.items()
        if (weight := profile.weights.get(name, 0))
    )


def _local_scores(
    state: PlacementState, profile: Profile, cards: CardFilter
) -> tuple[tuple[LocalScore, int], ...]:
    builders: dict[str, Callable[[], LocalScore]] = {
        AllocationScore.name: lambda: AllocationScore(
            state, profile.fit_strategy, profile.fit_resources, profile.shape
        ),
        BalancedScore.name: lambda: BalancedScore(
            state,
            [name for name, _ in profile.balanced_resources],
            is_free=profile.fit_strategy == "LeastAllocated",
        ),
    }
    resources = _weighted(builders, profile)
    if not cards.has_cards.any():
        return resources
    of_cards: dict[str, Callable[[], LocalScore]] = {
        FragmentationScore.name: lambda: FragmentationScore(state, cards),
        OpportunityScore.name: lambda: OpportunityScore(state, cards),
    }
    scores = _weighted(of_cards, profile)
    for score, _ in scores:
        if isinstance(score, OpportunityScore):
            resources = tuple((SilentOnCards(r, score, state), weight) for r, weight in resources)
    return resources + scores


def _global_scores(state: PlacementState, profile: Profile) -> tuple[tuple[GlobalScore, int], ...]:
    builders: dict[str, Callable[[], GlobalScore]] = {
        TaintScore.name: lambda: TaintScore(state),
        NodeAffinityScore.name: lambda: NodeAffinityScore(state),
        SpreadScore.name: lambda: SpreadScore(state),
        PodAffinityScore.name: lambda: PodAffinityScore(state),
    }
    return _weighted(builders, profile)


def _fixed_score(state: PlacementState, profile: Profile) -> Callable[[int], IntArray | None]:
    weight = profile.weights.get(ImageScore.name, 0)
    if not weight:
        return lambda _: None
    images = ImageScore(state)

    def fixed(c: int) -> IntArray | None:
        score = images.scores(c)
        return None if score is None else weight * score

    return fixed


def _card_chooser(cards: CardFilter, scores: Sequence[LocalScore]) -> ChooseCards | None:
    """Return what chooses cards: the last score that looks at them, where there is one."""
    if not cards.has_cards.any():
        return None
    for score in reversed(scores):
        if isinstance(score, CardScore):
            return score.choose_cards
    return cards.choose_cards
