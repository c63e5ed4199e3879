"""Bytes of the files, folders and streams that are planned from, within a limit."""

import codecs
import errno
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, Final, Literal, NoReturn

from koordopt.runtime.planner.reading.inputs import UnreadableInput

DEFAULT_MAX_INPUT: Final = 2**30
"""Bytes that all inputs together may have."""

STANDARD_INPUT: Final = "standard input"
"""How messages name ``-``."""

SUFFIXES: Final = (".json", ".yaml", ".yml")
"""Files that are read from a folder."""

_CHUNK = 2**20

Source = Path | Literal["-"]
"""A file, a folder, or standard input."""


def contents(paths: Sequence[Source], max_input: int) -> Iterator[tuple[str, bytes]]:
    """Yield the label and the text of every file, sorted by label.

    Parameters
    ----------
    paths
        Files; folders, of which every file with one of `SUFFIXES` is read, hidden ones apart;
        ``-`` for standard input. A file that is named twice is read once.
    max_input
        Bytes that all of them together may have.

    Yields
    ------
    tuple[str, bytes]
        How messages name the file, and UTF-8 text without a byte order mark.

    Raises
    ------
    UnreadableInput
        If there is nothing to read, or a file is missing, too large or not UTF-8.
    """
    budget = max_input
    for label, path in _sources(paths):
        data = _load(label, path, budget, max_input)
        budget -= len(data)
        yield label, data


def _sources(paths: Sequence[Source]) -> list[tuple[str, Path | None]]:
    """Return the label and the path of every file, sorted; standard input has no path."""
    if not paths:
        msg = "no input; expected files, folders or - for standard input"
        raise UnreadableInput(msg)
    by_place: dict[Path, Path] = {}
    for path in paths:
        if path != "-":
            for file in _files(path):
                place = Path(os.path.realpath(file))  # as Path.resolve, but for endless links
                by_place[place] = min(file, by_place.get(place, file))
    sources: list[tuple[str, Path | None]] = [(str(file), file) for file in by_place.values()]
    if "-" in paths:
        sources.append((STANDARD_INPUT, None))
    return sorted(sources, key=lambda source: source[0])


def _files(path: Path) -> list[Path]:
    """Return the files that a path stands for."""
    try:
        if not path.exists():
            msg = f"{path}: does not exist; expected a file or a folder"
            raise UnreadableInput(msg)
        files = list(_manifests(path)) if path.is_dir() else [path]
    except OSError as error:
        msg = f"{error.filename}: cannot be read ({error.strerror}); expected a file or a folder"
        raise UnreadableInput(msg) from error
    if not files:
        msg = f"{path}: a folder without manifests; expected files in {', '.join(SUFFIXES)}"
        raise UnreadableInput(msg)
    return files


def _manifests(folder: Path) -> Iterator[Path]:
    """Yield the files of a folder that are to be read; links to nothing too, so that they are told.

    Raises
    ------
    OSError
        If a folder cannot be looked into.
    """

    def fail(error: OSError) -> NoReturn:
        raise error

    for place, folders, names in os.walk(folder, onerror=fail):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            file = Path(place, name)
            if file.suffix not in SUFFIXES or name.startswith("."):
                continue
            if file.is_file() or not file.exists():  # neither pipes nor devices
                yield file


def _load(label: str, path: Path | None, budget: int, max_input: int) -> bytes:
    """Return the bytes of a file that fits into the budget and is UTF-8."""
    try:
        if path is None:
            if sys.stdin is None:
                raise OSError(errno.EBADF, "it is closed")
            data = _read_at_most(sys.stdin.buffer, budget)
        else:
            with path.open("rb") as stream:
                status = os.fstat(stream.fileno())
                is_too_large = stat.S_ISREG(status.st_mode) and status.st_size > budget
                data = None if is_too_large else _read_at_most(stream, budget)
    except OSError as error:
        msg = f"{label}: cannot be read ({error.strerror}); expected a readable file"
        raise UnreadableInput(msg) from error
    if data is None:
        msg = f"{label}: exceeds the {max_input} bytes of --max-input; expected a smaller input"
        raise UnreadableInput(msg)
    _check_utf8(label, data)
    return data.removeprefix(codecs.BOM_UTF8)


def _read_at_most(stream: BinaryIO, limit: int) -> bytes | None:
    """Return what a stream holds, or None when that is more than a limit."""
    buffer = BytesIO()
    while chunk := stream.read(_CHUNK):
        buffer.write(chunk)
        if buffer.tell() > limit:
            return None
    return buffer.getvalue()


def _check_utf8(label: str, data: bytes) -> None:
    """Raise if the bytes are not UTF-8, which JSON's reader checks only where it looks."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    view = memoryview(data)
    for start in range(0, max(len(data), 1), _CHUNK):
        # The decoder may hold back up to three bytes of a character that a chunk cuts.
        held = len(decoder.getstate()[0])
        chunk = view[start : start + _CHUNK]
        try:
            decoder.decode(chunk, final=start + _CHUNK >= len(data))
        except UnicodeDecodeError as error:
            at = start - held + error.start
            line = data.count(b"\n", 0, at) + 1
            msg = f"{label}: line {line}: byte 0x{data[at]:02x} is not UTF-8; expected UTF-8 text"
            raise UnreadableInput(msg) from error
