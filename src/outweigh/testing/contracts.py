"""Contracts of stores and reporters. Subclass one, return your adapter, and pytest runs the tests."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from outweigh.errors import EvidenceError
from outweigh.model.codec import InvalidLine, Record, encode, refuse_invalid
from outweigh.ports.reporters import Reporter
from outweigh.ports.stores import RecordSource
from outweigh.report.document import BulletList, CodeBlock, Figure, Heading, Report, Table, Tone
from outweigh.testing.builders import a_judgment, a_run


class StoreContract(ABC):
    """Claims about a store. Subclass it, implement `store_with`, and pytest runs the tests."""

    @abstractmethod
    def store_with(self, lines: Sequence[bytes]) -> RecordSource:
        """A store that holds these lines."""

    def test_gives_back_every_record_with_its_line(self) -> None:
        """Runs and judgments come back in order, each with its line number."""
        run = a_run()
        records: list[Record] = [run, a_judgment(run)]
        store = self.store_with([encode(record) + b"\n" for record in records])

        found = list(store.records(refuse_invalid))

        assert [located.record for located in found] == records
        assert [located.line for located in found] == [1, 2]

    def test_goes_on_after_a_broken_line_when_the_caller_takes_note(self) -> None:
        """A line that is not JSON costs only that line."""
        broken: list[InvalidLine] = []
        store = self.store_with([encode(a_run()) + b"\n", b"{torn\n", encode(a_run(repeat=2)) + b"\n"])

        found = list(store.records(broken.append))

        assert [located.line for located in found] == [1, 3]
        assert [invalid.line for invalid in broken] == [2]

    def test_refuses_to_be_empty(self) -> None:
        """A store without records is an error, not an empty comparison."""
        complaint = "none"
        try:
            list(self.store_with([]).records(refuse_invalid))
        except EvidenceError as error:
            complaint = str(error)

        assert "no run record" in complaint


class ReporterContract(ABC):
    """Claims about a reporter. Subclass it, implement `reporter` and `render`, and pytest runs the tests."""

    @abstractmethod
    def reporter(self) -> Reporter:
        """The reporter under test."""

    def render(self, name: str) -> str:
        """A small report with this name in every place where a name can be."""
        report = Report(
            headline=name,
            tone=Tone.PLAIN,
            blocks=(
                Heading(title=name, tone=Tone.GOOD),
                Table(title=name, columns=("", name), rows=((name, "1"),)),
                BulletList(title=name, items=(name,), tone=Tone.UNSURE),
                Figure(title=name, draw=lambda: "<svg></svg>", caption=name, text_lines=(name,)),
                CodeBlock(title=name, lines=(name,)),
            ),
            payload={"name": name},
        )
        return self.reporter().render(report)

    def test_ends_in_a_line_feed(self) -> None:
        """Output can be appended to a file or shown at a prompt."""
        assert self.render("arm").endswith("\n")

    def test_never_passes_a_control_character_on(self) -> None:
        """A hostile name cannot move the cursor or change colours."""
        assert "\x1b" not in self.render("\x1b[31mred\x1b[0m")
