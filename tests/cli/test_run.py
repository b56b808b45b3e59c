"""Claims about `outweigh run` as its user meets it: a process, its words and its exit codes."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.cli.engines import Ended, Engine, begun, records, until
from tests.engine.engine_fixtures import DONE, MISSING_PROGRAM, shell, write_suite

from outweigh.cli.demo import DEMO_SUITE
from outweigh.model.codec import record_digest
from outweigh.model.evidence_hash import evidence_sha256_v1
from outweigh.model.failure import EXCLUDED_STATUSES, Status
from outweigh.model.run_record import RunRecord

SOLVE = [{"do": "write", "path": "answer.txt", "content": "42"}]
NOISE = {"median": 10, "spread": 0.2}


def scripted(probability: float, **more: Any) -> dict[str, Any]:
    drawn = {"solve_probability": probability, "on_success": SOLVE, "duration_seconds": NOISE, "cost_usd": 0.1}
    return {"agent": "scripted", "options": {"default": drawn}, **more}


ARMS = {"a": scripted(0.5), "b": scripted(0.9)}


class Desk:
    """Where a user sits: a suite, a store and a shell."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.suite = folder / "suite"
        self.store = folder / "store"
        self.temporary = folder / "tmp"
        self.temporary.mkdir()
        self.events = folder / "events.ndjson"
        self.flag = folder / "go on"
        self.held = ExitStack()

    def write(self, arms: dict[str, Any] | None = None, **settings: Any) -> None:
        write_suite(self.suite, arms or ARMS, **settings)

    def start(self, *arguments: str, **variables: str) -> Engine:
        place = () if "-o" in arguments else ("-o", str(self.store))
        suite = () if "-c" in arguments else ("-c", str(self.suite))
        engine = Engine(*suite, *place, *arguments, temporary=self.temporary, folder=self.folder, **variables)
        self.held.callback(engine.close)
        return engine

    def starts_nothing_more(self) -> bool:
        """Whether an engine that was told to write its events there has taken a first signal."""
        return self.events.exists() and b'"kind":"stopped"' in self.events.read_bytes()

    def waiting(self) -> dict[str, Any]:
        """An arm whose agent works when the flag is there and not before."""
        return shell(f"until [ -e '{self.flag}' ]; do sleep 0.05; done; echo 42 >answer.txt")

    def run(self, *arguments: str, **variables: str) -> Ended:
        return self.start(*arguments, **variables).wait()

    def leftovers(self) -> list[Path]:
        """What an engine must not leave: temporary files, and the note that leads to them."""
        return [*self.temporary.iterdir(), *self.store.glob("scratch")]

    def counted(self) -> list[RunRecord]:
        return [record for record in records(self.store) if record.status not in EXCLUDED_STATUSES]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path)
    with desk.held:
        yield desk


def refused(ended: Ended, *words: str) -> None:
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("outweigh: ")
    assert len(ended.err.splitlines()) == 1
    for word in words:
        assert word in ended.err


