"""What a reader of a judgment should know about it: whether the run spoke to its judge, and whether it was quoted."""

from collections.abc import Iterable, Iterator

from outweigh.judge.brief import Material
from outweigh.judge.excerpt import excerpt
from outweigh.judge.injection import order_in, quoted_order_in
from outweigh.record.judgment import CriterionScore
from outweigh.task.judge import JudgeSpec


def suspicions(judge: JudgeSpec, material: Material, criteria: Iterable[CriterionScore]) -> tuple[str, ...]:
    """Warnings in sentences, about what the judge was shown and what it quotes; none of them changes a score."""
    return (*_in_material(judge, material), *_in_evidence(criteria))


def _in_material(judge: JudgeSpec, material: Material) -> Iterator[str]:
    shown = {
        "diff": excerpt(material.diff or "", judge.diff_tokens),
        "transcript": excerpt(material.conversation or "", judge.transcript_tokens),
    }
    for what, text in shown.items():
        if (words := order_in(text)) is not None:
            yield f"the run's {what} speaks to its judge: {words!r}"


def _in_evidence(criteria: Iterable[CriterionScore]) -> Iterator[str]:
    for criterion in criteria:
        evidence = {criterion.criterion: criterion.evidence}
        evidence |= {f"{criterion.criterion}/{item.item}": item.evidence for item in criterion.items}
        for place, words in evidence.items():
            if words is not None and (quoted := quoted_order_in(words)) is not None:
                yield f"the evidence of {place!r} quotes words that speak to the judge: {quoted!r}"
