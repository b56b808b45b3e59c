"""`outweigh init --from-git`: its options, its progress, and the table at its end."""

import argparse
import shlex
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from statistics import median
from time import monotonic
from typing import TYPE_CHECKING, TextIO

from outweigh.cli.arguments import Parser, parse_jobs
from outweigh.cli.console import interruptible, print_escaped, write_notice
from outweigh.cli.exit_codes import ExitCode
from outweigh.errors import UsageError
from outweigh.mining.proof_fault import ProofFault
from outweigh.report.formatting import count_of, escape_controls, format_dollars, format_seconds, round_for_people

if TYPE_CHECKING:
    from outweigh.app.mine_suite import MinedSuite, MineRequest
    from outweigh.mining.journal import MinedCandidate
    from outweigh.mining.mine_candidates import MiningProgress

DEFAULT_JOBS = 2
MOST_TASKS = 10_000


class MiningOptions:
    """The options, as the parser fills them in."""

    folder: str
    repository: str | None
    tasks: int | None
    to_see: float | None
    since: date | None
    until: date | None
    test: str | None
    setup: str | None
    python: str | None
    image: str | None
    allow_host: list[str] | None
    most_files: int | None
    most_lines: int | None
    jobs: int | None
    explain: str | None
    rewrite: str | None
    from_sessions: bool
    cutoff: date | None
    agent: str | None
    model: str | None

    def refuse_without_repository(self) -> None:
        """Refuse options about a history where no repository is named."""
        given = {
            "--tasks": self.tasks,
            "--to-see": self.to_see,
            "--since": self.since,
            "--until": self.until,
            "--test": self.test,
            "--setup": self.setup,
            "--python": self.python,
            "--image": self.image,
            "--allow-host": self.allow_host,
            "--most-files": self.most_files,
            "--most-lines": self.most_lines,
            "--jobs": self.jobs,
            "--explain": self.explain,
            "--rewrite": self.rewrite,
            "--from-sessions": self.from_sessions or None,
            "--cutoff": self.cutoff,
        }
        for option, value in given.items():
            if value is not None:
                raise UsageError(f"{option} is about tasks from a history; name the repository with --from-git.")


def add_mining_options(parser: Parser, source: argparse._MutuallyExclusiveGroup) -> None:
    """Add what can be said about tasks from a history."""
    source.add_argument(
        "--from-git",
        dest="repository",
        metavar="REPO",
        help="a git repository with tests; changes of its history become tasks",
    )
    group = parser.group("Tasks from a history")
    size = group.add_mutually_exclusive_group()
    size.add_argument("--tasks", type=_parse_tasks, metavar="N", help="stop when there are so many (default: 40)")
    size.add_argument(
        "--to-see", type=_parse_points, metavar="POINTS", help="stop when a difference of so many points can be seen"
    )
    group.add_argument("--since", type=_parse_date, metavar="DATE", help="only changes since this day, as 2026-01-31")
    group.add_argument("--until", type=_parse_date, metavar="DATE", help="only changes until this day")
    group.add_argument("--most-files", type=_parse_tasks, metavar="N", help="leave out changes of more files")
    group.add_argument("--most-lines", type=_parse_tasks, metavar="N", help="leave out changes of more source lines")
    group.add_argument(
        "--cutoff",
        type=_parse_date,
        metavar="DATE",
        help="up to when the model was trained (default: what its maker says); older tasks are counted",
    )
    group.add_argument("--explain", metavar="COMMIT", help="say why a commit is a task or not, and do nothing else")
    how = parser.group("How they are tried and written")
    how.add_argument("--test", metavar="COMMAND", help="how to run the tests (default: detected)")
    how.add_argument("--setup", metavar="COMMAND", help="how to install what tests need (default: by the manifests)")
    how.add_argument("--python", metavar="VERSION", help="the version of Python to install for")
    how.add_argument("--image", metavar="IMAGE", help="a container image to install and test in")
    how.add_argument(
        "--allow-host", metavar="HOST", action="append", help="a host that --setup may reach; may be repeated"
    )
    how.add_argument("-j", "--jobs", type=parse_jobs, metavar="N", help="candidates tried at once (default: 2)")
    how.add_argument("--rewrite", metavar="JUDGE", help="let a model turn commit messages into issue reports")
    how.add_argument(
        "--from-sessions", action="store_true", help="use what you typed to Claude Code or Codex for a commit"
    )


