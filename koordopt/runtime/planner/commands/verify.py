"""``koordopt verify``: judge a plan, whoever made it."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from koordopt.runtime.planner.commands import options
from koordopt.runtime.planner.formats import Format


def verify(
    plan: Annotated[
        Path,
        typer.Argument(
            metavar="PLAN",
            help="A plan as `koordopt plan -o json` or `-o yaml` prints it.",
            show_default=False,
        ),
    ],
    clusters: options.Cluster = None,
    demo: options.Demo = False,
    nodes: options.Nodes = None,
    pods: options.Pods = None,
    config: options.Config = None,
    profile: options.ProfileName = None,
    output: options.Output = Format.TABLE,
    max_input: options.MaxInput = "1GiB",
) -> None:
    """Judge a plan by every rule, and recompute what it is worth.

    Pods are bound in the order of `placements`; those of one `step` are bound together. The
    checker shares no code with the solvers.

    \b
    Examples:
      koordopt plan cluster.yaml -o json > plan.json
      koordopt verify plan.json --cluster cluster.yaml
      koordopt plan --demo -o yaml | koordopt verify - --demo

    \b
    Exit status:
      0  every rule holds
      1  a rule is broken
      2  the input or the words are wrong
    """  # noqa: D301 - \b keeps the lines of a paragraph apart
    from koordopt.runtime.planner.display import stdout as out
    from koordopt.runtime.planner.planfile import judge, read_plan
    from koordopt.runtime.planner.session import Session, Sources, parse_size

    limit = parse_size(max_input)
    sources = Sources(tuple(clusters or ()), demo, nodes, pods, limit)
    planned = read_plan("-" if str(plan) == "-" else plan, limit)
    session = Session.open(sources, config, profile)
    violations, levels = judge(session.problem, planned)
    if output is Format.TABLE:
        from koordopt.runtime.planner.display.tables import verify_text

        out.print_remarks(session.warnings, session.inputs.rejected)
        out.write(verify_text(violations, levels))
    else:
        value = {
            "violations": [asdict(violation) for violation in violations],
            "levels": [level.to_dict() for level in levels],
            "warnings": session.warnings,
            "rejected": session.rejected,
        }
        out.print_object(value, output)
    if session.inputs.rejected:
        raise typer.Exit(2)
    if violations:
        raise typer.Exit(1)
