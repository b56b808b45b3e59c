"""Messages tell reverts, releases, updates and formatting apart from work."""

import pytest

from outweigh.mining.commit_messages import (
    is_dependency_update,
    is_formatting,
    is_release,
    merged_branch,
    own_words,
    reverted_commits,
    reverted_subject,
)

WORK = [
    "Fix the parser",
    "Release the lock when a run ends",
    "Add version option",
    "Format numbers with commas",
    "Support black and white output",
    "Bump the counter when a task fails",
    "Set version from the tag of the commit",
    "Update the dependency graph when a node moves",
    "Style columns of the help",
    "Lint rules can be switched off",
    "2.0 parser reads dates",
    "feat: release memory of closed files",
    "Use prettier errors",
]


@pytest.mark.parametrize("subject", WORK)
def test_a_subject_about_work_is_none_of_these(subject: str) -> None:
    assert [is_release(subject), is_dependency_update(subject), is_formatting(subject)] == [False] * 3
    assert reverted_subject(subject) is None


@pytest.mark.parametrize(
    "subject",
    [
        *("Release 1.2.0", "v2.6.0", "1.0.0-rc.1", "version bump 2.20.0", "Bump version to 12.0.0", "Prepare 26.1.0"),
        *("chore(release): 3.1.4", "chore: release v1.2.3", "Prepare for 9.2.0", "Bump version for release", "bump"),
        *("Start new development cycle", "Set release date for 3.0.0", "Release 6.2.1 (#1416)", "@scope/name@1.2.3"),
    ],
)
def test_a_release_is_found_by_its_subject(subject: str) -> None:
    assert is_release(subject)


@pytest.mark.parametrize(
    "subject",
    [
        *("Bump eslint from 9.17.0 to 9.19.0 (#2319)", "chore(deps): bump x", "build(deps-dev): y", "fix(deps): z"),
        *(
            "Update dependencies (#1214)",
            "Update dependency react to v19",
            "Bump the github-actions group with 2 updates",
        ),
        *("Upgrade all dependencies", "chore: update lockfile", "Update requirements"),
    ],
)
def test_an_update_of_dependencies_is_found_by_its_subject(subject: str) -> None:
    assert is_dependency_update(subject)


@pytest.mark.parametrize(
    "subject",
    [
        *("[pre-commit.ci] auto fixes from pre-commit.com hooks", "pre-commit autoupdate", "style: sort imports"),
        *("Run black", "Apply black auto formatting.", "Reformat code with Prettier (#2180)", "gofmt", "cargo fmt"),
        *("Format with Prettier", "lint", "Fix whitespace", "Remove trailing whitespace", "chore: run eslint --fix"),
    ],
)
def test_what_a_formatter_did_is_found_by_its_subject(subject: str) -> None:
    assert is_formatting(subject)


def test_a_revert_names_what_it_reverts_and_a_revert_of_a_revert_is_none() -> None:
    assert reverted_subject('Revert "Add two (#12)"') == "Add two"
    assert reverted_subject("revert: add two") == "add two"
    assert reverted_subject('Revert "Revert "Add two""') is None
    assert reverted_commits("Take it back\n\nThis reverts commit 0123456789abcdef.") == ["0123456789abcdef"]


def test_a_squash_merge_that_reverted_something_of_its_own_is_no_revert() -> None:
    assert reverted_commits("Cover more (#9)\n\n* Revert x\n\nThis reverts commit 0123456789.\n* Add y") == []


@pytest.mark.parametrize(
    ("subject", "main", "release", "revert"),
    [
        ("Merge branch 'main' into feature", True, False, False),
        ("Merge remote-tracking branch 'origin/develop' into release/12.x", True, False, False),
        ("Merge branch 'feature' of github.com:a/b into feature", True, False, False),
        ("Merge from develop into release/15.x (with conflicts)", True, False, False),
        ("Merge branch 'master' of github.com:someone/thing into someone-master", False, False, False),
        ("Merge pull request #12 from someone/master", False, False, False),
        ("Merge pull request #12 from owner/release/12.x", False, True, False),
        ("Merge branch 'release/2.0'", False, True, False),
        ("Merge pull request #981 from tj/revert-611-master", False, False, True),
        ("Merge branch 'fix-parser' into release/3.0.0", False, False, False),
    ],
)
def test_the_subject_of_a_merge_says_what_was_merged(subject: str, main: bool, release: bool, revert: bool) -> None:
    branch = merged_branch(subject)

    assert branch is not None
    assert (branch.is_main_line, branch.is_release, branch.is_revert) == (main, release, revert)


def test_only_a_real_merge_needs_no_word_for_a_branch() -> None:
    assert merged_branch("Merge main loops of both workers", is_merge=False) is None
    assert merged_branch("Merge from develop (#2482)", is_merge=False) is not None


def test_what_git_and_forges_write_into_a_merge_is_not_its_message() -> None:
    assert own_words("Merge pull request #3 from a/b\n\nCount to two") == "Count to two"
    assert own_words("Merge branch 'x'\n\nConflicts:\n\ta.py") == ""
    assert own_words("Merge branch 'x' into 'main'\n\nCount\n\nSee merge request a/b!3") == "Count"


@pytest.mark.parametrize("says", [is_release, is_dependency_update, is_formatting, reverted_subject, own_words])
def test_a_hostile_subject_takes_no_time(says: object) -> None:
    assert callable(says)
    for subject in (
        "1.0" + "a" * 50_000 + "!",
        "Merge " + "x " * 20_000,
        "Revert " * 8_000,
        "bump " + "from to " * 9_000,
    ):
        says(subject)
