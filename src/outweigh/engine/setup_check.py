"""The set-up check: whether a run had what its arm declares, and nothing of another arm.

`ExpectedSetup` says what every arm is to load (skills, instructions, MCP servers, model) and which markers show it
in requests.
"""

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field

from outweigh.engine.configuration_check import ConfigurationCheck, ConfigurationSources, check_configuration
from outweigh.engine.declared_configuration import (
    LONGEST_DESCRIPTION,
    DeclaredItem,
    DeclaredKind,
    add_marker,
    declared_items,
    declared_plugins,
    models_in_files,
)
from outweigh.engine.model_check import DeclaredModel, declared_model, model_faults, unproven_models
from outweigh.engine.server_check import ServerCheck, check_servers
from outweigh.model.agent_files import AgentFileLocations, SkillText, read_skill
from outweigh.model.arm import Arm
from outweigh.model.markdown_sections import sent_pieces
from outweigh.model.plugin_files import plugin_folders
from outweigh.model.run_record import ObservedSetup
from outweigh.model.usage import Component
from outweigh.ports.agents import Agent, ServerEvidence, agent_file_locations
from outweigh.ports.gateways import ArmMarker, MeteredCalls

INSTRUCTION_FILES = frozenset(
    {"CLAUDE.md", "AGENTS.md", "GEMINI.md", "QWEN.md", "CONVENTIONS.md", ".goosehints", "CLAUDE.local.md"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedItem:
    """A skill or instruction file of an arm, and the markers that show it; agents may list a skill by its folder."""

    name: str
    folder: str | None
    shown_by: str | None
    used_by: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedSetup:
    """What every arm declares, and all markers of the experiment: no arm may show what only another has.

    `texts` are the whole instructions of every arm, as they are and as agents send them, with single spaces. The text
    of a marker is only a piece of them.
    """

    skills: Mapping[str, tuple[ExpectedItem, ...]]
    instructions: Mapping[str, tuple[ExpectedItem, ...]]
    markers: Mapping[str, ArmMarker]
    models: Mapping[str, DeclaredModel] = field(default_factory=dict)
    configuration: Mapping[str, tuple[DeclaredItem, ...]] = field(default_factory=dict)
    locations: Mapping[str, AgentFileLocations] = field(default_factory=dict)
    texts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def models_to_ask(self, arm: str) -> tuple[str, ...] | None:
        """Patterns of the models that an arm may ask, its own first; None for any, where it names none."""
        declared = self.models.get(arm)
        return None if declared is None else declared.may_ask

    def of_others(self, arm: str) -> tuple[tuple[ExpectedItem, ...], tuple[ExpectedItem, ...]]:
        """Skills and instructions of other arms only. Texts that this arm's own texts contain are left out."""
        own_texts = self._own_texts(arm)
        skills, instructions = (
            tuple(
                {
                    (item.name, item.shown_by): item
                    for name, items in table.items()
                    if name != arm
                    for item in items
                    if item.shown_by is None or not _is_within(self.markers[item.shown_by].text, own_texts)
                }.values()
            )
            for table in (self.skills, self.instructions)
        )
        own_names = {item.name for item in self.skills.get(arm, ())}
        return tuple(skill for skill in skills if skill.name not in own_names or skill.shown_by), instructions

    def configuration_of_others(self, arm: str) -> tuple[DeclaredItem, ...]:
        """Items of other arms only, by their texts; those that this arm's own texts contain are left out."""
        own_texts = self._own_texts(arm)
        others = (item for name, items in self.configuration.items() if name != arm for item in items)
        return tuple(
            {
                item.shown_by: item
                for item in others
                if item.shown_by is not None and not _is_within(self.markers[item.shown_by].text, own_texts)
            }.values()
        )

    def _own_texts(self, arm: str) -> list[str]:
        own = [*self.skills.get(arm, ()), *self.instructions.get(arm, ())]
        names = [name for item in own for name in _marker_names(item)]
        names += [item.shown_by for item in self.configuration.get(arm, ()) if item.shown_by is not None]
        return [*self.texts.get(arm, ()), *(_collapse_spaces(self.markers[name].text) for name in names)]


def expected_setup(
    arms: Mapping[str, Arm],
    overlays: Mapping[str, bytes],
    agents: Mapping[str, Agent] | None = None,
    model_aliases: Mapping[str, str] | None = None,
) -> ExpectedSetup:
    """Read the skills and instructions of every arm, and resolve the names of their models."""
    markers: dict[str, ArmMarker] = {}
    places = {name: agent_file_locations(arm.agent, (agents or {}).get(arm.agent)) for name, arm in arms.items()}
    models = {
        name: declared_model(
            arm, (agents or {}).get(arm.agent), model_aliases or {}, models_in_files(arm, overlays, places[name])
        )
        for name, arm in arms.items()
    }
    return ExpectedSetup(
        skills={name: _expected_skills(arm, overlays, markers, places[name]) for name, arm in arms.items()},
        instructions={name: _expected_instructions(arm, overlays, markers, places[name]) for name, arm in arms.items()},
        markers=markers,
        models={name: model for name, model in models.items() if model is not None},
        configuration={name: declared_items(arm, overlays, markers, places[name]) for name, arm in arms.items()},
        locations=places,
        texts={
            name: tuple(
                _collapse_spaces(each)
                for _, text in _instruction_texts(arm, overlays, places[name])
                for each in (text, "".join(sent_pieces(text)))
            )
            for name, arm in arms.items()
        },
    )


def _expected_skills(
    arm: Arm, overlays: Mapping[str, bytes], markers: dict[str, ArmMarker], places: AgentFileLocations
) -> tuple[ExpectedItem, ...]:
    """The skills of an arm; those of a plugin go by the name of the plugin and their own."""
    found: dict[str, SkillText] = {}
    within_plugins = tuple(f"{folder}/" for folder in plugin_folders(arm.flags))
    for file in arm.overlay:
        if (folder := places.skill_folder(file.path)) is not None and not file.path.startswith(within_plugins):
            found.setdefault(folder, read_skill(overlays[file.sha256], folder))
    for plugin in declared_plugins(arm, overlays):
        for folder, content in plugin.skills():
            skill = read_skill(content, folder)
            found[f"{plugin.name}:{folder}"] = skill._replace(name=f"{plugin.name}:{skill.name}")
    return tuple(
        ExpectedItem(
            name=skill.name,
            folder=folder,
            shown_by=add_marker(
                markers, f"skill {skill.name}", Component.SKILL_PROMPT, skill.description[:LONGEST_DESCRIPTION]
            ),
            used_by=add_marker(markers, f"text of skill {skill.name}", Component.SKILL_PROMPT, skill.body),
        )
        for folder, skill in found.items()
    )


def _expected_instructions(
    arm: Arm, overlays: Mapping[str, bytes], markers: dict[str, ArmMarker], places: AgentFileLocations
) -> tuple[ExpectedItem, ...]:
    return tuple(
        ExpectedItem(
            name=path, folder=None, shown_by=add_marker(markers, path, Component.DOMAIN_EXPERTISE, piece), used_by=None
        )
        for path, text in _instruction_texts(arm, overlays, places)
        for piece in sent_pieces(text)
    )


def _instruction_texts(
    arm: Arm, overlays: Mapping[str, bytes], places: AgentFileLocations
) -> tuple[tuple[str, str], ...]:
    """The paths and texts of its instructions; one text under two names, for two families of agents, is one item."""
    texts: dict[str, tuple[str, str]] = {}
    for file in arm.overlay:
        if file.path in INSTRUCTION_FILES or file.path in places.instructions:
            texts.setdefault(file.sha256, (file.path, overlays[file.sha256].decode(errors="replace")))
    return tuple(texts.values())


def _marker_names(item: ExpectedItem) -> list[str]:
    return [name for name in (item.shown_by, item.used_by) if name is not None]


def _is_within(text: str, others: list[str]) -> bool:
    return any(_collapse_spaces(text) in other for other in others)


def _collapse_spaces(text: str) -> str:
    return " ".join(text.split())


REQUESTS_SOURCE = "requests"
"""The name of the gateway among the sources of an observed set-up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupCheck:
    """What was loaded, every way in which it differs from what the arm declares, and what could not be proven."""

    loaded: ObservedSetup | None
    faults: tuple[str, ...]
    unproven: tuple[str, ...] = ()


def describe_unproven(what: str) -> str:
    """What could not be proven, as runs, tries and `doctor` say it."""
    return f"not provable with this agent: {what}"


def check_setup(
    arm: Arm,
    expected: ExpectedSetup,
    reported: ObservedSetup | None,
    account: MeteredCalls | None,
    servers: ServerEvidence | None = None,
    asked: tuple[str, ...] | None = None,
) -> SetupCheck:
    """Compare the arm with what the agent reports, what was sent to the model, and how its tool servers started.

    Nothing is known without any of these. `asked` are the skills that the model asked for in a run of a trigger case;
    there, a skill counts as loaded only if the model was told about it.
    """
    answered = account if account is not None and any(call.failure is None for call in account.calls) else None
    checked = check_servers(arm, reported, answered, servers)
    unasked = tuple(unproven_models(expected.models.get(arm.name), account))
    if reported is None and answered is None:
        return SetupCheck(loaded=None, faults=checked.faults, unproven=unasked)
    observed = _Observations(reported, answered, asked)
    configured = _check_configuration(arm, expected, observed)
    return SetupCheck(
        loaded=_observed_setup(expected, observed, checked, configured),
        faults=(*_setup_faults(arm, expected, observed), *checked.faults, *configured.faults),
        unproven=(*unasked, *checked.unproven, *configured.unproven),
    )


def _check_configuration(arm: Arm, expected: ExpectedSetup, observed: "_Observations") -> ConfigurationCheck:
    places = expected.locations.get(arm.name)
    sources = ConfigurationSources(
        reported=observed.reported, seen=observed.seen, always_sent=() if places is None else places.always_sent
    )
    return check_configuration(
        expected.configuration.get(arm.name, ()), expected.configuration_of_others(arm.name), sources
    )


class _Observations:
    """All that was observed of a run's set-up: the agent's own report and its requests."""

    def __init__(
        self, reported: ObservedSetup | None, account: MeteredCalls | None, asked: tuple[str, ...] | None
    ) -> None:
        self.reported = reported
        self.asked = asked
        self.seen = None if account is None else account.seen
        self.tools = None if account is None else tuple(dict.fromkeys(t for call in account.calls for t in call.tools))
        self.account = account

    def shows(self, item: ExpectedItem, listed: tuple[str, ...] | None) -> bool | None:
        """Whether the item was loaded; None where neither source could have shown it."""
        if self.seen is not None and {item.shown_by, item.used_by} & self.seen:
            return True
        if listed is not None:
            return item.name in listed or item.folder in listed
        return None if self.seen is None or item.shown_by is None else False


def _setup_faults(arm: Arm, expected: ExpectedSetup, observed: _Observations) -> Iterator[str]:
    yield from _skill_faults(arm, expected, observed)
    yield from _instruction_faults(arm, expected, observed)
    yield from model_faults(expected.models.get(arm.name), observed.account)


def _skill_faults(arm: Arm, expected: ExpectedSetup, observed: _Observations) -> Iterator[str]:
    listed = None if observed.reported is None else observed.reported.skills
    for skill in expected.skills.get(arm.name, ()):
        if observed.shows(skill, listed) is False:
            yield f"the skill {skill.name!r} is declared and was not loaded"
    own = {skill.name for skill in expected.skills.get(arm.name, ())}
    for skill in expected.of_others(arm.name)[0]:
        # Another arm's version of a skill that this arm also has can only be told by its text.
        if observed.shows(skill, None if skill.name in own else listed):
            yield f"the skill {skill.name!r} of another arm was loaded"


def _instruction_faults(arm: Arm, expected: ExpectedSetup, observed: _Observations) -> Iterator[str]:
    """Instructions are judged by requests alone: a reported file name does not say which text it had."""
    own, others = expected.instructions.get(arm.name, ()), expected.of_others(arm.name)[1]
    for name in dict.fromkeys(text.name for text in own if observed.shows(text, None) is False):
        yield f"the instructions in {name} are declared and were not sent to the model"
    for name in dict.fromkeys(text.name for text in others if observed.shows(text, None)):
        yield f"the instructions in {name} of another arm were sent to the model"


def _observed_setup(
    expected: ExpectedSetup, observed: _Observations, checked: ServerCheck, configured: ConfigurationCheck
) -> ObservedSetup:
    reported = observed.reported
    listed = None if reported is None else reported.skills
    known = {skill for skills in expected.skills.values() for skill in skills}
    seen = observed.seen or frozenset()
    shown = sorted({skill.name for skill in known if {skill.shown_by, skill.used_by} & seen})
    read = sorted({skill.name for skill in known if skill.used_by in seen})
    used = None if reported is None else reported.skills_used
    if observed.asked is not None:
        used = tuple(dict.fromkeys((*(used or ()), *(_declared_name(name, known) for name in observed.asked))))
        listed = _shown_to_model(listed, known, seen)
    texts = [text.name for texts in expected.instructions.values() for text in texts if text.shown_by in seen]
    memory = None if reported is None else reported.memory_files
    unseen = observed.seen is None
    return ObservedSetup(
        skills=listed if listed is not None else (None if unseen else tuple(shown)),
        skills_used=(None if used is None and (unseen or not known) else tuple(dict.fromkeys((*(used or ()), *read)))),
        mcp_servers=checked.servers,
        tools=reported.tools if reported is not None and reported.tools is not None else observed.tools,
        memory_files=memory if memory is not None else (None if unseen else tuple(dict.fromkeys(texts))),
        seen_by=(*(() if reported is None else reported.seen_by), *(() if unseen else (REQUESTS_SOURCE,))),
        agents=configured.seen[DeclaredKind.SUB_AGENT],
        commands=configured.seen[DeclaredKind.COMMAND],
        plugins=configured.seen[DeclaredKind.PLUGIN],
        hooks=configured.seen[DeclaredKind.HOOK],
    )


def _declared_name(asked: str, known: Set[ExpectedItem]) -> str:
    """The name of a skill that an agent asks for by its folder."""
    return next((skill.name for skill in known if asked in (skill.name, skill.folder)), asked)


def _shown_to_model(listed: tuple[str, ...] | None, known: Set[ExpectedItem], seen: Set[str]) -> tuple[str, ...] | None:
    """The skills that an agent lists, without those of which no request told the model."""
    if listed is None:
        return None
    hidden = {
        name
        for skill in known
        if skill.shown_by is not None and not {skill.shown_by, skill.used_by} & seen
        for name in (skill.name, skill.folder)
    } - {name for skill in known if skill.shown_by in seen for name in (skill.name, skill.folder)}
    return tuple(name for name in listed if name not in hidden)
