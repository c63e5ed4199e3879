"""``koordopt plan``: place what is pending."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from koordopt.runtime.planner.commands import options
from koordopt.runtime.planner.formats import Format


def plan(
    clusters: options.Clusters = None,
    demo: options.Demo = False,
    nodes: options.Nodes = None,
    pods: options.Pods = None,
    policy: Annotated[
        str,
        typer.Option(
            "--policy", metavar="greedy|window|exact", help="How to solve; greedy alone for now."
        ),
    ] = "greedy",
    config: options.Config = None,
    profile: options.ProfileName = None,
    output: options.Output = Format.TABLE,
    report: Annotated[
        Path | None,
        typer.Option(
            "--report",
            metavar="FILE",
            help="Write a self-contained HTML page too.",
            show_default=False,
        ),
    ] = None,
    require_complete: Annotated[
        bool,
        typer.Option("--require-complete", help="Exit with status 1 if a pod stays unplaced."),
    ] = False,
    timings: Annotated[
        bool, typer.Option("--timings", help="Tell how long each phase took.")
    ] = False,
    max_input: options.MaxInput = "1GiB",
) -> None:
    """Place the pending pods of a saved cluster, and say why the others stay pending.

    The plan is judged by an independent checker before it is shown. Running pods keep their
    place. The same input gives the same plan, whatever the order of files and objects.

    \b
    Examples:
      kubectl get nodes,pods -A -o yaml > cluster.yaml
      koordopt plan cluster.yaml
      koordopt plan cluster/ new-work.yaml --require-complete
      koordopt plan --demo -o json
      koordopt plan --nodes nodes.csv --pods pods.csv --report plan.html

    \b
    Exit status:
      0  done; an unplaced pod is an answer, not a failure
      1  --require-complete, and something stayed unplaced
      2  the input or the words are wrong; what is usable is planned all the same
      3  something outside failed
    """  # noqa: D301 - \b keeps the lines of a paragraph apart
    # What takes long to load is loaded only now, so that --help is quick.
    from koordopt.runtime.planner.display import stdout as out
    from koordopt.runtime.planner.session import Session, Sources, parse_size
    from koordopt.solvers.solve import check_policy

    check_policy(policy)
    if report is not None:
        from koordopt.runtime.planner.display.report import check_report

        check_report(report)
    sources = Sources(tuple(clusters or ()), demo, nodes, pods, parse_size(max_input))
    session = Session.open(sources, config, profile)
    solved = session.solve(policy)
    if report is not None:
        from koordopt.runtime.planner.display.report import write_report

        with session.stopwatch.phase("report_s"):
            write_report(solved, report)
    if output is Format.TABLE:
        from koordopt.runtime.planner.display.tables import plan_text

        out.print_remarks(session.warnings, session.inputs.rejected)
        out.write(plan_text(solved))
        if timings:
            for name, seconds in session.stopwatch.seconds.items():
                out.write(f"{name}: {seconds:.3f}\n")
    else:
        out.print_object(solved.to_dict(timings=timings), output)
    if session.inputs.rejected:
        raise typer.Exit(2)
    if require_complete and solved.result.unplaced:
        left = len(solved.result.unplaced)
        typer.echo(f"koordopt: {left} pending pods stay unplaced.", err=True)
        raise typer.Exit(1)
