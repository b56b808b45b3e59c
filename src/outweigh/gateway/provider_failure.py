"""What a provider's error means for a run that stands behind the gateway."""

from dataclasses import replace

from outweigh.gateway.dialects.spoken_error import SpokenError
from outweigh.transcript.failure import Failure, FailureKind, failure, failure_of_http

_OUT_OF_CREDIT = ("insufficient_quota", "credit balance is too low", "billing_error")


def provider_failure(said: SpokenError, retry_after_seconds: float | None) -> Failure:
    """An account without credit is no run's fault, and waiting does not fill it: somebody must, as with a wrong key.

    A run that spent its own budget is another matter: that refusal is ours, and never comes from a provider.
    """
    if said.status < 400:
        sentence = f"HTTP {said.status}: the provider sends to another address, and keys are not sent there"
        return failure(FailureKind.SERVER_ERROR, f"{sentence}; name the address itself under [gateway] in the suite")
    meant = failure_of_http(said.status, said.message, retry_after_seconds)
    if said.status == 402 or any(words in said.message.lower() for words in _OUT_OF_CREDIT):
        return replace(meant, kind=FailureKind.UNAUTHORIZED, retry_after_seconds=None)
    return meant
