"""How tests run the command line."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from typer.testing import CliRunner

from koordopt.runtime.main import app
from tests.runtime.manifests import Manifest, as_yaml


class Ran(NamedTuple):
    """What a command printed, and its exit status."""

    status: int
    out: str
    err: str

    @property
    def value(self) -> Any:
        """The JSON that was printed."""
        return json.loads(self.out)


Run = Callable[..., Ran]
Write = Callable[..., Path]


@pytest.fixture
def run() -> Run:
    """Return a function that runs ``koordopt`` in this process."""

    def call(*words: object, stdin: str | bytes | None = None) -> Ran:
        result = CliRunner().invoke(
            app, [str(word) for word in words], input=stdin, prog_name="koordopt"
        )
        assert result.exception is None or isinstance(result.exception, SystemExit)
        return Ran(result.exit_code, result.stdout, result.stderr)

    return call


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Return a function that writes a file of manifests, text or bytes, and gives its path."""

    def call(content: Iterable[Manifest] | str | bytes, name: str = "cluster.yaml") -> Path:
        path = tmp_path / name
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            text = content if isinstance(content, str) else as_yaml(content)
            path.write_text(text, encoding="utf-8")
        return path

    return call
