"""Which field of a run the name of a column means, with the unit that the name states.

Only names that people and programs commonly use are known. A name in another unit than that of the field means nothing.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from outweigh.model.codec import CollectedRun


def name_words(column: str) -> tuple[str, ...]:
    """The words of a name in lower case: `durationMs` and `Duration (ms)` are both `duration`, `ms`."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", column)
    return tuple(re.findall(r"[^\W_]+", spaced.lower()))


NO_UNIT = "duration"
"""Stands for a duration whose column does not say its unit; it is no field."""

_FIRM: dict[str, str] = {
    "task_id": "task taskname instanceid instance problemid problem caseid case casename testid test testcase testname "
    "scenarioid scenario exampleid example questionid question itemid item exercise puzzle issue issueid ticket "
    "ticketid taskkey tasktitle tasknumber evalid eval challenge challengeid",
    "arm": "armname config configname configid configuration condition conditionid variant variantname treatment "
    "group system systemname setup setupname mode strategy approach method cohort bucket experimentgroup experimentarm "
    "configurationname armid submission submissionname",
    "repeat": "repeatid repeatnumber repeatindex repetition replicate rep run runnumber runindex runno trial "
    "trialindex trialnumber try iteration iter epoch round",
    "success": "succeeded passed pass ispassed ispass passfail resolved isresolved solved issolved correct iscorrect "
    "ok issuccess issuccessful successful successflag tasksuccess taskpassed taskresolved scorebinarized "
    "binarizedscore scorebinary binaryscore scorebin allpassed alltestspassed passedall",
    "started_at": "started starttime start startedat createdat timestamp tsstart startts starttimestamp begin "
    "begintime begunat trialstartedat runstartedat",
    "finished_at": "finished ended endtime endedat finishedat completedat end tsend endts endtimestamp stoptime "
    "stoppedat trialendedat runfinishedat",
    "cost_usd": "usd dollars totalusd spendusd usdcost dollarcost",
    "input_tokens_with_cache": "prompttokens tokensprompt totalinputtokens totalprompttokens nprompttokens "
    "numprompttokens ninputtokens",
    "input_tokens": "tokensin tokensinput intokens uncachedinputtokens uncachedinput inputtokencount numinputtokens "
    "freshinputtokens noncachedinputtokens newinputtokens",
    "output_tokens": "completiontokens tokenscompletion tokensout tokensoutput outtokens totaloutputtokens "
    "outputtokencount noutputtokens numoutputtokens generatedtokens totalcompletiontokens ncompletiontokens "
    "numcompletiontokens",
    "cache_read_tokens": "cachereads cachedtokens cachedinputtokens cachereadinputtokens tokenscached cachedreadtokens "
    "cachereadtoken readcachetokens cachedprompttokens promptcachedtokens cachehittokens inputtokenscacheread "
    "inputcachedtokens totalcachedtokens ncachetokens numcachedtokens tokenscacheread cachetokensread cacheread",
    "cache_write_tokens": "cachewrites cachecreationtokens cachecreationinputtokens cachedwritetokens writecachetokens "
    "cachewriteinputtokens inputtokenscachewrite tokenscachewrite cachetokenswritten cachewrite cachecreation",
    "step_count": "steps turns numsteps numturns nsteps nturns stepcount turncount totalsteps totalturns apicalls "
    "numapicalls llmcalls numllmcalls modelcalls",
    "tool_call_count": "toolcalls numtoolcalls ntoolcalls toolcallcount totaltoolcalls tooluses toolusecount",
    "run_id": "uuid trialid runname runuuid trialuuid attemptid",
    "model": "modelname modelid modelnameorpath",
    "agent": "agentname agentkind harness",
    "family": "category domain taskfamily taskcategory taskkind tasktype benchmark suite dataset",
    "status": "",
    "agent_version": "",
}
FIRM_NAMES = {name: field for field, names in _FIRM.items() for name in names.split()}
"""The field that a name firmly means, by its words in lower case without anything between them."""

_WEAK: dict[str, str] = {
    "task_id": "function functionname name title id key key2 key3",
    "success": "result outcome status score reward grade verdict value perfect isperfect",
    "arm": "alias model modelname modelid modelalias llm agent agentid agentname agentversion agentmodel agentkind "
    "harness scaffold decompiler solver provider prompt promptname promptversion scenario scenarioname effort "
    "reasoningeffort version branch skill tool toolset experiment candidate file key key2 key3",
    "repeat": "attempt attemptnumber sample sampleindex sampleid",
    "run_id": "id",
}
"""Names that mean the field only where no other column does, and its values fit."""

_CONTAINERS = frozenset(
    {
        "metrics",
        "metric",
        "usage",
        "result",
        "results",
        "stats",
        "metadata",
        "meta",
        "info",
        "timing",
        "timings",
        "execution",
        "token",
        "tokens",
        "run",
        "trial",
        "eval",
        "data",
        "output",
        "outcome",
        "evaluation",
        "grading",
        "summary",
    }
)
"""Objects around a value that say nothing about whose value it is, as in `metrics.cost_usd`."""

