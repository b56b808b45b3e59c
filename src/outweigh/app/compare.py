"""Compare two arms: summaries, pairs, deltas and their intervals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from outweigh.app.choose_arms import SUITE_ARMS, ArmChoice
from outweigh.app.evidence import ComparedArms, EvidenceRequest, compare_candidates
from outweigh.app.pages import Page
from outweigh.compare.comparison import Comparison
from outweigh.compare.evidence import Evidence
from outweigh.compare.inference import Inference, IntervalMethod, Population, infer
from outweigh.errors import UsageError
from outweigh.report.comparison_page import comparison_report
from outweigh.report.comparison_summary import comparison_summary
from outweigh.report.document import Report


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareRequest:
    """Which records, which two arms, and where intervals come from."""

    evidence: EvidenceRequest
    arms: ArmChoice = SUITE_ARMS
    population: Population = Population.TASKS
    interval: IntervalMethod = IntervalMethod.T
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonResult(Page):
    """Two arms side by side. It decides nothing: `verdict` does."""

    compared: ComparedArms
    inference: Inference

    @property
    def comparison(self) -> Comparison:
        """The figures of both arms, and their differences."""
        return self.compared.comparisons[0]

    @property
    def evidence(self) -> Evidence:
        """What it rests on, with every line that could not be read and every warning."""
        return self.compared.evidence

    def document(self) -> Report:
        """The page of `outweigh compare`."""
        return comparison_report(self.comparison, self.inference)

    def summary(self, *, command: str | None = None) -> Report:
        """The answer on one screen; `command` prints everything."""
        return comparison_summary(self.comparison, self.inference, verbose_command=command)

    def to_text(self, *, verbose: bool = False) -> str:
        """What the command line prints, without colours; everything where it is to be `verbose`."""
        from outweigh.report.render_text import TextReporter  # noqa: PLC0415 - one of several formats is needed

        return TextReporter(colour=False).render(self.document() if verbose else self.summary())

    def rows(self) -> Sequence[Mapping[str, object]]:
        """One row for every metric: the difference between candidate and baseline, over tasks, with its interval."""
        deltas = self.document().payload["deltas"]
        return [{"metric": name, "delta": each["task_mean"], **_interval(each)} for name, each in deltas.items()]


def _interval(delta: Mapping[str, Any]) -> dict[str, object]:
    interval = delta.get("interval") or {}
    return {"low": interval.get("low"), "high": interval.get("high")}


def compare(request: CompareRequest) -> ComparisonResult:
    """Read the records, choose the arms, compare."""
    if request.interval is IntervalMethod.BOOTSTRAP and request.population is Population.RUNS:
        raise UsageError("--interval bootstrap draws tasks, and --infer runs keeps them fixed; use one of them.")
    compared = compare_candidates(
        request.evidence,
        request.arms,
        refuse_several="compare takes one --candidate; `outweigh verdict` judges several together.",
    )
    comparison = compared.comparisons[0]
    inference = infer(comparison, population=request.population, method=request.interval, seed=request.seed)
    return ComparisonResult(compared=compared, inference=inference)
