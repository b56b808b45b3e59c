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

from outweigh.agents.claude_code.result_event import ModelErrors, cost_usd, failure_from_result, only_model, read_totals
from outweigh.errors import UsageError
from outweigh.judges.backend import JudgeOptions, answered, failed_answer, judge_options
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


class ClaudeCliJudgeOptions(JudgeOptions, frozen=True, kw_only=True):
    """`program` where it is not `claude` on your PATH; `base_url` for another service than Anthropic's."""

    program: str = "claude"
    base_url: str | None = None


class ClaudeCliJudge:
    """`claude -p` in an empty folder. With a key or a token in the environment it gets a home of its own.

    Without one it must be signed in, and that is known only in your own home; your settings, hooks, skills, servers and
    memories stay out all the same.
    """

    name = "claude-cli"

    def missing(self, judge: JudgeSpec) -> str | None:
        """The program."""
        try:
            options = judge_options(judge, ClaudeCliJudgeOptions)
        except UsageError as error:
            return str(error)
        if which(options.program) is None:
            return (
                f"judge {judge.name!r}: there is no program {options.program!r} on your PATH. Install Claude Code, or "
                "name the program by options.program."
            )
        return None

    def judge(self, question: JudgeQuestion) -> JudgeAnswer:
        """One start of the program."""
        options = judge_options(question.judge, ClaudeCliJudgeOptions)
        with tempfile.TemporaryDirectory(prefix="outweigh-judge-", ignore_cleanup_errors=True) as scratch:
            folder, home = Path(scratch, "empty"), Path(scratch, "home")
            folder.mkdir()
            home.mkdir()
            (home / _SYSTEM_FILE).write_text(question.system, encoding="utf-8", errors="backslashreplace")
            spoken = run_program(
                _command(question.judge, options, home / _SYSTEM_FILE),
                stdin=question.prompt.encode(errors="backslashreplace"),
                environment=_environment(options, home),
                folder=folder,
                timeout_seconds=question.timeout_seconds,
                cancel=question.cancel,
            )
        return failed_answer(spoken.failure) if spoken.failure is not None else _answer(spoken, options)


def _command(judge: JudgeSpec, options: ClaudeCliJudgeOptions, system: Path) -> list[str]:
    return [
        *(_program(options), "-p", "--output-format", "json"),
        *("--system-prompt-file", str(system), "--tools", ""),
        *("--safe-mode", "--setting-sources", "", "--strict-mcp-config", "--disable-slash-commands"),
        *("--no-session-persistence", "--permission-mode", "dontAsk"),
        *(() if judge.model is None else ("--model", judge.model)),
    ]


def _program(options: ClaudeCliJudgeOptions) -> str:
    """Its full path, because it is started in another folder."""
    return str(Path(which(options.program) or options.program).absolute())


@cache
def _version(program: str) -> str | None:
    """What it says when asked; another version may judge otherwise."""
    try:
        done = run_process([program, "--version"], timeout_seconds=_VERSION_TIMEOUT_SECONDS)
    except (OSError, SubprocessError):
        return None
    found = _VERSION.search(done.stdout.decode(errors="replace"))
    return None if found is None else f"claude-cli {found.group()}"


def _environment(options: ClaudeCliJudgeOptions, home: Path) -> dict[str, str]:
    keys = {name: os.environ[name] for name in _KEYS if os.environ.get(name)}
    passed_on = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    base_url = options.base_url or os.environ.get(_BASE_URL)
    places = {"HOME": str(home), "CLAUDE_CONFIG_DIR": str(home / ".claude")} if keys else _own_home()
    return {**_OWN_VARIABLES, **passed_on, **places, **keys, **({_BASE_URL: base_url} if base_url else {})}


def _own_home() -> dict[str, str]:
    """Where the user is signed in."""
    return {name: os.environ[name] for name in ("HOME", "CLAUDE_CONFIG_DIR", "USER") if name in os.environ}


def _answer(spoken: ProgramOutput, options: ClaudeCliJudgeOptions) -> JudgeAnswer:
    result = _result(spoken.stdout)
    if result is None:
        silent = make_failure(FailureKind.NO_RESULT, "claude ended without a result")
        return failed_answer(spoken.crash() if spoken.exit_code else silent)
    told = read_totals(result)
    about: dict[str, Any] = {
        "usage": told.usage,
        "model": only_model(told),
        "version": _version(_program(options)),
        "cost": _cost(result, options),
    }
    trouble = failure_from_result(result, ModelErrors(), time())
    if result.get("stop_reason") == "refusal":
        trouble = make_failure(FailureKind.REFUSAL, "the judge declined to answer")
    if trouble is not None:
        return failed_answer(trouble, **about)
    return answered(str_at(result, "result") or "", **about)


def _result(output: bytes) -> JsonObject | None:
    try:
        value = decode_json(output)
    except ValueError:
        return None
    return value if isinstance(value, dict) and value.get("type") == "result" else None


def _cost(result: JsonObject, options: ClaudeCliJudgeOptions) -> Cost:
    """Its own dollars hold for Anthropic's service only; anywhere else it guesses."""
    elsewhere = options.base_url or os.environ.get(_BASE_URL)
    return UNKNOWN_COST if elsewhere else reported_cost(cost_usd(result))
