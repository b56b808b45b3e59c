"""The facts of a Python file, by its syntax tree."""

import ast
import re
from collections.abc import Iterator, Sequence

from outweigh.mining.instruction.code_facts import CodeFacts, Declaration, DeclarationKind, LiteralText, TestFunction

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_SHOWN_DECORATORS = frozenset({"property", "cached_property", "classmethod", "staticmethod", "contextmanager"})
_RECORD_BASES = frozenset({"NamedTuple", "TypedDict", "Struct", "BaseModel"})
_RECORD_DECORATORS = frozenset({"dataclass", "define", "frozen", "mutable", "attrs", "s", "attr"})
_PROTOCOL_METHODS = frozenset(
    {
        "__call__",
        "__iter__",
        "__enter__",
        "__exit__",
        "__aenter__",
        "__aexit__",
        "__getitem__",
        "__len__",
        "__contains__",
        "__repr__",
        "__str__",
    }
)
_LONGEST_VALUE = 40
_COMPARING = ("assert", "raises", "warns", "parametrize")


def python_facts(path: str, text: str) -> CodeFacts:
    """Take a Python file apart; raise SyntaxError or ValueError where it is none."""
    tree = ast.parse(text)
    nodes = list(ast.walk(tree))  # of large files this takes long, so once
    documentation = set(_documentation(nodes))
    used, members, bound = _names(nodes)
    return CodeFacts(
        declarations=tuple(_declarations(path, tree)),
        texts=tuple(sorted(_texts(nodes, {id(node) for node in documentation}), key=lambda found: found[0])),
        used=frozenset(used),
        members=frozenset(members),
        passed=frozenset((n.lineno, n.arg) for n in nodes if isinstance(n, ast.keyword) and n.arg),
        bound=frozenset(bound),
        imports=frozenset(_imports(nodes)),
        raised=tuple(_raised(nodes)),
        tests=tuple(_tests(tree)),
        prose_lines=frozenset(_prose_lines(text, documentation)),
        comparing_lines=frozenset(_comparing_lines(nodes)),
    )


def _documentation(nodes: Sequence[ast.AST]) -> Iterator[ast.Constant]:
    for node in nodes:
        for _, value in ast.iter_fields(node):
            if isinstance(value, list):
                for statement in value:
                    match statement:
                        case ast.Expr(value=ast.Constant(value=str()) as constant):
                            yield constant


def _prose_lines(text: str, documentation: set[ast.Constant]) -> Iterator[int]:
    for constant in documentation:
        yield from range(constant.lineno, (constant.end_lineno or constant.lineno) + 1)
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("#"):
            yield number


def _comparing_lines(nodes: Sequence[ast.AST]) -> Iterator[int]:
    for node in nodes:
        match node:
            case ast.Call(func=called) if not _last_name(called).startswith(_COMPARING):
                continue
            case ast.Assert() | ast.Call():
                yield from range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _names(nodes: Sequence[ast.AST]) -> tuple[set[tuple[int, str]], set[tuple[int, str]], set[str]]:
    used, members, bound = set(), set(), set()
    for node in nodes:
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                used.add((node.lineno, name))
            case ast.Name(id=name) | ast.arg(arg=name) | ast.ExceptHandler(name=str(name)):
                bound.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                bound.add(name)
            case ast.Attribute(attr=name, value=value):
                is_own = name.startswith("_") and isinstance(value, ast.Name) and value.id in ("self", "cls")
                if not is_own:
                    members.add((node.end_lineno or node.lineno, name))
                if isinstance(node.ctx, ast.Store):
                    bound.add(name)
            case ast.keyword(arg=str(name)):
                members.add((node.lineno, name))
            case ast.ImportFrom(names=names):
                members.update((alias.lineno, alias.name) for alias in names)
                bound.update(alias.asname for alias in names if alias.asname)
            case ast.Import(names=names):
                members.update((alias.lineno, alias.name.rpartition(".")[2]) for alias in names)
                bound.update(alias.asname for alias in names if alias.asname)
    return used, members, bound


