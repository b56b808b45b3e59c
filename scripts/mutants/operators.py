"""The faults that a mutation run puts into a module, one at a time.

Text is never mutated: messages, docstrings, f-strings, annotations, decorators and class headers stay as they are.
Numbers below 1e-6 are tolerances against rounding and stay too.
"""

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

LONGEST_CONTEXT = 100
TOLERANCE = 1e-6
PLAIN_FLAGS = frozenset({"strict", "slots", "frozen", "kw_only", "eq", "default_factory"})

BOUNDARIES: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
CALLS = {"any": "all", "all": "any", "min": "max", "max": "min"}


MutantKey = tuple[str, str, str, str, int]
"""File, function, original text, mutated text, number."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One fault: which function of which file, the text before and after, and the whole file with the fault.

    `number` tells equal changes of one function apart, counted from 1. `on_import` is a change of what runs when the
    module is loaded: constants, fields of classes, and defaults of arguments.
    """

    file: str
    function: str
    original: str
    mutated: str
    number: int
    line: int
    on_import: bool
    source: str

    @property
    def key(self) -> MutantKey:
        """What identifies the mutant while the lines around it move."""
        return self.file, self.function, self.original, self.mutated, self.number


@dataclass(frozen=True, slots=True)
class Edit:
    """Put `new` in the place of `old`; for two statements that change places, `new` is the second of them."""

    old: ast.AST
    new: ast.AST


def mutants_of(root: Path, file: str) -> list[Mutant]:
    """Every mutant of one file, in the order of its lines."""
    return list(Module(file, (root / file).read_text(encoding="utf-8")).mutants())


class Module:
    """One parsed file, with what is needed to write it again with one change."""

    def __init__(self, file: str, source: str) -> None:
        self._file = file
        self._raw = source.encode()
        self._tree = ast.parse(source)
        self._parents = {child: parent for parent in ast.walk(self._tree) for child in ast.iter_child_nodes(parent)}
        self._texts: dict[ast.AST, str] = {}
        starts = [0]
        for line in source.encode().splitlines(keepends=True):
            starts.append(starts[-1] + len(line))
        self._starts = starts

    def mutants(self) -> Iterator[Mutant]:
        """All of them, in the order of the tree."""
        seen: Counter[tuple[str, str, str]] = Counter()
        for node in self._walk(self._tree):
            for edit in edits(node):
                original, mutated, source = self._changed(edit)
                function = self._function(edit.old)
                seen[function, original, mutated] += 1
                yield Mutant(
                    file=self._file,
                    function=function,
                    original=original,
                    mutated=mutated,
                    number=seen[function, original, mutated],
                    line=getattr(edit.old, "lineno", 0),
                    on_import=self._on_import(edit.old),
                    source=source,
                )

    def _walk(self, node: ast.AST) -> Iterator[ast.AST]:
        """All nodes that may be mutated, in order."""
        yield node
        for name, value in ast.iter_fields(node):
            if name in ("decorator_list", "annotation", "returns", "bases", "keywords") and not isinstance(
                node, ast.Call
            ):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST) and not _text(child) and not self._type_alias(child):
                    yield from self._walk(child)

    def _type_alias(self, node: ast.AST) -> bool:
        at_module_level = isinstance(self._parents.get(self._parents[node]), ast.Module | None)
        return at_module_level and isinstance(node, ast.BinOp | ast.Subscript)

    def _changed(self, edit: Edit) -> tuple[str, str, str]:
        """The text before, the text after, and the whole file with the change."""
        raw = self._raw
        if isinstance(edit.old, ast.If) and isinstance(edit.new, ast.If):
            (first, end), (start, last) = self._span(edit.old), self._span(edit.new)
            change = raw[start:last] + raw[end:start] + raw[first:end]
            headers = _header(edit.old), _header(edit.new)
            original, mutated = "; ".join(headers), "; ".join(reversed(headers))
        else:
            first, last = self._span(edit.old)
            text = ast.unparse(edit.new)
            change = (f"({text})" if isinstance(edit.new, ast.expr) else text).encode()
            original, mutated = self._in_context(edit)
        return original, mutated, (raw[:first] + change + raw[last:]).decode()

    def _span(self, node: ast.AST) -> tuple[int, int]:
        assert isinstance(node, ast.expr | ast.stmt)
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return (
            self._starts[node.lineno - 1] + node.col_offset,
            self._starts[node.end_lineno - 1] + node.end_col_offset,
        )

    def _in_context(self, edit: Edit) -> tuple[str, str]:
        """The change with as much around it as stays readable."""
        context: ast.AST = edit.old
        while (parent := self._parents.get(context)) is not None:
            if not isinstance(parent, ast.expr | ast.keyword | ast.Return | ast.Assign | ast.AnnAssign | ast.AugAssign):
                break
            if len(self._unparse(parent)) > LONGEST_CONTEXT:
                break
            context = parent
        original = self._unparse(context)
        if context is edit.old:
            return original, ast.unparse(edit.new)
        owner = self._parents[edit.old]
        for name, value in ast.iter_fields(owner):
            if value is edit.old:
                setattr(owner, name, edit.new)
                mutated = ast.unparse(context)
                setattr(owner, name, edit.old)
                return original, mutated
            if isinstance(value, list) and any(item is edit.old for item in value):
                index = next(place for place, item in enumerate(value) if item is edit.old)
                value[index] = edit.new
                mutated = ast.unparse(context)
                value[index] = edit.old
                return original, mutated
        raise LookupError("a node that its parent does not hold")

    def _unparse(self, node: ast.AST) -> str:
        if node not in self._texts:
            self._texts[node] = ast.unparse(node)
        return self._texts[node]

    def _on_import(self, node: ast.AST) -> bool:
        inner = node
        while (parent := self._parents.get(inner)) is not None:
            if isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef):
                return inner is parent.args
            inner = parent
        return True

    def _function(self, node: ast.AST) -> str:
        names = []
        inner: ast.AST | None = node
        while inner is not None:
            if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                names.append(inner.name)
            inner = self._parents.get(inner)
        return ".".join(reversed(names))


