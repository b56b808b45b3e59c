"""Runs the steps of a composite action as its host would: expressions, conditions, outputs, and bash for `run`.

Of the expressions only those parts are known that action.yml uses, and anything else fails the test that meets it.
"""

import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

PATIENCE = 900.0
_EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}", re.DOTALL)
_WORD = re.compile(r"\s*('(?:[^']|'')*'|[\w.-]+|==|!=|&&|\|\||\(|\))")


@dataclass
class Host:
    """What lasts longer than a job: the caches, and what was uploaded."""

    folder: Path
    caches: dict[str, Path] = field(default_factory=dict)
    uploads: dict[str, Path] = field(default_factory=dict)


@dataclass
class Ended:
    """How a job ended: which steps ran, what each said, and what the action puts out."""

    code: int
    ran: list[str]
    said: str
    outputs: dict[str, str]
    summary: str


class ActionJob:
    """One job with one step that uses the action."""

    def __init__(self, action: Path, host: Host, folder: Path, github: Mapping[str, Any]) -> None:
        self._action = msgspec.yaml.decode(action.read_bytes())
        self._host, self._folder, self._github = host, folder, github
        self._place = action.parent
        for part in ("temp", "files"):
            (folder / part).mkdir(parents=True)
        self._steps: dict[str, dict[str, str]] = {}

    def run(self, inputs: Mapping[str, str], environment: Mapping[str, str], workspace: Path) -> Ended:
        """Every step whose condition holds, until one fails."""
        known = {name: self._filled(str(spec.get("default", ""))) for name, spec in self._action["inputs"].items()}
        self._inputs = known | dict(inputs)
        summary = self._folder / "summary.md"
        ended = Ended(code=0, ran=[], said="", outputs={}, summary="")
        for number, step in enumerate(self._action["runs"]["steps"]):
            if "if" in step and not self._value(step["if"]):
                continue
            ended.ran.append(step["name"])
            code = self._use(step) if "uses" in step else self._shell(number, step, environment, workspace, ended)
            if code and not step.get("continue-on-error"):
                ended.code = code
                break
        ended.outputs = {name: self._filled(spec["value"]) for name, spec in self._action["outputs"].items()}
        ended.summary = summary.read_text() if summary.exists() else ""
        return ended

    def _shell(
        self, number: int, step: Mapping[str, Any], environment: Mapping[str, str], workspace: Path, ended: Ended
    ) -> int:
        assert step["shell"] == "bash"
        assert "${{" not in step["run"], "what others write must not become a part of a script"
        script, output = (self._folder / "files" / f"{number}.{kind}" for kind in ("sh", "output"))
        script.write_text(step["run"])
        output.touch()
        own = {name: self._filled(value) for name, value in step.get("env", {}).items()}
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", str(script)],
            cwd=workspace,
            env={
                **environment,
                "RUNNER_TEMP": str(self._folder / "temp"),
                "GITHUB_ACTION_PATH": str(self._place),
                "GITHUB_OUTPUT": str(output),
                "GITHUB_STEP_SUMMARY": str(self._folder / "summary.md"),
                "GITHUB_ACTIONS": "true",
                "CI": "true",
                **own,
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        ended.said += f"## {step['name']}\n{done.stdout}{done.stderr}"
        if "id" in step:
            lines = output.read_text().splitlines()
            self._steps[step["id"]] = dict(line.split("=", 1) for line in lines)
        return done.returncode

    def _use(self, step: Mapping[str, Any]) -> int:
        action, _, commit = step["uses"].partition("@")
        assert re.fullmatch(r"[0-9a-f]{40}", commit), f"{step['uses']} is not pinned"
        given = {name: self._filled(str(value)) for name, value in step["with"].items()}
        path = Path(given["path"])
        if action == "actions/cache/restore":
            kept = self._host.caches.get(given["key"])
            if kept is not None:
                shutil.copytree(kept, path)
            self._steps[step["id"]] = {"cache-hit": "true" if kept is not None else ""}
        elif action == "actions/cache/save":
            self._host.caches[given["key"]] = self._kept(path)
        else:
            assert (action, given["if-no-files-found"]) == ("actions/upload-artifact", "ignore")
            if path.exists():
                self._host.uploads[given["name"]] = self._kept(path)
        return 0

    def _kept(self, path: Path) -> Path:
        target = self._host.folder / str(len(list(self._host.folder.iterdir())))
        shutil.copytree(path, target)
        return target

    def _filled(self, text: str) -> str:
        return _EXPRESSION.sub(lambda found: _text(self._value(found[1])), text)

    def _value(self, expression: str) -> Any:
        words = _WORD.findall(_EXPRESSION.sub(r"\1", expression))
        value = self._either(words)
        assert not words, f"cannot be read: {expression}"
        return value

    def _either(self, words: list[str]) -> Any:
        value = self._both(words)
        while words[:1] == ["||"]:
            del words[0]
            other = self._both(words)
            value = value or other
        return value

    def _both(self, words: list[str]) -> Any:
        value = self._compared(words)
        while words[:1] == ["&&"]:
            del words[0]
            other = self._compared(words)
            value = other if value else value
        return value

    def _compared(self, words: list[str]) -> Any:
        value = self._word(words.pop(0))
        if words[:1] in (["=="], ["!="]):
            wanted = words.pop(0) == "=="
            return (_text(value) == _text(self._word(words.pop(0)))) is wanted
        return value

    def _word(self, word: str) -> Any:
        if word.startswith("'"):
            return word[1:-1].replace("''", "'")
        root, *path = word.split(".")
        found: Any = {
            "inputs": getattr(self, "_inputs", {}),
            "steps": {name: {"outputs": values} for name, values in self._steps.items()},
            "github": self._github,
            "runner": {"temp": str(self._folder / "temp"), "os": "Linux"},
        }[root]
        for part in path:
            found = (found or {}).get(part)
        return found


def _text(value: Any) -> str:
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
