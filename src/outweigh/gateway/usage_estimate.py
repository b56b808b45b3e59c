"""Estimates the tokens of requests without a final count: answers that were stopped or cut, and servers that report no
usage. What was sent is counted by the provider where that is free, else from its bytes; what came is bounded by the
request's own limit.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil
from statistics import median

from outweigh.gateway.dialects.request_and_response import GenerationRequest, GenerationResponse
from outweigh.gateway.token_attribution import total_input_tokens
from outweigh.model.usage import Usage

BYTES_PER_TOKEN = 4
"""Of ordinary text and code."""

MAX_BYTES_PER_TOKEN = 8
"""Hardly any text has fewer tokens than its bytes divided by this."""

MIN_BYTES_PER_TOKEN = 2
"""Hardly any prompt has more tokens than its bytes divided by this, beside what the provider adds."""

TEMPLATE_TOKENS = 500
"""What a provider adds to a prompt at most: its own system prompt for tools, and marks around messages."""

END_TOKENS = 100
"""What a whole answer may have beside its text: marks, and a few words that its server leaves out."""

MAX_OUTPUT_TOKENS = 128_000
"""The longest answer of any current model, for requests that set no limit."""

COUNT_TOLERANCE = 0.03
"""Providers call their own counts estimates that may differ by a small amount."""

COMPARABLE_SIZE = 4
"""Requests are compared with those of the same model that are at most so many times larger or smaller."""

RATIO_TOLERANCE = 1.5
"""How far the tokens per byte of a request may lie beyond those of comparable ones."""

MIN_SPEED = 500.0
"""Tokens per second: what a model may write at least, however slow its other answers in the run were."""

SPEED_TOLERANCE = 2.0
"""How many times faster than in its fastest answer of the run a model may write."""

MAX_SAMPLES = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageBounds:
    """The fewest, the likely and the most tokens of one request."""

    low: Usage
    likely: Usage
    high: Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class UnmeteredRequest:
    """A request without a final count, and what is known about its response.

    `counted_input` is the provider's own count of what was sent. `has_begun` says that a response had begun: before
    that, the provider may not have taken the request at all. `stops_when_closed` says that the provider is known to
    write nothing more once the connection is closed.
    """

    request: GenerationRequest
    response: GenerationResponse
    seconds: float
    has_begun: bool = True
    stops_when_closed: bool = False
    counted_input: int | None = None

    @property
    def is_bounded(self) -> bool:
        """Whether anything bounds its tokens: tools that the provider itself was running are bounded by nothing."""
        return self.response.is_complete or not self.request.hosted


def lacks_usage(usage: Usage) -> bool:
    """Whether any kind of tokens is unknown."""
    return total_input_tokens(usage) is None or usage.output_tokens is None


@dataclass(frozen=True, slots=True)
class _Finished:
    """A request whose tokens the provider reported."""

    size_bytes: int
    usage: Usage
    tokens_per_second: float

    @property
    def sent(self) -> int:
        return total_input_tokens(self.usage) or 0


class UsageEstimator:
    """Estimates from what the other requests of the same run and model had."""

    def __init__(self) -> None:
        self._finished: dict[str | None, list[_Finished]] = defaultdict(list)

    def note(self, request: GenerationRequest, usage: Usage, writing_seconds: float) -> None:
        """Note a request with a final count; `writing_seconds` is the time from its first token to its end."""
        speed = (usage.output_tokens or 0) / max(writing_seconds, 1e-3)
        samples = self._finished[request.model]
        if len(samples) < MAX_SAMPLES:
            samples.append(_Finished(request.size_bytes, usage, speed))

    def estimate(self, unmetered: UnmeteredRequest) -> UsageBounds | None:
        """The range of a request's tokens; None where nothing bounds them."""
        request, response = unmetered.request, unmetered.response
        if not unmetered.is_bounded:
            return None
        finished = self._finished[request.model]
        output = _output(unmetered, finished)
        if total_input_tokens(response.usage) is not None:
            return UsageBounds(**{end: _with_output(response.usage, output[end]) for end in _ENDS})
        prompt = _prompt(unmetered, finished)
        # A server that reports no usage bills nothing as cached; a provider that was cut off may.
        if response.is_complete:
            return UsageBounds(**{end: _usage(prompt[end], 0, 0, output[end]) for end in _ENDS})
        return UsageBounds(
            low=_usage(0, prompt["low"] if unmetered.has_begun else 0, 0, output["low"]),
            likely=_split(prompt["likely"], finished, output["likely"]),
            high=_usage(prompt["high"], 0, 0, output["high"]),
        )


