"""What an instruction states is what the failing tests need: no more, and nothing of it is missing."""

from tests.mining.instruction.changes import change, instruction

from outweigh.mining.fairness import Unfairness, UnfairTask
from outweigh.mining.instruction.write import write_instruction

OLD = "def read(path):\n    return path\n"


def test_a_file_of_tests_none_of_which_must_pass_needs_nothing() -> None:
    """They are skipped where tasks are proven, for instance because data that they read are not there."""
    changed = change(
        "Read tables that are empty",
        source={
            "tables.py": (OLD, "def read(path):\n    return path or None\n"),
            "scripts/fetch.py": (None, "RUNS = 'runs.jsonl'\n"),
        },
        tests={
            "tests/test_tables.py": (None, "from tables import read\n\n\ndef test_an_empty_table(): assert read('')\n"),
            "tests/test_fetched.py": (None, "from scripts.fetch import RUNS\n\n\ndef test_all_runs(): assert RUNS\n"),
        },
        fail_to_pass=("tests.test_tables::test_an_empty_table",),
    )

    written = instruction(changed)

    assert written.interface == ()
    assert "an empty table" in written.text
    assert "all runs" not in written.text


def test_where_a_report_does_not_name_files_all_of_them_count() -> None:
    changed = change(
        "Read tables that are empty",
        source={"tables.js": ("", "exports.readTable = (path) => path;\n")},
        tests={
            "test/one.js": (None, "it('reads a table', () => readTable(''));\n"),
            "test/two.js": (
                None,
                "for (const name of 'a') it(`the table of everybody ${name}`, () => readTable(name));\n",
            ),
        },
        fail_to_pass=("reads a table", "the table of everybody a"),
    )

    assert "the table of everybody a" in instruction(changed).text


def test_a_message_that_tests_quote_from_a_value_to_the_middle_is_stated() -> None:
    after = (
        "def read(path):\n    raise ValueError(f'{path} is a table with columns that runs do not have, which '\n"
        "        f'would be unknown here. Import it:\\n  run import {path}')\n"
    )
    test = (
        "import pytest\nfrom tables import read\n\n\ndef test_a_table_is_refused():\n"
        "    with pytest.raises(ValueError) as fault:\n        read('a/b.csv')\n"
        "    assert 'a/b.csv is a table with columns that runs do not have' in str(fault.value)\n"
    )

    written = instruction(
        change("Refuse other tables", source={"tables.py": (OLD, after)}, tests={"test_tables.py": (None, test)})
    )

    assert any("is a table with columns that runs do not have" in item for item in written.interface)


def test_words_that_a_text_and_a_test_share_by_chance_are_not_stated() -> None:
    after = "def read(path):\n    raise ValueError(f'{path} cannot be read because it is not a table')\n"
    test = (
        "import pytest\nfrom tables import read\n\n\ndef test_a_table_is_refused():\n"
        "    note = 'whoever wrote this thinks that it is not hard'\n"
        "    with pytest.raises(ValueError):\n        read(note)\n"
    )

    written = instruction(
        change("Refuse other tables", source={"tables.py": (OLD, after)}, tests={"test_tables.py": (None, test)})
    )

    assert not any("The text" in item for item in written.interface)


def test_private_members_of_a_test_s_own_helpers_are_not_taken_for_those_of_the_change() -> None:
    after = (
        "class Queue:\n    def __init__(self):\n        self._lock = object()\n        self.waiting = []\n\n"
        "    def _note(self):\n        return self._lock\n"
    )
    test = (
        "from queues import Queue\n\n\nclass Listener:\n    def __init__(self):\n        self._lock = 1\n\n"
        "    def _note(self):\n        return self._lock\n\n\n"
        "def test_nobody_waits_in_a_new_queue():\n    assert Queue().waiting == []\n"
    )

    written = instruction(
        change("Add a queue", source={"queues.py": (None, after)}, tests={"test_queues.py": (None, test)})
    )

    assert not any("_lock" in item or "_note" in item for item in written.interface)
    assert any("Queue.waiting" in item for item in written.interface)


def test_a_private_member_that_tests_reach_into_is_stated() -> None:
    after = "class Queue:\n    def __init__(self):\n        self._waiting = []\n"
    test = "from queues import Queue\n\n\ndef test_nobody_waits_in_a_new_queue():\n    assert Queue()._waiting == []\n"

    written = instruction(
        change("Add a queue", source={"queues.py": (None, after)}, tests={"test_queues.py": (None, test)})
    )

    assert any("Queue._waiting" in item for item in written.interface)


def test_a_task_whose_tests_need_a_whole_design_by_name_is_not_kept() -> None:
    names = [f"step_{number}" for number in range(70)]
    after = "\n\n\n".join(f"def {name}():\n    return {number}" for number, name in enumerate(names))
    test = f"import steps\n\n\ndef test_steps_return_their_numbers():\n    {'; '.join(f'steps.{n}()' for n in names)}\n"

    written = write_instruction(
        change("Add steps", source={"steps.py": (None, after)}, tests={"test_steps.py": (None, test)})
    )

    assert written == UnfairTask(reason=Unfairness.TOO_MANY_NAMES, detail="70 names and texts")
