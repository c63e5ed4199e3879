"""Small quotas and pods over cpu, for the tests of quotas."""

from koordopt.models.quota import QuotaPod, QuotaSpec

GI = 1 << 30
DEFAULT = "koordinator-default-quota"
SYSTEM = "koordinator-system-quota"
PLENTY = 10**12


def child(name, *, weight=None, least=None, most=PLENTY, parent="", **kwargs):
    """Return a quota over cpu alone; a weight of 0 stands beside another resource's."""
    return QuotaSpec(
        name=name,
        parent=parent,
        min={} if least is None else {"cpu": least},
        max={"cpu": most},
        shared_weight=None if weight is None else {"cpu": weight, "memory": 1},
        **kwargs,
    )


def pending(quota, cpu, name="pending", **kwargs):
    return QuotaPod(name=f"{quota}/{name}", quota=quota, request={"cpu": cpu}, **kwargs)


def running(quota, cpu, name="running", **kwargs):
    return pending(quota, cpu, name, is_assigned=True, **kwargs)
