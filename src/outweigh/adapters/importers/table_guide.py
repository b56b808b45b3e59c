"""What a table is answered by that nobody has mapped: its columns, and what their names suggest."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import islice
from shlex import quote
from typing import Any

from outweigh.adapters.importers.table_map import READINGS, in_milliseconds

MOST_EXAMPLES = 60
"""Columns that are shown with a value; a table that was flattened can have hundreds."""

_LIKELY = {
    "task_id": "task taskname tasknumber instanceid problemid problem caseid case testid test testcase "
    "scenarioid scenario exampleid questionid itemid item",
    "arm": "configname config condition conditionid variant mode configuration system setup treatment group agentname",
    "repeat": "replicate runnumber trial trialindex epoch iteration repetition rep",
    "run_id": "id uuid trialid runname",
    "success": "passed pass resolved isresolved succeeded solved correct iscorrect reward",
    "started_at": "started starttime startedat start createdat timestamp trialstartedat",
    "finished_at": "finished ended endtime endedat finishedat completedat end trialendedat",
    "duration_ms": "durationms latencyms elapsedms tookms timems milliseconds",
    "duration_seconds": "duration durations seconds elapsed elapsedseconds walltime timeseconds latency took",
    "cost_usd": "totalcostusd cost totalcost costusd usd agentcost",
    "input_tokens_with_cache": "prompttokens totalinputtokens",
    "input_tokens": "tokensin uncachedinputtokens",
    "output_tokens": "completiontokens tokensout totaloutputtokens",
    "cache_read_tokens": "cachereads cachedtokens cachedinputtokens cachereadinputtokens",
    "cache_write_tokens": "cachewrites cachecreationtokens cachecreationinputtokens",
    "step_count": "steps turns numturns apicalls",
    "tool_call_count": "toolcalls",
    "model": "modelname modelnameorpath",
    "agent": "agentkind harness",
    "family": "category domain suite",
}

_ANYTHING = "id"
"""As the last name of a field it says nothing about whose id it is."""


def guide(path: str, sample: Mapping[str, Any], arm: str | None, asked: Mapping[str, str]) -> str:
    """The columns with an example each, and the command that would read them as it seems they are meant.

    What the user said already, `arm` and what was `asked` for, is part of it.
    """
    likely = {field: column for field, column in proposal(sample).items() if column not in asked.values()} | dict(asked)
    if arm is not None and "arm" not in asked:
        likely.pop("arm", None)
    open_ = [field for field in ("task_id", "success") if field not in likely]
    one_arm = "NAME" if "arm" not in likely and arm is None else arm
    options = [f"--map {quote(f'{field}={column}')}" for field, column in likely.items() if field != column]
    options += [f"--map {field}=COLUMN" for field in open_] + ([f"--arm {quote(one_arm)}"] if one_arm else [])
    lines = [f"{path}: which columns are the task and the arm? It has", *_examples(sample)]
    lines += [
        "Going by their names, this might be meant; check it, units too, and run it:" if likely else "Say it by:",
        f"  outweigh import table {quote(path)} -o RUNS {' '.join(options)}",
    ]
    if open_:
        lines.append("COLUMN: yours to choose from these; leave success out where nothing says it.")
    if one_arm == "NAME":
        column = likely.get("model", "COLUMN")
        lines.append(
            f"NAME: what to call the one arm of all these rows; where a column tells arms apart, --map arm={column}."
        )
    return "\n".join(lines)


def proposal(sample: Mapping[str, Any]) -> dict[str, str]:
    """The likely column of each field, by its name alone; nothing that is proposed is used before a user says so."""
    columns = _last_names(sample) | {_plain(name): name for name in reversed(list(sample))}
    found: dict[str, str] = {}
    for field in READINGS:
        for likely in (field.replace("_", ""), *_LIKELY.get(field, "").split()):
            column = columns.get(likely)
            if column is not None and column not in found.values():
                found[field] = column
                break
    if "input_tokens_with_cache" in found and "cache_read_tokens" not in found:
        found.setdefault("input_tokens", found.pop("input_tokens_with_cache"))
    if "duration_ms" in found:
        found.pop("duration_seconds", None)
    elif in_milliseconds(found, sample):
        found["duration_ms"] = found.pop("duration_seconds")
    return found


def _examples(sample: Mapping[str, Any]) -> Iterator[str]:
    width = max(map(len, islice(sample, MOST_EXAMPLES)), default=0)
    for name, value in islice(sample.items(), MOST_EXAMPLES):
        shown = str(value).replace("\n", " ")
        yield f"  {name:<{width}}  {shown[:50]}{'…' if len(shown) > 50 else ''}".rstrip()
    if len(sample) > MOST_EXAMPLES:
        yield f"  and {len(sample) - MOST_EXAMPLES} more"


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _last_names(sample: Mapping[str, Any]) -> dict[str, str]:
    """Fields of objects by what they are called there, where only one is."""
    names = [(_plain(name.rpartition(".")[2]), name) for name in sample if "." in name]
    times = Counter(last for last, _ in names)
    return {last: name for last, name in names if times[last] == 1 and last != _ANYTHING}
