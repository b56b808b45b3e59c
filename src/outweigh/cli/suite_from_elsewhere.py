"""`outweigh init --from`: a suite that was written for another program, written again for this one."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from outweigh.adapters.suites.writing import NOTES_FILE, suite_files
from outweigh.cli.new_files import refuse_to_overwrite, write_files
from outweigh.cli.plain_words import say
from outweigh.errors import UsageError
from outweigh.ports.suites import SuiteReader, SuiteWishes
from outweigh.run.arms import SKILL_FILE
from outweigh.run.loading import SUITE_FILE, LoadedSuite, load_suite
from outweigh.task.suite_draft import SuiteDraft, SuiteFile
from outweigh.verdict.evidence_settings import MINIMUM_TASKS

SHOWN_NOTES = 8


def write_suite(reader: SuiteReader, source: Path, folder: Path, wishes: SuiteWishes) -> None:
    """Read, try whether what comes of it can be loaded, and only then write; nothing is overwritten."""
    _refuse_within_a_skill(folder)
    draft = reader.read(source, wishes)
    files = suite_files(draft)
    refuse_to_overwrite([folder / path for path in files], folder)
    suite = _loaded(files, source, folder)
    write_files(folder, files)
    _say(draft, suite, reader.name, source, folder, len(files))


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


def _loaded(files: Mapping[str, SuiteFile], source: Path, folder: Path) -> LoadedSuite:
    """The suite as it would be read. What is wrong in it is said of the place where it would have been."""
    with TemporaryDirectory(prefix="outweigh-init-") as place:
        write_files(Path(place), files)
        try:
            return load_suite(Path(place))
        except UsageError as fault:
            said = str(fault).replace(str(Path(place).resolve()), str(folder)).replace(place, str(folder))
            raise UsageError(f"{source} gives a suite that could not be used, so nothing was written. {said}") from None


def _say(draft: SuiteDraft, suite: LoadedSuite, found: str, source: Path, folder: Path, files: int) -> None:
    arms = " and ".join(suite.arms) if len(suite.arms) == 2 else f"{len(suite.arms)} arms"
    tasks = "1 task" if len(draft.tasks) == 1 else f"{len(draft.tasks)} tasks"
    say(f"{source} was read as {found}: {tasks}, {arms}.")
    say(f"{files} files written; {folder / SUITE_FILE} is the experiment.")
    if len(draft.tasks) < MINIMUM_TASKS:
        say(f"{tasks} can show no more than a direction: a verdict takes at least {MINIMUM_TASKS}.")
    _say_notes(draft.notes, folder)
    _say_what_next(suite, folder)


def _say_notes(notes: tuple[str, ...], folder: Path) -> None:
    if not notes:
        say("Everything was carried over.")
        return
    say("Not carried over, or not as it was:")
    for note in notes[:SHOWN_NOTES]:
        say(f"  - {note}")
    if len(notes) > SHOWN_NOTES:
        say(f"  - and {len(notes) - SHOWN_NOTES} more, all in {folder / NOTES_FILE}")


def _say_what_next(suite: LoadedSuite, folder: Path) -> None:
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
    say("Next:")
    for meaning, command in steps.items():
        say(f"  {meaning:<{width}}  {command}")
