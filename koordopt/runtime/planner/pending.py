"""Finds the pods that a name stands for, and tells why they are pending."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any, Final

from koordopt.errors import InvalidInputError
from koordopt.runtime.planner.controllers.owners import TEMPLATE_HASH
from koordopt.runtime.planner.session import Session, Solved
from koordopt.solvers.explain import Explainer

EXAMPLES: Final = 3
"""Nodes that are named for each rule."""


def pods_named(session: Session, name: str) -> list[int]:
    """Return the pods that ``name`` stands for, as indices, ascending.

    Parameters
    ----------
    session
        The cluster.
    name
        A pod, a gang, or a controller (Job, Deployment, ...), each as ``namespace/name`` or as
        ``name`` in whatever namespace.

    Raises
    ------
    InvalidInputError
        If it stands for none; names that look like it are in the message.
    """
    by_name = _by_name(session)
    if name in by_name:
        return sorted(by_name[name])
    close = get_close_matches(name, [known for known in by_name if "/" in known], n=3)
    hint = f"; did you mean {' or '.join(close)}?" if close else "."
    raise InvalidInputError(f"no pod, gang or controller is named {name!r}{hint}")


def _by_name(session: Session) -> dict[str, set[int]]:
    snapshot = session.problem.snapshot
    found: dict[str, set[int]] = {}

    def add(namespace: str, name: str, pods: Iterable[int]) -> None:
        for key in (name, f"{namespace}/{name}"):
            found.setdefault(key, set()).update(pods)

    for p, pod in enumerate(snapshot.pods.objects):
        meta = pod.metadata
        add(meta.namespace, meta.name, [p])
        for owner in meta.owner_references:
            add(meta.namespace, owner.name, [p])
            ending = f"-{meta.labels.get(TEMPLATE_HASH)}"
            if owner.kind == "ReplicaSet" and owner.name.endswith(ending):
                # Lists of pods seldom hold the ReplicaSet that would name the Deployment.
                add(meta.namespace, owner.name.removesuffix(ending), [p])
    for gang in snapshot.gangs.gangs:
        namespace, _, name = gang.id.partition("/")
        add(namespace, name, gang.pods)
    return found


def explanations(solved: Solved, pods: Iterable[int]) -> list[dict[str, Any]]:
    """Return what ``explain`` prints of each pod, in the order given.

    Notes
    -----
    ``node`` is where a pod runs or would go, and null for one that stays pending; only those have
    a reason.
    """
    session = solved.session
    snapshot, placement = session.problem.snapshot, solved.result.placement
    node_of = placement.node_of(session.problem)
    explainer = Explainer(session.problem, placement, session.settings.profile)
    shown = []
    for p in pods:
        reason = solved.result.unplaced.get(p)
        groups = explainer.node_groups(p) if reason is not None else ()
        n = int(node_of[p])
        shown.append(
            {
                "pod": snapshot.pods.keys[p],
                "node": snapshot.nodes.names[n] if n >= 0 else None,
                "reason": None if reason is None else reason.to_dict(),
                "nodes": [
                    {
                        "rule": group.rule,
                        "message": group.message,
                        "count": len(group.nodes),
                        "alone": group.alone,
                        "examples": [snapshot.nodes.names[n] for n in group.nodes[:EXAMPLES]],
                    }
                    for group in groups
                ],
                "relaxation": None,
            }
        )
    return shown
