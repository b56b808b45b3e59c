"""What each format of a test report says about single tests. The samples are as the runners write them."""

import msgspec
import pytest

from outweigh.engine.checks.test_reports.read_report import read_report
from outweigh.engine.checks.test_reports.reported_test import (
    ReportedTest,
    TestOutcome,
    UnreadableReportError,
    outcomes_by_name,
)
from outweigh.model.task import ReportFormat

PASSED, FAILED, ERROR, SKIPPED = TestOutcome.PASSED, TestOutcome.FAILED, TestOutcome.ERROR, TestOutcome.SKIPPED


def outcomes(report: str, report_format: ReportFormat) -> dict[str, TestOutcome]:
    return outcomes_by_name(read_report(report.encode(), report_format, "/ws"))


def test_a_name_that_is_reported_twice_has_the_worse_outcome() -> None:
    for other in (FAILED, ERROR, SKIPPED):
        for pair in ((PASSED, other), (other, PASSED)):
            assert outcomes_by_name(ReportedTest("a", outcome) for outcome in pair) == {"a": other}


def test_a_junit_error_is_no_failure_of_the_test_itself() -> None:
    report = '<testsuite><testcase name="a"><error/></testcase><testcase name="b"><failure/></testcase></testsuite>'

    assert outcomes(report, ReportFormat.JUNIT) == {"a": ERROR, "b": FAILED}


def jest_file(name: str, status: str, *tests: tuple[list[str], str, str]) -> dict[str, object]:
    results = [{"ancestorTitles": above, "title": title, "status": end} for above, title, end in tests]
    return {"name": name, "status": status, "assertionResults": results}


def test_jest_and_vitest_tests_are_named_by_file_blocks_and_title() -> None:
    files = [
        jest_file("/ws/tests/a.test.js", "passed", (["outer", "inner"], "adds", "passed"), ([], "later", "todo")),
        jest_file("/ws/tests/b.test.js", "failed", ([""], "adds", "failed"), ([], "off", "pending")),
    ]

    assert outcomes(msgspec.json.encode({"testResults": files}).decode(), ReportFormat.JEST) == {
        "tests/a.test.js::outer::inner::adds": PASSED,
        "tests/a.test.js::later": SKIPPED,
        "tests/b.test.js::adds": FAILED,
        "tests/b.test.js::off": SKIPPED,
    }


def test_a_file_that_jest_cannot_run_is_an_error() -> None:
    report = msgspec.json.encode({"testResults": [jest_file("/ws/c.test.js", "failed")]}).decode()

    assert outcomes(report, ReportFormat.JEST) == {"c.test.js": ERROR}


MOCHA = """printed by a test
{
  "stats": {
    "tests": 3
  },
  "tests": [],
  "pending": [{"title": "c", "fullTitle": "group c", "file": "/ws/test/a.js"}],
  "failures": [{"title": "b", "fullTitle": "group b", "file": "/ws/test/a.js", "err": {"message": "no"}}],
  "passes": [{"title": "a", "fullTitle": "group a", "file": "/ws/test/a.js"}, {"fullTitle": "old"}]
}
"""


def test_the_report_of_mocha_follows_what_tests_printed() -> None:
    assert outcomes(MOCHA, ReportFormat.MOCHA) == {
        "test/a.js::group a": PASSED,
        "old": PASSED,
        "test/a.js::group b": FAILED,
        "test/a.js::group c": SKIPPED,
    }


def test_errors_outside_of_examples_are_in_the_report_of_rspec() -> None:
    examples = [
        {"full_description": "Cart adds", "status": "passed", "file_path": "./spec/cart_spec.rb"},
        {"full_description": "Cart fails", "status": "failed", "file_path": "./spec/cart_spec.rb"},
        {"full_description": "Cart later", "status": "pending", "file_path": "./spec/cart_spec.rb"},
    ]
    report = {"examples": examples, "summary": {"errors_outside_of_examples_count": 1}}

    assert outcomes(msgspec.json.encode(report).decode(), ReportFormat.RSPEC) == {
        "spec/cart_spec.rb::Cart adds": PASSED,
        "spec/cart_spec.rb::Cart fails": FAILED,
        "spec/cart_spec.rb::Cart later": SKIPPED,
        "errors outside of examples": ERROR,
    }


TAP = """\
TAP version 13
# Subtest: top \\# hash \\\\ back
ok 1 - top \\# hash \\\\ back
  ---
  duration_ms: 2.17
  error: |-
    not ok 9 - quoted
  ...
# Subtest: group
    # Subtest: inner
    not ok 1 - inner
      ---
      location: '/ws/tests/a.test.js:3:1'
      ...
    # Subtest: left out
    ok 2 - left out # SKIP no reason
    not ok 3 - later # TODO
    1..3
not ok 2 - group
  ---
  type: 'suite'
  ...
# Subtest: /ws/tests/c.test.js
not ok 3 - /ws/tests/c.test.js
ok 4 - timed # time=5.1ms
ok 5
1..5
"""


def test_tap_results_are_named_by_the_tests_around_them() -> None:
    assert outcomes(TAP, ReportFormat.TAP) == {
        "top # hash \\ back": PASSED,
        "group::inner": FAILED,
        "group::left out": SKIPPED,
        "group::later": SKIPPED,
        "tests/c.test.js": FAILED,
        "timed": PASSED,
        "5": PASSED,
    }


