"""Finds the changes of a history that could become tasks."""

from collections.abc import Iterable, Sequence

from outweigh.mining.candidate import Candidate, CandidateKind, HistoryScan, Rejection, RejectionReason
from outweigh.mining.change_rules import HistoryChange, HistorySettings, SortedFiles, judge_changes, sort_files
from outweigh.mining.commit_messages import (
    is_dependency_update,
    is_formatting,
    is_release,
    is_web_edit,
    own_words,
    plain_subject,
)
from outweigh.mining.commit_runs import LineCommit, commit_runs
from outweigh.mining.history_objects import (
    ChangedPath,
    ListedCommit,
    count_commits,
    list_commits,
    read_changes,
    read_texts,
)
from outweigh.mining.merged_work import merged_lines
from outweigh.mining.repository import HistoryRepository
from outweigh.mining.reverts import find_reverted

_MOST_MERGED = 15
"""A merge of more commits than this is a line of work with several tasks in it."""
_MOST_TELLING = 3
_JOINED = frozenset((RejectionReason.NO_TESTS, RejectionReason.NO_SOURCE))


def scan_history(repository: HistoryRepository, settings: HistorySettings) -> HistoryScan:
    """Find the changes of a history that could become tasks, and say of every other commit why it could not.

    A merge that could become one stands for the commits that it brought. Where it could not, because it is too large
    or merges a whole line of work, each of those commits is looked at on its own.
    """
    return _Scan(repository, settings).result()


def explain(repository: HistoryRepository, settings: HistorySettings, commit: str) -> str:
    """One paragraph about why a commit is a candidate, or why it is none. The commit may be abbreviated."""
    scan = scan_history(repository, settings)
    for candidate in scan.candidates:
        if candidate.fix.startswith(commit):
            return _about(candidate)
    for rejection in scan.rejections:
        if rejection.commit.startswith(commit):
            detail = f" ({rejection.detail})" if rejection.detail else ""
            return f"{rejection.commit[:10]} is not a candidate: it {rejection.reason.value}{detail}."
    if scan.not_looked_at:
        return (
            f"{commit} is not among the {scan.commits:,} commits that were looked at; {scan.not_looked_at:,} older "
            "commits were not. Give the dates that it is between, or allow more commits."
        )
    return f"{commit} is not in the history of {repository.head[:10]}."


def _about(candidate: Candidate) -> str:
    inside = len(candidate.commits) - (candidate.kind is CandidateKind.MERGE)
    what = {CandidateKind.MERGE: "merges", CandidateKind.RANGE: "is a run of"}.get(candidate.kind)
    made_of = f" It {what} {inside} {'commit' if inside == 1 else 'commits'}." if what else ""
    lines = "1 line" if candidate.source_lines == 1 else f"{candidate.source_lines:,} lines"
    source, tests = _few(candidate.source_files), _few(candidate.test_files)
    return (
        f"{candidate.short} is a candidate: it changes {source} ({lines} of source) and the "
        f"tests in {tests}, on top of {candidate.base[:10]}.{made_of}"
    )


def _few(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - 3} more files" if len(paths) > 3 else ""
    return ", ".join(paths[:3]) + more


