"""What a reader of a calibration must know: labels that were not used, labels that are few, rubrics without any."""

from collections.abc import Iterator

FEW_LABELS = 30


def label_warnings(runs: int, unused: int) -> Iterator[str]:
    """About the labels: `runs` of them are about whole runs, `unused` are about nothing that the judge judged."""
    if unused:
        yield f"{unused} labels name runs or criteria that this judge has no usable judgment of; they are not used."
    if runs == 0:
        yield (
            "no run is labelled as a whole, nor on all criteria that apply, so there is no overall agreement. Label "
            "whole runs by leaving the criterion empty."
        )
    elif runs < FEW_LABELS:
        yield f"only {runs} runs are labelled; with {FEW_LABELS} or more the intervals are worth reading."


def rubric_warnings(uncovered: int, mixed: int) -> Iterator[str]:
    """About rubrics: runs that none of the labels' rubrics covers, and labelled runs with answers by several."""
    if mixed:
        yield f"{mixed} labelled runs were judged by several rubrics; the answers by the latest one are compared."
    if uncovered:
        yield (
            f"{uncovered} runs were judged by rubrics of which no run is labelled. About these the judge counts as not "
            "compared with people; label some of them too."
        )
