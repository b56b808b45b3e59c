"""Which test functions differ between two versions of a file, language by language."""

import pytest

from outweigh.mining.runners.base_runner import BaseRunner
from outweigh.mining.runners.compiled_runners import CargoRunner, GoRunner
from outweigh.mining.runners.javascript_runners import JestRunner, MochaRunner
from outweigh.mining.runners.python_runners import PytestRunner
from outweigh.mining.runners.script_runner import ScriptRunner
from outweigh.mining.runners.xml_runners import (
    CtestRunner,
    DotnetRunner,
    GradleRunner,
    MavenRunner,
    PhpunitRunner,
    RspecRunner,
)


def changed(path: str, before: str | None, after: str, runner: BaseRunner | None = None) -> set[str] | None:
    runner = runner or PytestRunner()
    found = runner.changed_tests(path, None if before is None else before.encode(), after.encode())
    return None if found is None else set(found)


PYTHON = """
import pytest
from work import double
LIMIT = 3
def helper(n):
    return n + LIMIT
@pytest.fixture
def shop():
    return helper(1)
def test_one():
    assert double(1) == 2
def test_shop(shop):
    assert shop
class Base:
    def test_shared(self): pass
class TestGroup(Base):
    def setup_method(self): self.n = 1
    def test_inner(self): pass
"""


def test_a_new_file_has_new_tests_only() -> None:
    assert changed("t.py", None, PYTHON) == {
        "test_one",
        "test_shop",
        "Base.test_shared",
        "TestGroup.test_inner",
        "TestGroup.test_shared",
    }


@pytest.mark.parametrize(
    ("old", "new", "names"),
    [
        ("double(1) == 2", "double(1) == 3", {"test_one"}),
        ("from work import double", "from work import double, triple  # more", set()),
        ("def test_one():\n", "def test_one():\n    # why\n\n", set()),
        ("LIMIT = 3", "LIMIT = 4", {"test_shop"}),
        ("return helper(1)", "return helper(2)", {"test_shop"}),
        ("self.n = 1", "self.n = 2", {"TestGroup.test_inner", "TestGroup.test_shared"}),
        ("def test_shared(self): pass", "def test_shared(self): 1", {"Base.test_shared", "TestGroup.test_shared"}),
        ("def test_one", "@pytest.mark.slow\ndef test_one", {"test_one"}),
    ],
)
def test_python_tests_differ_with_what_they_use(old: str, new: str, names: set[str]) -> None:
    assert old in PYTHON
    assert changed("t.py", PYTHON, PYTHON.replace(old, new)) == names


def test_a_file_that_is_no_python_is_not_taken_apart() -> None:
    assert changed("t.py", PYTHON, "def test(:") is None
    assert changed("t.py", "print 'two'", "def test_a(): pass") == {"test_a"}


SCRIPT = """
const { add } = require('../cart');
const limit = 3;
function helper(n) {
  return n + limit;
}
describe('cart', () => {
  beforeEach(() => { add(1); });
  test('adds "two" (see http://x)', () => {
    expect(add(1, 1)).toBe(2); // it('is no test')
  });
  describe('when empty', () => {
    it(`says \\`nothing\\``, async () => { expect(/\\)/.test(')')).toBe(true); });
    it.each([[1, 2], [3, 4]])('maps %i to %i', (a, b) => { helper(a); });
  });
});
testOrSkip('at the top', function () { return 1; });
for (const name of ['a', 'b']) {
  test(`named ${name}`, () => {});
}
"""
ALL = {
    'cart::adds "two" (see http://x)',
    "cart::when empty::says `nothing`",
    "cart::when empty::maps … to …",
    "at the top",
    "named …",
}


def test_script_tests_are_named_by_the_titles_around_them() -> None:
    assert changed("a.test.js", None, SCRIPT, JestRunner()) == ALL


@pytest.mark.parametrize(
    ("old", "new", "names"),
    [
        ("toBe(2)", "toBe(3)", {'cart::adds "two" (see http://x)'}),
        ("require('../cart')", "require('../basket')", set()),
        ("return n + limit", "return n - limit", {"cart::when empty::maps … to …"}),
        ("return 1", "return 2", {"at the top"}),
        ("add(1); }", "add(2); }", {name for name in ALL if name.startswith("cart")}),
        ("describe('cart', () => {", "describe('cart', async () => {", set()),
        ("{ return 1; }", "{  return 1; }", {"at the top"}),
        ("'cart'", "'basket'", {name.replace("cart", "basket") for name in ALL if name.startswith("cart")}),
    ],
)
def test_script_tests_differ_with_what_they_use(old: str, new: str, names: set[str]) -> None:
    assert old in SCRIPT
    assert changed("a.test.ts", SCRIPT, SCRIPT.replace(old, new), JestRunner()) == names


def test_titles_that_are_made_when_tests_run_are_matched() -> None:
    runner = JestRunner()

    assert runner.covers("a.test.js", "cart::maps … to …", "a.test.js::cart::maps 1 to 2")
    assert not runner.covers("a.test.js", "cart::maps … to …", "a.test.js::cart::adds")
    assert MochaRunner().covers("test/a.js", "cart::adds", "cart adds")
    assert not MochaRunner().covers("test/a.js", "cart::adds", "test/b.js::cart adds")


