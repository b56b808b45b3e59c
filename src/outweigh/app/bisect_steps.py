"""The set-ups between a good and a bad one, each as an arm of one suite: commits, or hunks of the files that differ.

Set-ups that are the same as the one before cost nothing: they are one step. The user's work tree is never touched.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

import msgspec

from outweigh.app.setup_hunks import hunk_steps
from outweigh.app.suite_selection import git_revisions, load_baseline, load_revisions
from outweigh.engine.load_arms import skill_names
from outweigh.engine.load_suite import LoadedSuite
from outweigh.errors import EvidenceError, UsageError
from outweigh.model.agent_files import configuration_kind
from outweigh.model.arm import Arm, OverlayFile
from outweigh.plugins import installed_file_locations
from outweigh.workspace.revisions import NamedCommit

GOOD, BAD = "good", "bad"
SHORT_HASH = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupStep:
    """One set-up of the sequence: the arm that has it, and what led to it.

    `followed_by` are later commits that leave the set-up as it is.
    """

    arm: str
    title: str
    lines: tuple[str, ...] = ()
    followed_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupSequence:
    """A suite whose arms are the set-ups in order, the good one first.

    `between` is how many steps there were before those that change nothing were left out, and `unit` what a step is.
    """

    suite: LoadedSuite
    steps: tuple[SetupStep, ...]
    between: int
    unit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SequenceRequest:
    """A good and a bad set-up: two commits, or two files; `placed_at` is where a workspace has such a file.

    With `by_hunk` the steps between two commits are the hunks in which their set-ups differ.
    """

    suite: str
    good: str
    bad: str
    by_hunk: bool = False
    placed_at: str | None = None
    repository: str | None = None

    @property
    def are_files(self) -> bool:
        """Whether good and bad are files and not commits."""
        return Path(self.good).is_file() and Path(self.bad).is_file()


@contextmanager
def load_sequence(request: SequenceRequest) -> Iterator[SetupSequence]:
    """The sequence, with everything that its suite needs as long as the context lasts."""
    if request.are_files:
        yield _file_sequence(request)
    elif request.placed_at is not None:
        raise UsageError("--as is the place of a file, and --good and --bad are not two files. Leave it out.")
    elif request.by_hunk:
        refs = {GOOD: request.good, BAD: request.bad}
        with load_revisions(Path(request.suite), refs, request.repository) as suite:
            yield _by_hunks(suite, suite.arms[GOOD], suite.arms[BAD])
    else:
        with _commit_sequence(request) as found:
            yield found


@contextmanager
def _commit_sequence(request: SequenceRequest) -> Iterator[SetupSequence]:
    path = Path(request.suite)
    revisions = git_revisions(path, request.repository)
    good, bad = revisions.commit(request.good), revisions.commit(request.bad)
    commits = [NamedCommit(commit=good, subject=request.good), *revisions.commits_between(good, bad)]
    refs = {_short(each.commit): each.commit for each in commits}
    with load_revisions(path, refs, request.repository) as suite:
        steps: list[SetupStep] = []
        for each in commits:
            name = _short(each.commit)
            if steps and suite.arms[steps[-1].arm].fingerprint == suite.arms[name].fingerprint:
                steps[-1] = replace(steps[-1], followed_by=(*steps[-1].followed_by, name))
            else:
                steps.append(SetupStep(arm=name, title=each.subject))
        yield _sequence(suite, suite.arms, steps, len(commits) - 1, "commit")


def _short(commit: str) -> str:
    return commit[:SHORT_HASH]


def _file_sequence(request: SequenceRequest) -> SetupSequence:
    suite = load_baseline(Path(request.suite), request.repository, GOOD)
    baseline = suite.arms[GOOD]
    place = request.placed_at or _usual_place(request, baseline.agent)
    contents = [Path(name).read_bytes() for name in (request.good, request.bad)]
    others = {file.path: suite.overlays[file.sha256] for file in baseline.overlay if file.path != place}
    modes = {file.path: file.executable for file in baseline.overlay}
    good, bad = (_with_files(baseline, {**others, place: content}, modes) for content in contents)
    kept = {**suite.overlays, **{sha256(content).hexdigest(): content for content in contents}}
    return _by_hunks(replace(suite, overlays=kept), good, bad)


def _usual_place(request: SequenceRequest, agent: str) -> str:
    """Where the agent reads a file of this name."""
    for name in (request.bad, request.good):
        parts = Path(name).resolve().parts
        for length in range(len(parts), 0, -1):
            path = "/".join(parts[-length:]).lstrip("/")
            if configuration_kind(path, agent, installed_file_locations(agent)) is not None:
                return path
    raise UsageError(
        f"{agent} reads no file called {Path(request.bad).name!r}. Say where a workspace has it with --as PATH, "
        "such as --as CLAUDE.md."
    )


def _by_hunks(suite: LoadedSuite, good: Arm, bad: Arm) -> SetupSequence:
    if msgspec.structs.replace(good, name=bad.name, overlay=bad.overlay, skills=bad.skills) != bad:
        raise UsageError("good and bad differ in more than files, which have no hunks. Search by commits instead.")
    contents = dict(suite.overlays)
    modes = {file.path: file.executable for arm in (good, bad) for file in arm.overlay}
    before, after = ({file.path: suite.overlays[file.sha256] for file in arm.overlay} for arm in (good, bad))
    arms, steps = {GOOD: msgspec.structs.replace(good, name=GOOD)}, [SetupStep(arm=GOOD, title=GOOD)]
    for number, hunk in enumerate(hunk_steps(before, after), start=1):
        name = f"hunk-{number}"
        arms[name] = msgspec.structs.replace(_with_files(good, hunk.files, modes), name=name)
        contents |= {sha256(content).hexdigest(): content for content in hunk.files.values()}
        steps.append(SetupStep(arm=name, title=hunk.title, lines=hunk.lines))
    return _sequence(replace(suite, overlays=contents), arms, steps, len(steps) - 1, "hunk")


def _with_files(arm: Arm, files: Mapping[str, bytes], modes: Mapping[str, bool]) -> Arm:
    """The arm with these files and no others; skills are those among them."""
    overlay = tuple(
        OverlayFile(path=path, sha256=sha256(files[path]).hexdigest(), executable=modes.get(path, False))
        for path in sorted(files)
    )
    return msgspec.structs.replace(
        arm, overlay=overlay, skills=skill_names((), overlay, installed_file_locations(arm.agent))
    )


def _sequence(
    suite: LoadedSuite, arms: Mapping[str, Arm], steps: list[SetupStep], between: int, unit: str
) -> SetupSequence:
    """The suite with these arms alone; refuses a sequence in which nothing changes."""
    if len(steps) < 2:
        raise EvidenceError(
            f"no {unit} between good and bad changes the set-up of {next(iter(arms.values())).agent}, so none of them "
            "made it worse. What differs is elsewhere, or at the provider."
        )
    kept = {step.arm: arms[step.arm] for step in steps}
    spec = suite.spec
    model = spec.arms[spec.baseline]
    bare = msgspec.structs.replace(
        spec,
        arms=dict.fromkeys(kept, model),
        baseline=steps[0].arm,
        designs=[],
        judges=[],
    )
    origins = {name: origin for name, origin in suite.origins.items() if name in kept}
    return SetupSequence(
        suite=replace(suite, spec=bare, arms=kept, origins=origins, designs=(), arm_repeats={}, inheriting={}),
        steps=tuple(steps),
        between=between,
        unit=unit,
    )
