"""Which answer stands where a judge was asked for one pass more than once."""

from collections.abc import Iterable

from outweigh.record.judgment import Judgment


def standing(answers: Iterable[Judgment]) -> dict[int, Judgment]:
    """The answers of one judge to one question by the number of their pass.

    An answer that could not be used gives way to any later try; one that could be used stays.
    """
    passes: dict[int, Judgment] = {}
    for answer in answers:
        earlier = passes.get(answer.pass_index)
        if earlier is None or earlier.invalid_reason is not None:
            passes[answer.pass_index] = answer
    return passes
