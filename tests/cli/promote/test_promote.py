"""`outweigh promote`: from a change that was tested to a pull request, by real git, on a forge on loopback."""

from tests.cli.promote.promotable import AFTER, Promotable
from tests.conftest import Outweigh
from tests.loopback_forge import LoopbackForge


def test_a_change_is_run_judged_and_proposed_with_exactly_its_files(
    untested: Promotable, forge: LoopbackForge, outweigh: Outweigh
) -> None:
    change = untested
    commit = change.remote("rev-parse", "main")
    assert outweigh("run", *change.project.sides("better")).code == 0

    done = outweigh(*change.execute(forge, "--label", "agents", "--reviewer", "ada", "--draft"))

    (pull,) = forge.pulls
    (branch,) = [name for name in change.branches() if name != "main"]
    changed = change.remote("diff", "--name-status", "main", branch).split("\n")
    assert (done.code, pull["head"]["ref"], pull["base"]) == (0, branch, "main")
    assert changed == ["A\t.claude/skills/new/SKILL.md", "D\t.claude/skills/old/SKILL.md", "M\tCLAUDE.md"]
    assert change.remote("show", f"{branch}:CLAUDE.md") == (AFTER["CLAUDE.md"] or "").strip()
    assert change.remote("rev-parse", f"{branch}^") == commit
    assert change.remote("log", "-1", "--format=%an <%ae>|%cn", branch) == "Ada <ada@example.org>|Ada"
    assert (pull["labels"], pull["reviewers"], pull["draft"]) == (["agents"], ["ada"], True)
    assert pull["title"] == "Promote better over main (suite)"
    assert "## IMPROVED" in pull["body"]
    assert pull["html_url"] in done.out
    assert change.repository.git("status", "--porcelain") == ""


def test_without_execute_there_is_a_plan_and_nothing_else(
    change: Promotable, forge: LoopbackForge, outweigh: Outweigh
) -> None:
    answer = outweigh("promote", *change.words("--api", forge.url, "--format", "json"))

    plan = answer.json()
    assert answer.code == 0
    assert (plan["may_promote"], plan["carried_out"]) == (True, None)
    assert [one["path"] for one in plan["destination"]["changes"]] == sorted(set(AFTER) - {"src/other.py"})
    assert forge.requests == []
    assert change.untouched()


def test_promoting_twice_opens_one_pull_request(change: Promotable, forge: LoopbackForge, outweigh: Outweigh) -> None:
    outweigh(*change.execute(forge))
    branches = change.branches()

    again = outweigh(*change.execute(forge, "--format", "json"))

    assert (again.code, len(forge.pulls), change.branches()) == (0, 1, branches)
    assert again.json()["carried_out"]["opened"] is False


def test_a_branch_that_a_killed_promotion_left_is_used(
    change: Promotable, forge: LoopbackForge, outweigh: Outweigh
) -> None:
    outweigh(*change.execute(forge))
    branches = {name: change.remote("rev-parse", name) for name in change.branches()}
    forge.pulls.clear()

    assert outweigh(*change.execute(forge)).code == 0
    assert len(forge.pulls) == 1
    assert {name: change.remote("rev-parse", name) for name in change.branches()} == branches


def test_a_closed_pull_request_is_not_opened_again(
    change: Promotable, forge: LoopbackForge, outweigh: Outweigh
) -> None:
    outweigh(*change.execute(forge))
    forge.pulls[0]["state"] = "closed"

    answer = outweigh(*change.execute(forge))

    assert (answer.code, len(forge.pulls)) == (2, 1)
    assert "closed or merged" in answer.err


def test_what_the_base_has_already_is_not_proposed_again(
    change: Promotable, forge: LoopbackForge, outweigh: Outweigh
) -> None:
    change.repository.git("push", "--quiet", "origin", "better:main")

    answer = outweigh(*change.execute(forge))

    assert answer.code == 0
    assert "has all of it already" in answer.out
    assert forge.requests == []


def test_a_base_that_moved_elsewhere_is_built_upon(
    change: Promotable, forge: LoopbackForge, outweigh: Outweigh
) -> None:
    change.move_base({"README.md": "Another text.\n"})

    assert outweigh(*change.execute(forge)).code == 0
    (branch,) = [name for name in change.branches() if name != "main"]
    assert change.remote("rev-parse", f"{branch}^") == change.remote("rev-parse", "main")
    assert change.remote("show", f"{branch}:README.md") == "Another text."


def test_other_configuration_that_moved_is_noted(change: Promotable, forge: LoopbackForge, outweigh: Outweigh) -> None:
    change.move_base({".claude/skills/other/SKILL.md": "Of somebody else.\n"})

    answer = outweigh("promote", *change.words())

    assert answer.code == 0
    assert "changed in other files of the set-up" in answer.out


def test_a_candidate_that_moved_in_other_files_is_still_what_was_tested(
    change: Promotable, forge: LoopbackForge, outweigh: Outweigh
) -> None:
    change.repository.git("checkout", "--quiet", "better")
    change.repository.commit({"src/other.py": "print('later')\n"})

    assert outweigh(*change.execute(forge)).code == 0


def test_plain_git_pushes_and_says_where_to_go_on(change: Promotable, outweigh: Outweigh) -> None:
    answer = outweigh("promote", *change.words("--execute", "--forge", "git"))

    (branch,) = [name for name in change.branches() if name != "main"]
    assert answer.code == 0
    assert f"https://github.com/team/config/pull/new/{branch}" in answer.out
    assert outweigh("promote", *change.words("--execute", "--forge", "git")).code == 0
    assert len(change.branches()) == 2


def test_a_link_between_instructions_stays_a_link(
    untested: Promotable, forge: LoopbackForge, outweigh: Outweigh
) -> None:
    file = untested.repository.folder / "CLAUDE.md"
    file.unlink()
    file.symlink_to("AGENTS.md")
    untested.move_base({"AGENTS.md": "Think.\n"})
    untested.project.branch("linked", {"AGENTS.md": "The answer is 42.\n"})
    untested.test("linked")

    assert outweigh(*untested.execute(forge)).code == 0
    (branch,) = [name for name in untested.branches() if name != "main"]
    assert untested.remote("diff", "--name-status", "main", branch) == "M\tAGENTS.md"
    assert untested.remote("ls-tree", branch, "CLAUDE.md").startswith("120000")


def test_no_hook_of_the_users_runs(change: Promotable, forge: LoopbackForge, outweigh: Outweigh) -> None:
    for name in ("pre-push", "pre-commit", "commit-msg", "reference-transaction"):
        hook = change.repository.folder / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text("#!/bin/sh\nexit 1\n")
        hook.chmod(0o755)

    assert outweigh(*change.execute(forge)).code == 0
