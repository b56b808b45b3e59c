"""Numbers, metrics and names as people read them: units, signs, unknown values, and control characters made visible."""

import unicodedata
from collections.abc import Callable
from math import floor, isinf, log10
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    # Commands that only print a name start without the formulas that the table of metrics holds.
    from outweigh.score.metrics import MetricUnit

UNKNOWN = "unknown"
SAME = "~"
# Sums of equal numbers in another order differ by this much, which is no difference.
ROUNDING_ERROR = 1e-9
MOST_NAME_CHARACTERS = 28
SMALLEST_SHOWN = 1e-5
"""Nothing that people read is shown below a thousandth of a cent."""
NO_CHECKS = "no checks"
"""Stands where a score would, for tasks that assert nothing: by formula they score 1, which nobody earned."""
SIMULATED = "simulated"
"""Stands where a dollar amount would, for agents that only pretend to work."""


def without_negative_zero(text: str) -> str:
    """A number that was rounded to 0 has no sign to show: `-0.0` is `0.0`."""
    return text.replace("-", "", 1) if text.startswith("-") and not text.strip("-0.$ %") else text


def pluralize(number: int, thing: str) -> str:
    """One thing, or several."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


def format_signed(value: float, decimals: int = 1) -> str:
    """A change with its sign; one that rounds to 0 is +0."""
    shown = f"{value:+.{decimals}f}"
    return shown.replace("-", "+") if float(shown) == 0 else shown


def round_for_people(value: float) -> str:
    """A number with as many digits as people read: 1,234, 58, 5.6, 0.42, 0.013; no sign where it rounds to 0."""
    size = abs(value)
    if size >= 9.95:
        shown = f"{value:,.0f}"
    elif size >= 0.995:
        shown = f"{value:.1f}".removesuffix(".0")
    elif size >= 0.095:
        shown = f"{value:.2f}".removesuffix("0")
    else:
        shown = _two_digits(value)
    return without_negative_zero(shown)


def _two_digits(value: float) -> str:
    """Two significant digits of a small number, never in scientific notation; 0 where it is too small to matter."""
    if abs(value) < SMALLEST_SHOWN:
        return "0"
    return f"{value:.{1 - floor(log10(abs(value)))}f}".rstrip("0").rstrip(".")


def format_change(share: float, *, signed: bool = True) -> str:
    """A change in points or percent of one, without its unit: `+58`, `-5.6`; one that rounds to 0 is `+0`."""
    size = abs(100 * share)
    shown = f"{size:,.0f}" if size >= 9.95 else f"{size:.1f}".removesuffix(".0")
    if not signed:
        return shown
    return f"{'-' if share < 0 and shown != '0' else '+'}{shown}"


def format_percent(value: float | None) -> str:
    """A share of one as a percentage. What is not quite everything is not shown as 100 %."""
    if value is None:
        return UNKNOWN
    if 0.995 <= value < 1:
        return "99.9 %" if value >= 0.9985 else f"{floor(1000 * value) / 10:g} %"
    return f"{without_negative_zero(('-' if value < 0 else '') + format_change(value, signed=False))} %"


def format_dollars(value: float | None) -> str:
    """An amount of money: cents, and two digits of what is less than ten cents."""
    if value is None:
        return UNKNOWN
    if isinf(value):
        return "never passes"
    size = abs(value)
    cents = f"${size:,.2f}" if size >= 0.095 else f"${_two_digits(size)}"
    shown = f"${size:,.0f}" if size >= 1000 else cents
    return without_negative_zero(f"-{shown}") if value < 0 else shown


def format_estimate(
    value: float | None, ends: tuple[float, float] | None, show: Callable[[float | None], str] = format_dollars
) -> str:
    """An amount; an estimated one as about how much, with its least and its most."""
    if ends is None:
        return show(value)
    return f"about {show(value)} ({show(ends[0])} to {show(ends[1])})"


def format_seconds(value: float | None) -> str:
    """A duration: seconds up to ten minutes, then minutes, then hours."""
    if value is None:
        return UNKNOWN
    for unit, seconds in (("h", 3600), ("min", 60)):
        if abs(value) >= (2 * seconds if unit == "h" else 10 * seconds):
            return f"{round_for_people(value / seconds)} {unit}"
    return f"{round_for_people(value)} s"


def format_count(value: float | None) -> str:
    """A number of things, whole from ten on."""
    if value is None:
        return UNKNOWN
    return without_negative_zero(f"{value:,.0f}") if float(value).is_integer() else round_for_people(value)


def format_score(value: float | None) -> str:
    """A score between 0 and 1, or any other plain number."""
    if value is None:
        return UNKNOWN
    plain = value == 0 or 0.095 <= abs(value) < 9.95
    return without_negative_zero(f"{value:.2f}") if plain else round_for_people(value)


def format_points(value: float | None) -> str:
    """A difference of two percentages."""
    return UNKNOWN if value is None else f"{format_change(value)} points"


def describe_direction(difference: float | None, better: int) -> str:
    """Whether a difference is for the better, for the worse, or none."""
    if difference is None:
        return UNKNOWN
    if abs(difference) < ROUNDING_ERROR:
        return SAME
    if better == 0:
        return "more" if difference > 0 else "less"
    return "better" if difference * better > 0 else "worse"


def shorten_name(name: str, most: int = MOST_NAME_CHARACTERS) -> str:
    """A name with its middle left out where it is long; the title of its mark has all of it."""
    if len(name) <= most:
        return name
    tail = (most - 1) // 2
    return f"{name[: most - 1 - tail]}…{name[-tail:]}"


def escape_controls(text: str) -> str:
    """Text from a file with control and direction-changing characters shown by their codes."""
    return "".join(f"\\x{ord(char):02x}" if _is_control(char) else char for char in text)


def _is_control(char: str) -> bool:
    return unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp")


NumberFormat = Callable[[float | None], str]


def _with_sign(plain: NumberFormat) -> NumberFormat:
    def show(value: float | None) -> str:
        if value is None:
            return plain(value)
        # A difference too small to show has no sign to show either.
        return (
            f"+{plain(0.0)}" if plain(abs(value)) == plain(0.0) else f"{'-' if value < 0 else '+'}{plain(abs(value))}"
        )

    return show


class UnitFormat(NamedTuple):
    """How numbers of one unit are written, and how their differences are."""

    value: NumberFormat
    difference: NumberFormat


UNIT_FORMATS: dict["MetricUnit", UnitFormat] = {
    "share": UnitFormat(format_percent, format_points),
    "score": UnitFormat(format_score, _with_sign(format_score)),
    "dollars": UnitFormat(format_dollars, _with_sign(format_dollars)),
    "seconds": UnitFormat(format_seconds, _with_sign(format_seconds)),
    "count": UnitFormat(format_count, _with_sign(format_count)),
}


def count_of(number: int, noun: str) -> str:
    """A number of things, with their noun in the right form."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def format_bytes(size: int) -> str:
    """A size, in the largest unit of which there is one."""
    for unit, scale in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= scale:
            return f"{size / scale:.1f} {unit}"
    return count_of(size, "byte")


def option_words(option: str, value: str) -> tuple[str, ...]:
    """An option and its value as words of a command line; a value that looks like an option is joined to its own."""
    return (f"{option}={value}",) if value.startswith("-") else (option, value)


def path_word(path: str) -> str:
    """A path as a word of a command line: one that looks like an option begins with `./`."""
    return f"./{path}" if path.startswith("-") and path != "-" else path
