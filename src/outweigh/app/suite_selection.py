"""The suite to run: from disk, or one arm of it as two revisions of a repository configure it.

A suite that lies in the repository is taken from the base revision, so that a change is not judged by rules it
brings itself.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from outweigh.engine.load_suite import LoadedSuite, load_baseline_at_refs, load_suite, suite_path
from outweigh.engine.load_task import task_folders
from outweigh.errors import UsageError, quote_names, quote_value
from outweigh.model.agent_files import configuration_kind
from outweigh.model.launch_spec import LaunchSpec, parse_launch_spec
from outweigh.model.source_document import SourceDocument
from outweigh.model.suite import ClusterSpec, Executor
from outweigh.plugins import adapter_names, installed_file_locations
from outweigh.verdict.policy import check_policy
from outweigh.workspace.revisions import GitRevisions

BASE, HEAD = "base", "head"
SHOWN_PATHS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteRequest:
    """A suite, the revisions of the agent's configuration to try it with, and who is to run it: with a scheduler, the
    hosts of its cluster, and with `launch`, hosts that are started for the run.

    `repository` is where revisions come from; without it, the repository that the suite is in.
    """

    path: str
    base: str | None = None
    head: str | None = None
    repository: str | None = None
    executor: Executor | None = None
    scheduler: str | None = None
    launch: LaunchSpec | None = None


def read_launch_spec(path: Path) -> LaunchSpec:
    """The file that says how hosts are started."""
    try:
        content = path.read_bytes()
    except OSError as fault:
        raise UsageError(
            f"{path} cannot be read: {fault.strerror}. --cluster takes a file that starts hosts."
        ) from None
    return parse_launch_spec(content, str(path))


def read_suite(path: str, repository: str | None = None) -> LoadedSuite:
    """A suite as the disk has it; its arms may come from git."""
    file = suite_path(Path(path))
    return load_suite(
        file,
        GitRevisions(Path(repository or file.parent)),
        check_policy=check_policy,
        locations_of=installed_file_locations,
    )


@contextmanager
def choose_suite(request: SuiteRequest) -> Iterator[LoadedSuite]:
    """The requested suite, with everything it needs as long as the context lasts."""
    if request.base is None:
        if request.head is not None:
            raise UsageError("--head needs a --base to be compared with.")
        suite = _with_executor(read_suite(request.path, request.repository), request)
        require_known_agents(suite, request.path)
        yield suite
        return
    with load_two_revisions(Path(request.path), request.base, request.head, request.repository) as suite:
        yield _with_executor(suite, request)


@contextmanager
def load_two_revisions(path: Path, base: str, head: str | None, repository: str | None) -> Iterator[LoadedSuite]:
    """Base, and head if there is one."""
    refs = {BASE: base} if head is None else {BASE: base, HEAD: head}
    with load_revisions(path, refs, repository) as suite:
        yield suite


@contextmanager
def load_revisions(path: Path, refs: Mapping[str, str], repository: str | None) -> Iterator[LoadedSuite]:
    """The baseline arm as each of these refs configures it, by the arm's name. A suite that lies in the repository is
    taken from the first one's commit.

    So a change is not judged by rules that it brings itself: what the last one changes in the suite is only noted.
    """
    revisions = git_revisions(path, repository)
    names = list(refs)
    commits = {name: revisions.commit(ref) for name, ref in refs.items()}
    inside = _path_in_repository(revisions, path)
    if inside is None:
        yield _load_at_refs(path, revisions, refs)
        return
    with TemporaryDirectory(prefix="outweigh-base-", ignore_cleanup_errors=True) as scratch:
        root = Path(scratch).resolve()
        revisions.check_out(commits[names[0]], root)
        place = suite_path(root / inside)
        if not place.is_file():
            raise UsageError(
                f"{refs[names[0]]} has no suite at {inside}, and a change cannot be judged by a suite that it adds "
                "itself. Merge the suite first, or name one outside of the repository."
            )
        suite = _load_at_refs(place, revisions, refs)
        ends = [commits[name] for name in (names[0], names[-1])]
        edited = _edited_suite_files(suite, root, revisions, ends) if len(names) > 1 else []
        yield replace(suite, notes=(*suite.notes, *_note_edits(edited, refs[names[-1]])))


def git_revisions(path: Path, repository: str | None) -> GitRevisions:
    """The history that refs are about: that of the named folder, or of the one that holds the suite."""
    return GitRevisions(_repository(path, repository))


def load_baseline(path: Path, repository: str | None, name: str) -> LoadedSuite:
    """The suite's baseline arm as it is, under another name, and no other arm."""
    return _load_at_refs(path, git_revisions(path, repository), {name: None})


def _load_at_refs(path: Path, revisions: GitRevisions, refs: Mapping[str, str | None]) -> LoadedSuite:
    return load_baseline_at_refs(
        path, revisions, refs, check_policy=check_policy, locations_of=installed_file_locations
    )


