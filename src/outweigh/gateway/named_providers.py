"""The suite's own providers, with keys and headers from the caller's environment."""

from collections.abc import Iterator, Mapping

from outweigh.gateway.outgoing_request import ProviderService
from outweigh.gateway.services.azure import AzureService
from outweigh.gateway.upstream import ModelUpstream, proxy_for
from outweigh.model.provider import NamedProviderSpec, ProviderKind, fill_variables, variables_in


def provider_variables(spec: NamedProviderSpec) -> tuple[str, ...]:
    """The variables of the caller that a provider cannot do without: for its key, and those that its headers name."""
    headers = (name for value in spec.headers.values() for name in variables_in(value))
    return tuple(dict.fromkeys((*_key_variables(spec), *headers)))


def _key_variables(spec: NamedProviderSpec) -> Iterator[str]:
    if spec.key:
        yield spec.key


def read_provider(name: str, spec: NamedProviderSpec, environment: Mapping[str, str]) -> ModelUpstream:
    """Where the requests of its runs go. All of its variables must be set."""
    url, key = spec.base_url, environment[spec.key] if spec.key else ""
    values = {variable: environment[variable] for value in spec.headers.values() for variable in variables_in(value)}
    return ModelUpstream(
        url=url,
        variable=spec.key or "",
        key=key,
        proxy=proxy_for(url, environment),
        name=name,
        headers=tuple((header, fill_variables(value, values)) for header, value in spec.headers.items()),
        header_secrets=tuple(values.values()),
        models=spec.models,
        service=_service(spec, key),
    )


def _service(spec: NamedProviderSpec, key: str) -> ProviderService | None:
    if spec.kind is ProviderKind.AZURE:
        return AzureService(spec.base_url, key, spec.api_version)
    return None
