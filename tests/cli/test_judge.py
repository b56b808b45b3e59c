"""`outweigh judge` and the judging at the end of `outweigh run`, with real backends against the scripted model."""

import json
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.cli.engines import Engine, until
from tests.conftest import Outweigh
from tests.engine.engine_fixtures import DONE, shell, toml_lines, write_suite
from tests.judging.test_injection import BATTERY
from tests.prerequisites import require

from outweigh.model.codec import refuse_invalid
from outweigh.model.judgment import Judgment
from outweigh.score.judge_scores import judgment_score
from outweigh.store.records import RecordReader
from outweigh.testing.model_server import CallSpec, Conversation, ErrorSpec, ModelServer, Script, Turn, UsageSpec, When

RUBRIC = {
    "criteria": [
        {"type": "binary", "name": "works", "description": "The answer is right.", "weight": 2.0},
        {"type": "scaled", "name": "tidy", "description": "Nothing else was written.", "min": 1, "max": 5},
    ]
}
ARMS = {"plain": shell("echo 42 >answer.txt"), "chatty": shell("echo 42 >answer.txt; echo more >more.txt")}
RUNS = 4
CLAUDE = Path(__file__).parents[2] / ".agents" / "bin" / "claude"
AGAIN = "Your last answer could not be used"


def answers(works: float = 1, tidy: float = 3, **more: Any) -> dict[str, Any]:
    entries = [
        {"id": "works", "evidence": "answer.txt holds 42", "score": works},
        {"id": "tidy", "evidence": "one file", "score": tidy},
    ]
    return {"answers": entries, "total": 0.9, "confidence": 0.9} | more


def answering(table: Mapping[str, Any], **turn: Any) -> Turn:
    """The same answer as words and, where the tool is offered, as a call."""
    return Turn(text=json.dumps(table), **turn)


def handing_in(table: Mapping[str, Any], **turn: Any) -> Turn:
    return Turn(tool_calls=[CallSpec(name="submit_judgment", arguments=dict(table))], **turn)


def by_http(server: ModelServer, **fields: Any) -> dict[str, Any]:
    """A judge behind the openai-compatible backend, whose words are taken as they come."""
    options = {"base_url": f"{server.url}/v1", "key": "", "structured": "none"}
    return {"name": "judge", "backend": "openai-compatible", "model": "judge-1", "options": options} | fields


