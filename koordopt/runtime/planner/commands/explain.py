"""``koordopt explain``: why something is pending."""

from __future__ import annotations

from typing import Annotated

import typer

from koordopt.runtime.planner.commands import options
from koordopt.runtime.planner.formats import Format


def explain(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[POD|GANG|JOB]",
            help="Pod, gang or controller, as namespace/name or name; all that is pending where "
            "none is named.",
            show_default=False,
        ),
    ] = None,
    clusters: options.Cluster = None,
    demo: options.Demo = False,
    nodes: options.Nodes = None,
    pods: options.Pods = None,
    config: options.Config = None,
    profile: options.ProfileName = None,
    output: options.Output = Format.TABLE,
    max_input: options.MaxInput = "1GiB",
) -> None:
    """Say why pods are pending: the rule that decides, and what every node says.

    The reason is the one that `koordopt plan` gives, in the state that its plan leaves. A node
    may refuse for several reasons and is counted under each.

    \b
    Examples:
      koordopt explain default/web-7 --cluster cluster.yaml
      koordopt explain team-a/train --cluster cluster/ -o json
      koordopt explain --demo

    \b
    Exit status:
      0  done
      2  the input or the words are wrong
    """  # noqa: D301 - \b keeps the lines of a paragraph apart
    from koordopt.runtime.planner import pending
    from koordopt.runtime.planner.display import stdout as out
    from koordopt.runtime.planner.session import Session, Sources, parse_size
    from koordopt.solvers.solve import DEFAULT_POLICY

    sources = Sources(tuple(clusters or ()), demo, nodes, pods, parse_size(max_input))
    session = Session.open(sources, config, profile)
    solved = session.solve(DEFAULT_POLICY)
    # Of all pods only those are told that the plan leaves pending.
    wanted = solved.result.unplaced if name is None else pending.pods_named(session, name)
    shown = pending.explanations(solved, wanted)
    if output is Format.TABLE:
        from koordopt.runtime.planner.display.tables import explain_text

        out.print_remarks(session.warnings, session.inputs.rejected)
        out.write(explain_text(shown))
    else:
        value = {"pods": shown, "warnings": session.warnings, "rejected": session.rejected}
        out.print_object(value, output)
    if session.inputs.rejected:
        raise typer.Exit(2)