class TestRunning:
    def test_the_demo_runs_to_its_three_verdicts(self, desk: Desk, outweigh: Any) -> None:
        ended = desk.run("-c", str(DEMO_SUITE))

        verdicts = outweigh("verdict", str(desk.store), "--format", "json").json()["verdicts"]
        decisions = {verdict["candidate"]: verdict["decision"] for verdict in verdicts}
        assert ended.code == 0
        shown = [line.partition(" passes ")[0] for line in ended.out.splitlines()]
        assert shown == [f"{decision.upper()}: {candidate}" for candidate, decision in decisions.items()]
        assert "done: 240 of 240 trials have a result" in ended.err
        assert (decisions["better"], decisions["trap"]) == ("improved", "regressed")
        assert decisions["same"] in ("neutral", "inconclusive")
        assert desk.leftovers() == []

    def test_the_same_suite_and_seed_give_the_same_verdict_in_any_store_at_any_pace(
        self, desk: Desk, outweigh: Any
    ) -> None:
        desk.write(tasks=8, repeats=3, seed=7)
        stores = [desk.folder / "one", desk.folder / "two"]
        for store, jobs in zip(stores, ("1", "4"), strict=True):
            assert desk.run("-o", str(store), "-j", jobs).code == 0

        one, two = (outweigh("verdict", str(store), "--format", "json").json() for store in stores)

        assert one["verdict_sha256"] == two["verdict_sha256"]
        # The evidence is not the same to the byte: it knows when each run took place and how long set-up took.
        assert one["evidence_sha256"] != two["evidence_sha256"]
        assert timeless_hash(stores[0]) == timeless_hash(stores[1])

    def test_a_dry_run_shows_the_plan_and_writes_nothing(self, desk: Desk) -> None:
        desk.write(tasks=3, repeats=4, limits={"budget_usd": 0.5})
        before = sorted(desk.folder.rglob("*"))

        ended = desk.run("--dry-run")

        assert (ended.code, ended.err) == (0, "")
        assert "3 tasks × 2 arms, 24 runs in local sandboxes" in ended.out
        assert "cost: at most $12.00, without failed attempts\n" in ended.out
        assert "… and 14 more" in ended.out
        assert sorted(desk.folder.rglob("*")) == before

    def test_repeats_of_the_command_line_win_over_those_of_the_suite(self, desk: Desk) -> None:
        desk.write(repeats=5)

        desk.run("-k", "2")

        assert len(records(desk.store)) == 4

    def test_without_a_name_the_store_is_called_after_the_suite(self, desk: Desk) -> None:
        desk.write(repeats=1)

        engine = Engine("-c", "suite", temporary=desk.temporary, folder=desk.folder)
        desk.held.callback(engine.close)

        assert engine.wait().code == 0
        assert len(records(desk.folder / "outweigh-runs" / "suite")) == 2

    def test_a_watcher_that_goes_away_does_not_end_the_experiment(self, desk: Desk) -> None:
        desk.write(tasks=2, repeats=1)
        engine = desk.start()

        engine.stop_listening()

        assert engine.wait().code == 0
        assert len(desk.counted()) == 4


def timeless_hash(store: Path) -> str:
    blank: dict[str, Any] = {"started_at": None, "setup_seconds": None, "checks_seconds": None}
    return evidence_sha256_v1(record_digest(msgspec.structs.replace(record, **blank)) for record in records(store))


