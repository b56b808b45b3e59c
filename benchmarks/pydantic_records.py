"""`RunRecord` once more as pydantic models, as strict as ours, for the ingest benchmark to compare with.

`strict=False` stands only where JSON has no such type, so that enums, tuples and moments can be read from what
`json.loads` returns.
"""

from typing import Annotated, Any, Literal, Self

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, model_validator

from outweigh.model.failure import Status
from outweigh.model.run_record import AgentKind, StepSource
from outweigh.model.usage import Component, CostProvenance

Name = Annotated[str, Field(min_length=1, max_length=500)]
RunId = Annotated[str, Field(min_length=1, max_length=1100)]
Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Count = Annotated[int, Field(ge=0, le=10**15)]
Ordinal = Annotated[int, Field(ge=1, le=10**15)]
Amount = Annotated[float, Field(ge=0, le=1e12)]
Fraction = Annotated[float, Field(ge=0, le=1)]
FromJson = Field(strict=False)


class Stored(BaseModel):
    """As strict as the project's own base."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)


class Trial(Stored):
    task_id: Name
    arm: Name
    repeat: Count
    seed: int | None


class AgentIdentity(Stored):
    kind: Annotated[AgentKind, FromJson]
    name: str | None
    version: str | None
    model: str | None


class Usage(Stored):
    input_tokens: Count | None
    output_tokens: Count | None
    cache_read_tokens: Count | None
    cache_write_tokens: Count | None


class Cost(Stored):
    usd: Amount | None
    provenance: Annotated[CostProvenance, FromJson]
    price_table: str | None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if (self.usd is None) != (self.provenance is CostProvenance.UNKNOWN):
            raise ValueError("usd is null exactly when provenance is 'unknown'")
        if (self.price_table is None) == (self.provenance is CostProvenance.PRICED):
            raise ValueError("price_table is given exactly when provenance is 'priced'")
        return self


class CheckResult(Stored):
    name: Name
    required: bool
    passed: bool | None
    cases_passed: Count | None
    cases_total: Count | None
    exit_code: int | None
    detail: str | None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if (self.cases_passed is None) != (self.cases_total is None):
            raise ValueError("a check states both counts, or neither")
        if self.cases_passed is not None and self.cases_total is not None and self.cases_passed > self.cases_total:
            raise ValueError("more cases passed than there are")
        return self


class ToolCall(Stored):
    name: Name
    succeeded: bool | None


class Step(Stored):
    index: Count
    source: Annotated[StepSource, FromJson]
    message: str | None
    tool_calls: Annotated[tuple[ToolCall, ...], FromJson]
    usage: Usage | None
    cost_usd: Amount | None
    duration_seconds: Amount | None


class ComponentTokens(Stored):
    component: Annotated[Component, FromJson]
    input_tokens: Count
    output_tokens: Count


class Milestone(Stored):
    name: Name
    weight: Amount
    achieved: bool


class AlignedAction(Stored):
    name: Name
    alignment: Fraction
    weight: Amount


class Metering(Stored):
    requests: Count
    failed_requests: Count
    models: dict[Name, Usage]
    time_to_first_token_seconds: Amount | None
    model_seconds: Amount


class Reported(Stored):
    usage: Usage
    cost_usd: Amount | None
    requests: Count | None


class LoadedServer(Stored):
    name: Name
    state: str


class Loaded(Stored):
    skills: Annotated[tuple[Name, ...], FromJson] | None
    skills_used: Annotated[tuple[Name, ...], FromJson] | None
    mcp_servers: Annotated[tuple[LoadedServer, ...], FromJson] | None
    tools: Annotated[tuple[Name, ...], FromJson] | None
    memory_files: Annotated[tuple[str, ...], FromJson] | None
    seen_by: Annotated[tuple[Name, ...], FromJson]


class PydanticRun(Stored):
    """Field for field the project's `RunRecord`."""

    schema_: Annotated[Literal["outweigh.run/1"], Field(alias="schema")]
    run_id: RunId
    trial: Trial
    attempt: Ordinal
    status: Annotated[Status, FromJson]
    status_detail: str | None
    agent: AgentIdentity
    arm_fingerprint: str | None
    task_checksum: str | None
    family: str | None
    position: Count | None
    started_at: Annotated[AwareDatetime, FromJson] | None
    duration_seconds: Amount | None
    setup_seconds: Amount | None
    checks_seconds: Amount | None
    usage: Usage
    cost: Cost
    step_count: Count | None
    tool_call_count: Count | None
    check_command_count: Count | None
    checks: Annotated[tuple[CheckResult, ...], FromJson] | None
    steps: Annotated[tuple[Step, ...], FromJson] | None
    components: Annotated[tuple[ComponentTokens, ...], FromJson] | None
    milestones: Annotated[tuple[Milestone, ...], FromJson] | None
    actions: Annotated[tuple[AlignedAction, ...], FromJson] | None
    metering: Metering | None
    reported: Reported | None
    loaded: Loaded | None
    warnings: Annotated[tuple[str, ...], FromJson]
    artifacts: dict[Name, Sha256]
    extra: dict[str, Any]
