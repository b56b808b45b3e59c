"""Judge the parts of a store: keep, drop, hurts or not known yet, with effects and the tokens that each part costs.

Only pairs of arms that differ in one part give verdicts. Arms of a screen rank parts, and none of their runs enters a
verdict.
"""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from outweigh.app.candidate_family import compare_candidate, decide_family, prepare_evidence
from outweigh.app.choose_policy import SUITE_RULE, ChosenPolicy, PolicyRequest, choose_policy, follow_named_version
from outweigh.app.decide import hold_to_ledger
from outweigh.app.evidence import EvidenceRequest, read_evidence
from outweigh.app.pages import Page
from outweigh.app.quarantine import hold_to_all_runs
from outweigh.compare.comparison import Comparison
from outweigh.compare.evidence import Evidence
from outweigh.compare.part_arms import SCREEN, PartArms, arrange_part_arms, shortlist_size
from outweigh.compare.part_effects import DesignEffects, estimate_part_effects
from outweigh.compare.turn_tokens import ArmTurns, read_turns, turn_tokens_saved
from outweigh.errors import UsageError, quote_names
from outweigh.model.run_record import RunRecord
from outweigh.prices import price_tables
from outweigh.report.document import Report
from outweigh.report.parts_json import BaseArm, JointArm, PartSavings, PartsPage, parts_payload
from outweigh.report.parts_page import parts_report
from outweigh.store.arm_versions import suite_arm
from outweigh.store.experiment_file import ExperimentFile
from outweigh.verdict.decision import Decision, Verdict
from outweigh.verdict.evidence_settings import GATED_METRICS, JUDGE_SCORE, PASS_RATE
from outweigh.verdict.part_verdict import PairedArms, PartVerdict, judge_parts, unjudged_part
from outweigh.verdict.policy import POLICIES
from outweigh.verdict.promotion import drop_refusals

MAY_ALLOW_A_DROP = frozenset({Decision.NEUTRAL, Decision.IMPROVED})


class PartsRequest(Struct, frozen=True, kw_only=True):
    """Which records, by which rule; `turns_per_month` is how many requests the set-up sends to its model in a month."""

    evidence: EvidenceRequest
    policy: PolicyRequest = SUITE_RULE
    turns_per_month: int | None = None


class PartsResult(Struct, Page, frozen=True, kw_only=True):
    """The answer about every part of a store."""

    page: PartsPage
    parts: tuple[PartVerdict, ...]

    def document(self) -> Report:
        """The page of `outweigh parts verdict`."""
        return parts_report(self.page)

    def rows(self) -> Sequence[Mapping[str, object]]:
        """One row for every part."""
        rows: list[Mapping[str, object]] = parts_payload(self.page)["parts"]
        return rows

    @property
    def is_decided(self) -> bool:
        """Whether anything is known about some part."""
        return self.page.is_decided


class JudgedArms(Struct, frozen=True, kw_only=True):
    """Every arm without a screen beside the baseline, decided as one family."""

    experiment: ExperimentFile
    arms: PartArms
    policy: ChosenPolicy
    evidence: Evidence
    comparisons: Mapping[str, Comparison]
    verdicts: Mapping[str, Verdict]


def judge_arms(request: EvidenceRequest, rule: PolicyRequest = SUITE_RULE) -> JudgedArms:
    """Compare every paired arm and every arm without several parts with the baseline, and decide about them."""
    stores, experiment = request.stores, request.stores.experiment
    if experiment is None or not any(experiment.parts.values()):
        raise UsageError(
            "no arm of these records is made of parts. Parts are judged by the store of a suite with [parts.NAME] and "
            "[[designs]]; `outweigh parts list` writes one."
        )
    policy = choose_policy(stores, rule)
    if policy.name not in POLICIES or not POLICIES[policy.name].infers:
        raise UsageError(f"parts are judged by policy evidence, not by {policy.name}; add --policy evidence.")
    evidence = read_evidence(request)
    policy = follow_named_version(policy, evidence.policy_versions)
    arms = _arrange(experiment)
    if arms.baseline not in evidence.arms:
        raise UsageError(f"{arms.baseline!r}, which parts are left out of, has no run yet; run the suite first.")
    profile = stores.profile(None)
    names = [name for name in (*arms.pairs.values(), *arms.joint) if name in evidence.arms]
    family = _without_screen(experiment, arms)

    def decide(all_runs: Evidence) -> tuple[list[Comparison], Sequence[Verdict]]:
        compared = [compare_candidate(all_runs, stores, arms.baseline, name, profile) for name in names]
        return compared, decide_family(policy, family, compared) if compared else ()

    comparisons, verdicts = decide(evidence)
    held = hold_to_all_runs(verdicts, evidence, request, lambda every: decide(every)[1], MAY_ALLOW_A_DROP)
    paths = [store.path for store in stores.stores]
    return JudgedArms(
        experiment=experiment,
        arms=arms,
        policy=policy,
        evidence=evidence,
        comparisons=dict(zip(names, comparisons, strict=True)),
        verdicts={name: hold_to_ledger(verdict, paths) for name, verdict in zip(names, held, strict=True)},
    )