def judged_suite(folder: Path, *judges: dict[str, Any], **settings: Any) -> Path:
    task = {"checks": [DONE], "rubric": RUBRIC}
    return write_suite(folder, ARMS, task=task, repeats=RUNS // 2, judges=list(judges), **settings)


def add_judge(suite: Path, *judges: dict[str, Any]) -> None:
    file = suite / "suite.toml"
    kept = [line for line in file.read_text().splitlines(keepends=True) if not line.startswith('"judges"')]
    file.write_text("".join(kept) + toml_lines({"judges": list(judges)}))


def judgments(store: Path) -> list[Judgment]:
    if not list(store.glob("judgments-*.jsonl")):
        return []
    records = (located.record for located in RecordReader(str(store)).records(refuse_invalid))
    return [record for record in records if isinstance(record, Judgment)]


@pytest.fixture
def store(tmp_path: Path, outweigh: Outweigh) -> Path:
    """Runs without judgments, as they are before anybody thought of judges."""
    folder = tmp_path / "store"
    answer = outweigh("run", "-c", str(judged_suite(tmp_path / "suite")), "-o", str(folder))
    assert answer.code == 0, answer.err
    return folder


def judge(outweigh: Outweigh, store: Path, *judges: dict[str, Any], options: tuple[str, ...] = ()) -> Any:
    suite = store.parent / "suite"
    add_judge(suite, *judges)
    return outweigh("judge", str(store), "-c", str(suite), "--format", "json", *options)


def test_recorded_runs_are_judged_and_a_second_time_nobody_is_asked(store: Path, outweigh: Outweigh) -> None:
    with ModelServer(Script(turn=[answering(answers())])) as server:
        first = judge(outweigh, store, by_http(server))
        calls = len(server.ledger)
        second = outweigh("judge", str(store), "--format", "json")

        assert len(server.ledger) == calls == RUNS

    assert (first.code, second.code) == (0, 0), first.err
    assert (first.json()["added"], second.json()["added"]) == (RUNS, 0)
    assert first.json()["judges"][0]["mean_score"] == pytest.approx((2 * 1 + 0.5) / 3)
    assert second.json()["judges"][0]["valid"] == RUNS
    assert {given.stated_total for given in judgments(store)} == {0.9}


def test_damaged_answers_are_kept_and_nobody_is_asked_again_unless_the_user_says_so(
    store: Path, outweigh: Outweigh
) -> None:
    with ModelServer(Script(turn=[answering(answers())])) as server:
        judge(outweigh, store, by_http(server))
        (log,) = store.glob("judgments-*.jsonl")
        damaged = log.read_bytes().replace(b"one file", b"two file")
        log.write_bytes(damaged)

        refused = outweigh("judge", str(store))
        calls = len(server.ledger)
        again = outweigh("judge", str(store), "--go-on-without", "--format", "json")

        assert (calls, len(server.ledger)) == (RUNS, 2 * RUNS)
    assert refused.code == 3
    assert f"{log}:1: the line does not match its checksum" in refused.err
    assert "--go-on-without" in refused.err
    assert [copy.read_bytes() for copy in store.glob("damaged-judgments-*")] == [damaged]
    assert (again.code, again.json()["added"]) == (0, RUNS)
    assert log.read_bytes().startswith(damaged)


def test_a_changed_rubric_is_another_question_and_a_changed_task_is_refused(store: Path, outweigh: Outweigh) -> None:
    with ModelServer(Script(turn=[answering(answers())])) as server:
        judge(outweigh, store, by_http(server))
        task = store.parent / "suite" / "task-1" / "task.toml"
        task.write_text(task.read_text().replace("2.0", "3.0"))
        again = judge(outweigh, store, by_http(server))

        assert (again.json()["added"], len(server.ledger)) == (RUNS, 2 * RUNS)

    (task.parent / "instruction.md").write_text("Write 43 to answer.txt.\n")
    refused = outweigh("judge", str(store), "-c", str(store.parent / "suite"))
    assert refused.code == 2
    assert "'task-1': the task is not what it was" in refused.err


def test_a_suite_that_demands_less_agreement_than_before_is_told_that_it_does_not_count(
    store: Path, outweigh: Outweigh
) -> None:
    with ModelServer(Script(turn=[answering(answers())])) as server:
        judge(outweigh, store, by_http(server, minimum_alpha=0.8))
        lowered = judge(outweigh, store, by_http(server, minimum_alpha=0.2))

    assert "was made under minimum_alpha = 0.8; that stays in force" in lowered.err
    shown = outweigh("compare", str(store), "--baseline", "plain", "--candidate", "chatty")
    assert "an alpha of 0.8 with human labels is required" in " ".join(shown.out.split())


FIRST_TROUBLES = {
    "malformed JSON": Turn(text='{"answers": ['),
    "words around it": Turn(text=f"Sure! {json.dumps(answers())}"),
    "refusal": Turn(text="No.", refuse=True),
    "cut short": Turn(text='{"answers": [', truncate=True),
    "out of range": answering(answers(works=0.5)),
    "missing criterion": answering(answers() | {"answers": answers()["answers"][:1]}),
    "extra criterion": answering(
        answers() | {"answers": [*answers()["answers"], {"id": "x", "evidence": "", "score": 1}]}
    ),
}


@pytest.mark.parametrize("trouble", FIRST_TROUBLES)
def test_an_unusable_answer_is_mended_by_a_judge_that_is_told(store: Path, outweigh: Outweigh, trouble: str) -> None:
    mended = Conversation(when=When(contains=AGAIN), turn=[answering(answers())])
    script = Script(conversation=[mended], turn=[FIRST_TROUBLES[trouble]])
    with ModelServer(script) as server:
        answer = judge(outweigh, store, by_http(server))

        assert len(server.ledger) == 2 * RUNS
    assert answer.code == 0, answer.out
    assert [given.attempts for given in judgments(store)] == [2] * RUNS


@pytest.mark.parametrize("trouble", FIRST_TROUBLES)
def test_a_judge_that_never_mends_it_leaves_invalid_judgments_with_their_reason(
    store: Path, outweigh: Outweigh, trouble: str
) -> None:
    with ModelServer(Script(turn=[FIRST_TROUBLES[trouble]])) as server:
        answer = judge(outweigh, store, by_http(server, retries=1))

        assert len(server.ledger) == 2 * RUNS
    assert answer.code == 3
    assert all(given.invalid_reason and given.criteria == () for given in judgments(store))
    assert outweigh("compare", str(store), "--baseline", "plain", "--candidate", "chatty").code == 0


def test_a_busy_service_is_waited_for(store: Path, outweigh: Outweigh) -> None:
    busy = ErrorSpec(kind="rate_limited", retry_after_seconds=0.01, times=1)
    with ModelServer(Script(turn=[answering(answers(), error=busy)])) as server:
        answer = judge(outweigh, store, by_http(server))

        assert Counter(entry.status for entry in server.ledger) == {429: RUNS, 200: RUNS}
    assert answer.code == 0


def test_a_silent_service_is_given_up(store: Path, outweigh: Outweigh) -> None:
    with ModelServer(Script(turn=[answering(answers(), delay_seconds=3600)])) as server:
        answer = judge(outweigh, store, by_http(server, timeout_seconds=0.5, retries=0))

    assert answer.code == 3
    assert {given.invalid_reason for given in judgments(store)} == {"timeout: no answer in time"}


def test_a_refused_key_sets_the_judge_aside_and_leaves_its_runs_open(store: Path, outweigh: Outweigh) -> None:
    with ModelServer(Script(turn=[Turn(error=ErrorSpec(kind="unauthorized"))])) as server:
        answer = judge(outweigh, store, by_http(server), options=("-j", "1"))

        assert len(server.ledger) == 1
    assert (answer.code, answer.json()["open"]) == (3, RUNS)
    assert "unauthorized" in answer.json()["judges"][0]["set_aside"]
    assert judgments(store) == []


def test_a_service_that_is_down_ends_judging_after_three_questions_and_keep_going_asks_them_all(
    store: Path, outweigh: Outweigh
) -> None:
    with ModelServer(Script(turn=[Turn(error=ErrorSpec(kind="server_error"))])) as server:
        stopped = judge(outweigh, store, by_http(server, retries=0), options=("-j", "1"))
        asked = len(server.ledger)
        again = outweigh("judge", str(store), "--retry-invalid", "--keep-going", "-j", "1", "--format", "json")

        assert (asked, len(server.ledger)) == (3, 3 + RUNS)
    assert (stopped.code, stopped.json()["open"]) == (3, RUNS - 3)
    assert "3 questions in a row failed with the same connection error" in stopped.json()["judges"][0]["set_aside"]
    assert "With --keep-going" in stopped.json()["judges"][0]["set_aside"]
    assert (again.code, again.json()["open"]) == (3, 0)


def test_a_judge_without_an_address_asks_the_providers_of_the_gateway(tmp_path: Path, outweigh: Outweigh) -> None:
    judges: list[dict[str, Any]] = [
        {"name": "claude", "backend": "anthropic", "model": "claude-haiku-4-5"},
        {"name": "gpt", "backend": "openai-compatible", "model": "judge-1", "options": {"structured": "none"}},
    ]
    handed_in = Conversation(when=When(tools=True), turn=[handing_in(answers())])
    with ModelServer(Script(conversation=[handed_in], turn=[answering(answers())])) as server:
        gateway = {"anthropic": {"url": server.url, "key": ""}, "openai": {"url": f"{server.url}/v1", "key": ""}}
        suite = judged_suite(tmp_path / "suite", *judges, gateway=gateway)
        run = outweigh("run", "-c", str(suite), "-o", str(tmp_path / "store"))

        assert len(server.ledger) == 2 * RUNS
    assert run.code == 0, run.err
    assert Counter(given.judge.name for given in judgments(tmp_path / "store")) == {"claude": RUNS, "gpt": RUNS}


def test_the_anthropic_sdk_judges(store: Path, outweigh: Outweigh, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OUTWEIGH_TEST_KEY", "dummy")
    usage = UsageSpec(input_tokens=100, output_tokens=50, cache_read_tokens=900, cache_write_tokens=0)
    with ModelServer(Script(turn=[handing_in(answers(), usage=usage)])) as server:
        options = {"base_url": server.url, "key": "OUTWEIGH_TEST_KEY"}
        spec = {"name": "sdk", "backend": "anthropic", "model": "claude-haiku-4-5", "options": options}
        answer = judge(outweigh, store, spec)

    assert answer.code == 0, answer.out
    assert answer.json()["judges"][0]["known_cost_usd"] > 0
    given = judgments(store)[0]
    assert (given.usage.cache_read_tokens, given.judge.version) == (900, "claude-haiku-4-5")


@pytest.mark.needs_agent
def test_the_real_claude_command_line_judges(store: Path, outweigh: Outweigh, monkeypatch: pytest.MonkeyPatch) -> None:
    require("agent", None if CLAUDE.exists() else "Claude Code is not installed; `make agents` does it")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "dummy")
    with ModelServer(Script(turn=[answering(answers(tidy=5))])) as server:
        options = {"program": str(CLAUDE), "base_url": server.url}
        spec = {"name": "cli", "backend": "claude-cli", "model": "claude-judge-1", "options": options}
        first = judge(outweigh, store, spec)
        calls = len(server.ledger)
        second = outweigh("judge", str(store), "--format", "json")

        assert len(server.ledger) == calls

    assert (first.code, second.code) == (0, 0), first.out
    assert [judgment_score(given).value for given in judgments(store)] == [1.0] * RUNS


def test_a_program_judges(store: Path, outweigh: Outweigh) -> None:
    code = f"import sys, json; json.load(sys.stdin); print({json.dumps(answers())!r})"
    spec = {"name": "program", "backend": "command", "options": {"command": [sys.executable, "-c", code]}}

    answer = judge(outweigh, store, spec)

    assert answer.code == 0, answer.out
    assert answer.json()["judges"][0]["unknown_costs"] == RUNS


def test_a_judge_that_cannot_be_asked_is_said_so_and_the_others_judge(store: Path, outweigh: Outweigh) -> None:
    gone = {"name": "gone", "backend": "command", "options": {"command": ["/no/such/program"]}}
    with ModelServer(Script(turn=[answering(answers())])) as server:
        answer = judge(outweigh, store, by_http(server), gone)
        alone = outweigh("judge", str(store), "--judge", "gone")

    assert answer.code == 3
    assert [each["set_aside"] is None for each in answer.json()["judges"]] == [True, False]
    assert alone.code == 2
    assert "no judge can be asked from here" in alone.err
    assert f"{RUNS} of {RUNS} runs have a valid judgment." in alone.err


def test_only_the_named_judge_is_asked(store: Path, outweigh: Outweigh) -> None:
    with ModelServer(Script(turn=[answering(answers())])) as server:
        judge(outweigh, store, by_http(server), by_http(server, name="second"), options=("--judge", "second"))

        assert len(server.ledger) == RUNS
    assert {given.judge.name for given in judgments(store)} == {"second"}


def test_what_the_judge_is_shown_names_no_arm_and_no_model(store: Path, outweigh: Outweigh) -> None:
    with ModelServer(Script(turn=[answering(answers())]), kept_body_bytes=1_000_000) as server:
        judge(outweigh, store, by_http(server))

        bodies = [(entry.body or b"").decode() for entry in server.ledger]
    assert all("chatty" not in body and "plain" not in body for body in bodies)
    assert all("Write 42 to answer.txt." in body and "failed before, passed after" in body for body in bodies)
    assert sum("more.txt" in body for body in bodies) == RUNS // 2


def test_a_run_that_speaks_to_its_judge_gains_nothing_and_is_flagged(tmp_path: Path, outweigh: Outweigh) -> None:
    """Every text of the battery is in one arm's diff and words; the judge behaves, and says the same about both."""
    text = tmp_path / "battery.txt"
    text.write_text("\n".join(BATTERY.values()), encoding="utf-8")
    arms = {"honest": shell("echo 42 >answer.txt"), "sly": shell(f"echo 42 >answer.txt; cat {text} | tee notes.txt")}
    task = {"checks": [DONE], "rubric": RUBRIC}
    with ModelServer(Script(turn=[answering(answers(works=0))]), kept_body_bytes=1_000_000) as server:
        suite = write_suite(tmp_path / "suite", arms, task=task, repeats=1, judges=[by_http(server)])
        answer = outweigh("run", "-c", str(suite), "-o", str(tmp_path / "store"))

        bodies = [(entry.body or b"").decode() for entry in server.ledger]
    given = {judgment.run_id.split("/")[1]: judgment for judgment in judgments(tmp_path / "store")}
    assert answer.code == 0, answer.err
    assert [judgment_score(given[arm]).value for arm in ("honest", "sly")] == [pytest.approx(0.5 / 3)] * 2
    assert given["honest"].warnings == ()
    assert [warning.split(" speaks")[0] for warning in given["sly"].warnings] == [
        "the run's diff",
        "the run's transcript",
    ]
    assert not any("\u202e" in body or "\\u202e" in body for body in bodies)


def test_money_for_judging_has_an_end(store: Path, outweigh: Outweigh) -> None:
    code = f"import sys; sys.stdin.read(); print({json.dumps({'answer': answers(), 'cost_usd': 0.4})!r})"
    spec = {"name": "dear", "backend": "command", "options": {"command": [sys.executable, "-c", code]}}

    answer = judge(outweigh, store, spec, options=("--budget", "1", "-j", "1"))

    assert (answer.code, answer.json()["added"], answer.json()["open"]) == (4, 2, 2)
    assert answer.json()["judges"][0]["known_cost_usd"] == pytest.approx(0.8)


def test_invalid_answers_are_asked_for_again_on_demand(store: Path, outweigh: Outweigh) -> None:
    with ModelServer(Script(turn=[Turn(text="no JSON")])) as server:
        silent = judge(outweigh, store, by_http(server, retries=0), options=("--format", "json"))
        port = server.port
    with ModelServer(Script(turn=[answering(answers())]), port=port) as server:
        idle = outweigh("judge", str(store), "--format", "json")
        again = outweigh("judge", str(store), "--retry-invalid", "--format", "json")

        assert len(server.ledger) == RUNS
    assert (idle.json()["added"], again.json()["added"]) == (0, RUNS)
    assert (silent.json()["added_valid"], silent.json()["added_invalid"]) == (0, RUNS)
    assert (again.json()["added_valid"], again.json()["added_invalid"]) == (RUNS, 0)
    assert (silent.json()["judges"][0]["passed"], silent.json()["judges"][0]["known_cost_usd"]) == (None, None)
    assert again.json()["judges"][0]["valid"] == again.json()["judges"][0]["passed"] == RUNS
    (shown,) = outweigh(
        "compare", str(store), "--baseline", "plain", "--candidate", "chatty", "--format", "json"
    ).json()["judges"]["judges"]
    assert (sum(shown["answers"].values()), sum(shown["invalid"].values())) == (RUNS, 0)


def test_failed_judgments_are_counted_apart_and_the_command_that_asks_again_is_named(
    store: Path, outweigh: Outweigh
) -> None:
    with ModelServer(Script(turn=[Turn(text="no JSON")])) as server:
        add_judge(store.parent / "suite", by_http(server, retries=0))
        silent = outweigh("judge", str(store), "-c", str(store.parent / "suite"))
    idle = outweigh("judge", str(store))
    counted = outweigh("judge", str(store), "--format", "json").json()

    again = f"outweigh judge {store} --retry-invalid"
    assert f"done: 0 judgments added, {RUNS} failed" in silent.out
    assert f"done: 0 judgments added, {RUNS} failed judgments not asked for again" in idle.out
    assert f"`{again}` asks again" in unwrapped(silent.out)
    assert f"`{again}` asks again" in unwrapped(idle.out)
    assert (silent.code, idle.code) == (3, 3)
    assert (counted["added"], counted["added_valid"], counted["added_invalid"]) == (0, 0, 0)


def unwrapped(page: str) -> str:
    return " ".join(page.replace("\\\n", " ").split())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("no-such-store",), "is not a store"),
        (("STORE",), "has no rubric"),
        (("STORE", "-c", "SUITE"), "names no judge"),
        (("STORE", "-c", "SUITE", "--judge", "nobody"), "names no judge"),
        (("STORE", "--jobs", "0"), "is not a whole number"),
    ],
)
def test_mistakes_are_answered_with_the_way_out(
    store: Path, outweigh: Outweigh, arguments: tuple[str, ...], words: str
) -> None:
    places = {"STORE": str(store), "SUITE": str(store.parent / "suite")}

    answer = outweigh("judge", *(places.get(word, word) for word in arguments))

    assert answer.code == 2
    assert words in answer.err