def _with_executor(suite: LoadedSuite, request: SuiteRequest) -> LoadedSuite:
    """The suite with the executor and the scheduler that are requested; with its own where none is."""
    spec = suite.spec
    if request.executor is not None:
        spec = msgspec.structs.replace(spec, executor=request.executor)
    option = "--scheduler" if request.launch is None else "--cluster"
    if (request.scheduler or request.launch) and spec.executor is not Executor.DASK:
        raise UsageError(f"{option} names a Dask cluster; add --executor dask, or leave it out.")
    return replace(suite, spec=msgspec.structs.replace(spec, cluster=_cluster_of(spec.cluster, request)))


def _cluster_of(spec: ClusterSpec, request: SuiteRequest) -> ClusterSpec:
    """The cluster that is requested, else the suite's."""
    launch = request.launch
    if launch is None:
        return spec if request.scheduler is None else msgspec.structs.replace(spec, scheduler=request.scheduler)
    if request.scheduler is not None:
        raise UsageError("--cluster starts a scheduler and --scheduler names one that is there; use one of them.")
    return msgspec.structs.replace(
        spec,
        scheduler=launch.scheduler,
        artifacts=launch.artifacts or spec.artifacts,
        tls_ca_file=launch.tls_ca_file,
        tls_cert=launch.tls_cert,
        tls_key=launch.tls_key,
    )


def require_known_agents(suite: LoadedSuite, path: str) -> None:
    """Refuse an agent that is not installed, at its place in the suite file; Harbor has agents of its own."""
    if suite.spec.executor is Executor.HARBOR:
        return
    known = adapter_names("agent")
    for name, arm in suite.spec.arms.items():
        if arm.agent is not None and arm.agent not in known:
            file = suite_path(Path(path))
            near = get_close_matches(arm.agent, known, n=1)
            hint = f"; did you mean {quote_value(near[0])}?" if near else "."
            allowed = ", ".join(map(quote_value, known))
            raise SourceDocument(file.read_bytes(), str(file)).error(
                ("arms", name, "agent"),
                f"arms.{name}.agent is {quote_value(arm.agent)}, which is not one of {allowed}{hint}",
            )


def nothing_to_compare(suite: LoadedSuite, request: SuiteRequest) -> str | None:
    """Why base and head are the same set-up; None where they differ, or where no two revisions were requested."""
    if request.head is None or suite.arms[BASE].fingerprint != suite.arms[HEAD].fingerprint:
        return None
    said = f"nothing to compare: {request.base} and {request.head} configure {suite.arms[BASE].agent} in the same way."
    unread = _unread_changes(suite, _repository(Path(request.path), request.repository))
    if unread:
        said += f" What differs is for other agents: {quote_names(unread, SHOWN_PATHS)}."
    return " ".join((said, "Nothing was run.", *suite.notes))


def _unread_changes(suite: LoadedSuite, repository: Path) -> list[str]:
    """Configuration files that differ between base and head, and that the suite's agent does not read."""
    before, after = (suite.origins[name] for name in (BASE, HEAD))
    changed = GitRevisions(repository).changed(before.commit, after.commit)
    prefix = _prefix(before.folder)
    inside = [path.removeprefix(prefix) for path in changed if path.startswith(prefix)]
    return [path for path in inside if configuration_kind(path) is not None]


def _repository(path: Path, named: str | None) -> Path:
    """Where to ask git: in the folder that is named, or in the nearest there is; a head may have removed the suite."""
    whole = path.resolve()
    return Path(named) if named else next(place for place in (whole, *whole.parents) if place.is_dir())


def _path_in_repository(revisions: GitRevisions, path: Path) -> Path | None:
    """Where in the repository the suite lies; None where it lies elsewhere."""
    try:
        top = revisions.top.resolve()
    except UsageError:  # a repository without a working copy holds no suite that a path could name
        return None
    return path.resolve().relative_to(top) if path.resolve().is_relative_to(top) else None


def _edited_suite_files(suite: LoadedSuite, root: Path, revisions: GitRevisions, ends: Sequence[str]) -> list[str]:
    """What the head changes of the suite, its tasks and its rules; the files under test are none of these."""
    folders = [suite.folder, *task_folders(suite.spec.tasks, suite.folder, str(suite.folder))]
    ours = tuple(_prefix(str(folder.relative_to(root))) for folder in folders if folder.is_relative_to(root))
    prefix = _prefix(suite.origins[suite.spec.baseline].folder)
    brought = {f"{prefix}{file.path}" for arm in suite.arms.values() for file in arm.overlay}
    return [path for path in revisions.changed(*ends) if path.startswith(ours) and path not in brought]


def _note_edits(edited: list[str], head: str) -> tuple[str, ...]:
    if not edited:
        return ()
    return (
        f"{head} changes the suite that it is judged by ({quote_names(edited, SHOWN_PATHS)}). The suite of the base "
        "was used; review that change separately.",
    )


def _prefix(folder: str) -> str:
    return "" if folder in ("", ".") else f"{folder}/"
