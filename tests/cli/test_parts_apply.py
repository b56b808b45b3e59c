"""`outweigh parts apply`: which deletions are allowed, and the patch that makes them."""

import json
import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.cli.promote.promotable import REMOTE, edit_experiment
from tests.engine.engine_fixtures import write_suite
from tests.loopback_forge import TOKEN, loopback_forge
from tests.repositories import Repository

from outweigh.app.suite_selection import read_suite
from outweigh.cli.main import main
from outweigh.engine.load_suite import LoadedSuite
from outweigh.model.run_record import AgentIdentity, AgentKind
from outweigh.store.run_store import FolderRunStore
from outweigh.store.write_experiment import write_experiment
from outweigh.testing.builders import a_run

TASKS, REPEATS = 12, 5
SECTIONS = ("Style", "Tests", "Layout")
CLAUDE_MD = (
    "# Project\r\n\nRead this.\n" + "".join(f"## {name}\n\n- about {name.lower()}\n\n" for name in SECTIONS) + "end"
)
SERVERS = '{\n  "mcpServers": {\n    "docs":   {"command": "docs"},\n    "search": {"command": "search"}\n  }\n}\n'
SKILL = "---\nname: notes\ndescription: Take notes.\n---\nTake notes.\n"
PARTS: dict[str, Any] = {
    "start": {"instructions_file": "instructions/CLAUDE.md", "sections": ["Project"]},
    **{name.lower(): {"instructions_file": "instructions/CLAUDE.md", "sections": [name]} for name in SECTIONS},
    "notes": {"skills": ["skills/notes"]},
    "docs": {"mcp_servers": {"docs": {"command": ["docs"]}}},
}
CLAUDE_CODE = {"agent": "claude-code"}
SHELL = {"agent": "shell", "options": {"command": "true"}}
Passes = Callable[[str, int], bool]


def always(_arm: str, _repeat: int) -> bool:
    return True