class TestRun:
    def test_a_suite_with_judges_is_judged_when_its_runs_are_done(self, tmp_path: Path, outweigh: Outweigh) -> None:
        with ModelServer(Script(turn=[answering(answers())])) as server:
            suite = judged_suite(tmp_path / "suite", by_http(server))
            first = outweigh("run", "-c", str(suite), "-o", str(tmp_path / "store"))
            calls = len(server.ledger)
            second = outweigh("run", "-c", str(suite), "-o", str(tmp_path / "store"))

            assert len(server.ledger) == calls == RUNS
        assert (first.code, second.code) == (0, 0), first.err
        assert f"judges: done: {RUNS} judgments added" in first.err

    def test_a_broken_judge_breaks_no_run(self, tmp_path: Path, outweigh: Outweigh) -> None:
        gone = {"name": "gone", "backend": "command", "options": {"command": ["/no/such/program"]}}
        crashing = {"name": "crashing", "backend": "command", "options": {"command": "exit 3"}, "retries": 0}
        suite = judged_suite(tmp_path / "suite", gone, crashing)

        answer = outweigh("run", "-c", str(suite), "-o", str(tmp_path / "store"))

        assert answer.code == 0, answer.err
        assert "there is no program '/no/such/program'" in answer.err
        assert {given.invalid_reason for given in judgments(tmp_path / "store")} == {"crash: exit code 3"}

    def test_a_run_that_only_judges_can_decide_and_nobody_judged_does_not_exit_0(
        self, tmp_path: Path, outweigh: Outweigh
    ) -> None:
        gone = {"name": "gone", "backend": "command", "options": {"command": ["/no/such/program"]}}
        suite = judged_suite(tmp_path / "suite", gone, policy={"name": "evidence", "gates": ["judge_score"]})
        store = str(tmp_path / "store")

        run = outweigh("run", "-c", str(suite), "-o", store)
        verdict = outweigh("verdict", store)
        alone = outweigh("judge", store)

        assert run.code == 3, run.err
        assert f"run `outweigh judge {store}`" in run.err
        assert verdict.code == 3
        assert f"outweigh judge {store}" in unwrapped(verdict.out)
        assert f"{RUNS} runs have no judgment" in verdict.out
        assert "more tasks" not in verdict.out
        assert alone.code == 2
        assert f"0 of {RUNS} runs have a valid judgment." in alone.err

    def test_a_run_whose_judgments_failed_names_the_command_that_asks_again(
        self, tmp_path: Path, outweigh: Outweigh
    ) -> None:
        crashing = {"name": "crashing", "backend": "command", "options": {"command": "exit 3"}, "retries": 0}
        suite = judged_suite(tmp_path / "suite", crashing, policy={"name": "evidence", "gates": ["judge_score"]})
        store = str(tmp_path / "store")

        run = outweigh("run", "-c", str(suite), "-o", store)
        verdict = outweigh("verdict", store)
        again = outweigh("judge", store, "--retry-invalid", "--format", "json")

        assert f"then run `outweigh judge {store} --retry-invalid`" in run.err
        assert f"judges: done: 0 judgments added, {RUNS} failed" in run.err
        assert f"outweigh judge {store} --retry-invalid" in unwrapped(verdict.out)
        assert again.json()["added"] == RUNS

    def test_a_run_that_only_judges_can_decide_exits_0_when_they_have_judged_it(
        self, tmp_path: Path, outweigh: Outweigh
    ) -> None:
        with ModelServer(Script(turn=[answering(answers())])) as server:
            suite = judged_suite(
                tmp_path / "suite", by_http(server), policy={"name": "evidence", "gates": ["judge_score"]}
            )
            run = outweigh("run", "-c", str(suite), "-o", str(tmp_path / "store"))

        assert run.code == 0, run.err

    def test_judging_is_paid_from_what_the_runs_have_left(self, tmp_path: Path, outweigh: Outweigh) -> None:
        code = f"import sys; sys.stdin.read(); print({json.dumps({'answer': answers(), 'cost_usd': 0.3})!r})"
        spec = {"name": "dear", "backend": "command", "options": {"command": [sys.executable, "-c", code]}}
        report = 'echo 42 >answer.txt; echo \'{"cost_usd": 0.1}\' >"$OUTWEIGH_USAGE"'
        arms = {"one": shell(report), "two": shell(f"{report}; true")}
        suite = write_suite(
            tmp_path / "suite",
            arms,
            task={"checks": [DONE], "rubric": RUBRIC},
            repeats=2,
            judges=[spec],
            budget_usd=1.0,
        )

        answer = outweigh("run", "-c", str(suite), "-o", str(tmp_path / "store"), "-j", "1")

        assert answer.code == 0, answer.err
        assert "4 of 4 trials have a result, $0.40 spent" in answer.err
        assert "judges: budget: 2 judgments added, 2 still open, $0.60 spent on judging" in answer.err

    def test_a_suite_with_judges_and_no_rubric_is_refused_before_anything_runs(
        self, tmp_path: Path, outweigh: Outweigh
    ) -> None:
        suite = write_suite(tmp_path / "suite", ARMS, judges=[{"name": "j", "backend": "command"}])

        answer = outweigh("run", "-c", str(suite), "-o", str(tmp_path / "store"))

        assert answer.code == 2
        assert "none of its tasks has a rubric" in answer.err


