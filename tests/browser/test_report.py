"""The report in headless Chromium: it renders, and asks nobody for anything."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from koordopt.runtime.planner.session import Session, Sources

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium or google-chrome on PATH"),
]

# Tells in the page's title what the page did, so that it is in the document that Chromium dumps.
PROBE = """
<script>
addEventListener("load", () => setTimeout(() => {
  const search = document.getElementById("search");
  search.value = "GPU-A1 finetune";
  search.dispatchEvent(new Event("input"));
  const rows = Array.from(document.getElementById("rows").rows);
  const told = {
    ready: document.documentElement.dataset.ready === "true",
    plots: document.querySelectorAll("#heat .heatmaplayer .hm").length,
    shown: rows.filter(row => !row.hidden).length,
    rows: rows.length,
    found: document.getElementById("found").textContent,
    requests: performance.getEntriesByType("resource").map(each => each.name)
      .filter(name => !/^(data|blob):/.test(name)),
    errors: errors,
  };
  const result = document.createElement("pre");
  result.id = "told";
  result.textContent = JSON.stringify(told);
  document.body.append(result);
}, 300));
</script>
"""
WATCH = """
<script>
const errors = [];
addEventListener("error", event => errors.push(String(event.message)));
addEventListener("securitypolicyviolation", event => errors.push(String(event.blockedURI)));
const complain = console.error;
console.error = (...words) => { errors.push(words.join(" ")); complain(...words); };
</script>
"""


def dump(page: Path, profile: Path) -> tuple[str, str]:
    """Return the document as Chromium has it after loading, and what it logged."""
    assert CHROMIUM is not None
    done = subprocess.run(
        [
            CHROMIUM,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--no-first-run",
            f"--user-data-dir={profile}",
            "--enable-logging=stderr",
            "--virtual-time-budget=10000",
            "--dump-dom",
            page.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return done.stdout, done.stderr


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the report of the demo cluster as the command writes it."""
    path = tmp_path_factory.mktemp("report") / "plan.html"
    words = ["-m", "koordopt", "plan", "--demo", "-o", "json", "--report", str(path)]
    subprocess.run([sys.executable, *words], check=True, capture_output=True)
    return path


def test_the_report_renders_offline_without_errors(page: Path, tmp_path: Path) -> None:
    text = page.read_text(encoding="utf-8")
    probed = tmp_path / "probed.html"
    probed.write_text(
        text.replace("<style>", WATCH + "<style>", 1).replace("</body>", PROBE + "</body>"),
        encoding="utf-8",
    )
    document, log = dump(probed, tmp_path / "profile")
    match = re.search(r'<pre id="told">(.*?)</pre>', document, re.DOTALL)
    assert match is not None
    told = json.loads(match[1])
    plan = Session.open(Sources(demo=True)).solve("greedy").plan
    assert (told["ready"], told["errors"], told["requests"]) == (True, [], [])
    assert told["plots"] == 2
    assert told["rows"] == len(plan.binds)
    wanted = [b for b in plan.binds if b.node == "gpu-a1" and "finetune" in b.pod]
    assert told["shown"] == len(wanted) > 0
    assert told["found"] == f"{len(wanted)} of {len(plan.binds)} placements"
    assert "CONSOLE" not in log


def test_the_figures_are_in_the_page_as_shown(page: Path, tmp_path: Path) -> None:
    document, _ = dump(page, tmp_path / "profile")
    plan = Session.open(Sources(demo=True)).solve("greedy").plan
    for reason in plan.unplaced.values():
        assert reason.rule in document
    for bind in plan.binds:
        assert f"<td>{bind.pod}</td><td>{bind.node}</td>" in document
