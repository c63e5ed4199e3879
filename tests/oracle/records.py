"""Recorded questions and answers of other schedulers, and how to compare with them.

A sample of each file stands beside this module. ``KOORDOPT_ORACLE=DIR`` puts whole files in its
place: ``DIR/upstream/<name>.jsonl.gz`` and ``DIR/reference/<name>.jsonl.gz``. A file that is not
there is skipped by name; one that is empty or cannot be read is a failure.
"""

import gzip
import json
import os
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

SAMPLES = Path(__file__).parent / "data"
VARIABLE = "KOORDOPT_ORACLE"
_MOST_SHOWN = 5

Record = dict[str, Any]


def read_records(name: str) -> list[Record]:
    """Return the records of a file such as ``upstream/quantities``, one a line."""
    folder = os.environ.get(VARIABLE)
    if not folder:
        return _read(SAMPLES / f"{name.rpartition('/')[2]}.jsonl")
    if not Path(folder).is_dir():
        pytest.fail(f"{VARIABLE} is {folder!r}; expected a folder")
    path = Path(folder, f"{name}.jsonl.gz")
    if not path.exists():
        pytest.skip(f"{name}: not under {VARIABLE}={folder}")
    return _read(path)


def _read(path: Path) -> list[Record]:
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rt", encoding="utf-8") as lines:
            records = [json.loads(line) for line in lines if line.strip()]
    except (OSError, EOFError, ValueError, zlib.error) as error:
        pytest.fail(f"{path} cannot be read: {error}")
    if not records or not all(isinstance(record, dict) for record in records):
        pytest.fail(f"{path} has no records; expected one JSON object a line")
    return records


def assert_agreement(
    name: str,
    differences: Callable[[Record], Iterable[str]],
    skip: Callable[[Record], bool] | None = None,
) -> None:
    """Fail with the first records of a file for which ``differences`` returns any.

    Parameters
    ----------
    name
        File, such as ``upstream/quantities``.
    differences
        What differs from a record; nothing where we agree.
    skip
        Which records are not compared, by their tags and fields alone.
    """
    disagreeing: list[str] = []
    compared = 0
    for number, record in enumerate(read_records(name), 1):
        if skip is not None and skip(record):
            continue
        compared += 1
        label = str(record.get("id", f"record {number}"))
        try:
            found = list(differences(record))
        except Exception as error:
            error.add_note(f"{name}: {label}")
            raise
        if found:
            disagreeing.append(f"{label}: {'; '.join(found)}")
    if disagreeing:
        shown = "\n".join(disagreeing[:_MOST_SHOWN])
        pytest.fail(f"{name}: {len(disagreeing)} of {compared} records disagree, first:\n{shown}")
    if not compared:
        pytest.fail(f"{name}: every record was skipped")
