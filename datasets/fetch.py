"""``python -m datasets.fetch NAME SOURCE``: copy a data set into place and check every file.

SOURCE is a folder that holds the published files, such as a checkout of the repository that
publishes them; the card says where that is. Without SOURCE the files already in place are checked.
Exit status: 0 done, 2 the words are wrong, 3 a file is missing or is not the one on record.
"""

import argparse
import hashlib
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from koordopt.errors import InvalidInputError

CARDS = Path(__file__).resolve().parent


def destination(name: str) -> Path:
    """Return the folder where readers look for the data set."""
    root = os.environ.get("KOORDOPT_DATA") or "~/.cache/koordopt"
    return Path(root).expanduser() / name


def checksums(name: str) -> dict[str, str]:
    """Return the SHA-256 on record of each file of a data set.

    Raises
    ------
    InvalidInputError
        If no data set of that name is fetched from elsewhere.
    """
    record = CARDS / name / "SHA256SUMS"
    if not record.is_file():
        known = ", ".join(sorted(path.parent.name for path in CARDS.glob("*/SHA256SUMS")))
        raise InvalidInputError(f"there is no data set {name!r} to fetch; expected one of {known}.")
    lines = record.read_text(encoding="utf-8").splitlines()
    return {file: digest for digest, file in (line.split() for line in lines)}


def faults(folder: Path, expected: Mapping[str, str]) -> list[str]:
    """Return a line for each file that is missing from `folder` or differs from the record."""
    found: list[str] = []
    for name, digest in expected.items():
        path = folder / name
        if not path.is_file():
            found.append(f"{path} is missing.")
            continue
        actual = hashlib.sha256(path.read_bytes()).hexdigest()
        if actual != digest:
            found.append(f"{path} has SHA-256 {actual}; expected {digest}.")
    return found


def locate(source: Path, expected: Mapping[str, str]) -> Path:
    """Return the folder at or below `source` that holds every file.

    Raises
    ------
    FileNotFoundError
        If no folder does.
    """
    first = min(expected)
    for candidate in sorted(source.rglob(first)):
        if all((candidate.parent / name).is_file() for name in expected):
            return candidate.parent
    raise FileNotFoundError(f"no folder at or below {source} holds all of {', '.join(expected)}")


def fetch(name: str, source: Path, target: Path) -> None:
    """Copy a data set from `source` to `target`, all of it or nothing.

    Raises
    ------
    FileNotFoundError
        If `source` lacks a file.
    InvalidInputError
        If a file is not the one on record, or there is no such data set.
    """
    expected = checksums(name)
    folder = locate(source, expected)
    wrong = faults(folder, expected)
    if wrong:
        raise InvalidInputError("\n".join(wrong))
    target.mkdir(parents=True, exist_ok=True)
    if target.resolve() == folder.resolve():
        return
    for file in expected:
        shutil.copyfile(folder / file, target / file)


def require(name: str) -> Path:
    """Return the folder of a data set that is in place.

    Raises
    ------
    FileNotFoundError
        If a file of it is missing; the message tells where to get it.
    """
    folder = destination(name)
    missing = [file for file in checksums(name) if not (folder / file).is_file()]
    if missing:
        raise FileNotFoundError(
            f"{folder} lacks {len(missing)} files of {name}, such as {missing[0]}; set "
            f"KOORDOPT_DATA to the folder that holds {name}/, or fetch it as "
            f"datasets/{name}/card.md tells."
        )
    return folder


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m datasets.fetch",
        description="Copy a data set into place and check every file.",
    )
    parser.add_argument("name", metavar="NAME", help="a data set, such as openb")
    parser.add_argument("source", metavar="SOURCE", nargs="?", type=Path, help="where it is now")
    parser.add_argument("--to", metavar="DIR", type=Path, help="where to put it")
    words = parser.parse_args(arguments)
    try:
        expected = checksums(words.name)
    except InvalidInputError as mistake:
        sys.stderr.write(f"{mistake}\n")
        return 2
    target = words.to or destination(words.name)
    try:
        if words.source is not None:
            fetch(words.name, words.source, target)
    except (FileNotFoundError, InvalidInputError) as fault:
        sys.stderr.write(f"{fault}\n")
        return 3
    wrong = faults(target, expected)
    if wrong:
        card = CARDS / words.name / "card.md"
        sys.stderr.write("\n".join([*wrong, f"{card} tells where to get the files.\n"]))
        return 3
    sys.stdout.write(f"{words.name}: {len(expected)} files in {target} are as published.\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