def mine(options: MiningOptions) -> int:
    """Mine the suite and show the table, or explain one commit."""
    # Imported here: other ways to start a suite need none of it.
    from outweigh.app.mine_suite import explain_commit, mine_suite  # noqa: PLC0415
    from outweigh.app.observer import StopSignals  # noqa: PLC0415

    request = _request(options)
    if options.explain is not None:
        print_escaped(explain_commit(request, options.explain))
        return ExitCode.SATISFIED
    signals = StopSignals()
    with (
        _progress(sys.stderr) as listen,
        interruptible(signals.drain, signals.cancel, finishing="the candidates under way"),
    ):
        mined = mine_suite(request, listen=listen, signals=signals)
    for line in describe_mining(mined):
        print_escaped(line)
    return _exit_code(mined)


def _exit_code(mined: "MinedSuite") -> ExitCode:
    if mined.interrupted:
        return ExitCode.INTERRUPTED
    return ExitCode.SATISFIED if mined.kept else ExitCode.UNUSABLE_EVIDENCE


def _request(options: MiningOptions) -> "MineRequest":
    from outweigh.app.mine_suite import MineRequest  # noqa: PLC0415

    return MineRequest(
        repository=Path(options.repository or "."),
        folder=Path(options.folder),
        tasks=options.tasks,
        to_see_points=options.to_see,
        since=options.since,
        until=options.until,
        test=options.test,
        setup=options.setup,
        python=options.python,
        image=options.image,
        allow_hosts=tuple(options.allow_host or ()),
        most_files=options.most_files,
        most_lines=options.most_lines,
        jobs=options.jobs or DEFAULT_JOBS,
        agent=options.agent,
        model=options.model,
        rewrite=options.rewrite,
        from_sessions=options.from_sessions,
        cutoff=options.cutoff,
    )


class _Progress:
    """One line that changes on a terminal; elsewhere a line for every candidate."""

    def __init__(self, stream: TextIO) -> None:
        self._stream, self._live, self._began, self._made = stream, stream.isatty(), monotonic(), 0

    def __call__(self, progress: "MiningProgress") -> None:
        self._made += 1
        found = progress.found
        said = f"{found.reason}{f' ({found.detail})' if found.detail else ''}" if found.reason else found.task
        wanted = "" if progress.wanted is None else f" of {progress.wanted}"
        line = f"{progress.tried} tried, {progress.kept}{wanted} kept{self._time_left(progress)}"
        if self._live:
            write_notice(f"\r\x1b[K{line}", self._stream)
        else:
            write_notice(escape_controls(f"{found.fix[:10]} {found.state.value}: {said}; {line}") + "\n", self._stream)

    def close(self) -> None:
        if self._live and self._made:
            write_notice("\n", self._stream)

    def _time_left(self, progress: "MiningProgress") -> str:
        """From the pace so far; where a number of tasks is wanted, also from the share that is kept."""
        left = float(progress.left)
        if progress.wanted is not None and progress.kept:
            left = min(left, (progress.wanted - progress.kept) * progress.tried / progress.kept)
        seconds = (monotonic() - self._began) / self._made * left
        return f", at most {format_seconds(seconds)} left" if left >= 1 else ""


@contextmanager
def _progress(stream: TextIO) -> Iterator[_Progress]:
    shown = _Progress(stream)
    try:
        yield shown
    finally:
        shown.close()


def describe_mining(mined: "MinedSuite") -> Iterator[str]:
    """The table: what was looked at, what fell out and why, what is kept, and what it is good for."""
    scan, results = mined.scan, list(mined.results.values())
    yield (
        f"{count_of(scan.commits, 'commit')} looked at, {count_of(len(scan.candidates), 'candidate')}, "
        f"{len(results)} tried: {mined.proven} proven, {mined.kept} kept."
    )
    if scan.not_looked_at:
        yield f"{scan.not_looked_at:,} older commits were not looked at; --since and --until choose others."
    yield from _counted("Not a candidate", (each.reason.value for each in scan.rejections))
    yield from _counted("Not proven", (each.reason for each in results if not each.is_proven))
    yield from _counted("Proven, not kept", (each.reason for each in results if each.is_proven and each.reason))
    yield from _describe_interface(mined)
    if mined.rewriter is not None and mined.rewriter.asked:
        rewriter = mined.rewriter
        yield (
            f"{rewriter.rewritten} of {count_of(rewriter.asked, 'instruction')} were rewritten, for "
            f"{format_dollars(rewriter.cost_usd)}; of the others the words of the history are kept."
        )
    yield from _describe_failure(results)
    yield from _describe_time(mined)
    yield from _describe_size(mined)
    if mined.before_cutoff:
        yield (
            f"{count_of(mined.before_cutoff, 'task')} may be known to the model, which was trained until "
            f"{mined.cutoff}; --since leaves them out."
        )
    if mined.kept:
        yield from _next_steps(mined)


