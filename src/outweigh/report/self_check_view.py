"""How often each policy cried wolf, and what to conclude from it."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from outweigh.report.document import Block, Bullets, Report, Table, Tone, notes
from outweigh.report.rule_source import RuleSource
from outweigh.report.wording import UNKNOWN, percent
from outweigh.verdict.self_check import FALSE_ALARMS, TOLERATED, NaturalPair, SelfCheck, Tally
from outweigh.verdict.verdict import Decision

SHOWN = 12

_LIMIT = f"{100 * TOLERATED:g} %"
_ORDER = (Decision.IMPROVED, Decision.NEUTRAL, Decision.REGRESSED, Decision.INCONCLUSIVE)


def self_check_report(check: SelfCheck, seed: int, deciding: str, source: RuleSource) -> Report:
    """The page of `outweigh aa`; `deciding` is the policy that a verdict would go by."""
    payload = {**self_check_payload(check, seed), "deciding": deciding, "policy_from": source.value}
    loud = [policy for policy, tally in check.tallies.items() if _is_loud(tally)]
    tone = Tone.BAD if loud else Tone.PLAIN
    blocks: list[Block] = [_shares(check)] if check.splits else []
    if check.natural_pairs:
        blocks.append(_pairs(check.natural_pairs))
    decides = f"a verdict on these records goes by {deciding} ({source.value}); it was checked as it is set there."
    blocks.append(Bullets(title="What to conclude", items=(*_conclusions(check), decides), tone=tone))
    blocks.extend(notes("Warnings", tuple(payload["warnings"])))
    return Report(headline=_headline(check, loud), tone=tone, blocks=tuple(blocks), payload=payload)


def self_check_payload(check: SelfCheck, seed: int) -> dict[str, Any]:
    """`aa --format json`."""
    unsplit = () if check.splits else ("the shares of every policy are null: no arm could be split.",)
    return {
        "schema": "outweigh.aa/1",
        "arms": list(check.arms),
        "splits": sum(check.splits.values()),
        "seed": seed,
        "tolerated": TOLERATED,
        "evidence_sha256": check.evidence_sha256,
        "policies": {policy: _policy(tally) for policy, tally in check.tallies.items()},
        "natural_pairs": [
            {"baseline": pair.baseline, "candidate": pair.candidate, "decisions": _values(pair.decisions)}
            for pair in check.natural_pairs
        ],
        "warnings": [*check.warnings, *unsplit],
    }


def _policy(tally: Tally) -> dict[str, Any]:
    alarms = tally.false_alarms()
    return {
        **{decision.value: tally.share(decision) for decision in _ORDER},
        "splits": tally.splits,
        "false_alarms": alarms.point,
        "false_alarms_interval": None if alarms.interval is None else asdict(alarms.interval),
    }


def _values(decisions: Mapping[str, Decision]) -> dict[str, str]:
    return {policy: decision.value for policy, decision in decisions.items()}


def _headline(check: SelfCheck, loud: list[str]) -> str:
    if not check.splits:
        return f"A/A self-check, {len(check.natural_pairs)} natural pairs and no splits"
    found = f"must not gate here: {', '.join(loud)}" if loud else "no policy cries wolf too often"
    return f"A/A self-check, {sum(check.splits.values())} splits of {_names(tuple(check.splits))}; {found}"


def _names(arms: tuple[str, ...]) -> str:
    return ", ".join(arms) if len(arms) <= 3 else f"{len(arms)} arms"


def _shares(check: SelfCheck) -> Table:
    return Table(
        title="What each policy said about two halves of one arm (improved and regressed are false alarms)",
        columns=("", *(decision.value for decision in _ORDER), "false alarms", "95 % interval"),
        rows=tuple(
            (policy, *(percent(tally.share(decision)) for decision in _ORDER), *_alarms(tally))
            for policy, tally in check.tallies.items()
        ),
    )


def _alarms(tally: Tally) -> tuple[str, str]:
    alarms = tally.false_alarms()
    span = alarms.interval
    return percent(alarms.point), UNKNOWN if span is None else f"{100 * span.low:.1f} to {100 * span.high:.1f} %"


def _pairs(pairs: tuple[NaturalPair, ...]) -> Table:
    policies = tuple(pairs[0].decisions)
    more = f"; {len(pairs) - SHOWN} more in --format json" if len(pairs) > SHOWN else ""
    return Table(
        title=f"Natural A/A pairs: arms with one and the same fingerprint ({len(pairs)}{more})",
        columns=("", *policies),
        rows=tuple(
            (f"{pair.candidate} against {pair.baseline}", *(pair.decisions[policy].value for policy in policies))
            for pair in pairs[:SHOWN]
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


def _conclusion(policy: str, tally: Tally) -> str:
    alarms = tally.false_alarms()
    said = f"{policy} cries wolf in {percent(alarms.point)} of the splits"
    if _is_loud(tally):
        return f"{said}: a policy that does so in more than {_LIMIT} must not gate on data like these."
    if tally.obstructed == tally.splits:
        return f"{policy} could judge none of the splits, so its silence shows nothing; the warnings say why."
    if alarms.interval is not None and alarms.interval.high > TOLERATED:
        return f"{said}, but so few splits do not show that it stays below {_LIMIT}; raise --splits."
    return f"{said}, below the {_LIMIT} from which on it must not gate."


def _is_loud(tally: Tally) -> bool:
    return (tally.false_alarms().point or 0.0) > TOLERATED
