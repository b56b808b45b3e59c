"""How the page for the browser looks: light and dark, from a phone to a wide screen, and on paper."""

STYLE = """
:root {
  color-scheme: light dark;
  --paper: #fcfcfa; --ink: #1c1c1a; --quiet: #5a5a55; --line: #deded8; --shade: #f1f1ec;
  --good: #005a8e; --bad: #a33f00; --unsure: #7a5c00; --plain: #5a5a55;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #171716; --ink: #ececea; --quiet: #a8a8a0; --line: #3a3a36; --shade: #232321;
    --good: #6dbdf0; --bad: #f0a050; --unsure: #e0c860; --plain: #a8a8a0;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 68rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h1, h2, h3 { line-height: 1.25; overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; margin: 0 0 1rem; }
h2 { font-size: 1.3rem; margin: 3rem 0 1rem; }
h1, h2:not(.block) { padding: 0.6rem 0.9rem; background: var(--shade); border-left: 0.4rem solid var(--tone); }
.block { font-size: 1rem; margin: 1.75rem 0 0.5rem; }
.good { --tone: var(--good); } .bad { --tone: var(--bad); }
.unsure { --tone: var(--unsure); } .plain { --tone: var(--plain); }
ul { margin: 0; padding-left: 1.2rem; }
li { overflow-wrap: anywhere; }
li::marker { color: var(--tone, var(--plain)); }
nav { margin: 1rem 0; }
a { color: var(--good); }
.lead { font-size: 1.125rem; max-width: 48rem; overflow-wrap: anywhere; }
.pictures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 28rem), 1fr)); gap: 0 2.5rem; }
.pictures > section { min-width: 0; }
figure { margin: 0; max-width: 44rem; }
details { margin: 0.75rem 0; }
details > details, details > section { margin-left: 1rem; }
summary { cursor: pointer; padding: 0.35rem 0; font-weight: 600; overflow-wrap: anywhere; }
details details > summary { font-weight: 400; }
:focus-visible { outline: 2px solid var(--good); outline-offset: 2px; }
figcaption { color: var(--quiet); font-size: 0.875rem; margin-top: 0.5rem; }
/* A shadow at an edge says that the table goes on there; the cover moves with the table and hides it at the end. */
.scroll {
  overflow-x: auto;
  background:
    linear-gradient(to right, var(--paper) 50%, transparent) left / 2.5rem 100% no-repeat local,
    linear-gradient(to left, var(--paper) 50%, transparent) right / 2.5rem 100% no-repeat local,
    linear-gradient(to right, var(--line), transparent) left / 1rem 100% no-repeat scroll,
    linear-gradient(to left, var(--line), transparent) right / 1rem 100% no-repeat scroll;
}
table { border-collapse: collapse; font-size: 0.9rem; font-variant-numeric: tabular-nums; }
th, td { padding: 0.3rem 0.75rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap; }
th:first-child { text-align: left; padding-left: 0; }
th { white-space: normal; overflow-wrap: break-word; max-width: 16rem; }
thead th { color: var(--quiet); font-weight: 600; border-bottom-width: 2px; vertical-align: bottom; }
tbody th { font-weight: 400; min-width: min(12rem, 36vw); }
th:first-child { position: sticky; left: 0; background: var(--paper); }
td.good, td.bad, td.unsure { color: var(--tone); }
td.good, td.bad { font-weight: 600; }
pre { margin: 0; padding: 0.75rem 0.9rem; background: var(--shade); font-size: 0.875rem; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; }
@media (max-width: 30rem) {
  th, td { padding: 0.3rem 0.4rem; }
  tbody th { min-width: 30vw; }
  table { font-size: 0.85rem; }
}
@media print {
  .scroll { overflow: visible; background: none; }
  .pictures > section, figure, li, tr { break-inside: avoid; }
}
"""
