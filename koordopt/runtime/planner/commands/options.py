"""Options that several verbs share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from koordopt.runtime.planner.formats import Format

Clusters = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="CLUSTER...",
        help="Files or folders of YAML or JSON, kubectl lists too; - for standard input.",
        show_default=False,
    ),
]
Cluster = Annotated[
    list[Path] | None,
    typer.Option(
        "--cluster",
        metavar="CLUSTER",
        help="File or folder of the cluster; may be given several times.",
        show_default=False,
    ),
]
Demo = Annotated[bool, typer.Option("--demo", help="Use the demo cluster that comes along.")]
Nodes = Annotated[
    Path | None,
    typer.Option("--nodes", metavar="CSV", help="Node list of a trace.", show_default=False),
]
Pods = Annotated[
    Path | None,
    typer.Option("--pods", metavar="CSV", help="Pod list of a trace.", show_default=False),
]
Config = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="KubeSchedulerConfiguration with plug-ins, weights and arguments.",
        show_default=False,
    ),
]
ProfileName = Annotated[
    str | None,
    typer.Option(
        "--profile",
        metavar="NAME",
        help="Scheduler name of the profile in it; the first where none is named.",
        show_default=False,
    ),
]
Output = Annotated[Format, typer.Option("-o", "--output", help="How to print the answer.")]
MaxInput = Annotated[
    str,
    typer.Option("--max-input", metavar="SIZE", help="Bytes that may be read, all files together."),
]
