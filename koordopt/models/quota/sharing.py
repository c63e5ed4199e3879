r"""How one parent's capacity is shared by its children, in one dimension.

Notes
-----
Children start from their guarantee :math:`m_i`, or from their request :math:`r_i` where it is
smaller and they lend. What is left is poured over the children that ask for more, by weight, until
each has what it asks for or nothing is left:

.. math:: x_i = \min(r_i, m_i + w_i \lambda), \qquad \sum_i x_i = T

in whole units: each round gives the integer part of every share, and the units left over to the
largest remainders, ties by name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter


@dataclass(frozen=True, slots=True)
class Claim:
    """What one child brings to the sharing of one resource.

    Attributes
    ----------
    name
        Name of the quota, which settles ties.
    request
        Amount asked for, already cut to the quota's max.
    guarantee
        Amount it gets before anything is shared.
    weight
        Weight in sharing the rest.
    lends
        Whether others may use the part of the guarantee that it does not ask for.
    """

    name: str
    request: int
    guarantee: int
    weight: int
    lends: bool


def share(capacity: int, claims: Sequence[Claim]) -> list[int]:
    """Return the amount each child may use.

    Parameters
    ----------
    capacity
        Amount to share, base units.
    claims
        One a child, in any order.

    Returns
    -------
    list[int]
        Runtime of each child, in the order of ``claims``. The sum exceeds ``capacity`` only
        where the guarantees alone do.
    """
    runtime = [
        claim.guarantee
        if claim.request > claim.guarantee or not claim.lends
        else max(claim.request, 0)
        for claim in claims
    ]
    open_ = sorted(
        (i for i, claim in enumerate(claims) if claim.request > claim.guarantee),
        key=lambda i: claims[i].name,
    )
    left = capacity - sum(runtime)
    while left > 0 and open_:
        parts = divide(left, [claims[i].weight for i in open_])
        if parts is None:
            break
        left = 0
        unsatisfied = []
        for i, part in zip(open_, parts, strict=True):
            surplus = runtime[i] + part - claims[i].request
            runtime[i] += part
            if surplus < 0:
                unsatisfied.append(i)
            else:
                runtime[i] = claims[i].request
                left += surplus
        open_ = unsatisfied
    return runtime


def divide(amount: int, weights: Sequence[int]) -> list[int] | None:
    """Return ``amount`` in whole parts by weight, or ``None`` where no weight is positive.

    Units that do not divide go one each to the largest remainders, ties to the earlier index.

    Examples
    --------
    >>> divide(10, [3, 2, 2])
    [4, 3, 3]
    """
    total = sum(weight for weight in weights if weight > 0)
    if total <= 0:
        return None
    parts = [0] * len(weights)
    remainders = []
    for i, weight in enumerate(weights):
        if weight > 0:
            parts[i], remainder = divmod(weight * amount, total)
            remainders.append((remainder, i))
    remainders.sort(key=itemgetter(0), reverse=True)
    for _, i in remainders[: amount - sum(parts)]:
        parts[i] += 1
    return parts


def scaled_min(capacity: int, minimum: int, sum_of_mins: int) -> int:
    """Return a child's min, scaled so that all mins together fit into ``capacity``.

    Computed in double precision and cut to a whole number, as clusters that are migrated from
    the reference expect to see it; ``sum_of_mins`` is positive unless ``capacity`` is not.
    """
    if capacity <= 0:
        return 0
    return int(float(capacity) * float(minimum) / float(sum_of_mins))
