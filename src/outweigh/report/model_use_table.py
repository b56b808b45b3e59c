"""The models that answered and their shares of the tokens: as a table of both arms, and of one run."""

from collections.abc import Iterator, Mapping

from outweigh.compare.model_use import ModelUse, token_shares, total_tokens
from outweigh.compare.setup_summary import SetupSummary
from outweigh.model.usage import Usage
from outweigh.report.document import Block, Table
from outweigh.report.formatting import format_count, format_percent

MOST_MODELS = 20


def model_blocks(setups: Mapping[str, SetupSummary]) -> list[Block]:
    """One row for every model that answered in any arm; nothing where no run was metered."""
    models = list(dict.fromkeys(model for setup in setups.values() for model in setup.models))
    if not models:
        return []
    rows = [(model, *(_cell(setup.models.get(model)) for setup in setups.values())) for model in models[:MOST_MODELS]]
    if len(models) > MOST_MODELS:
        rows.append((f"and {len(models) - MOST_MODELS} more", *[""] * len(setups)))
    columns = ("", *(f"share of tokens, {arm}" for arm in setups))
    return [Table(title="Models that answered", columns=columns, rows=tuple(rows))]


def _cell(use: ModelUse | None) -> str:
    if use is None:
        return "none"
    return f"{format_percent(use.share)} ({'1 run' if use.runs == 1 else f'{use.runs:,} runs'})"


MODEL_COLUMNS = ("", "input", "output", "read from the cache", "written to the cache", "share of tokens")


def run_model_rows(models: Mapping[str, Usage]) -> Iterator[tuple[str, ...]]:
    """The rows of one run's models, below `MODEL_COLUMNS`."""
    shares = token_shares({model: total_tokens(usage) for model, usage in models.items()})
    for model, usage in models.items():
        counts = (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens)
        yield model, *map(format_count, counts), format_percent(shares[model])
