"""The answer on one screen: a sentence that anybody understands, gates as bars, what blocks, what next."""

import re
import shlex
from typing import Any

import pytest
from msgspec.structs import replace
from tests.verdict.two_arms import experiment

from outweigh.compare.comparison import compare_arms
from outweigh.model.run_record import AgentKind
from outweigh.report.comparison_tables import arms_table, format_chance
from outweigh.report.document import Report, Tone
from outweigh.report.next_step import VerdictCommand, next_step
from outweigh.report.render_markdown import MarkdownReporter
from outweigh.report.render_text import SCREEN_WIDTH, TextReporter
from outweigh.report.verdict_page import verdict_report
from outweigh.report.verdict_sentence import with_gate_titles
from outweigh.report.verdict_summary import SCREEN_HEIGHT, Screen, verdicts_summary
from outweigh.testing.builders import a_judgment, evidence_of
from outweigh.verdict.decision import Decision, GateState, PolicySource
from outweigh.verdict.evidence_policy import decide_by_evidence
from outweigh.verdict.evidence_settings import evidence_settings


def decided(records: Any, **settings: Any) -> Any:
    comparison = compare_arms(evidence_of(records), "old", "new")
    (verdict,) = decide_by_evidence([comparison], evidence_settings(**settings))
    return verdict, comparison


def screen(width: int = SCREEN_WIDTH, store: str | None = "runs/demo") -> Screen:
    command = VerdictCommand(words="outweigh verdict runs/demo", runs=("runs/demo",), store=store)
    return Screen(command=command, width=width)


def brief(verdict: Any, comparison: Any, width: int = SCREEN_WIDTH) -> str:
    report = verdicts_summary([verdict], [comparison], screen(width))
    return TextReporter(colour=False, width=width).render(report)


def pretended(comparison: Any) -> Any:
    """The same comparison, as if its agents only pretended."""
    return replace(comparison, agent_kinds=frozenset({AgentKind.SCRIPTED}))


EVERY_DECISION = pytest.mark.parametrize(
    ("decision", "gain", "speed", "tasks", "value"),
    [
        (Decision.IMPROVED, 0.25, 0.9, 40, None),
        (Decision.REGRESSED, -0.25, 0.7, 40, None),
        (Decision.INCONCLUSIVE, 0.0, 1.0, 12, None),
        (Decision.TRADE_OFF, 0.3, 1.4, 40, None),
        (Decision.IMPROVED, 0.3, 1.4, 40, 50.0),
    ],
)


@EVERY_DECISION
@pytest.mark.parametrize("width", [80, 100])
def test_every_decision_fits_one_screen_with_warnings_and_findings(
    decision: Decision, gain: float, speed: float, tasks: int, value: float | None, width: int
) -> None:
    verdict, comparison = decided(experiment(gain, speed=speed, tasks=tasks), value_usd=value)
    long = "this is a long sentence about something that might matter to whoever reads the verdict. "
    warned = replace(verdict, warnings=(4 * long, long), blockers=(4 * long, long))
    lines = brief(warned, comparison, width).splitlines()

    assert verdict.decision is decision
    assert len(lines) <= SCREEN_HEIGHT
    assert max(map(len, lines)) <= width
    assert lines[0].startswith(decision.words.upper())


@EVERY_DECISION
def test_no_screen_has_a_number_that_people_do_not_write(
    decision: Decision, gain: float, speed: float, tasks: int, value: float | None
) -> None:
    text = brief(*decided(experiment(gain, speed=speed, tasks=tasks), value_usd=value))

    assert decision.words.upper() in text
    assert not re.findall(r"(?<![\d$])\d+\.\d{3,}|\de[+-]\d|\$\d+\.\d{4,}", text)
    assert not re.findall(r"pass_rate|non_cache_tokens|cost_usd|duration_seconds|not_shown|trade_off", text)