def test_a_tap_stream_that_bails_out_has_an_error() -> None:
    assert outcomes("ok 1 - a\nBail out! No database\n", ReportFormat.TAP) == {"a": PASSED, "Bail out!": ERROR}


GO = """\
{"Action":"start","Package":"example.com/m"}
{"Action":"run","Package":"example.com/m","Test":"TestA"}
{"Action":"output","Package":"example.com/m","Test":"TestA","Output":"{\\"Action\\":\\"pass\\"}\\n"}
{"Action":"run","Package":"example.com/m","Test":"TestA/one"}
{"Action":"pass","Package":"example.com/m","Test":"TestA/one","Elapsed":0}
{"Action":"pass","Package":"example.com/m","Test":"TestA","Elapsed":0}
{"Action":"skip","Package":"example.com/m","Test":"TestB","Elapsed":0}
{"Action":"run","Package":"example.com/m","Test":"TestPanics"}
{"Action":"fail","Package":"example.com/m","Elapsed":0.01}
# example.com/m/broken
broken/b.go:3:2: undefined: x
{"Action":"build-output","ImportPath":"example.com/m/broken","Output":"x"}
{"Action":"fail","Package":"example.com/m/broken","Elapsed":0}
{"Action":"pass","Package":"example.com/m/fine","Elapsed":0}
FAIL\texample.com/m/older [build failed]
"""


def test_go_tests_that_do_not_end_have_failed_and_packages_that_do_not_build_are_errors() -> None:
    assert outcomes(GO, ReportFormat.GO) == {
        "example.com/m::TestA": PASSED,
        "example.com/m::TestA/one": PASSED,
        "example.com/m::TestB": SKIPPED,
        "example.com/m::TestPanics": FAILED,
        "example.com/m/broken": ERROR,
        "example.com/m/older": ERROR,
    }


CARGO = """\
   Compiling shop v0.1.0 (/ws)
     Running unittests src/lib.rs (target/debug/deps/shop-0123456789abcdef)

running 3 tests
test tests::adds ... ok
test tests::breaks - should panic ... ok
test tests::slow ... ignored, takes minutes

     Running tests/buy.rs (target/debug/deps/buy-0123456789abcdef)

running 1 test
test adds ... FAILED

   Doc-tests shop

running 1 test
test src/lib.rs - add (line 5) ... ok
"""


def test_cargo_tests_are_named_by_crate_file_and_path() -> None:
    assert outcomes(CARGO, ReportFormat.CARGO) == {
        "shop::src/lib.rs::tests::adds": PASSED,
        "shop::src/lib.rs::tests::breaks": PASSED,
        "shop::src/lib.rs::tests::slow": SKIPPED,
        "buy::tests/buy.rs::adds": FAILED,
        "shop::documentation::src/lib.rs - add": PASSED,
    }


def test_programs_that_an_old_cargo_names_lose_their_hash() -> None:
    report = "     Running target/debug/deps/shop-0123456789abcdef\nrunning 1 test\ntest adds ... ok\n"

    assert outcomes(report, ReportFormat.CARGO) == {"shop::adds": PASSED}


def test_a_crate_that_does_not_compile_reports_no_test() -> None:
    assert outcomes("error[E0425]: cannot find function `add`\n", ReportFormat.CARGO) == {}


TRX = """\
<TestRun xmlns="http://microsoft.com/schemas/VisualStudio/TeamTest/2010">
<Results>
<UnitTestResult testId="1" testName="Shop.Tests.CartTests.Adds" outcome="Passed"/>
<UnitTestResult testId="2" testName="Fails(1)" outcome="Failed"/>
<UnitTestResult testId="3" testName="Later" outcome="NotExecuted"/>
</Results>
<TestDefinitions>
<UnitTest id="1"><TestMethod className="Shop.Tests.CartTests" name="Adds"/></UnitTest>
<UnitTest id="2"><TestMethod className="Shop.Tests.CartTests" name="Fails"/></UnitTest>
<UnitTest id="3"><TestMethod className="Shop.Tests.CartTests" name="Later"/></UnitTest>
</TestDefinitions></TestRun>
"""


def test_trx_results_are_named_with_their_class() -> None:
    assert outcomes(TRX, ReportFormat.TRX) == {
        "Shop.Tests.CartTests.Adds": PASSED,
        "Shop.Tests.CartTests::Fails(1)": FAILED,
        "Shop.Tests.CartTests::Later": SKIPPED,
    }


@pytest.mark.parametrize("report_format", ReportFormat)
@pytest.mark.parametrize(
    "content",
    [b"", b"nothing here", b"{}", b"[]", b"null", b"<html/>", b"\x00\xff\xfe garbage", b'{"a": ' + b"[" * 100_000],
)
def test_garbage_is_unreadable_in_every_format(report_format: ReportFormat, content: bytes) -> None:
    with pytest.raises(UnreadableReportError):
        read_report(content, report_format)


BOMB = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><TestRun><UnitTestResult testName="&b;"/></TestRun>'


def test_document_types_are_refused_in_trx() -> None:
    with pytest.raises(UnreadableReportError, match="document type"):
        read_report(BOMB.encode(), ReportFormat.TRX)