class _Scan:
    """One scan: every commit on its own first, then merges, then runs of commits."""

    def __init__(self, repository: HistoryRepository, settings: HistorySettings) -> None:
        self._repository, self._settings = repository, settings
        listed = list_commits(repository)
        self._by_name = {commit.name: commit for commit in listed}
        self._outside = [commit for commit in listed if not self._is_in_time(commit)][: settings.most_commits]
        self._commits = [commit for commit in listed if self._is_in_time(commit)][: settings.most_commits]
        self._names = {commit.name for commit in self._commits}
        self._texts = read_texts(repository, [commit.name for commit in self._commits])
        pairs = [(commit.name, next(iter(commit.parents), "")) for commit in self._commits]
        self._changes = read_changes(repository, pairs)
        self._judged = judge_changes(repository, settings, [self._change(*pair) for pair in pairs])
        self._reverted = find_reverted(self._commits, self._texts, self._changes)
        self._candidates: dict[str, Candidate] = {}
        self._rejections: dict[str, Rejection] = {}

    def result(self) -> HistoryScan:
        """The candidates and rejections of everything that was looked at."""
        merged = merged_lines(self._repository.head, self._by_name)
        in_lines = [name for line in merged.lines for name in line if name in self._names]
        for name in (*in_lines, *(commit.name for commit in self._commits)):
            if name not in self._rejections and name not in self._candidates:
                self._decide(name, merged.inner.get(name, ()))
        self._join_runs(merged.lines)
        rejections = [self._rejections[each.name] for each in self._commits if each.name in self._rejections]
        rejections += [
            Rejection(commit=each.name, reason=RejectionReason.OUT_OF_RANGE, detail=f"{each.date:%Y-%m-%d}")
            for each in self._outside
        ]
        looked_at = len(self._commits) + len(self._outside)
        return HistoryScan(
            candidates=tuple(sorted(self._candidates.values(), key=lambda each: (each.date, each.fix), reverse=True)),
            rejections=tuple(rejections),
            commits=looked_at,
            not_looked_at=max(0, count_commits(self._repository) - looked_at),
        )

    def _is_in_time(self, commit: ListedCommit) -> bool:
        since, until = self._settings.since, self._settings.until
        late_enough = since is None or commit.time >= since.timestamp()
        return late_enough and (until is None or commit.time <= until.timestamp())

    def _change(self, name: str, base: str) -> HistoryChange:
        text = self._texts[name]
        return HistoryChange(
            fix=name,
            base=base,
            kind=CandidateKind.MERGE if len(self._by_name[name].parents) > 1 else CandidateKind.COMMIT,
            subject=text.subject,
            message=text.message,
            files=self._changes.get(name, []),
        )

    def _decide(self, name: str, inner: Sequence[str]) -> None:
        """Accept or reject a commit or a merge, and with it the commits that it brought where it stands for them."""
        judged = self._judged[name]
        if name in self._reverted:
            self._reject((name, *inner), RejectionReason.REVERTED, f"by {self._reverted[name][:10]}")
        elif isinstance(judged, Rejection):
            self._rejections[name] = judged
            if judged.reason is RejectionReason.REVERT:
                self._reject(inner, judged.reason, judged.detail)
        elif self._brings_nothing(name, inner):
            self._reject((name,), RejectionReason.BACK_MERGE, "it brings nothing that is not merged elsewhere")
        elif self._is_line_of_work(inner):
            self._reject((name,), RejectionReason.TOO_LARGE, f"merges {len(inner)} commits")
        else:
            self._reject(inner, RejectionReason.INSIDE_MERGE, name[:10])
            kind = CandidateKind.MERGE if len(self._by_name[name].parents) > 1 else CandidateKind.COMMIT
            base = self._by_name[name].parents[0]
            self._accept((*inner, name), base, kind, self._message(name, inner), judged)

    def _is_line_of_work(self, inner: Sequence[str]) -> bool:
        """Whether a merge brought several pieces of work: many commits, or merges of other branches."""
        merges = [name for name in inner if len(self._by_name[name].parents) > 1]
        return len(inner) > _MOST_MERGED or sum(self._merges_work(name) for name in merges) > 1

    def _merges_work(self, name: str) -> bool:
        judged = self._judged.get(name)
        back = isinstance(judged, Rejection) and judged.reason is RejectionReason.BACK_MERGE
        return judged is not None and not back and bool(self._changes.get(name))

    def _brings_nothing(self, name: str, inner: Sequence[str]) -> bool:
        others = self._by_name[name].parents[1:]
        return bool(others) and not inner and all(other in self._by_name for other in others)

    def _reject(self, names: Iterable[str], reason: RejectionReason, detail: str) -> None:
        for name in names:
            if name in self._names and name not in self._candidates:
                self._rejections[name] = Rejection(commit=name, reason=reason, detail=detail)

    def _message(self, name: str, inner: Sequence[str]) -> str:
        """What was said about a commit; for a merge that says little itself, also what its commits say.

        Of those commits the ones that change source say what the work was.
        """
        message = self._texts[name].message
        if len(self._by_name[name].parents) == 1:
            return message
        words = own_words(message)
        inside = [each for each in inner if each in self._texts and len(self._by_name[each].parents) == 1]
        telling = [self._texts[each].message for each in inside if self._tells(each)]
        if not words:
            said = telling or [self._texts[each].message for each in inside]
        elif "\n" in words or len(telling) > _MOST_TELLING:
            said = [words]
        else:
            same = [each for each in telling if plain_subject(each.partition("\n")[0]) == plain_subject(words)]
            said = [*(same or [words]), *telling]
        return "\n\n".join(dict.fromkeys(said)) or message

    def _tells(self, name: str) -> bool:
        subject = self._texts[name].subject
        empty = is_formatting(subject) or is_dependency_update(subject) or is_release(subject) or is_web_edit(subject)
        return not empty and bool(sort_files(self._changes.get(name, []), self._settings.patterns).source)

    def _accept(self, commits: Sequence[str], base: str, kind: CandidateKind, message: str, files: SortedFiles) -> None:
        fix = commits[-1]
        self._candidates[fix] = Candidate(
            base=base,
            fix=fix,
            commits=tuple(commits),
            kind=kind,
            date=self._by_name[fix].date,
            message=message,
            source_files=_paths((*files.source, *files.types)),
            test_files=tuple(change.path for change in (*files.tests, *files.test_support)),
            other_files=_paths((*files.others, *files.manifests, *files.generated)),
            deleted_tests=tuple(
                change.old_path
                for change in (*files.deleted_tests, *files.tests, *files.test_support)
                if change.status in "DR"
            ),
            source_lines=files.source_lines,
        )

    def _join_runs(self, lines: Iterable[Sequence[str]]) -> None:
        """Make candidates of commits that only together change source and tests."""
        joined = {
            name: LineCommit(
                self._by_name[name], self._texts[name], sort_files(self._changes[name], self._settings.patterns)
            )
            for name, rejection in self._rejections.items()
            if rejection.reason in _JOINED and len(self._by_name[name].parents) == 1 and name in self._changes
        }
        runs = [run for line in lines for run in commit_runs(line, joined)]
        pairs = [(run[-1], self._by_name[run[0]].parents[0]) for run in runs]
        changes = read_changes(self._repository, pairs)
        messages = ["\n\n".join(self._texts[name].message for name in run) for run in runs]
        together = [
            HistoryChange(
                fix=fix, base=base, kind=CandidateKind.RANGE, subject="", message=message, files=changes.get(fix, [])
            )
            for (fix, base), message in zip(pairs, messages, strict=True)
        ]
        judged = judge_changes(self._repository, self._settings, together)
        for run, change in zip(runs, together, strict=True):
            files = judged[change.fix]
            if isinstance(files, SortedFiles):
                self._reject(run[:-1], RejectionReason.INSIDE_RANGE, change.fix[:10])
                del self._rejections[change.fix]
                self._accept(run, change.base, CandidateKind.RANGE, change.message, files)


def _paths(changes: Iterable[ChangedPath]) -> tuple[str, ...]:
    """Paths at the fix, with those at the base of what was renamed."""
    return tuple(dict.fromkeys(path for change in changes for path in (change.path, change.old_path)))
