"""The command ``koordopt``: its verbs, and what becomes of errors.

Exit status: 0 done; 1 a check that was asked for does not hold; 2 the input or the words are
wrong; 3 an outside failure.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated, Any, Final, NoReturn

import typer
from typer.core import TyperGroup

from koordopt.errors import InvalidInputError, KoordoptError
from koordopt.runtime.planner.commands.explain import explain
from koordopt.runtime.planner.commands.plan import plan
from koordopt.runtime.planner.commands.verify import verify
from koordopt.runtime.planner.formats import printable

WRONG_INPUT: Final = 2
OUTSIDE_FAILURE: Final = 3

# The base of all errors about words. Typer has moved it between releases, but not this heir of it.
_UsageError: Final[Any] = typer.BadParameter.__mro__[2]


class CommandLine(TyperGroup):
    """Turns every error into one line on standard error and an exit status."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = False,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run the verb that ``args`` name, and end the process with its exit status."""
        del standalone_mode  # what it would do with errors is done here
        try:
            status = super().main(
                args,
                prog_name or "koordopt",
                complete_var,
                standalone_mode=False,
                windows_expand_args=windows_expand_args,
                **extra,
            )
        except _UsageError as error:
            hint = f"; see {error.ctx.command_path} --help" if error.ctx is not None else ""
            status = _report(error.format_message().rstrip(".") + hint, WRONG_INPUT)
        except InvalidInputError as error:
            status = _report(str(error), WRONG_INPUT)
        except (KoordoptError, OSError) as error:
            status = _report(str(error), OUTSIDE_FAILURE)
        sys.exit(status or 0)


def _report(message: str, status: int) -> int:
    typer.echo(f"koordopt: {printable(' '.join(message.split()))}", err=True)
    return status


app: Final = typer.Typer(
    cls=CommandLine,
    rich_markup_mode=None,  # plain help: quick, and the same in a pipe
    pretty_exceptions_enable=False,
    add_completion=False,
    help="Kubernetes scheduling decided by optimisation.",
    epilog="Each verb has its own --help with examples.",
)
app.command(short_help="Place the pending pods of a saved cluster.")(plan)
app.command(short_help="Say why pods are pending.")(explain)
app.command(short_help="Judge a plan by every rule.")(verify)


def _print_version(is_wanted: bool) -> None:
    if is_wanted:
        from importlib.metadata import PackageNotFoundError, version

        try:
            number = version("koordopt")
        except PackageNotFoundError:
            number = "from a checkout that is not installed"
        typer.echo(f"koordopt {number}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    del version  # its callback has done the work


def main() -> NoReturn:
    """Run the command line of this process."""
    app(prog_name="koordopt")
    raise AssertionError("a command line ends its process")
