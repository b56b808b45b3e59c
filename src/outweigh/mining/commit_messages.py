"""What the message of a commit says about its kind: a revert, a release, an update of dependencies, formatting."""

import re
from dataclasses import dataclass

_MAIN = r"(?:main|master|develop|development|dev|trunk|default|next|staging|stable|production)"
_RELEASE = r"(?:(?:releases?|rel|version)[-_/].*|v?\d+(?:[.-](?:\d+|x))+.*|v\d+)"
_MERGE_PULL_REQUEST = re.compile(r"Merge pull request #\d+ (?:from|in) (?:[^/\s]+/)?(?P<branch>\S+)", re.IGNORECASE)
_MERGE_BRANCH = re.compile(
    r"""(?:Merged?|Merging)(?P<from>\ from)?(?P<what>\ (?:remote-tracking\ )?branch(?:es)?|\ tag)?
    \ ['"]?(?P<branch>[^\s'"]+)['"]?(?:\ of\ (?P<remote>\S+))?(?:\ into\ ['"]?(?P<target>[^\s'"]+)['"]?)?""",
    re.IGNORECASE | re.VERBOSE,
)
_MERGE_BOILERPLATE = re.compile(
    r"""Merged?\ (?:pull\ request|branch|branches|remote-tracking\ branch|tag|commit|from|with|in)\b.*|Merge
    |See\ merge\ request\ \S+|Approved-by:\ .*|\#?\ ?Conflicts:.*|\#?\t.*""",
    re.IGNORECASE | re.VERBOSE,
)
_REVERT = re.compile(r"revert(?:s|ed|ing)?\b(?:\([^)]*\))?[: ]+\"?(?P<subject>.*)", re.IGNORECASE)
_REVERTS_COMMIT = re.compile(
    r"^This reverts (?:merge )?(?:commit )?(?P<commit>[0-9a-f]{7,64})\b", re.IGNORECASE | re.MULTILINE
)
_LIST_ITEM = re.compile(r"^\s?\* ", re.MULTILINE)
_REVERT_BRANCH = re.compile(r"(?:.*/)?revert[-_]", re.IGNORECASE)
_LONGEST_SUBJECT = 200
_NUMBER = re.compile(r"\s*\((?:#|GH-|!)\d+\)\s*$")
_TYPE = r"(?:\w+(?:\([^)]*\))?!?:\s*)?"  # as conventional commits begin
_VERSION = r"(?:[\w@/.-]{1,60}@)?v?\d+(?:\.\d+)+(?:[-+.a-z][-+.0-9a-z]*)?"
_RELEASE_SUBJECT = re.compile(
    rf"""{_TYPE}(?:{_VERSION}
    |(?:prepare|tag|cut|publish|bump|release|version|set|update)
    (?:\ (?:for|the|to|a|new|up|as|release|version))*\ {_VERSION}
    |(?:pre-?)?(?:release|version)\ (?:bump|prep\w*|number)?.{{0,3}}(?:{_VERSION})?
    |(?:bump|prepare|update|set|increase)(?:\ (?:for|the|to))*\ (?:pre)?(?:release|version)
    (?:\ (?:number|date|for\ release))?(?:\ from\ v?\d\S*)?(?:\ (?:to|for)\ v?\d\S*)?
    |bump|release|start\ new\ development\ cycle|back\ to\ development)
    (?:\ release)?[.!]?(?:\s*\([^)]*\))?""",
    re.IGNORECASE | re.VERBOSE,
)
_DEPENDENCIES = re.compile(
    rf"""\w*\(deps(?:-dev)?\)|{_TYPE}bump\ .+\ from\ \S+\ to\ \S+|{_TYPE}bump\ the\ .+\ group
    |{_TYPE}(?:update|upgrade|bump|pin|refresh)d?\ (?:all\ |dev\ |npm\ |pip\ |go\ |the\ )*
    (?:depende\w+s|deps|lock\ ?files?|packages|requirements|package-lock\S*)\b
    |{_TYPE}update\ dependency\ .+\ to\ |\[?(?:dependabot|renovate)""",
    re.IGNORECASE | re.VERBOSE,
)
_TOOLS = r"""(?:black|ruff|isort|prettier|gofmt|gofumpt|goimports|rustfmt|cargo\ fmt|clang-format|eslint|standard|yapf
    |autopep8|pyupgrade|rubocop|php-cs-fixer|spotless|ktlint|pre-commit|biome|dprint|linter|linting|flake8|formatter
    |google-java-format|formatting|auto-?format\w*)"""