def _imports(nodes: Sequence[ast.AST]) -> Iterator[str]:
    for node in nodes:
        match node:
            case ast.ImportFrom(module=module, names=names):
                yield module or ""
                yield from (f"{module or ''}.{alias.name}" for alias in names)
            case ast.Import(names=names):
                yield from (alias.name for alias in names)


def _raised(nodes: Sequence[ast.AST]) -> Iterator[str]:
    for node in nodes:
        match node:
            case ast.Raise(exc=ast.expr() as raised) if name := _last_name(raised):
                yield name


def _tests(node: ast.AST, group: str = "") -> Iterator[TestFunction]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _Function) and child.name.startswith("test"):
            first = min([child.lineno, *(decorator.lineno for decorator in child.decorator_list)])
            last = child.end_lineno or child.lineno
            contract = first_sentence(ast.get_docstring(child) or "")
            yield TestFunction(title=child.name, group=group, contract=contract, first_line=first, last_line=last)
        elif isinstance(child, ast.ClassDef):
            yield from _tests(child, child.name)
        elif isinstance(child, ast.stmt) and not isinstance(child, _Function):
            yield from _tests(child, group)


def _texts(nodes: Sequence[ast.AST], documentation: set[int]) -> Iterator[tuple[int, LiteralText]]:
    inner = {id(value) for node in nodes if isinstance(node, ast.JoinedStr) for value in node.values}
    for node in nodes:
        match node:
            case ast.Constant(value=str(value)) if id(node) not in documentation and id(node) not in inner:
                yield node.lineno, LiteralText((value,))
            case ast.Constant(value=bytes(value)):
                yield node.lineno, LiteralText((value.decode("utf-8", "replace"),))
            case ast.JoinedStr(values=values) if id(node) not in inner:
                yield node.lineno, _template(values)


def _template(values: Sequence[ast.expr]) -> LiteralText:
    parts, fields = [""], []
    for value in values:
        match value:
            case ast.Constant(value=str(text)):
                parts[-1] += text
            case ast.FormattedValue(value=expression):
                fields.append(_field_name(expression))
                parts.append("")
    return LiteralText(tuple(parts), tuple(fields))


def _field_name(expression: ast.expr) -> str:
    match expression:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return "…"


def _declarations(path: str, tree: ast.Module) -> Iterator[Declaration]:
    offers = path.endswith("__init__.py")
    for node in _statements(tree.body):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield _function(path, node, "")
            case ast.ClassDef():
                yield from _class(path, node)
            case ast.Assign() | ast.AnnAssign():
                yield from _assigned(path, node, "")
            case ast.ImportFrom(names=names, module=module) if offers and module != "__future__":
                for alias in names:
                    name = alias.asname or alias.name
                    yield Declaration(path=path, name=name, kind=DeclarationKind.EXPORT, signature=name)


def _statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    for node in body:
        match node:
            case ast.If(body=inner, orelse=other):
                yield from _statements([*inner, *other])
            case ast.Try(body=inner, handlers=handlers, orelse=other):
                yield from _statements([*inner, *other, *(part for handler in handlers for part in handler.body)])
            case ast.With(body=inner):
                yield from _statements(inner)
            case _:
                yield node


def _function(path: str, node: _Function, owner: str) -> Declaration:
    marks = [f"@{name} " for name in map(_last_name, node.decorator_list) if name in _SHOWN_DECORATORS]
    marks += [f"@{node.name}.setter " for decorator in node.decorator_list if _last_name(decorator) == "setter"]
    start = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    name = f"{owner}.{node.name}" if owner else node.name
    return Declaration(
        path=path,
        name=node.name,
        kind=DeclarationKind.METHOD if owner else DeclarationKind.FUNCTION,
        signature=f"{''.join(marks)}{start} {name}({ast.unparse(node.args)}){returns}",
        contract=first_sentence(ast.get_docstring(node) or ""),
        owner=owner,
        shape=f"{''.join(marks)}{start} {name}({_unannotated(node.args)})",
    )


