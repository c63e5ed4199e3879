"""A plan for people: a summary and tables, drawn on terminals, plainly aligned elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from io import StringIO
from typing import Any, Final

from rich import box
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from koordopt.models.result import LevelValue
from koordopt.models.rules.device import WHOLE
from koordopt.models.violation import Violation
from koordopt.runtime.planner.display.figures import (
    Gauge,
    PlacedGroup,
    WaitingGroup,
    counts,
    gauges,
    placed_groups,
    waiting_groups,
)
from koordopt.runtime.planner.formats import printable
from koordopt.runtime.planner.session import Solved

MOST_ROWS: Final = 25
"""Rows of one table; a note says how many more there are."""
MOST_NODES: Final = 3
"""Nodes that are named in one row."""
BAR: Final = 10
"""Characters of a bar."""
_NAME_WIDTH: Final = 30
_CHANGE_WIDTH: Final = 15
_WIDE: Final = 130


@dataclass(frozen=True)
class Table:
    """Text in rows and columns.

    Attributes
    ----------
    title
        What it shows.
    headers
        Names of the columns.
    rows
        Cells.
    right
        Columns with numbers, which are aligned at their end.
    more
        Rows that were left out.
    hint
        Where those are.
    """

    title: str
    headers: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    right: frozenset[int] = frozenset()
    more: int = 0
    hint: str = "-o json"

    @property
    def note(self) -> str:
        """The line below the table; empty where it is complete."""
        return f"… and {self.more:,} more ({self.hint})" if self.more else ""


class Page:
    """Collects lines and tables, and gives them as one text.

    Parameters
    ----------
    is_terminal
        Whether a person watches; None to ask standard output. Only then are there colours, boxes,
        and lines cut to the width.
    width
        Characters in a line of a terminal; None to ask it.
    """

    def __init__(self, *, is_terminal: bool | None = None, width: int | None = None) -> None:
        stdout = sys.stdout  # None where it is closed
        is_watched = stdout is not None and stdout.isatty()
        self.is_terminal = is_watched if is_terminal is None else is_terminal
        self._text = StringIO()
        encoding = getattr(stdout, "encoding", None) or "ascii"
        self._is_unicode = encoding.lower().startswith("utf")
        self._console = Console(
            file=self._text,
            force_terminal=self.is_terminal,
            width=width if self.is_terminal else 10_000,
            highlight=False,
        )

    @property
    def width(self) -> int:
        """Characters in a line."""
        return self._console.width

    @property
    def text(self) -> str:
        """Everything so far."""
        return self._text.getvalue()

    def line(self, text: str = "", style: str = "") -> None:
        """Add a line."""
        self._console.print(Text(printable(text), style=style), soft_wrap=True)

    def table(self, table: Table) -> None:
        """Add a table; nothing for one without rows."""
        if not table.rows:
            return
        rows = [tuple(map(printable, row)) for row in table.rows]
        table = replace(table, rows=rows)
        self.line()
        self.line(table.title, "bold")
        if self.is_terminal:
            self._console.print(self._drawn(table))
        else:
            self._text.write(_aligned(table))
        if table.note:
            self.line(table.note, "dim")

    def _drawn(self, table: Table) -> RichTable:
        drawn = RichTable(
            box=box.SIMPLE_HEAD if self._is_unicode else box.ASCII, pad_edge=False, show_edge=False
        )
        for index, header in enumerate(table.headers):
            is_number = index in table.right
            drawn.add_column(
                header,
                justify="right" if is_number else "left",
                no_wrap=is_number,
                overflow="fold",
            )
        for row in table.rows:
            drawn.add_row(*map(Text, row))
        return drawn

    def bar(self, before: float, after: float) -> str:
        """Return a bar of percentages: what was in use, what a plan adds, what is left."""
        full, new, empty = "█▓░" if self._is_unicode else "#+."
        old = min(BAR, round(before / 100 * BAR))
        end = max(old, min(BAR, round(after / 100 * BAR)))
        return full * old + new * (end - old) + empty * (BAR - end)


def _aligned(table: Table) -> str:
    """Return a table in plain text, no cell cut."""
    rows = [table.headers, *table.rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(table.headers))]

    def line(row: tuple[str, ...]) -> str:
        cells = [
            cell.rjust(width) if i in table.right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        return "  ".join(cells).rstrip() + "\n"

    return "".join(line(row) for row in rows)


def plan_text(solved: Solved, page: Page | None = None) -> str:
    """Return what ``koordopt plan`` prints for people."""
    page = page or Page()
    problem, result = solved.session.problem, solved.result
    pods, *others = counts(problem, result.placement)
    size = f"{len(problem.capacity):,} nodes, {len(problem.snapshot.pods):,} pods"
    page.line(f"{pods.placed:,} of {pods.pending:,} pending pods placed ({size})", "bold")
    page.line(f"status {result.status}, method {result.method}, limit {result.limit}")
    for count in others:
        page.line(f"  {count.name}: {count.placed:,} of {count.pending:,}")
    measured = gauges(problem, result.placement)
    page.table(_total_table(page, measured))
    page.table(_node_table(page, solved, measured))
    page.table(_placed_table(placed_groups(problem, result.placement)))
    _add_waiting(page, waiting_groups(problem, result))
    page.table(level_table(result.levels))
    return page.text


def _total_table(page: Page, measured: Sequence[Gauge]) -> Table:
    rows = []
    for gauge in measured:
        before, after = gauge.total_percent(gauge.before), gauge.total_percent(gauge.after)
        rows.append((gauge.label, f"{before:.1f} %", f"{after:.1f} %", page.bar(before, after)))
    headers = ("resource", "before", "after", "")
    return Table("Use of the cluster", headers, rows, frozenset({1, 2}))


def _node_table(page: Page, solved: Solved, measured: Sequence[Gauge]) -> Table:
    """Return the use of nodes; of many, those that most pods go to."""
    names = solved.session.problem.snapshot.nodes.names
    new = [0] * len(names)
    for n in solved.result.placement.node.tolist():
        new[n] += 1
    order = list(range(len(names)))
    if len(names) > MOST_ROWS:
        order = sorted(sorted(order, key=lambda n: (-new[n], n))[:MOST_ROWS])
    percents = [(g.percent(g.before), g.percent(g.after)) for g in measured]
    width = (page.width - _NAME_WIDTH) // max(1, len(measured))
    rows = []
    for n in order:
        cells = [
            "" if before[n] is None else _change(page, before[n] or 0, after[n] or 0, width)
            for before, after in percents
        ]
        rows.append((names[n], str(new[n] or ""), *cells))
    headers = ("node", "new pods", *(gauge.label for gauge in measured))
    more = len(names) - len(order)
    return Table("Nodes, use before and after", headers, rows, frozenset({1}), more, "--report")


def _change(page: Page, before: float, after: float, width: int) -> str:
    """Return the use before and after, in the longest form that a column of ``width`` takes."""
    if width < _CHANGE_WIDTH:
        return f"{before:.0f} → {after:.0f}"
    change = f"{before:3.0f} → {after:3.0f} %"
    return change if width < BAR + 1 + _CHANGE_WIDTH else f"{page.bar(before, after)} {change}"


def _placed_table(groups: Sequence[PlacedGroup]) -> Table:
    rows = []
    with_cards = any(group.cards for group in groups)
    for group in groups[:MOST_ROWS]:
        nodes = ", ".join(
            name if number == 1 else f"{name} ×{number}"
            for name, number in group.nodes[:MOST_NODES]
        )
        rest = len(group.nodes) - MOST_NODES
        where = f"{nodes} and {rest:,} more" if rest > 0 else nodes
        cards = (f"{group.cards / WHOLE:g}" if group.cards else "",) if with_cards else ()
        rows.append((group.name, f"{group.placed:,} of {group.pending:,}", *cards, where))
    headers = ("what", "pods", *(("gpus",) if with_cards else ()), "where")
    right = frozenset({1, 2} if with_cards else {1})
    return Table("Placements", headers, rows, right, len(groups) - len(rows))


def _add_waiting(page: Page, groups: Sequence[WaitingGroup]) -> None:
    """Add what stays pending: a table where it has room, otherwise two lines for each reason."""
    table = _waiting_table(groups)
    if page.width >= _WIDE or not groups:
        page.table(table)
        return
    page.line()
    page.line(table.title, "bold")
    for group in groups[:MOST_ROWS]:
        hope = "; evictions could help" if group.reason.eviction_could_help else ""
        page.line(f"{group.reason.rule}: {_some(group.pods)}{hope}")
        page.line(f"  {group.reason.message}", "dim")
    if table.note:
        page.line(table.note, "dim")


def _waiting_table(groups: Sequence[WaitingGroup]) -> Table:
    with_gangs = any(group.gangs for group in groups)
    rows = [
        (
            group.reason.rule,
            f"{len(group.pods):,}",
            *((str(group.gangs or ""),) if with_gangs else ()),
            "could help" if group.reason.eviction_could_help else "",
            _some(group.pods),
            group.reason.message,
        )
        for group in groups[:MOST_ROWS]
    ]
    headers = ("rule", "pods", *(("gangs",) if with_gangs else ()), "evictions", "which", "why")
    right = frozenset({1, 2} if with_gangs else {1})
    return Table("Pending", headers, rows, right, len(groups) - len(rows))


def _some(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1:,} more"


def level_table(levels: Iterable[LevelValue]) -> Table:
    """Return the table of objective levels."""
    rows = [
        (
            level.name,
            level.sense,
            f"{level.objective:,}",
            "none" if level.bound is None else f"{level.bound:,}",
            "" if level.gap is None else f"{level.gap:.2%}",
        )
        for level in levels
    ]
    headers = ("level", "sense", "objective", "bound", "gap")
    return Table("Objective levels, the first decides", headers, rows, frozenset({2, 3, 4}))


def explain_text(shown: Sequence[dict[str, Any]], page: Page | None = None) -> str:
    """Return what ``koordopt explain`` prints for people, from the entries for programs."""
    page = page or Page()
    for entry in shown[:MOST_ROWS]:
        reason = entry["reason"]
        if reason is None:
            page.line(f"{entry['pod']}: not pending; node {entry['node']}", "bold")
            page.line()
            continue
        page.line(f"{entry['pod']}: pending by rule {reason['rule']}", "bold")
        page.line(f"  {reason['message']}")
        if reason["object"] not in ("nodes", entry["pod"]):
            page.line(f"  in the way: {reason['object']}")
        if reason["eviction_could_help"]:
            page.line("  the departure of running pods could help")
        rows = [
            (
                group["rule"],
                f"{group['count']:,}",
                f"{group['alone']:,}",
                ", ".join(group["examples"]),
                group["message"],
            )
            for group in entry["nodes"]
        ]
        headers = ("rule", "nodes", "by it alone", "such as", "why")
        page.table(Table("Nodes that refuse it", headers, rows, frozenset({1, 2})))
        page.line()
    if len(shown) > MOST_ROWS:
        page.line(f"… and {len(shown) - MOST_ROWS:,} more (-o json)", "dim")
    return page.text


def verify_text(
    violations: Sequence[Violation], levels: Sequence[LevelValue], page: Page | None = None
) -> str:
    """Return what ``koordopt verify`` prints for people."""
    page = page or Page()
    if violations:
        page.line(f"{len(violations):,} violations", "bold red")
    else:
        page.line("every rule holds", "bold green")
    rows = [(v.rule, v.object, v.found, v.allowed) for v in violations[:MOST_ROWS]]
    headers = ("rule", "object", "found", "allowed")
    page.table(Table("Violations", headers, rows, more=len(violations) - len(rows)))
    page.table(level_table(levels))
    return page.text
