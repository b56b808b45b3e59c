"""Names of models: whether two of them mean the same one, and whether a name matches a pattern.

Providers, agents and price lists write one model in several ways: with its provider before it, with the day of its
release behind it, with dots or dashes in its version, with the marks of a cloud or a router around it.
"""

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import NamedTuple

_OPTIONS = re.compile(r"(?:\[[^\]]*\])+$")
_ROUTES = re.compile(r":(?:beta|exacto|extended|floor|free|latest|nitro|online|thinking)$")
"""How a router reaches a model. A tag that says how large a model is, as in `qwen3:8b`, stays in its name."""
_BEDROCK_VENDOR = re.compile(
    r"^(?:[a-z]{2,6}(?:-gov)?\.)?(?:ai21|amazon|anthropic|cohere|google|meta|mistral|nvidia|openai|qwen|writer)\."
)
_BEDROCK_VERSION = re.compile(r"-(?:v\d+(?::\d+)?|\d+:\d+)(?::\d+k)?$")
_UNMARKED_BEDROCK_VERSION = re.compile(r"-v?\d+:\d+(?::\d+k)?$")
_VERTEX_RELEASE = re.compile(r"(?:-v\d+)?@(?P<release>[\w.-]+)$")
_RELEASE = re.compile(r"-(?P<release>\d{8}|\d{4}-\d{2}-\d{2}|\d{4}|0\d{2})$")
_LATEST = re.compile(r"-latest$")
_MINOR_ZERO = re.compile(r"(?<=-\d)-0$")
_VERSION_FIRST = re.compile(r"^claude-(?P<version>\d+(?:-\d)?)-(?P<family>fable|haiku|opus|sonnet)\b")
"""Claude 3 has its version before its family, as routers write it for later ones, too."""
_STAGES = frozenset({"preview", "exp", "experimental"})


class ModelName(NamedTuple):
    """A model's own name, its release where that is stated, and whether the name moves on to newer releases."""

    name: str
    release: str | None
    is_moving: bool

    @property
    def family(self) -> tuple[str, ...]:
        """The words of the name without its version: those of `gemini-2-5-flash-preview` are gemini and flash."""
        return tuple(word for word in self.name.split("-") if not word.isdigit() and word not in _STAGES)

    @property
    def in_order(self) -> str:
        """The name with the family of a Claude before its version, as in `claude-sonnet-4-5`."""
        return _VERSION_FIRST.sub(r"claude-\g<family>-\g<version>", self.name)

    @property
    def has_version(self) -> bool:
        """Whether the name has a number in it."""
        return any(character.isdigit() for character in self.name)


def parse_model_name(model: str) -> ModelName:
    """Read a name as a provider, an agent, a cloud or a router writes it."""
    own = _ROUTES.sub("", _OPTIONS.sub("", model.strip().lower()).rpartition("/")[2])
    unmarked = _BEDROCK_VENDOR.sub("", own)
    own = (_UNMARKED_BEDROCK_VERSION if unmarked == own else _BEDROCK_VERSION).sub("", unmarked)
    release = None
    if (found := _VERTEX_RELEASE.search(own)) is not None:
        own, release = own[: found.start()], found["release"] if found["release"][0].isdigit() else None
    own = own.replace(".", "-")
    is_moving = _LATEST.search(own) is not None
    own = _LATEST.sub("", own)
    if (found := _RELEASE.search(own)) is not None:
        own, release = own[: found.start()], found["release"].replace("-", "")
    return ModelName(_MINOR_ZERO.sub("", own), release, is_moving)


def bare_model_name(model: str) -> str:
    """The name without its provider, its options in brackets and the day of its release, with dashes for dots."""
    return parse_model_name(model).name


def is_same_model(named: str, asked: str) -> bool:
    """Whether two names mean the same model. One without a release means any release of that name."""
    one, other = parse_model_name(named), parse_model_name(asked)
    if any(each.is_moving and not each.has_version for each in (one, other)) and one.family == other.family:
        return True  # `gemini-flash-latest` moves from one version to the next
    return one.in_order == other.in_order and (one.release == other.release or None in (one.release, other.release))


def matches_any(model: str, patterns: Iterable[str]) -> bool:
    """Whether a name is one of these; `*` in a pattern stands for any text."""
    own = parse_model_name(model)
    spellings = (own.name, own.in_order, f"{own.name}-{own.release}")
    return any(
        any(fnmatchcase(spelling, bare_model_name(pattern)) for spelling in spellings)
        if "*" in pattern
        else is_same_model(pattern, model)
        for pattern in patterns
    )
