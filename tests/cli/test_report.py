"""`outweigh report`: one file that says everything, by the name it is given."""

import re
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.cli.stores import write_store

from outweigh import __version__
from outweigh.model.codec import encode
from outweigh.model.failure import Status
from outweigh.model.run_record import RunRecord
from outweigh.testing.builders import a_run

RECORDED = str(Path(__file__).resolve().parents[2] / "examples" / "recorded" / "runs.jsonl")
ARMS = ("--baseline", "T0-plain", "--candidate", "T1-skill")
HOSTILE = "<script>alert(1)</script>\"'\u202e\x1b|`"

Written = Callable[..., str]


@pytest.fixture
def written(outweigh: Any, tmp_path: Path) -> Written:
    """The content of the file that a report of this kind leaves behind."""

    def write(kind: str, *arguments: str) -> str:
        target = tmp_path / f"report.{kind}"
        answer = outweigh("report", *arguments, "-o", str(target))
        assert answer.code == 0, answer.err
        return target.read_text()

    return write


def some_runs(arm: str, seconds: float, **fields: Any) -> list[RunRecord]:
    return [
        a_run(f"task-{task}", arm, repeat, passed=(task + repeat) % 3 > 0, duration_seconds=seconds + task, **fields)
        for task in range(8)
        for repeat in range(1, 6)
    ]


def store(folder: Path, runs: Sequence[RunRecord], baseline: str, arms: Sequence[str]) -> str:
    """A folder as `outweigh run` leaves it."""
    return write_store(folder, runs, arms, baseline=baseline)


def test_the_json_holds_what_verdict_and_compare_say(outweigh: Any, written: Written) -> None:
    report = msgspec.json.decode(written("json", RECORDED, *ARMS))

    verdict = outweigh("verdict", RECORDED, *ARMS, "--format", "json").json()
    comparison = outweigh("compare", RECORDED, *ARMS, "--format", "json").json()
    assert report["schema"] == "outweigh.report/1"
    assert report["verdicts"] == [verdict]
    assert report["comparisons"] == [comparison]


def test_provenance_names_the_evidence_the_version_the_seed_and_the_command(written: Written) -> None:
    report = msgspec.json.decode(written("json", RECORDED, *ARMS, "--seed", "7"))

    provenance = report["provenance"]
    assert provenance["evidence_sha256"] == report["verdicts"][0]["evidence_sha256"]
    assert (provenance["outweigh_version"], provenance["seed"], provenance["suite"]) == (__version__, 7, None)
    assert shlex.split(provenance["command"])[:3] == ["outweigh", "report", RECORDED]


def test_the_command_on_the_page_writes_the_same_page(outweigh: Any, written: Written) -> None:
    page = written("md", RECORDED, *ARMS, "--margin", "duration=0.1")
    [command] = re.findall(r"^outweigh report .*$", page, re.MULTILINE)
    _, *arguments = shlex.split(command)
    target = Path(arguments[arguments.index("-o") + 1])
    target.unlink()

    assert outweigh(*arguments).code == 0
    assert target.read_text() == page


@pytest.mark.parametrize("kind", ["html", "md"])
def test_a_page_has_every_part(written: Written, kind: str) -> None:
    page = written(kind, RECORDED, *ARMS).replace("\\", "")

    first = "Gates|Tasks that decided|Why|How firm is it?|Promotion refused|Warnings|Arms|Further changes|"
    parts = f"{first}Where this comes from|Settings"
    assert [part for part in parts.split("|") if part not in page] == []
    assert "REGRESSED" in page
    assert "error rates: non_inferiority 0.05" in page
    assert __version__ in page


def test_the_markdown_has_the_sentence_the_gates_and_the_tasks_before_the_rest(written: Written) -> None:
    page = written("md", RECORDED, *ARMS)

    order = ["T1-skill passes between", "### Gates", "### Tasks that decided it", "<details>"]
    assert [page.index(part) for part in order] == sorted(page.index(part) for part in order)
    assert page.count("<details>") == page.count("</details>") > 5


def test_a_task_that_decided_comes_with_the_command_that_shows_two_of_its_runs(outweigh: Any, written: Written) -> None:
    page = written("md", RECORDED, *ARMS)

    command = re.findall(r"^outweigh diff .*$", page, re.MULTILINE)[0]
    answer = outweigh(*shlex.split(command)[1:])
    assert answer.code == 0, answer.err


def test_an_agent_that_only_pretends_spends_no_dollars(written: Written) -> None:
    page = written("html", RECORDED, *ARMS)

    assert "simulated" in page
    assert re.findall(r"\$[0-9]", re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL)) == []


