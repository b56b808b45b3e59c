"""The table of arms that every import ends with, beside what the source states itself."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.conftest import Outweigh

from outweigh.app.import_results import ImportOptions, import_source
from outweigh.interop.imported_run import field_origins, imported_run
from outweigh.model.failure import Status
from outweigh.model.judgment import Judgment
from outweigh.model.run_record import CheckResult, RunRecord
from outweigh.model.usage import Usage, reported_cost
from outweigh.ports.importers import ImportNotes, ImportRequest

NO_OPTIONS = ImportOptions(arm=None, tasks=None, columns={}, skip_invalid=False)
Page = Callable[..., str]
TOKENS = Usage(input_tokens=900, output_tokens=100, cache_read_tokens=9_000, cache_write_tokens=None)


def check(*, passed: bool | None) -> tuple[CheckResult, ...]:
    return (
        CheckResult(
            name="success",
            required=True,
            passed=passed,
            cases_passed=None,
            cases_total=None,
            exit_code=None,
            detail=None,
        ),
    )


class Board:
    """400 runs of one arm: 144 passes, 19 errors of the infrastructure, at ten cents and a thousand tokens each."""

    name = "board"
    fields = field_origins(reported="")

    def __init__(self, **stated: object) -> None:
        self.stated = stated

    def recognises(self, path: Path) -> bool:
        return path.is_file()

    def read(self, request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord | Judgment]:
        for name, value in self.stated.items():
            notes.state("board", name, value)
        for number in range(400):
            yield imported_run(
                run_id=f"run-{number}",
                task_id=f"task-{number}",
                arm="board",
                repeat=1,
                status=Status.INFRA_ERROR if number >= 381 else Status.COMPLETED,
                checks=None if number >= 381 else check(passed=number < 144),
                usage=TOKENS,
                cost=reported_cost(0.1),
            )


@pytest.fixture
def page(outweigh: Outweigh, tmp_path: Path) -> Page:
    def show(**stated: object) -> str:
        (tmp_path / "results").write_text("results")
        import_source(Board(**stated), tmp_path / "results", tmp_path / "runs", NO_OPTIONS)
        return outweigh("store", "show", str(tmp_path / "runs")).out

    return show


def test_an_arm_has_its_runs_what_counts_why_not_passes_cost_and_tokens(page: Page) -> None:
    row = next(line for line in page().splitlines() if line.startswith("  board"))

    assert " ".join(row.split()) == "board 400 381 19 (infrastructure) 144 38 % $40.00 400,000"


def test_an_accuracy_over_excluded_runs_is_explained(page: Page) -> None:
    shown = page(accuracy=0.36)

    assert "accuracy 36 %" in shown
    assert (
        "board: accuracy is 36 % there and 37.8 % here (144 of 381), 1.8 points more: the source counts the 19 runs as "
        "failed that are excluded here." in shown
    )


@pytest.mark.parametrize(
    ("stated", "said"),
    [
        ({"accuracy": 0.378}, None),
        ({"accuracy": 0.38}, None),
        ({"passes": 144, "runs": 400, "errors": 19, "failures": 237}, None),
        ({"resolved": 150}, "resolved is 150 there and 144 here, 6 fewer."),
        ({"failures": 256}, "failures is 256 there and 237 here, 19 fewer: the source counts the 19 excluded runs as"),
        ({"cost_usd": 40.0}, None),
        ({"cost_usd": 41.5}, "cost is $41.50 there and $40.00 here, $1.50 less."),
        ({"tokens": 400_000}, None),
        ({"tasks": 401}, "tasks is 401 there and 400 here, 1 fewer."),
        ({"pass_rate": 0.5}, "pass rate is 50 % there and 37.8 % here (144 of 381), 12.2 points less; 19 runs of 400"),
        ({"grade": "B"}, None),
    ],
    ids=str,
)
def test_a_figure_that_differs_is_named_with_the_difference(
    page: Page, stated: dict[str, object], said: str | None
) -> None:
    shown = page(**stated)

    assert ("Where the source says something else" in shown) == (said is not None)
    assert said is None or said in shown


def test_scripts_get_the_same_table(outweigh: Outweigh, tmp_path: Path, page: Page) -> None:
    page(accuracy=0.36)

    board = outweigh("store", "show", str(tmp_path / "runs"), "--format", "json").json()["results"]["board"]

    assert (board["runs"], board["counted"], board["excluded"]) == (400, 381, {"infra_error": 19})
    assert (board["passed"], board["cost_usd"], board["non_cache_tokens"]) == (144, pytest.approx(40), 400_000)
    assert board["source_says"] == {"accuracy": 0.36}


def test_several_stores_are_shown_one_after_the_other_with_one_next_command(outweigh: Outweigh, tmp_path: Path) -> None:
    for arm in ("plain", "notes"):
        rows = "".join(f"t{task},{arm},yes\n" for task in range(6))
        (tmp_path / f"{arm}.csv").write_text(f"task_id,arm,success\n{rows}")
        outweigh("import", str(tmp_path / f"{arm}.csv"), "-o", str(tmp_path / arm))
    stores = [str(tmp_path / arm) for arm in ("plain", "notes")]

    shown = outweigh("store", "show", *stores, "--format", "json").json()

    assert [list(store["results"]) for store in shown["stores"]] == [["plain"], ["notes"]]
    assert shown["next"] == f"outweigh verdict {' '.join(stores)} --baseline plain --candidate notes --gates pass_rate"
