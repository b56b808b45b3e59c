"""Convert a suite that was written for another program: find its reader, convert it, check that it loads, write it."""

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

import msgspec

from outweigh.app.new_files import ignore_generated, refuse_to_overwrite, write_files
from outweigh.engine.load_suite import LoadedSuite, load_suite
from outweigh.errors import UsageError, quote_names
from outweigh.interop.suite_writer import NOTES_FILE, suite_files
from outweigh.model.agent_files import SKILL_FILE
from outweigh.model.arm import ArmSpec, bare_arm
from outweigh.model.suite import ADDRESS_VARIABLES, GatewaySpec, SuiteSpec
from outweigh.plugins import adapter_names, installed_file_locations, load_adapter, load_adapters
from outweigh.ports.suites import DraftFile, SuiteDraft, SuiteOverrides, SuiteReader
from outweigh.verdict.evidence_settings import FEWEST_FOR_A_GAIN, MINIMUM_TASKS
from outweigh.verdict.policy import check_policy

SKILL_FORMAT = "skill-creator"
"""Where a skill has evals of several programs, these are meant."""

MAX_FOLDERS = 500


def choose_skill_reader(path: Path) -> SuiteReader:
    """The reader of a skill's evals, whoever they were written for; where there are none, the one that says so best."""
    usual: SuiteReader = load_adapter("suite reader", SKILL_FORMAT)
    if usual.recognises(path):
        return usual
    fitting = [reader for reader in _installed_readers() if reader.recognises(path)]
    return fitting[0] if len(fitting) == 1 else usual


def choose_suite_reader(path: Path) -> SuiteReader:
    """The reader; what nobody recognises is refused with the list of formats."""
    if not _exists(path):
        raise UsageError(f"there is no {path}; name the file or folder of the suite.")
    readers = _installed_readers()
    fitting = [reader for reader in readers if reader.recognises(path)]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        found = ", ".join(reader.name for reader in fitting)
        raise UsageError(
            f"{path} could be of more than one format ({found}). Name the file itself, or a smaller folder."
        )
    if within := _suites_within(path, readers):
        raise UsageError(f"{path} is not a suite itself, but there is one in it: name {quote_names(within)}.")
    known = "; ".join(f"{reader.name}: {reader.looks_for}" for reader in readers)
    raise UsageError(f"{path} is not a suite of a format that is known here. Known are {known}.")


def _installed_readers() -> list[SuiteReader]:
    return load_adapters("suite reader")


def _suites_within(path: Path, readers: Sequence[SuiteReader]) -> list[str]:
    """Folders that are suites, without the folders inside of them."""
    found: list[Path] = []
    for place in _folders_within(path):
        if place.parent not in found and any(reader.recognises(place) for reader in readers):
            found.append(place)
    return list(map(str, found))


def _folders_within(path: Path) -> list[Path]:
    """Where people keep suites in a project: a folder or two down. Of a large project, the first that are found."""
    try:
        folders = (place for pattern in ("*", "*/*") for place in sorted(path.glob(pattern)) if place.is_dir())
        seen = (place for place in folders if not any(part.startswith(".") for part in place.relative_to(path).parts))
        return list(islice(seen, MAX_FOLDERS))
    except OSError:
        return []


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvertRequest:
    """What to convert, into which folder, and what the user says about its agent.

    `is_skill` says that the source is a skill with evals, whoever they were written for.
    """

    source: Path
    folder: Path
    is_skill: bool
    agent: str | None = None
    model: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvertedSuite:
    """The suite as it was read and as it loads now, the format it had, and how many files were written where."""

    draft: SuiteDraft
    suite: LoadedSuite
    format: str
    folder: Path
    files: int
    tasks_for_a_verdict: int = MINIMUM_TASKS
    tasks_for_a_gain: int = FEWEST_FOR_A_GAIN

    @property
    def notes_file(self) -> Path:
        """Where all notes about the conversion are."""
        return self.folder / NOTES_FILE

    def own_addresses(self) -> Iterator[tuple[str, str, str]]:
        """The providers that are asked elsewhere, each with the variable that says so and the address."""
        for provider, variable in ADDRESS_VARIABLES.items():
            address: str = getattr(self.draft.spec.gateway, provider).url
            if address != getattr(GatewaySpec(), provider).url:
                yield provider, variable, address


