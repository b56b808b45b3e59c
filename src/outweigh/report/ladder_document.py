"""The page of `outweigh ladder`, and the screen that it prints: tiers, what chance explains, and what to do next."""

from collections.abc import Iterator

from msgspec import Struct

from outweigh.compare.judge_agreement import PanelAgreement
from outweigh.compare.ladder import Ladder
from outweigh.report.document import Block, Details, KeyPoints, Report, Tone, optional_bullets
from outweigh.report.figures.judge_reliability import judge_agreement_figures
from outweigh.report.figures.tiers import (
    cost_quality_figures,
    has_sub_arms,
    step_figures,
    sub_arm_figures,
    tier_title,
    token_figures,
    uplift_figures,
)
from outweigh.report.formatting import count_of
from outweigh.report.ladder_methods import MethodsFacts, methods_paragraph
from outweigh.report.ladder_page import ladder_payload
from outweigh.report.ladder_tables import (
    MOST_SUMMARY_TIERS,
    arm_table,
    figure_table,
    spread_table,
    sub_arm_table,
    tier_table,
    unknown_figures,
)
from outweigh.report.run_level import run_level_table

MOST_WARNING_LINES = 2


class LadderStudy(Struct, frozen=True, kw_only=True):
    """A ladder with what stands beside it on its page: how far its judges agree, and how it was made."""

    ladder: Ladder
    panel: PanelAgreement | None
    methods: MethodsFacts


def ladder_report(study: LadderStudy) -> Report:
    """Everything; what takes room is folded."""
    ladder, payload = study.ladder, ladder_payload(study.ladder)
    methods = methods_paragraph(study.methods)
    blocks: list[Block] = [
        _facts(study),
        *step_figures(ladder, {}),
        *uplift_figures(ladder),
        tier_table(ladder),
        *cost_quality_figures(ladder, {}),
        *token_figures(ladder),
        *_configurations(ladder),
        Details(title="Every figure of every tier", blocks=tuple(_every_figure(ladder))),
        *_by_single_runs(ladder),
        *_judges(study),
        Details(title="Methods", blocks=(methods,)),
        *_warnings(payload["warnings"]),
    ]
    return Report(
        headline=_headline(ladder),
        tone=Tone.PLAIN,
        blocks=tuple(blocks),
        payload={**payload, "methods": methods.text},
    )


def ladder_summary(study: LadderStudy, *, verbose_command: str | None = None) -> Report:
    """One screen: the tiers, and the first warning."""
    ladder = study.ladder
    points = list(_points(study))
    commands = {} if verbose_command is None else {"More": verbose_command}
    return Report(
        headline=_headline(ladder),
        tone=Tone.PLAIN,
        blocks=(
            tier_table(ladder, MOST_SUMMARY_TIERS),
            KeyPoints(rows=tuple(points), commands=commands, most_lines={"Warning": MOST_WARNING_LINES}),
        ),
        payload={},
    )


def _headline(ladder: Ladder) -> str:
    best = f"best value: {ladder.contenders.best_value}" if ladder.contenders.best_value else "best value: unknown"
    return f"{count_of(len(ladder.levels), 'tier')} from {tier_title(ladder.levels[0])}; {best}"


def _facts(study: LadderStudy) -> KeyPoints:
    made = study.methods
    rows = (
        ("tiers", f"{made.tiers:,}"),
        ("arms", f"{made.arms:,}"),
        ("tasks", f"{made.tasks:,}"),
        ("counted runs", f"{made.runs:,}"),
        ("judges", f"{len(made.judges):,}"),
        ("baseline", made.baseline),
    )
    return KeyPoints(rows=rows, facts=True)


def _points(study: LadderStudy) -> Iterator[tuple[str, str]]:
    ladder = study.ladder
    yield "Frontier", _named(ladder.contenders.frontier)
    if warnings := ladder_payload(ladder)["warnings"]:
        more = f" (and {len(warnings) - 1} more)" if len(warnings) > 1 else ""
        yield "Warning", warnings[0].removesuffix(".") + more
    yield "More", "sub-arms, every figure with its interval, judges, methods and all warnings"


def _named(names: tuple[str, ...], most: int = 5) -> str:
    shown = ", ".join(names[:most]) or "unknown"
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def _by_single_runs(ladder: Ladder) -> list[Block]:
    """Only where the source of the runs states results, because then it may have published such a table."""
    if ladder.run_level.score_of != "stated":
        return []
    return [Details(title="By single runs", blocks=(run_level_table(ladder.run_level),))]


def _configurations(ladder: Ladder) -> list[Block]:
    if not has_sub_arms(ladder):
        return []
    blocks = (sub_arm_table(ladder, {}), *sub_arm_figures(ladder))
    return [Details(title="Configurations of every tier", blocks=blocks)]


def _every_figure(ladder: Ladder) -> Iterator[Block]:
    yield figure_table(ladder)
    yield from optional_bullets("What is unknown, and why", tuple(unknown_figures(ladder)))
    yield arm_table(ladder)
    yield spread_table(ladder)


def _judges(study: LadderStudy) -> list[Block]:
    figures = judge_agreement_figures(study.panel)
    return [Details(title="Agreement of the judges", blocks=tuple(figures))] if figures else []


def _warnings(warnings: list[str]) -> list[Block]:
    if not warnings:
        return []
    return [Details(title=f"Warnings ({len(warnings)})", blocks=tuple(optional_bullets("Warnings", tuple(warnings))))]
