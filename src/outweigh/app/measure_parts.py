"""Measures what each part of a set-up adds to the prompt of every turn.

The installed agent is started in a sandbox against a scripted model: with the whole set-up, and once without each part.
The tokens of a part are the difference between the two first requests, as the gateway received them. A request has all
that came before it in it, so what is in the first one is sent on every turn.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from outweigh.app.new_files import write_files
from outweigh.app.observer import Notify
from outweigh.app.one_attempt import AttemptSetting, OneAttempt, attempt_once
from outweigh.app.sandbox_limits import with_default_limits
from outweigh.app.setup_parts import SetupPart, SetupParts
from outweigh.app.smoke_test import PLACEHOLDER_SECRET, SMOKE_INSTRUCTION, open_scripted_model
from outweigh.app.suite_sandbox import choose_sandbox
from outweigh.compare.server_tools import KNOWN_FORMS, tools_by_server
from outweigh.engine.compose_parts import SuiteParts
from outweigh.engine.load_arms import ArmFiles, load_arm
from outweigh.engine.server_check import check_servers
from outweigh.engine.setup_check import ExpectedSetup
from outweigh.errors import UsageError
from outweigh.gateway.prompt_tokens import TOKENIZER_NAME, LoggedPrompt, PromptTokenizer, read_logged_prompts
from outweigh.gateway.upstream import ModelUpstream
from outweigh.model.arm import Arm, ArmSpec
from outweigh.model.failure import detail_line
from outweigh.model.provider import ApiFamily
from outweigh.model.redact import storable_text
from outweigh.model.suite import SandboxSpec
from outweigh.ports.sandboxes import SandboxError
from outweigh.ports.suites import DraftFile
from outweigh.report.part_list_page import ListedTools, MeasuredSetup, PartTokens

ATTEMPT_TIMEOUT_SECONDS = 180.0
INCLUDED_FOLDER = "included"
_WHOLE, _AGAIN, _NOTHING = "all-parts", "all-parts again", "no part"
_START_WORDS = {_WHOLE: "with all parts", _AGAIN: "with all parts again", _NOTHING: "without any part"}


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureRequest:
    """Which parts to measure with which agent. `counters` are providers that count the tokens of a request.

    `obstacle` says why the agent is not started; None where it is to be.
    """

    setup: SetupParts
    parts: Sequence[SetupPart]
    arm: ArmSpec
    sandbox: SandboxSpec
    counters: Mapping[ApiFamily, ModelUpstream]
    jobs: int
    notify: Notify
    obstacle: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sent:
    """The first request of an attempt and its tokens; `fault` says why there is none."""

    tokens: int | None = None
    prompt: LoggedPrompt | None = None
    attempt: OneAttempt | None = None
    fault: str | None = None
    is_uncounted: bool = False


def measure_parts(request: MeasureRequest) -> MeasuredSetup:
    """Start the agent with the whole set-up and without each part of it, and compare what it sends."""
    if request.obstacle is not None:
        return _not_measured(request, request.obstacle)
    if not request.parts:
        return _not_measured(request, f"{request.arm.agent} reads nothing of this set-up")
    try:
        with _composed_arms(request) as (arms, overlays):
            counter = _open_counter(request.counters)
            sent = _send_all(request, arms, overlays, counter)
            if counter.by_provider and sent[_WHOLE].is_uncounted:
                request.notify(f"{counter.name} did not count the tokens, so a tokenizer does")
                request = replace(request, counters={})
                counter = _open_counter({})
                sent = _send_all(request, arms, overlays, counter)
    except UsageError as fault:
        return _not_measured(request, str(fault))
    return _compare(request, arms[_WHOLE], sent, counter)


@dataclass(frozen=True, slots=True)
class _Counter:
    """Counts a request: as the provider said, or with the tokenizer. `name` is who counted."""

    name: str
    tokenizer: PromptTokenizer | None
    by_provider: bool

    def count(self, prompt: LoggedPrompt) -> int | None:
        """The tokens that a request sent; None where no one counted them."""
        if self.by_provider:
            return prompt.counted_tokens
        return None if self.tokenizer is None else self.tokenizer.count_all(prompt.texts)

    def count_text(self, text: str | None) -> int | None:
        """The tokens of a text that is in no request; a provider is not asked for that."""
        return None if text is None or self.tokenizer is None else self.tokenizer.count(text)


def _open_counter(counters: Mapping[ApiFamily, ModelUpstream]) -> _Counter:
    """What counts tokens here; UsageError where nothing does."""
    tokenizer = None
    try:
        tokenizer = PromptTokenizer()
    except UsageError as fault:
        if not counters:
            hint = "Or export the key of the agent's provider, which counts them free of charge."
            raise UsageError(f"{fault} {hint}") from None
    if counters:
        hosts = ", ".join(sorted({upstream.host for upstream in counters.values()}))
        return _Counter(f"the provider ({hosts})", tokenizer, by_provider=True)
    return _Counter(TOKENIZER_NAME, tokenizer, by_provider=False)


@contextmanager
def _composed_arms(request: MeasureRequest) -> Iterator[tuple[dict[str, Arm], dict[str, bytes]]]:
    """An arm with all parts, one without each of them and one without any, composed as a suite's arms are."""
    with TemporaryDirectory(prefix="outweigh-parts-", ignore_cleanup_errors=True) as place:
        folder, parts = Path(place), request.parts
        included = {f"{INCLUDED_FOLDER}/{path}": file for path, file in request.setup.included.items()}
        write_files(folder, {**included, **_files_of(parts)})
        base = msgspec.structs.replace(
            request.arm,
            instructions=request.setup.fixed or None,
            files=INCLUDED_FOLDER if included else None,
            secrets=sorted({*request.arm.secrets, *(name for part in parts for name in part.secrets)}),
        )
        names = [part.name for part in parts]
        sets = {_WHOLE: names, _AGAIN: names, _NOTHING: list[str]()}
        sets |= {f"without-{name}": [other for other in names if other != name] for name in names}
        specs = {name: msgspec.structs.replace(base, parts=chosen) for name, chosen in sets.items()}
        files = ArmFiles(folder)
        composer = SuiteParts({part.name: part.spec for part in parts}, files, "the set-up")
        arms = {name: load_arm(name, specs, files, "the set-up", parts=composer) for name in specs}
        yield arms, files.contents


