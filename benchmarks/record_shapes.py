"""Files of records of several shapes: what differs between experiments, and what a record costs because of it."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from random import Random

from msgspec.structs import replace

from benchmarks.synthetic import ARMS, Arm, records
from outweigh.model.codec import Record, encode
from outweigh.model.failure import Status
from outweigh.model.judgment import CriterionScore, Grading
from outweigh.model.line_seal import seal
from outweigh.model.run_record import (
    POLICY_VERSION_LABEL,
    RULES_LABEL,
    AgentIdentity,
    AgentKind,
    ObservedServer,
    ObservedSetup,
    RunRecord,
)
from outweigh.model.usage import Component, ComponentTokens, Cost, CostProvenance, Metering, ReportedUsage, Usage
from outweigh.testing.builders import a_judgment

_SEED = 21
_MODEL = "claude-sonnet-4-5"
_JUDGES = ("strict", "lenient")
_LOST_SHARE = 0.02
_MORE_ARMS = (*ARMS, Arm("terse", 0.6, 0.5), Arm("verbose", 0.7, 1.4))


def write_shape(folder: Path, name: str, number: int) -> Path:
    """So many records of this shape; the same number gives the same file."""
    path = folder / f"{name.replace(' ', '-')}-{number}.jsonl"
    with path.open("wb") as file:
        file.writelines(islice(SHAPES[name](), number))
    return path


def _lines(found: Iterator[Record]) -> Iterator[bytes]:
    return (encode(record) + b"\n" for record in found)


def _two_arms(arms: Sequence[Arm] = ARMS) -> Iterator[RunRecord]:
    return records(1_000_000_000, arms=arms)


def _with_lost_runs() -> Iterator[RunRecord]:
    """Some runs were never recorded, and of those that failed for infrastructure's sake some were tried again."""
    random = Random(_SEED)
    for run in _two_arms():
        if random.random() < _LOST_SHARE:
            continue
        yield run
        if run.status is Status.INFRA_ERROR and random.random() < 0.5:
            yield replace(run, run_id=f"{run.run_id}/again", attempt=2, status=Status.COMPLETED, checks=())


def _judged() -> Iterator[Record]:
    random = Random(_SEED)
    grading = Grading(pass_threshold=0.6, grade_scale="seed")
    for run in _two_arms():
        yield run
        digest = hashlib.sha256(encode(run)).hexdigest()
        for judge in _JUDGES:
            criteria = tuple(
                CriterionScore(criterion=name, weight=weight, score=round(random.uniform(0.3, 1), 2), evidence="seen")
                for name, weight in (("correct", 2.0), ("readable", 1.0), ("tested", 1.0))
            )
            yield a_judgment(run, judge=judge, run_sha256=digest, criteria=criteria, grading=grading, confidence=0.8)


def _wide() -> Iterator[RunRecord]:
    """Runs as the engine writes those of real agents: metered, with the set-up that was observed and artifacts."""
    random = Random(_SEED)
    return (_widened(run, random) for run in _two_arms())


def _widened(run: RunRecord, random: Random) -> RunRecord:
    skilled = run.trial.arm != ARMS[0].name
    usage = run.usage
    reported = Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cache_read_tokens,
        cache_write_tokens=usage.cache_write_tokens,
    )
    return replace(
        run,
        agent=AgentIdentity(kind=AgentKind.REAL, name="claude-code", version="2.1.0", model=_MODEL),
        cost=Cost(usd=run.cost.usd, provenance=CostProvenance.METERED, price_table="genai-prices 0.2.1"),
        components=(
            ComponentTokens(component=Component.TOOL_SCHEMA, input_tokens=1800 + random.randrange(9), output_tokens=0),
            ComponentTokens(component=Component.TOOL_CALL, input_tokens=0, output_tokens=random.randrange(999)),
        ),
        metering=Metering(
            requests=run.step_count or 1,
            failed_requests=0,
            models={_MODEL: usage},
            time_to_first_token_seconds=round(random.uniform(0.5, 2.0), 3),
            model_seconds=round(0.7 * (run.duration_seconds or 0.0), 3),
            providers={"anthropic": "api.anthropic.com"},
        ),
        reported=ReportedUsage(usage=reported, cost_usd=run.cost.usd, requests=None),
        loaded=ObservedSetup(
            skills=("review",) if skilled else (),
            skills_used=("review",) if skilled and random.random() < 0.8 else (),
            mcp_servers=(ObservedServer(name="files", state="connected"),),
            tools=("Bash", "Edit", "Read"),
            memory_files=None,
            seen_by=("init event",),
        ),
        artifacts={name: f"{random.getrandbits(256):064x}" for name in ("diff.patch", "transcript.txt")},
        extra={RULES_LABEL: "5" * 64, POLICY_VERSION_LABEL: 1},
    )


def _rewritten(found: Iterator[Record]) -> Iterator[bytes]:
    """Lines as another program writes them: the same keys and values, with spaces between them."""
    return (json.dumps(json.loads(encode(record))).encode() + b"\n" for record in found)


SHAPES: Mapping[str, Callable[[], Iterator[bytes]]] = {
    "two arms": lambda: _lines(_two_arms()),
    "four arms": lambda: _lines(_two_arms(_MORE_ARMS)),
    "missing runs": lambda: _lines(_with_lost_runs()),
    "two judges": lambda: _lines(_judged()),
    "wide and sealed": lambda: (seal(encode(run)) for run in _wide()),
    "rewritten": lambda: _rewritten(_two_arms()),
}
"""By name, an endless file of each shape. All have runs that were lost to infrastructure."""