def test_the_figures_of_both_arms_stand_beside_every_bar() -> None:
    text = brief(*decided(experiment(0.25, speed=0.9)))

    (rates,) = re.findall(r"pass rate +(\d+ %) +(\d+ %) .*[├◀].*\+\d+ points \(\+\d+ to \+\d+\) +holds", text)
    assert rates[0] < rates[1]
    assert re.search(r"duration +\d+ s +\d+ s ", text)
    assert re.search(r"cost +\$0\.\d\d +\$0\.\d+ ", text)


def test_a_pretended_agent_spends_no_dollars() -> None:
    verdict, comparison = decided(experiment(0.25, speed=0.9))
    text = brief(verdict, pretended(comparison))

    assert "$" not in text
    assert re.search(r"cost +simulated +simulated ", text)
    assert "simulated agent" in text.splitlines()[0]


@pytest.mark.parametrize(
    ("gain", "speed", "settings", "command"),
    [
        (0.3, 1.4, {}, "outweigh verdict runs/demo --value 10"),
        (0.25, 0.9, {}, "outweigh promote runs/demo --candidate new"),
        (0.0, 1.0, {}, "outweigh plan runs/demo --candidate new"),
        (-0.25, 1.0, {}, "outweigh diff runs/demo "),
    ],
)
def test_the_next_command_stands_on_a_line_of_its_own(
    gain: float, speed: float, settings: dict[str, Any], command: str
) -> None:
    lines = [line.strip() for line in brief(*decided(experiment(gain, speed=speed), **settings)).splitlines()]

    assert any(line.startswith(command) for line in lines)


def test_a_task_whose_checks_are_unknown_is_not_taken_for_the_one_that_lost_most() -> None:
    records = experiment(-0.25)
    (lost,) = re.findall(r"outweigh diff runs/demo ([^/]+)/", brief(*decided(records)))
    hidden = [
        replace(record, checks=None) if (record.trial.task_id, record.trial.arm) == (lost, "new") else record
        for record in records
    ]

    (shown,) = re.findall(r"outweigh diff runs/demo ([^/]+)/", brief(*decided(hidden)))

    assert shown != lost


def test_a_long_command_goes_on_where_a_shell_reads_on() -> None:
    verdict, comparison = decided(experiment(0.0))
    named = VerdictCommand(
        words="outweigh verdict x", runs=("a folder/" * 7 + "runs.jsonl",), arm_options=("--baseline", "old")
    )
    report = verdicts_summary([verdict], [comparison], Screen(command=named))
    text = TextReporter(colour=False).render(report)

    (pasted,) = re.findall(r"^ +(outweigh plan (?:.*\\\n)*.*)$", text, re.MULTILINE)
    assert "\\\n" in pasted
    assert shlex.split(pasted.replace("\\\n", "")) == [
        "outweigh",
        "plan",
        *named.runs,
        "--baseline",
        "old",
        "--candidate",
        "new",
    ]
    assert max(map(len, text.splitlines())) <= SCREEN_WIDTH


def test_a_run_that_lost_is_named_beside_one_that_passed() -> None:
    verdict, comparison = decided(experiment(-0.25))
    step = next_step(verdict, comparison, screen().command)

    assert step.command is not None
    names = step.command.split()[3:]
    passed = {f"{run.task_id}/old/{run.repeat}" for run in comparison.baseline_table.runs if run.passed}
    failed = {f"{run.task_id}/new/{run.repeat}" for run in comparison.candidate_table.runs if not run.passed}
    assert names[0] in passed
    assert names[1] in failed
    assert names[0].split("/")[0] == names[1].split("/")[0]


def test_nothing_to_promote_from_is_not_offered_a_promotion() -> None:
    verdict, comparison = decided(experiment(0.25, speed=0.9))
    alone = VerdictCommand(words="outweigh verdict x.csv", runs=("x.csv",), arm_options=("--baseline", "old"))

    assert next_step(verdict, comparison, alone).command == "outweigh report x.csv --baseline old -o report.html"


def test_a_trade_off_tells_both_halves_and_the_price_of_one_more_solved_task() -> None:
    text = " ".join(brief(*decided(experiment(0.3, speed=1.4))).split())

    assert "points more often (" in text
    assert "% more per run" in text
    assert "one more solved task costs $0.1" in text
    assert "TRADE-OFF" in text


