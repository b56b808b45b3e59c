"""What a program says about its own work: a small JSON object in the file that OUTWEIGH_USAGE names.

All keys are optional and an absent one is unknown. `input_tokens` excludes what was read from or written to the
prompt cache. `status` is `completed` unless stated; `infra_error` asks for another attempt, after
`retry_after_seconds` where that is given. Anything else in the file makes all of it unusable, with the reason.
"""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from outweigh.record.cost import Cost, reported_cost
from outweigh.record.stored import Amount, Count, Name
from outweigh.record.usage import Usage
from outweigh.task.spec import Seconds, Spec

SIZE_LIMIT = 1_000_000


class UsageReport(Spec, frozen=True, kw_only=True):
    """The protocol's keys."""

    input_tokens: Count | None = None
    output_tokens: Count | None = None
    cache_read_tokens: Count | None = None
    cache_write_tokens: Count | None = None
    cost_usd: Amount | None = None
    steps: Count | None = None
    tool_calls: Count | None = None
    status: Literal["completed", "agent_error", "budget_exceeded", "infra_error"] | None = None
    detail: Annotated[str, Meta(max_length=2000)] | None = None
    retry_after_seconds: Seconds | None = None
    version: str | None = None
    model: str | None = None
    reached_steps: list[Name] | None = None

    @property
    def usage(self) -> Usage:
        """The tokens."""
        return Usage(
            input_tokens=self.input_tokens,
            output_tokens=self.output_tokens,
            cache_read_tokens=self.cache_read_tokens,
            cache_write_tokens=self.cache_write_tokens,
        )

    @property
    def cost(self) -> Cost:
        """The dollars, as reported by the program itself."""
        return reported_cost(self.cost_usd)


NOTHING_SAID = UsageReport()


def read_report(content: bytes | None) -> tuple[UsageReport, str | None]:
    """The report, or an empty one and the reason why it cannot be used; no file at all needs no reason."""
    if content is None:
        return NOTHING_SAID, None
    if len(content) >= SIZE_LIMIT:
        return NOTHING_SAID, f"usage is unknown: its file has {SIZE_LIMIT:,} bytes or more"
    try:
        return msgspec.json.decode(content, type=UsageReport), None
    except (msgspec.MsgspecError, ValueError, RecursionError) as fault:
        return NOTHING_SAID, f"usage is unknown: {str(fault) or 'nested too deeply'}"
