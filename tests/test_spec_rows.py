"""Every row of the specification that must have a test has one that exists."""

import re
import subprocess
import sys
from pathlib import Path

from tests.spec_rows import REQUIRED, TESTS

ROOT = Path(__file__).parents[1]
ROW_IN_NAME = re.compile(r"scenarios/.*::test_(c[0-9]{2}|cs[0-9]+|eq_[ar]|e2e[0-9]+)_[^\[]*$")


def test_every_required_row_is_mapped_and_no_other():
    """A new row is added to both, or it is not proven."""
    assert set(TESTS) == REQUIRED
    assert all(TESTS.values())


def test_every_mapped_test_exists():
    """Collected anew, so that a renamed test leaves no row unproven, and a new one is mapped."""
    ids = {node_id for ids in TESTS.values() for node_id in ids}
    files = sorted({node_id.partition("::")[0] for node_id in ids})
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run([*command, *files], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    collected = set(done.stdout.splitlines())
    known = collected | {line.partition("[")[0] for line in collected}
    assert sorted(ids - known) == []
    mapped = {node_id.partition("[")[0] for node_id in ids}
    assert [line for line in known - mapped if ROW_IN_NAME.search(line)] == []