class SetUp:
    """A repository with a set-up of six parts, a suite that leaves them out, and a store of its runs."""

    def __init__(
        self,
        folder: Path,
        *joint: tuple[str, ...],
        agent: Mapping[str, Any] = CLAUDE_CODE,
        more: Mapping[str, Any] | None = None,
    ) -> None:
        parts = {**PARTS, **(more or {})}
        self.repository = Repository(folder / "project")
        self.folder, self.store = self.repository.folder, folder / "store"
        self.suite = self.folder / "evals"
        arms = {
            "all-parts": {**agent, "parts": list(parts)},
            **{
                f"without-{'-'.join(left)}": {
                    **agent,
                    "parts": [part for part in parts if part not in left],
                }
                for left in (*((part,) for part in parts), *joint)
            },
        }
        policy = {"gates": ["pass_rate"], "margins": {"pass_rate": 0.3}}
        write_suite(self.suite, arms, tasks=TASKS, repeats=REPEATS, policy=policy, parts=parts)
        for number, task in enumerate(sorted(self.suite.glob("task-*"))):
            (task / "environment" / "question.txt").write_text(f"{number} x 7\n")
            (task / "task.toml").write_text((task / "task.toml").read_text().replace(', "family" = "answers"', ""))
        copies = {"evals/instructions/CLAUDE.md": CLAUDE_MD, "evals/skills/notes/SKILL.md": SKILL}
        own = {"CLAUDE.md": CLAUDE_MD, ".claude/skills/notes/SKILL.md": SKILL, ".mcp.json": SERVERS}
        for path, text in {**copies, **own}.items():
            (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / path).write_bytes(text.encode())
        self.repository.commit()

    def loaded(self) -> LoadedSuite:
        return read_suite(str(self.suite))

    def run(self, passes: Passes = always, kind: AgentKind = AgentKind.REAL, **fields: Any) -> "SetUp":
        """Records as if the suite had been run."""
        suite = self.loaded()
        with FolderRunStore.open(self.store) as target:
            write_experiment(self.store, suite.spec, suite.tasks, suite.arms, designs=suite.designs)
            for content in (*suite.overlays.values(), *(arm.manifest for arm in suite.arms.values())):
                target.keep(content)
            agent = AgentIdentity(kind=kind, name="claude-code", version="1", model=None)
            for name, arm in suite.arms.items():
                known = {"arm_fingerprint": arm.fingerprint, "agent": agent}
                for task in suite.tasks:
                    for repeat in range(1, REPEATS + 1):
                        record = a_run(
                            task.id,
                            name,
                            repeat,
                            passed=passes(name, repeat),
                            task_checksum=task.checksum,
                            **(known | fields),
                        )
                        target.append(record)
        return self

    def apply(self, *parts: str, more: tuple[str, ...] = ()) -> int:
        words = ["--drop", ",".join(parts), "--setup", str(self.folder), "-c", str(self.suite), *more]
        return main(["parts", "apply", str(self.store), *words])

    def patched(self, *parts: str) -> Mapping[str, bytes | None]:
        """The files of the set-up after the patch was written and applied by git."""
        file = self.store.parent / "smaller.patch"
        assert self.apply(*parts, more=("--patch", str(file))) == 0
        subprocess.run(["git", "apply", str(file)], cwd=self.folder, check=True)
        paths = ("CLAUDE.md", ".claude/skills/notes/SKILL.md", ".mcp.json")
        return {path: (self.folder / path).read_bytes() if (self.folder / path).exists() else None for path in paths}


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.startswith(("GIT_", "GH_", "GITHUB_", "CI_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("GITHUB_TOKEN", TOKEN)


def test_a_patch_cuts_sections_skills_and_servers_byte_for_byte(tmp_path: Path) -> None:
    project = SetUp(tmp_path, ("tests", "notes", "docs")).run()

    assert project.patched("tests", "notes", "docs") == {
        "CLAUDE.md": CLAUDE_MD.replace("## Tests\n\n- about tests\n\n", "").encode(),
        ".claude/skills/notes/SKILL.md": None,
        ".mcp.json": b'{\n  "mcpServers": {\n    "search": {"command": "search"}\n  }\n}\n',
    }


def test_one_part_needs_no_other_arm_than_the_one_without_it(tmp_path: Path) -> None:
    project = SetUp(tmp_path).run()

    assert (
        project.patched("layout")["CLAUDE.md"] == CLAUDE_MD.replace("## Layout\n\n- about layout\n\nend", "").encode()
    )


def test_without_patch_or_pull_request_nothing_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project = SetUp(tmp_path).run()

    assert project.apply("layout") == 0
    assert "READY TO DROP  layout from all-parts" in capsys.readouterr().out
    assert project.repository.git("status", "--porcelain") == ""


def test_a_missing_joint_arm_is_refused_with_the_lines_and_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = SetUp(tmp_path).run()

    assert project.apply("style", "notes") == 3
    said = capsys.readouterr().err
    assert "no arm without style, notes together was run, and the effects of parts need not add up" in said
    assert "[arms.without-style-notes]" in said
    assert 'without = ["style", "notes"]' in said
    assert f"outweigh run -o {project.store}" in said


def test_the_lines_that_are_named_make_the_joint_arm(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project = SetUp(tmp_path).run()
    project.apply("style", "notes")
    said = capsys.readouterr().err
    extends, without = (line.strip() for line in said[said.index("[arms.without-style-notes]") :].splitlines()[1:3])
    file = project.suite / "suite.toml"
    file.write_text(
        file.read_text().replace('"arms" = {', f'"arms" = {{"without-style-notes" = {{{extends}, {without}}}, ')
    )

    assert read_suite(str(file)).arms["without-style-notes"].fingerprint == (
        SetUp(tmp_path / "other", ("style", "notes")).loaded().arms["without-style-notes"].fingerprint
    )


def refused(project: SetUp, capsys: pytest.CaptureFixture[str], *parts: str) -> tuple[int, Any]:
    code = project.apply(*parts, more=("--format", "json", "--patch", str(project.store.parent / "p.patch")))
    payload = json.loads(capsys.readouterr().out)
    assert not (project.store.parent / "p.patch").exists()
    assert payload["may_drop"] is False
    return code, payload


def test_a_joint_arm_that_regressed_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each of the two can go alone, and not both: one stands in for the other."""
    project = SetUp(tmp_path, ("style", "tests")).run(lambda arm, repeat: arm != "without-style-tests")
    code, payload = refused(project, capsys, "style", "tests")

    assert (code, payload["decision"]) == (1, "regressed")
    assert payload["refusals"][0] == "the arm without them is regressed, not neutral or improved."
    assert project.apply("style", more=("--patch", str(tmp_path / "one.patch"))) == 0


def test_an_undecided_joint_arm_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project = SetUp(tmp_path, ("style", "tests")).run(lambda arm, repeat: arm != "without-style-tests" or repeat > 1)
    edit_experiment(
        project.store,
        policy={"name": "evidence", "gates": ["pass_rate"], "margins": {"pass_rate": 0.05}, "version": 1},
    )
    _, payload = refused(project, capsys, "layout")

    assert payload["decision"] == "inconclusive"
    assert payload["refusals"][0] == "the arm without them is inconclusive, not neutral or improved."


def test_scripted_agents_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, payload = refused(SetUp(tmp_path).run(kind=AgentKind.SCRIPTED), capsys, "style")

    assert code == 1
    assert any("scripted" in reason for reason in payload["refusals"])


def test_a_blocker_of_the_verdict_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project = SetUp(tmp_path).run()
    file = project.suite / "suite.toml"
    said = '"promotion_tasks" = 20, '
    policy = json.loads((project.store / "experiment.json").read_text())["policy"] | {"promotion_tasks": 20}
    edit_experiment(project.store, policy=policy)
    _, payload = refused(project, capsys, "style")

    assert said not in file.read_text()
    assert any("at least 20 tasks (set in the suite)" in reason for reason in payload["refusals"])


def test_runs_of_another_configuration_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, payload = refused(SetUp(tmp_path).run(arm_fingerprint="f" * 64), capsys, "style")

    assert any("were made with another configuration" in reason for reason in payload["refusals"])


@pytest.mark.parametrize(
    ("path", "part"),
    [
        ("CLAUDE.md", "style"),
        (".claude/skills/notes/SKILL.md", "notes"),
        (".mcp.json", "docs"),
    ],
)
def test_a_file_that_changed_since_is_refused(
    path: str, part: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = SetUp(tmp_path).run()
    place = project.folder / path
    text = place.read_bytes().replace(b'"command": "docs"', b'"command": "news"')
    place.write_bytes(text.replace(b"about", b"of").replace(b"Take", b"Make"))
    code, payload = refused(project, capsys, part)

    assert code == 1
    assert any("is not what was tested" in reason for reason in payload["refusals"])


def test_a_suite_whose_part_changed_since_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project = SetUp(tmp_path).run()
    for place in (project.folder / "CLAUDE.md", project.suite / "instructions" / "CLAUDE.md"):
        place.write_bytes(place.read_bytes().replace(b"about style", b"news about style"))
    _, payload = refused(project, capsys, "style")

    assert any("the suite's files have changed since 'all-parts' ran" in reason for reason in payload["refusals"])


def test_a_part_that_does_not_exist_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert SetUp(tmp_path).run().apply("stile") == 2
    assert "the baseline has no part 'stile'; its parts are 'start', 'style'" in capsys.readouterr().err


def test_nothing_is_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project = SetUp(tmp_path).run()
    (tmp_path / "there").write_text("mine")

    assert project.apply("style", more=("--patch", str(tmp_path / "there"))) == 2
    assert (tmp_path / "there").read_text() == "mine"


def test_a_pull_request_has_exactly_the_smaller_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project = SetUp(tmp_path, ("tests", "notes")).run()
    bare = _remote(tmp_path, project.repository)
    with loopback_forge() as forge:
        code = project.apply("tests", "notes", more=("--pull-request", "--api", forge.url))
    assert code == 0, capsys.readouterr().err
    assert "DROPPED  tests, notes from all-parts" in capsys.readouterr().out
    branches = project.repository.git("--git-dir", str(bare), "for-each-ref", "--format=%(refname:short)").split()
    (branch,) = [name for name in branches if name != "main"]
    changed = project.repository.git("--git-dir", str(bare), "diff", "--name-status", "main", branch).split()
    assert changed == ["D", ".claude/skills/notes/SKILL.md", "M", "CLAUDE.md"]


def test_a_base_that_moved_on_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project = SetUp(tmp_path).run()
    _remote(tmp_path, project.repository)
    project.repository.commit({"CLAUDE.md": "# Project\n"})
    project.repository.git("push", "--quiet", "origin", "main")
    (project.folder / "CLAUDE.md").write_bytes(CLAUDE_MD.encode())
    with loopback_forge() as forge:
        assert project.apply("style", more=("--pull-request", "--api", forge.url)) == 3
    assert "has other files than were tested: 'CLAUDE.md'" in capsys.readouterr().err


def _remote(folder: Path, repository: Repository) -> Path:
    """A bare repository that is reached as one on github.com would be, by a program in place of ssh."""
    bare = folder / "remotes" / "team" / "config.git"
    bare.mkdir(parents=True)
    repository.git("init", "--quiet", "--bare", "--initial-branch=main", str(bare))
    program = folder / "ssh"
    program.write_text('#!/bin/sh\ncd "$(dirname "$0")/remotes" && shift && eval "exec $*"\n')
    program.chmod(0o755)
    settings = {"remote.origin.url": REMOTE, "core.sshCommand": str(program), "ssh.variant": "simple"}
    for name, value in {**settings, "user.name": "Ada", "user.email": "ada@example.org"}.items():
        repository.git("config", name, value)
    repository.git("push", "--quiet", "origin", "main")
    return bare


def test_a_file_that_an_arm_has_in_several_places_is_changed_where_the_set_up_has_it(tmp_path: Path) -> None:
    """Agents without places of their own get CLAUDE.md and AGENTS.md; this set-up has the one alone."""
    project = SetUp(tmp_path, ("tests", "notes"), agent=SHELL).run()

    changed = project.patched("tests", "notes")
    assert changed["CLAUDE.md"] == CLAUDE_MD.replace("## Tests\n\n- about tests\n\n", "").encode()
    assert changed[".claude/skills/notes/SKILL.md"] is None
    assert not (project.folder / "AGENTS.md").exists()


def hook(command: str) -> dict[str, Any]:
    return {"matcher": "Bash", "hooks": [{"type": "command", "command": command}]}


def test_hooks_are_cut_out_of_settings_that_are_written_otherwise_than_the_arm_had_them(tmp_path: Path) -> None:
    parts = {name: {"hooks": {"PreToolUse": [hook(name)]}} for name in ("guard", "log")}
    project = SetUp(tmp_path, ("guard", "log"), more=parts).run()
    entries = [json.dumps(hook(name)) for name in ("guard", "log")]
    text = f'{{"hooks": {{"PreToolUse": [\n\t{entries[0]},\n\t{entries[1]}\n]}}}}\n'
    settings = project.folder / ".claude" / "settings.json"
    settings.write_text(text)

    project.patched("guard")
    assert settings.read_text() == text.replace(f"{entries[0]},\n\t", "")
    settings.write_text(text)
    (tmp_path / "smaller.patch").unlink()
    project.patched("guard", "log")
    assert not settings.exists()


def test_settings_with_other_hooks_than_were_tested_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = SetUp(tmp_path, more={"guard": {"hooks": {"PreToolUse": [hook("guard")]}}}).run()
    changed = {"hooks": {"PreToolUse": [hook("guard"), hook("new")]}}
    (project.folder / ".claude" / "settings.json").write_text(json.dumps(changed))
    _, payload = refused(project, capsys, "guard")

    assert any("settings.json is not what was tested" in reason for reason in payload["refusals"])


def test_a_server_that_another_part_brings_as_well_stays(tmp_path: Path) -> None:
    """The tested arm without the part still has it."""
    shared = {"docs": {"command": ["docs"]}}
    parts = {
        "layout": {**PARTS["layout"], "mcp_servers": shared},
        "docs": {"mcp_servers": {**shared, "search": {"command": ["search"]}}},
    }

    patched = SetUp(tmp_path, more=parts).run().patched("layout")

    assert b"Layout" not in (patched["CLAUDE.md"] or b"")
    assert patched[".mcp.json"] == SERVERS.encode()


def test_an_arm_with_another_model_allows_no_deletion(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It says nothing about the set-up's own model, and nothing about a single part either."""
    project = SetUp(tmp_path)
    file = project.suite / "suite.toml"
    other = '"other" = {extends = "all-parts", without = ["style", "tests"], model = "another-model"}'
    file.write_text(file.read_text().replace('"arms" = {', f'"arms" = {{{other}, '))
    project.run()

    assert project.apply("style", "tests") == 3
    assert "no arm without style, tests together was run" in capsys.readouterr().err
    assert main(["parts", "verdict", str(project.store), "--format", "json"]) == 0
    payload = json.loads(capsys.readouterr().out)
    assert payload["joint"] == []
    assert any("in more than parts" in warning and "'other'" in warning for warning in payload["warnings"])
