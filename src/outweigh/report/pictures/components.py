"""Where the tokens of both arms went."""

from collections.abc import Sequence

from outweigh.compare.arm_summary import ArmSummary
from outweigh.record.components import Component
from outweigh.report.charts.sketch import bar
from outweigh.report.charts.stack import Bar, Part, stack_chart
from outweigh.report.document import Block, Picture
from outweigh.report.wording import count, percent

CAPTION = (
    "Tokens of all counted runs by the part of the set-up they went to, the arms on one scale. Arms whose agent "
    "exposes nothing have no bar."
)


def component_pictures(arms: Sequence[ArmSummary]) -> list[Block]:
    """One bar per arm that knows its components."""
    known = [arm for arm in arms if any(part.tokens for part in arm.components)]
    present = [kind for kind in Component if any(part.component is kind for arm in known for part in arm.components)]
    if not known:
        return []
    bars = [_bar(arm, present) for arm in known]
    title = "Tokens by component"
    return [
        Picture(
            title=title,
            svg=stack_chart(title, bars, [_name(kind) for kind in present]),
            caption=CAPTION,
            words=(),
            sketch=tuple(_sketch(known)),
        )
    ]


def _bar(arm: ArmSummary, present: Sequence[Component]) -> Bar:
    parts = tuple(
        Part(
            number=present.index(part.component) + 1,
            size=part.tokens,
            words=f"{arm.name}, {_name(part.component)}: {count(part.tokens)} tokens, "
            + percent(part.token_share.value),
        )
        for part in arm.components
    )
    return Bar(name=arm.name, figures=f"{count(sum(part.tokens for part in arm.components))} tokens", parts=parts)


def _sketch(arms: Sequence[ArmSummary]) -> list[str]:
    lines = []
    for arm in arms:
        lines.append(arm.name)
        lines.extend(
            f"  {_name(part.component):<17}{bar(part.token_share.value or 0.0)}  {percent(part.token_share.value)}"
            for part in arm.components
        )
    return lines


def _name(kind: Component) -> str:
    return kind.value.replace("_", " ")
