"""The page and the JSON of `outweigh parts list`: what a set-up is made of, and what each part costs on every turn."""

from collections.abc import Iterator, Mapping
from shlex import quote

from msgspec import Struct

from outweigh.errors import quote_names
from outweigh.report.document import Block, BulletList, CodeBlock, Report, Table, Tone, optional_bullets
from outweigh.report.formatting import count_of, format_count, format_dollars, shorten_name
from outweigh.report.json_output import Payload

NOT_MEASURED = "not measured"
NOTHING_TO_READ = "–"
TURNS = 1000
"""Prices are for so many turns: those of a single one are too small to read."""

SHOWN_TOOLS = 6
MOST_NAME = 34


class ListedTools(Struct, frozen=True, kw_only=True):
    """Tools of a server that a request offers with their schemas, and those that the model must search for first."""

    in_prompt: tuple[str, ...]
    deferred: tuple[str, ...]


class PartTokens(Struct, frozen=True, kw_only=True):
    """Tokens of a part. `every_turn` is None where it was not measured, for the reason `why`.

    `when_read` are those of text that is only read when the part is used; None where there is none or it was not
    counted.
    """

    every_turn: int | None
    why: str | None
    when_read: int | None
    tools: ListedTools | None


class MeasuredSetup(Struct, frozen=True, kw_only=True):
    """What an agent sent with the whole set-up and with nothing of it, by whom that was counted, and every part.

    `variation_tokens` is the difference between two starts with the same set-up.
    """

    agent: str
    agent_version: str | None
    model: str | None
    counted_by: str | None
    is_provider_count: bool
    whole_tokens: int | None
    nothing_tokens: int | None
    nothing_fault: str | None
    variation_tokens: int | None
    parts: Mapping[str, PartTokens]

    @property
    def shared_tokens(self) -> int | None:
        """Tokens of the set-up that no single part saves: text that the agent adds once for several of them."""
        if self.whole_tokens is None or self.nothing_tokens is None:
            return None
        alone = [part.every_turn for part in self.parts.values()]
        return None if None in alone else self.whole_tokens - self.nothing_tokens - sum(filter(None, alone))


class TurnPrices(Struct, frozen=True, kw_only=True):
    """Dollars per million tokens of the measured model, and the table that lists them; None where one is unknown."""

    input_usd_per_million: float
    cache_read_usd_per_million: float | None
    table: str


class ListedPart(Struct, frozen=True, kw_only=True):
    """A part of the set-up: its name in a suite, what it is and where. `withheld` says why no suite can have it."""

    name: str
    kind: str
    where: str
    withheld: str | None = None
    has_more_to_read: bool = False


class WrittenSuite(Struct, frozen=True, kw_only=True):
    """The suite that was written: its folder, its design, how many tasks it has, and where they come from."""

    folder: str
    design: str
    parts: tuple[str, ...]
    tasks: int
    task_source: str


class PartList(Struct, frozen=True, kw_only=True):
    """Everything that `parts list` found."""

    parts: tuple[ListedPart, ...]
    measured: MeasuredSetup
    prices: TurnPrices | None
    price_reason: str
    notes: tuple[str, ...]
    suite: WrittenSuite | None = None

    def usd(self, part: ListedPart, *, cached: bool) -> float | None:
        """Dollars of a part for a thousand turns, where its tokens are read from the prompt cache or not."""
        tokens, prices = self.measured.parts[part.name].every_turn, self.prices
        if tokens is None or prices is None:
            return None
        price = prices.cache_read_usd_per_million if cached else prices.input_usd_per_million
        return None if price is None else tokens * TURNS * price * 1e-6


def part_list_report(found: PartList) -> Report:
    """The page of `outweigh parts list`."""
    is_measured = found.measured.whole_tokens is not None
    blocks: list[Block] = [
        _table(found),
        *optional_bullets("Tool servers", tuple(_tool_lines(found))),
        *optional_bullets("Not measured", tuple(_unmeasured_lines(found))),
        *(
            [BulletList(title="How this was measured", items=tuple(_method_lines(found)), tone=Tone.PLAIN)]
            if is_measured
            else []
        ),
        *optional_bullets("Notes", found.notes),
        *_suite_blocks(found.suite),
    ]
    return Report(
        headline=_headline(found),
        tone=Tone.GOOD if is_measured else Tone.UNSURE,
        blocks=tuple(blocks),
        payload=_payload(found),
    )


def _headline(found: PartList) -> str:
    measured = found.measured
    parts = count_of(len(found.parts), "part")
    if measured.whole_tokens is None:
        return f"The set-up has {parts}; tokens were not measured"
    who = " ".join(filter(None, (measured.agent, measured.agent_version)))
    added = None if measured.nothing_tokens is None else measured.whole_tokens - measured.nothing_tokens
    cost = "an unknown number of" if added is None else f"{added:,}"
    return f"The set-up has {parts} and adds {cost} tokens to every turn of {who}"


def _table(found: PartList) -> Table:
    columns = ("part", "kind", "tokens a turn", "when read", f"$ per {TURNS:,} turns", "from the cache")
    has_prices = found.prices is not None and found.measured.whole_tokens is not None
    shown = len(columns) if has_prices else 4
    rows = [
        (
            shorten_name(part.name, MOST_NAME),
            part.kind,
            NOT_MEASURED if tokens.every_turn is None else format_count(tokens.every_turn),
            _shown_when_read(part, tokens),
            format_dollars(found.usd(part, cached=False)),
            format_dollars(found.usd(part, cached=True)),
        )
        for part in found.parts
        for tokens in [found.measured.parts[part.name]]
    ]
    return Table(title="Parts", columns=columns[:shown], rows=tuple(row[:shown] for row in rows))


