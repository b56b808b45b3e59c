"""The suite's own providers, with keys and headers from the caller's environment."""

from collections.abc import Iterator, Mapping

from outweigh.gateway.outgoing_request import ProviderService
from outweigh.gateway.services.aws_signature import AwsCredentials
from outweigh.gateway.services.azure import AzureService
from outweigh.gateway.services.bedrock import BedrockService
from outweigh.gateway.services.google_tokens import CREDENTIALS_VARIABLE, GoogleTokens, find_credentials
from outweigh.gateway.services.vertex import VertexService
from outweigh.gateway.upstream import ModelUpstream, proxy_for
from outweigh.model.provider import NamedProviderSpec, ProviderKind, fill_variables, variables_in

_AWS_KEY_ID, _AWS_SECRET = "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"


def provider_variables(spec: NamedProviderSpec) -> tuple[str, ...]:
    """The variables of the caller that a provider cannot do without: for its key, and those that its headers name."""
    headers = (name for value in spec.headers.values() for name in variables_in(value))
    return tuple(dict.fromkeys((*_key_variables(spec), *headers)))


def _key_variables(spec: NamedProviderSpec) -> Iterator[str]:
    if spec.key:
        yield spec.key
    elif spec.kind is ProviderKind.BEDROCK and spec.key is None:
        yield from (_AWS_KEY_ID, _AWS_SECRET)


def read_provider(name: str, spec: NamedProviderSpec, environment: Mapping[str, str]) -> ModelUpstream:
    """Where the requests of its runs go. All of its variables must be set; UsageError where what they name is bad."""
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
        service=_service(name, spec, key, environment),
    )


def _service(name: str, spec: NamedProviderSpec, key: str, environment: Mapping[str, str]) -> ProviderService | None:
    match spec.kind:
        case ProviderKind.API:
            return None
        case ProviderKind.AZURE:
            return AzureService(spec.base_url, key, spec.api_version)
        case ProviderKind.BEDROCK:
            keys = key if spec.key else _aws_credentials(environment)
            return BedrockService(spec.base_url, spec.region or "", keys)
        case ProviderKind.VERTEX:
            variable = spec.key or CREDENTIALS_VARIABLE
            credentials = find_credentials(variable, environment, f"providers.{name}")
            tokens = GoogleTokens(credentials, proxy_for(credentials.token_uri, environment))
            return VertexService(spec.base_url, spec.project or "", spec.region or "", tokens)


def _aws_credentials(environment: Mapping[str, str]) -> AwsCredentials:
    return AwsCredentials(
        access_key_id=environment[_AWS_KEY_ID],
        secret_access_key=environment[_AWS_SECRET],
        session_token=environment.get("AWS_SESSION_TOKEN") or None,
    )