def _unannotated(arguments: ast.arguments) -> str:
    text = ast.unparse(arguments)
    for argument in ast.walk(arguments):
        if isinstance(argument, ast.arg) and argument.annotation:
            text = text.replace(f"{argument.arg}: {ast.unparse(argument.annotation)}", argument.arg)
    return text


def _last_name(expression: ast.expr) -> str:
    match expression:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Call(func=function):
            return _last_name(function)
        case ast.Subscript(value=value):
            return _last_name(value)
    return ""


def _class(path: str, node: ast.ClassDef) -> Iterator[Declaration]:
    members = [member for statement in _statements(node.body) for member in _members(path, node, statement)]
    bases = [ast.unparse(base) for base in node.bases] + [ast.unparse(keyword) for keyword in node.keywords]
    signature = f"class {node.name}({', '.join(bases)})" if bases else f"class {node.name}"
    decorators = [ast.unparse(decorator) for decorator in node.decorator_list if _is_record_mark(decorator)]
    signature = "".join(f"@{decorator} " for decorator in decorators) + signature
    if _is_record(node):
        fields = [_field(part) for part in node.body if isinstance(part, ast.AnnAssign)]
        signature += f" with the fields {', '.join(fields)}" if fields else ""
    yield Declaration(
        path=path,
        name=node.name,
        kind=DeclarationKind.CLASS,
        signature=signature,
        contract=first_sentence(ast.get_docstring(node) or ""),
    )
    yield from members


def _field(node: ast.AnnAssign) -> str:
    """A field with its default, without which nobody knows that it can be left out."""
    declared = ast.unparse(node).split(" = ")[0]
    default = "" if node.value is None else ast.unparse(node.value)
    return declared if not default else f"{declared} = {default if len(default) <= _LONGEST_VALUE else '…'}"


def _is_record_mark(decorator: ast.expr) -> bool:
    return _last_name(decorator) in _RECORD_DECORATORS


def _is_record(node: ast.ClassDef) -> bool:
    return any(map(_is_record_mark, node.decorator_list)) or any(_last_name(b) in _RECORD_BASES for b in node.bases)


def _members(path: str, owner: ast.ClassDef, node: ast.stmt) -> Iterator[Declaration]:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            if not _is_dunder(node.name) or node.name in _PROTOCOL_METHODS or node.name == "__init__":
                yield _function(path, node, owner.name)
            for part in ast.walk(node):
                match part:
                    case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Store()):
                        yield _attribute(path, name, f"{owner.name}.{name}", owner.name)
        case ast.Assign() | ast.AnnAssign():
            yield from _assigned(path, node, owner.name)


def _is_dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _attribute(path: str, name: str, signature: str, owner: str) -> Declaration:
    kind = DeclarationKind.ATTRIBUTE if owner else DeclarationKind.CONSTANT
    return Declaration(path=path, name=name, kind=kind, signature=signature, owner=owner, shape=name)


def _assigned(path: str, node: ast.Assign | ast.AnnAssign, owner: str) -> Iterator[Declaration]:
    prefix = f"{owner}." if owner else ""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    kind = f": {ast.unparse(node.annotation)}" if isinstance(node, ast.AnnAssign) else ""
    shown = ""
    if isinstance(node.value, ast.Constant) and len(ast.unparse(node.value)) <= _LONGEST_VALUE:
        shown = f" = {ast.unparse(node.value)}"
    for target in targets:
        for part in target.elts if isinstance(target, ast.Tuple) else [target]:
            if isinstance(part, ast.Name) and part.id not in ("__all__", "__slots__"):
                yield _attribute(path, part.id, f"{prefix}{part.id}{kind}{shown}", owner)


def first_sentence(documentation: str) -> str:
    """The first sentence of a documentation text, on one line."""
    paragraph = re.split(r"\n\s*\n|\n\s*[\w ]+:\s*(?:\n|$)|\n\s*[:@]\w", documentation.strip(), maxsplit=1)[0]
    line = " ".join(paragraph.split())
    return re.split(r"(?<=[.!?])\s+(?=[A-Z`*])", line, maxsplit=1)[0]
