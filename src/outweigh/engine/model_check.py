"""The models of a run: which its arm names, which it may ask, and whether those answered.

A name in a suite may be an agent's alias (`sonnet[1m]`), or a name that only a router or a cloud knows. It is resolved
before names are compared, and a name that only begins like another is another model.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from msgspec.structs import replace

from outweigh.errors import quote_names
from outweigh.model.arm import Arm
from outweigh.model.model_name import bare_model_name, is_same_model, matches_any
from outweigh.ports.agents import NamesModels, ResolvesModels
from outweigh.ports.gateways import MeteredCalls, ModelCall

_CHOSEN_BY_ROUTER = frozenset({"auto", "model-router"})
"""Names by which a router is asked to choose any model itself."""


_ANY_OF_FAMILY = "-*"
"""How a pattern ends that takes in all models of a provider, which only the arm itself may ask for."""

_SAME_MODEL_HINT = "if these are one model, say so by model_aliases under [gateway]"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredModel:
    """The model that an arm names, patterns of the models that the name stands for, and of others it may ask.

    `aliases` are the suite's own: what the names of a router or of a deployment stand for.
    """

    name: str
    stands_for: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    aliases: Mapping[str, str] = field(default_factory=dict)

    @property
    def may_ask(self) -> tuple[str, ...]:
        """Patterns of all models that the arm may ask, its own first."""
        return tuple(dict.fromkeys((self.name, *self.stands_for, *self.others)))

    def is_asked(self, model: str) -> bool:
        """Whether a request for this model is one for the arm's own."""
        return matches_any(model, (self.name, *self.stands_for))

    def is_answer(self, asked: str, model: str) -> bool:
        """Whether a model may answer a request for another name: it is that model, or what the name stands for."""
        bare = bare_model_name(asked)
        if is_same_model(asked, model) or bare in _CHOSEN_BY_ROUTER:
            return True
        meant = [pattern for name, pattern in self.aliases.items() if bare_model_name(name) == bare]
        if bare == bare_model_name(self.name):
            meant += self.stands_for
        return matches_any(model, meant)


def declared_model(
    arm: Arm, agent: object, aliases: Mapping[str, str], in_files: tuple[str, ...] = ()
) -> DeclaredModel | None:
    """The model of an arm, with what its agent and its suite say about the name; None where it names none.

    `in_files` are the models that its sub-agents and other files name, which it may ask, too.
    """
    if arm.model is None or not _asks_models(agent, arm):
        return None
    own = (pattern for name, pattern in aliases.items() if is_same_model(name, arm.model))
    others = agent.other_models(arm) if isinstance(agent, NamesModels) else ()
    # An adapter that does not tell its aliases from other models may mean any of those.
    meant = agent.resolved_models(arm) if isinstance(agent, ResolvesModels) else others
    for name in in_files:
        resolved = agent.resolved_models(replace(arm, model=name)) if isinstance(agent, ResolvesModels) else ()
        others = (*others, name, *(pattern for pattern in resolved if not pattern.endswith(_ANY_OF_FAMILY)))
    return DeclaredModel(name=arm.model, stands_for=(*own, *meant), others=others, aliases=aliases)


def _asks_models(agent: object, arm: Arm) -> bool:
    """Whether an agent asks a model at all; one that is not known may."""
    uses_model: Callable[[Arm], bool] | None = getattr(agent, "uses_model", None)
    return uses_model is None or uses_model(arm)


def model_faults(declared: DeclaredModel | None, account: MeteredCalls | None) -> Iterator[str]:
    """A declared model that was never asked, and models that answered for another one."""
    answered = [] if account is None else [call for call in account.calls if call.failure is None]
    if declared is None or not answered:
        return
    asked = dict.fromkeys(model for call in answered if (model := call.requested_model or call.model))
    if asked and not any(declared.is_asked(model) for model in asked):
        were = "was" if len(asked) == 1 else "were"
        yield f"the model {declared.name!r} is declared and {quote_names(asked)} {were} asked"
    wrong = Counter(pair for call in answered if (pair := _substitution(declared, call)) is not None)
    for (wanted, got), count in wrong.items():
        often = "" if count == len(answered) else f" {count} of {len(answered)} requests"
        yield f"the model {wanted!r} was asked and {got!r} answered{often} ({_SAME_MODEL_HINT})"


def unproven_models(declared: DeclaredModel | None, account: MeteredCalls | None) -> Iterator[str]:
    """A declared model of which no request can be seen, because the agent asks it directly."""
    if declared is not None and account is None:
        yield f"the model {declared.name!r} (its requests do not pass the gateway)"


def _substitution(declared: DeclaredModel, call: ModelCall) -> tuple[str, str] | None:
    """The model that was asked and the other one that answered; None where they are the same, or one is unknown."""
    asked, model = call.requested_model, call.model
    if asked is None or model is None or declared.is_answer(asked, model):
        return None
    return None if matches_any(model, call.fallback_models) else (asked, model)