def _shown_when_read(part: ListedPart, tokens: PartTokens) -> str:
    if not part.has_more_to_read:
        return NOTHING_TO_READ
    return NOT_MEASURED if tokens.when_read is None else format_count(tokens.when_read)


def _tool_lines(found: PartList) -> Iterator[str]:
    for part in found.parts:
        tools = found.measured.parts[part.name].tools
        if tools is None:
            continue
        if not (tools.in_prompt or tools.deferred):
            yield f"{part.name}: none of its tools is in the prompt, neither with its schema nor by name."
            continue
        offered = f"{count_of(len(tools.in_prompt), 'tool')} in the prompt with schema" if tools.in_prompt else ""
        later = (
            f"{count_of(len(tools.deferred), 'tool')} deferred: the prompt has only names, and a schema is loaded when "
            "the model searches for it"
            if tools.deferred
            else ""
        )
        names = quote_names((*tools.in_prompt, *tools.deferred), SHOWN_TOOLS)
        yield f"{part.name}: {'; '.join(filter(None, (offered, later)))} ({names})."


def _unmeasured_lines(found: PartList) -> Iterator[str]:
    """Every reason once, with the parts that it is about."""
    reasons: dict[str, list[str]] = {}
    for part in found.parts:
        tokens = found.measured.parts[part.name]
        if tokens.every_turn is None:
            reasons.setdefault((tokens.why or "the agent sent nothing").rstrip("."), []).append(part.name)
    for why, names in reasons.items():
        who = "every part" if len(names) == len(found.parts) > 1 else ", ".join(names)
        yield f"{who}: {why}."


def _method_lines(found: PartList) -> Iterator[str]:
    measured = found.measured
    who = " ".join(filter(None, (measured.agent, measured.agent_version)))
    yield (
        f"{who} was started in a sandbox against a scripted model, with the whole set-up and once without each part. A "
        "part's tokens are the difference of the two first requests at the gateway."
    )
    yield _counted_line(measured)
    if measured.whole_tokens is not None and measured.nothing_tokens is not None:
        yield (
            f"the first request has {measured.whole_tokens:,} tokens with the set-up, and {measured.nothing_tokens:,} "
            "without any of its parts."
        )
    if measured.shared_tokens:
        yield _describe_shared(measured.shared_tokens)
    if measured.variation_tokens:
        yield (
            f"two starts with the same set-up differ by {count_of(measured.variation_tokens, 'token')}, so every "
            "figure can be off by as much."
        )
    if any(part.has_more_to_read for part in found.parts):
        yield "what is read later is the text of the file; it counts from the turn in which the agent reads it."
    if found.prices is None:
        yield f"prices are unknown: {found.price_reason}."
    else:
        yield f"prices are those of {measured.model} for input ({found.prices.table}), fresh and from the prompt cache."


def _describe_shared(tokens: int) -> str:
    if tokens > 0:
        return (
            f"{count_of(tokens, 'token')} of that no single part saves: text that the agent adds once for several "
            "parts, such as a heading above its instructions."
        )
    return f"the parts add up to {count_of(-tokens, 'token')} more: what one of them adds depends on the others."


def _counted_line(measured: MeasuredSetup) -> str:
    if measured.is_provider_count:
        return f"tokens of requests were counted by {measured.counted_by}, free of charge."
    return (
        f"tokens were counted with {measured.counted_by}, OpenAI's public tokenizer, on exactly what was sent; a model "
        "of another maker counts the same text differently. Export the provider's key to have its own count instead."
    )


def _suite_blocks(suite: WrittenSuite | None) -> list[Block]:
    if suite is None:
        return []
    told = f"{suite.folder} has {count_of(len(suite.parts), 'part')} and the design {suite.design}. {suite.task_source}"
    block = BulletList(title="The suite", items=(told,), tone=Tone.GOOD if suite.tasks else Tone.UNSURE)
    return (
        [block, CodeBlock(title="Next", lines=(f"outweigh plan -c {quote(suite.folder)}",))] if suite.tasks else [block]
    )


def _payload(found: PartList) -> Payload:
    measured = found.measured
    suite = found.suite
    return {
        "schema": "outweigh.parts/1",
        "agent": measured.agent,
        "agent_version": measured.agent_version,
        "model": measured.model,
        "counted_by": measured.counted_by,
        "is_provider_count": measured.is_provider_count,
        "whole_tokens": measured.whole_tokens,
        "own_tokens": measured.nothing_tokens,
        "shared_tokens": measured.shared_tokens,
        "variation_tokens": measured.variation_tokens,
        "price_table": None if found.prices is None else found.prices.table,
        "parts": [_part_payload(found, part) for part in found.parts],
        "notes": list(found.notes),
        "suite": None
        if suite is None
        else {"folder": suite.folder, "design": suite.design, "parts": list(suite.parts), "tasks": suite.tasks},
    }


def _part_payload(found: PartList, part: ListedPart) -> Payload:
    tokens = found.measured.parts[part.name]
    tools = tokens.tools
    return {
        "name": part.name,
        "kind": part.kind,
        "where": part.where,
        "tokens_every_turn": tokens.every_turn,
        "not_measured": tokens.why,
        "tokens_when_read": tokens.when_read,
        "usd_per_1000_turns": found.usd(part, cached=False),
        "usd_per_1000_turns_cached": found.usd(part, cached=True),
        "tools_in_prompt": None if tools is None else list(tools.in_prompt),
        "tools_deferred": None if tools is None else list(tools.deferred),
        "withheld": part.withheld,
    }
