"""Why something is not placed: one true reason a person can act on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Reason:
    """Why a pod stays pending.

    Attributes
    ----------
    rule
        Name of the rule that refuses, as in ``koordopt.models.rules``.
    object
        What stands in the way: a node group, quota, gang or the pod itself.
    message
        One sentence for a person.
    eviction_could_help
        Whether the departure of running pods could lift the refusal.
    """

    rule: str
    object: str
    message: str
    eviction_could_help: bool