def test_a_resource_is_one_bar_by_its_total_unless_only_the_typical_run_explains_its_state() -> None:
    verdict, comparison = decided(experiment(0.0, tasks=12))
    text = brief(verdict, comparison)
    gate = next(gate for gate in verdict.gates if gate.name == "cost")
    assert gate.evidence is not None
    assert gate.evidence.total is not None
    within = replace(gate.evidence, total=replace(gate.evidence.total, effect=0.0, low=-0.01, high=0.01))
    beyond = replace(within, effect=0.1, low=-0.1, high=0.3)
    shown = replace(verdict, gates=(replace(gate, state=GateState.NOT_SHOWN, evidence=beyond),))

    assert text.count("  cost ") == 1
    assert "typical" not in text
    assert re.search(r"cost, typical .*\+10 % \(-10 to \+30\) +not shown", brief(shown, comparison))


def test_an_inconclusive_answer_says_why_and_what_would_decide() -> None:
    verdict, comparison = decided(experiment(0.0, tasks=12))
    text = " ".join(brief(verdict, comparison).split())

    assert verdict.in_the_way is not None
    assert f"Why {with_gate_titles(verdict.in_the_way.detail)}" in text
    assert re.search(r"about [\d,]+ more tasks \(about \$[\d.,]+\) would probably decide", text)


def test_what_is_generalised_to_is_said_once_and_in_full() -> None:
    verdict, comparison = decided(experiment(0.0, tasks=12))

    assert brief(verdict, comparison).count("tasks like these") == 1
    assert "Applies to tasks like these 12, run by the same agents and models" in " ".join(
        brief(verdict, comparison).split()
    )


def test_an_effect_of_unknown_sign_is_told_as_a_range() -> None:
    text = " ".join(brief(*decided(experiment(0.0))).split())

    assert "new passes between " in text
    assert " points more often, for " in text


def test_several_candidates_have_a_table_first_a_few_lines_each_and_one_next_command() -> None:
    better, worse = decided(experiment(0.25, speed=0.9)), decided(experiment(-0.25))
    other = replace(better[1], candidate=replace(better[1].candidate, name="other"))
    report = verdicts_summary([worse[0], better[0], better[0]], [worse[1], better[1], other], screen())
    lines = TextReporter(colour=False).render(report).splitlines()

    assert len(lines) <= SCREEN_HEIGHT
    assert max(map(len, lines)) <= SCREEN_WIDTH
    assert lines[0].startswith("2 of 3 candidates improved on old (40 tasks × 5 repeats)")
    assert [line.split()[1] for line in lines[3:6]] == ["improved", "improved", "regressed"]
    assert sum(line.startswith("Next") for line in lines) == 1


@pytest.mark.parametrize("width", [80, 100])
def test_long_names_of_arms_leave_room_for_the_figures(width: int) -> None:
    verdict, comparison = decided(experiment(0.25, speed=0.9))
    before, after = "claude-code claude-opus-4-5 @a88211b", "claude-code claude-opus-4-5 +house-style @33c3f8b"
    named = replace(
        pretended(comparison),
        baseline=replace(comparison.baseline, name=before),
        candidate=replace(comparison.candidate, name=after),
    )
    lines = brief(verdict, named, width).partition("\nNext")[0].splitlines()

    assert max(map(len, lines)) <= width
    assert lines[0].endswith("(40 tasks × 5 repeats, simulated agent)")
    assert lines[2].startswith("the candidate passes ")
    assert (["baseline", "candidate"] in map(str.split, lines)) == (width == 100)


def test_many_candidates_get_a_line_each() -> None:
    verdict, comparison = decided(experiment(0.25, speed=0.9))
    many = [replace(comparison, candidate=replace(comparison.candidate, name=f"new-{number}")) for number in range(6)]
    text = TextReporter(colour=False).render(verdicts_summary([verdict] * 6, many, screen()))

    assert len(text.splitlines()) <= SCREEN_HEIGHT


