"""The style sheet of HTML pages: type scale, spacing, light and dark, phones and paper."""

from outweigh.report.palette import COLOUR_STYLE, INK, PAPER, page_variables

PAGE_STYLE = f"""{COLOUR_STYLE}* {{ box-sizing: border-box; }}
body {{ margin: 0; background: var(--paper); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; }}
main {{ max-width: 70rem; margin: 0 auto; padding: 1.5rem 1rem 3rem; }}
h1, h2, h3, h4 {{ line-height: 1.25; overflow-wrap: anywhere; }}
h1 {{ font-size: 1.75rem; margin: 0.25rem 0 0.75rem; }}
h2:not(.block) {{ font-size: 1.25rem; margin: 2.5rem 0 0.75rem; padding-left: 0.75rem; }}
h2:not(.block) {{ border-left: 0.25rem solid var(--tone); }}
.block {{ font-size: 1rem; margin: 1.5rem 0 0.5rem; }}
.badge {{
  display: inline-block; padding: 0.1rem 0.6rem; border: 0.125rem solid var(--tone); border-radius: 1rem;
  color: var(--tone); font-size: 0.875rem; font-weight: 700; white-space: nowrap;
}}
.badge.good::before, td.good::before {{ content: "▲ " / ""; }}
.badge.bad::before, td.bad::before {{ content: "▼ " / ""; }}
.badge.unsure::before, td.unsure::before {{ content: "? " / ""; }}
.badge.plain::before {{ content: "= " / ""; }}
.lead {{ font-size: 1.25rem; line-height: 1.4; max-width: 60rem; margin: 1rem 0 0.75rem; overflow-wrap: anywhere; }}
.facts {{ display: flex; flex-wrap: wrap; gap: 0.5rem 2rem; margin: 0; padding: 0.75rem 0; }}
.facts {{ border-top: 1px solid var(--line); border-bottom: 1px solid var(--line); font-size: 0.875rem; }}
.facts dt {{ color: var(--quiet); font-size: 0.8125rem; }}
.facts dd {{ margin: 0; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }}
.note {{ color: var(--quiet); font-size: 0.875rem; margin: 0.5rem 0 0; max-width: 56rem; }}
ul {{ margin: 0; padding-left: 1.2rem; max-width: 60rem; }}
li {{ overflow-wrap: anywhere; margin: 0.15rem 0; }}
li::marker {{ color: var(--neutral); }}
nav {{ margin: 1rem 0; }}
a {{ color: inherit; text-decoration: underline; text-underline-offset: 0.15em; }}
.pictures {{ display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 28rem), 1fr)); gap: 0 3rem; }}
.pictures > section {{ min-width: 0; }}
section > p {{ margin: 0; max-width: 60rem; overflow-wrap: anywhere; }}
figure {{ margin: 0; max-width: 44rem; }}
figcaption {{ color: var(--quiet); font-size: 0.8125rem; line-height: 1.4; margin-top: 0.5rem; }}
details {{ border-top: 1px solid var(--line); }}
main > details:last-of-type {{ border-bottom: 1px solid var(--line); }}
.first-screen {{ padding-bottom: 1.5rem; }}
details > section > .block {{ margin-top: 1rem; }}
details[open] {{ padding-bottom: 1.5rem; }}
details details[open] {{ padding-bottom: 0.5rem; }}
details > details, details > section, details > .pictures {{ margin-left: 1.1rem; }}
summary {{ cursor: pointer; padding: 0.6rem 0; font-weight: 600; overflow-wrap: anywhere; }}
summary .badge {{ margin: 0 0.35rem; }}
details details > summary {{ font-weight: 400; padding: 0.35rem 0; }}
:focus-visible {{ outline: 2px solid var(--ink); outline-offset: 2px; }}
.pair {{ display: none; margin: 1rem 0; padding: 0.25rem 1rem 1rem; background: var(--shade); }}
.pair:target {{ display: block; }}
.pair {{ border-left: 0.25rem solid var(--neutral); --paper: var(--shade); }}
dfn.term {{ font-style: inherit; text-decoration: underline dotted; text-underline-offset: 0.2em; cursor: help; }}
dfn.term:hover::after, dfn.term:focus::after {{
  content: attr(data-tip); position: fixed; right: 1rem; bottom: 1rem; z-index: 1; white-space: normal;
  width: max-content; max-width: min(22rem, calc(100vw - 2rem)); padding: 0.5rem 0.75rem; text-align: left;
  background: var(--ink); color: var(--paper-of-page); font: 0.875rem/1.4 system-ui, sans-serif;
}}
@supports (position-area: block-end) {{
  dfn.term:hover, dfn.term:focus {{ anchor-name: --term; }}
  dfn.term:focus:not(:hover) {{ anchor-name: --term-in-focus; }}
  dfn.term:hover::after, dfn.term:focus::after {{
    position-anchor: --term; position-area: block-end span-inline-end; right: auto; bottom: auto;
    margin: 0.25rem 0.5rem; position-try-fallbacks: flip-inline, flip-block, flip-block flip-inline;
  }}
  dfn.term:focus:not(:hover)::after {{ position-anchor: --term-in-focus; }}
}}
.glossary {{ display: grid; grid-template-columns: max-content 1fr; gap: 0.25rem 1.5rem; margin: 0 0 0 1.1rem; }}
.glossary dt {{ font-weight: 600; }} .glossary dd {{ margin: 0; }}
/* A shadow at an edge says that the table goes on there; the cover moves with the table and hides it at the end. */
.scroll {{
  overflow-x: auto;
  background:
    linear-gradient(to right, var(--paper) 50%, transparent) left / 2.5rem 100% no-repeat local,
    linear-gradient(to left, var(--paper) 50%, transparent) right / 2.5rem 100% no-repeat local,
    linear-gradient(to right, var(--line), transparent) left / 1rem 100% no-repeat scroll,
    linear-gradient(to left, var(--line), transparent) right / 1rem 100% no-repeat scroll;
}}
table {{ border-collapse: collapse; font-size: 0.875rem; font-variant-numeric: tabular-nums; }}
th, td {{ padding: 0.3rem 0.75rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap; }}
th:first-child {{ text-align: left; padding-left: 0; }}
thead td {{ border-bottom-width: 2px; }}
th {{ white-space: normal; overflow-wrap: break-word; max-width: 16rem; }}
td.words {{ white-space: normal; text-align: left; min-width: 16rem; max-width: 34rem; }}
thead th {{ color: var(--quiet); font-weight: 600; border-bottom-width: 2px; vertical-align: bottom; }}
tbody th {{ font-weight: 400; min-width: min(12rem, 36vw); max-width: min(32rem, 50vw); }}
th:first-child {{ position: sticky; left: 0; background: var(--paper); }}
td.good, td.bad, td.unsure {{ color: var(--tone); }}
pre {{ margin: 0; padding: 0.75rem 1rem; background: var(--shade); font-size: 0.8125rem; }}
pre {{ white-space: pre-wrap; overflow-wrap: anywhere; }}
:root {{ --paper-of-page: {PAPER["light"]}; }}
@media (prefers-color-scheme: dark) {{ :root {{ --paper-of-page: {PAPER["dark"]}; }} }}
@media (max-width: 30rem) {{
  h1 {{ font-size: 1.375rem; }}
  .lead {{ font-size: 1rem; }}
  th, td {{ padding: 0.3rem 0.4rem; }}
  tbody th {{ min-width: 30vw; }}
  table {{ font-size: 0.8125rem; }}
  .facts {{ gap: 0.5rem 1.5rem; }}
  .glossary {{ grid-template-columns: 1fr; }} .glossary dd {{ margin-bottom: 0.5rem; }}
}}
/* On paper everything is open but pairs and long lists of runs, and colours are those of the light page. */
@media print {{
  :root {{ color-scheme: light; {page_variables("light")} }}
  body {{ font-size: 0.75rem; color: {INK["light"]}; }}
  details:not(.long)::details-content {{ content-visibility: visible; display: block; block-size: auto; }}
  summary {{ list-style: none; }}
  .scroll {{ overflow: visible; background: none; }}
  .pictures > section, figure, li, tr, .pair {{ break-inside: avoid; }}
  h2, h3, summary {{ break-after: avoid; }}
  dfn.term {{ text-decoration: none; }}
}}
"""
