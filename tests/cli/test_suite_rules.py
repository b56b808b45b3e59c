"""The rules that a suite states are the ones that its store is read by; the command line wins, and it shows."""

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.cli.stores import write_store
from tests.engine.engine_fixtures import Arms, shell, write_suite

from outweigh.model.run_record import REUSED_LABEL, RULES_LABEL, RunRecord
from outweigh.model.suite import PolicySpec
from outweigh.testing.builders import a_run, runs_of_arm

TASKS = 8
MOSTLY = [[True, True], [True, False]] * (TASKS // 2)


def runs(*arms: str) -> list[RunRecord]:
    return [run for arm in arms for run in runs_of_arm(arm, MOSTLY)]


def a_store(folder: Path, **words: Any) -> str:
    return write_store(folder, runs("plain", "new"), ("plain", "new"), **words)


@pytest.fixture
def gated(tmp_path: Path) -> str:
    """A suite that gates on two things, one of them with a margin of its own."""
    policy = PolicySpec(gates=["pass_rate", "duration"], margins={"duration": 0.2, "pass_rate": 0.1})
    return a_store(tmp_path / "gated", policy=policy)


def margins(answer: Any) -> dict[str, float]:
    return {gate["name"]: gate["margin"] for gate in answer["gates"]}


class TestThePolicy:
    def test_is_the_suites(self, outweigh: Any, gated: str) -> None:
        answer = outweigh("verdict", gated, "--format", "json").json()

        assert margins(answer) == {"pass_rate": 0.1, "duration": 0.2}
        assert answer["policy_from"] == "suite"

    @pytest.mark.parametrize("name", ["gates", "composite"])
    def test_may_be_a_literal_one(self, outweigh: Any, tmp_path: Path, name: str) -> None:
        store = a_store(tmp_path / "store", policy=PolicySpec(name=name))

        answer = outweigh("verdict", store, "--verbose")

        assert f"policy {name} (suite)" in answer.out.splitlines()[0]

    def test_is_shown_in_a_report_with_who_chose_it(self, outweigh: Any, gated: str, tmp_path: Path) -> None:
        outweigh("report", gated, "-o", str(tmp_path / "report.md"))
        page = (tmp_path / "report.md").read_text()

        assert "policy evidence (suite)" in page.splitlines()[0]
        assert "policy, gates and margins chosen by: suite" in page
        assert "pass_rate 0.1" in page.replace("\\", "")

    def test_gives_way_to_margins_of_the_command_line_one_by_one(self, outweigh: Any, gated: str) -> None:
        answer = outweigh("verdict", gated, "--margin", "duration=0.3", "--format", "json").json()

        assert margins(answer) == {"pass_rate": 0.1, "duration": 0.3}
        assert answer["policy_from"] == "suite and command line"

    def test_gives_way_to_gates_of_the_command_line_with_the_margins_that_go(self, outweigh: Any, gated: str) -> None:
        answer = outweigh("verdict", gated, "--gates", "pass_rate", "--format", "json").json()

        assert margins(answer) == {"pass_rate": 0.1}

    def test_leaves_nothing_behind_when_the_command_line_names_another(self, outweigh: Any, gated: str) -> None:
        answer = outweigh("verdict", gated, "--policy", "evidence", "--format", "json").json()

        assert margins(answer)["pass_rate"] == 0.05
        assert answer["policy_from"] == "command line"

    def test_is_the_default_where_no_store_says_anything(self, outweigh: Any, gated: str) -> None:
        arms = ("--baseline", "plain", "--candidate", "new")
        answer = outweigh("verdict", f"{gated}/runs-engine.jsonl", *arms, "--verbose")

        assert "policy evidence (default)" in answer.out

    def test_does_not_change_the_hash_of_an_answer_by_who_chose_it(self, outweigh: Any, tmp_path: Path) -> None:
        store = a_store(tmp_path / "store")
        suite = outweigh("verdict", store, "--format", "json").json()
        told = outweigh("verdict", store, "--policy", "evidence", "--format", "json").json()

        assert (suite["policy_from"], told["policy_from"]) == ("suite", "command line")
        assert suite["verdict_sha256"] == told["verdict_sha256"]

    def test_of_two_stores_that_differ_must_be_chosen(self, outweigh: Any, gated: str, tmp_path: Path) -> None:
        other = write_store(tmp_path / "other", runs("third"), ("third",), policy=PolicySpec(name="gates"))
        arms = ("--baseline", "plain", "--candidate", "third")

        answer = outweigh("verdict", gated, other, *arms)
        chosen = outweigh("verdict", gated, other, *arms, "--policy", "gates", "--verbose")

        assert answer.code == 2
        assert "different policies; choose one with --policy" in answer.err
        assert "policy gates (command line)" in chosen.out


class TestTheProfile:
    @pytest.mark.parametrize("verb", ["compare", "report"])
    def test_is_the_suites_unless_told(self, outweigh: Any, tmp_path: Path, verb: str) -> None:
        store = a_store(tmp_path / "store", profile="even")

        def profile(*told: str) -> str:
            if verb == "compare":
                return str(outweigh("compare", store, *told, "--format", "json").json()["profile"])
            target = tmp_path / "report.json"
            outweigh("report", store, *told, "-o", str(target))
            return str(json.loads(target.read_text())["provenance"]["profile"])

        assert profile() == "even"
        assert profile("--profile", "objective_first") == "objective_first"

    def test_of_two_stores_that_differ_must_be_chosen(self, outweigh: Any, tmp_path: Path) -> None:
        one = a_store(tmp_path / "one", profile="even")
        two = write_store(tmp_path / "two", runs("third"), ("third",))

        answer = outweigh("compare", one, two, "--baseline", "plain", "--candidate", "third")

        assert answer.code == 2
        assert "even and objective_first; choose one with --profile" in answer.err


class TestLooking:
    """A run that ends at a decision has looked at its data; a verdict that pretends otherwise errs too often."""

    def test_a_store_that_was_run_until_decided_gets_a_sequential_verdict(self, outweigh: Any, tmp_path: Path) -> None:
        answer = outweigh("verdict", a_store(tmp_path / "store", looked_at=40), "--format", "json").json()

        assert answer["settings"]["planned_tasks"] == 40

    def test_where_it_is_sharpest_may_be_told(self, outweigh: Any, tmp_path: Path) -> None:
        store = a_store(tmp_path / "store", looked_at=40)

        answer = outweigh("verdict", store, "--planned-tasks", "50", "--format", "json").json()

        assert answer["settings"]["planned_tasks"] == 50

    def test_it_cannot_speak_of_fixed_tasks(self, outweigh: Any, tmp_path: Path) -> None:
        answer = outweigh("verdict", a_store(tmp_path / "store", looked_at=40), "--infer", "runs")

        assert answer.code == 2
        assert "--until-decided" in answer.err

    def test_a_literal_policy_does_not_count_looks(self, outweigh: Any, tmp_path: Path) -> None:
        answer = outweigh("verdict", a_store(tmp_path / "store", looked_at=40), "--policy", "gates", "--verbose")

        assert "policy gates (command line)" in answer.out


class TestTheLadder:
    ARMS = ("b", "c", "a")

    def rungs(self, outweigh: Any, folder: Path, *told: str, **words: Any) -> tuple[list[str], str]:
        store = write_store(folder, runs(*self.ARMS), self.ARMS, **words)
        answer = outweigh("ladder", store, *told, "--format", "json").json()
        return [tier["arm"] for tier in answer["tiers"]], " ".join(answer["warnings"])

    def test_goes_by_the_suites_tiers(self, outweigh: Any, tmp_path: Path) -> None:
        rungs, warnings = self.rungs(outweigh, tmp_path / "s", tiers={"a": 2, "b": 1, "c": 0})

        assert rungs == ["c", "b", "a"]
        assert "ranked by arm name" not in warnings

    def test_names_the_arms_that_have_no_tier(self, outweigh: Any, tmp_path: Path) -> None:
        rungs, warnings = self.rungs(outweigh, tmp_path / "s", tiers={"a": 2, "c": 0})

        assert rungs == ["c", "a"]
        assert "no tier are left out: 'b'" in warnings

    def test_starts_at_the_suites_baseline_where_no_arm_has_a_tier(self, outweigh: Any, tmp_path: Path) -> None:
        rungs, warnings = self.rungs(outweigh, tmp_path / "s", baseline="b")

        assert rungs == ["b", "a", "c"]
        assert "ranked by arm name (b, a, c)" in warnings

    def test_goes_by_the_command_line_first(self, outweigh: Any, tmp_path: Path) -> None:
        assert self.rungs(outweigh, tmp_path / "s", "--order", "a,b", tiers={"a": 2, "c": 0})[0] == ["a", "b"]


class TestTheSelfCheck:
    """`outweigh suite aa` must try the rule that will decide, or what it acquits is another one."""

    def test_tries_the_suites_gates_and_margins(self, outweigh: Any, tmp_path: Path) -> None:
        noisy = [run for arm in ("plain", "new") for run in self._noise(arm)]
        strict = write_store(tmp_path / "strict", noisy, ("plain", "new"), policy=PolicySpec(gates=["duration"]))
        wide = write_store(
            tmp_path / "wide",
            noisy,
            ("plain", "new"),
            policy=PolicySpec(gates=["duration"], margins={"duration": 0.99}),
        )

        words = ("--splits", "20", "--seed", "3", "--format", "json")
        said = {store: outweigh("suite", "aa", store, *words).json() for store in (strict, wide)}

        assert [said[store]["policies"]["evidence"]["neutral"] for store in (strict, wide)] == [0.0, 1.0]
        assert (said[wide]["deciding"], said[wide]["policy_from"]) == ("evidence", "suite")

    def test_tries_the_suites_thresholds(self, outweigh: Any, tmp_path: Path) -> None:
        deaf = {"min_composite_gain": 99.0, "regression_composite_drop": 1.0, "objective_drop_is_regression": 0.0}
        store = a_store(tmp_path / "store", policy=PolicySpec(name="composite", margins=deaf))

        own = outweigh("suite", "aa", store, "--splits", "20", "--format", "json").json()
        default = outweigh("suite", "aa", store, "--splits", "20", "--policy", "composite", "--format", "json").json()

        assert own["policies"]["composite"]["false_alarms"] == 0.0
        assert default["policies"]["composite"]["false_alarms"] > 0.0
        assert (own["deciding"], default["policy_from"]) == ("composite", "command line")

    @staticmethod
    def _noise(arm: str) -> list[RunRecord]:
        return [
            a_run(f"task-{task}", arm, repeat, duration_seconds=100.0 + 30 * ((task * 7 + repeat * 3) % 5))
            for task in range(10)
            for repeat in range(1, 5)
        ]


@pytest.mark.parametrize("verb", ["verdict", "compare", "report"])
def test_rules_beside_records_that_are_named_file_by_file_are_not_passed_over_in_silence(
    outweigh: Any, gated: str, verb: str
) -> None:
    arms = ("--baseline", "plain", "--candidate", "new")

    apart = outweigh(verb, str(Path(gated, "runs-engine.jsonl")), *arms)
    whole = outweigh(verb, gated, *arms)

    assert "says in experiment.json by which rules its runs are compared" in " ".join(apart.out.split())
    assert "by which rules its runs" not in " ".join(whole.out.split())


class TestAnEdit:
    """Rules that are changed once results are in decide nothing, also where they are changed behind our back."""

    @pytest.fixture
    def made(self, tmp_path: Path, outweigh: Any) -> Path:
        arms: Arms = {"plain": shell("true"), "new": shell("exit 0")}
        suite = write_suite(tmp_path / "suite", arms, repeats=2, sandbox={"kind": "local"})
        store = tmp_path / "store"
        done = outweigh("run", "-c", str(suite), "-o", str(store), "--yes")
        assert done.code == 0, done.err
        return store

    def test_of_the_rules_beside_records_that_name_others_is_refused_with_the_way_out(
        self, made: Path, outweigh: Any
    ) -> None:
        untouched = outweigh("verdict", str(made))
        file = made / "experiment.json"
        file.write_text(file.read_text().replace('"name": "evidence"', '"name": "gates"'))

        edited = outweigh("verdict", str(made))
        arms = ("--baseline", "plain", "--candidate", "new")
        alone = outweigh("verdict", str(made / "runs-engine.jsonl"), *arms, "--verbose")

        assert "experiment.json was edited" not in untouched.err
        assert (edited.code, edited.out) == (3, "")
        assert "experiment.json was edited: its policy, profile or looks" in edited.err
        assert "policy evidence (default)" in alone.out

    def test_elsewhere_does_not_matter_to_runs_that_were_taken_over(self, tmp_path: Path, outweigh: Any) -> None:
        taken = [
            replace(run, extra={RULES_LABEL: "0" * 64, REUSED_LABEL: {"run_id": "there"}})
            for run in runs("plain", "new")
        ]
        store = write_store(tmp_path / "store", taken, ("plain", "new"))

        assert "was edited" not in outweigh("verdict", store).err

    def test_tiers_keep_their_numbers_and_uplift_is_over_the_suites_baseline(
        self, outweigh: Any, tmp_path: Path
    ) -> None:
        arms = ("base", "other", "mid", "top")
        tiers = {"other": 0, "base": 0, "mid": 1, "top": 3}
        store = write_store(tmp_path / "s", runs(*arms), arms, tiers=tiers)

        answer = outweigh("ladder", store, "--format", "json").json()
        text = outweigh("ladder", store, "--verbose").out

        assert {tier["arm"]: tier["tier"] for tier in answer["tiers"]} == tiers
        assert [level["tier"] for level in answer["levels"]] == [0, 1, 3]
        assert (answer["first"], answer["baseline"]) == ("base", "base")
        assert "3 tiers" in text
