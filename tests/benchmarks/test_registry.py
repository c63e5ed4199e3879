"""The benchmark suite's own claims: what a row says, what is printed, what `--check` answers."""

import json
import math
from collections.abc import Callable

import pytest

from benchmarks import registry
from benchmarks.__main__ import main
from benchmarks.registry import BENCHMARKS, Aim, Benchmark, Row, Spread, select
from benchmarks.report import Report, misses, row_object
from koordopt.errors import InvalidInputError

ROW_KEYS = [
    "case", "metric", "unit", "better", "ours", "baselines", "bound", "aim", "holds", "clock",
]  # fmt: skip


def row(**changes: object) -> Row:
    given = {"case": "c", "metric": "m", "unit": "%", "better": "higher", "ours": 90.0, **changes}
    return Row(**given)


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Make the suite consist of the given benchmarks alone, by name to rows or to an error."""

    def replace_suite(**suite: list[Row] | Exception) -> None:
        def run(self: Benchmark, size: str, seeds: int | None = None) -> list[Row]:
            outcome = suite[self.name]
            if isinstance(outcome, Exception):
                raise outcome
            return outcome

        entries = {name: Benchmark(name, "for a test", "none") for name in suite}
        monkeypatch.setattr(registry, "BENCHMARKS", entries)
        monkeypatch.setattr(Benchmark, "run", run)

    return replace_suite


def test_row_without_an_aim_holds_nothing() -> None:
    assert row().holds is None


@pytest.mark.parametrize(
    ("op", "value", "holds"),
    [(">=", 90.0, True), (">=", 90.1, False), ("<=", 90.0, True), ("<=", 89.9, False)],
)
def test_row_holds_when_its_figure_is_on_the_right_side_of_the_aim(
    op: str, value: float, holds: bool
) -> None:
    assert row(aim=Aim(op, value)).holds is holds


@pytest.mark.parametrize("changes", [{"ours": math.nan}, {"baselines": {"peer": math.inf}}])
def test_figure_that_is_not_finite_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(InvalidInputError, match="expected a finite number"):
        row(**changes)


def test_row_object_has_the_published_keys_in_order() -> None:
    assert list(row_object(row())) == ROW_KEYS


def test_spread_is_an_entry_only_over_several_seeds() -> None:
    entry = row_object(row(spread=Spread.over([1.0, 4.0, 2.0])))
    assert entry["spread"] == {"least": 1.0, "median": 2.0, "most": 4.0}
    assert "spread" not in row_object(row())


def test_report_is_one_json_object_with_the_published_keys() -> None:
    report = Report(benchmark="b", size="smoke", workers=1, limits={}, rows=[row()])
    printed = json.loads(report.to_json())
    assert list(printed) == [
        "benchmark", "size", "commit", "versions", "machine", "workers", "limits", "rows",
    ]  # fmt: skip
    assert {"cpu", "cores", "memory_bytes"} <= printed["machine"].keys()
    assert printed["versions"]["numpy"] != "not installed"


def test_table_says_that_a_peer_is_not_installed() -> None:
    rows = [row(baselines={"fgd": 88.5, "peer": None})]
    table = Report(benchmark="b", size="smoke", workers=1, limits={}, rows=rows).to_table()
    assert "fgd 88.5, peer not installed" in table


def test_misses_name_case_metric_figure_and_aim() -> None:
    rows = [row(aim=Aim(">=", 91.0)), row(aim=Aim(">=", 90.0)), row()]
    assert misses(rows) == ["c, m: 90 %; the aim is >= 91."]


def test_unknown_benchmark_is_a_mistake_that_lists_the_known(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["none-such"]) == 2
    assert "expected one of openb, throughput, all." in capsys.readouterr().err


def test_zero_seeds_is_a_mistake(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["openb", "--seeds", "0"]) == 2
    assert capsys.readouterr().err == "--seeds is 0; expected at least 1.\n"


def test_check_exits_1_and_names_the_rows_that_miss(
    install: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    install(one=[row(aim=Aim(">=", 95.0))])
    assert main(["one"]) == 0
    assert main(["one", "--check"]) == 1
    assert "c, m: 90 %; the aim is >= 95." in capsys.readouterr().err


def test_no_clock_leaves_out_the_rows_that_time_decides(
    install: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    install(one=[row(aim=Aim(">=", 95.0), clock=True), row(case="kept")])
    assert main(["one", "--check", "--no-clock", "-o", "json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert [entry["case"] for entry in printed["rows"]] == ["kept"]


def test_all_is_one_report_whose_cases_name_their_benchmark(
    install: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    install(one=[row()], two=[row()])
    assert main(["all", "-o", "json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["benchmark"] == "all"
    assert [entry["case"] for entry in printed["rows"]] == ["one/c", "two/c"]


def test_all_goes_on_without_a_benchmark_whose_data_is_missing(
    install: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    install(one=FileNotFoundError("no such data"), two=[row()])
    assert main(["all", "--check"]) == 0
    assert "one is left out: no such data" in capsys.readouterr().err
    assert main(["one"]) == 3


def test_benchmark_whose_data_is_missing_says_what_to_do(
    tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KOORDOPT_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="set KOORDOPT_DATA to the folder"):
        BENCHMARKS["openb"].run("smoke")


def test_select_keeps_the_order_of_the_suite() -> None:
    assert [benchmark.name for benchmark in select("all")] == list(BENCHMARKS)
