"""What a reader of a judgment should know about it: whether the run spoke to its judge, and whether it was quoted."""

from collections.abc import Iterable, Iterator

from outweigh.judge.brief import Material
from outweigh.judge.injection import order_in, quoted_order_in
from outweigh.record.judgment import CriterionScore


def suspicions(material: Material, criteria: Iterable[CriterionScore]) -> tuple[str, ...]:
    """Warnings in sentences; none of them changes a score."""
    return (*_in_material(material), *_in_evidence(criteria))


def _in_material(material: Material) -> Iterator[str]:
    for what, text in (("diff", material.diff), ("transcript", material.conversation)):
        if text is not None and (words := order_in(text)) is not None:
            yield f"the run's {what} speaks to its judge: {words!r}"


def _in_evidence(criteria: Iterable[CriterionScore]) -> Iterator[str]:
    for criterion in criteria:
        evidence = {criterion.criterion: criterion.evidence}
        evidence |= {f"{criterion.criterion}/{item.item}": item.evidence for item in criterion.items}
        for place, words in evidence.items():
            if words is not None and (quoted := quoted_order_in(words)) is not None:
                yield f"the evidence of {place!r} quotes words that speak to the judge: {quoted!r}"
