"""The methods paragraph of a ladder: what was done, and nothing that the records do not show."""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from outweigh.report.document import Paragraph
from outweigh.report.formatting import count_of

MOST_NAMED = 6
"""Of more agents, judges or arms than this, the rest are counted."""


class ChoiceFact(Struct, frozen=True, kw_only=True):
    """An arm that was built on one of lower tiers; `repeats` are those that the choice used, 0 if unknown."""

    arm: str
    chosen: str | None
    tiers: tuple[int, ...]
    by: str
    repeats: int
    held_out: bool


class MethodsFacts(Struct, frozen=True, kw_only=True):
    """What the records show about how a study was made and how its figures were computed.

    Counts are of counted runs unless they say otherwise. `repeats` are the fewest and the most runs of an arm on a
    task. `excluded` and `cost_sources` count runs by reason and by source; `interval_methods` and `omnibus_tests` are
    the methods that the shown figures used. `families` is 0 where tasks are not grouped, `contrast_draws` where
    contrasts were tested without a bootstrap.
    """

    arms: int
    configurations: int
    tiers: int
    tasks: int
    families: int
    runs: int
    repeats: tuple[int, int]
    version: str
    evidence_sha256: str
    baseline: str
    quality: str
    weights: Mapping[str, float]
    suite: str | None = None
    seed: int | None = None
    ordered_runs: int = 0
    simulated_runs: int = 0
    agents: Mapping[str, int] = {}
    excluded: Mapping[str, int] = {}
    superseded: int = 0
    reused: int = 0
    stale: int = 0
    unread_lines: int = 0
    quarantined: tuple[str, ...] = ()
    judges: tuple[str, ...] = ()
    judgments: int = 0
    unusable_judgments: int = 0
    judging_notes: tuple[str, ...] = ()
    cost_sources: Mapping[str, int] = {}
    interval_level: float | None = None
    interval_methods: tuple[str, ...] = ()
    omnibus_tests: tuple[str, ...] = ()
    contrasts: int = 0
    contrast_draws: int = 0
    contrast_seed: int | None = None
    is_holm_shown: bool = False
    chance_draws: int = 0
    choices: tuple[ChoiceFact, ...] = ()


def methods_paragraph(facts: MethodsFacts) -> Paragraph:
    """The sentences that hold, in the order in which a paper has them."""
    return Paragraph(title="What was done", text=" ".join(methods_sentences(facts)))


def methods_sentences(facts: MethodsFacts) -> Iterator[str]:
    """Design, agents, outcomes, judges, exclusions, intervals, tests, choices, and what it was computed with."""
    yield from _design(facts)
    yield from _agents(facts)
    yield from _outcomes(facts)
    yield from _judging(facts)
    yield from _exclusions(facts)
    yield from _choices(facts)
    yield from _statistics(facts)
    yield f"Figures were computed by outweigh {facts.version} from records with the SHA-256 {facts.evidence_sha256}."


def _design(facts: MethodsFacts) -> Iterator[str]:
    fewest, most = facts.repeats
    each = f"{count_of(most, 'repeat')} each" if fewest == most else f"{fewest} to {most} repeats each"
    was = "was" if facts.arms == 1 else "were"
    suite = "" if facts.suite is None else f" of the suite {facts.suite!r}"
    families = f" of {facts.families} families" if facts.families > 1 else ""
    yield (
        f"{count_of(facts.arms, 'arm')} on {count_of(facts.tiers, 'tier')} {was} run on {count_of(facts.tasks, 'task')}"
        f"{families}{suite} with {each}, which gives {count_of(facts.runs, 'counted run')}."
    )
    if facts.configurations < facts.arms:
        yield (
            f"Arms of a tier with the same fingerprint are replicates of one configuration, which leaves "
            f"{count_of(facts.configurations, 'configuration')}."
        )
    if facts.seed is not None and facts.ordered_runs == facts.runs:
        yield f"The trials were made in a recorded order that was drawn with seed {facts.seed}."
    if facts.reused:
        yield f"{_were(facts.reused, 'run')} taken over from an earlier store."


def _agents(facts: MethodsFacts) -> Iterator[str]:
    if facts.simulated_runs:
        share = "All runs were" if facts.simulated_runs == facts.runs else _were(facts.simulated_runs, "run")
        yield f"{share} made by a simulated agent, which spends nothing."
    if facts.agents:
        named = [f"{agent} ({count_of(runs, 'run')})" for agent, runs in facts.agents.items()]
        yield f"The recorded agents are {_listed(named)}."
    if facts.cost_sources:
        sources = [f"{source} for {count_of(runs, 'run')}" for source, runs in facts.cost_sources.items()]
        yield f"Costs are {_listed(sources)}."