_ENDS = ("low", "likely", "high")


def _prompt(unmetered: UnmeteredRequest, finished: Iterable[_Finished]) -> dict[str, int]:
    """The tokens that were sent: the provider's own count, else in proportion to comparable requests or to bytes."""
    counted, size = unmetered.counted_input, unmetered.request.size_bytes
    if counted is not None:
        spread = ceil(counted * COUNT_TOLERANCE)
        return {"low": counted - spread, "likely": counted, "high": counted + spread}
    similar = [one for one in finished if size <= COMPARABLE_SIZE * one.size_bytes <= COMPARABLE_SIZE**2 * size]
    if size and similar:
        ratios = [one.sent / one.size_bytes for one in similar]
        likely = sum(one.sent for one in similar) / sum(one.size_bytes for one in similar)
        return {
            "low": int(size * min(ratios) / RATIO_TOLERANCE),
            "likely": round(size * likely),
            "high": ceil(size * max(ratios) * RATIO_TOLERANCE),
        }
    return {
        "low": size // MAX_BYTES_PER_TOKEN,
        "likely": size // BYTES_PER_TOKEN,
        "high": size // MIN_BYTES_PER_TOKEN + TEMPLATE_TOKENS,
    }


def _output(unmetered: UnmeteredRequest, finished: list[_Finished]) -> dict[str, int]:
    """The tokens that the model wrote: at least what arrived, at most what the request or the time allowed."""
    response, limit = unmetered.response, unmetered.request.max_output_tokens
    if response.output_tokens is not None:
        return dict.fromkeys(_ENDS, response.output_tokens)
    size, counted = response.response_bytes, response.output_so_far or 0
    low = max(counted, size // MAX_BYTES_PER_TOKEN)
    likely = max(low, size // BYTES_PER_TOKEN)
    if response.is_complete:
        most = size + END_TOKENS
    else:
        most = _most_written(unmetered, finished)
        usual = [one.usage.output_tokens or 0 for one in finished]
        likely = max(likely, round(median(usual)) if usual else 0)
    high = max(low, most if limit is None else min(most, limit))
    return {"low": low, "likely": min(likely, high), "high": high}


def _most_written(unmetered: UnmeteredRequest, finished: Iterable[_Finished]) -> int:
    if not unmetered.stops_when_closed:
        return MAX_OUTPUT_TOKENS
    fastest = max((one.tokens_per_second for one in finished), default=0.0)
    speed = max(MIN_SPEED, SPEED_TOLERANCE * fastest)
    return min(MAX_OUTPUT_TOKENS, ceil(speed * unmetered.seconds))


def _split(prompt: int, finished: Iterable[_Finished], output: int) -> Usage:
    """A prompt with the shares of cached and fresh tokens that the other prompts had; all fresh where none is known."""
    whole = read = written = 0
    for one in finished:
        whole += one.sent
        read += one.usage.cache_read_tokens or 0
        written += one.usage.cache_write_tokens or 0
    if not whole:
        return _usage(prompt, 0, 0, output)
    from_cache, to_cache = prompt * read // whole, prompt * written // whole
    return _usage(prompt - from_cache - to_cache, from_cache, to_cache, output)


def _with_output(usage: Usage, output: int) -> Usage:
    return _usage(usage.input_tokens or 0, usage.cache_read_tokens or 0, usage.cache_write_tokens or 0, output)


def _usage(fresh: int, read: int, written: int, output: int) -> Usage:
    return Usage(input_tokens=fresh, output_tokens=output, cache_read_tokens=read, cache_write_tokens=written)
