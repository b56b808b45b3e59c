"""Questions that are wider than one candidate, three gates and tasks that have nothing in common."""

from dataclasses import dataclass

import numpy as np

from calibration.rates import collapse_alarm
from calibration.worlds import BREAKS_BESIDE_GAINS, FAMILIES, NULLS, World, draw_company
from outweigh.verdict.decision import Decision
from outweigh.verdict.evidence_rule import apply_rule, examine_candidate


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked in a world. `promised` is whether the limits for identical arms hold here too."""

    name: str
    world: World
    candidates: int
    with_cost: bool
    promised: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """How often any of the candidates was called improved, and how often a single one was called regressed."""

    question: Question
    tasks: int
    repeats: int
    draws: int
    any_improved: float
    regressed: float


def _question(
    name: str, world: World, *, candidates: int = 1, with_cost: bool = False, promised: bool = True
) -> Question:
    return Question(name=name, world=world, candidates=candidates, with_cost=with_cost, promised=promised)


QUESTIONS = (
    _question("cost as the fourth gate", NULLS[0], with_cost=True),
    _question("cost as the fourth gate, time and tokens correlated", NULLS[2], with_cost=True),
    _question("three candidates", NULLS[0], candidates=3),
    _question("eight candidates, time and tokens correlated", NULLS[2], candidates=8),
    _question("tasks in families of five", FAMILIES),
    _question("small gains, one task in six breaks", BREAKS_BESIDE_GAINS, promised=False),
)


def answer(question: Question, tasks: int, repeats: int, draws: int, seed: int) -> Answer:
    """Decide many experiments; candidates of one experiment share their baseline's runs."""
    dice = np.random.default_rng(seed)
    improved = regressed = 0
    for _ in range(draws):
        decisions = _decisions(question, tasks, repeats, dice)
        improved += Decision.IMPROVED in decisions
        regressed += decisions.count(Decision.REGRESSED)
    return Answer(
        question=question,
        tasks=tasks,
        repeats=repeats,
        draws=draws,
        any_improved=improved / draws,
        regressed=regressed / (draws * question.candidates),
    )


def _decisions(question: Question, tasks: int, repeats: int, dice: np.random.Generator) -> list[Decision]:
    company = draw_company(question.world, tasks, repeats, question.candidates, dice)
    findings = apply_rule([examine_candidate(each.gates(with_cost=question.with_cost)) for each in company])
    return [
        Decision.REGRESSED if collapse_alarm(each) else finding.decision
        for each, finding in zip(company, findings, strict=True)
    ]