def _files_of(parts: Iterable[SetupPart]) -> dict[str, DraftFile]:
    return {path: file for part in parts for path, file in part.files.items()}


def _send_all(
    request: MeasureRequest, arms: Mapping[str, Arm], overlays: Mapping[str, bytes], counter: _Counter
) -> dict[str, _Sent]:
    """The first request of every arm, several at a time. Where the whole set-up sends none, no other is tried."""
    secrets = {name: PLACEHOLDER_SECRET for arm in arms.values() for name in arm.secrets}
    with open_scripted_model(list(arms.values()), request.counters) as gateway:
        setting = AttemptSetting(
            overlays=overlays,
            sandbox=with_default_limits(request.sandbox, request.jobs),
            sandboxes=choose_sandbox(request.sandbox),
            gateway=gateway,
            expected=ExpectedSetup(skills={}, instructions={}, markers={}),
            timeout_seconds=ATTEMPT_TIMEOUT_SECONDS,
            secrets=secrets,
            keep_bodies=True,
        )

        def send(name: str) -> _Sent:
            request.notify(f"starting {request.arm.agent} {_START_WORDS.get(name) or name.replace('-', ' ', 1)}")
            return _send(setting, arms[name], counter)

        sent = {_WHOLE: send(_WHOLE)}
        if sent[_WHOLE].fault is None:
            others = [name for name in arms if name != _WHOLE]
            with ThreadPoolExecutor(request.jobs) as pool:
                try:
                    sent |= dict(zip(others, pool.map(send, others), strict=True))
                except BaseException:
                    setting.cancel.set()  # the pool waits for agents that are running
                    raise
    return sent


def _send(setting: AttemptSetting, arm: Arm, counter: _Counter) -> _Sent:
    try:
        tried = attempt_once(setting, arm, SMOKE_INSTRUCTION)
    except (SandboxError, OSError) as fault:
        return _Sent(fault=f"{arm.agent} could not be started: {fault}")
    found = _first_request(tried)
    if found is None:
        said = storable_text(tried.outcome.status_detail, setting.secrets.values())
        return _Sent(fault=f"{arm.agent} sent no request: {detail_line(said or tried.outcome.status.value)}")
    tokens = counter.count(found)
    if tokens is None:
        return _Sent(fault=f"{counter.name} did not count the request of {arm.agent}", is_uncounted=True)
    return _Sent(tokens=tokens, prompt=found, attempt=tried)


