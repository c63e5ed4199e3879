"""The loader of recorded answers, as fixtures."""

from collections.abc import Callable

import pytest

from tests.oracle.records import Record, read_records


@pytest.fixture
def oracle_records() -> Callable[[str], list[Record]]:
    """Give `read_records`: the records of a file such as ``upstream/filters``."""
    return read_records
