"""Test functions of a Python file, and which of them differ between two versions of it."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_SETUP = frozenset(
    {"setUp", "tearDown", "setUpClass", "tearDownClass", "setup_method", "teardown_method", "setup_class", "asyncSetUp"}
)


@dataclass(slots=True)
class _TestModule:
    """The parts of a module, each as the text that its syntax tree has: comments and formatting are no difference."""

    tests: dict[str, ast.AST] = field(default_factory=dict)
    helpers: dict[str, list[ast.AST]] = field(default_factory=dict)
    setups: dict[str, str] = field(default_factory=dict)


def changed_python_tests(before: bytes | None, after: bytes) -> frozenset[str] | None:
    """The tests (`test_one`, `TestClass.test_one`) that are new or differ; None where the file is not Python.

    A test differs, too, if a fixture, a helper or a constant of the module that it uses does, or its class's set-up.
    Imports alone make no difference.
    """
    new = _take_apart(after)
    if new is None:
        return None
    old = (None if before is None else _take_apart(before)) or _TestModule()
    changed_helpers = _spread(_changed_helpers(old.helpers, new.helpers), new.helpers)
    return frozenset(
        name
        for name, test in new.tests.items()
        if name not in old.tests
        or _text(test) != _text(old.tests[name])
        or new.setups.get(_class_of(name)) != old.setups.get(_class_of(name))
        or _names_in(test) & changed_helpers
    )


def _take_apart(source: bytes) -> _TestModule | None:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    module = _TestModule()
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    for node in tree.body:
        if isinstance(node, _Function) and node.name.startswith("test"):
            module.tests[node.name] = node
        elif isinstance(node, ast.ClassDef) and any(True for _ in _test_methods(node, classes)):
            module.tests.update({f"{node.name}.{test.name}": test for test in _test_methods(node, classes)})
            module.setups[node.name] = _class_setup(node)
        else:
            for name in _defined(node):
                module.helpers.setdefault(name, []).append(node)
    return module


def _test_methods(node: ast.ClassDef, classes: Mapping[str, ast.ClassDef], depth: int = 0) -> Iterator[_Function]:
    """The tests of a class with those that it inherits from classes of the same module."""
    own = {each.name for each in node.body if isinstance(each, _Function)}
    yield from (each for each in node.body if isinstance(each, _Function) and each.name.startswith("test"))
    for base in node.bases:
        if isinstance(base, ast.Name) and base.id in classes and depth < 5:
            inherited = _test_methods(classes[base.id], classes, depth + 1)
            yield from (each for each in inherited if each.name not in own)


def _class_setup(node: ast.ClassDef) -> str:
    """What all tests of a class share: its decorators, constants, fixtures and set-up."""
    tests = (each for each in node.body if isinstance(each, _Function) and each.name.startswith("test"))
    left_out = set(map(id, tests))
    shared = [each for each in node.body if id(each) not in left_out and not _is_docstring(each)]
    kept = [each for each in shared if not isinstance(each, _Function) or each.name in _SETUP or each.decorator_list]
    return "\n".join(map(_text, (*node.decorator_list, *kept)))


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _defined(node: ast.stmt) -> list[str]:
    """The names that a statement of a module defines, without imports."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Import | ast.ImportFrom):
        return []
    return [each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)]


def _changed_helpers(old: Mapping[str, list[ast.AST]], new: Mapping[str, list[ast.AST]]) -> set[str]:
    return {name for name, nodes in new.items() if list(map(_text, nodes)) != list(map(_text, old.get(name, ())))}


def _spread(changed: set[str], helpers: Mapping[str, list[ast.AST]]) -> set[str]:
    """Helpers that use a changed helper have changed, too."""
    while True:
        more = {
            name
            for name, nodes in helpers.items()
            if name not in changed and any(_names_in(node) & changed for node in nodes)
        }
        if not more:
            return changed
        changed = changed | more


def _names_in(node: ast.AST) -> set[str]:
    """All names that are used: variables, and the parameters through which fixtures come."""
    used = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    return used | {each.arg for each in ast.walk(node) if isinstance(each, ast.arg)}


def _text(node: ast.AST) -> str:
    return ast.dump(node)


def _class_of(name: str) -> str:
    return name.rpartition(".")[0]
