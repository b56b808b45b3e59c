"""The names and literal texts that hidden tests need and only the change knows."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from outweigh.mining.instruction.code_facts import Declaration, DeclarationKind, LiteralText
from outweigh.mining.instruction.facts_of_change import AddedSource, FailingTests
from outweigh.mining.instruction.masking import FAMILIES
from outweigh.mining.instruction.shared_texts import filled_in, is_used_text, quoted_pieces, written_texts
from outweigh.mining.instruction.stated_examples import quoted

LONGEST_TEXT = 400
"""Characters of a literal text that can be stated; a longer one would be most of the solution."""

_CALLED_BY = {"__repr__": "repr", "__str__": "str"}
"""Methods that tests call by a function, so that they need not name the class."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interface:
    """What must be stated: `items` in Markdown, and what cannot be: `unstated_names`, `unstated_texts`.

    `says_what` is whether a declaration, a text or a file among the items tells something about what is wanted.
    """

    items: tuple[str, ...]
    says_what: bool = False
    unstated_names: tuple[str, ...] = ()
    unstated_texts: tuple[str, ...] = ()


def find_interface(
    source: AddedSource, tests: FailingTests, known_at_base: frozenset[str], missing_names: Iterable[str] = ()
) -> Interface:
    """Compare what the source introduces with what the tests use."""
    missing = {name: _last_name(name) for name in missing_names}
    wanted = frozenset(missing.values())
    tests = replace(tests, names=tests.names | wanted, members=tests.members | wanted)
    declarations = list(_used_declarations(source, tests))
    stated = {name for d in declarations for name in re.findall(r"[\w$]+", f"{d.path} {d.signature}")}
    files = [path for path in source.files if _is_imported(path, tests.imports) or _module_name(path) in wanted]
    files = [path for path in files if not any(d.path == path for d in declarations)]
    written = written_texts(tests.texts)
    texts = [text for text in source.texts if is_used_text(text, written, known_at_base)]
    short = [text for text in texts if len(text.shown) <= LONGEST_TEXT and text.shown not in stated]
    long = {text: quoted_pieces(text, written) for text in texts if len(text.shown) > LONGEST_TEXT}
    stated |= {word for text in short for word in re.findall(r"[\w$]+", text.shown)}
    shared = {name: source.names[name] for name in source.names.keys() & tests.members}
    shared |= {name: source.read[name] for name in source.read.keys() & tests.passed}
    bare = sorted(name for name in shared if name not in stated and name not in known_at_base and len(name) > 1)
    items = [
        *(_declaration_item(d) for d in _without_repeats(declarations)),
        *(f"The file `{path}`, which the tests import." for path in files),
        *(f"The name `{name}`, used in `{shared[name]}`." for name in bare),
        *(f"The exception `{name}`." for name in source.raised if name in tests.names and name not in stated),
        *(f"The text {quoted(text.shown)}{_as_filled_in(text, written)} in `{source.texts[text]}`." for text in short),
        *(f"A text with {quoted(piece)} in it in `{source.texts[text]}`." for text in long for piece in long[text]),
    ]
    stated |= set(bare) | {_module_name(path) for path in files} | {_module_name(d.path) for d in declarations}
    return Interface(
        items=tuple(dict.fromkeys(items)),
        says_what=bool(declarations or texts or files),
        unstated_names=tuple(n for n, last in missing.items() if last not in stated and last not in known_at_base),
        unstated_texts=tuple(text.shown for text, pieces in long.items() if not pieces),
    )


def _as_filled_in(text: LiteralText, written: frozenset[str]) -> str:
    example = filled_in(text, written)
    return "" if example is None else f", as in {quoted(example)},"


def _last_name(name: str) -> str:
    """The last part of a name with dots, or of a path without its suffix."""
    path = PurePosixPath(name)
    if path.suffix in FAMILIES or path.suffix == ".py":
        name = str(path.with_suffix(""))
    return re.split(r"[./:]", name)[-1]


def _module_name(path: str) -> str:
    pure = PurePosixPath(path)
    return pure.parent.name if pure.stem in ("__init__", "index", "mod") or pure.suffix == ".go" else pure.stem


def _used_declarations(source: AddedSource, tests: FailingTests) -> Iterator[Declaration]:
    constructed = {d.name for d in source.declarations if d.kind is DeclarationKind.CLASS and d.name in tests.names}
    for d in source.declarations:
        if d.owner and d.name in ("__init__", "constructor"):
            used = d.owner in tests.names
        elif d.name in _CALLED_BY and d.owner:
            used = _CALLED_BY[d.name] in tests.names
        elif d.name.startswith("__") and d.owner:
            used = d.owner in constructed
        elif d.kind in (DeclarationKind.METHOD, DeclarationKind.ATTRIBUTE):
            used = d.name in tests.members
        else:
            used = d.name in tests.names
        if used and not _is_inner(d, tests):
            yield d


def _is_inner(d: Declaration, tests: FailingTests) -> bool:
    """Whether it is a part of a class that only the change itself uses, and has the name of something else."""
    return d.owner.startswith("_") and d.owner not in tests.names


def _without_repeats(declarations: list[Declaration]) -> Iterator[Declaration]:
    """Leave out an attribute that its class shows already, and a name that is offered where it is declared."""
    typed = {(d.path, d.qualified) for d in declarations if d.signature != d.qualified}
    for d in declarations:
        fields = next(
            (c.signature for c in declarations if c.name == d.owner and " with the fields " in c.signature), ""
        )
        repeated = re.search(rf"\b{re.escape(d.name)}\b", fields.partition(" with the fields ")[2])
        bare = d.signature == d.qualified and (d.path, d.qualified) in typed
        typing_only = d.path.endswith((".d.ts", ".pyi")) and any(
            each.name == d.name and not each.path.endswith((".d.ts", ".pyi")) for each in declarations
        )
        if not (d.kind is DeclarationKind.ATTRIBUTE and repeated) and not bare and not typing_only:
            yield d


def _declaration_item(d: Declaration) -> str:
    if d.kind is DeclarationKind.EXPORT:
        return f"`{d.name}` can be imported from `{_module(d.path)}`."
    owner = f" of `{d.owner}`" if d.owner and f"{d.owner}." not in d.signature else ""
    contract = f": {d.contract.rstrip('.')}." if d.contract else ""
    return f"`{d.signature}`{owner} in `{d.path}`{contract}"


def _module(path: str) -> str:
    if not path.endswith("/__init__.py"):
        return path
    return path.removesuffix("/__init__.py").removeprefix("src/").replace("/", ".")


def _is_imported(path: str, imports: frozenset[str]) -> bool:
    """Whether an import names a new file: as a module with dots, or as a path."""
    pure = PurePosixPath(path)
    parts = list(pure.with_suffix("").parts)
    if pure.suffix == ".go":  # a package is a folder, and its import has the name of the module before it
        return any(f"/{name}".endswith(f"/{pure.parent}") for name in imports)
    stem = parts[:-1] if pure.stem in ("__init__", "index", "mod") else parts
    for name in imports:
        named = [part for part in re.split(r"[./:]+", name.removesuffix(pure.suffix)) if part]
        if named and stem[-len(named) :] == named:
            return True
    return False
