"""The scripted model as a judge: an answer to a question about a run, with the same share of every scale."""

import re
from collections.abc import Iterator

import msgspec

_RUBRIC = re.compile(r"^# Rubric$(.*?)^# Your answer$", re.MULTILINE | re.DOTALL)
_QUESTION = re.compile(r"^id: (?P<id>.+)$(?:\n(?!id: ).*)*?\nscore: (?P<scale>.+)$", re.MULTILINE)
_ENDS = re.compile(r"(?:a number from )?(\S+) (or|to) (\S+)")


def judge_answer(prompt: str, share: float) -> str:
    """The JSON object that a judge is asked for; a prompt without a rubric gets an answer without scores."""
    rubric = _RUBRIC.search(prompt)
    answers = list(_answers(rubric[1], share)) if rubric else []
    return msgspec.json.encode({"answers": answers, "total": share, "confidence": 1.0}).decode()


def _answers(rubric: str, share: float) -> Iterator[dict[str, object]]:
    for question in _QUESTION.finditer(rubric):
        yield {"id": question["id"], "evidence": "as the script says", "score": _score(question["scale"], share)}


def _score(scale: str, share: float) -> float | None:
    """A share of a scale in words; of one with two scores, the nearer one."""
    ends = _ENDS.fullmatch(scale)
    if ends is None:
        return None
    low, high = float(ends[1]), float(ends[3])
    return low + (high - low) * (round(share) if ends[2] == "or" else share)
