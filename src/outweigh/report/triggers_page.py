"""The page and the JSON of `outweigh suite triggers`: how often each skill fires when it should, and when it should
not.
"""

from collections.abc import Iterator, Sequence

import msgspec

from outweigh.compare.trigger_outcomes import LEVEL, SkillTriggers, TriggerOutcomes, WrongCase
from outweigh.report.document import Block, BulletList, Report, Table, Tone, optional_bullets
from outweigh.report.figures.trigger_matrix import confusion_figure
from outweigh.report.formatting import UNKNOWN, format_percent, pluralize, shorten_name
from outweigh.report.json_output import Payload
from outweigh.report.judge_agreement import estimate_payload
from outweigh.stats.estimate import Estimate

SHOWN_CASES = 5
SHOWN_PROMPT = 60


def triggers_report(outcomes: TriggerOutcomes, warnings: Sequence[str]) -> Report:
    """A row for every skill of every arm, what went wrong in words, and the confusion matrix of every arm."""
    blocks: list[Block] = [
        _table(outcomes.skills),
        *optional_bullets("What went wrong", tuple(_faults(outcomes))),
        *(confusion_figure(arm, rows) for arm, rows in outcomes.confusion.items()),
        BulletList(title="How to read this", items=_reading(outcomes), tone=Tone.PLAIN),
        *optional_bullets("Warnings", tuple(warnings)),
    ]
    wrong = any(skill.missed or skill.misfired or skill.recall.point is None for skill in outcomes.skills)
    return Report(
        headline=_headline(outcomes),
        tone=Tone.UNSURE if wrong else Tone.GOOD,
        blocks=tuple(blocks),
        payload=_payload(outcomes, warnings),
    )


def _headline(outcomes: TriggerOutcomes) -> str:
    about = f"{pluralize(outcomes.cases, 'trigger case')}, {pluralize(outcomes.runs, 'run')}"
    if len(outcomes.skills) > 1:
        skills = len({skill.skill for skill in outcomes.skills})
        arms = len({skill.arm for skill in outcomes.skills})
        return f"{pluralize(skills, 'skill')} in {pluralize(arms, 'arm')} ({about})"
    (skill,) = outcomes.skills
    return (
        f"{skill.skill} fires in {_rate(skill.recall)} of the runs that should, and in {_rate(skill.false_rate)} of "
        f"those that should not ({about})"
    )


def _table(skills: Sequence[SkillTriggers]) -> Table:
    return Table(
        title=f"Skills, with {LEVEL:.0%} intervals over cases".replace("%", " %"),
        columns=("skill", "arm", "listed", "recall", "cases", "false triggers", "cases", "asked for instead"),
        rows=tuple(
            (
                shorten_name(skill.skill),
                shorten_name(skill.arm, 20),
                _listed(skill),
                _rate(skill.recall),
                str(skill.recall.n),
                _rate(skill.false_rate),
                str(skill.false_rate.n),
                ", ".join(f"{name} ({runs})" for name, runs in skill.stolen_by.items()) or "–",
            )
            for skill in skills
        ),
    )


def _listed(skill: SkillTriggers) -> str:
    return f"{skill.listed} of {skill.listed_known}" if skill.listed_known else UNKNOWN


def _rate(estimate: Estimate) -> str:
    if estimate.point is None:
        return UNKNOWN
    point = format_percent(estimate.point)
    if estimate.interval is None:
        return f"{point} (no interval)"
    return f"{point} ({format_percent(estimate.interval.low)} to {format_percent(estimate.interval.high)})"


def _faults(outcomes: TriggerOutcomes) -> Iterator[str]:
    for skill in outcomes.skills:
        where = f"{skill.skill} in {skill.arm}"
        if skill.never_listed:
            yield f"{where} was never listed to the model, so its description could not make it fire."
            continue
        for what, estimate in (("recall", skill.recall), ("false triggers", skill.false_rate)):
            if estimate.point is None:
                yield f"{where}: {what} is unknown, because {'; '.join(estimate.warnings)}."
        for other, runs in skill.stolen_by.items():
            yield f"{where}: {other} was asked for instead in {pluralize(runs, 'run')}."
        yield from _cases(f"{where} did not fire", skill.missed)
        yield from _cases(f"{where} fired and should not have", skill.misfired)


def _cases(said: str, cases: Sequence[WrongCase]) -> Iterator[str]:
    if not cases:
        return
    named = "; ".join(
        f"{case.task} ({case.wrong} of {pluralize(case.runs, 'run')}){_quoted(case.prompt)}"
        for case in cases[:SHOWN_CASES]
    )
    more = f"; and {len(cases) - SHOWN_CASES} more" if len(cases) > SHOWN_CASES else ""
    yield f"{said}: {named}{more}."


def _quoted(prompt: str) -> str:
    words = " ".join(prompt.split())
    if not words:
        return ""
    shown = words if len(words) <= SHOWN_PROMPT else f"{words[: SHOWN_PROMPT - 1]}…"
    return f" “{shown}”"


def _reading(outcomes: TriggerOutcomes) -> tuple[str, ...]:
    unknown = sum(skill.unknown for skill in outcomes.skills)
    lines = [
        "listed: runs in which the model was told about the skill, of those that show it. Recall and false triggers "
        "are over runs that were told about it.",
        "recall: the share of runs of cases that should fire in which the model asked for the skill. False triggers: "
        "the same share over cases that should not. Runs of one case count as one observation where they agree.",
    ]
    if unknown:
        lines.append(f"{pluralize(unknown, 'run')} do not show which skills were asked for and count for neither.")
    if outcomes.excluded:
        lines.append(f"{pluralize(outcomes.excluded, 'run')} failed for other reasons and do not count.")
    return tuple(lines)


def _payload(outcomes: TriggerOutcomes, warnings: Sequence[str]) -> Payload:
    return {
        "schema": "outweigh.triggers/1",
        "cases": outcomes.cases,
        "runs": outcomes.runs,
        "excluded": outcomes.excluded,
        "skills": [_skill_payload(skill) for skill in outcomes.skills],
        "confusion": [
            {"arm": arm, "expected": expected, "asked": asked, "runs": runs}
            for arm, rows in outcomes.confusion.items()
            for expected, counts in rows.items()
            for asked, runs in counts.items()
        ],
        "warnings": list(warnings),
    }


def _skill_payload(skill: SkillTriggers) -> Payload:
    return {
        "skill": skill.skill,
        "arm": skill.arm,
        "runs": skill.runs,
        "listed": skill.listed if skill.listed_known else None,
        "listed_known": skill.listed_known,
        "unknown": skill.unknown,
        "recall": estimate_payload(skill.recall),
        "false_triggers": estimate_payload(skill.false_rate),
        "asked_instead": dict(skill.stolen_by),
        "missed": msgspec.to_builtins(skill.missed),
        "misfired": msgspec.to_builtins(skill.misfired),
    }