def convert_suite(request: ConvertRequest) -> ConvertedSuite:
    """Read, try whether what comes of it can be loaded, and only then write; nothing is overwritten."""
    source, folder = request.source, request.folder
    if request.agent is not None:
        _require_agent(request.agent)
    reader = choose_skill_reader(source) if request.is_skill else choose_suite_reader(source)
    _refuse_within_a_skill(folder)
    draft = reader.read(source, SuiteOverrides(agent=request.agent, model=request.model))
    draft = replace(draft, spec=with_own_addresses(draft.spec, os.environ))
    files = suite_files(draft)
    refuse_to_overwrite([folder / path for path in files], folder)
    suite = _check_loads(files, source, folder)
    write_files(folder, files)
    ignore_generated(folder)
    return ConvertedSuite(draft=draft, suite=suite, format=reader.name, folder=folder, files=len(files))


def with_own_addresses(spec: SuiteSpec, environment: Mapping[str, str]) -> SuiteSpec:
    """The suite with the addresses that the caller's agents use, so that trials ask the same service.

    Only providers that the arms ask. An address with a password in it is left out: a suite is meant to be shared.
    """
    providers = {_provider(name, arm) for name, arm in spec.arms.items()}
    stated = {name: environment.get(variable, "") for name, variable in ADDRESS_VARIABLES.items() if name in providers}
    gateway = spec.gateway
    for name, address in stated.items():
        place = urlsplit(address)
        if place.scheme in ("http", "https") and place.netloc and "@" not in place.netloc:
            known = getattr(gateway, name)
            gateway = msgspec.structs.replace(gateway, **{name: msgspec.structs.replace(known, url=address)})
    return msgspec.structs.replace(spec, gateway=gateway)


def _provider(name: str, arm: ArmSpec) -> str | None:
    """Some agents can tell whose API they use."""
    tell = None if arm.agent is None else getattr(load_adapter("agent", arm.agent), "provider", None)
    found: str | None = None if tell is None else tell(bare_arm(name, arm.agent or "", arm.model))
    return found


def _require_agent(name: str) -> None:
    known = adapter_names("agent")
    if name not in known:
        near = get_close_matches(name, known, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise UsageError(f"there is no agent {name!r}; installed are {', '.join(known)}.{hint}")


def _refuse_within_a_skill(folder: Path) -> None:
    """Refuse a folder inside a skill: arms with that skill would get the suite too, and agents could read it."""
    place = folder.absolute()
    skill = next((above for above in (place, *place.parents) if (above / SKILL_FILE).is_file()), None)
    if skill is not None:
        beside = shlex.quote(str(skill.with_name(f"{skill.name}-suite")))
        raise UsageError(
            f"{folder} is in the skill {skill}, and the suite would become a part of it. Name a folder beside it, as "
            f"in `outweigh init {beside} …`."
        )


def _check_loads(files: Mapping[str, DraftFile], source: Path, folder: Path) -> LoadedSuite:
    """Load the suite from a temporary folder; faults name the folder that it would have been written to."""
    with TemporaryDirectory(prefix="outweigh-init-") as place:
        write_files(Path(place), files)
        try:
            return load_suite(Path(place), check_policy=check_policy, locations_of=installed_file_locations)
        except UsageError as fault:
            said = str(fault).replace(str(Path(place).resolve()), str(folder)).replace(place, str(folder))
            raise UsageError(f"{source} gives a suite that could not be used, so nothing was written. {said}") from None
