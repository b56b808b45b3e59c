"""Removes secrets and passwords from text before it is stored or shown.

A separate file because agents, gateway, engine and command line all need it.
"""

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

SHORTEST_SECRET = 4
"""Shorter values are not secrets, and would match everywhere."""
STORED_TEXT_LIMIT = 2000
_LONG_SECRET = 12
"""From this length on, the value of a variable that is named like a secret is searched for."""
_SECRET_NAME = re.compile(r"(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)(?:_|$)", re.IGNORECASE)
_DOCUMENTED = re.compile(rb"EXAMPLE|your[-_]")
"""In keys that documentation shows; agents read a lot of it."""
_KEY_SHAPES = {
    "a key of Anthropic": rb"sk-ant-[\w-]{8,}",
    "a key of OpenAI": rb"sk-(?:proj|svcacct|admin|or-v1)-[\w-]{20,}|sk-[A-Za-z0-9]{20,}",
    "a key of Google": rb"AIza[\w-]{35}",
    "a key of AWS": rb"(?:AKIA|ASIA)[A-Z0-9]{16}",
    "a token of GitHub": rb"gh[pousr]_[A-Za-z0-9]{30,}|github_pat_\w{40,}",
    "a token of GitLab": rb"glpat-[\w-]{20,}",
    "a token of Slack": rb"xox[abprs]-[\w-]{16,}",
    "a token of Hugging Face": rb"hf_[A-Za-z0-9]{30,}",
    "a token of npm": rb"npm_[A-Za-z0-9]{36}",
    "a token of PyPI": rb"pypi-[\w-]{50,}",
    "a key of Stripe": rb"[sr]k_live_[A-Za-z0-9]{20,}",
    "a private key": rb"-----BEGIN [A-Z ]*PRIVATE KEY-----(?:\\n|\s)*[A-Za-z0-9+/]{32,}",
    "a signed token": rb"eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{20,}",
}
_KEY_START = rb"(?:(?<![A-Za-z0-9])|(?<=\\[nrtbf])|(?<=\\u[0-9A-Fa-f]{4}))"
"""Not within a word; the end of an escape sequence of JSON, such as `\\n`, is no part of a word."""
_KEYS = re.compile(_KEY_START + b"(?:" + b"|".join(b"(" + shape + b")" for shape in _KEY_SHAPES.values()) + b")")
_URL_USER = re.compile(r"(?<=://)[^/\s]+@")


def redact_secrets(content: bytes, secrets: Iterable[str]) -> bytes:
    """The content with every secret replaced, longest first, so that no part of one remains."""
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= SHORTEST_SECRET:
            content = content.replace(secret.encode(errors="surrogateescape"), b"[secret]")
    return content


def redact_passwords(text: str) -> str:
    """The text without the part before the host of every address, which may be a password."""
    return _URL_USER.sub("", text)


def storable_text(text: str | None, secrets: Collection[str]) -> str | None:
    """A remark without secrets, at most 2,000 characters long, and always valid text (file names need not be)."""
    if text is None:
        return None
    clean = redact_secrets(text.encode(errors="backslashreplace"), secrets).decode()
    return clean if len(clean) <= STORED_TEXT_LIMIT else f"{clean[:STORED_TEXT_LIMIT]} …"


def secret_values(environment: Mapping[str, str], *, is_path: Callable[[str], bool]) -> dict[str, str]:
    """The variables that are named like secrets, with their values; a value that is short or a path is none.

    The caller says what is a path, because the form does not: a secret in base64 may begin with a slash.
    """
    return {
        name: value
        for name, value in environment.items()
        if _SECRET_NAME.search(name) and len(value) >= _LONG_SECRET and not is_path(value)
    }


def find_keys(content: bytes, values: Mapping[str, str]) -> Iterator[tuple[str, int]]:
    """Every secret in a text with its kind and position: what has the shape of a key, and these values."""
    for found in _KEYS.finditer(content):
        if not _DOCUMENTED.search(found[0]):
            yield list(_KEY_SHAPES)[(found.lastindex or 1) - 1], found.start()
    for name, value in values.items():
        starts = [start for form in _written_forms(value) if (start := content.find(form)) >= 0]
        if starts:
            yield f"the value of {name}", min(starts)


def _written_forms(value: str) -> set[bytes]:
    """The value as it is, in JSON, and in JSON that is itself a text of JSON, as in transcripts."""
    forms = {value}
    for _ in range(2):
        forms |= {json.dumps(form, ensure_ascii=ascii_only)[1:-1] for form in forms for ascii_only in (True, False)}
    return {form.encode(errors="surrogateescape") for form in forms}