def _arrange(experiment: ExperimentFile) -> PartArms:
    """The arms that the suite has now, and those of its screens, also where it no longer has them."""
    screened = [name for design in experiment.designs if design.kind == SCREEN for name in design.arms]
    names = dict.fromkeys((experiment.baseline, *experiment.candidates, *screened))
    sets = {name: frozenset(experiment.parts.get(name, ())) for name in names if name in experiment.arms}
    known = (*(design.parts for design in experiment.designs), *experiment.parts.values())
    order = dict.fromkeys(part for parts in known for part in parts)
    reference = _reference(experiment)
    return arrange_part_arms(sets, reference, experiment.designs, tuple(order), experiment.besides_parts)


def _reference(experiment: ExperimentFile) -> str:
    """The arm that others are compared with: the one with all parts where a design leaves them out one by one.

    A factorial design has such arms among its own.
    """
    for kind in ("leave-one-out", "factorial"):
        full = [each.full for each in experiment.designs if each.kind == kind and each.full is not None]
        if full:
            return full[-1]
    return experiment.baseline


def _without_screen(experiment: ExperimentFile, arms: PartArms) -> ExperimentFile:
    """The experiment as if nothing had been screened: choosing parts and judging them use different runs.

    Arms that confirm a screen are the first ones that are judged, although they came later than the screen.
    """
    left = {name: value for name, value in experiment.arms.items() if name not in arms.screen}
    versions = {name: version for name, version in experiment.versions.items() if name in left}
    if arms.screen and all(name in versions for name in left if name != experiment.baseline):
        begun = min((version.begun_at for version in versions.values()), default=None)
        versions = {name: version for name, version in versions.items() if version.begun_at != begun}
    return replace(experiment, arms=left, versions=versions)


def judge_store_parts(request: PartsRequest) -> PartsResult:
    """Judge every part of the store."""
    judged = judge_arms(request.evidence, request.policy)
    arms = judged.arms
    pairs = [
        _pair(part, name, judged, added=arms.is_added(part))
        for part, name in arms.pairs.items()
        if name in judged.verdicts
    ]
    answers = {answer.part: answer for answer in judge_parts(pairs)}
    parts = tuple(answers.get(part) or unjudged_part(part, _why_unjudged(part, judged)) for part in arms.parts)
    turns = _turns(request.evidence)
    effects, screen = _effects(judged, request)
    page = PartsPage(
        baseline=arms.baseline,
        stores=tuple(store.name for store in request.evidence.stores.stores),
        baseline_parts=tuple(part for part in arms.parts if part in arms.sets[arms.baseline]),
        base=base_arm(judged),
        screen_base=_design_base(judged, SCREEN),
        parts=parts,
        savings=dict(_savings(judged, turns, request.turns_per_month)),
        joint=tuple(_joint_arm(name, left_out, judged) for name, left_out in arms.joint.items()),
        effects=effects,
        screen=screen,
        shortlist=shortlist_size(judged.experiment.designs, len(arms.parts)) if arms.screen else 0,
        turns_per_month=request.turns_per_month,
        comparisons={part: judged.comparisons[name] for part, name in arms.pairs.items() if name in judged.verdicts},
        warnings=tuple(dict.fromkeys((*_unlike_arms(arms), *judged.evidence.warnings))),
    )
    return PartsResult(page=page, parts=parts)


def _unlike_arms(arms: PartArms) -> Iterator[str]:
    if arms.unlike:
        yield (
            f"arms that differ from {arms.baseline} in more than parts (a model, an agent, files, options) say nothing "
            f"about parts: {quote_names(arms.unlike)}."
        )


def base_arm(judged: JudgedArms) -> BaseArm:
    """What the arms beside the baseline were made of, as the suite calls it."""
    return _design_base(judged, "leave-one-out")


