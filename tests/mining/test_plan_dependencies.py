"""Claims about what is planned to be installed for a commit."""

import json
from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any

import pytest

from outweigh.mining.commit_version import version_of_tag
from outweigh.mining.dependencies import DependencyError, DependencyOptions, DependencySet
from outweigh.mining.plan_dependencies import plan_dependencies
from outweigh.mining.pythons import InstalledPython, choose_python, satisfies

PYTHONS = tuple(InstalledPython((3, minor), f"/usr/bin/python3.{minor}") for minor in (8, 11, 12))
SETUPTOOLS = " 'setuptools<81'"
PYPROJECT = '[project]\nname = "kettle"\nversion = "1.0"\ndependencies = ["water"]\n'


def planned(
    files: Mapping[str, str], day: str = "2023-05-10", version: str | None = None, **options: Any
) -> DependencySet:
    read = {path: content.encode() for path, content in files.items()}.get
    found = plan_dependencies(
        tuple(files),
        read,
        datetime.fromisoformat(day).replace(tzinfo=UTC),
        DependencyOptions(**options),
        version=version,
        pythons=PYTHONS,
    )
    assert found is not None
    return found


def installs(files: Mapping[str, str], **more: str) -> str:
    """The command that installs what the tests of a Python project need, without its first words."""
    command = planned(files, **more).commands[1]
    return command.removeprefix("uv pip install -q --compile-bytecode --exclude-newer ").removesuffix(SETUPTOOLS)


class TestPython:
    @pytest.mark.parametrize(
        ("files", "wanted"),
        [
            ({"pyproject.toml": PYPROJECT}, "-r pyproject.toml pytest"),
            (
                {"pyproject.toml": f'{PYPROJECT}[project.optional-dependencies]\ntests = ["x"]\ndocs = ["y"]\n'},
                "-r pyproject.toml --extra tests pytest",
            ),
            (
                {"pyproject.toml": f'{PYPROJECT}[project.optional-dependencies]\ndev = ["x"]\n'},
                "-r pyproject.toml --extra dev pytest",
            ),
            (
                {"pyproject.toml": f'{PYPROJECT}[dependency-groups]\ntest = ["x"]\nlint = ["y"]\n'},
                "-r pyproject.toml --group test pytest",
            ),
            (
                {"setup.py": "setup(name='kettle', extras_require={'testing': ['x']})"},
                "-r setup.py --extra testing pytest",
            ),
            (
                {"setup.cfg": "[metadata]\nname = kettle\n[options.extras_require]\ntest = x\n", "setup.py": "setup()"},
                "-r setup.py --extra test pytest",
            ),
            (
                {"pyproject.toml": PYPROJECT, "requirements-test.txt": "x", "requirements.txt": "y"},
                "-r pyproject.toml -r requirements-test.txt pytest",
            ),
            (
                {"requirements.txt": "y", "requirements-dev.in": "x"},
                "-r requirements.txt -r requirements-dev.in pytest",
            ),
            (
                {"pyproject.toml": PYPROJECT, "tox.ini": "[testenv]\ndeps =\n    freezegun>1\n    -rother.txt\n"},
                "-r pyproject.toml 'freezegun>1' pytest",
            ),
            (
                {
                    "pyproject.toml": '[tool.poetry]\nname = "kettle"\n[tool.poetry.group.dev.dependencies]\n'
                    'mug = "^1.2"\nspoon = {version = "~0.3"}\n'
                },
                "-r pyproject.toml 'mug>=1.2,<2' 'spoon>=0.3,<0.4' pytest",
            ),
            (
                {"pyproject.toml": f'{PYPROJECT}[tool.pytest.ini_options]\naddopts = "--cov=x -n 2"\n'},
                "-r pyproject.toml pytest-cov pytest-xdist pytest",
            ),
        ],
    )
    def test_what_tests_need_comes_from_the_manifests_as_of_the_month(
        self, files: Mapping[str, str], wanted: str
    ) -> None:
        assert installs(files) == f"2023-05-01 {wanted}"

    def test_a_project_that_uses_unittest_alone_needs_nothing_from_a_registry(self) -> None:
        files = {"tests/test_a.py": "import unittest\n\nclass A(unittest.TestCase):\n    def test_a(self): pass\n"}

        assert len(planned(files).commands) == 1
        assert planned(files, needs_pytest=True).commands[1].split()[-2:] == ["pytest", "'setuptools<81'"]
        assert "pytest" in installs({**files, "conftest.py": ""})

    def test_packages_of_other_extras_are_installed_where_tests_import_them(self) -> None:
        extras = '[project.optional-dependencies]\ntests = ["x"]\ndev = ["log-lib>=2", "other", "kettle[tests]"]\n'
        test = "import kettle\n\ntry:\n    import log_lib\nexcept ImportError:\n    log_lib = None\n"

        installed = installs({"pyproject.toml": PYPROJECT + extras, "tests/test_a.py": test})

        assert installed == "2023-05-01 -r pyproject.toml --extra tests 'log-lib>=2' pytest"

    def test_it_falls_back_to_other_dates_and_to_less(self) -> None:
        files = {"pyproject.toml": f'{PYPROJECT}[project.optional-dependencies]\ntests = ["x"]\n'}

        tried = [
            attempt[1].partition("--compile-bytecode ")[2].removesuffix(SETUPTOOLS)
            for attempt in planned(files).fallbacks
        ]

        assert tried == [
            "--exclude-newer 2023-06-01 -r pyproject.toml --extra tests pytest",
            "-r pyproject.toml --extra tests pytest",
            "--exclude-newer 2023-05-01 -r pyproject.toml pytest",
            "--exclude-newer 2023-06-01 -r pyproject.toml pytest",
            "-r pyproject.toml pytest",
            # Without the project itself, in case that it cannot be built.
            "--exclude-newer 2023-05-01 -r pyproject.toml --extra tests pytest",
            "--exclude-newer 2023-05-01 -r pyproject.toml pytest",
            "--exclude-newer 2023-05-01 pytest",
        ]
        assert [len(attempt) for attempt in planned(files).fallbacks] == [3, 3, 3, 3, 3, 2, 2, 2]

    def test_versions_come_from_a_lock_of_uv_where_there_is_one(self) -> None:
        files = {"pyproject.toml": f'{PYPROJECT}[dependency-groups]\ndev = ["x"]\n', "uv.lock": "version = 1\n"}

        assert "uv export -q --frozen --no-hashes --no-emit-project --group dev" in planned(files).commands[1]

    def test_the_version_of_a_tag_counts_only_where_the_project_takes_its_version_from_tags(self) -> None:
        from_tags = PYPROJECT.replace('version = "1.0"', 'dynamic = ["version"]') + (
            '[build-system]\nrequires = ["hatchling", "hatch-vcs"]\nbuild-backend = "hatchling.build"\n'
        )

        stated, tagged = (planned({"pyproject.toml": text}, version="2.1.0") for text in (PYPROJECT, from_tags))

        assert (stated.version, stated.project_version) == (None, "1.0")
        assert (tagged.version, tagged.project_version) == ("2.1.0", "2.1.0")
        assert tagged.key != planned({"pyproject.toml": from_tags}, version="2.2.0").key


