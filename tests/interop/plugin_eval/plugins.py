"""A plugin with evals as people write them: cases in both forms, and graders of all six kinds."""

import json
from pathlib import Path

CASE = """\
schema_version: "1.0"
name: write report
runs: 2
tags: [smoke]
context:
  scaffold_script: scaffold.sh
execution:
  prompt: Write report.md about data.csv.
  max_turns: 8
  timeout_seconds: 120
  allowed_tools: [Read, Write, "Bash(ls:*)"]
  env: {EVAL_MODE: test}
graders:
  - {name: created, type: file_exists, path: "**/*.md", weight: 2}
  - {name: no secrets, type: file_exists, path: secret.txt, exists: false}
  - {name: names, type: regex, target: {source: file, path: report.md}, pattern: "(?<who>anna|berta)", flags: i}
  - {name: traced, type: regex, target: trace, pattern: report, match: "count:2"}
  - {name: listed, type: regex, target: files, pattern: "^report", flags: m}
  - {name: ordered, type: tool_order, before: Read, after: {tool: Write, input_match: report}}
  - {name: few, type: tool_used, tool: Write, min: 0, max: 3}
  - {name: as before, type: baseline, baseline_file: golden.jsonl, criteria: It is as short.}
"""
GOLDEN = [
    {"type": "assistant", "message": {"content": [{"type": "tool_use", "name": "Write", "input": {"path": "r"}}]}},
    {"type": "assistant", "message": {"content": [{"type": "text", "text": "Written."}]}},
]
FILES = {
    ".claude-plugin/plugin.json": '{"name": "tiny", "version": "0.1.0", "description": "A tiny plugin"}',
    "skills/haiku/SKILL.md": "---\nname: haiku\ndescription: Use when a greeting is asked for.\n---\nSay HELLO.\n",
    "evals/greeting/prompt.md": "---\nmax_turns: 5\nruns: 3\nallowed_tools: [Read, Skill]\n---\nWrite a greeting.\n",
    "evals/greeting/graders/fired.md": "---\ntype: tool_used\ntool: Skill\n---\n",
    "evals/greeting/graders/hello.md": "---\ntype: regex\nweight: 1\n---\nHELLO\n",
    "evals/greeting/graders/polite.md": "---\ntype: llm\nweight: 2\n---\nThe reply is polite.\n",
    "evals/deep/report/case.yaml": CASE,
    "evals/deep/report/scaffold.sh": 'cp "$(dirname "$0")/data.csv" .\n',
    "evals/deep/report/data.csv": "name\nanna\n",
    "evals/deep/report/golden.jsonl": "".join(json.dumps(event) + "\n" for event in GOLDEN),
    "evals/mocks/mail/send.md": "Sent.\n",
    "evals/results/1/aggregate-result.json": "{}",
}


def a_plugin(folder: Path, **files: str | None) -> Path:
    """The plugin, with other files by their path; None leaves one out, `__` stands for a slash, `_dot_` for a dot."""
    changed = {name.replace("__", "/").replace("_dot_", "."): text for name, text in files.items()}
    for name, text in (FILES | changed).items():
        if text is not None:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
    return folder