def test_ctrl_c_lets_questions_under_way_finish_and_the_next_command_goes_on(store: Path, outweigh: Outweigh) -> None:
    """The judge waits for a file, so that the moment of the interruption is certain on every machine."""
    gate, asked = store.parent / "gate", store.parent / "asked"
    wait = f"import os, sys, time\nsys.stdin.read()\nopen({str(asked)!r}, 'a').write('x')\n"
    wait += f"while not os.path.exists({str(gate)!r}): time.sleep(0.05)\nprint({json.dumps(answers())!r})"
    spec = {"name": "slow", "backend": "command", "options": {"command": [sys.executable, "-c", wait]}}
    suite = store.parent / "suite"
    add_judge(suite, spec)
    temporary = store.parent / "tmp"
    temporary.mkdir()

    events = store.parent / "events.jsonl"
    words = (str(store), "-c", str(suite), "-j", "1", "--events", str(events))
    engine = Engine(*words, temporary=temporary, verb="judge")
    try:
        until(asked.exists)
        engine.press_ctrl_c()
        until(lambda: b"no more questions are asked" in events.read_bytes())
        gate.touch()
        ended = engine.wait()
    finally:
        engine.close()

    assert ended.code == 130, ended.err
    assert len(judgments(store)) == 1
    assert outweigh("judge", str(store)).code == 0
    assert asked.read_text() == "x" * RUNS
    assert len(judgments(store)) == RUNS


