"""The tokens of requests as providers count them against their limits per minute: what is expected before a request is
sent, and what its response took.
"""

from outweigh.gateway.dialects.request_and_response import GenerationRequest
from outweigh.gateway.round_trip import RoundTrip
from outweigh.gateway.token_attribution import total_input_tokens
from outweigh.gateway.usage_estimate import BYTES_PER_TOKEN
from outweigh.model.provider import ApiFamily
from outweigh.model.usage import Usage

FIRST_OUTPUT_TOKENS = 500
"""What the first response of a run is expected to have; the next ones are expected to be as long as those before."""

COUNTS_CACHE_READS = {ApiFamily.ANTHROPIC: False, ApiFamily.OPENAI: True, ApiFamily.GEMINI: True}
"""Whether tokens that are read from the prompt cache count against the limit of whoever made the API."""


class RequestTokens:
    """What the requests of one run take. Used only in the gateway's thread."""

    def __init__(self) -> None:
        self._outputs = 0
        self._responses = 0
        self._cached: dict[tuple[str, ...], int] = {}

    def expect(self, request: GenerationRequest, family: ApiFamily) -> int:
        """What a request will probably take: its text without what an earlier one has put into the cache, and what a
        response of the run usually has.
        """
        sent = request.size_bytes // BYTES_PER_TOKEN
        if not COUNTS_CACHE_READS[family]:
            sent = max(0, sent - self._cached.get(request.first_user_texts, 0))
        usual = self._outputs // self._responses if self._responses else FIRST_OUTPUT_TOKENS
        most = request.max_output_tokens
        return sent + (usual if most is None else min(usual, most))

    def take(self, round_trip: RoundTrip) -> int | None:
        """What a request took; None where nobody says. One that was refused took nothing."""
        if round_trip.is_free:
            return 0
        request, response = round_trip.request.parsed, round_trip.response
        usage, family = response.usage, round_trip.route.provider
        if not response.is_complete or (taken := tokens_against_limit(usage, family)) is None:
            return None
        self._outputs += usage.output_tokens or 0
        self._responses += 1
        if usage.cache_read_tokens or usage.cache_write_tokens:
            # In tokens as they are expected: those of the text, not those that the provider adds to it.
            sent = request.size_bytes // BYTES_PER_TOKEN
            self._cached[request.first_user_texts] = min(sent, total_input_tokens(usage) or sent)
        return taken


def tokens_against_limit(usage: Usage, family: ApiFamily) -> int | None:
    """The tokens of a response that count; None where its usage is not known."""
    if usage.input_tokens is None or usage.output_tokens is None:
        return None
    read = (usage.cache_read_tokens or 0) if COUNTS_CACHE_READS[family] else 0
    return usage.input_tokens + (usage.cache_write_tokens or 0) + read + usage.output_tokens