def _first_request(tried: OneAttempt) -> LoggedPrompt | None:
    """The first request of the conversation itself: agents also send small ones, for titles and summaries."""
    bodies = b"" if tried.account is None else tried.account.bodies
    asked = SMOKE_INSTRUCTION.strip()
    found = [prompt for prompt in read_logged_prompts(bodies) if any(asked in text for text in prompt.texts)]
    return next((prompt for prompt in found if prompt.tools), found[0] if found else None)


def _compare(request: MeasureRequest, whole_arm: Arm, sent: Mapping[str, _Sent], counter: _Counter) -> MeasuredSetup:
    whole = sent[_WHOLE]
    if whole.tokens is None or whole.prompt is None or whole.attempt is None:
        return _not_measured(request, whole.fault or "nothing was sent")
    broken = _broken_servers(whole_arm, whole.attempt)
    again, nothing = sent[_AGAIN].tokens, sent[_NOTHING]
    return MeasuredSetup(
        agent=request.arm.agent or "",
        agent_version=whole.attempt.outcome.agent.version,
        model=whole.prompt.model,
        counted_by=counter.name,
        is_provider_count=counter.by_provider,
        whole_tokens=whole.tokens,
        nothing_tokens=nothing.tokens,
        nothing_fault=nothing.fault,
        variation_tokens=None if again is None else abs(whole.tokens - again),
        parts={
            part.name: PartTokens(
                every_turn=None if why else _difference(whole, without),
                why=why,
                when_read=counter.count_text(part.read_later),
                tools=_listed_tools(part, whole),
            )
            for part in request.parts
            for without in [sent[f"without-{part.name}"]]
            for why in [without.fault or _server_fault(part, broken)]
        },
    )


def _difference(whole: _Sent, without: _Sent) -> int | None:
    return None if whole.tokens is None or without.tokens is None else whole.tokens - without.tokens


def _broken_servers(arm: Arm, tried: OneAttempt) -> tuple[str, ...]:
    """What is wrong with the tool servers of the whole set-up, a sentence each."""
    seen = check_servers(arm, tried.outcome.loaded, tried.account, tried.outcome.servers)
    return (*seen.faults, *seen.unproven)


def _server_fault(part: SetupPart, broken: Sequence[str]) -> str | None:
    for name, server in part.spec.mcp_servers.items():
        if fault := next((each for each in broken if repr(name) in each), None):
            if server.url is not None:
                return f"{fault}; a sandbox reaches no address, so a remote server cannot be measured"
            hint = f" (its secrets are the placeholder {PLACEHOLDER_SECRET!r} here)" if part.secrets else ""
            return f"{fault}{hint}"
    return None


def _listed_tools(part: SetupPart, whole: _Sent) -> ListedTools | None:
    """The tools of a server that the request offers with their schemas, and those that it only names."""
    prompt, attempt = whole.prompt, whole.attempt
    servers = tuple(part.spec.mcp_servers)
    if prompt is None or attempt is None or not servers:
        return None
    evidence = attempt.outcome.servers
    forms = (evidence.tool_forms if evidence is not None else None) or KNOWN_FORMS
    offered, deferred = (tools_by_server(names, servers, forms) for names in (prompt.tools, prompt.deferred_tools))
    later = tuple(tool for names in deferred.values() for tool in names)
    return ListedTools(
        in_prompt=tuple(tool for names in offered.values() for tool in names if tool not in later), deferred=later
    )


def _not_measured(request: MeasureRequest, why: str) -> MeasuredSetup:
    return MeasuredSetup(
        agent=request.arm.agent or "",
        agent_version=None,
        model=request.arm.model,
        counted_by=None,
        is_provider_count=False,
        whole_tokens=None,
        nothing_tokens=None,
        nothing_fault=why,
        variation_tokens=None,
        parts={part.name: PartTokens(every_turn=None, why=why, when_read=None, tools=None) for part in request.parts},
    )
