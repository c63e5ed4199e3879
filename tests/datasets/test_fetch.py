"""A data set is copied whole and as published, or not at all."""

import hashlib
from pathlib import Path

import pytest

from datasets import fetch
from koordopt.errors import InvalidInputError

CONTENT = {"a.csv": b"one\n", "b.csv": b"two\n"}


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the two files of the data set ``pair``, deep in a folder; its card is beside it."""
    card = tmp_path / "cards" / "pair"
    card.mkdir(parents=True)
    record = [f"{hashlib.sha256(body).hexdigest()}  {name}" for name, body in CONTENT.items()]
    (card / "SHA256SUMS").write_text("\n".join(record), encoding="utf-8")
    monkeypatch.setattr(fetch, "CARDS", card.parent)
    folder = tmp_path / "source" / "repository" / "csv"
    folder.mkdir(parents=True)
    for name, body in CONTENT.items():
        (folder / name).write_bytes(body)
    return tmp_path / "source"


def test_files_are_found_below_the_source_and_copied(source: Path, tmp_path: Path) -> None:
    fetch.fetch("pair", source, tmp_path / "target")
    copied = {path.name: path.read_bytes() for path in (tmp_path / "target").iterdir()}
    assert copied == CONTENT


def test_changed_file_is_refused_and_nothing_is_copied(source: Path, tmp_path: Path) -> None:
    (source / "repository" / "csv" / "b.csv").write_bytes(b"other\n")
    with pytest.raises(InvalidInputError, match=r"b\.csv has SHA-256"):
        fetch.fetch("pair", source, tmp_path / "target")
    assert not (tmp_path / "target").exists()


def test_source_that_lacks_a_file_is_refused(source: Path, tmp_path: Path) -> None:
    (source / "repository" / "csv" / "b.csv").unlink()
    with pytest.raises(FileNotFoundError, match=r"holds all of a\.csv, b\.csv"):
        fetch.fetch("pair", source, tmp_path / "target")


def test_command_fetches_then_checks_what_is_in_place(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = str(tmp_path / "target")
    assert fetch.main(["pair", "--to", target]) == 3
    assert "card.md tells where to get the files" in capsys.readouterr().err
    assert fetch.main(["pair", str(source), "--to", target]) == 0
    assert fetch.main(["pair", "--to", target]) == 0


def test_unknown_data_set_is_a_mistake(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert fetch.main(["none-such"]) == 2
    assert "expected one of pair." in capsys.readouterr().err


def test_data_folder_is_the_one_that_the_environment_names(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KOORDOPT_DATA", str(tmp_path / "data"))
    with pytest.raises(FileNotFoundError, match=r"lacks 2 files of pair, such as a\.csv"):
        fetch.require("pair")
    fetch.fetch("pair", source, fetch.destination("pair"))
    assert fetch.require("pair") == tmp_path / "data" / "pair"
