"""The HTML page: complete, self-contained, and safe whatever the names."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from koordopt.errors import InvalidInputError
from koordopt.runtime.planner.display import report
from koordopt.runtime.planner.display.report import check_report, render
from koordopt.runtime.planner.display.report.charts import MOST_LABELS, heat_map
from koordopt.runtime.planner.session import Session, Sources

VOID = {"meta", "link", "br", "input"}
SOURCES = {"src", "href", "srcset", "action", "data", "poster"}


class Page(HTMLParser):
    """Collects the text of cells and what elements refer to, and checks that tags are closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.references: list[str] = []
        self.cells: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.references += [value or "" for name, value in attrs if name in SOURCES]
        if tag not in VOID:
            self.open.append(tag)
        if tag in ("td", "th", "dd", "li"):
            self.cells.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("td", "th", "dd", "li"):
            self.cells[-1] += data


@pytest.fixture(scope="module")
def demo() -> str:
    """Return the page of the demo cluster."""
    return render(Session.open(Sources(demo=True)).solve("greedy"))


def test_the_page_shows_what_the_plan_says(demo: str) -> None:
    solved = Session.open(Sources(demo=True)).solve("greedy")
    page = Page(demo)
    assert page.open == []
    placed, pending = len(solved.plan.binds), len(solved.session.problem.pending)
    assert f"{placed} of {pending}" in page.cells
    for bind in solved.plan.binds:
        assert bind.pod in page.cells
    for pod, reason in solved.plan.unplaced.items():
        assert reason.message in page.cells
        assert pod in page.cells
    for level in solved.plan.levels:
        assert f"{level.objective:,}" in page.cells


def test_the_page_refers_to_nothing_outside(demo: str) -> None:
    assert set(Page(demo).references) == {"data:,"}
    assert "default-src 'none'" in demo


def test_the_same_plan_gives_the_same_page(demo: str) -> None:
    assert render(Session.open(Sources(demo=True)).solve("greedy")) == demo


def test_the_chart_holds_the_use_of_every_node(demo: str) -> None:
    match = re.search(r'<script type="application/json" id="chart">(.*?)</script>', demo, re.DOTALL)
    assert match is not None
    chart = json.loads(match[1])
    after, before = chart["data"]
    assert (after["name"], before["name"]) == ("after", "before")
    assert len(after["x"]) == 15
    assert after["y"] == ["cpu", "memory", "batch-cpu", "batch-memory", "gpu"]
    for row_after, row_before in zip(after["z"], before["z"], strict=True):
        for a, b in zip(row_after, row_before, strict=True):
            assert (a is None) == (b is None)
            assert a is None or 0 <= b <= a <= 100


def test_names_cannot_break_out_of_the_page(tmp_path: Path) -> None:
    evil = "</script><script>alert(1)</script>&<b>"
    chart = heat_map([evil], ["cpu"], [[0.0]], [[1.0]])
    text = report._for_script(chart)
    assert "<" not in text
    assert json.loads(text)["data"][0]["x"] == [evil]
    # A slash is no part of an object's name, so the reader lets through what this one has.
    manifest = tmp_path / "cluster.yaml"
    manifest.write_text(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: '<b>&<i>'}\n"
        "spec: {containers: [{name: c, image: i}]}\n"
    )
    page = render(Session.open(Sources((manifest,))).solve("greedy"))
    assert "<b>&<i>" not in page
    assert "&lt;b&gt;&amp;&lt;i&gt;" in page


def test_many_nodes_have_no_labels_on_the_axis() -> None:
    names = [f"n{i}" for i in range(MOST_LABELS + 1)]
    rows = [[0.0] * len(names)]
    assert not heat_map(names, ["cpu"], rows, rows)["layout"]["xaxis"]["showticklabels"]
    few = names[:3]
    assert heat_map(few, ["cpu"], [[0.0] * 3], [[0.0] * 3])["layout"]["xaxis"]["showticklabels"]


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(report, "find_spec", lambda name: None if name == "plotly" else object())
    with pytest.raises(InvalidInputError, match=r"needs plotly; pip install 'koordopt\[report\]'"):
        check_report(tmp_path / "plan.html")


def test_a_place_that_cannot_hold_a_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="is a folder"):
        check_report(tmp_path)
    with pytest.raises(InvalidInputError, match="does not exist"):
        check_report(tmp_path / "no" / "plan.html")
