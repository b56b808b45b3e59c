"""The folds of a report about one candidate: why, gates and other figures, tasks, runs, cost, judges, agents."""

from collections.abc import Sequence, Set

from msgspec import Struct

from outweigh.compare.arm_table import ArmTable
from outweigh.compare.comparison import Comparison
from outweigh.compare.deltas import Delta
from outweigh.compare.inference import Inference
from outweigh.compare.judge_agreement import PanelAgreement
from outweigh.report.comparison_page import comparison_warnings, unpaired_runs
from outweigh.report.comparison_tables import arms_table, gate_blocks
from outweigh.report.document import Block, Details, Table, optional_bullets
from outweigh.report.figures.arm_overview import component_figures, distribution_figures, heat_map_figures
from outweigh.report.figures.deltas import chosen_estimate, metric_figures, task_change_figures, task_slope_figures
from outweigh.report.figures.gates import gate_figures
from outweigh.report.figures.judge_reliability import judge_agreement_figures
from outweigh.report.figures.over_time import evidence_figures, spending_figures
from outweigh.report.figures.worth import worth_figures
from outweigh.report.formatting import UNIT_FORMATS, UNKNOWN
from outweigh.report.judge_tables import judge_blocks
from outweigh.report.quarantine_lines import quarantine_blocks
from outweigh.report.report_sections import cost_blocks, setup_check_blocks, task_details
from outweigh.report.scan_page import finding_details, scan_blocks
from outweigh.report.verdict_page import reason_blocks, sensitivity_blocks
from outweigh.verdict.decision import Gate, Verdict
from outweigh.verdict.evidence_settings import GATED_METRICS, JUDGE_SCORE
from outweigh.verdict.promotion import may_promote


class ReportedCandidate(Struct, frozen=True, kw_only=True):
    """One candidate with everything that is known about it."""

    comparison: Comparison
    inference: Inference
    panel: PanelAgreement | None
    verdict: Verdict

    @property
    def name(self) -> str:
        """The candidate's name."""
        return self.comparison.candidate.name

    @property
    def may_promote(self) -> bool:
        """Whether it may be promoted."""
        return may_promote(self.verdict, self.comparison.evidence_sha256)


def candidate_folds(one: ReportedCandidate, candidates: int) -> list[Details]:
    """Everything that the first screen leaves out; a fold without anything in it is left out, too."""
    verdict, comparison = one.verdict, one.comparison
    # Both have the comparison's own warnings.
    warnings = tuple(dict.fromkeys((*verdict.warnings, *comparison_warnings(comparison))))
    worth = [] if comparison.simulated else worth_figures(verdict, comparison)
    return [
        *fold(
            "Why, and how firm it is",
            [
                *reason_blocks(verdict),
                *sensitivity_blocks(verdict, allowed=one.may_promote),
                *optional_bullets("Warnings", warnings),
                *evidence_figures(verdict, comparison),
            ],
        ),
        *fold("Gates in figures", [*gate_figures(verdict.gates), *worth, *gate_blocks(verdict.gates, comparison)]),
        *fold("Other figures", _other_figures(one)),
        *fold("Tasks", [*quarantine_blocks(comparison.quarantine), *_tasks(comparison, candidates)]),
        *fold("Runs", _runs(comparison)),
        *fold("Cost and cache", _costs(comparison, candidates)),
        *fold("Judges", [*judge_agreement_figures(one.panel), *judge_blocks(one.panel)]),
        *fold(
            "Agents and set-up",
            [*setup_check_blocks(comparison), *scan_blocks(comparison.scans), *finding_details(comparison.scans)],
        ),
    ]


def fold(title: str, blocks: Sequence[Block]) -> list[Details]:
    """One fold, where there is anything to put into it."""
    return [Details(title=title, blocks=tuple(blocks))] if blocks else []


def gated_metrics(verdict: Verdict) -> dict[str, str]:
    """The metrics whose change and interval a gate shows, by the gate's name."""
    tested = {gate.name: GATED_METRICS[gate.name].metric for gate in verdict.gates if _is_tested(gate)}
    # What judges say is one quantity, whether it decides or is only shown.
    return {name: "judge_score" if name == JUDGE_SCORE else metric for name, metric in tested.items()}


def _is_tested(gate: Gate) -> bool:
    return gate.evidence is not None and gate.name in GATED_METRICS


def _other_figures(one: ReportedCandidate) -> list[Block]:
    comparison, gated = one.comparison, gated_metrics(one.verdict)
    return [
        *metric_figures(comparison, one.inference, set(gated.values())),
        arms_table(comparison),
        *_further_changes(one, set(gated.values())),
        *unpaired_runs(comparison),
    ]


def _further_changes(one: ReportedCandidate, gated: Set[str]) -> list[Block]:
    """Changes that neither a gate nor the chart shows, so that every figure has its interval in one place only."""
    shown = [
        delta
        for delta in one.comparison.deltas.values()
        if delta.n
        and delta.metric.name not in gated
        and (not delta.metric.charted or delta.metric.better == 0)
        and not (delta.metric.unit == "dollars" and one.comparison.simulated)
    ]
    rows = tuple(_change_row(delta, one.inference) for delta in shown)
    columns = ("", "change, mean over tasks", "95 % interval")
    return [Table(title="Further changes, candidate minus baseline", columns=columns, rows=rows)] if rows else []


def _change_row(delta: Delta, inference: Inference) -> tuple[str, ...]:
    show = UNIT_FORMATS[delta.metric.unit].difference
    interval = chosen_estimate(inference, delta.metric.delta).interval
    span = UNKNOWN if interval is None else f"{show(interval.low)} to {show(interval.high)}"
    return delta.metric.title, show(delta.task_mean), span


def _tasks(comparison: Comparison, candidates: int) -> list[Block]:
    return [
        *task_change_figures(comparison),
        *(heat_map_figures(_arms(comparison)) if candidates == 1 else ()),
        *task_slope_figures(comparison),
        *task_details(comparison, candidates),
    ]


def _costs(comparison: Comparison, candidates: int) -> list[Block]:
    alone = candidates == 1 and not comparison.simulated
    return [*cost_blocks(comparison), *(spending_figures(_arms(comparison)) if alone else ())]


def _arms(comparison: Comparison) -> tuple[ArmTable, ArmTable]:
    """Pictures of arms are drawn here for one candidate; several share them."""
    return comparison.baseline_table, comparison.candidate_table


def _runs(comparison: Comparison) -> list[Block]:
    return [
        *distribution_figures(comparison),
        *component_figures((comparison.baseline, comparison.candidate)),
        *_excluded_runs_table(comparison),
    ]


def _excluded_runs_table(comparison: Comparison) -> list[Block]:
    arms = (comparison.baseline, comparison.candidate)
    statuses = sorted({status for arm in arms for status in arm.excluded})
    if not statuses:
        return []
    rows = tuple((status.value, *(str(arm.excluded.get(status, 0)) for arm in arms)) for status in statuses)
    return [Table(title="Excluded runs, by what became of them", columns=("", *(arm.name for arm in arms)), rows=rows)]
