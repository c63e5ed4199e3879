"""The loader of recorded answers never lets a broken file pass."""

import gzip
from pathlib import Path

import pytest

from tests.oracle.records import VARIABLE, assert_agreement, read_records

NAME = "upstream/quantities"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give an empty folder of recorded answers."""
    (tmp_path / "upstream").mkdir()
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    return tmp_path


def test_samples_are_used_without_a_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fifty records of each file are part of the checkout."""
    monkeypatch.delenv(VARIABLE, raising=False)
    assert len(read_records(NAME)) == 50


@pytest.mark.usefixtures("folder")
def test_absent_file_is_skipped_by_name() -> None:
    """The reason names file and folder."""
    with pytest.raises(pytest.skip.Exception, match=NAME):
        read_records(NAME)


@pytest.mark.parametrize(
    "content", [b"", b"not gzip", gzip.compress(b""), gzip.compress(b"{"), gzip.compress(b"[]"),
                gzip.compress(b'{"s":"1"}')[:-4], gzip.compress(b"\xff")],
)  # fmt: skip
def test_empty_or_unreadable_file_fails(folder: Path, content: bytes) -> None:
    """A test that compares nothing must not look as if it agreed."""
    (folder / f"{NAME}.jsonl.gz").write_bytes(content)
    with pytest.raises(pytest.fail.Exception):
        read_records(NAME)


def test_folder_that_does_not_exist_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """A misspelt folder would otherwise skip everything."""
    monkeypatch.setenv(VARIABLE, "/no/such/folder")
    with pytest.raises(pytest.fail.Exception, match="folder"):
        read_records(NAME)


def test_disagreement_names_the_first_records(folder: Path) -> None:
    """The id where there is one, else the number."""
    lines = b'{"id":"a"}\n{"id":"b"}\n{"s":"c"}\n'
    (folder / f"{NAME}.jsonl.gz").write_bytes(gzip.compress(lines))
    with pytest.raises(pytest.fail.Exception, match=r"2 of 3 .*\nb: no\nrecord 3: no"):
        assert_agreement(NAME, lambda record: [] if record.get("id") == "a" else ["no"])
    with pytest.raises(pytest.fail.Exception, match="every record was skipped"):
        assert_agreement(NAME, lambda record: ["no"], skip=lambda record: True)
    with pytest.raises(KeyError) as caught:
        assert_agreement(NAME, lambda record: [record["s"]])
    assert caught.value.__notes__ == [f"{NAME}: a"]
