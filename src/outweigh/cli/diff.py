"""`outweigh diff`: two runs side by side."""

from collections.abc import Sequence
from pathlib import Path

from outweigh.cli.arguments import Parser, add_format_option, print_report
from outweigh.cli.exit_codes import ExitCode
from outweigh.errors import UsageError, quote_names
from outweigh.model.codec import refuse_invalid
from outweigh.model.run_record import RunRecord
from outweigh.report.run_diff import diff_runs
from outweigh.report.run_diff_page import diff_report
from outweigh.store.records import STANDARD_INPUT, RecordReader
from outweigh.store.run_artifacts import read_run_side


def main(arguments: Sequence[str]) -> int:
    """Print where two runs part. The exit code says that it was printed."""
    options = _parser().parse_args(arguments)
    if options.runs == STANDARD_INPUT:
        raise UsageError("diff reads what was kept beside the records; name a store, or a file of records.")
    first, second = _find_runs(options.runs, (options.run_a, options.run_b))
    folder = _store_folder(Path(options.runs))
    print_report(diff_report(diff_runs(read_run_side(first, folder), read_run_side(second, folder))), options.format)
    return ExitCode.SATISFIED


def _store_folder(runs: Path) -> Path:
    return runs if runs.is_dir() else runs.parent


def _find_runs(runs: str, names: tuple[str, str]) -> tuple[RunRecord, RunRecord]:
    """The runs of these names in one reading; of several attempts under one name, the last."""
    found: dict[str, RunRecord] = {}
    near: dict[str, None] = {}
    for located in RecordReader(runs).records(refuse_invalid):
        record = located.record
        if not isinstance(record, RunRecord):
            continue
        for name in names:
            if name in (record.run_id, _trial_name(record)):
                known = found.get(name)
                if known is None or record.attempt >= known.attempt:
                    found[name] = record
            elif name in record.run_id:
                near[record.run_id] = None
    for name in names:
        if name not in found:
            raise UsageError(f"{runs} holds no run {name!r}.{_suggestion(list(near))}")
    return found[names[0]], found[names[1]]


def _trial_name(record: RunRecord) -> str:
    return f"{record.trial.task_id}/{record.trial.arm}/{record.trial.repeat}"


def _suggestion(near: list[str]) -> str:
    if near:
        return f" It holds {quote_names(near)}."
    return " A run is named by its run_id, or by TASK/ARM/REPEAT; `outweigh export` lists them."


def _parser() -> Parser:
    parser = Parser(
        prog="outweigh diff",
        description="Two runs side by side: where they part, steps, checks, patches, cost and time.",
        allow_abbrev=False,
    )
    parser.add_argument("runs", metavar="RUNS", help="the store that holds both, or a .jsonl file of run records")
    parser.add_argument("run_a", metavar="RUN_A", help="a run_id, or TASK/ARM/REPEAT for its last attempt")
    parser.add_argument("run_b", metavar="RUN_B", help="the run to put beside it")
    add_format_option(parser)
    return parser
