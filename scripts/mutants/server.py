"""A process that has collected all tests and loaded the package, and forks for each mutant.

In the fork the code of the mutated function is put in the place of the original, which takes no time, and the chosen
tests run at once. What runs when a module is imported cannot be changed in this way.
"""

import importlib
import inspect
import os
import sys
import time
from collections.abc import Sequence
from functools import cached_property
from io import BufferedRWPair
from types import CodeType, FunctionType

import msgspec
import pytest

from scripts.mutants.trial import PATIENCE, limit_cpu, wait

NOT_SWAPPED = 71


class Request(msgspec.Struct):
    """One mutant to try: its function, the whole changed module, and the tests in their order."""

    file: str
    function: str
    source: str
    tests: Sequence[str]
    seconds: float


class Server:
    """Instead of running what was collected, answer requests until there are no more."""

    def __init__(self, line: BufferedRWPair) -> None:
        self._line = line

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Fork for every request, and answer with pytest's code (None where it took too long)."""
        items = {item.nodeid: item for item in session.items}
        self._answer(0)
        while line := self._line.readline():
            request = msgspec.json.decode(line, type=Request)
            child = os.fork()
            if not child:
                run_and_exit(session, request, [items[name] for name in request.tests])
            self._answer(wait(child, PATIENCE * request.seconds))
        return True

    def _answer(self, code: int | None) -> None:
        self._line.write(msgspec.json.encode(code) + b"\n")
        self._line.flush()


def run_and_exit(session: pytest.Session, request: Request, items: list[pytest.Item]) -> None:
    """The life of one fork: 0 when all tests pass, 1 at the first that does not."""
    code = 1
    try:
        os.setpgid(0, 0)
        limit_cpu(time.process_time() + request.seconds)
        if not swap_code(request.file, request.function, request.source):
            code = NOT_SWAPPED
            return
        session.items = items
        for index, item in enumerate(items):
            following = items[index + 1] if index + 1 < len(items) else None
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if session.testsfailed:
                return
        code = 0
    finally:
        sys.stdout.flush()
        os._exit(code)


def swap_code(file: str, function: str, source: str) -> bool:
    """Give a loaded function the code that it has in this source; False where that cannot be done."""
    module = importlib.import_module("outweigh." + file.removesuffix(".py").replace("/", "."))
    code = compile(source, module.__file__ or file, "exec")
    owner: object = module
    for name in function.split("."):
        found = [part for part in code.co_consts if isinstance(part, CodeType) and part.co_name == name]
        try:
            owner = _unwrapped(inspect.getattr_static(owner, name))
        except AttributeError:
            return False
        if len(found) != 1:
            return False
        code = found[0]
        if isinstance(owner, FunctionType):
            if owner.__code__.co_freevars != code.co_freevars:
                return False
            owner.__code__ = code
            return True
    return False


def _unwrapped(value: object) -> object:
    if isinstance(value, property):
        value = value.fget
    elif isinstance(value, staticmethod | classmethod):
        value = value.__func__
    elif isinstance(value, cached_property):
        value = value.func
    return getattr(value, "__wrapped__", value)
