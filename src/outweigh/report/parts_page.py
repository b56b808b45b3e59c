"""The page of `outweigh parts verdict`: what to do about each part, its effects, and what to do next."""

import shlex
from collections.abc import Iterator
from math import expm1

from outweigh.compare.part_effects import DesignEffects, MetricEffects, PartEffect
from outweigh.errors import quote_names
from outweigh.report.document import Block, BulletList, CodeBlock, Report, Table, Tone, optional_bullets
from outweigh.report.figures.part_effects import part_figures
from outweigh.report.formatting import UNKNOWN, format_change, format_count, format_dollars, pluralize
from outweigh.report.parts_json import BaseArm, PartsPage, joint_arm_name, parts_payload, quote_parts
from outweigh.stats.estimate import Estimate, Interval
from outweigh.verdict.decision import Decision, Gate, Verdict
from outweigh.verdict.evidence_settings import GATED_METRICS, GateRole
from outweigh.verdict.part_verdict import Need, PartDecision, PartVerdict

SUITE_FILE = "suite.toml"
ALL_PARTS = "all-parts"
SHOWN_PAIRS = 6


def parts_report(page: PartsPage) -> Report:
    """The page of `outweigh parts verdict`."""
    blocks: list[Block] = [_parts_table(page)]
    if decided := tuple(_decided_lines(page)):
        blocks.append(BulletList(title="Why", items=decided, tone=Tone.PLAIN))
    blocks.extend(optional_bullets("Not known yet", tuple(_unknown_lines(page))))
    blocks.extend(optional_bullets("Not to be dropped yet", tuple(_blocked_lines(page))))
    if page.joint:
        blocks.append(_joint_table(page))
    for title, effects in (("Effects", page.effects), ("Screen", page.screen)):
        if effects is not None:
            blocks.extend(_effect_blocks(title, effects))
            blocks.extend(part_figures(title, effects))
    blocks.extend(_next_steps(page))
    blocks.extend(optional_bullets("Warnings", page.warnings))
    return Report(
        headline=_headline(page),
        tone=Tone.PLAIN if page.is_decided else Tone.UNSURE,
        blocks=tuple(blocks),
        payload=parts_payload(page),
    )


def _headline(page: PartsPage) -> str:
    counts = [(word, sum(part.decision is word for part in page.parts)) for word in PartDecision]
    found = ", ".join(f"{number} {word.words}" for word, number in counts if number)
    return f"{pluralize(len(page.parts), 'part')}: {found}"


def _parts_table(page: PartsPage) -> Table:
    month = () if page.turns_per_month is None else (f"a month of {page.turns_per_month:,} turns",)
    where = f"{'of' if page.baseline_parts else 'beside'} {page.baseline}"
    return Table(
        title=f"Parts {where}, and what changes without each of them",
        columns=("", "decision", "quality without it", "cost without it", "tokens a turn", *month),
        rows=tuple(_part_row(part, page) for part in page.parts),
    )


def _part_row(part: PartVerdict, page: PartsPage) -> tuple[str, ...]:
    saved = page.savings.get(part.part)
    month: tuple[str, ...] = ()
    if page.turns_per_month is not None:
        known = None if saved is None else saved.usd_per_month
        month = ("simulated" if page.simulated else format_dollars(known),)
    return (
        part.part,
        part.decision.words,
        _change_without(part, GateRole.QUALITY),
        _change_without(part, GateRole.RESOURCE),
        UNKNOWN if saved is None else _tokens(saved.tokens_per_turn),
        *month,
    )


def _tokens(estimate: Estimate) -> str:
    if estimate.point is None:
        return UNKNOWN
    ends = (
        "" if estimate.interval is None else f" ({_round(estimate.interval.low)} to {_round(estimate.interval.high)})"
    )
    return _round(estimate.point) + ends


def _round(tokens: float) -> str:
    return format_count(tokens) if tokens >= 0 else f"-{format_count(-tokens)}"


def _change_without(part: PartVerdict, role: GateRole) -> str:
    """The change from the arm with the part to the one without it, with its 90 % interval."""
    gate = _gate(part.verdict, role)
    if gate is None or gate.evidence is None or gate.evidence.effect is None:
        return UNKNOWN
    unit = "points" if role is GateRole.QUALITY else "%"
    tested = gate.evidence
    effect = _turn(tested.effect, part, role)
    if tested.low is None or tested.high is None:
        return f"{format_change(effect)} {unit}"
    low, high = sorted((_turn(tested.low, part, role), _turn(tested.high, part, role)))
    return f"{format_change(effect)} {unit} ({format_change(low)} to {format_change(high)})"


