"""Writes runs.jsonl beside this file: three tiers of a scripted agent on six tasks, five repeats, one judge.

The runs are invented, and say so: every record's agent is `scripted`, so no verdict over them can promote.
"""

import random
from pathlib import Path

from outweigh.model.codec import Record, encode
from outweigh.model.judgment import CriterionScore
from outweigh.model.run_record import AgentIdentity, AgentKind, Milestone, RunRecord
from outweigh.model.usage import Component, ComponentTokens, Usage, reported_cost
from outweigh.testing.builders import a_check, a_judgment, a_run

REPEATS = 5
# task: how likely the plain agent passes it
TASKS = {
    "fix-date-parser": 0.8,
    "add-retry": 0.6,
    "rename-config-key": 0.9,
    "port-to-async": 0.3,
    "close-file-leak": 0.5,
    "document-cli": 0.7,
}
# arm: gain in the chance to pass, time and token factors, tokens of the skill and of the tool schemas
ARMS = {
    "T0-plain": (0.0, 1.0, 1.0, 0, 1_800),
    "T1-skill": (0.25, 0.85, 0.9, 2_400, 1_800),
    "T2-skill-and-tools": (0.3, 1.1, 1.4, 2_400, 14_000),
}


def main() -> None:
    """Draw every run from one seeded generator, arms interleaved."""
    dice = random.Random(20_260)
    records: list[Record] = []
    for repeat in range(1, REPEATS + 1):
        for task, chance in TASKS.items():
            for arm in dice.sample(sorted(ARMS), len(ARMS)):
                run = _run(dice, task, chance, arm, repeat, position=len(records) // 2)
                passed = bool(run.checks and run.checks[0].passed)
                quality = min(1.0, max(0.0, dice.gauss(0.85 if passed else 0.45, 0.08)))
                criteria = (
                    CriterionScore(criterion="correct", weight=2.0, score=round(quality, 2), evidence=None),
                    CriterionScore(
                        criterion="readable", weight=1.0, score=round(dice.uniform(0.6, 1), 2), evidence=None
                    ),
                )
                records += [run, a_judgment(run, judge="scripted-judge", criteria=criteria)]
    target = Path(__file__).with_name("runs.jsonl")
    target.write_bytes(b"".join(encode(record) + b"\n" for record in records))


def _run(dice: random.Random, task: str, chance: float, arm: str, repeat: int, position: int) -> RunRecord:
    gain, time_factor, token_factor, skill_tokens, schema_tokens = ARMS[arm]
    passed = dice.random() < chance + gain * (1 - chance) * 1.6
    output = round(dice.lognormvariate(7.6, 0.2) * token_factor)
    usage = Usage(
        input_tokens=round(dice.lognormvariate(8.2, 0.2) * token_factor),
        output_tokens=output,
        cache_read_tokens=(skill_tokens + schema_tokens) * dice.randint(6, 12),
        cache_write_tokens=skill_tokens + schema_tokens,
    )
    dollars = (usage.input_tokens or 0) * 3e-6 + output * 15e-6 + (usage.cache_read_tokens or 0) * 0.3e-6
    return a_run(
        task,
        arm,
        repeat,
        agent=AgentIdentity(kind=AgentKind.SCRIPTED, name="scripted", version=None, model=None),
        position=position,
        duration_seconds=round(dice.lognormvariate(4.2, 0.25) * time_factor, 2),
        usage=usage,
        cost=reported_cost(round(dollars + (usage.cache_write_tokens or 0) * 3.75e-6, 6)),
        step_count=dice.randint(8, 20),
        tool_call_count=dice.randint(5, 18),
        checks=(a_check(passed=passed), a_check("lint", passed=dice.random() < 0.9, required=False)),
        milestones=(
            Milestone(name="reproduced", weight=1.0, achieved=passed or dice.random() < 0.6),
            Milestone(name="verified", weight=2.0, achieved=passed),
        ),
        components=(
            ComponentTokens(component=Component.SKILL_PROMPT, input_tokens=skill_tokens, output_tokens=0),
            ComponentTokens(component=Component.TOOL_SCHEMA, input_tokens=schema_tokens, output_tokens=0),
            ComponentTokens(component=Component.TOOL_CALL, input_tokens=0, output_tokens=round(output * 0.4)),
        ),
    )


if __name__ == "__main__":
    main()
