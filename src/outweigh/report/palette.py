"""The colours of pages and charts. A colour means one thing: better, worse, neutral or unknown.

Blue and vermilion are those of Okabe and Ito, darkened or lightened until text in them can be read; unknown is their
reddish purple, neutral is grey. With any of the three kinds of colour blindness all four stay apart, and a shape or a
word always says the same. Arms and parts of a bar have no colour of their own: they differ by shades of grey, dashes
and names.
"""

from collections.abc import Mapping

PAPER = {"light": "#FFFFFF", "dark": "#161616"}
INK = {"light": "#1B1B1B", "dark": "#EDEDED"}

ROLE_COLOURS: Mapping[str, Mapping[str, str]] = {
    "light": {"better": "#004A8F", "worse": "#A83C00", "neutral": "#5E5E5E", "unknown": "#B04A9E"},
    "dark": {"better": "#4DA3F0", "worse": "#F08A30", "neutral": "#A0A0A0", "unknown": "#EDB3E0"},
}

ARM_SHADES: Mapping[str, tuple[str, ...]] = {
    "light": ("#767676", "#1B1B1B", "#4A4A4A", "#767676", "#1B1B1B", "#4A4A4A"),
    "dark": ("#8A8A8A", "#EDEDED", "#B8B8B8", "#8A8A8A", "#EDEDED", "#B8B8B8"),
}
"""Of the baseline and of the arms after it. A shade returns with other dashes."""


PAGE_GREYS: Mapping[str, Mapping[str, str]] = {
    "light": {"quiet": "#595959", "line": "#DADADA", "shade": "#F4F4F2"},
    "dark": {"quiet": "#ABABAB", "line": "#3C3C3C", "shade": "#222222"},
}
"""Of words beside the point, of lines, and of grounds that set a part off."""


def chart_variables(scheme: str) -> str:
    """The colours of a scheme as CSS variables for charts."""
    roles = [f"--ow-{role}: {colour};" for role, colour in ROLE_COLOURS[scheme].items()]
    shades = [f"--ow-line-{number}: {shade};" for number, shade in enumerate(ARM_SHADES[scheme], start=1)]
    return " ".join([*roles, *shades, f"--ow-on-part: {PAPER[scheme]};"])


def page_variables(scheme: str) -> str:
    """The colours of a scheme as CSS variables for a page."""
    named = {**ROLE_COLOURS[scheme], **PAGE_GREYS[scheme]}
    colours = [f"--{name}: {colour};" for name, colour in named.items()]
    return " ".join([f"--paper: {PAPER[scheme]};", f"--ink: {INK[scheme]};", *colours])


COLOUR_STYLE = f"""
:root {{ color-scheme: light dark; {page_variables("light")} }}
@media (prefers-color-scheme: dark) {{ :root {{ {page_variables("dark")} }} }}
.good {{ --tone: var(--better); }} .bad {{ --tone: var(--worse); }}
.unsure {{ --tone: var(--unknown); }} .plain {{ --tone: var(--neutral); }}
"""
"""The colours of every page, light and dark, and the tones of words; reports and the viewer share them."""