def _turn(change: float | None, part: PartVerdict, role: GateRole) -> float:
    """A change by adding a part as the change by leaving it out."""
    known = 0.0 if change is None else change
    if not part.added:
        return known
    return -known if role is GateRole.QUALITY else 1 / (1 + known) - 1


def _gate(verdict: Verdict | None, role: GateRole) -> Gate | None:
    gates = () if verdict is None else verdict.gates
    found = [gate for gate in gates if gate.name in GATED_METRICS and GATED_METRICS[gate.name].role is role]
    return next((gate for gate in found if gate.name == "cost"), next(iter(found), None))


def _decided_lines(page: PartsPage) -> Iterator[str]:
    for part in page.parts:
        if part.decision is not PartDecision.NOT_KNOWN:
            yield f"{part.part}: {part.reason.rstrip('.')}{_saved(part, page)}."


def _saved(part: PartVerdict, page: PartsPage) -> str:
    """What goes with a part that can go."""
    saved = page.savings.get(part.part)
    if part.decision is PartDecision.KEEP or saved is None or saved.tokens_per_turn.point is None:
        return ""
    tokens = saved.tokens_per_turn.point
    month = saved.usd_per_month
    priced = "" if month is None or page.simulated else f" and {format_dollars(month)} a month"
    return f"; it saves {_round(tokens)} tokens a turn{priced}" if tokens > 0 else ""


def _unknown_lines(page: PartsPage) -> Iterator[str]:
    for part in page.parts:
        if part.decision is PartDecision.NOT_KNOWN:
            need = "" if part.need is None else f" It takes {describe_need(part.need, priced=not page.simulated)}."
            yield f"{part.part}: {part.reason.rstrip('.')}.{need}"


def describe_need(need: Need, *, priced: bool) -> str:
    """Tasks × repeats, and their price where it is known."""
    ways = []
    if need.tasks is not None:
        ways.append(f"about {need.tasks} tasks × {pluralize(need.repeats, 'repeat')}")
    if need.repeats_instead is not None:
        ways.append(f"{pluralize(need.repeats_instead, 'repeat')} of these tasks")
    cost = f", {format_dollars(need.cost_usd)} more" if priced and need.cost_usd and need.tasks is not None else ""
    return " or ".join(ways) + cost


def _blocked_lines(page: PartsPage) -> Iterator[str]:
    for part in page.parts:
        if part.decision in (PartDecision.DROP, PartDecision.HURTS) and not part.added and not part.may_drop:
            yield f"{part.part}: {' '.join(part.blockers)}"
    for joint in page.joint:
        if joint.decision in (Decision.NEUTRAL, Decision.IMPROVED) and joint.refusals:
            yield f"{joint.arm}: {' '.join(joint.refusals)}"


def _joint_table(page: PartsPage) -> Table:
    return Table(
        title="Arms without several parts at once",
        columns=("", "without", "decision", "may be dropped"),
        rows=tuple(
            (
                joint.arm,
                ", ".join(joint.parts),
                "not run" if joint.decision is None else joint.decision.words,
                "no" if joint.refusals else "yes",
            )
            for joint in page.joint
        ),
    )


def _effect_blocks(title: str, effects: DesignEffects) -> Iterator[Block]:
    for found in effects.metrics[:2]:
        if found.effects:
            yield _effect_table(title, found, effects)
    if notes := tuple(_effect_notes(effects)):
        yield from optional_bullets(f"How to read these effects ({title.lower()})", notes)


def _effect_table(title: str, found: MetricEffects, effects: DesignEffects) -> Table:
    unit = "%" if found.ratio else "points"
    arms, tasks = pluralize(len(effects.arms), "arm"), pluralize(found.tasks, "task")
    return Table(
        title=f"{title} on {found.metric} in {unit} ({arms}, {tasks})",
        columns=("", "with it", "95 % interval", "all intervals together", "p, corrected"),
        rows=tuple(_effect_row(effect, found) for effect in found.effects),
    )


