"""Writes tasks/ and script.toml of the demo suite, which ships with the package.

Twelve small tasks of four kinds, and how a pretended agent fares. Each task is real: its checks run on
files, the solution passes them, and what the script leaves behind on a bad day does not. Only who solves what, and at
which price, is made up.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree
from textwrap import dedent

from outweigh.agents.private_folder import SOLUTION_SCRIPT

SUITE = Path(__file__).resolve().parents[1] / "src" / "outweigh" / "demo_suite"
Files = Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoTask:
    """A task and its pretended difficulty. `workspace` is what the agent finds, `botched` what a bad day leaves."""

    name: str
    instruction: str
    workspace: Files
    checks: str
    tests: Files
    solution: str
    botched: Files
    solve_probability: float
    minutes: float


def fix(name: str, code: str, right: str, wrong: str, asked: str, answers: str, chance: float) -> DemoTask:
    """A program with a mistake in one line."""
    broken = code.replace("FAULT", wrong)
    return DemoTask(
        name=f"fix-{name}",
        instruction=f"`python3 {name}` reads lines and answers each with one. Some answers are wrong. Fix it.\n",
        workspace={name: broken},
        checks='[[metadata.outweigh.checks]]\ntype = "command"\nname = "right-answers"\n'
        "run = 'sh \"$OUTWEIGH_TESTS/answers.sh\"'\n",
        tests={"answers.sh": f"[ \"$(printf '{asked}' | python3 -S {name})\" = \"$(printf '{answers}')\" ]\n"},
        solution=f"cat > {name} <<'END'\n{code.replace('FAULT', right)}END\n",
        botched={name: f"# looked at, no mistake found\n{broken}"},
        solve_probability=chance,
        minutes=2.0,
    )


def configure(name: str, wish: str, before: str, after: str, at: str, value: str, chance: float) -> DemoTask:
    """A setting to change, and a file to leave alone."""
    return DemoTask(
        name=f"configure-{name}",
        instruction=f"{wish} Change `settings.json` only: `defaults.json` belongs to another team.\n",
        workspace={"settings.json": before, "defaults.json": before},
        checks=f'[[metadata.outweigh.checks]]\ntype = "json_value"\nname = "set"\npath = "settings.json"\n'
        f'at = "{at}"\nequals = {value}\n\n'
        '[[metadata.outweigh.checks]]\ntype = "unchanged"\nname = "defaults-kept"\npaths = ["defaults.json"]\n',
        tests={},
        solution=f"cat > settings.json <<'END'\n{after}END\n",
        botched={"defaults.json": after},
        solve_probability=chance,
        minutes=1.0,
    )


def total(name: str, question: str, rows: str, answer: str, wrong: str, chance: float) -> DemoTask:
    """A question about a table."""
    return DemoTask(
        name=f"total-{name}",
        instruction=f"{question} Write the number, and nothing else, to `answer.txt`. Leave `data.csv` as it is.\n",
        workspace={"data.csv": rows},
        checks='[[metadata.outweigh.checks]]\ntype = "file_contains"\nname = "right-number"\npath = "answer.txt"\n'
        f"regex = '^{answer}\\s*$'\n\n"
        '[[metadata.outweigh.checks]]\ntype = "unchanged"\nname = "data-kept"\npaths = ["data.csv"]\n',
        tests={},
        solution=f"echo {answer} > answer.txt\n",
        botched={"answer.txt": f"{wrong}\n"},
        solve_probability=chance,
        minutes=1.5,
    )


def rename(old: str, new: str, call: str, chance: float) -> DemoTask:
    """A function to rename in two scripts."""
    library, program = f'{old}() {{\n    echo "$1"\n}}\n', f". ./library.sh\n{old} {call}\n"
    return DemoTask(
        name=f"rename-{old}",
        instruction=f"Rename the shell function `{old}` to `{new}` everywhere; `sh program.sh` must print the same.\n",
        workspace={"library.sh": library, "program.sh": program},
        checks='[[metadata.outweigh.checks]]\ntype = "reward"\nname = "renamed"\n'
        "run = 'sh \"$OUTWEIGH_TESTS/test.sh\"'\n",
        tests={
            "test.sh": f'reward=0\nif [ "$(sh program.sh)" = "{call}" ] && grep -q {new} library.sh &&\n'
            f"    ! grep -q {old} library.sh program.sh; then\n    reward=1\nfi\n"
            'echo "$reward" > "${OUTWEIGH_REWARD:-/logs/verifier/reward.txt}"\n'
        },
        solution=f"sed -i 's/{old}/{new}/' library.sh program.sh\n",
        botched={"library.sh": library.replace(old, new)},
        solve_probability=chance,
        minutes=2.0,
    )


def demo_tasks() -> Iterator[DemoTask]:
    """All twelve, from easy to hard within each kind."""
    yield fix(
        "median",
        "import sys\n\nfor line in sys.stdin:\n    values = sorted(map(float, line.split()))\n"
        "    middle = len(values) // 2\n    odd = len(values) % 2\n    print(values[middle] if odd else FAULT)\n",
        "(values[middle - 1] + values[middle]) / 2",
        "(values[0] + values[-1]) / 2",
        "3 1 2\\n9 1 3 2\\n",
        "2.0\\n2.5\\n",
        0.65,
    )
    yield fix(
        "pairs",
        "import sys\n\nfor line in sys.stdin:\n    words = line.split()\n"
        '    print(" ".join("+".join(words[at : at + 2]) for at in FAULT))\n',
        "range(0, len(words), 2)",
        "range(0, len(words) - 1, 2)",
        "a b c d\\na b c\\n",
        "a+b c+d\\na+b c\\n",
        0.55,
    )
    yield fix(
        "slug",
        'import sys\n\nfor line in sys.stdin:\n    words = FAULT\n    print("-".join(words))\n',
        '"".join(c if c.isalnum() else " " for c in line.lower()).split()',
        "line.lower().split()",
        "Two  gaps\\nHello, world!\\n",
        "two-gaps\\nhello-world\\n",
        0.4,
    )
    yield configure(
        "timeout",
        "Requests should give up after 30 seconds.",
        '{"http": {"timeout": 300}}\n',
        '{"http": {"timeout": 30}}\n',
        "http.timeout",
        "30",
        0.75,
    )
    yield configure(
        "logging",
        "Log warnings and worse only.",
        '{"logging": {"level": "debug"}}\n',
        '{"logging": {"level": "warning"}}\n',
        "logging.level",
        '"warning"',
        0.7,
    )
    yield configure(
        "mirror",
        "Downloads should come from the second mirror first.",
        '{"mirrors": ["north", "south"]}\n',
        '{"mirrors": ["south", "north"]}\n',
        "mirrors.0",
        '"south"',
        0.5,
    )
    yield total(
        "stock", "How many pieces are there in all?", "part,pieces\nbolt,40\nnut,25\nscrew,7\n", "72", "65", 0.7
    )
    yield total(
        "refunds",
        "What is the sum of the amounts, without the rows that are refunds?",
        "kind,amount\nsale,120\nrefund,20\nsale,35\nrefund,5\n",
        "155",
        "180",
        0.55,
    )
    yield total(
        "visitors",
        "On how many days were there more than 100 visitors?",
        "day,visitors\n1,100\n2,101\n3,250\n4,99\n5,130\n",
        "3",
        "4",
        0.45,
    )
    yield rename("greet", "welcome", "hello", 0.65)
    yield rename("show", "present", "picture", 0.5)
    yield rename("keep", "store", "parcel", 0.4)


def task_files(task: DemoTask) -> Iterator[tuple[str, str]]:
    """The task's folder in the Harbor layout, file by file."""
    yield "task.toml", task_toml(task)
    yield "instruction.md", task.instruction
    yield "environment/Dockerfile", "FROM python:3.12-slim\nWORKDIR /app\nCOPY workspace/ ./\n"
    for name, content in task.workspace.items():
        yield f"environment/workspace/{name}", content
    for name, content in task.tests.items():
        yield f"tests/{name}", content
    yield f"solution/{SOLUTION_SCRIPT}", f"#!/bin/sh\nset -eu\n{task.solution}"