class TestStopping:
    def test_a_budget_ends_it_with_exit_4_and_a_larger_one_goes_on(self, desk: Desk) -> None:
        desk.write(tasks=4, repeats=1, limits={"budget_usd": 0.1})

        first = desk.run("--budget", "0.45")
        kept = records(desk.store)
        second = desk.run("--budget", "2")

        assert first.code == 4
        assert "budget: 4 of 8 trials have a result, costs are simulated" in first.err
        assert "to go on: raise the budget with --budget" in first.err
        assert second.code == 0
        assert "4 of 8 trials have a result already" in second.err
        assert records(desk.store)[:4] == kept
        assert len(desk.counted()) == 8

    def test_a_budget_that_nobody_can_keep_is_not_pretended_to(self, desk: Desk) -> None:
        desk.write({"a": shell("true"), "b": shell("exit 0")}, tasks=5, repeats=1)

        ended = desk.run("--budget", "100", "-j", "1")

        assert ended.code == 4
        assert "set budget_usd under [limits]" in ended.err
        assert len(records(desk.store)) == 1

    def test_ctrl_c_once_finishes_what_runs_and_the_same_command_goes_on(self, desk: Desk) -> None:
        desk.write({"a": desk.waiting(), "b": scripted(1.0)}, tasks=4, repeats=1)
        engine = desk.start("-j", "2", "--events", str(desk.events))
        until(lambda: begun(desk.store) >= 2)

        engine.press_ctrl_c()
        until(desk.starts_nothing_more)
        desk.flag.touch()
        first = engine.wait()

        assert first.code == 130
        assert "to go on: run the same command again" in first.err
        assert {record.status for record in records(desk.store)} == {Status.COMPLETED}
        assert len(records(desk.store)) == begun(desk.store) < 8
        assert desk.leftovers() == []

        assert desk.run("-j", "4").code == 0
        assert (len(records(desk.store)), len(desk.counted())) == (8, 8)

    def test_ctrl_c_twice_ends_what_runs_and_it_is_attempted_again(self, desk: Desk) -> None:
        desk.write({"a": desk.waiting()}, tasks=2, repeats=1)
        engine = desk.start("-j", "4", "--events", str(desk.events))
        until(lambda: begun(desk.store) == 4)

        engine.press_ctrl_c()
        until(desk.starts_nothing_more)
        engine.press_ctrl_c()
        first = engine.wait()

        assert first.code == 130
        assert sorted(record.status for record in records(desk.store) if record.trial.arm == "a") == ["not_run"] * 2
        assert desk.leftovers() == []

        desk.flag.touch()
        assert desk.run().code == 0
        assert len(desk.counted()) == 4

    def test_a_signal_to_end_is_taken_like_ctrl_c(self, desk: Desk) -> None:
        desk.write({"a": desk.waiting()}, tasks=2, repeats=1)
        engine = desk.start("-j", "1", "--events", str(desk.events))
        until(lambda: begun(desk.store) >= 1)

        os.kill(engine.pid, signal.SIGTERM)
        until(desk.starts_nothing_more)
        desk.flag.touch()

        assert engine.wait().code == 130
        assert {record.status for record in records(desk.store)} == {Status.COMPLETED}

    def test_trials_without_a_result_are_a_failure_with_a_way_on(self, desk: Desk) -> None:
        arms = {"a": MISSING_PROGRAM, "b": scripted(1.0)}
        desk.write(arms, repeats=1, limits={"retries": 0})

        ended = desk.run()

        assert ended.code == 3
        assert "incomplete: 1 of 2 trials have a result" in ended.err
        assert "to go on: fix what failed" in ended.err
        (failed,) = (record for record in records(desk.store) if record.trial.arm == "a")
        assert (failed.status, failed.agent.name) == (Status.INFRA_ERROR, "shell")


class TestBrokenInfrastructure:
    def test_a_run_stops_after_three_trials_that_fail_alike_and_goes_on_when_that_is_fixed(self, desk: Desk) -> None:
        program = desk.folder / "agent.sh"
        from_workspace = f"{'../' * 20}{str(program).lstrip('/')}"
        arms = {"a": {"agent": "shell", "options": {"command": [from_workspace]}}, "b": scripted(1.0)}
        desk.write(arms, tasks=8, repeats=1)

        stopped = desk.run("-j", "2")

        failed = [record for record in records(desk.store) if record.trial.arm == "a"]
        assert stopped.code == 3
        assert "3 trials in a row failed with the same infrastructure error: " in stopped.err
        assert "to go on: fix the cause (`outweigh doctor` with the same -c" in stopped.err
        assert f"the command: outweigh run -c {desk.suite} -o {desk.store} -j 2" in stopped.err
        assert len({record.trial.key for record in failed}) in range(3, 6)
        assert desk.leftovers() == []

        program.write_text("#!/bin/sh\necho 42 >answer.txt\n")
        program.chmod(0o755)

        assert desk.run("-j", "2").code == 0
        assert len(desk.counted()) == 16

    def test_asked_to_keep_going_a_run_attempts_every_trial(self, desk: Desk) -> None:
        desk.write({"a": MISSING_PROGRAM, "b": scripted(1.0)}, tasks=5, repeats=1, limits={"retries": 0})

        ended = desk.run("--keep-going")

        assert ended.code == 3
        assert "incomplete: 5 of 10 trials have a result" in ended.err
        assert len(records(desk.store)) == 10