def _effect_row(effect: PartEffect, found: MetricEffects) -> tuple[str, ...]:
    contrast = effect.contrast
    return (
        effect.label,
        UNKNOWN if contrast.estimate is None else format_change(_shown(contrast.estimate, found)),
        _ends(contrast.interval, found),
        _ends(contrast.simultaneous, found),
        UNKNOWN if contrast.adjusted is None else f"{contrast.adjusted:.2g}",
    )


def _ends(interval: Interval | None, found: MetricEffects) -> str:
    if interval is None:
        return UNKNOWN
    return f"{format_change(_shown(interval.low, found))} to {format_change(_shown(interval.high, found))}"


def _shown(value: float, found: MetricEffects) -> float:
    return expm1(value) if found.ratio else value


def _effect_notes(effects: DesignEffects) -> Iterator[str]:
    shown = effects.metrics[0].effects
    if any(len(effect.terms) > 1 for effect in shown):
        yield "effects in one line are aliases: no arm of the design tells them apart, so only their sum is known."
    if any(len(effect.terms[0]) == 2 for effect in shown):
        yield "an interaction (a × b) is half of what the effect of one part gains when the other is there."
    if effects.ranking_only:
        yield "there are fewer arms than parts, so every figure has others in it: figures rank parts, and no more."
    elif effects.not_estimated:
        names = quote_names([" × ".join(pair) for pair in effects.not_estimated], SHOWN_PAIRS)
        number = pluralize(len(effects.not_estimated), "interaction")
        yield (
            f"{number} cannot be estimated by these arms ({names}). "
            "The effect of a part holds for the parts that were beside it."
        )
    for found in effects.metrics[:2]:
        if reasons := dict.fromkeys(each.contrast.reason for each in found.effects if each.contrast.reason):
            yield f"{found.metric}: some intervals are unknown, because {' and '.join(map(str, reasons))}."
        if found.reason is not None:
            yield f"{found.metric}: {found.reason}."
        elif found.left_out:
            yield f"{found.metric}: {pluralize(found.left_out, 'task')} left out, because some arm has no value there."


def _next_steps(page: PartsPage) -> Iterator[CodeBlock]:
    if page.unconfirmed:
        yield CodeBlock(
            title=f"Next: confirm the shortlist of the screen. Add this to {SUITE_FILE}, and run it",
            lines=(*_confirmation_lines(page), "", _run_command(page)),
        )
    allowed = [joint for joint in page.joint if not joint.refusals]
    single = [part.part for part in page.parts if part.may_drop]
    if allowed:
        largest = max(allowed, key=lambda joint: len(joint.parts))
        yield _apply_block(page, largest.parts)
    elif len(page.droppable) == 1 and single:
        yield _apply_block(page, tuple(single))
    together = page.tried_together
    if len(together) > 1 and all(set(joint.parts) != set(together) for joint in page.joint):
        yield CodeBlock(
            title=f"Next: judge an arm without all that may go, together. Add this to {SUITE_FILE}, and run it",
            lines=(*_joint_lines(page), "", _run_command(page)),
        )


def _joint_lines(page: PartsPage) -> tuple[str, ...]:
    left = tuple(part for part in page.baseline_parts if part not in page.tried_together)
    return page.base.arm_lines(joint_arm_name(page.tried_together), left)


def _confirmation_lines(page: PartsPage) -> Iterator[str]:
    """What makes a pair of arms for each part of the shortlist, beside all other parts."""
    every = tuple(part.part for part in page.parts)
    base = page.screen_base
    if set(base.parts) != set(every):
        yield from BaseArm(name=base.name, parts=base.parts).arm_lines(ALL_PARTS, every)
        yield ""
    yield "[[designs]]"
    yield 'kind = "leave-one-out"'
    yield f'arm = "{base.name if set(base.parts) == set(every) else ALL_PARTS}"'
    yield f"parts = [{quote_parts(page.unconfirmed)}]"


def _run_command(page: PartsPage) -> str:
    return shlex.join(["outweigh", "run", "-o", page.stores[0]])


def _apply_block(page: PartsPage, parts: tuple[str, ...]) -> CodeBlock:
    words = ["outweigh", "parts", "apply", *page.stores, "--drop", ",".join(parts), "--patch", "smaller.patch"]
    return CodeBlock(title="Next: write the smaller set-up as a patch", lines=(shlex.join(words),))
