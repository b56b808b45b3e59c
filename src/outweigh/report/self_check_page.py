"""The page and the JSON of `outweigh suite aa`: how often each policy raises a false alarm, and what to conclude."""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import asdict

from outweigh.model.evidence_hash import HASH_VERSION
from outweigh.report.document import Block, BulletList, Report, Table, Tone, optional_bullets
from outweigh.report.formatting import UNKNOWN, format_percent
from outweigh.verdict.decision import Decision, PolicySource
from outweigh.verdict.self_check import FALSE_ALARMS, TOLERATED_FALSE_ALARMS, IdenticalArms, SelfCheck, SplitCounts

MOST_PAIRS = 12

_LIMIT = f"{100 * TOLERATED_FALSE_ALARMS:g} %"
_ORDER = (Decision.IMPROVED, Decision.TRADE_OFF, Decision.NEUTRAL, Decision.REGRESSED, Decision.INCONCLUSIVE)


def self_check_report(check: SelfCheck, seed: int, deciding: str, source: PolicySource) -> Report:
    """The page of `outweigh suite aa`; `deciding` is the policy that a verdict would go by."""
    payload = {**self_check_payload(check, seed), "deciding": deciding, "policy_from": source.value}
    loud = [policy for policy, tally in check.tallies.items() if _raises_too_many_alarms(tally)]
    tone = Tone.BAD if loud else Tone.PLAIN
    blocks: list[Block] = [_share_table(check)] if check.splits else []
    if check.natural_pairs:
        blocks.append(_pair_table(check.natural_pairs))
    decides = f"a verdict on these records uses {deciding} ({source.value}); it was checked with the same settings."
    blocks.append(BulletList(title="What to conclude", items=(*_conclusions(check), decides), tone=tone))
    blocks.extend(optional_bullets("Warnings", tuple(payload["warnings"])))
    return Report(headline=_headline(check, loud), tone=tone, blocks=tuple(blocks), payload=payload)


def self_check_payload(check: SelfCheck, seed: int) -> dict[str, Any]:
    """`suite aa --format json`."""
    unsplit = () if check.splits else ("the shares of every policy are null: no arm could be split.",)
    return {
        "schema": "outweigh.aa/1",
        "arms": list(check.arms),
        "splits": sum(check.splits.values()),
        "seed": seed,
        "tolerated": TOLERATED_FALSE_ALARMS,
        "evidence_sha256": check.evidence_sha256,
        "evidence_hash_version": HASH_VERSION,
        "policies": {policy: _policy_payload(tally) for policy, tally in check.tallies.items()},
        "natural_pairs": [
            {"baseline": pair.baseline, "candidate": pair.candidate, "decisions": _decision_values(pair.decisions)}
            for pair in check.natural_pairs
        ],
        "warnings": [*check.warnings, *unsplit],
    }


def _policy_payload(tally: SplitCounts) -> dict[str, Any]:
    alarms = tally.false_alarms()
    return {
        **{decision.value: tally.share(decision) for decision in _ORDER},
        "splits": tally.splits,
        "false_alarms": alarms.point,
        "false_alarms_interval": None if alarms.interval is None else asdict(alarms.interval),
    }


def _decision_values(decisions: Mapping[str, Decision]) -> dict[str, str]:
    return {policy: decision.value for policy, decision in decisions.items()}


def _headline(check: SelfCheck, loud: list[str]) -> str:
    if not check.splits:
        return f"A/A self-check, {len(check.natural_pairs)} natural pairs and no splits"
    found = f"do not use as a gate: {', '.join(loud)}" if loud else "no policy raises too many false alarms"
    return f"A/A self-check, {sum(check.splits.values())} splits of {_join_arms(tuple(check.splits))}; {found}"


def _join_arms(arms: tuple[str, ...]) -> str:
    return ", ".join(arms) if len(arms) <= 3 else f"{len(arms)} arms"


def _share_table(check: SelfCheck) -> Table:
    return Table(
        title="What each policy said about two halves of one arm (improved and regressed are false alarms)",
        columns=("", *(decision.words for decision in _ORDER), "false alarms", "95 % interval"),
        rows=tuple(
            (policy, *(format_percent(tally.share(decision)) for decision in _ORDER), *_alarm_cells(tally))
            for policy, tally in check.tallies.items()
        ),
    )


def _alarm_cells(tally: SplitCounts) -> tuple[str, str]:
    alarms = tally.false_alarms()
    span = alarms.interval
    return format_percent(alarms.point), UNKNOWN if span is None else f"{100 * span.low:.1f} to {100 * span.high:.1f} %"


def _pair_table(pairs: tuple[IdenticalArms, ...]) -> Table:
    policies = tuple(pairs[0].decisions)
    more = f"; {len(pairs) - MOST_PAIRS} more in --format json" if len(pairs) > MOST_PAIRS else ""
    return Table(
        title=f"Natural A/A pairs: arms with the same fingerprint ({len(pairs)}{more})",
        columns=("", *policies),
        rows=tuple(
            (f"{pair.candidate} against {pair.baseline}", *(pair.decisions[policy].words for policy in policies))
            for pair in pairs[:MOST_PAIRS]
        ),
    )


def _conclusions(check: SelfCheck) -> tuple[str, ...]:
    items = [_conclusion(policy, tally) for policy, tally in check.tallies.items() if tally.splits]
    if pairs := check.natural_pairs:
        alarms = [
            f"{policy} {sum(pair.decisions[policy] in FALSE_ALARMS for pair in pairs)}" for policy in check.tallies
        ]
        items.append(f"false alarms among {len(pairs)} natural pairs: {', '.join(alarms)}.")
    return tuple(items)


def _conclusion(policy: str, tally: SplitCounts) -> str:
    alarms = tally.false_alarms()
    said = f"{policy} raises a false alarm in {format_percent(alarms.point)} of the splits"
    if _raises_too_many_alarms(tally):
        return f"{said}: do not use it as a gate on data like these (limit: {_LIMIT})."
    if tally.obstructed == tally.splits:
        return f"{policy} could judge none of the splits, so this says nothing about it; the warnings say why."
    if alarms.interval is not None and alarms.interval.high > TOLERATED_FALSE_ALARMS:
        return f"{said}, but {tally.splits} splits are too few to show that it stays below {_LIMIT}; raise --splits."
    return f"{said}, below the limit of {_LIMIT}."


def _raises_too_many_alarms(tally: SplitCounts) -> bool:
    return (tally.false_alarms().point or 0.0) > TOLERATED_FALSE_ALARMS
