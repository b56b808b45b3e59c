"""Lines of commit messages without what is about how a change was made: numbers, trailers, patches, prefixes."""

import re
from collections.abc import Iterator

_REFERENCE = (
    r"(?:[\w./-]*\#\d+|https?://\S+|[0-9a-f]{7,40}|[\w.+-]+@[\w.-]+|[\w.\[\] -]+<[^>]*>|[A-Z]+-\d+|I[0-9a-f]{10,})"
)
_RELATION = r"(?:closes?|fixes|fixed|resolves?|refs?|references?|see(?:[ -]also)?|issues?|pr|pull request)"
_TRAILER = re.compile(
    rf"^(?:[A-Z][\w-]*-by|cc|{_RELATION}|bug|reviewed|links?|change-id|implements|part of|follow[- ]?up(?: to| of)?"
    rf"|backport(?:s|ed)?(?: of| from)?|cherry[- ]picked from)[\s:]+{_REFERENCE}.*$",
    re.IGNORECASE,
)
_MAIN_LINE = r"(?:develop|master|main|trunk|release\S*|upstream|origin)"
_BOILERPLATE = re.compile(
    rf"^(?:merge (?:pull request|branch|branches|remote[- ]tracking|tag|commit|(?:from |into )?{_MAIN_LINE})\b.*"
    r"|merged in .*|see merge request .*|conflicts?:.*|this reverts commit .*|\(?cherry picked from .*|-{3,}|\.{3}"
    r"|\[pre-commit\.ci\].*|for more information,? see .*|apply (?:\d+ )?suggestions? .*|co-authored.*|updates?:"
    r"|automatically created by .*|squashed commit.*|changes? to be committed:.*|\#{1,6}\s.*"
    r"|update [\w./-]+\.\w{1,5}|(?:create|delete|rename) [\w./-]+\.\w{1,5}.*)$",
    re.IGNORECASE,
)
_PATCH_LINE = re.compile(r"^(?:diff --git |index [0-9a-f]{6,}|@@ |\+\+\+ |--- [ab/]|[+-]\s{2,}\S|rename (?:from|to) )")
_FILE_LINE = re.compile(r"^[*\-\s]*`?(?:[\w@.-]+/)*[\w@.-]+\.[a-z]{1,5}`?(?:\s*\|\s*\d+.*)?[:,]?$", re.IGNORECASE)
_FORGE_PAGE = r"https?://[^\s)>]*/(?:issues|pull|merge_requests|commit|compare|discussions)/[^\s)>]*"
_NUMBER = re.compile(
    rf"\s*\((?:(?:{_RELATION}|gh)?[:\s]*(?:[\w./-]*\#\d+|gh-\d+)[\s,]*(?:and\s)?)+\)"
    r"|\s*\[?(?:[\w-]+/[\w-]+)?\#\d+\]?(?:\(https?://[^)]*\))?"
    rf"|\s*\[[^\]]*\]\({_FORGE_PAGE}\)|\s*<?{_FORGE_PAGE}>?",
    re.IGNORECASE,
)
_DANGLING = re.compile(
    rf"[\s,;:(–-]*\b(?:{_RELATION}|implements|for|in|from|to|via|of|by)\s*[.:)]*$",
    re.IGNORECASE,
)
_HASH = re.compile(r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}\b")
_EMOJI = re.compile(r":[a-z0-9_+-]{2,30}:(?=\s|$)|[\U0001F300-\U0001FAFF\u2600-\u27BF\uFE0F]+\s*")
_CONVENTIONAL = re.compile(
    r"^(?P<type>feat|feature|fix|bugfix|hotfix|perf|refactor|docs?|style|tests?|chore|build|ci|revert|enh|bug|bld|tst|mnt)"
    r"(?:\((?P<scope>[^)]*)\))?!?:\s+(?P<text>\S.*)$",
    re.IGNORECASE,
)
_VERB_LIST = """
accept avoid call catch check convert copy correct count create default define delete detect disable disallow
display do don't drop emit enable ensure escape exclude expand export expose extend fall format generate get
handle hide ignore include keep let limit list load log make mark match merge move normalize not only parse pass
preserve prevent print provide put raise read reduce refactor refuse reject rename replace require reset resolve
respect restore return rework run save say search select send separate set show simplify skip sort split start
stop store strip suggest support switch take tell test throw treat trim try turn update use validate warn work
wrap write
"""
_PAST = {
    "added": "Add", "adds": "Add", "adding": "Add", "fixed": "Fix", "fixes": "Fix", "fixing": "Fix",
    "changed": "Change", "changes": "Change", "removed": "Remove", "removes": "Remove", "allows": "Allow",
    "allowed": "Allow", "makes": "Make", "made": "Make", "supports": "Support", "supported": "Support",
    "implemented": "Implement", "implements": "Implement", "improved": "Improve", "improves": "Improve",
    "moved": "Move", "renamed": "Rename", "updated": "Update", "updates": "Update", "corrected": "Correct",
    "introduced": "Introduce", "introduces": "Introduce", "created": "Create",
}  # fmt: skip
_VERBS = frozenset([*_VERB_LIST.split(), *(word.lower() for word in _PAST.values())])
_PREFIXES = {"fix": "Fix ", "bugfix": "Fix ", "hotfix": "Fix ", "feat": "Add ", "feature": "Add "}
_CLOSING = re.compile(r"^(?:close|resolve)[sd]?:?\s+#\d+\b[\s:,.-]*(?=\w)", re.IGNORECASE)
_LONGEST_MESSAGE = 20_000


