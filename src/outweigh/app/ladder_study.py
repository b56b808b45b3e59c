"""A ladder with all that its page says: its judges' agreement, and how the study was made as far as records show it."""

from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from outweigh.app.evidence import read_evidence
from outweigh.app.ladder import LadderRequest, ladder_of_evidence
from outweigh.compare.evidence import Evidence
from outweigh.compare.judge_agreement import PanelAgreement, summarise_judges
from outweigh.compare.ladder import DRAWS, Ladder
from outweigh.model.choice import ChoiceRecord
from outweigh.model.run_record import AgentIdentity, AgentKind
from outweigh.report.figures.tiers import all_contrasts
from outweigh.report.ladder_methods import ChoiceFact, MethodsFacts
from outweigh.report.ladder_page import LadderStudy
from outweigh.score.run_score import Score
from outweigh.stats.estimate import Interval
from outweigh.stats.max_t import METHOD, Contrast
from outweigh.store.dataset_manifest import refuse_dataset
from outweigh.store.experiment_file import ExperimentFile
from outweigh.version import __version__


def study_ladder(request: LadderRequest) -> LadderStudy:
    """Read the records once, and gather what the page needs."""
    if request.evidence.stores.dataset is not None:
        refuse_dataset(request.evidence.stores.dataset)
    evidence = read_evidence(request.evidence)
    experiment = request.evidence.stores.experiment
    ladder = ladder_of_evidence(evidence, request)
    arms = [tier.summary.name for tier in ladder.tiers]
    panel = summarise_judges({arm: evidence.judging.get(arm, ()) for arm in arms})
    facts = _gather_facts(ladder, evidence, panel, experiment)
    choices = tuple(_choice(each) for store in request.evidence.stores.stores for each in store.choices.values())
    return LadderStudy(ladder=ladder, panel=panel, methods=replace(facts, choices=choices))


def _choice(record: ChoiceRecord) -> ChoiceFact:
    return ChoiceFact(
        arm=record.arm,
        chosen=record.chosen,
        tiers=tuple(record.inherit.best_of),
        by=record.inherit.by,
        repeats=max(record.choosing_repeats.values(), default=0),
        held_out=record.inherit.held_out,
    )


def _gather_facts(
    ladder: Ladder, evidence: Evidence, panel: PanelAgreement | None, experiment: ExperimentFile | None
) -> MethodsFacts:
    arms = [tier.summary.name for tier in ladder.tiers]
    scores = [score for arm in arms for score in evidence.arm(arm)]
    counted = [score for score in scores if score.counted]
    trials = Counter((score.arm, score.task_id) for score in counted)
    intervals = _known_intervals(ladder)
    tested = [each for each in all_contrasts(ladder) if each.difference.adjusted is not None]
    judges = () if panel is None else panel.judges
    tasks = {score.task_id for score in counted}
    return MethodsFacts(
        arms=len(arms),
        configurations=sum(len(tier.sub_arms) for tier in ladder.levels),
        tiers=len(ladder.levels),
        tasks=len(tasks),
        families=_grouping_families(counted, len(tasks)),
        runs=len(counted),
        repeats=(min(trials.values(), default=0), max(trials.values(), default=0)),
        version=__version__,
        evidence_sha256=ladder.evidence_sha256,
        baseline=ladder.baseline,
        quality=ladder.quality,
        weights={dimension.value.replace("_", " "): weight for dimension, weight in ladder.profile.weights},
        suite=None if experiment is None else experiment.suite,
        seed=None if experiment is None else experiment.seed,
        ordered_runs=sum(score.position is not None for score in counted),
        simulated_runs=sum(score.agent_kind is AgentKind.SCRIPTED for score in counted),
        agents=_agents(evidence, arms),
        excluded=_count(score.status.value for score in scores if not score.counted),
        superseded=sum(len(evidence.superseded.get(arm, ())) for arm in arms),
        reused=sum(score.reused for score in counted),
        stale=sum(len(evidence.stale.get(arm, ())) for arm in arms),
        unread_lines=len(evidence.skipped),
        quarantined=tuple(each.task for each in evidence.quarantine),
        judges=tuple(_judge(judge.judge_version.name, judge.judge_version.model) for judge in judges),
        judgments=sum(sum(judge.answers.values()) for judge in judges),
        unusable_judgments=sum(sum(judge.invalid.values()) for judge in judges),
        judging_notes=ladder.judging_notes,
        cost_sources=_cost_sources(counted),
        omnibus_tests=_omnibus_tests(ladder),
        contrasts=len(tested),
        contrast_draws=DRAWS if any(_is_by_draws(each.difference) for each in tested) else 0,
        contrast_seed=ladder.seed,
        is_holm_shown=any(each.difference.holm is not None for each in tested),
        chance_draws=DRAWS if any(each.chance_best is not None for each in ladder.tier_standings.values()) else 0,
        interval_level=None if not intervals else intervals[0].level,
        interval_methods=tuple(dict.fromkeys(interval.method for interval in intervals)),
    )


def _grouping_families(counted: Sequence[Score], tasks: int) -> int:
    """How many families the tasks are grouped into; 0 where that says no more than the tasks do."""
    families = len({score.family for score in counted if score.family is not None})
    return families if 1 < families < tasks else 0


def _is_by_draws(contrast: Contrast) -> bool:
    return contrast.simultaneous is not None and contrast.simultaneous.method == METHOD


def _count(words: Iterable[str]) -> dict[str, int]:
    return {word.replace("_", " "): number for word, number in Counter(words).most_common()}


def _agents(evidence: Evidence, arms: Sequence[str]) -> dict[str, int]:
    seen: Counter[AgentIdentity] = Counter()
    for arm in arms:
        if arm in evidence.setups:
            seen.update(evidence.setups[arm].agents)
    names = Counter[str]()
    for agent, runs in seen.items():
        if agent.kind is not AgentKind.SCRIPTED:
            name = agent.name or "an agent without a name"
            names[" ".join(filter(None, (name, agent.version, agent.model and f"with {agent.model}")))] += runs
    return dict(names.most_common())


def _judge(name: str, model: str | None) -> str:
    return name if model in (None, name) else f"{name} with {model}"


def _cost_sources(counted: Sequence[Score]) -> dict[str, int]:
    real = [score for score in counted if score.agent_kind is not AgentKind.SCRIPTED]
    return _count(score.cost_provenance.value for score in real)


def _known_intervals(ladder: Ladder) -> list[Interval]:
    found = [figure.interval for tier in ladder.levels for figure in tier.figures.values()]
    return [interval for interval in found if interval is not None]


def _omnibus_tests(ladder: Ladder) -> tuple[str, ...]:
    """The tests that could be made."""
    omnibus = ladder.tests.omnibus
    tests = {
        "Friedman's test over tasks": omnibus.friedman,
        "the Kruskal–Wallis test over runs": omnibus.kruskal_wallis,
        "the Scheirer–Ray–Hare test over runs": omnibus.scheirer_ray_hare.first,
    }
    return tuple(name for name, test in tests.items() if test.p_value is not None)