def test_options_in_a_sentence_keep_the_names_that_they_take() -> None:
    said = with_gate_titles("pass_rate is unknown; --gates pass_rate,non_cache_tokens decides; --margin cost=0.1; cost")

    assert said == "pass rate is unknown; --gates pass_rate,non_cache_tokens decides; --margin cost=0.1; cost"


def test_key_points_are_a_list_in_markdown_with_their_command_as_code() -> None:
    verdict, comparison = decided(experiment(0.25, speed=0.9))
    page = MarkdownReporter().render(verdicts_summary([verdict], [comparison], screen()))

    assert "- **Promotion:** allowed" in page
    assert "  ```\n  outweigh promote runs/demo --candidate new\n  ```" in page


def test_a_number_and_its_unit_stay_on_one_line() -> None:
    words = " ".join(["is 5.6 % or 12 points in 98 s"] * 12)
    report = Report(headline="x", tone=Tone.PLAIN, lead=words, blocks=(), payload={})

    for width in range(40, 60):
        text = TextReporter(colour=False, width=width).render(report)
        assert not re.findall(r"\d\n|\n(%|points|s)\b", text)


def test_the_whole_page_has_the_chances_and_both_means_of_every_resource() -> None:
    verdict, comparison = decided(experiment(0.25, speed=0.9))
    text = TextReporter(colour=False).render(verdict_report(verdict, comparison, PolicySource.DEFAULT))

    assert "chance better" in text
    assert "chance of a gain if repeated" in text
    assert "cost, typical run" in text
    assert "geometric means" in text
    assert all(f" {name} " in text for name in ("pass_rate", "duration", "non_cache_tokens", "cost"))


def test_the_whole_page_about_a_pretended_agent_has_no_dollars() -> None:
    comparison = pretended(compare_arms(evidence_of(experiment(0.0)), "old", "new"))
    (verdict,) = decide_by_evidence([comparison], evidence_settings())
    text = TextReporter(colour=False).render(verdict_report(verdict, comparison, PolicySource.DEFAULT))

    assert "$" not in text
    assert text.count("simulated") >= 4
    assert verdict.needs is not None
    assert verdict.needs.cost_usd is not None


def test_nothing_is_better_or_worse_that_looks_the_same() -> None:
    _, comparison = decided(experiment(0.0, speed=1 + 1e-7))
    rows = arms_table(comparison).rows

    assert all(row[3] == "~" for row in rows if row[1] == row[2] and row[3])


@pytest.mark.parametrize(
    ("chance", "words"),
    [(None, "unknown"), (0.999, "more than 99 %"), (0.97, "97 %"), (0.012, "1 %"), (0.004, "less than 1 %")],
)
def test_no_chance_is_a_certainty(chance: float | None, words: str) -> None:
    assert format_chance(chance) == words


def test_where_judges_decide_and_nobody_judged_the_next_command_is_to_judge() -> None:
    verdict, comparison = decided(experiment(0.3, tasks=8), gates=("judge_score",))
    text = " ".join(brief(verdict, comparison).split())

    assert verdict.needs is None
    assert "80 runs have no judgment; judge them, then decide again outweigh judge runs/demo" in text
    assert "more tasks" not in text


def test_judging_is_not_offered_where_the_store_is_in_a_bundle() -> None:
    verdict, comparison = decided(experiment(0.3, tasks=8), gates=("judge_score",))
    bundled = VerdictCommand(words="outweigh verdict p.zip", runs=("p.zip",), store="p.zip", beside="p")

    step = next_step(verdict, comparison, bundled)

    assert step.command == "outweigh report p.zip -o p-report.html"


def test_a_single_run_without_a_judgment_is_one_run() -> None:
    records = list(experiment(0.3, tasks=8))
    judged = [a_judgment(run) for run in records[1:]]
    comparison = compare_arms(evidence_of(records, judged), "old", "new")
    (verdict,) = decide_by_evidence([comparison], evidence_settings(gates=("judge_score",)))

    assert "1 run has no judgment; judge it, then decide again" in " ".join(brief(verdict, comparison).split())
