"""Elastic quotas: trees of guarantees and caps whose idle parts are shared."""

from koordopt.models.quota.admission import QuotaRefusal, QuotaRule, admit
from koordopt.models.quota.arrays import UNSET, QuotaArrays, quota_arrays
from koordopt.models.quota.forest import QuotaForest, QuotaState
from koordopt.models.quota.resolve import QuotaResolver
from koordopt.models.quota.spec import (
    DEFAULT_TREE,
    QuotaPod,
    QuotaSettings,
    QuotaSpec,
    QuotaWarning,
)

__all__ = [
    "DEFAULT_TREE",
    "UNSET",
    "QuotaArrays",
    "QuotaForest",
    "QuotaPod",
    "QuotaRefusal",
    "QuotaResolver",
    "QuotaRule",
    "QuotaSettings",
    "QuotaSpec",
    "QuotaState",
    "QuotaWarning",
    "admit",
    "quota_arrays",
]