def _outcomes(facts: MethodsFacts) -> Iterator[str]:
    if facts.quality == "passed":
        yield "No run was judged, so tiers are compared and graded by their pass rate."
    elif facts.quality == "judge_score":
        yield "No run says whether it passed, so tiers are compared and graded by their judge score."
    else:
        weights = [f"{weight:g} {name}" for name, weight in facts.weights.items()]
        yield f"Tiers are compared by a composite of {_listed(weights)}."
    yield f"Each tier counts its configurations once; the baseline is {facts.baseline!r}."


def _judging(facts: MethodsFacts) -> Iterator[str]:
    if facts.judges:
        yield (
            f"{count_of(len(facts.judges), 'judge')} ({_listed(facts.judges)}) gave "
            f"{count_of(facts.judgments, 'judgment')}."
        )
    if facts.unusable_judgments:
        yield f"{_were(facts.unusable_judgments, 'judgment')} unusable."
    for note in facts.judging_notes:
        yield f"{note[:1].upper()}{note[1:].removesuffix('.')}."


def _exclusions(facts: MethodsFacts) -> Iterator[str]:
    if facts.excluded:
        reasons = [f"{number:,} {reason}" for reason, number in facts.excluded.items()]
        yield f"{_were(sum(facts.excluded.values()), 'run')} excluded: {_listed(reasons)}."
    if facts.superseded:
        yield f"{_were(facts.superseded, 'attempt')} replaced by a later attempt at the same trial."
    if facts.stale:
        yield f"{_were(facts.stale, 'reused run')} set aside as stale, because fresh runs stand beside them."
    if facts.quarantined:
        yield f"{_were(len(facts.quarantined), 'task')} in quarantine: {_listed(facts.quarantined)}."
    if facts.unread_lines:
        yield f"{_were(facts.unread_lines, 'line')} skipped because they could not be read."


def _choices(facts: MethodsFacts) -> Iterator[str]:
    for choice in facts.choices:
        tiers = _listed([str(tier) for tier in choice.tiers])
        source = f"the {'tier' if len(choice.tiers) == 1 else 'tiers'} {tiers} by {choice.by}"
        if choice.chosen is None:
            yield f"For {choice.arm!r} no arm could be chosen from {source}, so it was not run."
            continue
        repeats = f" on the first {count_of(choice.repeats, 'repeat')}" if choice.repeats else ""
        report = "other runs are reported" if choice.held_out else "the same runs are reported, which is optimistic"
        yield f"{choice.arm!r} was built on {choice.chosen!r}, chosen from {source}{repeats}; {report}."


def _statistics(facts: MethodsFacts) -> Iterator[str]:
    if facts.interval_level is not None:
        over = "families of tasks" if facts.families > 1 else "tasks"
        level, methods = f"{100 * facts.interval_level:g} %", _listed(facts.interval_methods)
        yield f"Intervals are {level} intervals over {over} ({methods})."
    if facts.omnibus_tests:
        yield f"Whether tiers differ at all was tested by {_listed(facts.omnibus_tests)}."
    if facts.contrasts:
        were = "was" if facts.contrasts == 1 else "were"
        yield f"{count_of(facts.contrasts, 'contrast')} of tiers {were} tested together by {_contrast_method(facts)}."
    if facts.chance_draws:
        yield (
            "Probabilities of being best, of being on the frontier and of each grade are shares of "
            f"{facts.chance_draws:,} bootstrap draws of tasks."
        )


def _contrast_method(facts: MethodsFacts) -> str:
    if not facts.contrast_draws:
        return "Bonferroni's intervals and Holm's correction, because a bootstrap of so few units has no tails"
    seed = "" if facts.contrast_seed is None else f", seed {facts.contrast_seed}"
    holm = ", with Holm's correction beside it" if facts.is_holm_shown else ""
    return f"max-t from {facts.contrast_draws:,} bootstrap draws{seed}{holm}"


def _were(number: int, noun: str) -> str:
    return f"{count_of(number, noun)} {'was' if number == 1 else 'were'}"


def _listed(items: Sequence[str]) -> str:
    """`a`, `a and b`, or `a, b and 3 more`."""
    shown = list(items[:MOST_NAMED])
    if len(items) > MOST_NAMED:
        shown.append(f"{len(items) - MOST_NAMED} more")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
