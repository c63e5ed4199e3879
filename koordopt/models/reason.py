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

    def to_dict(self) -> dict[str, str | bool]:
        """Return the reason as programs read it."""
        return {
            "rule": self.rule,
            "object": self.object,
            "message": self.message,
            "eviction_could_help": self.eviction_could_help,
        }
