"""Any program as a judge: the question is JSON on its standard input, the answer JSON on its standard output.

For models that no other backend reaches, and for people: a program can show the question and wait for an answer.
"""

import os
from shutil import which
from typing import Any

import msgspec

from outweigh.errors import UsageError
from outweigh.judges.backend import answered, failed_answer, judge_options
from outweigh.judges.judge_program import run_program
from outweigh.model.failure import FailureKind, make_failure
from outweigh.model.json_text import decode_json
from outweigh.model.suite import JudgeSpec
from outweigh.model.untrusted_json import amount_at, count_at, name_at, str_at
from outweigh.model.usage import Usage, reported_cost
from outweigh.ports.judges import JudgeAnswer, JudgeQuestion

QUESTION_SCHEMA = "outweigh.question/1"


class _Options(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`command` is a list of words, or one line for `sh -c`."""

    command: str | list[str]


class CommandJudge:
    """Runs the program once per question, with your environment, in the folder that outweigh was started in."""

    name = "command"

    def missing(self, judge: JudgeSpec) -> str | None:
        """Why this judge cannot be asked: no program, or wrong options."""
        try:
            words = _words(judge)
        except UsageError as error:
            return str(error)
        if not words or which(words[0]) is None:
            program = words[0] if words else ""
            return f"judge {judge.name!r}: there is no program {program!r}; name one with options.command."
        return None

    def judge(self, question: JudgeQuestion) -> JudgeAnswer:
        """Run the program once."""
        output = run_program(
            _words(question.judge),
            stdin=msgspec.json.encode(_question(question)),
            environment=os.environ,
            folder=None,
            timeout_seconds=question.timeout_seconds,
            cancel=question.cancel,
        )
        if output.failure is not None:
            return failed_answer(output.failure)
        if output.exit_code != 0:
            return failed_answer(output.crash())
        return _answer(output.stdout)


def _words(judge: JudgeSpec) -> list[str]:
    command = judge_options(judge, _Options).command
    return ["sh", "-c", command] if isinstance(command, str) else command


def _question(question: JudgeQuestion) -> dict[str, Any]:
    return {
        "schema": QUESTION_SCHEMA,
        "judge": question.judge.name,
        "model": question.judge.model,
        "system": question.system,
        "prompt": question.prompt,
        "answer_schema": question.answer_schema,
    }


def _answer(output: bytes) -> JudgeAnswer:
    """The output as the answer, or an object with the answer under `answer` and facts about it."""
    text = output.decode(errors="replace")
    try:
        envelope = decode_json(output)
    except ValueError:
        envelope = None
    if not isinstance(envelope, dict) or not envelope.keys() & {"answer", "refusal"}:
        return answered(text, usage=_usage(None), model=None)
    about: dict[str, Any] = {
        "usage": _usage(envelope.get("usage")),
        "model": name_at(envelope, "model"),
        "version": name_at(envelope, "version"),
        "cost": reported_cost(amount_at(envelope, "cost_usd")),
    }
    if "answer" not in envelope:
        declined = str_at(envelope, "refusal") or "no reason given"
        return failed_answer(make_failure(FailureKind.REFUSAL, f"the judge declined to answer: {declined}"), **about)
    answer = envelope["answer"]
    return answered(answer if isinstance(answer, str) else msgspec.json.encode(answer).decode(), **about)


def _usage(stated: object) -> Usage:
    return Usage(
        input_tokens=count_at(stated, "input_tokens"),
        output_tokens=count_at(stated, "output_tokens"),
        cache_read_tokens=count_at(stated, "cache_read_tokens"),
        cache_write_tokens=count_at(stated, "cache_write_tokens"),
    )