GO = """package shop
import "testing"
func helper(n int) int { return n }
func TestOne(t *testing.T) {
	s := "func TestNot(t) { {{{"
	_ = s
}
func TestTwo(t *testing.T) { helper(2) }
func (s *Suite) TestThree() {}
"""


def test_go_tests_differ_by_function() -> None:
    runner = GoRunner()

    assert changed("a_test.go", None, GO, runner) == {"TestOne", "TestTwo", "TestThree"}
    assert changed("a_test.go", GO, GO.replace("_ = s", "_, _ = s, s"), runner) == {"TestOne"}
    assert changed("a_test.go", GO, GO.replace("{ return n }", "{ return n + 1 }"), runner) == {"TestTwo"}


RUST = """
use super::*;
#[test]
fn one() { let c = '{'; assert!(true); }
#[tokio::test]
async fn two() { helper(); }
#[test]
#[should_panic(expected = "no")]
fn three() { panic!("no"); }
fn helper() {}
"""


def test_rust_tests_are_functions_with_an_attribute() -> None:
    assert changed("tests/a.rs", None, RUST, CargoRunner()) == {"one", "two", "three"}
    assert changed("tests/a.rs", RUST, RUST.replace('"no"); }', '"No"); }'), CargoRunner()) == {"three"}


JAVA = """
class CartTest {
    @Test
    void adds() { assertEquals(2, add(1, 1)); }
    @ParameterizedTest(name = "x")
    @ValueSource(ints = {1, 2})
    public void each(int n) throws Exception { check(n); }
    @Test(expected = IllegalStateException.class) public void fails() { }
    private void check(int n) { assertTrue(n > 0); }
}
"""
KOTLIN = "class CartTest {\n  @Test\n  fun `adds two`() {\n    add()\n  }\n  @Test fun plain() = run { 1 }\n}\n"


def test_jvm_tests_are_methods_with_an_annotation() -> None:
    runner = MavenRunner()

    assert changed("src/test/java/CartTest.java", None, JAVA, runner) == {"adds", "each", "fails"}
    assert changed("CartTest.java", JAVA, JAVA.replace("(1, 1)", "(2, 0)"), runner) == {"adds"}
    assert changed("CartTest.java", JAVA, JAVA.replace("n > 0", "n > 1"), runner) == {"each"}
    assert changed("CartTest.kt", None, KOTLIN, GradleRunner()) == {"adds two", "plain"}


CSHARP = """
public class CartTests {
    [Fact]
    public void Adds() { Assert.Equal(2, 2); }
    [Theory]
    [InlineData(1)]
    public async Task Each(int n) => await Check(n);
}
"""
PHP = "<?php class CartTest extends TestCase {\n public function testAdds(): void { $this->assertTrue(true); }\n}\n"
RUBY = """
RSpec.describe Cart do
  describe "#add" do
    it "adds two" do
      expect(1).to eq(1)
    end
    it 'is empty' do
      expect(2).to eq(2)
    end
  end
end
"""


def test_other_languages_are_taken_apart_too() -> None:
    assert changed("CartTests.cs", None, CSHARP, DotnetRunner()) == {"Adds", "Each"}
    assert changed("CartTests.cs", CSHARP, CSHARP.replace("(2, 2)", "(3, 3)"), DotnetRunner()) == {"Adds"}
    assert changed("CartTest.php", PHP, PHP.replace("true)", "1)"), PhpunitRunner()) == {"testAdds"}
    assert changed("cart_spec.rb", RUBY, RUBY.replace("eq(1)", "eq(3)"), RspecRunner()) == {"adds two"}
    assert changed("test/test.a.js", "a", "b", ScriptRunner()) is None
    assert changed("tests/a.cpp", "a", "b", CtestRunner()) is None
    assert changed("tests/data.json", "{}", "[]") is None


@pytest.mark.parametrize(
    ("runner", "path", "function", "reported"),
    [
        (MavenRunner(), "src/test/java/shop/CartTest.java", "adds", "shop.CartTest::adds"),
        (MavenRunner(), "src/test/java/shop/CartTest.java", "each", "shop.CartTest::each(int)[1]"),
        (MavenRunner(), "src/test/java/shop/CartTest.java", None, "shop.CartTest$Inner::adds"),
        (GradleRunner(), "src/test/kotlin/shop/CartTest.kt", "adds two", "shop.CartTest::adds two()"),
        (DotnetRunner(), "tests/CartTests.cs", "Adds", "Shop.CartTests.Adds"),
        (DotnetRunner(), "tests/CartTests.cs", "Each", "Shop.CartTests.Each(n: 1.5)"),
        (DotnetRunner(), "tests/CartTests.cs", "Adds", "Shop.CartTests::Adds"),
        (PhpunitRunner(), "tests/CartTest.php", "testAdds", "Tests.CartTest::testAdds with data set #0"),
        (RspecRunner(), "spec/cart_spec.rb", "adds two", "spec/cart_spec.rb::Cart#add adds two"),
        (CtestRunner(), "tests/test_cart.cpp", None, "cart"),
    ],
)
def test_reported_tests_belong_to_their_files_and_functions(
    runner: BaseRunner, path: str, function: str | None, reported: str
) -> None:
    other = path.replace("art", "lock").replace(".cpp", ".md")

    assert runner.covers(path, function, reported)
    assert runner.covers(path, None, reported)
    assert not runner.covers(other, None, reported)
    assert function is None or not runner.covers(path, "another", reported)
