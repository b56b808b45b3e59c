"""Why hidden tests could not even be collected at the base: names that the change adds, or something else."""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from outweigh.mining.fix_text import FixText
from outweigh.sandbox.base_sandbox import WORKSPACE

_NAME = r"[\"'`‘“]?([\w$./:@<>-]+?)[\"'`’”]?"
_MISSING = tuple(
    re.compile(pattern.replace("NAME", _NAME), re.MULTILINE)
    for pattern in (
        # Python
        r"cannot import name NAME(?:\s|$|[,;(])",
        r"No module named NAME(?:\s|$|[,;(])",
        r"has no attribute NAME(?:\s|$|[.,;(])",
        r"name NAME is not defined",
        r"unexpected keyword argument NAME(?:\s|$|[.,;(])",
        r"fixture NAME not found",
        # JavaScript and TypeScript
        r"Cannot find module NAME(?:\s|$|[,;(])",
        r"does not provide an export named NAME(?:\s|$|[,;(])",
        r"(?:^|\s)NAME is not (?:a function|a constructor|defined|exported)",
        r"has no exported member(?: named)? NAME(?:\s|$|[.,;(])",
        r"Property NAME does not exist on type",
        r"(?:Cannot find name|Cannot resolve module|Could not resolve|Failed to resolve import) NAME(?:\s|$|[.,;(])",
        # Go
        r"undefined: NAME(?:\s|$|[,;(])",
        r"NAME undefined \(",
        r"unknown field NAME in struct literal",
        r"no required module provides package NAME(?:\s|$|[,;(])",
        rf"no non-test Go files in {WORKSPACE}/NAME(?:\s|$)",
        # Rust
        r"cannot find (?:\w+ )+?NAME in ",
        r"no (?:method|function|field|variant|associated item|function or associated item)(?: named)? NAME found",
        r"unresolved imports? NAME(?:\s|$|[,;(])",
        r"(?:struct|variant|type|enum) \S+ has no field named NAME(?:\s|$|[.,;(])",
        # Java, C#, C and C++
        r"symbol:\s+(?:class|method|variable|interface|enum|record) NAME(?:\s|$|[,;(])",
        r"package NAME does not exist",
        r"does not contain a definition for NAME(?:\s|$|[.,;(])",
        r"The (?:type or namespace )?name NAME (?:does not exist|could not be found)",
        r"NAME was not declared in this scope",
        r"has no member named NAME(?:\s|$|[.,;(])",
        r"(?:fatal error|error): NAME(?:: No such file| file not found)",
        # Ruby and PHP
        r"uninitialized constant NAME(?:\s|$|[.,;(])",
        r"undefined (?:local variable or )?method NAME(?:\s|$|[.,;(])",
        r"cannot load such file -- NAME(?:\s|$|[,;(])",
        r"(?:Class|Interface|Trait|Enum) NAME not found",
        r"Call to undefined (?:method|function) NAME(?:\s|$|[.,;(])",
    )
)
_ERROR_LINE = re.compile(r"error|undefined|not found|cannot find|missing|unknown|unresolved|no such", re.IGNORECASE)
_PARTS = re.compile(r"[A-Za-z_$][\w$]*")


def missing_names(output: str, fix: FixText) -> tuple[str, ...]:
    """The names that the output of a test command says are missing, as far as the change adds them."""
    found = dict.fromkeys(name for text in _stated_names(output) for name in _added_by(text, fix))
    for line in output.splitlines():
        if _ERROR_LINE.search(line):
            found.update(dict.fromkeys(word for word in _PARTS.findall(line) if word in fix.names))
    return tuple(sorted(found))


def _stated_names(output: str) -> Iterator[str]:
    for pattern in _MISSING:
        yield from pattern.findall(output)


def _added_by(stated: str, fix: FixText) -> Iterator[str]:
    """What of a name that was said to be missing is new: a new file that it means, or words that the change adds."""
    if any(_is_module(path, added) for path in _module_paths(stated) for added in fix.added_paths):
        yield stated
        return
    yield from (part for part in _PARTS.findall(stated)[-1:] if part in fix.names or part in fix.words)


def _module_paths(stated: str) -> Iterator[str]:
    """The ends of paths that the name of a module can mean: it may be a path itself, or have dots between its parts."""
    for bare in (stated, stated.replace("::", "/"), stated.replace(".", "/")):
        parts = [part for part in bare.split("/") if part not in ("", ".", "..")]
        if parts:
            yield "/".join(parts)


def _is_module(path: str, added: str) -> bool:
    place = PurePosixPath(added)
    whole, stem = f"/{place}", f"/{place.with_suffix('')}"
    # `a/__init__.py`, `a/index.js` and `a/mod.rs` are the module `a`.
    return any(name.endswith(f"/{path}") for name in (whole, stem, f"/{place.parent}"))
