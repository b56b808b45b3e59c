"""Guess which columns of a table are which fields of a run, by their names, and check the guess against the values.

A column is taken only where no other fits. Several that fit, none for what a comparison needs, or values that the field
cannot have are an error with the option that decides, because a wrong column would be worse.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import NamedTuple

from outweigh.errors import UsageError, quote_names
from outweigh.interop.column_names import NO_UNIT, match_name
from outweigh.interop.field_values import read_amount, read_ending, read_outcome
from outweigh.interop.row_places import FILE_COLUMN, KEY_COLUMN
from outweigh.interop.table.arm_columns import (
    describe_joined_arms,
    describe_rows_set_apart,
    independent_columns,
    join_arm_columns,
)
from outweigh.interop.table.column_values import ColumnValues, is_readable, read_or_keep
from outweigh.interop.table.columns import (
    COLUMN_JOINER,
    FIELD_READERS,
    columns_of,
    map_columns,
    resolve_fields,
    threshold_of,
)
from outweigh.interop.table.task_columns import describe_joined_tasks, finest_column, join_task_columns
from outweigh.interop.table_rows import ALL_ROWS, RowSelection, column_examples, sampled_columns
from outweigh.ports.importers import ImportNotes

_NEEDED = {"task_id": "the task", "success": "whether a run passed", "arm": "the arm"}
_DURATIONS = ("duration_seconds", "duration_ms")
_TOKENS = ("input_tokens", "input_tokens_with_cache", "output_tokens", "cache_read_tokens", "cache_write_tokens")
_MEASURED = frozenset({*_DURATIONS, "cost_usd", *_TOKENS})
_OUTCOME_WORDS = frozenset({"pass", "passed", "fail", "failed"})


class GuessedColumns(NamedTuple):
    """The column of every field that was found, the columns that are not used, and the arms.

    `remarks` say what was decided that the names of the columns alone do not tell, and how to change it.
    """

    fields: Mapping[str, str]
    unused: tuple[str, ...]
    arms: tuple[str, ...]
    remarks: tuple[str, ...] = ()

    @property
    def mapping(self) -> dict[str, str]:
        """For the reader of rows: every field with its column, and an empty name for a field that has none."""
        return dict.fromkeys(FIELD_READERS, "") | dict(self.fields)


def may_hold_runs(columns: Iterable[str]) -> bool:
    """Whether a file may be a table of runs: a column could name the task."""
    return any(match.field == "task_id" and match.rank < 2 for name in columns for match in match_name(name))


def may_hold_results(columns: Iterable[str]) -> bool:
    """Whether a file may be a table of results: columns could name the task, and say whether it was solved."""
    names = list(columns)
    names_task = KEY_COLUMN in names or may_hold_runs(names)
    return names_task and any(match.field == "success" for name in names for match in match_name(name))


_COUNTED_RUN = re.compile(r"(run|repeat|rep|attempt|trial|try|iteration|iter|sample|seed)[-_ ]?\d+", re.IGNORECASE)


class UnclearColumnsError(UsageError):
    """Needed fields that have no column, or several. `missing` are those without any, `found` those that are clear."""

    def __init__(self, message: str, missing: Sequence[str], found: Mapping[str, str]) -> None:
        super().__init__(message)
        self.missing = tuple(missing)
        self.found = found


def guess_columns(
    path: Path,
    asked: Mapping[str, str],
    command: str,
    selection: RowSelection = ALL_ROWS,
    *,
    is_import: bool = False,
) -> GuessedColumns:
    """The columns of a table.

    `asked` is what the user says about them, with an empty name for a field that is to be left out. `command` is the
    command line, for errors that show what to add to it. An import may have one arm, and arms that several columns
    together tell apart; without a store to look at and correct, both are an error.
    """
    return _Guess(path, asked, command, selection, is_import=is_import).choose()


class _Guess:
    def __init__(
        self, path: Path, asked: Mapping[str, str], command: str, selection: RowSelection, *, is_import: bool
    ) -> None:
        self._path, self._command, self._selection = path, command, selection
        self._is_import = is_import
        self._asked = asked = resolve_fields(asked)
        notes = ImportNotes()
        self._columns = sampled_columns(path, notes, selection)
        if not self._columns:
            reason = f": {notes.unreadable[0].reason}" if notes.unreadable else ""
            raise UsageError(f"{path} has no row that can be read{reason}.")
        map_columns(asked, self._columns)  # refuses a field or column that does not exist
        used = {column for spec in asked.values() for column in columns_of(spec, self._columns)}
        self._matches: dict[str, dict[str, int]] = defaultdict(dict)
        for name in self._columns:
            for field, rank in match_name(name) if name not in used else ():
                self._matches[field][name] = rank
        looked_at = {name for ranks in self._matches.values() for name in ranks}
        looked_at |= set(columns_of(asked.get("success", ""), self._columns)) - {""}
        self._values = ColumnValues(path, looked_at, selection)
        self._found = {field: column for field, column in asked.items() if column}
        self._left_out: dict[str, list[str]] = {}
        self._unsplit_input: str | None = None

    def choose(self) -> GuessedColumns:
        """Choose a column for every field, the needed ones first, and check them together."""
        self._choose_needed()
        for field in FIELD_READERS:
            if field not in self._asked and field not in _NEEDED:
                self._choose_other(field)
        self._join_tasks()
        self._settle_status()
        self._check_threshold()
        self._settle_tokens()
        self._settle_duration()
        self._refuse_mixed_decimals()
        arms = self._check_trials()
        used = {column for spec in self._found.values() for column in columns_of(spec, self._columns)}
        return GuessedColumns(
            fields={field: self._found[field] for field in FIELD_READERS if field in self._found},
            unused=tuple(name for name in self._columns if name not in used),
            arms=arms,
            remarks=tuple(self._remarks()),
        )

    def _remarks(self) -> Iterator[str]:
        joined = describe_joined_arms(self._found.get("arm", ""), self._columns)
        if joined is not None and "arm" not in self._asked:
            yield joined
        if "task_id" not in self._asked and (task := self._found["task_id"]) not in self._columns:
            yield describe_joined_tasks(task.split(COLUMN_JOINER)[-1], task)
        yield from (describe_left_out(field, columns) for field, columns in self._left_out.items())
        if self._unsplit_input is not None:
            yield f"input_tokens is unknown, too: {self._unsplit_input!r} may include what came from the cache."
        told = {column for column, _ in self._selection.where}
        yield from describe_rows_set_apart(self._values, [name for name in self._columns if name not in told])

    def _named(self, field: str, ranks: Sequence[int] = (0, 1, 2)) -> list[str]:
        taken = self._found.values()
        return [name for name, rank in self._matches[field].items() if rank in ranks and name not in taken]

    def _choose_needed(self) -> None:
        """Choose the columns that a comparison needs; one error asks for all that are not clear."""
        unclear: dict[str, list[str]] = {}
        for field in _NEEDED:
            if field in self._asked:
                continue
            columns = self._candidates(field)
            if field == "task_id" and len(columns) > 1 and not self._is_one(field, columns):
                finest = finest_column(self._values, columns)
                columns = columns if finest is None else [finest]
            joined = self._join_arms(columns) if field == "arm" else None
            if joined is not None:
                self._found[field] = joined
            elif len(columns) == 1 or (columns and self._is_one(field, columns)):
                self._found[field] = columns[0]
            else:
                unclear[field] = columns
        if unclear:
            missing = [field for field, columns in unclear.items() if not columns]
            raise UnclearColumnsError(self._ask_all(unclear), missing, dict(self._found))
        for field in _NEEDED:
            if field not in self._asked:
                for column in columns_of(self._found[field], self._columns):
                    self._require_readable(field, column)

    def _join_arms(self, columns: Sequence[str]) -> str | None:
        """Several columns that together are the arm, where one of them would mix what another tells apart."""
        if not self._is_import or not columns or "task_id" not in self._found:
            return None
        ranks = self._matches["arm"]
        models = [] if ranks[columns[0]] == 0 else [name for name in self._named("model", (0, 1)) if name in ranks]
        several = [*columns, *(name for name in models if name not in columns and len(self._values.of(name)) > 1)]
        if len(several) == 1 or self._is_one("arm", several):
            return None
        return join_arm_columns(self._values, several, self._found["task_id"], self._columns)

    def _join_tasks(self) -> None:
        """Add to the task what tells tasks of one name apart."""
        if not self._is_import or "task_id" in self._asked or "arm" not in self._found:
            return
        task = self._found["task_id"]
        used = {column for spec in self._found.values() for column in columns_of(spec, self._columns)}
        used.discard(self._found.get("family", ""))
        free = [name for name in self._columns if name not in used]
        values = ColumnValues(self._path, set(free), self._selection)
        self._found["task_id"] = join_task_columns(values, task, self._found["arm"], self._columns, free)

    def _is_one(self, field: str, columns: Sequence[str]) -> bool:
        """Whether it does not matter which of the columns is taken."""
        if self._values.are_equal(columns, FIELD_READERS[field]):
            return True
        return field == "arm" and self._values.are_one_to_one(columns)

    def _candidates(self, field: str) -> list[str]:
        columns = self._named(field, (0, 1)) or [name for name in self._named(field, (2,)) if self._is_fit(field, name)]
        if field != "success":
            # A column with one value tells neither tasks nor arms apart.
            columns = [name for name in columns if len(self._values.of(name)) > 1] or columns
            columns = [name for name in columns if self._matches[field][name] == 0] or columns
        if field == "arm":
            return self._without_files(columns)
        return self._tasks_of_keys(columns) if field == "task_id" else columns

    def _without_files(self, columns: list[str]) -> list[str]:
        """Files tell arms apart where nothing else does, and where they hold several runs each."""
        return [name for name in columns if name != FILE_COLUMN] or [
            name for name in columns if not self._values.is_unique(name)
        ]

    def _tasks_of_keys(self, columns: list[str]) -> list[str]:
        """Of the keys of maps within each other those with the most values are the tasks: tasks are many, arms few."""
        if len(columns) < 2 or not all(name.startswith(KEY_COLUMN) for name in columns):
            return columns
        counts = {name: len(self._values.of(name)) for name in columns}
        most = [name for name, count in counts.items() if count == max(counts.values())]
        return most if len(most) == 1 else columns

    def _is_fit(self, field: str, column: str) -> bool:
        """Whether the values of a column whose name says little are what they are taken for."""
        values = self._values.of(column)
        if field == "arm":
            return len(values) > 1 and not self._counts_repeats(column)
        if field == "task_id":
            return (
                len(values) > 1
                and not self._counts_repeats(column)
                and (column.startswith(KEY_COLUMN) or not self._values.is_unique(column))
            )
        if not all(is_readable(FIELD_READERS[field], value) for value in values):
            return False
        decided = {str(value).strip().lower() for value in values if read_outcome(value) is not None}
        return bool(decided) and (decided <= _OUTCOME_WORDS or not column.lower().endswith("status"))

    def _counts_repeats(self, column: str) -> bool:
        """Whether the keys of a map are runs that are counted, such as `run-1` and `run-2`."""
        return column.startswith(KEY_COLUMN) and all(map(_COUNTED_RUN.fullmatch, map(str, self._values.of(column))))

    def _choose_other(self, field: str) -> None:
        columns = [name for name in self._named(field) if self._values.of(name)]
        if field in _MEASURED:
            if len(columns) > 1 and not self._values.are_equal(columns, FIELD_READERS[field]):
                if not self._is_import:
                    raise UsageError(self._ask(field, columns))
                self._left_out[field] = columns
                return
            for name in columns[:1]:
                self._require_readable(field, name)
                self._found[field] = name
            return
        fitting = [name for name in columns if self._describes(field, name)]
        best = min((self._matches[field][name] for name in fitting), default=0)
        firmest = [name for name in fitting if self._matches[field][name] == best]
        if len(firmest) == 1:
            self._found[field] = firmest[0]

    def _describes(self, field: str, column: str) -> bool:
        if field in ("started_at", "finished_at") and not self._values.hold_moments(column):
            return False
        if field == "run_id" and not self._values.is_unique(column):
            return False
        if field == "repeat" and not self._numbers_repeats(column):
            return False
        return all(is_readable(FIELD_READERS[field], value) for value in self._values.of(column))

    def _numbers_repeats(self, column: str) -> bool:
        """Whether a column gives every run of a task and arm another number."""
        trial = [self._found[field] for field in ("task_id", "arm") if field in self._found]
        rows = list(self._values.rows((*trial, column), self._columns))
        return len(set(rows)) == len(rows) and all(row[-1] is not None for row in rows)

    def _settle_status(self) -> None:
        """A column of outcomes that says of some runs how they ended, such as `timeout`, is their status, too."""
        outcome = self._found.get("success", "")
        is_open = "status" not in self._found | self._asked and outcome in self._columns
        if is_open and any(read_ending(value) is not None for value in self._values.of(outcome)):
            self._found["status"] = outcome

    def _check_threshold(self) -> None:
        """A pass from 80 on and scores up to 1 are in different units, and every run would fail."""
        spec = self._asked.get("success", "")
        limit = threshold_of(spec, self._columns)
        if limit is not None and limit > 1:
            scores = [read_or_keep(read_amount, value) for value in self._values.of(columns_of(spec, self._columns)[0])]
            if all(isinstance(score, float | int) and score <= 1 for score in scores):
                raise UsageError(
                    f"{self._path}: --map {spec}: no score is above 1, so {limit:g} seems to be a percentage. "
                    "Write where a pass begins in the unit of the scores."
                )

    def _settle_tokens(self) -> None:
        """Input with the cache in it says what is new only beside the tokens that came from the cache."""
        if "input_tokens" in self._found:
            self._found.pop("input_tokens_with_cache", None)
        elif "input_tokens_with_cache" in self._found and "cache_read_tokens" not in self._found:
            column = self._found.pop("input_tokens_with_cache")
            if "cache_read_tokens" in self._left_out:
                self._unsplit_input = column
            else:
                self._found["input_tokens"] = column

    def _settle_duration(self) -> None:
        """One duration, in a unit that its column or the user states; between start and end none is needed."""
        known = [field for field in _DURATIONS if field in self._found]
        if len(known) == 2 and self._is_import:
            self._left_out["duration_seconds"] = [self._found.pop(field) for field in known]
            return
        if len(known) == 2:
            lines = [self._line(f"{field}={self._found[field]}") for field in known]
            raise UsageError(
                "\n".join([f"{self._path}: more than one column could be the duration. Choose one:", *lines])
            )
        is_told = bool(known) or any(field in self._asked for field in _DURATIONS)
        if is_told or {"started_at", "finished_at"} <= self._found.keys():
            return
        for column in self._named(NO_UNIT):
            values = self._values.of(column)
            is_number = all(is_readable(FIELD_READERS["duration_seconds"], value) for value in values)
            if values and is_number and not self._values.hold_moments(column):
                if self._is_import:
                    self._left_out["duration_seconds"] = [column]
                    return
                lines = [self._line(f"{field}={column}") for field in _DURATIONS]
                said = f"{self._path}: column {column!r} does not say its unit. Say it, or leave the duration out:"
                raise UsageError("\n".join([said, *lines, self._line("duration_seconds=")]))

    def _refuse_mixed_decimals(self) -> None:
        """`9,5` beside `12.345` may be a thousand times what it looks like; a file has one decimal mark."""
        columns = [column for field, column in self._found.items() if field in _MEASURED and field not in self._asked]
        texts = [value for name in columns for value in self._values.of(name) if isinstance(value, str)]
        comma, point = (next((text for text in texts if mark in text), None) for mark in ",.")
        if comma is not None and point is not None:
            raise UsageError(
                f"{self._path} has both {comma!r} and {point!r}, so it is not clear which mark is the decimal one. "
                "Write all numbers with a decimal point and without marks for thousands."
            )

    def _check_trials(self) -> tuple[str, ...]:
        """The arms, which must share tasks; else a column cannot be what it is taken for."""
        if "arm" not in self._found:
            return ()
        task, arm = self._found["task_id"], self._found["arm"]
        tasks: dict[str, set[str | None]] = defaultdict(set)
        for task_label, arm_label in self._values.rows((task, arm), self._columns):
            if arm_label is not None:
                tasks[arm_label].add(task_label)
        if len(tasks) < 2 and self._is_import:
            return tuple(tasks)
        if len(tasks) < 2:
            raise UsageError(
                f"{self._path}: column {arm!r} names one arm, {quote_names(list(tasks))}, so there is nothing to "
                f"compare. Name the column that tells arms apart:\n{self._line('arm=COLUMN')}"
            )
        if len({task for own in tasks.values() for task in own}) == sum(map(len, tasks.values())):
            raise UsageError(
                f"{self._path}: no task of column {task!r} was run by two arms of column {arm!r}, so nothing can be "
                f"compared. Name the right columns:\n{self._line('task_id=COLUMN')} --map arm=COLUMN"
            )
        return tuple(tasks)

    def _require_readable(self, field: str, column: str) -> None:
        for value in self._values.of(column):
            try:
                FIELD_READERS[field](value)
            except ValueError as fault:
                named = f"{self._path}: column {column!r} looks like {_NEEDED.get(field, field)}, but has"
                raise UsageError(f"{named} {str(value)[:60]!r}, {fault}. {self._way_out(field)}") from None

    def _way_out(self, field: str) -> str:
        if field in _NEEDED:
            return f"Name the right column:\n{self._line(f'{field}=COLUMN')}{self._threshold_line(field)}"
        return f"Correct it, or leave the field out:\n{self._line(f'{field}=')}"

    def _ask(self, field: str, columns: Sequence[str]) -> str:
        options = [f"{field}={name}" for name in columns]
        if field == "arm" and not set("+") & set("".join(columns)):
            options.append(f"arm={COLUMN_JOINER.join(independent_columns(self._values, columns))}")
        lines = [self._line(option) for option in dict.fromkeys(options)]
        what = _NEEDED.get(field, field)
        return "\n".join([f"{self._path}: more than one column could be {what}. Choose one:", *lines])

    def _ask_all(self, unclear: Mapping[str, Sequence[str]]) -> str:
        """Every needed field that has no column or several, and one command that names a column for each."""
        missing = [field for field, columns in unclear.items() if not columns]
        if not missing and len(unclear) == 1:
            return self._ask(*next(iter(unclear.items())))
        lines = []
        if missing:
            *others, last = (_NEEDED[field] for field in missing)
            what = f"{', '.join(others)} or {last}" if others else last
            lines += [f"{self._path}: no column could be {what}. It has", *column_examples(self._columns)]
        for field, columns in unclear.items():
            if columns:
                lines.append(f"{self._path}: more than one column could be {_NEEDED[field]}: {quote_names(columns)}.")
        options = self._propose(unclear)
        if "COLUMN" in options.values():
            lines.append("Name a column for each COLUMN, and run:")
        else:
            lines.append("Going by the values, this might be meant; check it and run it:")
        lines.append(self._line(*(f"{field}={column}" for field, column in options.items())))
        return "\n".join(lines) + ("" if options.get("success") != "COLUMN" else self._threshold_line("success"))

    def _propose(self, unclear: Mapping[str, Sequence[str]]) -> dict[str, str]:
        """A column for every unclear field, by its values; `COLUMN` where none fits. It is shown and never applied."""
        used = {column for spec in self._found.values() for column in columns_of(spec, self._columns)}
        free = [name for name in self._columns if name not in used and not _is_measure(name)]
        values = ColumnValues(self._path, set(free), self._selection)
        chosen = dict.fromkeys(unclear, "COLUMN")
        for field in ("success", "arm", "task_id"):
            if field not in unclear:
                continue
            open_ = [name for name in unclear[field] or free if name in free and name not in chosen.values()]
            fitting = [name for name in open_ if _could_be(field, name, values)]
            # Arms are few and tasks are many.
            fitting.sort(key=lambda name: len(values.of(name)), reverse=field == "task_id")
            chosen[field] = next(iter(fitting), "COLUMN")
        return chosen

    def _threshold_line(self, field: str) -> str:
        return f"\n{self._line('success=SCORE>=0.8')}" if field == "success" else ""

    def _line(self, *options: str) -> str:
        return " ".join([f"  {self._command}", *(f"--map {quote(option)}" for option in options)])


def describe_left_out(field: str, columns: Sequence[str]) -> str:
    """That a measure is unknown because it is not clear which column it is, or in which unit, and how to say it."""
    if field in _DURATIONS and len(columns) == 1:
        ways = [f"{each}={columns[0]}" for each in _DURATIONS]
        why = f"column {columns[0]!r} does not say its unit"
    else:
        ways = [f"{_duration_field(name) if field in _DURATIONS else field}={name}" for name in columns]
        why = f"{quote_names(columns)} differ and each could be it"
    said = " or ".join(f"--map {quote(way)}" for way in ways)
    return f"{field.removesuffix('_seconds').removesuffix('_ms')} is unknown, because {why}; {said} takes one."


def _duration_field(column: str) -> str:
    return next((match.field for match in match_name(column) if match.field in _DURATIONS), "duration_seconds")


def _is_measure(column: str) -> bool:
    return any(match.field in _MEASURED or match.field == NO_UNIT for match in match_name(column))


def _could_be(field: str, column: str, values: ColumnValues) -> bool:
    """Whether the values of a column fit a field, whatever its name is."""
    found = values.of(column)
    if field == "success":
        is_outcome = len(found) > 1 and all(is_readable(FIELD_READERS[field], value) for value in found)
        return is_outcome and not column.lower().endswith("status")
    return len(found) > 1 and not values.is_unique(column)