def _counted(title: str, reasons: Iterable[str]) -> Iterator[str]:
    counts = Counter(reasons)
    if not counts:
        return
    yield f"{title} ({counts.total():,})"
    for reason, number in counts.most_common():
        yield f"  {number:>6,}  {reason}"


def _describe_interface(mined: "MinedSuite") -> Iterator[str]:
    stated = sum(each.interface > 0 for each in mined.results.values() if each.task is not None)
    if mined.kept:
        verb = "needs" if stated == 1 else "need"
        yield (
            f"{stated} of {count_of(mined.kept, 'kept task')} {verb} names or texts that only the change knows; "
            "instructions state them under Interface."
        )


_WAYS_OUT = {
    ProofFault.FIX_NOT_GREEN: "Run the tests by another command with --test, install what they need with --setup, or "
    "name an --image that has it.",
    ProofFault.NEEDS_NETWORK: "Sandboxes have none: choose tests that need none with --test, or fetch what they need "
    "with --setup and --allow-host.",
    ProofFault.SETUP_FAILED: "Install them with a command of your own by --setup, or name an --image that has them.",
    ProofFault.NO_RUNNER: "Name the command that runs them with --test.",
}


def _describe_failure(results: Sequence["MinedCandidate"]) -> Iterator[str]:
    """Where nothing is proven, the reason of most, and what the user can do about it."""
    if not results or any(each.is_proven for each in results):
        return
    ((reason, _),) = Counter(each.reason for each in results).most_common(1)
    way_out = next((text for fault, text in _WAYS_OUT.items() if fault.value == reason), None)
    yield f"No candidate is proven, mostly because {reason}.{f' {way_out}' if way_out else ''}"


def _describe_time(mined: "MinedSuite") -> Iterator[str]:
    seconds = [each.seconds for each in mined.results.values()]
    runs = [each.test_seconds for each in mined.results.values() if each.test_seconds is not None]
    if seconds:
        tests = f"; one run of its tests {format_seconds(median(runs))}" if runs else ""
        yield f"A candidate took {format_seconds(median(seconds))} (median){tests}."


def _describe_size(mined: "MinedSuite") -> Iterator[str]:
    if mined.interrupted:
        yield "Interrupted: the same command goes on where it stopped."
    elif mined.exhausted and mined.wanted is not None and mined.kept < mined.wanted:
        yield f"The history is exhausted: {mined.wanted} tasks were asked for, and it has {mined.kept}."
    if mined.kept and mined.visible_points is None:
        yield (
            f"{count_of(mined.kept, 'task')} with 5 repeats would show even a large difference in fewer than 80 of 100 "
            "experiments, if agents vary as public ones do; `outweigh plan` says what it would take."
        )
    elif mined.visible_points is not None:
        yield (
            f"{count_of(mined.kept, 'task')} with 5 repeats show a difference of about "
            f"{round_for_people(mined.visible_points)} points in 80 of 100 experiments, if agents vary as public ones "
            "do."
        )


def _next_steps(mined: "MinedSuite") -> Iterator[str]:
    folder = shlex.quote(str(mined.folder))
    yield "Next:"
    yield f"  outweigh plan -c {folder}  # what it could show, and what it would cost"
    yield f"  outweigh doctor -c {folder}  # try the tasks again, for free"
    yield f"  outweigh try CLAUDE.md -s {folder}  # a first answer about one file"


def _parse_tasks(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MOST_TASKS:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 to {MOST_TASKS:,}")
    return int(text)


def _parse_points(text: str) -> float:
    try:
        points = float(text)
    except ValueError:
        points = 0.0
    if not 1 <= points <= 90:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of points from 1 to 90")
    return points


def _parse_date(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a day such as 2026-01-31") from None
