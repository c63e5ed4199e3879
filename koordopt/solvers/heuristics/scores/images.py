"""Image locality: nodes that hold the images of a pod already."""

from __future__ import annotations

from collections import Counter

import numpy as np

from koordopt.models.arrays import IntArray
from koordopt.solvers.heuristics.state import PlacementState

_MIB = 1 << 20
LEAST = 23 * _MIB
"""Up to this many bytes count for nothing."""
MOST = 1000 * _MIB
"""Beyond this many bytes a container, more is not better."""


def normalised_name(image: str) -> str:
    """Return ``image`` with a tag: ``:latest`` where none follows the last slash."""
    return image if image.rfind(":") > image.rfind("/") else f"{image}:latest"


class ImageScore:
    r"""Scores nodes by the bytes of images that need not be pulled there.

    Notes
    -----
    Each container counts the size of its image on the node times the share of all nodes that hold
    it, so that one node does not draw all pods of a new image. With :math:`b` their sum over
    ``k`` containers, init containers included, cut to 23 MiB and :math:`k` times 1000 MiB,
    the score is :math:`\lfloor 100 (b - 23\,\mathrm{MiB}) / (1000 k - 23)\,\mathrm{MiB} \rfloor`.
    """

    name = "ImageLocality"

    def __init__(self, state: PlacementState) -> None:
        self._classes = state.problem.snapshot.classes
        self._count = len(state.problem.capacity)
        self._holders = _scaled_sizes(state)
        self._memo: dict[tuple[str, ...], IntArray | None] = {}

    def scores(self, c: int) -> IntArray | None:
        """Return 0 to 100 for each node, ``(N,)``; None where all get 0."""
        spec = self._classes[c].pod.spec
        containers = (*spec.init_containers, *spec.containers)
        images = tuple(sorted(normalised_name(container.image) for container in containers))
        if images not in self._memo:
            self._memo[images] = self._score(images)
        return self._memo[images]

    def _score(self, images: tuple[str, ...]) -> IntArray | None:
        held = np.zeros(self._count, dtype=np.int64)
        for image, uses in Counter(images).items():
            if image in self._holders:
                nodes, sizes = self._holders[image]
                held[nodes] += uses * sizes
        most = MOST * len(images)
        score = 100 * (np.clip(held, LEAST, most) - LEAST) // max(1, most - LEAST)
        return score if score.any() else None


def _scaled_sizes(state: PlacementState) -> dict[str, tuple[IntArray, IntArray]]:
    """Return the nodes that hold each image, and its size there times the share of such nodes."""
    nodes = state.problem.snapshot.nodes
    found: dict[str, dict[int, int]] = {}
    for n, node in enumerate(nodes.objects):
        for image in node.status.images:
            for name in image.names:
                found.setdefault(name, {}).setdefault(n, image.size_bytes)
    scaled = {}
    for name, sizes in found.items():
        share = len(sizes) / len(nodes)
        scaled[name] = (
            np.array(list(sizes), dtype=np.int64),
            np.array([int(size * share) for size in sizes.values()], dtype=np.int64),
        )
    return scaled
