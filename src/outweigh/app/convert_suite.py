"""Convert a suite that was written for another program: find its reader, convert it, check that it loads, write it."""

import shlex
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

from outweigh.app.new_files import refuse_to_overwrite, write_files
from outweigh.cli.console import print_escaped
from outweigh.engine.load_suite import SUITE_FILE, LoadedSuite, load_suite
from outweigh.errors import UsageError, quote_names
from outweigh.interop.suite_writer import NOTES_FILE, suite_files
from outweigh.model.agent_files import SKILL_FILE
from outweigh.plugins import adapter_names, load_adapter
from outweigh.ports.suites import DraftFile, SuiteDraft, SuiteOverrides, SuiteReader
from outweigh.verdict.evidence_settings import MINIMUM_TASKS

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
        raise UsageError(f"{path} is no suite itself, but there is one in it: name {quote_names(within)}.")
    known = "; ".join(f"{reader.name}: {reader.looks_for}" for reader in readers)
    raise UsageError(f"{path} is no suite of a format that is known here. Known are {known}.")


def _installed_readers() -> list[SuiteReader]:
    return [load_adapter("suite reader", name) for name in adapter_names("suite reader")]


def _suites_within(path: Path, readers: Sequence[SuiteReader]) -> list[str]:
    """Each as a whole: what lies in a suite is a part of it."""
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


SHOWN_NOTES = 8


def convert_suite(reader: SuiteReader, source: Path, folder: Path, overrides: SuiteOverrides) -> None:
    """Read, try whether what comes of it can be loaded, and only then write; nothing is overwritten."""
    _refuse_within_a_skill(folder)
    draft = reader.read(source, overrides)
    files = suite_files(draft)
    refuse_to_overwrite([folder / path for path in files], folder)
    suite = _check_loads(files, source, folder)
    write_files(folder, files)
    _print_summary(draft, suite, reader.name, source, folder, len(files))


def _refuse_within_a_skill(folder: Path) -> None:
    """Whoever lays that skill would lay the suite with it, and the agent could read what is expected."""
    place = folder.absolute()
    skill = next((above for above in (place, *place.parents) if (above / SKILL_FILE).is_file()), None)
    if skill is not None:
        beside = shlex.quote(str(skill.with_name(f"{skill.name}-suite")))
        raise UsageError(
            f"{folder} lies in the skill {skill}, and the suite would become a part of it. Name a folder beside it, as "
            f"in `outweigh init {beside} …`."
        )


def _check_loads(files: Mapping[str, DraftFile], source: Path, folder: Path) -> LoadedSuite:
    """The suite as it would be read. What is wrong in it is said of the place where it would have been."""
    with TemporaryDirectory(prefix="outweigh-init-") as place:
        write_files(Path(place), files)
        try:
            return load_suite(Path(place))
        except UsageError as fault:
            said = str(fault).replace(str(Path(place).resolve()), str(folder)).replace(place, str(folder))
            raise UsageError(f"{source} gives a suite that could not be used, so nothing was written. {said}") from None


def _print_summary(draft: SuiteDraft, suite: LoadedSuite, found: str, source: Path, folder: Path, files: int) -> None:
    arms = " and ".join(suite.arms) if len(suite.arms) == 2 else f"{len(suite.arms)} arms"
    tasks = "1 task" if len(draft.tasks) == 1 else f"{len(draft.tasks)} tasks"
    print_escaped(f"{source} was read as {found}: {tasks}, {arms}.")
    print_escaped(f"{files} files written; {folder / SUITE_FILE} is the experiment.")
    if len(draft.tasks) < MINIMUM_TASKS:
        print_escaped(f"{tasks} can show no more than a direction: a verdict takes at least {MINIMUM_TASKS}.")
    _print_notes(draft.notes, folder)
    _print_next_steps(suite, folder)


def _print_notes(notes: tuple[str, ...], folder: Path) -> None:
    if not notes:
        print_escaped("Everything was carried over.")
        return
    print_escaped("Not carried over, or not as it was:")
    for note in notes[:SHOWN_NOTES]:
        print_escaped(f"  - {note}")
    if len(notes) > SHOWN_NOTES:
        print_escaped(f"  - and {len(notes) - SHOWN_NOTES} more, all in {folder / NOTES_FILE}")


def _print_next_steps(suite: LoadedSuite, folder: Path) -> None:
    place = shlex.quote(str(folder))
    store = shlex.quote(str(Path("outweigh-runs") / suite.spec.name))
    judged = " and judged" if suite.spec.judges else ""
    steps = {
        "what is missing here, what tasks can show": f"outweigh doctor -c {place}",
        "how many tasks and repeats it takes": f"outweigh plan -c {place}",
        f"a first look, every trial once{judged}": f"outweigh run -c {place} -k 1",
        "all of it": f"outweigh run -c {place}",
        "the answer": f"outweigh verdict {store}",
    }
    # The commands hold paths of any length, so the words stand before them.
    width = max(map(len, steps))
    print_escaped("Next:")
    for meaning, command in steps.items():
        print_escaped(f"  {meaning:<{width}}  {command}")
