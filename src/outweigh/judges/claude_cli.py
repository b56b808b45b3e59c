"""Claude Code's command line as a judge, which works on a subscription too. No tools, no settings, no memory."""

import os
import re
import tempfile
from functools import cache
from pathlib import Path
from shutil import which
from subprocess import SubprocessError
from time import time
from typing import Any

import msgspec

from outweigh.agents.claude_code.result_event import ModelErrors, cost_usd, failure_from_result, only_model, read_totals
from outweigh.errors import UsageError
from outweigh.judges.backend import answered, failed_answer, judge_options
from outweigh.judges.judge_program import ProgramOutput, run_program
from outweigh.model.failure import FailureKind, make_failure
from outweigh.model.json_text import JsonObject, decode_json
from outweigh.model.suite import JudgeSpec
from outweigh.model.untrusted_json import str_at
from outweigh.model.usage import UNKNOWN_COST, Cost, reported_cost
from outweigh.ports.judges import JudgeAnswer, JudgeQuestion
from outweigh.process import run_process

_PASSED_ON = ("PATH", "LANG", "LC_ALL", "TMPDIR", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "NODE_EXTRA_CA_CERTS")
_KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN")
_OWN_VARIABLES = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_MAX_RETRIES": "0",  # the engine asks again by itself
    "DISABLE_AUTOUPDATER": "1",
}
_BASE_URL = "ANTHROPIC_BASE_URL"
_SYSTEM_FILE = "system.txt"
_VERSION_TIMEOUT_SECONDS = 60.0
_VERSION = re.compile(r"\d+\.\d+[\w.+-]*")


class _Options(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`program` where it is not `claude` on your PATH; `base_url` for another service than Anthropic's."""

    program: str = "claude"
    base_url: str | None = None


class ClaudeCliJudge:
    """Runs `claude -p` in an empty folder. With a key or a token in the environment it gets an empty home.

    Without one it needs your own home, where your sign-in is stored. Your settings, hooks, skills, servers and
    memories are left out in both cases.
    """

    name = "claude-cli"

    def missing(self, judge: JudgeSpec) -> str | None:
        """Why this judge cannot be asked: no program, or wrong options."""
        try:
            options = judge_options(judge, _Options)
        except UsageError as error:
            return str(error)
        if which(options.program) is None:
            return (
                f"judge {judge.name!r}: there is no program {options.program!r} on your PATH. Install Claude Code, or "
                "name the program with options.program."
            )
        return None

    def judge(self, question: JudgeQuestion) -> JudgeAnswer:
        """Run the program once."""
        options = judge_options(question.judge, _Options)
        with tempfile.TemporaryDirectory(prefix="outweigh-judge-", ignore_cleanup_errors=True) as scratch:
            folder, home = Path(scratch, "empty"), Path(scratch, "home")
            folder.mkdir()
            home.mkdir()
            (home / _SYSTEM_FILE).write_text(question.system, encoding="utf-8", errors="backslashreplace")
            output = run_program(
                _command(question.judge, options, home / _SYSTEM_FILE),
                stdin=question.prompt.encode(errors="backslashreplace"),
                environment=_environment(options, home),
                folder=folder,
                timeout_seconds=question.timeout_seconds,
                cancel=question.cancel,
            )
        return failed_answer(output.failure) if output.failure is not None else _answer(output, options)


def _command(judge: JudgeSpec, options: _Options, system: Path) -> list[str]:
    return [
        *(_program(options), "-p", "--output-format", "json"),
        *("--system-prompt-file", str(system), "--tools", ""),
        *("--safe-mode", "--setting-sources", "", "--strict-mcp-config", "--disable-slash-commands"),
        *("--no-session-persistence", "--permission-mode", "dontAsk"),
        *(() if judge.model is None else ("--model", judge.model)),
    ]


def _program(options: _Options) -> str:
    """The program's full path, because it is started in another folder."""
    return str(Path(which(options.program) or options.program).absolute())


@cache
def _version(program: str) -> str | None:
    """The version that the program reports; another version may judge differently."""
    try:
        done = run_process([program, "--version"], timeout_seconds=_VERSION_TIMEOUT_SECONDS)
    except (OSError, SubprocessError):
        return None
    found = _VERSION.search(done.stdout.decode(errors="replace"))
    return None if found is None else f"claude-cli {found.group()}"


def _environment(options: _Options, home: Path) -> dict[str, str]:
    keys = {name: os.environ[name] for name in _KEYS if os.environ.get(name)}
    passed_on = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    base_url = options.base_url or os.environ.get(_BASE_URL)
    places = {"HOME": str(home), "CLAUDE_CONFIG_DIR": str(home / ".claude")} if keys else _own_home()
    return {**_OWN_VARIABLES, **passed_on, **places, **keys, **({_BASE_URL: base_url} if base_url else {})}


def _own_home() -> dict[str, str]:
    """The user's own home, where the sign-in is stored."""
    return {name: os.environ[name] for name in ("HOME", "CLAUDE_CONFIG_DIR", "USER") if name in os.environ}


def _answer(output: ProgramOutput, options: _Options) -> JudgeAnswer:
    result = _result(output.stdout)
    if result is None:
        silent = make_failure(FailureKind.NO_RESULT, "claude ended without a result")
        return failed_answer(output.crash() if output.exit_code else silent)
    totals = read_totals(result)
    about: dict[str, Any] = {
        "usage": totals.usage,
        "model": only_model(totals),
        "version": _version(_program(options)),
        "cost": _cost(result, options),
    }
    failure = failure_from_result(result, ModelErrors(), time())
    if result.get("stop_reason") == "refusal":
        failure = make_failure(FailureKind.REFUSAL, "the judge declined to answer")
    if failure is not None:
        return failed_answer(failure, **about)
    return answered(str_at(result, "result") or "", **about)


def _result(output: bytes) -> JsonObject | None:
    try:
        value = decode_json(output)
    except ValueError:
        return None
    return value if isinstance(value, dict) and value.get("type") == "result" else None


def _cost(result: JsonObject, options: _Options) -> Cost:
    """The cost that the program reports. It is right for Anthropic's service only, and unknown elsewhere."""
    elsewhere = options.base_url or os.environ.get(_BASE_URL)
    return UNKNOWN_COST if elsewhere else reported_cost(cost_usd(result))
