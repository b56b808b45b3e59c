"""Write the starter suite: a small one that runs as it is and shows what to replace."""

from collections.abc import Iterator
from pathlib import Path

from outweigh.app.new_files import ignore_generated, refuse_to_overwrite, write_files
from outweigh.ports.suites import DraftFile

STARTER_SUITE = """\
# An experiment: every arm attempts every task this many times. Two tasks are enough to see it run; a verdict needs
# at least six, and more to see a small difference (`outweigh plan` says how many).
name = "starter"
tasks = ["tasks/*"]
baseline = "plain"
repeats = 5

# The scripted agent only pretends. Put a real one here; `outweigh doctor` says which are installed, and whether there
# is a key for their models:
#   agent = "claude-code"  (or codex, gemini-cli, opencode, goose, qwen-code, mini-swe-agent, aider, pi, copilot, cline)
#   model = "claude-sonnet-4-5"
# or any other command line that reads its instruction from standard input and works in the current folder:
#   agent = "shell"
#   options = { command = ["my-agent", "--headless"] }
[arms.plain]
agent = "scripted"
options = { script = "script.toml" }

# The change in question: more instructions, a skill, a tool server, another model.
[arms.candidate]
extends = "plain"
extra_prompt = "Read the file again before you say that it is done."
options.factors = { solve_odds = 4.0, duration = 0.9, tokens = 0.9, cost = 0.9 }

# The script is harmless, so that a plain folder will do. Remove this with the script: real agents need isolation.
[sandbox]
kind = "local"

[limits]
timeout_seconds = 600
"""

STARTER_SCRIPT = """\
# How the scripted agent fares: real changes to real files, pretended chances, times, tokens and dollars.
[default]
solve_probability = 0.6
on_success = [{ do = "solution" }]
on_failure = [{ do = "write", path = "notes.txt", content = "Ran out of ideas.\\n" }]
duration_seconds = { median = 60, spread = 0.25 }
input_tokens = { median = 9000, spread = 0.2 }
output_tokens = { median = 2500, spread = 0.2 }
cache_read_tokens = { median = 120000, spread = 0.2 }
cache_write_tokens = { median = 15000, spread = 0.1 }
cost_usd = { median = 0.16, spread = 0.2 }
step_count = { median = 14, spread = 0.2 }
tool_call_count = { median = 11, spread = 0.2 }
"""

_TASK = """\
schema_version = "1.4"

[task]
name = "starter/{name}"

[metadata.outweigh]
workspace = {{ type = "folder", path = "environment/workspace" }}

{checks}"""

_GREETING_CHECKS = """\
[[metadata.outweigh.checks]]
type = "file_contains"
name = "greets"
path = "greeting.txt"
text = "Hello, world"
"""

# A command sees the task's tests folder, which the agent never saw, under this name.
_COUNT_CHECKS = """\
[[metadata.outweigh.checks]]
type = "command"
name = "counts"
run = 'sh "$OUTWEIGH_TESTS/counts.sh"'

[[metadata.outweigh.checks]]
type = "unchanged"
name = "list-kept"
paths = ["list.txt"]
"""


def write_starter(folder: Path) -> int:
    """Write the starter suite, and say how many files it has; nothing is overwritten."""
    files = {name: DraftFile(content=content) for name, content in starter_files().items()}
    refuse_to_overwrite([folder / name for name in files], folder)
    write_files(folder, files)
    ignore_generated(folder)
    return len(files)


def starter_files() -> dict[str, bytes]:
    """Every file of the starter suite by its path, ready to be written; no file needs to be executable."""
    return {path: text.encode() for path, text in _files()}


def _files() -> Iterator[tuple[str, str]]:
    yield "suite.toml", STARTER_SUITE
    yield "script.toml", STARTER_SCRIPT
    for path, text in _greeting().items():
        yield f"tasks/write-greeting/{path}", text
    for path, text in _counting().items():
        yield f"tasks/count-lines/{path}", text


def _greeting() -> dict[str, str]:
    return {
        "task.toml": _TASK.format(name="write-greeting", checks=_GREETING_CHECKS),
        "instruction.md": "Write `Hello, world` to `greeting.txt`.\n",
        "environment/workspace/README.md": "A folder that misses a greeting.\n",
        "solution/solve.sh": "#!/bin/sh\necho 'Hello, world' > greeting.txt\n",
    }


def _counting() -> dict[str, str]:
    return {
        "task.toml": _TASK.format(name="count-lines", checks=_COUNT_CHECKS),
        "instruction.md": "Write the number of lines of `list.txt` to `count.txt`. Leave the list as it is.\n",
        "environment/workspace/list.txt": "one\ntwo\nthree\n",
        "tests/counts.sh": '[ "$(cat count.txt)" -eq 3 ]\n',
        "solution/solve.sh": "#!/bin/sh\nset -eu\ngrep -c '' list.txt > count.txt\n",
    }
