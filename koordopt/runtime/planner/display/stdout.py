"""Where answers go: one object for programs, tables for people, single lines on standard error."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from typing import Any

import typer
import yaml

from koordopt.runtime.planner.formats import Format, printable
from koordopt.runtime.planner.reading.inputs import Rejected

BROKEN_PIPE = 141
"""Exit status of a program whose reader went away, as shells report it."""


def print_object(value: dict[str, Any], format_: Format) -> None:
    """Print a value in JSON or YAML: the same bytes for the same value, in ASCII."""
    if format_ is Format.JSON:
        write(json.dumps(value, indent=2, allow_nan=False) + "\n")
    else:
        write(yaml.dump(value, Dumper=_Dumper, sort_keys=False, width=1000))


def write(text: str) -> None:
    """Write to standard output, and end quietly where nobody reads on."""
    if sys.stdout is None:
        raise OSError("standard output is closed")
    encoding = sys.stdout.encoding or "utf-8"
    # A terminal that lacks a character shows a question mark instead of a traceback.
    text = text.encode(encoding, "replace").decode(encoding)
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        # The interpreter flushes once more at its end, and must not fail then.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(BROKEN_PIPE) from None


def print_remarks(warnings: Iterable[str], rejected: Iterable[Rejected]) -> None:
    """Print a line on standard error for each warning and for each object left out."""
    for each in rejected:
        typer.echo(f"koordopt: left out: {each}", err=True)
    for warning in warnings:
        typer.echo(f"koordopt: warning: {printable(warning)}", err=True)


class _Dumper(yaml.CSafeDumper):
    """Writes every value where it stands, never as an alias of an equal one."""

    def ignore_aliases(self, _data: Any) -> bool:
        """Return that no value is shared."""
        return True
