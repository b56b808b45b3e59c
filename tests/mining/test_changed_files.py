"""What a file is for follows from its path, in the conventions of each language."""

import pytest

from outweigh.mining.changed_files import FileKind, FilePatterns, classify, is_test_data

KINDS = {
    FileKind.SOURCE: """
        src/package/module.py package/module.py setup/tool.py index.js lib/command.js src/app.tsx esm.mjs bin/tool
        cmd/server/main.go internal/store/store.go src/lib.rs crates/core/src/parse.rs src/main/java/org/x/Parser.java
        src/main/resources/messages.properties app/models/user.rb lib/thing.rb src/Controller/Home.php
        src/Library/Parser.cs include/parser.h src/parser.cpp src/package/rules.toml src/package/templates/page.html
        scripts/build.py src/package/testing/server.py src/package/smoke_test.py src/package/test_results.py
        src/latest.py contest/entry.py src/attestation/sign.go
    """,
    FileKind.TEST: """
        tests/test_parser.py test_parser.py package/tests/test_parser.py parser_test.py src/parser_test.py app/tests.py
        src/package/tests/test_parser.py test/test.options.js test/parser.js tests/command.parse.test.js
        src/__tests__/app.tsx src/app.spec.ts src/app.test.mjs spec/parser.js store/store_test.go tests/parse.rs
        crates/core/tests/parse.rs src/test/java/org/x/ParserTest.java src/main/java/ParserTest.java
        app/src/test/kotlin/ParserSpec.kt src/commonTest/kotlin/Parse.kt spec/models/user_spec.rb test/user_test.rb
        tests/Controller/HomeTest.php Library.Tests/ParserTests.cs tests/parser.cpp src/parser_unittest.cc
        test/parser_test.c cypress/login.cy.ts tests/cli.bats t/basic.t
    """,
    FileKind.TEST_SUPPORT: """
        tests/conftest.py conftest.py tests/__init__.py tests/helpers.py tests/data/input.json tests/fixtures/a.py
        test/fixtures/pm src/__snapshots__/app.test.tsx.snap tests/__snapshots__/test_a.ambr store/testdata/golden.txt
        src/test/resources/input.xml jest.config.js vitest.config.ts pytest.ini .mocharc.yml phpunit.xml.dist
        spec/spec_helper.rb typings/index.test-d.ts typings/commander-tests.ts tests/typing/api.py tests/README.md
    """,
    FileKind.DOCS: "README.md docs/index.md docs/conf.py examples/pizza.js LICENSE doc/manual.txt CONTRIBUTING.rst",
    FileKind.CHANGELOG: """
        CHANGELOG.md HISTORY.rst CHANGES News.txt docs/versions.rst Releases.md changelog.d/12.fix.md
        .changeset/brave-cats.md
    """,
    FileKind.MANIFEST: """
        package.json package-lock.json yarn.lock pnpm-lock.yaml pyproject.toml setup.py requirements-dev.txt uv.lock
        poetry.lock go.mod go.sum Cargo.toml Cargo.lock pom.xml build.gradle.kts Gemfile.lock thing.gemspec
        composer.json src/Library/Library.csproj crates/core/Cargo.toml
    """,
    FileKind.CI: ".github/workflows/ci.yml .travis.yml .circleci/config.yml .pre-commit-config.yaml",
    FileKind.GENERATED: """
        vendor/github.com/x/y.go node_modules/a/index.js third_party/zlib/inflate.c dist/bundle.js src/api_pb2.py
        api/api.pb.go static/jquery.min.js src/__generated__/types.ts pkg/zz_generated.deepcopy.go
        vendor/a/a_test.go
    """,
    FileKind.TYPES: "typings/index.d.ts src/package/module.pyi",
    FileKind.OTHER: ".gitignore Makefile noxfile.py tox.ini eslint.config.js .eslintrc.js Dockerfile bench/speed.py",
}
CASES = [(path, kind) for kind, paths in KINDS.items() for path in paths.split()]


@pytest.mark.parametrize(("path", "kind"), CASES, ids=[path for path, _ in CASES])
def test_a_path_says_what_a_file_is_for(path: str, kind: FileKind) -> None:
    assert classify(path) is kind


def test_a_project_can_say_what_it_does_differently() -> None:
    patterns = FilePatterns(tests=("checks/*",), source=("docs/*.py",), ignored=("checks/old/*",))

    found = {path: classify(path, patterns) for path in ("checks/a.py", "docs/build.py", "checks/old/a.py")}

    assert list(found.values()) == [FileKind.TEST, FileKind.SOURCE, FileKind.OTHER]


def test_data_and_snapshots_are_tests_but_helpers_and_settings_are_not() -> None:
    paths = ["tests/data/a.json", "a.snap", "test/fixtures/pm", "tests/helpers.py", "jest.config.js", "pytest.ini"]

    assert [path for path in paths if is_test_data(path)] == ["tests/data/a.json", "a.snap", "test/fixtures/pm"]
