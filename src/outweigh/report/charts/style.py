"""How charts look, once per page: colours of Okabe and Ito, safe for colour-blind eyes, for light and for dark.

Shapes, dashes and words say the same as the colours, so that a chart can be read in grey. Ink is the colour of the text
around it.
"""

DARK_COLOURS = """
  --ow-better: #56B4E9; --ow-worse: #E69F00; --ow-heat: #56B4E9; --ow-on-part: #171716;
  --ow-line-1: #b8b8b0; --ow-line-2: #56B4E9; --ow-line-3: #E69F00; --ow-line-4: #2fc79a;
  --ow-line-5: #e393c0; --ow-line-6: #F0E442;
"""

STYLE = f"""
.ow-chart {{
  --ow-better: #0072B2; --ow-worse: #B34700; --ow-heat: #0072B2; --ow-on-part: #ffffff;
  --ow-line-1: #5a5a55; --ow-line-2: #0072B2; --ow-line-3: #B34700; --ow-line-4: #007a59;
  --ow-line-5: #a8487f; --ow-line-6: #7a6a00;
  font: 14px system-ui, sans-serif; overflow: visible; font-variant-numeric: tabular-nums;
}}
@media (prefers-color-scheme: dark) {{ .ow-chart {{ {DARK_COLOURS} }} }}
@media (max-width: 30rem) {{ .ow-chart {{ font-size: 12px; }} }}
/* A halo in the colour of the page keeps words readable where a line passes behind them. */
.ow-chart text {{ fill: currentColor; stroke: var(--paper, Canvas); stroke-width: 4px; paint-order: stroke; }}
.ow-chart text.ow-figure, .ow-chart text.ow-on-part {{ stroke: none; }}
.ow-chart .ow-small {{ font-size: 12px; fill-opacity: 0.8; }}
.ow-chart .ow-name {{ font-weight: 600; }}
.ow-chart .ow-big {{ font-size: 20px; font-weight: 700; }}
.ow-chart .ow-band {{ fill: currentColor; opacity: 0.13; }}
.ow-chart .ow-line {{ stroke: currentColor; opacity: 0.25; }}
.ow-chart .ow-zero {{ stroke: currentColor; stroke-width: 1.5; }}
.ow-chart .ow-limit {{ stroke: currentColor; stroke-dasharray: 4 4; opacity: 0.7; }}
.ow-chart .ow-better {{ fill: var(--ow-better); stroke: var(--ow-better); }}
.ow-chart .ow-worse {{ fill: var(--ow-worse); stroke: var(--ow-worse); }}
.ow-chart .ow-open {{ fill: none; stroke: currentColor; }}
.ow-chart .ow-ink {{ fill: currentColor; stroke: currentColor; }}
.ow-chart .ow-bar {{ fill: currentColor; fill-opacity: 0.55; }}
.ow-chart .ow-bar.ow-of-2 {{ fill: var(--ow-better); fill-opacity: 0.9; }}
.ow-chart .ow-box {{ fill: none; stroke: currentColor; }}
.ow-chart .ow-cell {{ fill: var(--ow-heat); stroke: currentColor; stroke-opacity: 0.35; }}
.ow-chart .ow-empty {{ fill: none; stroke: currentColor; stroke-opacity: 0.35; stroke-dasharray: 3 3; }}
.ow-chart text.ow-on-part {{ fill: var(--ow-on-part); }}
.ow-chart .ow-figure {{ font-size: 12px; }}
.ow-chart .ow-path {{ fill: none; stroke-width: 2; vector-effect: non-scaling-stroke; }}
.ow-chart .ow-area {{ fill: var(--ow-better); fill-opacity: 0.18; stroke: none; }}
.ow-chart .ow-arc {{ fill: none; }}
.ow-chart .ow-path.ow-of-1, .ow-chart .ow-swatch.ow-of-1 {{ stroke: var(--ow-line-1); }}
.ow-chart .ow-path.ow-of-2, .ow-chart .ow-swatch.ow-of-2 {{ stroke: var(--ow-line-2); }}
.ow-chart .ow-path.ow-of-3, .ow-chart .ow-swatch.ow-of-3 {{ stroke: var(--ow-line-3); stroke-dasharray: 8 4; }}
.ow-chart .ow-path.ow-of-4, .ow-chart .ow-swatch.ow-of-4 {{ stroke: var(--ow-line-4); stroke-dasharray: 2 3; }}
.ow-chart .ow-path.ow-of-5, .ow-chart .ow-swatch.ow-of-5 {{ stroke: var(--ow-line-5); stroke-dasharray: 12 3 2 3; }}
.ow-chart .ow-path.ow-of-6, .ow-chart .ow-swatch.ow-of-6 {{ stroke: var(--ow-line-6); stroke-dasharray: 5 2; }}
.ow-chart .ow-swatch {{ stroke-width: 3; }}
.ow-chart .ow-part-1 {{ fill: var(--ow-line-2); }} .ow-chart .ow-part-2 {{ fill: var(--ow-line-3); }}
.ow-chart .ow-part-3 {{ fill: var(--ow-line-4); }} .ow-chart .ow-part-4 {{ fill: var(--ow-line-5); }}
.ow-chart .ow-part-5 {{ fill: var(--ow-line-6); }} .ow-chart .ow-part-6 {{ fill: var(--ow-line-1); }}
"""

LINES = 6
"""How many lines and parts can be told apart; more begin anew, and their words tell them apart."""


def standalone(svg: str) -> str:
    """The drawing as a file of its own, which brings its style along."""
    head, rest = svg.split("\n", 1)
    return f"{head}\n<style>{STYLE}</style>\n{rest}\n"