def message_parts(message: str) -> Iterator[str]:
    """The title of a message, then its paragraphs and the points of its lists, cleaned; points begin with a mark."""
    lines = [line.rstrip() for line in message[:_LONGEST_MESSAGE].replace("\r\n", "\n").split("\n")]
    lines = without_patch([line for line in lines if not _is_noise(line.strip())])
    first = next((number for number, line in enumerate(lines) if line.strip()), None)
    if first is None:
        return
    yield readable_title(clean_line(lines[first]))
    for block in re.split(r"\n\s*\n", "\n".join(lines[first + 1 :])):
        yield from map(clean_line, list_points(block))


def _is_noise(line: str) -> bool:
    bare = re.sub(r"^[*-]\s+", "", line)
    return bool(_BOILERPLATE.match(bare) or _TRAILER.match(bare) or _FILE_LINE.match(bare))


def is_boilerplate(line: str) -> bool:
    """Whether a line is what git or a forge writes by itself, such as the subject of a merge."""
    return bool(_BOILERPLATE.match(line.strip()))


def is_file_name(line: str) -> bool:
    """Whether a line only names a file."""
    return bool(_FILE_LINE.match(line))


def without_patch(lines: list[str]) -> list[str]:
    """Drop lines of a patch, and code blocks: between fences or indented below a paragraph."""
    kept, fenced = [], False
    for line in lines:
        if line.strip().startswith("```"):
            fenced = not fenced
        elif not fenced and not _PATCH_LINE.match(line) and not re.match(r"(?: {4}|\t)\S", line):
            kept.append(line)
    return kept


def list_points(block: str) -> Iterator[str]:
    """The points of a list, or the paragraph that a block is, on one line each."""
    point: list[str] = []
    for line in block.splitlines():
        if re.match(r"\s*(?:[*+-]|\d+[.)])\s", line):
            if point:
                yield " ".join(point)
            mark = "* " if line.startswith("* ") else "- "
            point = [re.sub(r"^\s*(?:[*+-]|\d+[.)])\s+", mark, line).strip()]
        elif line.strip():
            point.append(line.strip())
    if point:
        yield " ".join(point)


def clean_line(line: str) -> str:
    """A line without numbers of issues, hashes and emoji."""
    text = _CLOSING.sub("", _EMOJI.sub("", line.strip()))
    shorter = _NUMBER.sub("", text)
    if shorter != text:
        shorter = _DANGLING.sub("", shorter)
    shorter = re.sub(r"\s+(?:\(\s*\)|\[\s*\])", "", _HASH.sub("an earlier commit", shorter))
    shorter = re.sub(r"\s*\((?:thanks|see|by|via|cf)\b[^)]*$", "", shorter)
    return re.sub(r"\s+([,.;:])(?=\s|$)", r"\1", " ".join(shorter.split())).strip(" ,;")


def readable_title(line: str) -> str:
    """A title as a request: without a conventional prefix, in the imperative, with a capital."""
    text = line = re.sub(r"^(?:[*-]|\d+[.)])\s+", "", line).rstrip(".")
    if match := _CONVENTIONAL.match(line):
        text = match["text"]
        kind = match["type"].lower()
        first = text.split()[0].lower()
        if first not in _VERBS and first not in _PAST:
            text = {"fix": "Fix ", "bugfix": "Fix ", "hotfix": "Fix ", "feat": "Add ", "feature": "Add "}.get(
                kind, ""
            ) + text
        if kind.startswith("test"):
            return f"tests: {text}"
        if match["scope"] and match["scope"].lower() not in text.lower():
            text = f"{text} ({match['scope']})"
    first, _, rest = text.partition(" ")
    text = f"{_PAST[first.lower()]} {rest}" if first.lower() in _PAST and rest else text
    return text if re.match(r"[a-z]+[A-Z_.(]", text) else text[:1].upper() + text[1:]
