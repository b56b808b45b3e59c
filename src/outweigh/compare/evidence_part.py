"""What one part of a dataset says beside its runs, made so that parts merge: hashes, set-ups, ledgers, judge calls.

A part has whole tasks. So what is counted by task stands in one part, and everything else is a sum, a set, or the
first of a few that are named.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Self, TypeVar

from msgspec import Struct

from outweigh.compare.arm_ledger import ArmLedger
from outweigh.compare.evidence import ARBITRARY_REPEATS, Evidence
from outweigh.compare.judge_calls import JudgeCallFact
from outweigh.compare.model_use import ModelUse, token_shares
from outweigh.compare.setup_summary import MOST_EXCLUDED_LISTED, ExcludedAttempt, SetupItem, SetupSummary
from outweigh.compare.setup_use import Runs, SetupUse
from outweigh.model.evidence_hash import EvidenceHash
from outweigh.model.run_record import AgentIdentity, NamedTier
from outweigh.score.run_score import Score

_Key = TypeVar("_Key")

AttemptKey = tuple[str, str, int, int]
"""Task, arm, repeat and attempt."""


class ArmPart(Struct, frozen=True, kw_only=True):
    """One arm in one part. Places are those of records in the order of reading.

    `first` is the place of its first run. `runs` count, `excluded` and `superseded` do not. `unusual` attempts are
    judged, estimated, reused or of trigger cases, which takes them one by one. `known` and `seen` say what
    of the set-up was loaded and invoked, by task (compare/setup_use.py).
    """

    first: int
    runs: int
    excluded: int
    superseded: int
    unusual: int
    records: int
    evidence_sum: bytes
    agents: tuple[tuple[AgentIdentity, int], ...]
    with_setup: int
    items: tuple[tuple[SetupItem, int], ...]
    warnings: dict[str, int]
    warned: int
    past_gateway: int
    excluded_attempts: tuple[tuple[int, ExcludedAttempt], ...]
    known: tuple[tuple[tuple[str, str], dict[str, int]], ...]
    seen: tuple[tuple[tuple[str, str, str], dict[str, int]], ...]
    models: dict[str, tuple[int, int | None]]
    ledger: ArmLedger | None
    judging: tuple[JudgeCallFact, ...]
    named_tiers: tuple[NamedTier, ...]
    selected: tuple[str, ...]

    @property
    def hash(self) -> EvidenceHash:
        """The sum of the digests of everything that is recorded about the arm in this part."""
        return EvidenceHash.decode(self.evidence_sum, self.records)


class EvidencePart(Struct, frozen=True, kw_only=True):
    """What one part says beside its runs, by arm."""

    arms: dict[str, ArmPart]
    policy_versions: tuple[int, ...]
    arbitrary_repeats: bool
    unused_judgments: tuple[int, int]

    @classmethod
    def of(cls, evidence: Evidence, places: Mapping[AttemptKey, int]) -> Self:
        """What was gathered of the records of one part; `places` has every run of it."""
        return cls(
            arms={arm: _arm_part(evidence, arm, places) for arm in evidence.arms},
            policy_versions=tuple(sorted(evidence.policy_versions)),
            arbitrary_repeats=ARBITRARY_REPEATS in evidence.warnings,
            unused_judgments=evidence.unused_judgments,
        )


def _arm_part(evidence: Evidence, arm: str, places: Mapping[AttemptKey, int]) -> ArmPart:
    scores, superseded = evidence.arms[arm], evidence.superseded.get(arm, ())
    counted, setup, total = sum(score.counted for score in scores), evidence.setups[arm], evidence.hashes[arm]
    return ArmPart(
        first=min(places[attempt_key(score)] for score in (*scores, *superseded)),
        runs=counted,
        excluded=len(scores) - counted,
        superseded=len(superseded),
        unusual=sum(map(_is_unusual, (*scores, *superseded))) + len(evidence.judging.get(arm, ())),
        records=total.records,
        evidence_sum=total.encode(),
        agents=tuple(setup.agents.items()),
        with_setup=setup.with_setup,
        items=tuple(setup.items.items()),
        warnings=dict(setup.warnings),
        warned=setup.warned,
        past_gateway=setup.past_gateway,
        excluded_attempts=tuple(
            (places[each.task_id, arm, each.repeat, each.attempt], each) for each in setup.excluded_attempts
        ),
        known=tuple((key, dict(runs)) for key, runs in setup.use.known.items()),
        seen=tuple((key, dict(runs)) for key, runs in setup.use.seen.items()),
        models={model: (use.runs, use.tokens) for model, use in setup.models.items()},
        ledger=evidence.ledgers.get(arm),
        judging=tuple(evidence.judging.get(arm, ())),
        named_tiers=tuple(evidence.named_tiers.get(arm, ())),
        selected=tuple(sorted(evidence.selected.get(arm, ()))),
    )


def _is_unusual(score: Score) -> bool:
    return bool(score.judge_opinions or score.ranges or score.reused or score.should_fire is not None)


def attempt_key(score: Score) -> AttemptKey:
    """What names an attempt."""
    return score.task_id, score.arm, score.repeat, score.attempt


def merge_setups(parts: Sequence[ArmPart], runs: Runs) -> SetupSummary:
    """The set-up of an arm by all its parts; `runs` are its counted runs by task."""
    attempts = sorted(each for part in parts for each in part.excluded_attempts)
    return SetupSummary(
        agents=_added(part.agents for part in parts),
        with_setup=sum(part.with_setup for part in parts),
        items=_added(part.items for part in parts),
        warnings=_added(tuple(part.warnings.items()) for part in parts),
        warned=sum(part.warned for part in parts),
        past_gateway=sum(part.past_gateway for part in parts),
        excluded_attempts=tuple(attempt for _, attempt in attempts[:MOST_EXCLUDED_LISTED]),
        use=SetupUse(
            runs=runs, known=_by_task(part.known for part in parts), seen=_by_task(part.seen for part in parts)
        ),
        models=_merge_models(part.models for part in parts),
    )


def _added(counts: Iterable[Iterable[tuple[_Key, int]]]) -> Counter[_Key]:
    found: Counter[_Key] = Counter()
    for part in counts:
        for key, number in part:
            found[key] += number
    return found


def _by_task(parts: Iterable[Iterable[tuple[_Key, dict[str, int]]]]) -> dict[_Key, dict[str, int]]:
    found: dict[_Key, dict[str, int]] = {}
    for part in parts:
        for key, runs in part:
            found.setdefault(key, {}).update(runs)
    return found


def _merge_models(parts: Iterable[Mapping[str, tuple[int, int | None]]]) -> dict[str, ModelUse]:
    runs: Counter[str] = Counter()
    tokens: dict[str, int | None] = {}
    for model, (number, more) in (item for part in parts for item in part.items()):
        runs[model] += number
        before = tokens.get(model, 0)
        tokens[model] = None if before is None or more is None else before + more
    shares = token_shares(tokens)
    by_tokens = sorted(tokens, key=lambda model: (-(tokens[model] or 0), model))
    return {model: ModelUse(runs=runs[model], tokens=tokens[model], share=shares[model]) for model in by_tokens}


def arms_in_order(parts: Sequence[EvidencePart]) -> list[str]:
    """All arms, the one whose run was read first at first."""
    first: dict[str, int] = {}
    for arm, part in parts_by_arm(parts):
        first[arm] = min(first.get(arm, part.first), part.first)
    return sorted(first, key=first.__getitem__)


def parts_by_arm(parts: Iterable[EvidencePart]) -> Iterator[tuple[str, ArmPart]]:
    """Every arm of every part."""
    return (item for part in parts for item in part.arms.items())
