"""The page and the JSON of `outweigh store show`: stores at a glance, arm by arm, and the next command."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from outweigh.model.usage import CostProvenance
from outweigh.report.arms_table import ArmFigures, arms_blocks, arms_payload
from outweigh.report.document import BulletList, Heading, KeyPoints, Report, Table, Tone
from outweigh.report.formatting import SIMULATED, UNKNOWN, count_of, format_bytes, format_dollars
from outweigh.report.json_output import Payload
from outweigh.report.next_step import NextStep

SHOWN_LINES = 5


class ArmOverview(Struct, frozen=True, kw_only=True):
    """One arm of a store. A trial has a result when one of its attempts was fair, whether it passed or not.

    `missing` trials were not attempted, None where the store does not say how many are planned. `failed` trials were
    attempted, and every attempt failed for reasons that say nothing about the arm. `usd` is what all attempts cost, by
    where the amount comes from; `unpriced` attempts have an unknown cost, `estimated` ones an estimated cost.
    `simulated` arms have only scripted agents. The suite has changed an arm that `is_earlier` since it was run.
    """

    name: str
    done: int
    missing: int | None
    failed: int
    attempts: int
    judged: int
    invalid_judgments: int
    usd: Mapping[str, float]
    unpriced: int
    estimated: int
    judging_usd: float
    unpriced_judgments: int
    simulated: bool
    is_earlier: bool


class StoreOverview(Struct, frozen=True, kw_only=True):
    """A store. `suite`, `baseline` and `repeats` are None where nothing says so, `size_bytes` where it is no file.

    `repeats` are planned for every trial, `most_repeats` are recorded for one. `pair_judgments` are about two runs side
    by side, so that they belong to no arm. `damaged` are the lines that cannot be read, each with its place and reason.
    `choices` say what each inheriting arm is built on, or why it is not there, by the arm's name. `shards` are those of
    a divided plan that it holds.
    """

    name: str
    suite: str | None
    baseline: str | None
    tasks: int
    repeats: int | None
    most_repeats: int
    judges: tuple[str, ...]
    arms: tuple[ArmOverview, ...]
    pair_judgments: int
    pair_judging_usd: float
    sources: tuple[str, ...]
    first: datetime | None
    last: datetime | None
    size_bytes: int | None
    running: bool
    damaged: tuple[str, ...]
    choices: Mapping[str, str] = {}
    figures: tuple[ArmFigures, ...] = ()
    shards: tuple[str, ...] = ()
    hosts: str | None = None


def stores_report(stores: Sequence[StoreOverview], step: NextStep | None) -> Report:
    """The page of `outweigh store show`, which ends with what to do next."""
    reports = [_store_report(store) for store in stores]
    closing = () if step is None else (_closing(step),)
    following = {} if step is None else {"next": step.command}
    if len(reports) == 1:
        report = reports[0]
        return replace(report, blocks=(*report.blocks, *closing), payload={**report.payload, **following})
    blocks = [
        block for report in reports for block in (Heading(title=report.headline, tone=report.tone), *report.blocks)
    ]
    return Report(
        headline=count_of(len(reports), "store"),
        tone=Tone.PLAIN,
        blocks=(*blocks, *closing),
        payload={"schema": "outweigh.stores/1", "stores": [dict(each.payload) for each in reports], **following},
    )


def _closing(step: NextStep) -> KeyPoints:
    commands = {} if step.command is None else {"Next": step.command}
    return KeyPoints(rows=(("Next", step.words or "compare them"),), commands=commands)


def _store_report(store: StoreOverview) -> Report:
    """One store. How far it is stands only where something is planned or judged."""
    table = Table(
        title="Arms",
        columns=("", "done", "missing", "failed to run", "judged", "cost"),
        rows=tuple(_arm_row(store, arm) for arm in store.arms),
    )
    damage = BulletList(title="Damaged lines", items=tuple(_damaged(store)), tone=Tone.BAD)
    return Report(
        headline=f"{store.name}: {_progress(store)}",
        tone=Tone.PLAIN,
        blocks=(
            KeyPoints(rows=tuple(_facts(store))),
            *((table,) if store.suite is not None or store.judges or store.pair_judgments else ()),
            *arms_blocks(store.figures),
            *((damage,) if store.damaged else ()),
        ),
        payload=_payload(store),
    )


def _progress(store: StoreOverview) -> str:
    done = sum(arm.done for arm in store.arms)
    missing = [arm.missing for arm in store.arms]
    if not store.arms or any(each is None for each in missing):
        return "1 trial has a result" if done == 1 else f"{done:,} trials have a result"
    planned = done + sum(each or 0 for each in missing) + sum(arm.failed for arm in store.arms)
    return f"{done:,} of {planned:,} trials have a result"


def _facts(store: StoreOverview) -> Iterator[tuple[str, str]]:
    most = store.most_repeats if store.repeats is None else store.repeats
    planned = {arm.done + arm.failed + (arm.missing or 0) for arm in store.arms}
    repeats = f"{'up to ' if len(planned) > 1 else ''}{count_of(most, 'repeat')}"
    shape = f"{count_of(store.tasks, 'task')} × {count_of(len(store.arms), 'arm')} × {repeats}"
    yield "suite", UNKNOWN if store.suite is None else f"{store.suite} (baseline: {store.baseline})"
    if store.sources:
        yield "imported", "; ".join(store.sources)
    yield "size", f"{shape}; {_size(store)}"
    if store.shards:
        yield "shards", ", ".join(store.shards)
    yield "dates", _dates(store)
    yield "judges", ", ".join(store.judges) or "none"
    if store.pair_judgments:
        pairs = count_of(store.pair_judgments, "judgment")
        yield "pairs", f"{pairs} of two runs side by side, {format_dollars(store.pair_judging_usd)}"
    for arm, words in store.choices.items():
        yield "choice", f"{arm}: {words}"
    where = "" if store.hosts is None else f" on {store.hosts}"
    yield "state", f"running now{where}" if store.running else "not running"
    yield "damage", count_of(len(store.damaged), "damaged line") if store.damaged else "none"


def _dates(store: StoreOverview) -> str:
    if store.first is None or store.last is None:
        return UNKNOWN
    first, last = (f"{moment:%Y-%m-%d %H:%M}" for moment in (store.first, store.last))
    return f"{first} UTC" if first == last else f"{first} to {last} UTC"


def _arm_row(store: StoreOverview, arm: ArmOverview) -> tuple[str, ...]:
    mark = " (baseline)" if arm.name == store.baseline else " (earlier version)" if arm.is_earlier else ""
    name = f"{arm.name}{mark}"
    missing = UNKNOWN if arm.missing is None else f"{arm.missing:,}"
    return name, f"{arm.done:,}", missing, f"{arm.failed:,}", _judged(store, arm), _cost(arm)


def _judged(store: StoreOverview, arm: ArmOverview) -> str:
    if not (store.judges or arm.judged or arm.invalid_judgments):
        return "–"
    invalid = f", {arm.invalid_judgments:,} invalid" if arm.invalid_judgments else ""
    return f"{arm.judged:,} of {arm.done:,}{invalid}"


def _cost(arm: ArmOverview) -> str:
    """What the attempts cost, and where each amount comes from; an unknown cost is not $0."""
    if arm.simulated:
        return SIMULATED
    parts = [f"{format_dollars(usd)} {CostProvenance(source).phrase}" for source, usd in arm.usd.items()]
    if arm.estimated:
        parts.append(f"{arm.estimated:,} of {arm.attempts:,} attempts estimated")
    if arm.unpriced:
        parts.append(f"{arm.unpriced:,} of {arm.attempts:,} attempts {UNKNOWN}")
    if arm.judging_usd:
        parts.append(f"{format_dollars(arm.judging_usd)} for judges")
    if arm.unpriced_judgments:
        parts.append(f"{count_of(arm.unpriced_judgments, 'judgment')} {UNKNOWN}")
    return ", ".join(parts) or "–"


def _damaged(store: StoreOverview) -> Iterator[str]:
    yield from store.damaged[:SHOWN_LINES]
    if (more := len(store.damaged) - SHOWN_LINES) > 0:
        yield f"and {more:,} more"


def _size(store: StoreOverview) -> str:
    return f"size on disk {UNKNOWN}" if store.size_bytes is None else format_bytes(store.size_bytes)


def _payload(store: StoreOverview) -> Payload:
    return {
        "schema": "outweigh.store/1",
        "store": store.name,
        "suite": store.suite,
        "baseline": store.baseline,
        "tasks": store.tasks,
        "repeats": store.repeats,
        "choices": dict(store.choices),
        "most_repeats": store.most_repeats,
        "judges": list(store.judges),
        "pair_judgments": store.pair_judgments,
        "pair_judging_usd": store.pair_judging_usd,
        "sources": list(store.sources),
        "first_started_at": None if store.first is None else store.first.isoformat(),
        "last_started_at": None if store.last is None else store.last.isoformat(),
        "size_bytes": store.size_bytes,
        "running": store.running,
        "damaged_lines": list(store.damaged),
        "shards": list(store.shards),
        "arms": {arm.name: _arm_payload(arm) for arm in store.arms},
        "results": arms_payload(store.figures),
    }


def _arm_payload(arm: ArmOverview) -> Payload:
    return {
        "done": arm.done,
        "missing": arm.missing,
        "failed": arm.failed,
        "attempts": arm.attempts,
        "judged": arm.judged,
        "invalid_judgments": arm.invalid_judgments,
        "cost_usd": dict(arm.usd),
        "attempts_with_unknown_cost": arm.unpriced,
        "attempts_with_estimated_cost": arm.estimated,
        "judging_usd": arm.judging_usd,
        "judgments_with_unknown_cost": arm.unpriced_judgments,
        "simulated": arm.simulated,
        "earlier_version": arm.is_earlier,
    }
