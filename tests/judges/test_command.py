"""Any program as a judge."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest
from tests.judges.backends import a_judge

from outweigh.judges.command import CommandJudge
from outweigh.model.failure import FailureKind
from outweigh.model.suite import JudgeSpec
from outweigh.ports.judges import Judge
from outweigh.testing.judge_contract import CancellableJudgeContract, a_question


def python(code: str) -> JudgeSpec:
    return a_judge("command", command=[sys.executable, "-c", code])


class TestCommand(CancellableJudgeContract):
    def backend(self) -> Judge:
        return CommandJudge()

    @contextmanager
    def answering_judge(self, text: str) -> Iterator[JudgeSpec]:
        yield python(f"import sys; sys.stdin.read(); print({text!r})")

    def unreachable_judge(self) -> JudgeSpec:
        return a_judge("command", command=["/no/such/program"])

    @contextmanager
    def silent_judge(self) -> Iterator[JudgeSpec]:
        yield a_judge("command", command=["sleep", "3600"])


def test_the_program_is_told_everything_on_standard_input(tmp_path: Path) -> None:
    heard = tmp_path / "question.json"
    judge = python(f"import sys; open({str(heard)!r}, 'w').write(sys.stdin.read()); print('{{}}')")

    CommandJudge().judge(a_question(judge, system="the rubric", prompt="the run"))

    question = msgspec.json.decode(heard.read_bytes())
    assert question["schema"] == "outweigh.question/1"
    assert (question["system"], question["prompt"], question["model"]) == ("the rubric", "the run", "claude-judge-1")
    assert question["answer_schema"]["required"] == ["answers"]


def test_a_program_may_say_who_answered_and_what_it_cost() -> None:
    envelope = (
        '{"answer": {"answers": []}, "model": "m", "version": "7", "cost_usd": 0.25, "usage": {"input_tokens": 9}}'
    )

    answer = CommandJudge().judge(a_question(python(f"print({envelope!r})")))

    assert msgspec.json.decode(answer.text or "") == {"answers": []}
    assert (answer.model, answer.version, answer.cost.usd, answer.usage.input_tokens) == ("m", "7", 0.25, 9)


@pytest.mark.parametrize(
    ("code", "kind", "words"),
    [
        ("import sys; sys.exit('out of memory')", FailureKind.CRASH, "out of memory"),
        ("""print('{"refusal": "I know the author"}')""", FailureKind.REFUSAL, "I know the author"),
    ],
)
def test_how_a_program_fails_is_told_in_its_own_words(code: str, kind: FailureKind, words: str) -> None:
    answer = CommandJudge().judge(a_question(python(code)))

    assert answer.failure is not None
    assert answer.failure.kind is kind
    assert words in answer.failure.detail


def test_a_program_that_does_not_read_its_input_may_still_answer() -> None:
    answer = CommandJudge().judge(a_question(python("print('{}')"), prompt="x" * 1_000_000))

    assert answer.text == "{}\n"


def test_a_program_that_reads_late_gets_the_whole_of_a_long_question() -> None:
    slow = python("import sys, time; time.sleep(1); print(len(sys.stdin.read()))")

    answer = CommandJudge().judge(a_question(slow, prompt="x" * 1_000_000, timeout_seconds=60.0))

    assert int(answer.text or "0") > 1_000_000


def test_a_program_that_is_not_there_is_missing() -> None:
    assert "/no/such/program" in (CommandJudge().missing(a_judge("command", command=["/no/such/program"])) or "")