def task_toml(task: DemoTask) -> str:
    """The task file: Harbor's keys, and outweigh's in a table of their own."""
    head = f"""\
        schema_version = "1.4"

        [task]
        name = "outweigh-demo/{task.name}"

        [agent]
        timeout_sec = 600.0

        [metadata.outweigh]
        workspace = {{ type = "folder", path = "environment/workspace" }}
        """
    return f"{dedent(head)}\n{task.checks}"


def script_toml(tasks: list[DemoTask]) -> str:
    """How the plain arm fares: chances and sizes by task, noise as real agents show it."""
    head = """\
        # Written by make_tasks.py. How the agent of the demo fares; the arms in suite.toml multiply these numbers.

        [default]
        on_success = [{ do = "solution" }]
        input_tokens = { median = 9000, spread = 0.2 }
        output_tokens = { median = 2500, spread = 0.2 }
        cache_read_tokens = { median = 120000, spread = 0.2 }
        cache_write_tokens = { median = 15000, spread = 0.1 }
        cost_usd = { median = 0.16, spread = 0.2 }
        step_count = { median = 14, spread = 0.2 }
        tool_call_count = { median = 11, spread = 0.2 }
        """
    return dedent(head) + "".join(map(_script_part, tasks))


def _script_part(task: DemoTask) -> str:
    steps = "".join(
        f"[[tasks.{task.name}.on_failure]]\ndo = \"write\"\npath = \"{path}\"\ncontent = '''\n{content}'''\n"
        for path, content in task.botched.items()
    )
    return (
        f"\n[tasks.{task.name}]\nsolve_probability = {task.solve_probability}\n"
        f"duration_seconds = {{ median = {60 * task.minutes:g}, spread = 0.25 }}\n{steps}"
    )


def main() -> None:
    """Write everything anew."""
    tasks = list(demo_tasks())
    rmtree(SUITE / "tasks", ignore_errors=True)
    for task in tasks:
        for name, content in task_files(task):
            path = SUITE / "tasks" / task.name / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        (SUITE / "tasks" / task.name / "solution" / SOLUTION_SCRIPT).chmod(0o755)
    (SUITE / "script.toml").write_text(script_toml(tasks))


if __name__ == "__main__":
    main()