class TestSharing:
    def test_a_second_engine_on_the_store_is_refused_with_who_holds_it(self, desk: Desk) -> None:
        desk.write({"a": desk.waiting()}, repeats=1)
        engine = desk.start()
        until(lambda: begun(desk.store) == 2)

        second = desk.run()
        desk.flag.touch()

        assert engine.wait().code == 0

        refused(second, f"process {engine.pid} on ", "Wait for it to end")

    def test_an_edited_suite_waits_until_the_engine_on_the_store_has_ended(self, desk: Desk) -> None:
        desk.write({"a": desk.waiting(), "b": scripted(0.9)}, repeats=1)
        engine = desk.start()
        until(lambda: begun(desk.store) == 2)
        kept = (desk.store / "experiment.json").read_bytes()
        write_suite(desk.folder / "edited", {"a": desk.waiting(), "b": scripted(0.8)}, repeats=1)

        second = desk.run("-c", str(desk.folder / "edited"))

        refused(second, f"process {engine.pid} on ")
        assert (desk.store / "experiment.json").read_bytes() == kept
        desk.flag.touch()
        assert engine.wait().code == 0
        assert desk.run("-c", str(desk.folder / "edited")).code == 0
        assert sorted(record.trial.arm for record in records(desk.store)) == ["a", "b", "b@2"]

    def test_engines_of_one_suite_on_two_stores_leave_each_other_alone(self, desk: Desk) -> None:
        desk.write({"a": desk.waiting()}, repeats=1)
        engine = desk.start()
        until(lambda: begun(desk.store) == 2)

        other = desk.start("-o", str(desk.folder / "other"))
        until(lambda: begun(desk.folder / "other") == 2)
        desk.flag.touch()

        assert (engine.wait().code, other.wait().code) == (0, 0)
        for store in (desk.store, desk.folder / "other"):
            assert {record.status for record in records(store)} == {Status.COMPLETED}

    @pytest.mark.parametrize(
        ("what", "change"),
        [
            ("arms", {"arms": {"a": scripted(0.4), "b": scripted(0.9)}}),
            ("tasks", {"task": {"checks": [{**DONE, "text": "43"}]}}),
            ("seed", {"seed": 9}),
        ],
    )
    def test_a_store_of_another_experiment_is_refused(self, desk: Desk, what: str, change: dict[str, Any]) -> None:
        desk.write(repeats=1)
        assert desk.run().code == 0
        kept = records(desk.store)
        settings = dict(change)
        write_suite(desk.folder / "changed", settings.pop("arms", ARMS), repeats=1, **settings)

        ended = desk.run("-c", str(desk.folder / "changed"))

        refused(ended, "holds another experiment", f"{what} differ", "change the suite back")
        assert records(desk.store) == kept

    def test_settings_that_do_not_change_a_run_may_change_on_the_way(self, desk: Desk) -> None:
        desk.write(repeats=1)
        desk.run()
        file = desk.suite / "suite.toml"
        file.write_text(file.read_text().replace('"repeats" = 1', '"repeats" = 2\n"budget_usd" = 100'))

        assert desk.run().code == 0
        assert len(records(desk.store)) == 4


Edit = Callable[[str], str]


