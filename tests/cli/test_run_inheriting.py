"""Claims about `outweigh run` where an arm inherits the best of lower tiers, as its user meets it."""

import json
import shutil
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.cli.engines import Ended, Engine
from tests.cli.test_run import Desk as RunDesk

from outweigh.app.evidence import EvidenceRequest, read_evidence
from outweigh.model.choice import ChoiceRecord
from outweigh.model.line_seal import seal, unseal
from outweigh.store.choice_file import CHOICES_FILE, read_choices
from outweigh.store.experiment_file import EXPERIMENT_FILE, read_experiment
from outweigh.store.run_store import FolderRunStore
from outweigh.store.store_set import StoreSet
from outweigh.testing.builders import a_run

SOLVE = [{"do": "write", "path": "answer.txt", "content": "42"}]


def scripted(tier: int, passes: bool, tokens: int = 100, **more: Any) -> dict[str, Any]:
    """An arm that always passes, or never does."""
    drawn = {
        "solve_probability": 1.0 if passes else 0.0,
        "on_success": SOLVE,
        "cost_usd": 0.1,
        "duration_seconds": 1,
        "input_tokens": tokens,
        "output_tokens": 0,
        "cache_read_tokens": 0,
        "cache_write_tokens": 0,
    }
    return {"agent": "scripted", "tier": tier, "options": {"default": drawn}, **more}


def inheriting(tier: int, *best_of: int, **asked: Any) -> dict[str, Any]:
    return {"tier": tier, "inherit": {"best_of": list(best_of), **asked}, "environment": {f"TIER_{tier}": "1"}}


ARMS = {"base": scripted(0, False), "one-a": scripted(1, True, 900), "one-b": scripted(1, True, 50)}
SMALL = {"tasks": 2, "repeats": 1}


