"""What hidden tests in other languages need by name, as far as patterns find it."""

# ruff: noqa: E501 - a file of code is easier to read on few lines

import pytest
from tests.mining.instruction.changes import change, instruction

CASES = {
    "a method of a JavaScript class": (
        ("lib/pool.js", "class Pool {\n  size() {\n    return 1;\n  }\n}\n"),
        "class Pool {\n  size() {\n    return 1;\n  }\n\n  /**\n   * Wait for all readers. Then close.\n   *\n"
        "   * @param {number} seconds\n   */\n  drain(seconds, { force = false } = {}) {\n    const left = this._left;\n"
        "    return left;\n  }\n}\n",
        ("tests/pool.test.js", "test('when drained then no reader is left', () => {\n  new Pool().drain(3);\n});\n"),
        ["`drain(seconds, { force = false } = {})` of `Pool` in `lib/pool.js`: Wait for all readers."],
    ),
    "an export and an arrow function": (
        ("lib/pool.mjs", ""),
        "export const drain = async (pool, seconds) => {\n  return pool.left;\n};\n",
        (
            "tests/pool.test.mjs",
            "import { drain } from '../lib/pool.mjs';\nit('drains all readers', async () => { await drain(p, 1); });\n",
        ),
        ["`export const drain = async (pool, seconds)` in `lib/pool.mjs`"],
    ),
    "a message with fields in a template": (
        ("lib/pool.js", "class Pool {\n}\n"),
        "class Pool {\n  open() {\n    throw new Error(`no reader ${name} in '${this.pool.id}'`);\n  }\n}\n",
        (
            "test/pool.js",
            "it('refuses unknown readers', () => {\n  assert.throws(() => run(), /no reader x in 'p'/);\n});\n",
        ),
        ["The text `\"no reader {name} in '{id}'\"`, as in `\"no reader x in 'p'\"`, in `lib/pool.js`."],
    ),
    "a typed method": (
        ("src/pool.ts", "export class Pool {\n}\n"),
        "export class Pool {\n  limit: number;\n\n  drain(seconds: number): Promise<void> {\n    return go(seconds);\n  }\n}\n",
        ("src/pool.spec.ts", "it('drains within the limit', () => { pool.drain(1); expect(pool.limit).toBe(2); });\n"),
        ["`drain(seconds: number): Promise<void>` of `Pool` in `src/pool.ts`", "`limit` of `Pool` in `src/pool.ts`"],
    ),
    "a Go method, a function and a field": (
        ("pool/pool.go", "package pool\n"),
        "package pool\n\n// Pool has readers.\ntype Pool struct {\n\tLimit int\n}\n\n// Drain waits for all readers.\n"
        "func (p *Pool) Drain(ctx context.Context, seconds int) (int, error) {\n\tleft := p.left\n\treturn left, nil\n}\n\n"
        'func New() *Pool {\n\treturn nil\n}\n\nvar ErrClosed = errors.New("pool is closed")\n',
        (
            "pool/pool_test.go",
            "package pool\n\nfunc TestDrain(t *testing.T) {\n\tp := New()\n\tp.Limit = 3\n\t_, err := p.Drain(ctx, 1)\n"
            '\tif err.Error() != "pool is closed" {\n\t\tt.Fatal(err)\n\t}\n}\n',
        ),
        [
            "`func (p *Pool) Drain(ctx context.Context, seconds int) (int, error)` of `Pool` in `pool/pool.go`: "
            "Drain waits for all readers.",
            "`func New() *Pool` in `pool/pool.go`",
            "`Limit int` of `Pool` in `pool/pool.go`",
            'The text `"pool is closed"` in `pool/pool.go`.',
        ],
    ),
    "a Go message with verbs, and no import": (
        ("pool/pool.go", 'package pool\n\nimport "fmt"\n'),
        'package pool\n\nimport (\n\t"errors"\n\t"fmt"\n)\n\nfunc open(n int) error {\n'
        '\treturn fmt.Errorf("pool %d: %w: %q", n, errNone, "x")\n}\n',
        (
            "pool/pool_test.go",
            'package pool\n\nimport (\n\t"errors"\n\t"testing"\n)\n\nfunc TestPoolsWithoutReaders(t *testing.T) {\n'
            '\tif err := open(2); err.Error() != `pool 2: no readers: "x"` {\n\t\tt.Fatal(errors.Unwrap(err))\n\t}\n}\n',
        ),
        [
            "`func open(n int) error` in `pool/pool.go`",
            'The text `"pool %d: %w: %q"`, as in `"pool 2: no readers: "x""`, in `pool/pool.go`.',
        ],
    ),
    "a Rust function of an impl": (
        ("src/pool.rs", "pub struct Pool;\n"),
        "pub struct Pool;\n\nimpl Pool {\n    /// Waits for all readers.\n"
        "    pub fn drain<'a>(&'a self, seconds: u64) -> Result<usize, Error> {\n        let left = 1;\n        Ok(left)\n    }\n}\n",
        ("tests/pool.rs", "#[test]\nfn drains_all() {\n    assert_eq!(Pool.drain(3).unwrap(), 1);\n}\n"),
        [
            "`pub fn drain<'a>(&'a self, seconds: u64) -> Result<usize, Error>` of `Pool` in `src/pool.rs`: "
            "Waits for all readers."
        ],
    ),
    "a Java method": (
        ("src/main/java/Pool.java", "public class Pool {\n}\n"),
        "public class Pool {\n    /** Waits for all readers. */\n    public int drain(int seconds) throws IOException {\n"
        "        int left = 1;\n        return left;\n    }\n}\n",
        (
            "src/test/java/PoolTest.java",
            "class PoolTest {\n    @Test\n    void drainsAll() {\n        assertEquals(1, new Pool().drain(3));\n    }\n}\n",
        ),
        [
            "`public int drain(int seconds) throws IOException` of `Pool` in `src/main/java/Pool.java`: Waits for all readers."
        ],
    ),
    "a Ruby method": (
        ("lib/pool.rb", "class Pool\nend\n"),
        "class Pool\n  # Waits for all readers.\n  def drain(seconds, force: false)\n    left = 1\n    left\n  end\nend\n",
        (
            "spec/pool_spec.rb",
            "describe Pool do\n  it 'drains all readers' do\n    expect(Pool.new.drain(3)).to eq(1)\n  end\nend\n",
        ),
        ["`def drain(seconds, force: false)` in `lib/pool.rb`: Waits for all readers."],
    ),
    "a PHP method": (
        ("src/Pool.php", "<?php\nclass Pool {\n}\n"),
        "<?php\nclass Pool {\n    public function drain(int $seconds): int {\n        return 1;\n    }\n}\n",
        (
            "tests/PoolTest.php",
            "<?php\nclass PoolTest {\n    public function testDrain() {\n        $this->p->drain(3);\n    }\n}\n",
        ),
        ["`public function drain(int $seconds): int` of `Pool` in `src/Pool.php`"],
    ),
    "a C# method": (
        ("src/Pool.cs", "class Pool\n{\n}\n"),
        "class Pool\n{\n    public int Drain(int seconds)\n    {\n        return 1;\n    }\n}\n",
        (
            "tests/PoolTests.cs",
            "class PoolTests\n{\n    [Fact]\n    public void DrainsAll()\n    {\n        new Pool().Drain(3);\n    }\n}\n",
        ),
        ["`public int Drain(int seconds)` of `Pool` in `src/Pool.cs`"],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_declarations_and_texts_that_tests_use_are_stated_without_bodies(case: str) -> None:
    (path, before), after, (test_path, test), stated = CASES[case]

    changed = change(
        "Drain all readers of the pool",
        source={path: (before, after)},
        tests={test_path: (None, test)},
        known_at_base=["Pool"],
    )
    written = instruction(changed)

    found = [item for item in written.interface if not item.startswith(("The exception", "`type Pool", "`class Pool"))]
    assert sorted(found) == sorted(stated)
    assert "left =" not in written.text
    assert "left :=" not in written.text


def test_titles_of_tests_say_what_is_expected() -> None:
    test = (
        "test.each([['a'], ['b']])('when reader %s is slow then wait', (name) => {\n  pool.wait(name);\n});\n"
        "test('when reader is gone then stop', () => { pool.wait(); });\n"
        "test('an older test', () => { pool.size(); });\n"
    )
    changed = change(
        "Wait for slow readers",
        source={"lib/pool.js": ("let a = 1;\n", "let a = 2;\n")},
        tests={"tests/pool.test.js": ("test('an older test', () => { pool.size(); });\n", test)},
    )

    text = instruction(changed).text

    assert "- when reader %s is slow then wait\n- when reader is gone then stop\n" in text
    assert "an older test" not in text


def test_a_new_file_that_tests_import_is_named() -> None:
    changed = change(
        "Read pools from a file",
        source={"lib/reader.js": (None, "module.exports = load;\n")},
        tests={
            "tests/pool.test.js": (
                None,
                "const load = require('../lib/reader');\ntest('it loads a pool', () => load());\n",
            )
        },
    )

    assert "The file `lib/reader.js`, which the tests import." in instruction(changed).interface


@pytest.mark.parametrize(
    ("path", "before", "after", "test_path", "test"),
    [
        (
            "lib/pool.js",
            "function open(name, options) {\n}\n",
            "function open(name, options) {\n  if (options.keepAlive) wait();\n}\n",
            "tests/pool.test.js",
            "test('when a reader is kept then wait', () => { pool.open('a', { keepAlive: true }); });\n",
        ),
        (
            "pool.py",
            "def open_pool(name, **options):\n    pass\n",
            "def open_pool(name, **options):\n    if options.get('keepAlive'):\n        wait()\n",
            "test_pool.py",
            "import pool\n\n\ndef test_a_kept_reader_waits():\n    pool.open_pool('a', keepAlive=True)\n",
        ),
    ],
    ids=["JavaScript", "Python"],
)
def test_an_option_that_only_the_change_reads_is_stated(
    path: str, before: str, after: str, test_path: str, test: str
) -> None:
    changed = change("Keep readers of the pool", source={path: (before, after)}, tests={test_path: (None, test)})

    assert instruction(changed).interface == (f"The name `keepAlive`, used in `{path}`.",)