def test_a_second_ctrl_c_ends_the_program_that_judges(store: Path) -> None:
    pid = store.parent / "pid"
    wait = f"import os, sys, time\nopen({str(pid)!r} + '.new', 'w').write(str(os.getpid()))\n"
    wait += f"os.rename({str(pid)!r} + '.new', {str(pid)!r})\ntime.sleep(3600)"
    spec = {"name": "slow", "backend": "command", "options": {"command": [sys.executable, "-c", wait]}}
    suite = store.parent / "suite"
    add_judge(suite, spec)
    temporary = store.parent / "tmp"
    temporary.mkdir()

    events = store.parent / "events.jsonl"
    words = (str(store), "-c", str(suite), "-j", "1", "--events", str(events))
    engine = Engine(*words, temporary=temporary, verb="judge")
    try:
        until(pid.exists)
        engine.press_ctrl_c()
        # Two signals at once would be one.
        until(lambda: b"no more questions are asked" in events.read_bytes())
        engine.press_ctrl_c()
        ended = engine.wait()
    finally:
        engine.close()

    assert ended.code == 130, ended.err
    assert judgments(store) == []
    until(lambda: not Path("/proc", pid.read_text()).exists())


def test_events_of_judging_go_to_the_file_that_is_named(store: Path, outweigh: Outweigh, tmp_path: Path) -> None:
    events = tmp_path / "events.jsonl"
    with ModelServer(Script(turn=[answering(answers())])) as server:
        judge(outweigh, store, by_http(server), options=("--events", str(events)))

    told = [msgspec.json.decode(line) for line in events.read_bytes().splitlines()]
    assert [event["kind"] for event in told] == ["judged"] * RUNS
    assert told[0]["task_id"] == "task-1"
