"""What both protocols of OpenAI share: who speaks, and how it refuses."""

from outweigh.testing.model_server.reply import Failure
from outweigh.testing.model_server.request import Json, Role

ROLES = {"system": Role.SYSTEM, "developer": Role.SYSTEM, "user": Role.USER, "assistant": Role.MODEL}


class OpenAIRefusals:
    """Errors and their headers."""

    def refusal(self, failure: Failure, number: int) -> Json:  # noqa: ARG002 - the request's number goes into a header
        """An error object."""
        return {
            "error": {"message": failure.message, "type": failure.type, "param": None, "code": failure.code},
        }

    def refusal_headers(self, failure: Failure, now: float) -> dict[str, str]:  # noqa: ARG002 - waits, not moments
        """How long to wait, in the three ways that clients look for."""
        if failure.retry_after_seconds is None:
            return {}
        seconds = failure.retry_after_seconds
        headers = {"retry-after": f"{seconds:g}", "retry-after-ms": f"{seconds * 1000:.0f}"}
        for kind in ("requests", "tokens"):
            headers |= {
                f"x-ratelimit-limit-{kind}": "50",
                f"x-ratelimit-remaining-{kind}": "0",
                f"x-ratelimit-reset-{kind}": f"{seconds:g}s",
            }
        return headers