class TestNode:
    def test_a_lock_decides_the_versions_and_else_the_day(self) -> None:
        package = json.dumps({"name": "kettle", "version": "2.0.0", "devDependencies": {"mug": "^1"}})

        locked = planned({"package.json": package, "package-lock.json": '{"lockfileVersion": 3}'})
        free = planned({"package.json": package})

        assert locked.commands == ("npm ci",)
        assert free.commands == ("npm install --no-save --before=2023-06-01",)
        assert ("npm install --no-save",) in free.fallbacks
        assert locked.fallbacks == (("npm ci --ignore-scripts",),)
        assert locked.otherwise is not None
        assert locked.otherwise.commands == free.commands
        assert (free.names, free.project_version) == ({"node": "kettle"}, "2.0.0")


class TestOthers:
    def test_a_setup_command_replaces_what_manifests_say(self) -> None:
        found = planned({"pyproject.toml": PYPROJECT}, setup="make install")

        create, pip, dated = found.commands
        assert create.startswith("uv venv -q --seed")
        assert "exec uv pip" in pip
        assert dated == (
            "export UV_EXCLUDE_NEWER=2023-05-01 PIP_UPLOADED_PRIOR_TO=2023-05-01 npm_config_before=2023-05-01; "
            "make install"
        )
        assert found.fallbacks == ((create, "make install"),)

    def test_go_and_cargo_download_unless_they_are_vendored(self) -> None:
        found = planned({"go.mod": "module x"})
        assert "go mod download" in found.commands[0]
        assert found.fallbacks == (("true",),)  # packages without imports from elsewhere can be tested all the same
        assert "cargo fetch" in planned({"Cargo.toml": ""}).commands[0]
        files = {"go.mod": "module x", "vendor/modules.txt": ""}
        day = datetime(2023, 5, 10, tzinfo=UTC)
        assert plan_dependencies(tuple(files), lambda _: b"", day, DependencyOptions()) is None

    def test_an_image_of_the_repository_is_named_but_not_used(self) -> None:
        (note,) = planned({"pyproject.toml": PYPROJECT, "Dockerfile": "FROM x"}).notes

        assert note == "Dockerfile is not used; to run tests in an image, build it and name it with --image."

    def test_an_image_has_its_own_interpreter(self) -> None:
        for version, program in ((None, "python3"), ("3.9", "python3.9")):
            (create, *_) = planned({"pyproject.toml": PYPROJECT}, in_image=True, python=version).commands

            assert create == f"uv venv -q --python {program} /opt/dependencies/venv"


