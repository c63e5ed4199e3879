"""What the greedy filters and the independent checker say about the same placement."""

from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import Any

import numpy as np

from koordopt.models.problem.placement import PlacementProblem
from koordopt.models.result import Placement
from koordopt.models.rules.device import CardRequest, CardShare
from koordopt.models.verify import verify
from koordopt.models.violation import Violation
from koordopt.solvers.heuristics.pipeline import Pipeline
from tests.builders import make_problem, node_index, pod_index


def placement_after(pipeline: Pipeline, p: int, n: int, cards: tuple[CardShare, ...]) -> Placement:
    """Return the placements made so far, and pod ``p`` on node ``n``, each a step."""
    state = pipeline.state
    pods, nodes = [q for q, _ in state.placed], [m for _, m in state.placed]
    held = {**state.cards_of, **({p: cards} if cards else {})}
    return Placement.of([*pods, p], [*nodes, n], cards=held)


def card_choices(problem: PlacementProblem, p: int, n: int) -> Iterator[tuple[CardShare, ...]]:
    """Yield every set of cards of node ``n`` that pod ``p`` might hold, free or not."""
    snapshot = problem.snapshot
    request = snapshot.classes[snapshot.pods.class_of[p]].cards
    cards = snapshot.cards
    if not isinstance(request, CardRequest) or not cards.on_node(n):
        yield ()
        return
    for chosen in combinations(cards.on_node(n), request.count):
        taken = [request.on_card(int(cards.capacity[d, 2])) for d in chosen]
        if all(taken):
            yield tuple(CardShare(d, *t) for d, t in zip(chosen, taken, strict=True))


def checker_mask(pipeline: Pipeline, p: int) -> np.ndarray:
    """Return the nodes where the checker accepts pod ``p`` next, whatever cards it takes."""
    problem = pipeline.problem
    return np.array(
        [
            any(
                not verify(problem, placement_after(pipeline, p, n, cards))
                for cards in card_choices(problem, p, n)
            )
            for n in range(len(problem.capacity))
        ],
        dtype=np.bool_,
    )


def filter_mask(pipeline: Pipeline, p: int) -> np.ndarray:
    """Return the nodes that the filters leave to pod ``p`` next."""
    return pipeline.feasible(int(pipeline.problem.snapshot.pods.class_of[p]))


def feasible_nodes(problem: PlacementProblem, name: str) -> set[str]:
    """Return the nodes open to a pending pod, on which filters and checker must agree."""
    pipeline = Pipeline(problem)
    p = pod_index(problem, name)
    found, judged = filter_mask(pipeline, p), checker_mask(pipeline, p)
    assert found.tolist() == judged.tolist()
    return {problem.snapshot.nodes.names[n] for n in np.flatnonzero(found).tolist()}


def open_to(pod: Any, *nodes: Any, running: Iterable[Any] = ()) -> set[str]:
    """Return which of ``nodes`` are open to ``pod``, by filters and checker alike."""
    return feasible_nodes(make_problem(nodes, [*running, pod]), pod.metadata.name)


def violations_of(problem: PlacementProblem, **node_of: str) -> list[Violation]:
    """Return what the checker says about pods of the default namespace on the nodes given."""
    return verify(
        problem,
        Placement.of(
            [pod_index(problem, name) for name in node_of],
            [node_index(problem, node) for node in node_of.values()],
        ),
    )