def _design_base(judged: JudgedArms, kind: str) -> BaseArm:
    """The arm that the last design of a kind added parts to; the baseline itself where there is none."""
    experiment = judged.experiment
    made = [design for design in experiment.designs if design.kind == kind]
    name = made[-1].arm if made else judged.arms.baseline
    return BaseArm(
        name=suite_arm(name, experiment.versions),
        parts=experiment.parts.get(name, ()),
        model=made[-1].model if made and kind != SCREEN else None,
    )


def _pair(part: str, name: str, judged: JudgedArms, *, added: bool) -> PairedArms:
    comparison = judged.comparisons[name]
    return PairedArms(
        part=part,
        candidate=name,
        added=added,
        verdict=judged.verdicts[name],
        evidence_sha256=comparison.evidence_sha256,
        tasks=len(set(comparison.baseline_table.tasks) & set(comparison.candidate_table.tasks)),
        repeats=comparison.fewest_repeats,
    )


def _why_unjudged(part: str, judged: JudgedArms) -> str:
    arms = judged.arms
    if part in arms.pairs:
        return f"{arms.pairs[part]} has not been run yet"
    screened = any(part in arms.sets[name] for name in arms.screen)
    if screened:
        return "a screen only ranks it; no arm has been run that differs from the baseline in this part alone"
    return f"no arm differs from {arms.baseline} in this part alone; a leave-one-out design makes one"


def _turns(request: EvidenceRequest) -> Mapping[str, ArmTurns]:
    records = (located.record for located in request.stores.read(skip_invalid=request.skip_invalid))
    return read_turns((each for each in records if isinstance(each, RunRecord)), price_tables(request.prices))


def _savings(
    judged: JudgedArms, turns: Mapping[str, ArmTurns], turns_per_month: int | None
) -> Iterator[tuple[str, PartSavings]]:
    """What every part costs on a turn: the arm with it less the arm without it."""
    arms = judged.arms
    for part, name in arms.pairs.items():
        more, less = (name, arms.baseline) if arms.is_added(part) else (arms.baseline, name)
        if more not in turns or less not in turns:
            continue
        tokens, price = turn_tokens_saved(turns[more], turns[less]), turns[more].usd_per_token
        month = None
        if turns_per_month is not None and price is not None and tokens.point is not None:
            month = turns_per_month * tokens.point * price
        yield part, PartSavings(tokens_per_turn=tokens, usd_per_month=month)


def _joint_arm(name: str, left_out: frozenset[str], judged: JudgedArms) -> JointArm:
    ordered = tuple(part for part in judged.arms.parts if part in left_out)
    if name not in judged.verdicts:
        return JointArm(arm=name, parts=ordered, decision=None, refusals=(f"{name} has not been run yet.",))
    verdict, comparison = judged.verdicts[name], judged.comparisons[name]
    return JointArm(
        arm=name,
        parts=ordered,
        decision=verdict.decision,
        refusals=drop_refusals(verdict, comparison.evidence_sha256),
    )


def _effects(judged: JudgedArms, request: PartsRequest) -> tuple[DesignEffects | None, DesignEffects | None]:
    """From the paired arms, and from those of the screen; the two are never mixed."""
    arms, stores = judged.arms, request.evidence.stores
    profile, seed = stores.profile(None), request.policy.seed
    gates = judged.policy.arguments.gates or (PASS_RATE,)
    gate = JUDGE_SCORE if JUDGE_SCORE in gates and PASS_RATE not in gates else PASS_RATE
    quality = GATED_METRICS[gate].metric
    paired = [name for name in arms.paired if name in judged.evidence.arms]
    screen = [name for name in arms.screen if name in judged.evidence.arms]
    found: list[DesignEffects | None] = []
    for names in (paired, screen):
        evidence = judged.evidence
        if len(names) > 1 and names[0] == arms.baseline:
            evidence = prepare_evidence(evidence, stores, arms.baseline, names[-1])
        sets = {name: arms.sets[name] for name in names}
        effects = estimate_part_effects(evidence, sets, arms.parts, quality, profile, seed) if len(names) > 1 else None
        found.append(effects)
    return found[0], found[1]


def name_parts(names: Sequence[str], known: Sequence[str]) -> frozenset[str]:
    """The parts that were named; UsageError for one that the baseline does not have."""
    if unknown := [name for name in names if name not in known]:
        raise UsageError(f"the baseline has no part {quote_names(unknown)}; its parts are {quote_names(known)}.")
    return frozenset(names)
