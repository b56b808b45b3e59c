"""Where models are served: a provider's API, address, key, headers and names for models, as a suite writes them."""

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated

from msgspec import Meta

from outweigh.model.base import Spec

KeyVariable = Annotated[
    str,
    Meta(
        pattern=r"^([A-Za-z_][A-Za-z0-9_]*)?$",
        description="the name of the environment variable that holds the key, or empty text for no key",
    ),
]
Address = Annotated[str, Meta(pattern=r"^https?://[^\s]+$", description="an address that starts with http(s)://")]
HeaderName = Annotated[
    str, Meta(pattern=r"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$", max_length=200, description="the name of an HTTP header")
]
HeaderValue = Annotated[
    str, Meta(pattern=r"^[^\x00-\x1f\x7f]*$", max_length=4000, description="text of one line; ${NAME} is a variable")
]
PathSegment = Annotated[
    str, Meta(pattern=r"^[A-Za-z0-9._:-]+$", max_length=200, description="letters, digits, . _ : -")
]


class ProviderSpec(Spec, frozen=True, kw_only=True):
    """Where requests of one kind go, and which variable of the caller holds the key for it; `""` for no key."""

    url: Address
    key: KeyVariable


class ApiFamily(StrEnum):
    """The APIs that agents and providers use, by the company that made them; `[gateway]` has an address for each."""

    ANTHROPIC = "anthropic"
    OPENAI = "openai"
    GEMINI = "gemini"


class ProviderKind(StrEnum):
    """How a provider addresses and authorises requests: as the API's maker does, or in a way of its own."""

    API = "api"
    AZURE = "azure"
    BEDROCK = "bedrock"
    VERTEX = "vertex"


_DIALECTS = {
    ProviderKind.API: tuple(ApiFamily),
    ProviderKind.AZURE: (ApiFamily.OPENAI,),
    ProviderKind.BEDROCK: (ApiFamily.ANTHROPIC,),
    ProviderKind.VERTEX: (ApiFamily.ANTHROPIC, ApiFamily.GEMINI),
}
_NEEDED = {
    ProviderKind.API: ("url", "key"),
    ProviderKind.AZURE: ("url", "key"),
    ProviderKind.BEDROCK: ("region",),
    ProviderKind.VERTEX: ("project", "region"),
}
_MEANINGS = {"key": ': the name of the variable that holds its key, or "" where none is needed'}
_KINDS_WITH = {
    "api_version": (ProviderKind.AZURE,),
    "project": (ProviderKind.VERTEX,),
    "region": (ProviderKind.BEDROCK, ProviderKind.VERTEX),
}
_HEADERS_OF_THE_CONNECTION = frozenset(
    {"connection", "content-length", "content-encoding", "host", "transfer-encoding", "accept-encoding", "cookie"}
)


_USER_IN_ADDRESS = re.compile(r"^https?://[^/?#]*@")


class ProviderIdentity(Spec, frozen=True, kw_only=True):
    """What makes a provider the one it is for an arm: everything but keys, prices and its name in the suite.

    `headers` are as the suite writes them: the value of a variable that one names is not in it.
    """

    dialect: ApiFamily
    kind: ProviderKind
    url: str
    headers: dict[str, str]
    models: dict[str, str]
    api_version: str | None
    project: str | None = None
    region: str | None = None


class NamedProviderSpec(Spec, frozen=True, kw_only=True):
    """A table `[providers.NAME]`: where the arms that name it send their requests.

    `dialect` is the API that agents use with it. `models` gives the provider's own name for a model that arms name
    differently. `${NAME}` in the value of a header is a variable of the caller. `prices` is a price file that alone
    prices its runs. `api_version` is Azure's, `region` that of Bedrock and Vertex, `project` Vertex's.
    """

    dialect: ApiFamily
    kind: ProviderKind = ProviderKind.API
    url: Address | None = None
    key: KeyVariable | None = None
    headers: dict[HeaderName, HeaderValue] = {}  # noqa: RUF012 - msgspec copies defaults
    models: dict[str, Annotated[str, Meta(min_length=1, max_length=500)]] = {}  # noqa: RUF012
    prices: str | None = None
    api_version: PathSegment | None = None
    project: PathSegment | None = None
    region: PathSegment | None = None

    def __post_init__(self) -> None:
        """Refuse what this kind of provider cannot do, lacks or would ignore."""
        if (fault := next(self._faults(), None)) is not None:
            raise ValueError(fault)

    def _faults(self) -> Iterator[str]:
        if self.dialect not in _DIALECTS[self.kind]:
            can = " or ".join(f'"{dialect}"' for dialect in _DIALECTS[self.kind])
            yield f'a provider of kind "{self.kind}" has dialect {can}, not "{self.dialect}"'
        for name in _NEEDED[self.kind]:
            if getattr(self, name) is None:
                yield f'a provider of kind "{self.kind}" needs {name}{_MEANINGS.get(name, "")}'
        for name, kinds in _KINDS_WITH.items():
            if getattr(self, name) is not None and self.kind not in kinds:
                yield f'{name} is for kind {" and ".join(kinds)}, and this provider is of kind "{self.kind}"'
        if _USER_IN_ADDRESS.match(self.url or ""):
            yield "url has a user or a password, and a suite is meant to be shared; send it as a header, by ${NAME}"
        for name in self.headers:
            if name.lower() in _HEADERS_OF_THE_CONNECTION:
                yield f"headers cannot set {name}, which follows from the connection"

    @property
    def base_url(self) -> str:
        """Its address: as written, else that of its service in its region."""
        if self.url is not None:
            return self.url
        if self.kind is ProviderKind.BEDROCK:
            return f"https://bedrock-runtime.{self.region}.amazonaws.com"
        host = "aiplatform.googleapis.com"
        return f"https://{host}" if self.region == "global" else f"https://{self.region}-{host}"

    @property
    def identity(self) -> ProviderIdentity:
        """What of it belongs to the identity of an arm."""
        return ProviderIdentity(
            dialect=self.dialect,
            kind=self.kind,
            url=self.base_url,
            headers=self.headers,
            models=self.models,
            api_version=self.api_version,
            project=self.project,
            region=self.region,
        )


_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


def variables_in(text: str) -> tuple[str, ...]:
    """The variables that a text names as `${NAME}`."""
    return tuple(dict.fromkeys(_VARIABLE.findall(text)))


def fill_variables(text: str, values: dict[str, str]) -> str:
    """The text with the values of its variables."""
    return _VARIABLE.sub(lambda found: values[found[1]], text)