_FORMATTING = re.compile(
    rf"""\[pre-commit\.ci\]|pre-commit\ (?:auto)?(?:update|fix)|style(?:\([^)]*\))?!?:\s
    |{_TYPE}(?:(?:re-?)?run|ran|apply|applied|format(?:ted|ting)?|re-?format\w*)\ .{{0,24}}\b{_TOOLS}\b
    |{_TYPE}(?:(?:(?:re-?)?format(?:ted|ting)?|blacken|prettify|lint(?:ing)?|whitespace|code\ ?style)
    (?:\ (?:the\ |all\ |python\ |source\ )*(?:code|files?|fix(?:es)?|sources?))?
    |go\ fmt|gofmt|cargo\ fmt|prettier|black|isort|rustfmt|fix(?:ed)?\ (?:whitespace|indentation|lint\w*)|sort\ imports?
    |(?:remove|trim|strip)\ trailing\ white\ ?space|updated?\ via\ pre-commit)[.!]?(?:\s*\([^)]*\))?$""",
    re.IGNORECASE | re.VERBOSE,
)

_WEB_EDIT = re.compile(
    r"(?:Update|Create|Delete|Rename) \S+(?:\.\w+|/\S+)|Apply suggestions? from code review|Address .*review.*"
)


@dataclass(frozen=True, slots=True)
class MergedBranch:
    """What the message of a merge says: the branch that was merged, from which repository, and into which branch."""

    branch: str
    target: str = ""
    from_elsewhere: bool = False
    pull_request: bool = False

    @property
    def is_main_line(self) -> bool:
        """Whether it brings the main line into a branch, or the same branch from its remote."""
        pulled = self.from_elsewhere and self.branch == (self.target or self.branch)
        main = re.fullmatch(rf"(?:(?:origin|upstream)/)?{_MAIN}", self.branch, re.IGNORECASE)
        return not self.pull_request and (pulled or (main is not None and not self._renamed()))

    @property
    def is_release(self) -> bool:
        """Whether the merged branch is one of a release."""
        return re.fullmatch(rf"(?:(?:origin|upstream)/)?{_RELEASE}", self.branch, re.IGNORECASE) is not None

    @property
    def is_revert(self) -> bool:
        """Whether the branch was made to revert something."""
        return _REVERT_BRANCH.match(self.branch) is not None

    def _renamed(self) -> bool:
        """A contributor's `master` that was taken in under a name of its own."""
        return self.from_elsewhere and self.branch != self.target and not re.fullmatch(_MAIN, self.target)


def merged_branch(subject: str, *, is_merge: bool = True) -> MergedBranch | None:
    """What a subject says about the branch that was merged, or squashed; None where it says nothing."""
    found = _MERGE_PULL_REQUEST.match(subject)
    if found:
        return MergedBranch(found["branch"], pull_request=True)
    found = _MERGE_BRANCH.match(subject)
    if found and (is_merge or found["from"] or found["what"]):
        return MergedBranch(found["branch"], found["target"] or "", bool(found["remote"]))
    return None


def own_words(message: str) -> str:
    """The message of a merge without what git and forges write into it."""
    lines = [line for line in message.split("\n") if not _MERGE_BOILERPLATE.fullmatch(line.rstrip())]
    return "\n".join(lines).strip()


def reverted_subject(subject: str) -> str | None:
    """The subject of the commit that this one reverts; None where it reverts none, or reverts a revert."""
    depth = 0
    while found := _REVERT.match(subject):
        subject = found["subject"]
        depth += 1
    return plain_subject(subject) if depth % 2 else None


def reverted_commits(message: str) -> list[str]:
    """The commits that a message names as reverted, as it abbreviates them."""
    if _LIST_ITEM.search(message):  # of a squash merge, which reverted something of its own
        return []
    return [found["commit"].lower() for found in _REVERTS_COMMIT.finditer(message)]


def plain_subject(subject: str) -> str:
    """A subject without the number of its pull request."""
    return _NUMBER.sub("", subject.strip().rstrip('"'))


def is_release(subject: str) -> bool:
    """Whether a commit does nothing but release a version."""
    return _RELEASE_SUBJECT.fullmatch(subject[:_LONGEST_SUBJECT].strip()) is not None


def is_dependency_update(subject: str) -> bool:
    """Whether a commit only updates dependencies."""
    return _DEPENDENCIES.match(subject[:_LONGEST_SUBJECT].strip()) is not None


def is_formatting(subject: str) -> bool:
    """Whether a formatter or a commit hook made the commit."""
    return _FORMATTING.match(subject[:_LONGEST_SUBJECT].strip()) is not None


def is_web_edit(subject: str) -> bool:
    """Whether the subject is what a forge writes when a file is edited in the browser."""
    return _WEB_EDIT.fullmatch(subject.strip()) is not None