_SECONDS = frozenset({"s", "sec", "secs", "second", "seconds"})
_MILLISECONDS = frozenset({"ms", "msec", "msecs", "milli", "millis", "millisecond", "milliseconds"})
_OTHER_UNITS = frozenset(
    {
        "us",
        "ns",
        "usec",
        "microseconds",
        "nanoseconds",
        "m",
        "min",
        "mins",
        "minute",
        "minutes",
        "h",
        "hour",
        "hours",
    }
)
_DURATIONS = frozenset({"duration", "latency", "elapsed", "runtime", "walltime", "took", "time"})
_AROUND_DURATION = frozenset(
    {*name_words("wall_clock"), "total", "run", "agent", "task", "trial", "response", "execution", "exec", "processing"}
    | {"in", "taken", "active"}
)
_DOLLARS = frozenset({"usd", "dollar", "dollars", "us"})
_AROUND_COST = frozenset(
    {
        "total",
        "run",
        "agent",
        "api",
        "llm",
        "in",
        "per",
        "billed",
        "generation",
        "model",
        "reported",
        "inference",
        "trial",
    }
)
_FOREIGN_SIGNS = frozenset("%€£¥¢₹")


_WEAK_RANK = 2


class NameMatch(NamedTuple):
    """A field that a column may be, and how firmly its name says so: 0 is the field's own name, 2 the least."""

    field: str
    rank: int


def match_name(column: str) -> list[NameMatch]:
    """Every field that a column may be by its name."""
    if _FOREIGN_SIGNS & set(column):
        return []
    forms = _inner_names(column)
    keys = {"".join(words) for words in forms}
    found = [NameMatch(field, 0) for field in _FIRM if field.replace("_", "") in keys]
    for rank, names in enumerate((_FIRM, _WEAK), start=1):
        found += [NameMatch(field, rank) for field, known in names.items() if keys & set(known.split())]
    found += [match for match in (_match_duration(forms[-1]), _match_cost(forms[-1])) if match]
    best = {match.field: match for match in sorted(found, key=lambda match: -match.rank)}
    return list(best.values())


def _inner_names(column: str) -> list[tuple[str, ...]]:
    """The words of a dotted name, and of what is left without one outer object after the other that says nothing."""
    parts = column.split(".")
    names = [name_words(column)]
    while len(parts) > 1 and all(word in _CONTAINERS for word in name_words(parts[0])):
        parts.pop(0)
        names.append(name_words(".".join(parts)))
    return names


def _match_duration(words: Iterable[str]) -> NameMatch | None:
    rest = [word for word in words if word not in _AROUND_DURATION]
    units = [word for word in rest if word in _SECONDS | _MILLISECONDS | _OTHER_UNITS]
    cores = [word for word in rest if word not in units]
    if len(units) > 1 or not set(cores) <= _DURATIONS or not rest:
        return None
    if not units:
        return NameMatch(NO_UNIT, 1)
    if units[0] in _OTHER_UNITS or (not cores and len(units[0]) == 1):
        return None
    return NameMatch("duration_ms" if units[0] in _MILLISECONDS else "duration_seconds", 1)


def _match_cost(words: tuple[str, ...]) -> NameMatch | None:
    core = [word for word in words if word not in _DOLLARS | _AROUND_COST]
    return NameMatch("cost_usd", 1) if core in (["cost"], ["costs"], ["price"], ["spend"], ["spent"]) else None


_COLLECTED = frozenset(CollectedRun.__struct_fields__)
_OF_RECORDS = frozenset(
    {
        "schema",
        *("opencode_exit_code", "acceptance_exit_code", "setup_exit_code", "arm_setup_exit_code"),
        *("acceptance_cmd_count", "acceptance_command", "started_at_utc"),
    }
)
"""Keys of outweigh's own records, which may follow collected runs in a file, and what only the harness writes: a table
does not know what its exit codes say.
"""

_COLLECTED_NAMES = {
    "success": "success",
    "cost_usd": "total_cost_usd",
    **dict.fromkeys(("duration_seconds", "duration_ms", NO_UNIT, "finished_at"), "duration_seconds"),
    **dict.fromkeys(("input_tokens", "input_tokens_with_cache"), "input_tokens"),
    **{name: name for name in ("output_tokens", "cache_read_tokens", "cache_write_tokens")},
    **{name: name for name in ("step_count", "tool_call_count")},
}
"""The column of `collected.jsonl` for what a run came to, by the field that a column of a table may be."""


def says_more_than_collected(columns: Iterable[str]) -> bool:
    """Whether a table with these columns firmly names an outcome or a measure that the format `collected` would miss.

    Its columns have fixed names. A table with a cost, a time or a count under another name looks like it and is not.
    """
    names = set(columns)
    return not names & _OF_RECORDS and any(
        match.rank < _WEAK_RANK and _COLLECTED_NAMES[match.field] not in names
        for name in names - _COLLECTED
        for match in match_name(name)
        if match.field in _COLLECTED_NAMES
    )
