"""A broken rule, as the independent checker reports it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Violation:
    """One breach of one rule by one object of a plan.

    Attributes
    ----------
    rule
        Name of the rule.
    object
        The pod, node, gang, quota or domain at fault.
    found
        What the plan does.
    allowed
        What the rule allows.
    """

    rule: str
    object: str
    found: str
    allowed: str