def edits(node: ast.AST) -> Iterator[Edit]:
    """Every single change of one node."""
    if isinstance(node, ast.expr):
        yield from _expressions(node)
    elif isinstance(node, ast.stmt):
        yield from _statements(node)
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if isinstance(block, list):
            yield from (Edit(first, second) for first, second in pairwise(block) if _may_swap(first, second))


def _expressions(node: ast.expr) -> Iterator[Edit]:
    match node:
        case ast.Compare():
            yield from _comparisons(node)
        case ast.BoolOp():
            yield from _conditions(node)
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            yield Edit(node, node.operand)
        case ast.BinOp() if type(node.op) in ARITHMETIC and not (_text(node.left) or _text(node.right)):
            yield Edit(node, ast.BinOp(node.left, ARITHMETIC[type(node.op)](), node.right))
        case ast.Constant():
            yield from _constants(node)
        case ast.Call(func=ast.Name(id=name)) if name in CALLS:
            yield Edit(node.func, ast.Name(CALLS[name]))
        case ast.IfExp():
            yield Edit(node, ast.IfExp(node.test, node.orelse, node.body))
        case ast.GeneratorExp() | ast.ListComp() | ast.SetComp() | ast.DictComp():
            yield from _filters(node)


def _conditions(node: ast.BoolOp) -> Iterator[Edit]:
    """The other of `and` and `or`, and each condition left out."""
    other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    yield Edit(node, ast.BoolOp(other, node.values))
    for index in range(len(node.values)):
        rest = node.values[:index] + node.values[index + 1 :]
        yield Edit(node, rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest))


def _comparisons(node: ast.Compare) -> Iterator[Edit]:
    for index, operator in enumerate(node.ops):
        changed: list[ast.cmpop] = list(node.ops)
        changed[index] = BOUNDARIES[type(operator)]()
        yield Edit(node, ast.Compare(node.left, changed, node.comparators))


def _constants(node: ast.Constant) -> Iterator[Edit]:
    value = node.value
    if isinstance(value, bool):
        yield Edit(node, ast.Constant(not value))
    elif isinstance(value, int):
        yield Edit(node, ast.Constant(value + 1))
    elif isinstance(value, float) and (value == 0 or abs(value) >= TOLERANCE):
        yield Edit(node, ast.Constant(1.0 if value == 0 else 2 * value))


def _filters(node: ast.GeneratorExp | ast.ListComp | ast.SetComp | ast.DictComp) -> Iterator[Edit]:
    """Leave a filter of a comprehension out."""
    for place, generator in enumerate(node.generators):
        for index in range(len(generator.ifs)):
            rest = generator.ifs[:index] + generator.ifs[index + 1 :]
            if any(isinstance(part, ast.NamedExpr) for part in ast.walk(generator.ifs[index])):
                continue
            wider = ast.comprehension(generator.target, generator.iter, rest, generator.is_async)
            generators = [*node.generators[:place], wider, *node.generators[place + 1 :]]
            new: ast.expr
            if isinstance(node, ast.DictComp):
                new = ast.DictComp(node.key, node.value, generators)
            else:
                new = type(node)(node.elt, generators)
            yield Edit(node, new)


def _statements(node: ast.stmt) -> Iterator[Edit]:
    match node:
        case ast.If(test=ast.Name() | ast.Attribute() | ast.Call() | ast.NamedExpr()):
            yield Edit(node.test, ast.UnaryOp(ast.Not(), node.test))
        case ast.Expr(value=ast.Call()) | ast.Raise() | ast.AugAssign():
            yield Edit(node, ast.Pass())
        case ast.Expr(value=ast.Yield() | ast.YieldFrom()):
            yield Edit(node.value, ast.YieldFrom(ast.Tuple([])))
        case ast.Break():
            yield Edit(node, ast.Continue())
        case ast.Continue():
            yield Edit(node, ast.Break())


def _may_swap(first: ast.AST, second: ast.AST) -> bool:
    """Two conditions that end the function and may hold at once, unlike `x == 1` and `x == 2`."""
    if not (_guard(first) and _guard(second)):
        return False
    tests = [node.test for node in (first, second) if isinstance(node, ast.If)]
    cases = [ast.unparse(test.left) for test in tests if isinstance(test, ast.Compare) and _case(test)]
    return len(cases) < 2 or cases[0] != cases[1]


def _case(test: ast.Compare) -> bool:
    return isinstance(test.ops[0], ast.Eq | ast.Is) and len(test.ops) == 1


def _guard(node: ast.AST) -> bool:
    """A condition that ends the function: which of two comes first may matter."""
    return isinstance(node, ast.If) and not node.orelse and isinstance(node.body[-1], ast.Return | ast.Raise)


def _header(node: ast.If) -> str:
    return f"if {ast.unparse(node.test)}: …"


def _text(node: ast.AST) -> bool:
    """Text, and flags that only say how something is declared."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str | bytes)
    if isinstance(node, ast.keyword):
        return node.arg in PLAIN_FLAGS
    return isinstance(node, ast.JoinedStr | ast.Import | ast.ImportFrom) or _declaration(node)


def _declaration(node: ast.AST) -> bool:
    if isinstance(node, ast.If):
        return ast.unparse(node.test) == "TYPE_CHECKING"
    return isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in ("__slots__", "__all__")
