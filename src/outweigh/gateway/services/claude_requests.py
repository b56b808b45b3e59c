"""What Bedrock and Vertex share: Anthropic's Messages API with the model in the path and fewer beta features."""

from typing import Any

from outweigh.gateway.outgoing_request import ClientRequest, HeaderPairs, UpstreamError
from outweigh.model.failure import FailureKind, make_failure
from outweigh.model.json_text import try_decode_json

_BETAS = {
    name: name
    for name in (
        "computer-use-2025-01-24",
        "computer-use-2025-11-24",
        "context-1m-2025-08-07",
        "context-management-2025-06-27",
        "dev-full-thinking-2025-05-14",
        "effort-2025-11-24",
        "interleaved-thinking-2025-05-14",
        "output-128k-2025-02-19",
        "token-efficient-tools-2025-02-19",
        "tool-examples-2025-10-29",
        "tool-search-tool-2025-10-19",
    )
} | {"advanced-tool-use-2025-11-20": "tool-search-tool-2025-10-19"}
"""The beta features that clouds accept, with their names there; a request with any other is refused by them."""

_NOT_SENT = frozenset({"anthropic-beta", "anthropic-version", "accept"})


def accepted_betas(request: ClientRequest) -> list[str]:
    """The beta features of a request that clouds know, by their names there."""
    stated = [value for name, value in request.headers if name.lower() == "anthropic-beta"]
    asked = [beta.strip() for value in stated for beta in value.split(",")]
    return list(dict.fromkeys(_BETAS[beta] for beta in asked if beta in _BETAS))


def headers_without_version(request: ClientRequest) -> HeaderPairs:
    """A request's headers without those that say something else to a cloud."""
    return [(name, value) for name, value in request.headers if name.lower() not in _NOT_SENT]


def split_model(request: ClientRequest) -> tuple[str, dict[str, Any]]:
    """The model of a request, and its body without it."""
    body = try_decode_json(request.body)
    model = body.pop("model", None) if isinstance(body, dict) else None
    if not isinstance(body, dict) or not isinstance(model, str) or not model:
        message = "The request names no model, and the model is part of the address here. Nothing was sent."
        raise UpstreamError(make_failure(FailureKind.UNKNOWN_MODEL, message))
    return model, body
