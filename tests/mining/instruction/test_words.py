"""What is left of commit messages and changelogs: what is wanted, in words that stand alone."""

from dataclasses import replace
from typing import Any

import pytest
from tests.mining.instruction.changes import change

from outweigh.mining.instruction.words import ChangeWords, words_of_change


def words(message: str, **more: Any) -> ChangeWords:
    found = words_of_change(replace(change(message, source={}, tests={}), **more))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("message", "title"),
    [
        ("Retry lost connections (#418)", "Retry lost connections"),
        ("Retry lost connections (closes #7, #8)", "Retry lost connections"),
        ("Keep the order of rows, fixes #12", "Keep the order of rows"),
        ("feat: quiet mode for the importer", "Add quiet mode for the importer"),
        ("feat(cli)!: allow a second input file", "Allow a second input file (cli)"),
        ("fix: rounding of negative durations", "Fix rounding of negative durations"),
        ("fix(parser): accept empty lists", "Accept empty lists (parser)"),
        (":bug: Stop losing the last byte", "Stop losing the last byte"),
        ("🐛 Stop losing the last byte", "Stop losing the last byte"),
        ("Added a flag for dry runs", "Add a flag for dry runs"),
        ("Undo what 3f2a9bc1 did to headings", "Undo what an earlier commit did to headings"),
        ("parseUrl keeps the port", "parseUrl keeps the port"),
        ("Merge pull request #9 from someone/quiet\n\nAdd a quiet mode", "Add a quiet mode"),
        ("Merge branch 'topic' into main\n\nHandle empty input files", "Handle empty input files"),
        ("1. Support nested groups.", "Support nested groups"),
        ("Make .close() wait for readers (#5)", "Make .close() wait for readers"),
    ],
)
def test_a_title_is_a_request_without_numbers_prefixes_and_marks(message: str, title: str) -> None:
    assert words(message).title == title


@pytest.mark.parametrize(
    "message",
    [
        "",
        "fix",
        "wip",
        "Fix tests",
        "update tests (#3)",
        "review comments",
        "Address review feedback",
        "Fixes #123",
        "Merge pull request #12 from someone/patch-1",
        "Merge branch 'main' of https://forge.example/a/b",
        "Add more tests for the parser",
        "test: cover the parser",
        "Small improvements (#328)",
        "Update README.md",
        "lint",
        "Refs https://forge.example/a/b/issues/3",
    ],
)
def test_a_message_that_does_not_say_what_is_wanted_gives_no_words(message: str) -> None:
    assert words_of_change(change(message, source={}, tests={})) is None


def test_the_changelog_says_it_where_the_message_does_not() -> None:
    found = words(
        "fix", changelog=("### Fixed", "", "- Empty rows no longer end the table. [#4](https://f.example/a/b/pull/4)")
    )

    assert found.title == "Empty rows no longer end the table"
    assert found.source == "changelog"


def test_the_commits_of_a_merge_say_it_where_its_message_does_not() -> None:
    found = words("Merge pull request #2 from a/b", subjects=("wip", "feat: sort by two keys", "fix tests"))

    assert found.title == "Sort by two keys"
    assert found.source == "commits"


def test_which_branch_was_merged_and_which_issue_is_closed_is_not_part_of_what_is_wanted() -> None:
    merge = "Merge pull request #75 from someone/issue-56-version-option"
    wanted = "resolves #56 respect another name of the version option"
    found = words(f"{merge}\n\n{wanted}", subjects=(wanted, merge))

    assert found.title == "Respect another name of the version option"
    assert (found.details, found.steps) == ((), ())


def test_trailers_file_lists_and_patches_are_left_out() -> None:
    message = (
        "Close files on errors\n\nA failed read left the file open.\n\n"
        "src/reader.py | 4 ++--\n* lib/io.c\n\n"
        "diff --git a/x b/x\n@@ -1 +1 @@\n+  close(file)\n\n```\nclose(file)\n```\n\n    close(other)\n\n"
        "Fixes: #31\nSigned-off-by: A Person <a@example.org>\nCo-authored-by: B <b@example.org>\n"
        "Change-Id: I0123456789abcdef"
    )

    found = words(message)

    assert found.title == "Close files on errors"
    assert found.details == ("A failed read left the file open.",)
    assert found.steps == ()


def test_notes_about_the_work_are_no_details() -> None:
    message = (
        "Add a limit to uploads (#5)\n\n* Add changelog entry\n\n* Fix typo\n\n"
        "* Count bytes that are compressed\n\n* lint"
    )

    found = words(message)

    assert found.details == ()
    assert found.steps == ("Count bytes that are compressed",)


def test_entries_of_the_changelog_take_the_place_of_notes() -> None:
    message = "Add a limit to uploads\n\n* Count bytes that are compressed"
    found = words(
        message,
        changelog=(
            "## Unreleased",
            "",
            "- Uploads above *limit* bytes are",
            "  refused. [#5](https://f.example/a/b/pull/5)",
        ),
    )

    assert found.details == ("- Uploads above *limit* bytes are refused.",)
    assert found.steps == ()
    assert found.source == "message and changelog"


def test_a_message_in_another_script_says_something() -> None:
    assert words("修复空文件的读取错误").title == "修复空文件的读取错误"


def test_what_the_user_typed_comes_before_the_message() -> None:
    typed = (
        "Uploads of more than 1 GB should be refused. Say how large they may be.",
        "ok",
        "and count compressed bytes too",
    )

    found = words("Add a limit to uploads", typed=typed)

    assert found.title == "Uploads of more than 1 GB should be refused. Say how large they may be"
    assert found.details == ("and count compressed bytes too", "Add a limit to uploads")
    assert found.source == "session"


def test_an_issue_comes_before_the_message() -> None:
    said = "A large upload is written until the disk is full."
    issue = f"Uploads fill the disk\n\n### What happens\n\n{said}\n\n```\ntrace\n```"

    found = words("Fix #7", issue=issue)

    assert found.title == "Uploads fill the disk"
    assert found.details == (said,)
    assert found.source == "issue"
