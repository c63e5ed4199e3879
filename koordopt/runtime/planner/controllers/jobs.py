"""Pods that Jobs lack."""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Final

from koordopt.models.api.core import Pod
from koordopt.models.api.faults import shown
from koordopt.runtime.planner.controllers.owners import Owners
from koordopt.runtime.planner.controllers.templates import (
    Template,
    UnusableWorkloadError,
    count,
    generated_names,
    mapping,
    owner_of,
)
from koordopt.runtime.planner.reading.inputs import Workload

COMPLETION_INDEX: Final = "batch.kubernetes.io/job-completion-index"
"""Label and annotation with the index of a pod of an indexed Job."""

_NAME_LABELS: Final = ("batch.kubernetes.io/job-name", "job-name")
_RANGE: Final = re.compile(r"([0-9]{1,10})(?:-([0-9]{1,10}))?")


def job_pods(workload: Workload, owners: Owners) -> Iterator[Pod]:
    """Yield the pods that a Job lacks now: as many as may run at once and are still to complete.

    A suspended Job and one that is over have none.
    """
    spec = mapping(workload.raw, "spec")
    status = workload.raw.get("status") or {}
    if not isinstance(status, dict):
        raise UnusableWorkloadError("status", shown(status), "a mapping")
    if spec.get("suspend") is True or _is_over(status):
        return
    parallelism = count(spec, "parallelism", 1)
    active = owners.active(workload)
    done = [pod for pod in owners.pods(workload) if pod.status.phase == "Succeeded"]
    succeeded = max(count(status, "succeeded", 0, "status."), len(done))
    completions = _completions(spec)
    if completions is None:
        # A work queue: once one pod has succeeded, no other is started.
        missing = 0 if succeeded else parallelism - len(active)
    else:
        missing = min(parallelism, completions - succeeded) - len(active)
    if missing <= 0:
        return
    template = Template(
        workload, owner_of(workload), labels=dict.fromkeys(_NAME_LABELS, workload.name)
    )
    taken = owners.names(workload.namespace)
    if completions is not None and spec.get("completionMode") == "Indexed":
        used = [*_ranges(status.get("completedIndexes")), *_indexes([*active, *done])]
        for index in islice(_free(completions, used), missing):
            mark = {COMPLETION_INDEX: str(index)}
            name = next(generated_names(workload, taken, suffix=f"-{index}"))
            yield template.pod(name, mark, mark)
        return
    for name in islice(generated_names(workload, taken), missing):
        yield template.pod(name)


def _completions(spec: Mapping[str, Any]) -> int | None:
    """Return how often a Job must succeed; None for a work queue."""
    if spec.get("completions") is not None:
        return count(spec, "completions", 1)
    return None if spec.get("parallelism") is not None else 1


def _is_over(status: Mapping[str, Any]) -> bool:
    """Whether a Job has completed or failed."""
    conditions = status.get("conditions")
    return any(
        isinstance(each, dict)
        and each.get("type") in ("Complete", "Failed", "SuccessCriteriaMet", "FailureTarget")
        and each.get("status") == "True"
        for each in (conditions if isinstance(conditions, list) else ())
    )


def _ranges(text: object) -> list[tuple[int, int]]:
    """Return the first and last index of each range of a text such as ``0-2,5``."""
    if not text:
        return []
    ranges = []
    for part in str(text).split(","):
        match = _RANGE.fullmatch(part)
        if match is None:
            expected = "indexes and ranges, such as 0-2,5"
            raise UnusableWorkloadError("status.completedIndexes", shown(text), expected)
        ranges.append((int(match[1]), int(match[2] or match[1])))
    return ranges


def _indexes(pods: Iterable[Pod]) -> Iterator[tuple[int, int]]:
    """Yield the index of each pod that states one, as a range of one."""
    for pod in pods:
        meta = pod.metadata
        text = meta.annotations.get(COMPLETION_INDEX) or meta.labels.get(COMPLETION_INDEX) or ""
        if match := _RANGE.fullmatch(text):
            yield int(match[1]), int(match[1])


def _free(completions: int, used: Iterable[tuple[int, int]]) -> Iterator[int]:
    """Yield the indexes below a number that no range holds, ascending."""
    first = 0
    for start, end in sorted(used):
        yield from range(first, min(start, completions))
        first = max(first, end + 1)
    yield from range(first, completions)
