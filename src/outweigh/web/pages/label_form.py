"""The forms in which a reader labels a run: pass or fail, agree or disagree with a judge, and a note.

Labels go to the file that `outweigh judge --calibrate` reads. There is one label for a run, and one for each of its
criteria, whoever judged them.
"""

import shlex
from collections.abc import Iterator, Sequence

from outweigh.compare.calibrate import PASS_THRESHOLD
from outweigh.errors import OutweighError
from outweigh.model.judgment import CriterionScore, Judgment
from outweigh.score.judge_scores import judgment_score
from outweigh.store.label_file import FAIL_LABEL, PASS_LABEL, LabelKey, RunLabel, label_file, read_run_labels
from outweigh.store.read_only_stores import refuse_read_only
from outweigh.web.catalogue import ViewedStore
from outweigh.web.markup import Child, Html, element, escape_lines, join_markup, link
from outweigh.web.pages.layout import badge, run_query, store_path
from outweigh.web.run_row import RunRow

MAX_NOTE_CHARACTERS = 2_000
_CHOICES = ((PASS_LABEL, "pass"), (FAIL_LABEL, "fail"), ("", "no label"))


class LabelForms:
    """The forms of one run. `token` shows that a form was made by this viewer."""

    def __init__(self, store: ViewedStore, row: RunRow, token: str) -> None:
        self._store, self._row, self._token = store, row, token
        self._file = label_file(store.index.path)
        self._labels: dict[LabelKey, RunLabel] = {}
        self._problem: str | None = None
        try:
            refuse_read_only(store.index.address)
            self._labels = read_run_labels(self._file)
        except OutweighError as fault:
            self._problem = str(fault)

    def section(self) -> Iterator[Child]:
        """The label of the whole run, with a note."""
        yield element("h2", "Your label", id="label")
        if self._problem is not None:
            yield element("p", self._problem, class_="note")
            return
        given = self._find("")
        choices = join_markup(_choice(value, words, chosen=given.label == value) for value, words in _CHOICES)
        # Browsers drop the first line feed in a text area.
        text = join_markup((Html("\n"), escape_lines(given.note)))
        note = element("textarea", text, name="note", rows=2, maxlength=MAX_NOTE_CHARACTERS)
        yield self._form(
            "",
            element("fieldset", element("legend", "Did this run do what was asked?"), choices),
            element("label", "Note", note),
            element("button", "Save"),
            class_="label",
        )
        yield element("p", *self._next_steps(), class_="quiet")

    def verdict_on(self, judgment: Judgment) -> Html | None:
        """Buttons to agree or disagree with a judge about the whole run; None if the judge gave no score."""
        return self._opinion("", judgment_score(judgment).value, _threshold(judgment))

    def verdict_on_criterion(self, judgment: Judgment, criterion: CriterionScore) -> Html | None:
        """Buttons to agree or disagree about one criterion; None if it does not apply."""
        return self._opinion(criterion.criterion, criterion.score, _threshold(judgment))

    def _opinion(self, criterion: str, score: float | None, threshold: float) -> Html | None:
        if self._problem is not None or score is None:
            return None
        same, other = (PASS_LABEL, FAIL_LABEL) if score >= threshold else (FAIL_LABEL, PASS_LABEL)
        given = self._find(criterion).label
        about = criterion or "the whole run"
        return self._form(
            criterion,
            element("span", f"judge says {same}", class_="quiet"),
            _opinion_button("Agree", same, given, about),
            _opinion_button("Disagree", other, given, about),
            badge("agree" if given == same else "disagree") if given in (same, other) else None,
            class_="opinion",
        )

    def _find(self, criterion: str) -> RunLabel:
        key = self._row.run_id, criterion
        return self._labels.get(key) or RunLabel(run_id=self._row.run_id, criterion=criterion)

    def _form(self, criterion: str, *children: Child, class_: str) -> Html:
        row = self._row
        hidden = {"token": self._token, "run": row.run_id, "attempt": str(row.attempt), "criterion": criterion}
        fields = (element("input", type="hidden", name=name, value=value) for name, value in hidden.items())
        action = f"{store_path(self._store)}/label"
        return element("form", *fields, *children, method="post", action=action, class_=class_)

    def _next_steps(self) -> Iterator[Child]:
        if any(label.label for label in self._labels.values()):
            store, file = (shlex.quote(str(path)) for path in (self._store.index.path, self._file))
            yield "Compare the judges with your labels: "
            yield element("code", f"outweigh judge {store} --calibrate {file}")
            yield ". "
        if (following := self._next_unlabelled()) is not None:
            yield link("Next judged run without a label", f"{store_path(self._store)}/run", run_query(following))

    def _next_unlabelled(self) -> RunRow | None:
        index = self._store.index
        with index.lock:
            rows: Sequence[RunRow] = index.rows if index.is_judged else ()
            place = next((place for place, row in enumerate(rows) if row is self._row), -1)
            later = (row for row in (*rows[place + 1 :], *rows[: max(place, 0)]))
            return next((row for row in later if self._lacks_label(row)), None)

    def _lacks_label(self, row: RunRow) -> bool:
        return (row.run_id, "") not in self._labels and self._store.index.judge_score(row.run_id) is not None


def _choice(value: str, words: str, *, chosen: bool) -> Html:
    return element("label", element("input", type="radio", name="label", value=value, checked=chosen), f" {words}")


def _opinion_button(words: str, label: str, given: str, about: str) -> Html:
    pressed = "true" if given == label else "false"
    return element(
        "button", words, name="label", value=label, aria_pressed=pressed, aria_label=f"{words} about {about}"
    )


def _threshold(judgment: Judgment) -> float:
    return PASS_THRESHOLD if judgment.grading is None else judgment.grading.pass_threshold