def test_the_html_draws_the_gates_and_the_markdown_tells_them(written: Written) -> None:
    assert 'class="ow-chart"' in written("html", RECORDED, *ARMS)

    page = written("md", RECORDED, *ARMS)
    assert "<svg" not in page
    assert "cost, typical worse: +25 % (+19 to +31); the interval lies beyond the margin on the worse side" in page


def test_less_of_a_resource_is_drawn_as_better(written: Written, tmp_path: Path) -> None:
    runs = tmp_path / "runs.jsonl"
    everything = some_runs("slow", 200) + some_runs("fast", 100)
    runs.write_bytes(b"".join(encode(run) + b"\n" for run in everything))

    page = written("html", str(runs), "--baseline", "slow", "--candidate", "fast", "--gates", "duration")

    gates = page[page.index('aria-label="Change and margin of every gate"') :]
    bar = re.findall(r'<line class="ow-better" x1="([\d.]+)%"', gates)[0]
    zero = re.findall(r'<line class="ow-zero" x1="([\d.]+)%"', gates)[0]
    assert float(bar) > float(zero)


def test_a_policy_that_tests_nothing_has_no_picture_of_its_tests(written: Written) -> None:
    page = written("html", RECORDED, *ARMS, "--policy", "gates")

    assert "Change and margin of every gate" not in page
    assert "policy gates" in page


def test_a_store_knows_its_baseline_and_all_other_arms_are_candidates(written: Written, tmp_path: Path) -> None:
    arms = ("one", "base", "two")
    folder = store(tmp_path / "store", [run for arm in arms for run in some_runs(arm, 60)], "base", arms)

    report = msgspec.json.decode(written("json", folder))

    assert [(verdict["baseline"], verdict["candidate"]) for verdict in report["verdicts"]] == [
        ("base", "one"),
        ("base", "two"),
    ]
    assert report["provenance"]["suite"] == "trial suite"


def test_several_candidates_share_a_page_with_an_overview(written: Written, tmp_path: Path) -> None:
    arms = ("base", "one", "two")
    folder = store(tmp_path / "store", [run for arm in arms for run in some_runs(arm, 60)], "base", arms)

    page = written("html", folder)

    assert "0 of 2 candidates improved on base" in page
    assert page.count('aria-label="Change and margin of every gate"') == 2
    assert (
        page.count('<svg xmlns="http://www.w3.org/2000/svg" class="ow-chart" role="group" aria-label="Which arm') == 2
    )
    assert [f"<summary>{arm} against base" in page for arm in ("one", "two")] == [True] * 2


def test_excluded_runs_are_counted_and_their_partners_are_listed(written: Written, tmp_path: Path) -> None:
    runs = some_runs("base", 60) + some_runs("new", 60)
    runs[-1] = msgspec.structs.replace(runs[-1], status=Status.INFRA_ERROR)

    page = written("md", store(tmp_path / "store", runs, "base", ("base", "new")))

    assert "| infra\\_error | 0 | 1 |" in page
    assert "### Runs without a partner (2)" in page


def test_a_hostile_arm_is_shown_and_never_obeyed(written: Written, tmp_path: Path) -> None:
    runs = some_runs("base", 60) + some_runs(HOSTILE, 70)
    folder = store(tmp_path / "store", runs, "base", ("base", HOSTILE))

    page, markdown = written("html", folder), written("md", folder)

    assert "<script" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#x27;\\x202e\\x1b|`" in page
    assert not {"\u202e", "\x1b"} & set(page + markdown)


def test_an_unknown_kind_of_file_is_refused_before_anything_is_read(outweigh: Any, tmp_path: Path) -> None:
    answer = outweigh("report", "no-such-file.jsonl", *ARMS, "-o", str(tmp_path / "report.docx"))

    assert answer.code == 2
    assert "must end in one of .html, .md, .json" in answer.err


def test_without_a_store_the_baseline_must_be_named(outweigh: Any, tmp_path: Path) -> None:
    answer = outweigh("report", RECORDED, "-o", str(tmp_path / "report.html"))

    assert answer.code == 2
    assert "--baseline" in answer.err
    assert not (tmp_path / "report.html").exists()


def test_a_folder_that_is_not_there_is_named(outweigh: Any, tmp_path: Path) -> None:
    answer = outweigh("report", RECORDED, *ARMS, "-o", str(tmp_path / "nowhere" / "report.html"))

    assert answer.code == 2
    assert "nowhere" in answer.err


def test_it_says_what_came_out_and_where_it_is(outweigh: Any, tmp_path: Path) -> None:
    target = tmp_path / "report.html"

    answer = outweigh("report", RECORDED, *ARMS, "-o", str(target))

    assert answer.out.splitlines() == [
        "REGRESSED  T1-skill against T0-plain, policy evidence (default)",
        f"written to {target}",
    ]
