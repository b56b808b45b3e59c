"""What a run may ask its provider for: its own models, and nothing that the provider itself runs or fetches.

A provider's own tools are a network: a hosted search, a fetched address or a remote tool server reaches what the
sandbox keeps out, and another model is another arm. So whatever the suite does not allow is refused and not sent.
"""

from dataclasses import dataclass

from outweigh.gateway.dialects.request_and_response import GenerationRequest
from outweigh.model.model_name import matches_any


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestPolicy:
    """`models` are patterns of the models that may be asked, None for any; `allow` is the suite's own list."""

    models: tuple[str, ...] | None
    allow: tuple[str, ...]

    def explain_refusal(self, request: GenerationRequest) -> str | None:
        """Why a request must not be sent, as a sentence for the client and the record; None when it may be."""
        for name in request.hosted:
            if name not in self.allow:
                return (
                    f"This run may not use {name!r} of the provider, which reaches beyond its sandbox. The request was "
                    f'not sent. To allow it, add it to the suite: allow = ["{name}"] under [gateway].'
                )
        for model in filter(None, (request.model, *request.fallback_models)):
            if self.models is not None and not matches_any(model, (*self.models, *self.allow)):
                return (
                    f"This run may not ask the model {model!r}: its arm names {self.models[0]!r}. The request was not "
                    f'sent. To allow it, add it to the suite: allow = ["{model}"] under [gateway].'
                )
        return None
