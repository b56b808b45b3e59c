import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from outweigh.engine.load_suite import LoadedSuite, load_suite
from outweigh.errors import UsageError
from outweigh.model.task import (
    CallCase,
    CallCheck,
    CommandCheck,
    FolderSource,
    GitSource,
    RewardCheck,
    TarballSource,
    TestSuiteCheck,
)
from outweigh.verdict.policy import check_policy

SUITE = """
name = "suite"
tasks = ["tasks/*"]
baseline = "plain"
[arms.plain]
agent = "noop"
[arms.other]
agent = "noop"
model = "m"
"""
HARBOR = """
version = "1.0"
schema_version = "1.4"
[task]
name = "org/fix-it"
authors = [{ name = "A" }]
[metadata]
difficulty = "easy"
[agent]
timeout_sec = 120
user = "agent"
[verifier]
timeout_sec = 30.5
[environment]
cpus = 2
docker_image = "x"
"""


class Suites:
    """A suite's folder that is written file by file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.write("suite.toml", SUITE)
        self.task("one")

    def write(self, path: str, content: str, mode: int = 0o644) -> Path:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
        file.chmod(mode)
        return file

    def task(self, name: str, settings: str = "") -> Path:
        self.write(f"tasks/{name}/instruction.md", f"Do {name}.")
        return self.write(f"tasks/{name}/task.toml", settings).parent

    def ours(self, settings: str) -> None:
        self.task("one", f"[metadata.outweigh]\n{settings}")

    def load(self) -> LoadedSuite:
        return load_suite(self.folder, check_policy=check_policy)

    def complaint(self) -> str:
        with pytest.raises(UsageError) as raised:
            self.load()
        return str(raised.value)

    def checksum(self) -> str:
        return self.load().tasks[0].checksum


@pytest.fixture
def suites(tmp_path: Path) -> Suites:
    return Suites(tmp_path)


# Suites and their tasks


def test_a_suite_is_loaded_from_its_file_or_its_folder(suites: Suites) -> None:
    assert load_suite(suites.folder, check_policy=check_policy) == load_suite(
        suites.folder / "suite.toml", check_policy=check_policy
    )
    assert suites.load().folder == suites.folder


def test_a_suite_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no suite at .*none\.toml"):
        load_suite(tmp_path / "none.toml", check_policy=check_policy)


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        ('gates = ["pass_rat"]', "no gate 'pass_rat'.*Did you mean pass_rate"),
        ("margins = { pass_rate = 2 }", "must lie between 0 and 1"),
        ('name = "gates"\ngates = ["cost"]', "gates belong to policy evidence"),
        ('name = "composite"\nmargins = { min_gain = 1 }', "no margin 'min_gain'"),
    ],
)
def test_a_contradictory_policy_is_refused_before_any_run(suites: Suites, policy: str, said: str) -> None:
    suites.write("suite.toml", f"{SUITE}[policy]\n{policy}\n")

    with pytest.raises(UsageError, match=rf"suite\.toml:\d+:\d+: \[policy\] .*{said}"):
        load_suite(suites.folder, check_policy=check_policy)


def test_a_folder_of_harbor_is_read_as_it_is(suites: Suites) -> None:
    suites.task("one", HARBOR)
    suites.write("tasks/one/environment/Dockerfile", "FROM scratch")
    suites.write("tasks/one/environment/app.py", "x = 1")
    suites.write("tasks/one/tests/test.sh", "echo 1")
    suites.write("tasks/one/solution/solve.sh", "true")

    (task,) = suites.load().tasks

    assert (task.id, task.instruction, task.timeout_seconds) == ("fix-it", "Do one.", 120.0)
    build_files = ["Dockerfile", "docker-compose.yaml"]
    assert task.workspace == FolderSource(path=str(suites.folder / "tasks/one/environment"), without=build_files)
    (check,) = task.checks
    assert isinstance(check, RewardCheck)
    assert (check.name, check.timeout_seconds, check.minimum) == ("reward", 30.5, 1.0)
    assert task.tests_folder == str(suites.folder / "tasks/one/tests")
    assert task.solution_folder == str(suites.folder / "tasks/one/solution")


def test_a_task_file_may_be_empty(suites: Suites) -> None:
    (task,) = suites.load().tasks

    assert (task.id, task.checks, task.workspace, task.timeout_seconds) == ("one", (), None, None)
    assert (task.tests_folder, task.solution_folder) == (None, None)


def test_an_environment_that_only_builds_an_image_is_an_empty_workspace(suites: Suites) -> None:
    suites.write("tasks/one/environment/Dockerfile", "FROM scratch")
    suites.write("tasks/one/environment/docker-compose.yaml", "services: {}")

    assert suites.load().tasks[0].workspace is None


def test_declared_checks_replace_the_implicit_one_and_our_timeout_wins(suites: Suites) -> None:
    suites.task(
        "one",
        f'{HARBOR}\n[metadata.outweigh]\ntimeout_seconds = 7\nfamily = "f"\n'
        '[[metadata.outweigh.checks]]\ntype = "command"\nname = "c"\nrun = "true"\n',
    )
    suites.write("tasks/one/tests/test.sh", "echo 1")

    (task,) = suites.load().tasks

    assert task.checks == (CommandCheck(name="c", run="true"),)
    assert (task.timeout_seconds, task.family) == (7, "f")


def test_workspaces_are_found_from_the_tasks_folder(suites: Suites) -> None:
    suites.write("shared/repo/a.py", "x")
    suites.write("shared/base.tar", "x")
    for source, expected in (
        ('type = "folder", path = "../../shared/repo"', FolderSource(path=str(suites.folder / "shared/repo"))),
        (
            'type = "tarball", path = "../../shared/base.tar"',
            TarballSource(path=str(suites.folder / "shared/base.tar")),
        ),
        (
            'type = "git", repository = "../../shared/repo", commit = "c0ffee"',
            GitSource(repository=str(suites.folder / "shared/repo"), commit="c0ffee"),
        ),
        (
            'type = "git", repository = "https://example.invalid/r.git", commit = "v1"',
            GitSource(repository="https://example.invalid/r.git", commit="v1"),
        ),
    ):
        suites.ours(f"workspace = {{ {source} }}")

        assert suites.load().tasks[0].workspace == expected


def test_tasks_come_pattern_by_pattern_and_each_once(suites: Suites) -> None:
    suites.task("two")
    suites.task("three")
    suites.write("tasks/README.md", "not a task")
    suites.write("tasks/data/notes.txt", "not a task either")
    suites.write("suite.toml", SUITE.replace('"tasks/*"', '"tasks/two", "tasks/*/task.toml", "tasks/**"'))

    assert [task.id for task in suites.load().tasks] == ["two", "one", "three"]


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("taks/*", "did you mean 'tasks'?"),
        ("tasks/oen", "did you mean 'one'?"),
        ("tasks/zzz*", "The nearest folder that exists is"),
        ("/nowhere/*", "The nearest folder that exists is /."),
    ],
)
def test_a_pattern_that_matches_nothing_names_the_nearest_folder(suites: Suites, pattern: str, said: str) -> None:
    suites.write("suite.toml", SUITE.replace("tasks/*", pattern))

    complaint = suites.complaint()

    assert repr(pattern) in complaint
    assert said in complaint


def test_two_tasks_of_one_name_are_refused_with_both_places(suites: Suites) -> None:
    suites.task("two", '[task]\nname = "one"')

    complaint = suites.complaint()

    assert "tasks/two" in complaint
    assert "tasks/one" in complaint


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("= broken", "not valid TOML"),
        ("metadata = 3", "task.toml:1:12: metadata must be a table, not 3."),
        ("[agent]\ntimeout_sec = 'soon'", "task.toml:2:15: agent.timeout_sec must be a number above 0"),
        ("[agent]\ntimeout_sec = -1", "up to 1,000,000, not -1."),
        ("[verifier]\ntimeout_sec = 0", "task.toml:2:15: verifier.timeout_sec must be a number"),
        ("[task]\nname = 3", "task.toml:2:8: task.name must be text, not 3."),
        ('[task]\nname = "a\\u0007"', "cannot name a task"),
        ("[metadata.outweigh]\nfamly = 3", 'did you mean "family"?'),
        ("[metadata.outweigh]\nweight = 3", 'unknown key "weight" in [metadata.outweigh]'),
        ('[metadata.outweigh]\nworkspace = { type = "folder", path = "none" }', "there is no folder"),
        ('[metadata.outweigh]\nworkspace = { type = "tarball", path = "none" }', "there is no archive"),
    ],
)
def test_a_mistake_in_a_task_file_names_the_file_and_the_key(suites: Suites, settings: str, said: str) -> None:
    suites.task("one", settings)
    suites.write("tasks/one/tests/test.sh", "true")

    complaint = suites.complaint()

    assert "tasks/one/task.toml" in complaint
    assert said in complaint


@pytest.mark.parametrize(
    ("check", "said"),
    [
        ('type = "command", run = ""', "run is empty"),
        ('type = "reward", run = []', "run is empty"),
        ('type = "file_exists", path = "../x"', "leads out"),
        ('type = "json_value", path = "/etc/x", at = "a", equals = 1', "leads out"),
        ('type = "tests", run = "x", report = "a/../../b"', "leads out"),
        ('type = "file_contains", path = "x"', "either text or regex"),
        ('type = "file_contains", path = "x", text = "a", regex = "b"', "either text or regex"),
        ('type = "file_contains", path = "x", regex = "("', "not a regular expression"),
        ('type = "unchanged", paths = ["!a"]', "takes back"),
        ('type = "unchanged", paths = ["[a"]', "without a ']'"),
        ('type = "unchanged", paths = ["/"]', "names nothing"),
        ('type = "tests", run = "x", report = "$OUTWEIGH_REPORTS/../b"', "leads out"),
        ('type = "command", run = "sh .outweigh-tests/t.sh"', 'write "$OUTWEIGH_TESTS"'),
        ('type = "tests", run = ["sh", ".outweigh-tests/t.sh"]', 'write "$OUTWEIGH_TESTS"'),
        ('type = "reward", run = "sh ./.outweigh-tests/t.sh"', 'write "$OUTWEIGH_TESTS"'),
        ('type = "pytest", files = ["../test_x.py"]', "leads out"),
        ('type = "pytest", python_path = ["/usr"]', "leads out"),
        ('type = "call", cases = [{ expected = 1 }]', "either run or function"),
        ('type = "call", run = "x", function = "a:b", cases = [{ expected = 1 }]', "either run or function"),
        ('type = "call", run = "", cases = [{ expected = 1 }]', "run is empty"),
        ('type = "call", run = "x"', "there are no cases"),
        ('type = "call", function = "a:b", cases = [{ stdin = "x", expected = 1 }]', "leave out stdin"),
        ('type = "call", run = "x", cases = [{ arguments = [1], expected = 1 }]', "are strings"),
        ('type = "call", function = "a:b", python_path = [".."], cases = [{ expected = 1 }]', "leads out"),
    ],
)
def test_a_check_that_could_never_pass_is_refused_by_name(suites: Suites, check: str, said: str) -> None:
    suites.ours(f'checks = [{{ name = "mine", {check} }}]')

    complaint = suites.complaint()

    assert "check 'mine'" in complaint
    assert said in complaint


def test_two_checks_of_one_name_are_refused(suites: Suites) -> None:
    check = '{ type = "command", name = "c", run = "true" }'
    suites.ours(f"checks = [{check}, {check}]")

    assert "2 checks are called 'c'" in suites.complaint()


def test_a_task_without_an_instruction_is_refused(suites: Suites) -> None:
    instruction = suites.folder / "tasks/one/instruction.md"
    instruction.write_text(" \n")
    assert "is empty" in suites.complaint()
    instruction.write_bytes(b"\xff")
    assert "not UTF-8" in suites.complaint()
    instruction.unlink()
    assert "no instruction.md" in suites.complaint()


def test_half_a_task_is_not_skipped_silently(suites: Suites) -> None:
    suites.write("tasks/two/instruction.md", "Do it.")

    assert "no task.toml" in suites.complaint()


# Checksums


def test_the_checksum_is_the_same_wherever_the_task_lies(suites: Suites, tmp_path: Path) -> None:
    suites.task("one", HARBOR)
    suites.write("tasks/one/environment/a.py", "x")
    before = suites.checksum()

    shutil.copytree(suites.folder / "tasks", tmp_path / "elsewhere/tasks")
    shutil.copy(suites.folder / "suite.toml", tmp_path / "elsewhere")

    assert load_suite(tmp_path / "elsewhere", check_policy=check_policy).tasks[0].checksum == before


@pytest.mark.parametrize(
    ("path", "content", "mode"),
    [
        ("instruction.md", "Do it otherwise.", 0o644),
        ("environment/a.py", "y", 0o644),
        ("environment/a.py", "x", 0o755),
        ("environment/b.py", "x", 0o644),
        ("environment/Dockerfile", "FROM other", 0o644),
        ("tests/test.sh", "exit 1", 0o644),
        ("solution/solve.sh", "exit 1", 0o644),
        ("task.toml", HARBOR.replace("120", "121"), 0o644),
        ("task.toml", HARBOR.replace("cpus = 2", "cpus = 1"), 0o644),
        ("task.toml", HARBOR + '[metadata.outweigh]\nexpected_steps = [{ name = "read" }]', 0o644),
    ],
)
def test_everything_that_could_change_the_outcome_changes_the_checksum(
    suites: Suites, path: str, content: str, mode: int
) -> None:
    suites.task("one", HARBOR)
    for name in ("environment/a.py", "environment/Dockerfile", "tests/test.sh", "solution/solve.sh"):
        suites.write(f"tasks/one/{name}", "x")
    before = suites.checksum()

    suites.write(f"tasks/one/{path}", content, mode)

    assert suites.checksum() != before


def test_a_family_only_says_what_a_run_counts_with_and_does_not_change_the_checksum(suites: Suites) -> None:
    before = suites.checksum()

    suites.ours('family = "f"')

    assert suites.checksum() == before


@pytest.mark.parametrize(("commit", "same"), [("a" * 40, True), ("main", False)])
def test_a_commit_counts_by_its_hash_and_a_branch_by_its_repository(suites: Suites, commit: str, same: bool) -> None:
    checksums = set()
    for repository in ("https://example.invalid/a.git", "https://example.invalid/b.git"):
        suites.ours(f'workspace = {{ type = "git", repository = "{repository}", commit = "{commit}" }}')
        checksums.add(suites.checksum())

    assert (len(checksums) == 1) is same


def test_a_suite_that_leaves_files_out_of_workspaces_has_other_tasks(suites: Suites) -> None:
    whole = suites.load().tasks[0]
    suites.write("suite.toml", SUITE + '[workspaces]\nwithout = ["b/c", "CLAUDE.md", "b/c"]\n')
    lacking = suites.load().tasks[0]
    suites.write("suite.toml", SUITE + "[workspaces]\nwithout = []\n")

    assert (whole.without, lacking.without) == ((), ("CLAUDE.md", "b/c"))
    assert whole.checksum != lacking.checksum
    assert suites.load().tasks[0].checksum == whole.checksum


@pytest.mark.parametrize("path", ["../up", "/etc", "a//b", ".git", "a/.GIT/b", "./a", ""])
def test_only_what_is_in_a_workspace_can_be_left_out_of_it(suites: Suites, path: str) -> None:
    suites.write("suite.toml", SUITE + f'[workspaces]\nwithout = ["{path}"]\n')

    with pytest.raises(UsageError, match="workspace"):
        suites.load()


def test_the_history_beside_a_workspace_does_not_count(suites: Suites) -> None:
    suites.write("repo/a.py", "x")
    suites.ours('workspace = { type = "folder", path = "../../repo" }')
    before = suites.checksum()

    suites.write("repo/.git/index", "looked at")

    assert suites.checksum() == before


def test_a_file_that_moves_its_bytes_to_its_name_changes_the_checksum(suites: Suites) -> None:
    suites.write("tasks/one/tests/ab", "c")
    before = suites.checksum()
    (suites.folder / "tasks/one/tests/ab").unlink()
    suites.write("tasks/one/tests/a", "bc")

    assert suites.checksum() != before


def test_links_count_by_their_target_and_must_not_lead_out(suites: Suites) -> None:
    suites.write("tasks/one/tests/a", "x")
    link = suites.folder / "tasks/one/tests/link"
    link.symlink_to("a")
    inside = suites.checksum()
    link.unlink()
    link.symlink_to("b")
    assert suites.checksum() != inside

    for target in ("/etc/passwd", "../../two", str(suites.folder / "tasks/one/tests/a")):
        link.unlink()
        link.symlink_to(target)
        assert "leads out of" in suites.complaint()


def test_a_pipe_in_a_task_is_refused(suites: Suites) -> None:
    suites.write("tasks/one/tests/a", "x")
    os.mkfifo(suites.folder / "tasks/one/tests/pipe")

    assert "neither a file, a folder nor a link" in suites.complaint()


# Arms


def arms(suites: Suites, text: str) -> None:
    suites.write(
        "suite.toml", f'name = "s"\ntasks = ["tasks/*"]\nbaseline = "plain"\n[arms.plain]\nagent = "noop"\n{text}'
    )


def overlay(suite: LoadedSuite, arm: str) -> dict[str, Any]:
    return {file.path: (suite.overlays[file.sha256], file.executable) for file in suite.arms[arm].overlay}


def test_files_skills_and_instructions_are_laid_where_agents_look(suites: Suites) -> None:
    suites.write("over/bin/tool", "#!/bin/sh", 0o755)
    suites.write("skills/tidy/SKILL.md", "Be tidy.")
    suites.write("skills/tidy/scripts/run.sh", "true", 0o755)
    arms(suites, '[arms.full]\nagent = "noop"\nfiles = "over"\nskills = ["skills/tidy"]\ninstructions = "Be brief."')

    suite = suites.load()

    assert overlay(suite, "full") == {
        "bin/tool": (b"#!/bin/sh", True),
        ".claude/skills/tidy/SKILL.md": (b"Be tidy.", False),
        ".claude/skills/tidy/scripts/run.sh": (b"true", True),
        ".agents/skills/tidy/SKILL.md": (b"Be tidy.", False),
        ".agents/skills/tidy/scripts/run.sh": (b"true", True),
        "CLAUDE.md": (b"Be brief.", False),
        "AGENTS.md": (b"Be brief.", False),
    }
    assert suite.arms["full"].skills == ("tidy",)
    assert suite.arms["plain"].overlay == ()


def test_an_arm_inherits_and_adds(suites: Suites) -> None:
    arms(
        suites,
        'environment = { A = "1" }\nsecrets = ["KEY"]\n'
        '[arms.child]\nextends = "plain"\nmodel = "m"\nenvironment = { B = "2" }\nsecrets = ["OTHER"]',
    )

    child = suites.load().arms["child"]

    assert (child.agent, child.model, child.secrets) == ("noop", "m", ("KEY", "OTHER"))
    assert child.environment == {"A": "1", "B": "2"}


def test_a_fingerprint_follows_the_content_of_files_and_not_their_place(suites: Suites) -> None:
    suites.write("one/CLAUDE.md", "Be brief.")
    suites.write("two/CLAUDE.md", "Be brief.")
    text = '[arms.a]\nagent = "noop"\nfiles = "one"\n[arms.b]\nagent = "noop"\nfiles = "two"\n'
    arms(suites, text)
    assert "arms 'a' and 'b' are the same" in suites.complaint()

    suites.write("two/CLAUDE.md", "Be long.")
    assert len({arm.fingerprint for arm in suites.load().arms.values()}) == 3


def test_two_parts_of_an_arm_must_not_want_one_place(suites: Suites) -> None:
    suites.write("over/CLAUDE.md", "Be brief.")
    arms(suites, '[arms.b]\nagent = "noop"\nfiles = "over"\ninstructions = "Be long."')

    assert "two different files for 'CLAUDE.md'" in suites.complaint()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('files = "none"', "arms.b.files: there is no folder"),
        ('skills = ["none"]', "arms.b.skills: there is no folder"),
        ('skills = ["tasks"]', "has no SKILL.md"),
    ],
)
def test_a_folder_that_an_arm_names_must_be_there(suites: Suites, text: str, said: str) -> None:
    arms(suites, f'[arms.b]\nagent = "noop"\n{text}')

    assert said in suites.complaint()


def test_a_link_out_of_an_arms_folder_is_refused_and_one_within_is_laid_as_a_file(suites: Suites) -> None:
    suites.write("over/a.txt", "x")
    link = suites.folder / "over/link"
    link.symlink_to("a.txt")
    arms(suites, '[arms.b]\nagent = "noop"\nfiles = "over"')
    assert overlay(suites.load(), "b")["link"] == (b"x", False)

    link.unlink()
    link.symlink_to("/etc/passwd")
    assert "leads out of" in suites.complaint()


def test_the_same_arm_twice_is_refused_unless_it_is_declared(suites: Suites) -> None:
    twins = '[arms.b]\nagent = "noop"\n[arms.c]\nagent = "noop"\n'
    arms(suites, twins)
    assert "same_as = 'plain' in arms.b" in suites.complaint()

    arms(suites, twins.replace('"noop"\n', '"noop"\nsame_as = "plain"\n'))
    assert len({arm.fingerprint for arm in suites.load().arms.values()}) == 1


def test_arms_that_are_built_on_the_best_of_different_tiers_are_not_the_same(suites: Suites) -> None:
    below = 'tier = 0\n[arms.a]\nagent = "noop"\nmodel = "m"\ntier = 1\n'
    above = '[arms.{}]\nagent = "noop"\ntier = 2\ninherit = {{ best_of = {} }}\n'

    arms(suites, below + above.format("b", "[0]") + above.format("c", "[0, 1]"))
    assert list(suites.load().inheriting) == ["b", "c"]
    arms(suites, below + above.format("b", "[0]") + above.format("c", "[0]"))
    assert "arms 'b' and 'c' are the same in everything but their names" in suites.complaint()


def test_arms_that_name_each_other_are_declared(suites: Suites) -> None:
    arms(suites, 'same_as = "b"\n[arms.b]\nagent = "noop"\nsame_as = "plain"\n')

    assert set(suites.load().arms) == {"plain", "b"}


def test_a_rank_alone_does_not_make_two_arms_different(suites: Suites) -> None:
    arms(suites, 'tier = 0\n[arms.b]\nagent = "noop"\ntier = 1')

    assert "are the same" in suites.complaint()


def test_a_false_claim_to_be_the_same_names_what_differs(suites: Suites) -> None:
    arms(suites, '[arms.b]\nagent = "noop"\nmodel = "m"\nsame_as = "plain"')
    assert "they differ in model" in suites.complaint()

    arms(suites, '[arms.b]\nagent = "noop"\nmodel = "m"\nsame_as = "b"')
    assert "names the arm itself" in suites.complaint()


def test_the_cases_of_a_call_are_read_from_a_file_of_the_tests(suites: Suites) -> None:
    suites.ours('checks = [{ type = "call", name = "c", function = "a:b", cases_file = "cases.json" }]')
    suites.write("tasks/one/tests/cases.json", '[{"arguments": [1], "expected": 2}]')

    (check,) = suites.load().tasks[0].checks

    assert isinstance(check, CallCheck)
    assert check.cases == [CallCase(arguments=[1], expected=2)]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "cannot be read"),
        ("{}", "is not a list of cases"),
        ('[{"expected": 1, "argument": 2}]', "is not a list of cases"),
        ("[" * 5000, "is not a list of cases"),
        ("[]", "there are no cases"),
    ],
)
def test_a_file_of_cases_that_cannot_be_used_is_named(suites: Suites, content: str | None, said: str) -> None:
    suites.ours('checks = [{ type = "call", name = "c", function = "a:b", cases_file = "cases.json" }]')
    if content is not None:
        suites.write("tasks/one/tests/cases.json", content)

    assert said in suites.complaint()


NAMED = '{ type = "tests", name = "t", run = "true", report = "out.xml", must_pass_file = "must_pass.json" }'


def test_the_names_of_tests_that_must_pass_are_read_from_a_file_of_the_tests(suites: Suites) -> None:
    suites.ours(f"checks = [{NAMED}]")
    suites.write("tasks/one/tests/must_pass.json", '["a", "b"]')

    (check,) = suites.load().tasks[0].checks

    assert isinstance(check, TestSuiteCheck)
    assert check.must_pass == ["a", "b"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "cannot be read"),
        ("{}", "is not a list of the names of tests"),
        ("[1]", "is not a list of the names of tests"),
        ("[]", "lists no test"),
    ],
)
def test_a_file_of_names_that_cannot_be_used_is_named(suites: Suites, content: str | None, said: str) -> None:
    suites.ours(f"checks = [{NAMED}]")
    if content is not None:
        suites.write("tasks/one/tests/must_pass.json", content)

    assert said in suites.complaint()


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ('must_pass = ["a"]', "must_pass is about a report"),
        ('report_format = "tap"', "report_format is about a report"),
        ('report = "x", report_format = "text"', "report_format"),
        ('report = "x", must_pass = ["a"], must_pass_file = "../task.toml"', "task.toml"),
    ],
)
def test_a_report_that_could_never_be_read_is_refused(suites: Suites, keys: str, said: str) -> None:
    suites.write("tasks/one/tests/x", "")
    suites.ours(f'checks = [{{ type = "tests", name = "t", run = "true", {keys} }}]')

    assert said in suites.complaint()


def test_checksums_of_tasks_are_those_of_releases_without_names_of_tests(suites: Suites) -> None:
    one = '{ type = "tests", name = "t", run = "true", report = "out.xml" }'
    two = '{ type = "tests", name = "u", run = ["make", "test"] }'
    suites.ours(f"checks = [{one}, {two}]")

    assert suites.checksum() == "19bcb67bcf32f09b87e7c3ead92fee329a35e548d769b6ec542dc3fef4f07476"


def test_the_format_of_a_report_and_names_that_must_pass_change_the_checksum(suites: Suites) -> None:
    keys = ("", ', report_format = "tap"', ', must_pass = ["a"]', ', must_pass = ["b"]')
    checksums = set()
    for more in keys:
        suites.ours(f'checks = [{{ type = "tests", name = "t", run = "true", report = "out.xml"{more} }}]')
        checksums.add(suites.checksum())

    assert len(checksums) == len(keys)
