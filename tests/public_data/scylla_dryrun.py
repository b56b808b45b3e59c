"""ProjectScylla's dry run: what is imported of its raw tables, and the cells of the tables that it published."""

from functools import cache
from pathlib import Path

from outweigh.interop.scylla.importer import ScyllaImporter
from outweigh.model.judgment import Judgment
from outweigh.model.run_record import RunRecord
from outweigh.testing.importer_contract import read_all

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "scylla_dryrun"
JUDGES = ("claude-opus-4-5-20251101", "claude-sonnet-4-5-20250929", "claude-haiku-4-5")


@cache
def records() -> tuple[RunRecord | Judgment, ...]:
    """Everything, read once."""
    found, notes = read_all(ScyllaImporter(), DATA / "data")
    assert not notes.unreadable
    return tuple(found)


def all_runs() -> list[RunRecord]:
    """The seven runs, one of each tier, in order of tiers."""
    return [record for record in records() if isinstance(record, RunRecord)]


def all_judgments() -> list[Judgment]:
    """Three of each run."""
    return [record for record in records() if isinstance(record, Judgment)]


def page(name: str) -> str:
    """A published table as it stands."""
    return (DATA / "published_tables" / name).read_text()


def table(name: str) -> list[list[str]]:
    """Its cells, without the header."""
    lines = [line for line in page(name).splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def tier(run: RunRecord) -> str:
    """T0 to T6."""
    return run.trial.arm.split("/")[1]


def score(run: RunRecord) -> float:
    """What the project made of its judges' totals."""
    return float(run.extra["score"])


def cost(run: RunRecord) -> float:
    """In dollars; every run has one."""
    assert run.cost.usd is not None
    return run.cost.usd


def passed(run: RunRecord) -> bool:
    """What the judges agreed on."""
    assert run.checks is not None
    return run.checks[0].passed is True


def tokens(run: RunRecord) -> tuple[int, int, int, int]:
    """Input, output, read from the cache, written to it; every run has all four."""
    usage = run.usage
    counts = (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens)
    assert None not in counts
    return counts  # type: ignore[return-value]