class TestBadInput:
    @pytest.mark.parametrize(
        ("edit", "words"),
        [
            (lambda text: f"repeat = 3\n{text}", ("suite.toml:1:1", "repeat", "did you mean")),
            (lambda text: text.replace("task-*", "tsk-*"), ("suite.toml", "tsk-*")),
            (lambda text: text.replace('"b" = {', '"b" = {"extends" = "b", '), ("suite.toml", "b", "extends")),
            (lambda text: text.replace('"repeats" = 1', '"repeats" = 0'), ("suite.toml", "repeats")),
            (lambda text: f'budget_usd = "ten"\n{text}', ("suite.toml", "budget_usd")),
            (lambda text: text.replace('"agent" = "scripted"', '"agent" = "script"'), ('"scripted"', "did you mean")),
            (lambda text: text.replace('"baseline" = "a"', '"baseline" = "c"'), ("suite.toml:", 'baseline is "c"')),
            (lambda text: f"{text}\n[", ("suite.toml", "not valid TOML")),
        ],
        ids=["key", "task", "extends", "repeats", "budget", "agent", "baseline", "syntax"],
    )
    def test_a_mistake_in_a_suite_is_named_and_nothing_is_made(
        self, desk: Desk, edit: Edit, words: tuple[str, ...]
    ) -> None:
        desk.write(repeats=1)
        file = desk.suite / "suite.toml"
        file.write_text(edit(file.read_text()))

        refused(desk.run(), *words)
        assert not desk.store.exists()

    @pytest.mark.parametrize(
        ("option", "value"),
        [
            *(("-k", value) for value in ("0", "-1", "two", "1.5", "", "10001", "9" * 30)),
            *(("-j", value) for value in ("0", "many", "1001")),
            *(("--budget", value) for value in ("ten", "0", "-5", "nan", "inf", "1e300", "$5")),
        ],
    )
    def test_nonsense_on_the_command_line_is_refused(self, desk: Desk, outweigh: Any, option: str, value: str) -> None:
        desk.write()

        answer = outweigh("run", "-c", str(desk.suite), "-o", str(desk.store), f"{option}={value}")

        assert (answer.code, answer.out) == (2, "")
        assert f"{value!r} is not " in answer.err
        assert not desk.store.exists()

    def test_a_program_that_is_missing_is_said_so_and_never_replaced(self, desk: Desk) -> None:
        desk.write({"a": {"agent": "shell", "options": {"command": ["no-such-agent", "-p"]}}})

        refused(desk.run(), "arm 'a' cannot run here", "'no-such-agent'", "Install it")
        assert not desk.store.exists()

    def test_a_secret_that_is_missing_is_said_so_before_anything_is_made(self, desk: Desk) -> None:
        desk.write({"a": shell("true", secrets=["SOME_TOKEN"])})

        refused(desk.run(), "SOME_TOKEN", "export it")
        assert not desk.store.exists()

    def test_a_store_that_is_a_file_is_refused(self, desk: Desk) -> None:
        desk.write()
        desk.store.touch()

        refused(desk.run(), str(desk.store))

    def test_stopping_early_needs_the_policy_that_can(self, desk: Desk) -> None:
        desk.write(policy={"name": "gates"})

        refused(desk.run("--until-decided"), "--until-decided", "'gates'")

    def test_stopping_early_cannot_wait_for_judges(self, desk: Desk) -> None:
        desk.write(policy={"gates": ["judge_score"]})

        refused(desk.run("--until-decided"), "judges are asked when all trials have ended")


class TestUntilDecided:
    """A run that ends at a planned look says what that saved, and the verdict is that of the look."""

    def test_a_clear_gain_ends_the_run_early_and_the_verdict_is_made_at_that_look(
        self, desk: Desk, outweigh: Any
    ) -> None:
        arms = {"a": scripted(0.1), "b": scripted(1.0, extra_prompt="Think.")}
        desk.write(arms, tasks=24, repeats=2, policy={"gates": ["pass_rate"]})

        ended = desk.run("--until-decided")
        verdict = outweigh("verdict", str(desk.store), "--format", "json").json()

        looks = verdict["settings"]["looks"]
        left = 24 * 2 * 2 - len(desk.counted())
        assert ended.code == 0, ended.err
        assert f"saved: {left} of 96 planned runs" in ended.err
        assert left > 0
        assert verdict["decision"] == "improved"
        assert (looks["planned_tasks"], looks["tasks"] < 24) == (24, True)

    def test_the_same_command_starts_nothing_more_once_it_is_decided(self, desk: Desk) -> None:
        arms = {"a": scripted(0.1), "b": scripted(1.0, extra_prompt="Think.")}
        desk.write(arms, tasks=24, repeats=2, policy={"gates": ["pass_rate"]})
        desk.run("--until-decided")
        before = len(desk.counted())

        again = desk.run("--until-decided")

        assert again.code == 0, again.err
        assert "decided: " in again.err
        assert len(desk.counted()) == before