class Desk(RunDesk):
    """The same with other verbs, and with a suite that is edited."""

    def verb(self, *words: str) -> Ended:
        verb, *arguments = words
        engine = Engine(*arguments, str(self.store), verb=verb, temporary=self.temporary, folder=self.folder)
        self.held.callback(engine.close)
        return engine.wait()

    def rewrite(self, arms: dict[str, Any], **settings: Any) -> None:
        shutil.rmtree(self.suite)
        self.write(arms, **settings)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path)
    with desk.held:
        yield desk


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A desk whose suite was run to its end."""
    desk = Desk(tmp_path_factory.mktemp("finished"))
    with desk.held:
        desk.write({**ARMS, "two": inheriting(2, 0, 1)}, **SMALL)
        ended = desk.run()
        (desk.folder / "said").write_text(ended.err)
        assert ended.code == 0, ended.err
    return desk.folder


@pytest.fixture
def done(finished: Path, desk: Desk) -> Desk:
    """A copy of that desk, to be changed at will."""
    for name in ("suite", "store"):
        shutil.copytree(finished / name, desk.folder / name)
    return desk


def choices(desk: Desk) -> dict[str, ChoiceRecord]:
    return {choice.arm: choice for choice in read_choices(desk.store)}


def runs_by_arm(desk: Desk) -> Counter[str]:
    return Counter(run.trial.arm for run in desk.counted())


def rewrite_choice(desk: Desk, **fields: Any) -> None:
    """Edit the first choice as somebody would who also knows of the checksum."""
    first, *others = (desk.store / CHOICES_FILE).read_bytes().splitlines(keepends=True)
    content = json.loads(unseal(first)) | fields
    line = seal(msgspec.json.encode(content))
    (desk.store / CHOICES_FILE).write_bytes(b"".join([line, *others]))


def edit_experiment(desk: Desk, **fields: Any) -> None:
    file = desk.store / EXPERIMENT_FILE
    file.write_text(json.dumps(json.loads(file.read_text()) | fields))


def take_back_the_last_stage(desk: Desk) -> None:
    """Leave the store as a stop right after the choice for `two` would have left it."""
    for name, number in choices(desk)["two"].lines.items():
        file = desk.store / name
        file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[:number]))
    experiment = json.loads((desk.store / EXPERIMENT_FILE).read_text())
    edit_experiment(desk, arms={name: hashed for name, hashed in experiment["arms"].items() if name != "two"})


def test_the_best_arm_of_the_lower_tiers_is_chosen_and_built_on(done: Desk, finished: Path) -> None:
    choice = choices(done)["two"]
    assert choice.chosen == "one-b", "both pass throughout, and it needs fewer tokens"
    assert "two is built on one-b" in (finished / "said").read_text()
    experiment = read_experiment(done.store)
    assert experiment is not None
    assert experiment.arms["two"] == choice.fingerprint
    assert not experiment.versions, "it was planned from the first run on"
    assert runs_by_arm(done) == {"base": 4, "one-a": 4, "one-b": 4, "two": 2}
    built = json.loads((done.store / "artifacts" / choice.fingerprint[:2] / choice.fingerprint).read_bytes())
    assert built["environment"] == {"TIER_2": "1"}
    assert built["options"]["default"]["input_tokens"] == 50


def test_only_held_out_runs_are_reported_and_the_inheriting_arm_is_run_among_them(done: Desk) -> None:
    shown = json.loads(done.verb("ladder", "--format=json").out)
    assert "6 runs of 'base', 'one-a', 'one-b' were made to choose" in json.dumps(shown)
    reported = {row["arm"]: row["reported_repeats"] for row in shown["tiers"]}
    assert reported["one-a"]["first"] == 2
    assert reported["two"] is None, "all of its runs are"
    ordered = sorted(done.counted(), key=lambda run: run.position or 0)
    assert {run.trial.repeat for run in ordered[:6]} == {1}
    later = [(run.trial.arm, run.trial.repeat) for run in ordered[6:]]
    assert set(later) == {("base", 2), ("one-a", 2), ("one-b", 2), ("two", 1)}


def test_an_inheriting_arm_is_compared_with_the_held_out_runs_of_its_block(done: Desk) -> None:
    shown = json.loads(done.verb("compare", "--candidate=two", "--format=json").out)

    assert shown["pairs"]["paired"] == 2
    assert shown["pairs"]["unpaired"] == []


@pytest.mark.parametrize("order", [1, -1])
def test_repeats_for_choosing_are_set_aside_in_their_own_store_only(done: Desk, order: int) -> None:
    other = done.folder / "other"
    with FolderRunStore.open(other) as store:
        store.append(a_run("another-task", "one-a", 1))
    shutil.copy(done.store / EXPERIMENT_FILE, other)
    experiment = json.loads((other / EXPERIMENT_FILE).read_text())
    (other / EXPERIMENT_FILE).write_text(json.dumps({**experiment, "inherits": {}, "choosing_repeats": {}}))
    stores = StoreSet.open([done.store, other][::order])
    evidence = read_evidence(EvidenceRequest(stores=stores))
    reported = {(score.task_id, score.repeat) for score in evidence.arms["one-a"]}
    assert reported == {("another-task", 1), *((task, 2) for task in experiment["tasks"])}


def test_a_chain_of_three_tiers_is_chosen_link_by_link_with_the_first_tier_in_every_block(desk: Desk) -> None:
    other = {**inheriting(2, 0, 1), "environment": {"OTHER": "1"}}
    desk.write({**ARMS, "two": inheriting(2, 0, 1), "other": other, "three": inheriting(3, 1, 2)}, **SMALL)
    ended = desk.run()
    assert ended.code == 0, ended.err
    found = choices(desk)
    assert found["two"].chosen == found["other"].chosen == "one-b"
    assert found["two"].fingerprint != found["other"].fingerprint
    assert "two and other are built on one-b" in ended.err
    assert [each.arm for each in found["three"].candidates] == ["one-a", "one-b", "two", "other"]
    assert runs_by_arm(desk) == {"base": 6, "one-a": 4, "one-b": 4, "two": 4, "other": 4, "three": 2}
    ordered = sorted(desk.counted(), key=lambda run: run.position or 0)
    for _, block in groupby(ordered, key=lambda run: run.trial.task_id):
        assert "base" in {run.trial.arm for run in block}


def test_a_run_that_is_repeated_changes_nothing(done: Desk) -> None:
    before = (done.store / CHOICES_FILE).read_bytes(), runs_by_arm(done)
    ended = done.run()
    assert ended.code == 0, ended.err
    assert ((done.store / CHOICES_FILE).read_bytes(), runs_by_arm(done)) == before


def test_where_nothing_can_be_chosen_the_arm_is_not_run_and_the_others_are(desk: Desk) -> None:
    arms = {
        "base": scripted(0, True),
        "one": scripted(1, False),
        "two": inheriting(2, 1),
        "three": scripted(3, True, 7),
    }
    desk.write(arms, **SMALL)
    ended = desk.run()
    assert ended.code == 3
    assert "two is not run: no arm can be chosen by pass rate ('one': its pass rate is 0)" in ended.err
    assert "two" not in runs_by_arm(desk)
    assert runs_by_arm(desk)["three"] == 2
    assert "'two' was not run: no arm can be chosen" in desk.verb("ladder", "--format=json").out
    again = desk.run()
    assert again.code == 3, "it is tried again, with the same result"
    assert "two is not run" in again.err


def test_an_edited_choice_is_refused_by_readers_and_by_the_next_run(done: Desk) -> None:
    rewrite_choice(done, chosen="one-a")
    for ended in (done.verb("compare"), done.verb("verdict"), done.run()):
        assert ended.code == 3
        assert "the choice for 'two' is 'one-a', and its records lead to 'one-b'" in ended.err


def test_a_choice_that_lists_a_candidate_twice_is_refused(done: Desk) -> None:
    listed = msgspec.to_builtins(choices(done)["two"].candidates)
    rewrite_choice(done, candidates=[*listed, listed[-1]])
    ended = done.verb("compare")
    assert ended.code == 3
    assert "the choice for 'two' lists other candidates than those that its records lead to" in ended.err


def test_an_edited_run_that_a_choice_rests_on_is_named(done: Desk) -> None:
    file = done.store / "runs-engine.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    place = next(n for n, line in enumerate(lines) if b'"arm":"one-b"' in line and b'"repeat":1' in line)
    run = json.loads(unseal(lines[place]))
    run["usage"]["input_tokens"] = 99_999
    lines[place] = seal(msgspec.json.encode(run))
    file.write_bytes(b"".join(lines))
    ended = done.verb("compare")
    assert ended.code == 3
    assert "the choice for 'two' rests on runs or judgments of 'one-b' that have changed since" in ended.err


def test_a_store_that_lost_its_choices_is_refused(done: Desk) -> None:
    (done.store / CHOICES_FILE).unlink()
    ended = done.run()
    assert ended.code == 3
    assert "'two' was built, and choices.jsonl does not say on which arm" in ended.err


@pytest.mark.parametrize(
    ("field", "words"),
    [
        ("choosing_repeats", "the repeats of 'base', 'one-a', 'one-b' that it was made by are not set aside"),
        ("inherits", "the choice for 'two' was made by other settings of inherit"),
    ],
)
def test_runs_for_choosing_cannot_be_reported_by_an_edit_of_the_experiment(done: Desk, field: str, words: str) -> None:
    edit_experiment(done, **{field: {}})
    for ended in (done.verb("ladder"), done.verb("compare")):
        assert ended.code == 3
        assert words in ended.err


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"one-b": scripted(1, True, 51)}, "'one-b@2'"),
        ({"one-c": scripted(1, True, 10)}, "'one-c'"),
    ],
)
def test_other_arms_to_choose_from_need_another_store(done: Desk, changed: dict[str, Any], words: str) -> None:
    done.rewrite({**ARMS, **changed, "two": inheriting(2, 0, 1)}, **SMALL)
    ended = done.run()
    assert ended.code == 2
    assert "'two' was built on the best of 'base', 'one-a', 'one-b'" in ended.err
    assert words in ended.err


def test_other_rules_to_choose_by_need_another_store(done: Desk) -> None:
    done.rewrite({**ARMS, "two": inheriting(2, 0, 1, margin=0.2)}, **SMALL)
    ended = done.run()
    assert ended.code == 2
    assert "inherit differ" in ended.err


def test_a_store_remembers_an_inheriting_arm_that_the_suite_has_no_longer(done: Desk) -> None:
    done.rewrite({**ARMS, "new": scripted(3, True, 7)}, **SMALL)
    ended = done.run()
    assert ended.code == 0, ended.err
    assert runs_by_arm(done)["new"] == 2
    assert done.verb("ladder").code == 0
    overview = json.loads(done.verb("store", "show", "--format=json").out)
    assert overview["choices"].keys() == {"two"}
    assert done.run().code == 0


def test_a_store_awaits_no_choice_for_an_arm_that_the_suite_has_no_longer(done: Desk) -> None:
    experiment = json.loads((done.store / EXPERIMENT_FILE).read_text())
    edit_experiment(done, inherits={**experiment["inherits"], "gone": {"best_of": [2], "held_out": False}})
    overview = json.loads(done.verb("store", "show", "--format=json").out)
    assert overview["choices"].keys() == {"two"}
    assert "gone" not in overview["arms"]
    assert 'is_optimistic": true' not in done.verb("ladder", "--format=json").out


def test_an_arm_that_nothing_could_be_chosen_for_cannot_become_another_one(desk: Desk) -> None:
    arms = {"base": scripted(0, True), "one": scripted(1, False), "two": inheriting(2, 1), "three": inheriting(3, 0)}
    desk.write(arms, **SMALL)
    desk.run()
    desk.rewrite({**arms, "two": scripted(2, True, 7)}, **SMALL)
    ended = desk.run()
    assert ended.code == 2
    assert "inherit differ" in ended.err
    assert desk.verb("ladder").code == 0


def test_an_arm_that_was_changed_between_its_choice_and_its_first_run_is_not_run(done: Desk) -> None:
    take_back_the_last_stage(done)
    before = runs_by_arm(done)
    done.rewrite({**ARMS, "two": {**inheriting(2, 0, 1), "environment": {"OTHER": "1"}}}, **SMALL)
    ended = done.run()
    assert ended.code == 2
    assert "'two' is not the arm that was to be built on 'one-b'" in ended.err
    assert "change it back, or name another folder with -o" in ended.err
    assert runs_by_arm(done) == before
    done.rewrite({**ARMS, "two": inheriting(2, 0, 1)}, **SMALL)
    assert done.run().code == 0, "as it was, it is run"


def test_more_repeats_of_arms_that_are_chosen_from_need_another_store(done: Desk) -> None:
    ended = done.run("-k", "2")
    assert ended.code == 2
    assert "repeats of arms that are chosen from differ" in ended.err


def test_without_held_out_repeats_figures_are_called_optimistic(desk: Desk) -> None:
    desk.write({**ARMS, "two": inheriting(2, 0, 1, held_out=False)}, **SMALL)
    desk.run()
    assert runs_by_arm(desk) == {"base": 4, "one-a": 2, "one-b": 2, "two": 2}
    shown = desk.verb("ladder", "--format=json").out
    assert {row["arm"]: (row["reported_repeats"] or {}).get("is_optimistic") for row in json.loads(shown)["tiers"]} == {
        "base": True,
        "one-a": True,
        "one-b": True,
        "two": None,
    }
    assert "'one-b' was chosen for 'two' by the runs that are reported (held_out = false)" in shown
    assert "when shrunken for the choice" in shown


def test_a_dry_run_tells_how_many_runs_there_are_and_what_is_not_known_yet(desk: Desk) -> None:
    desk.write({**ARMS, "two": inheriting(2, 0, 1)}, **SMALL)
    ended = desk.run("--dry-run")
    assert "2 tasks × 4 arms, 14 runs" in ended.out
    assert "two is built on the best arm of tier 0 and 1 by evidence ('base', 'one-a', 'one-b')" in ended.out
    assert "6 runs of 'base', 'one-a', 'one-b' are for choosing only; as many again are held out" in ended.out
    assert not desk.store.exists()


def test_a_status_counts_the_runs_that_are_planned_of_each_arm(done: Desk) -> None:
    overview = json.loads(done.verb("store", "show", "--format=json").out)
    assert {name: arm["missing"] for name, arm in overview["arms"].items()} == dict.fromkeys([*ARMS, "two"], 0)
    assert overview["choices"]["two"].startswith("built on one-b: its pass rate is 100 %; 'one-a' counts as equal")


def test_a_store_says_that_arms_have_different_numbers_of_repeats(done: Desk) -> None:
    assert "2 tasks × 4 arms × up to 2 repeats" in done.verb("store", "show").out


def test_a_store_says_what_an_inheriting_arm_waits_for(done: Desk) -> None:
    (done.store / CHOICES_FILE).unlink()
    overview = json.loads(done.verb("store", "show", "--format=json").out)
    assert overview["choices"]["two"] == "waits for the runs of tier 0 and 1"


def test_a_plan_says_how_many_runs_there_are_and_what_is_not_known_yet(done: Desk) -> None:
    engine = Engine("-c", str(done.suite), "--verbose", verb="plan", temporary=done.temporary, folder=done.folder)
    done.held.callback(engine.close)
    said = " ".join(engine.wait().out.split())
    assert "the suite is run in 2 stages, 14 runs in all, of which 6 are for choosing only" in said
    assert "two is built on the best arm of tier 0 and 1 by evidence" in said


def test_between_two_stages_nothing_is_said_to_be_complete(finished: Path) -> None:
    said = (finished / "said").read_text()
    assert "done: 6 of 6 trials have a result (8 more follow after a choice)" in said
    assert said.count("next: outweigh verdict") == 1


def test_looks_cannot_be_planned_for_arms_that_are_not_known(desk: Desk) -> None:
    desk.write({**ARMS, "two": inheriting(2, 0, 1)}, **SMALL)
    ended = desk.run("--until-decided")
    assert ended.code == 2
    assert "--until-decided cannot be used where arms inherit from lower tiers" in ended.err


class TestTierBudget:
    def test_a_tier_stops_at_its_budget_and_the_others_go_on(self, desk: Desk) -> None:
        desk.write(ARMS, tasks=3, repeats=2, tiers={"1": {"budget_usd": 0.55}}, limits={"budget_usd": 0.1})
        ended = desk.run()
        assert ended.code == 4
        counts = runs_by_arm(desk)
        assert counts["base"] == 6
        assert counts["one-a"] + counts["one-b"] == 5
        assert "nothing more is started of one-a, one-b: the budget of their tier is used up" in ended.err

    def test_a_resumed_run_counts_what_the_tier_has_spent(self, desk: Desk) -> None:
        settings: dict[str, Any] = {"tasks": 3, "repeats": 2, "limits": {"budget_usd": 0.1}}
        desk.write(ARMS, **settings, tiers={"1": {"budget_usd": 0.55}})
        desk.run()
        assert desk.run().code == 4
        assert runs_by_arm(desk).total() == 11

    def test_an_arm_is_chosen_from_what_the_budget_of_the_tier_allowed(self, desk: Desk) -> None:
        arms = {**ARMS, "two": inheriting(2, 1)}
        desk.write(arms, tasks=3, repeats=1, tiers={"1": {"budget_usd": 0.65}}, limits={"budget_usd": 0.1})
        ended = desk.run()
        assert ended.code == 4
        assert choices(desk)["two"].chosen is not None
        assert runs_by_arm(desk)["two"] == 3


def test_a_choice_is_on_the_disk_before_the_first_run_by_it_begins(done: Desk) -> None:
    first = min(run.started_at for run in done.counted() if run.trial.arm == "two" and run.started_at is not None)
    assert choices(done)["two"].chosen_at <= first
