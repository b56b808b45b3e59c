"""The page of `outweigh ladder`, and the screen that it prints: tiers, what chance explains, and what to do next."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from outweigh.compare.judge_agreement import PanelAgreement
from outweigh.compare.ladder import Ladder
from outweigh.report.document import Block, Details, KeyPoints, Report, Tone, optional_bullets
from outweigh.report.figures.judge_reliability import judge_agreement_figures
from outweigh.report.figures.tier_costs import cost_quality_figures, token_figures
from outweigh.report.figures.tiers import (
    contrast_figures,
    contrast_mark,
    has_sub_arms,
    step_figures,
    sub_arm_figures,
    tier_title,
    uplift_figures,
)
from outweigh.report.formatting import count_of, shorten_name
from outweigh.report.interval_rows import ChangeMarker
from outweigh.report.ladder_json import ladder_payload
from outweigh.report.ladder_methods import MethodsFacts, methods_paragraph
from outweigh.report.ladder_tables import (
    MOST_SUMMARY_TIERS,
    arm_table,
    contrast_table,
    figure_table,
    format_p,
    omnibus_table,
    spread_table,
    standing_table,
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

    @property
    def is_simulated(self) -> bool:
        """Whether agents only pretended to work, so that amounts of money are none."""
        return self.methods.simulated_runs > 0


def ladder_report(study: LadderStudy) -> Report:
    """Everything; what takes room is folded."""
    ladder, payload = study.ladder, ladder_payload(study.ladder)
    methods = methods_paragraph(study.methods)
    blocks: list[Block] = [
        _facts(study),
        *step_figures(ladder),
        *uplift_figures(ladder),
        tier_table(ladder, simulated=study.is_simulated),
        *cost_quality_figures(ladder, simulated=study.is_simulated),
        *token_figures(ladder),
        *_doubt(study),
        *_configurations(study),
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
        lead=_differences(ladder),
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
            tier_table(ladder, simulated=study.is_simulated, most=MOST_SUMMARY_TIERS),
            KeyPoints(rows=tuple(points), commands=commands, most_lines={"Warning": MOST_WARNING_LINES}),
        ),
        payload={},
    )


def _headline(ladder: Ladder) -> str:
    """How many tiers, and the one whose passes are cheapest, with those that cannot be told from it."""
    best = ladder.tier_contenders.best_values or ("unknown",)
    doubt = "" if len(best) == 1 else ", which cannot be told apart"
    first = shorten_name(tier_title(ladder.levels[0]))
    return f"{count_of(len(ladder.levels), 'tier')} from {first}; best value: {_named(best, 2, 'or')}{doubt}"


def _differences(ladder: Ladder) -> str:
    """Which tiers differ from the first, in a sentence; nothing with one tier."""
    if len(ladder.levels) < 2:
        return ""
    friedman, first = ladder.tests.omnibus.friedman, tier_title(ladder.levels[0])
    omnibus = "" if friedman.p_value is None else f" (Friedman p {_equals(friedman.p_value)})"
    titles = {tier.number: tier_title(tier) for tier in ladder.levels}
    sentences = []
    for mark in (ChangeMarker.BETTER, ChangeMarker.WORSE):
        if names := [titles[each.tier] for each in ladder.tests.against_first if contrast_mark(each) is mark]:
            sentences.append(f"{mark.value.capitalize()} than {first} beyond what chance explains: {_named(names)}.")
    told = " ".join(sentences) or f"No tier is shown to differ from {first}."
    return f"{told.removesuffix('.')}{omnibus}."


def _equals(p_value: float) -> str:
    shown = format_p(p_value)
    return shown if shown.startswith("<") else f"= {shown}"


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
    if differences := _differences(ladder):
        yield "Differ", differences.removesuffix(".")
    yield "Best value", _contenders(ladder.contenders.best_values)
    yield "Frontier", _frontier(ladder.contenders.frontier, ladder.contenders.possible_frontier)
    if warnings := ladder_payload(ladder)["warnings"]:
        more = f" (and {len(warnings) - 1} more)" if len(warnings) > 1 else ""
        yield "Warning", warnings[0].removesuffix(".") + more
    yield "More", "sub-arms, every figure with its interval, tests, judges, methods and all warnings"


def _contenders(names: Sequence[str]) -> str:
    if not names:
        return "unknown"
    return names[0] if len(names) == 1 else f"{_named(names)}; the data cannot tell them apart"


def _frontier(names: Sequence[str], possible: Sequence[str]) -> str:
    """The arms that none beats on both cost and quality, and those that may be among them."""
    others = [name for name in possible if name not in names]
    if not names:
        return _contenders(others)
    return f"{_named(names)}; perhaps also {_named(others)}" if others else _named(names)


def _named(names: Sequence[str], most: int = 5, word: str = "and") -> str:
    shown = [*map(shorten_name, names[:most]), *([f"{len(names) - most} more"] if len(names) > most else ())]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} {word} {shown[-1]}"


def _doubt(study: LadderStudy) -> list[Block]:
    """What chance explains: tests of the tiers, and everyone who may be best; nothing with one tier."""
    ladder = study.ladder
    if len(ladder.levels) < 2:
        return []
    contrasts = contrast_table(ladder, simulated=study.is_simulated)
    return [
        Details(
            title="Do the tiers differ?",
            blocks=(omnibus_table(ladder), *contrast_figures(ladder), contrasts),
        ),
        Details(title="Who may be best?", blocks=(standing_table(ladder), *_possible_best(ladder))),
    ]


def _possible_best(ladder: Ladder) -> list[Block]:
    """Everyone whom the data cannot tell from the best value, or from the frontier, by name."""
    found = {
        "Best value, tiers": ladder.tier_contenders.best_values,
        "Best value, configurations": ladder.contenders.best_values,
        "On the frontier, tiers": ladder.tier_contenders.possible_frontier,
        "On the frontier, configurations": ladder.contenders.possible_frontier,
    }
    rows = tuple((label, ", ".join(names)) for label, names in found.items() if names)
    return [KeyPoints(rows=rows)] if rows else []


def _by_single_runs(ladder: Ladder) -> list[Block]:
    """Only where the source of the runs states results, because then it may have published such a table."""
    if ladder.run_level.score_of != "stated":
        return []
    return [Details(title="By single runs", blocks=(run_level_table(ladder.run_level),))]


def _configurations(study: LadderStudy) -> list[Block]:
    ladder = study.ladder
    if not has_sub_arms(ladder):
        return []
    blocks = (sub_arm_table(ladder, simulated=study.is_simulated), *sub_arm_figures(ladder))
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