class TestKey:
    def test_it_is_the_same_for_what_changes_nothing_that_is_installed(self) -> None:
        key = planned({"pyproject.toml": PYPROJECT}).key

        assert planned({"pyproject.toml": f"{PYPROJECT}[tool.ruff]\nline-length = 100\n", "a.py": ""}).key == key
        assert planned({"pyproject.toml": PYPROJECT}, day="2023-05-31").key == key
        package = {"name": "kettle", "devDependencies": {"mug": "^1"}}
        first, second = (
            planned({"package.json": json.dumps({**package, "version": each, "description": each})}).key
            for each in ("1.0.0", "1.1.0")
        )
        assert first == second

    @pytest.mark.parametrize(
        "files",
        [
            {"package.json": '{"name": "kettle"}', "package-lock.json": '{"lockfileVersion": 3}'},
            {"pyproject.toml": PYPROJECT, "uv.lock": "version = 1\n"},
            {"go.mod": "module x"},
            {"go.mod": "module x", "package.json": '{"name": "x"}', "package-lock.json": '{"lockfileVersion": 3}'},
        ],
        ids=["npm", "uv", "go", "go and npm"],
    )
    def test_what_a_lock_file_decides_is_the_same_in_every_month(self, files: Mapping[str, str]) -> None:
        may, june = planned(files), planned(files, day="2023-06-10")

        assert may.key == june.key
        assert (may.otherwise and may.otherwise.key) != (june.otherwise and june.otherwise.key) or not may.otherwise

    def test_where_a_part_has_no_lock_the_month_counts(self) -> None:
        files = {"pyproject.toml": PYPROJECT, "package.json": "{}", "package-lock.json": '{"lockfileVersion": 3}'}

        assert planned(files).key != planned(files, day="2023-06-10").key

    @pytest.mark.parametrize(
        ("files", "more"),
        [
            ({"pyproject.toml": PYPROJECT.replace("water", "milk")}, {}),
            ({"pyproject.toml": PYPROJECT}, {"day": "2023-06-01"}),
            ({"pyproject.toml": PYPROJECT}, {"python": "3.8"}),
            ({"pyproject.toml": PYPROJECT}, {"setup": "make"}),
            ({"pyproject.toml": PYPROJECT, "requirements-test.txt": "x"}, {}),
        ],
    )
    def test_it_differs_where_what_is_installed_may_differ(
        self, files: Mapping[str, str], more: Mapping[str, str]
    ) -> None:
        assert planned(files, **more).key != planned({"pyproject.toml": PYPROJECT}).key

    def test_sources_that_are_compiled_count_where_the_project_compiles_some(self) -> None:
        plain, native = "setup(name='kettle')", "setup(name='kettle', ext_modules=[Extension('k', ['k.c'])])"

        def keys(setup: str) -> set[str]:
            return {planned({"setup.py": setup, "k.c": code}).key for code in ("int a;", "int b;")}

        assert (len(keys(plain)), len(keys(native))) == (1, 2)


class TestInterpreter:
    @pytest.mark.parametrize(
        ("requires", "classified", "day", "chosen"),
        [
            (None, (), date(2023, 5, 1), "3.11"),
            (None, (), date(2019, 1, 1), "3.8"),
            (">=3.8", ("3.8", "3.9"), date(2023, 5, 1), "3.8"),
            (">=3.12", (), date(2023, 5, 1), "3.12"),
            (">=3.8,<3.11", (), date(2025, 5, 1), "3.8"),
        ],
    )
    def test_it_is_the_newest_that_was_in_use_and_is_allowed(
        self, requires: str | None, classified: tuple[str, ...], day: date, chosen: str
    ) -> None:
        found = choose_python(PYTHONS, requires, classified, day)

        assert found is not None
        assert found.name == chosen

    def test_packages_are_as_new_as_the_interpreter_needs(self) -> None:
        assert planned({"pyproject.toml": PYPROJECT}, day="2015-01-01").before == "2020-02-11"

    def test_one_that_is_missing_is_named_with_those_that_are_there(self) -> None:
        with pytest.raises(DependencyError, match=r"there is no Python 3\.7 on this machine, only 3\.8, 3\.11, 3\.12"):
            planned({"pyproject.toml": PYPROJECT}, python="3.7")
        needs_newer = PYPROJECT + 'requires-python = ">=3.40"\n'
        with pytest.raises(DependencyError, match=r"the project needs Python >=3\.40, and on this machine"):
            planned({"pyproject.toml": needs_newer})

    @pytest.mark.parametrize(
        ("requires", "fits"),
        [(">=3.8", True), ("<3.8", False), ("~=3.7", True), ("==3.8.*", True), ("!=3.8", False), ("<4", True)],
    )
    def test_constraints_are_those_of_requires_python(self, requires: str, fits: bool) -> None:
        assert satisfies((3, 8), requires) is fits


@pytest.mark.parametrize(
    ("tag", "version"),
    [("v1.2.0", "1.2.0"), ("24.1", "24.1"), ("release-3.0rc1", "3.0rc1"), ("kettle/v2.0.1", "2.0.1"), ("latest", None)],
)
def test_a_tag_names_a_version(tag: str, version: str | None) -> None:
    assert version_of_tag(tag) == version
