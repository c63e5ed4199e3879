"""A plan as one HTML page that needs nothing else: no server, no network, no other file."""

from __future__ import annotations

import json
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from koordopt.errors import InvalidInputError
from koordopt.models.plan import Bind
from koordopt.models.units import format_amount
from koordopt.runtime.planner.display.figures import Gauge, counts, gauges, waiting_groups
from koordopt.runtime.planner.display.report.charts import heat_map
from koordopt.runtime.planner.formats import printable
from koordopt.runtime.planner.session import Solved

_NEEDS: Final = ("jinja2", "plotly")
_CARD_GAUGE: Final = "gpu"


def check_report(path: Path) -> None:
    """Raise unless a report can be made and written to ``path``.

    Raises
    ------
    InvalidInputError
        If a package is missing, or there is no such folder.
    """
    missing = [name for name in _NEEDS if find_spec(name) is None]
    if missing:
        raise InvalidInputError(
            f"--report needs {' and '.join(missing)}; pip install 'koordopt[report]' brings it."
        )
    if path.is_dir() or not path.parent.is_dir():
        found = "a folder" if path.is_dir() else "in a folder that does not exist"
        raise InvalidInputError(f"--report {path} is {found}; expected a file to write.")


def write_report(solved: Solved, path: Path) -> None:
    """Write the report of a plan.

    Parameters
    ----------
    solved
        The plan and its cluster.
    path
        File to write; one that is there is replaced.
    """
    path.write_text(render(solved), encoding="utf-8", newline="\n")


def render(solved: Solved) -> str:
    """Return the page: the same text for the same plan."""
    from jinja2 import Environment, StrictUndefined
    from plotly.offline import get_plotlyjs

    environment = Environment(
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        finalize=_on_one_line,
    )
    source = files("koordopt.runtime.planner.display.report").joinpath("page.html.j2")
    template = environment.from_string(source.read_text(encoding="utf-8"))
    return template.render(_content(solved), plotly_js=get_plotlyjs())


def _content(solved: Solved) -> dict[str, Any]:
    """Return what the page shows."""
    problem, result, plan = solved.session.problem, solved.result, solved.plan
    pods, *others = counts(problem, result.placement)
    measured = gauges(problem, result.placement)
    names = problem.snapshot.nodes.names
    before = [gauge.percent(gauge.before) for gauge in measured]
    after = [gauge.percent(gauge.after) for gauge in measured]
    labels = [gauge.label for gauge in measured]
    return {
        "pods": pods,
        "counts": others,
        "plan": plan,
        "node_count": len(names),
        "totals": [_total(gauge) for gauge in measured],
        "labels": labels,
        "nodes": [
            (name, [(b[n], a[n]) for b, a in zip(before, after, strict=True)])
            for n, name in enumerate(names)
        ],
        "chart": _for_script(heat_map(names, labels, before, after)),
        "placements": [(bind.pod, bind.node, _devices(bind)) for bind in plan.binds],
        "has_devices": any(bind.devices for bind in plan.binds),
        "waiting": waiting_groups(problem, result),
        "rejected": solved.session.inputs.rejected,
    }


def _total(gauge: Gauge) -> dict[str, Any]:
    size = int(gauge.capacity.sum())
    return {
        "name": gauge.name,
        "before": gauge.total_percent(gauge.before),
        "after": gauge.total_percent(gauge.after),
        "capacity": f"{size / 1000:g}"
        if gauge.name == _CARD_GAUGE
        else format_amount(gauge.name, size),
    }


def _devices(bind: Bind) -> str:
    return ", ".join(
        f"{device.type} {device.minor}"
        + ("" if device.share == 1000 else f" ({device.share / 10:g} %)")
        for device in bind.devices
    )


def _on_one_line(value: object) -> object:
    """Return what the page writes for a value; its own scripts are taken as they are."""
    return printable(value) if type(value) is str else value


def _for_script(value: Any) -> str:
    """Return JSON that ends no script element, whatever the names in it."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
