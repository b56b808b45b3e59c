"""The library answers as the command line does: about every store, whole or damaged, or both refuse alike."""

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from tests.cli.stores import write_store
from tests.conftest import Answer, Outweigh

import outweigh as library
from outweigh.cli.main import main
from outweigh.compare.comparison import compare_arms
from outweigh.compare.evidence import gather
from outweigh.errors import OutweighError
from outweigh.model.codec import InvalidLine, encode
from outweigh.model.pricing import PriceTables
from outweigh.model.run_record import RULES_LABEL, RunRecord
from outweigh.model.suite import JudgeSpec, PolicySpec
from outweigh.report.formatting import escape_controls
from outweigh.store.judging_file import JudgingFile, write_judging
from outweigh.store.records import RecordReader
from outweigh.testing.builders import a_judgment, a_run, runs_of_arm
from outweigh.testing.corrupt_content import change_one_line, corrupt_bytes, corrupt_json, corrupt_lines
from outweigh.verdict.policy import decide
from outweigh.verdict.promotion import may_promote

ROOT = Path(__file__).resolve().parents[2]
TASKS, REPEATS = 8, 5
GATES = PolicySpec(name="gates")
Stores = dict[str, Path]


def better(arm: str = "new") -> list[RunRecord]:
    return runs_of_arm(arm, [[True] * REPEATS] * TASKS, duration_seconds=50.0)


def worse(arm: str = "plain") -> list[RunRecord]:
    return runs_of_arm(arm, [[True] + [False] * (REPEATS - 1)] * TASKS)


def bound(runs: list[RunRecord], rules_sha256: str) -> list[RunRecord]:
    return [msgspec.structs.replace(run, extra=run.extra | {RULES_LABEL: rules_sha256}) for run in runs]


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Stores:
    """Stores of every kind: of the suite's own rules, of several candidates, imported, and files alone."""
    folder = tmp_path_factory.mktemp("stores")
    arms = ("plain", "new")
    write_store(folder / "promotable", worse() + better(), arms, policy=GATES)
    write_store(folder / "evidence", worse() + better(), arms)
    write_store(folder / "regressed", better("plain") + worse("new"), arms)
    write_store(folder / "neutral", worse() + worse("new"), arms)
    write_store(folder / "several", worse() + better() + worse("third"), ("plain", "new", "third"), profile="even")
    write_store(folder / "looked", worse() + better(), arms, looked_at=TASKS)
    write_store(folder / "never-run", worse(), arms)
    write_judged_store(folder / "judged", minimum_alpha=None)
    write_judged_store(folder / "uncalibrated", minimum_alpha=0.8)
    write_store(folder / "edited", bound(worse() + better(), "0" * 64), arms)
    shutil.copytree(ROOT / "examples" / "recorded", folder / "recorded", ignore=lambda *_: ["make.py", "labels.csv"])
    for name, source, more in (
        ("inspect", ROOT / "examples" / "inspect", ()),
        ("promptfoo", ROOT / "examples" / "promptfoo" / "output.json", ()),
        ("table", _broken_table(folder), ("--map", "success=passed", "--skip-invalid")),
    ):
        assert main(["import", str(source), "-o", str(folder / name), *more]) == 0
    return {path.name: path for path in sorted(folder.iterdir()) if path.is_dir()}


def write_judged_store(folder: Path, *, minimum_alpha: float | None) -> None:
    """Runs that a judge decides about, who must first have agreed with people where there is a minimum."""
    runs = worse() + better()
    write_store(folder, runs, ("plain", "new"), policy=PolicySpec(gates=["judge_score"]))
    judgments = [a_judgment(run, 0.9 if run.trial.arm == "new" else 0.2) for run in runs]
    (folder / "judgments-engine.jsonl").write_bytes(b"".join(encode(each) + b"\n" for each in judgments))
    judge = JudgeSpec(name="judge", backend="command", minimum_alpha=minimum_alpha)
    write_judging(folder, JudgingFile(judges=(judge,), tasks={}, tell_tales=()))


def _broken_table(folder: Path) -> Path:
    """Results of which one row does not say its task."""
    rows = [
        f"{task},{arm},{repeat},{passed}"
        for arm, passed in (("plain", "false"), ("new", "true"))
        for task in range(TASKS)
        for repeat in (1, 2)
    ]
    path = folder / "results.csv"
    path.write_text("\n".join(["task_id,arm,repeat,passed", *rows, ",new,3,true"]) + "\n")
    return path


NAMES = [
    *(
        "promotable",
        "evidence",
        "regressed",
        "neutral",
        "several",
        "looked",
        "never-run",
        "edited",
        "judged",
        "uncalibrated",
    ),
    *("recorded", "inspect", "promptfoo", "table"),
]


def arms_of(store: Path) -> dict[str, Any]:
    """The first two arms of records that no suite is known of."""
    if (store / "experiment.json").exists():
        return {}
    reader = RecordReader(str(store)).records(lambda _: None)
    names = list(dict.fromkeys(each.record.trial.arm for each in reader if isinstance(each.record, RunRecord)))
    return {"baseline": names[0], "candidate": names[-1]}


def answers(
    outweigh: Outweigh, source: Path, arms: dict[str, Any], *, skip_invalid: bool = False
) -> tuple[object, object]:
    """What the command line says and what the library says, in comparable form."""
    words = [word for name, arm in arms.items() for word in (f"--{name}", arm)]
    flags = ["--skip-invalid"] if skip_invalid else []
    printed = outweigh("verdict", str(source), *words, *flags, "--format", "json")
    assert printed.code in (0, 1, 2, 3), printed.err
    return _of_command_line(printed), _of_library(lambda: library.verdict(source, **arms, skip_invalid=skip_invalid))


def _of_command_line(printed: Answer) -> object:
    if not printed.out:
        return ("refused", printed.code, printed.err)
    answer = printed.json()
    verdicts = answer.get("verdicts", [answer])
    said = [(each["candidate"], each["decision"], tuple(each["blockers"]), each["may_promote"]) for each in verdicts]
    return (printed.code, said, answer)


def _of_library(ask: Callable[[], library.DecisionResult]) -> object:
    try:
        result = ask()
    except OutweighError as fault:
        words = "\n".join(map(escape_controls, f"outweigh: {fault}".split("\n")))
        return ("refused", fault.exit_code, f"{words}\n")
    said = [(each.name, each.decision.value, each.blockers, each.may_promote) for each in result]
    code = {True: 0, False: 1, None: 3}[result.meets("improved")]
    return (code, said, json.loads(msgspec.json.encode(result.to_dict())))


@pytest.mark.parametrize("skip_invalid", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_about_a_whole_store_both_say_the_same(
    outweigh: Outweigh, stores: Stores, name: str, skip_invalid: bool
) -> None:
    printed, said = answers(outweigh, stores[name], arms_of(stores[name]), skip_invalid=skip_invalid)

    assert said == printed


def damages(store: Path) -> Iterator[tuple[str, Callable[[bytes, Random], bytes | None]]]:
    for path in sorted(store.iterdir()):
        if path.suffix in (".json", ".jsonl"):
            yield path.name, corrupt_bytes
            yield path.name, corrupt_json if path.suffix == ".json" else corrupt_lines
            yield path.name, lambda content, chance: content[: chance.randrange(len(content))]
            yield path.name, lambda content, chance: content + content[: chance.randrange(len(content))]
            if path.suffix == ".jsonl":
                yield path.name, lambda content, chance: change_one_line(content, chance, corrupt_json)


@pytest.mark.parametrize("skip_invalid", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_about_a_damaged_store_both_say_the_same(
    outweigh: Outweigh, stores: Stores, name: str, skip_invalid: bool, tmp_path: Path
) -> None:
    arms = arms_of(stores[name])
    for number, (file, change) in enumerate(damages(stores[name])):
        damaged = tmp_path / f"{number}"
        shutil.copytree(stores[name], damaged)
        changed = change((damaged / file).read_bytes(), Random(f"{name} {number}"))
        if changed is None:
            continue
        (damaged / file).write_bytes(changed)

        printed, said = answers(outweigh, damaged, arms, skip_invalid=skip_invalid)

        assert said == printed, (file, number)


@pytest.mark.parametrize("name", NAMES)
def test_about_a_store_that_lacks_a_file_both_say_the_same(
    outweigh: Outweigh, stores: Stores, name: str, tmp_path: Path
) -> None:
    arms = arms_of(stores[name])
    for file in [path.name for path in stores[name].iterdir() if path.is_file()]:
        damaged = tmp_path / file
        shutil.copytree(stores[name], damaged)
        (damaged / file).unlink()

        printed, said = answers(outweigh, damaged, arms)

        assert without_spelling(said) == without_spelling(printed), file


def without_spelling(answer: Any) -> object:
    """Where nothing names the baseline any more, each shows how to name it in its own language."""
    if answer[0] != "refused" or "nothing says which arm is the baseline" not in answer[2]:
        return answer
    return (*answer[:2], re.split("Run one of:|Name it as", answer[2])[0])


@pytest.mark.parametrize(
    "rule", [PolicySpec(), PolicySpec(name="composite"), PolicySpec(gates=["pass_rate"], margins={"pass_rate": 0.5})]
)
def test_a_rule_that_was_changed_after_the_runs_is_refused_by_both(
    outweigh: Outweigh, tmp_path: Path, rule: PolicySpec
) -> None:
    from outweigh.store.experiment_file import read_rule_labels  # noqa: PLC0415

    arms = ("plain", "new")
    write_store(tmp_path / "before", worse() + better(), arms, policy=GATES)
    rules = str(read_rule_labels(tmp_path / "before")[RULES_LABEL])
    write_store(tmp_path / "after", bound(worse() + better(), rules), arms, policy=rule)

    printed, said = answers(outweigh, tmp_path / "after", {})

    assert said == printed
    assert isinstance(said, tuple)
    assert said[:2] == ("refused", 3)
    assert "was edited" in said[2]


def test_a_row_that_cannot_be_read_blocks_a_promotion_in_both_and_not_where_nobody_knows_of_it(
    outweigh: Outweigh, stores: Stores, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    shutil.copytree(stores["promotable"], store)
    assert library.verdict(store).may_promote
    with (store / "runs-engine.jsonl").open("ab") as file:
        file.write(b'{"schema":"outweigh.run/1","run_id":"torn')

    unread: list[InvalidLine] = []
    evidence = gather(RecordReader(str(store)).records(unread.append), prices=PriceTables())
    comparison = compare_arms(evidence, "plain", "new")
    bare = decide([comparison], GATES.name, {})[0]

    assert len(unread) == 1
    assert may_promote(bare, comparison.evidence_sha256)
    printed = outweigh("verdict", str(store), "--skip-invalid", "--format", "json").json()
    result = library.verdict(store, skip_invalid=True)
    assert (printed["may_promote"], result.may_promote) == (False, False)
    assert result.blockers == tuple(printed["blockers"]) != ()
    with pytest.raises(library.EvidenceError, match="in the middle of a record"):
        library.verdict(store)


def test_a_judge_who_must_agree_with_people_first_decides_nothing_before(stores: Stores) -> None:
    free, bound_by_a_minimum = (library.verdict(stores[name]) for name in ("judged", "uncalibrated"))

    assert free.decision is library.Decision.IMPROVED
    assert bound_by_a_minimum.decision is not library.Decision.IMPROVED
    assert not bound_by_a_minimum.may_promote


def test_a_row_that_an_import_went_on_without_blocks_a_promotion(stores: Stores) -> None:
    result = library.verdict(stores["table"], baseline="plain", candidate="new", gates=["pass_rate"])

    assert result.decision is library.Decision.IMPROVED
    assert not result.may_promote
    assert any("could not be read" in blocker for blocker in result.blockers)


class TestTheAnswer:
    def test_is_neither_true_nor_false(self, stores: Stores) -> None:
        with pytest.raises(TypeError, match="may_promote"):
            bool(library.verdict(stores["regressed"]))

    def test_has_no_single_decision_where_there_are_several_candidates(self, stores: Stores) -> None:
        result = library.verdict(stores["several"])

        assert [each.name for each in result] == ["new", "third"]
        assert result["third"].decision is library.Decision.NEUTRAL or result["third"].refusals
        with pytest.raises(library.UsageError, match="several candidates"):
            _ = result.may_promote

    def test_is_refused_exactly_where_there_is_a_reason(self, stores: Stores) -> None:
        results = [library.verdict(stores[name]) for name in ("promotable", "evidence", "regressed", "neutral")]

        for result in results:
            assert result.may_promote == (not result.refusals)

    def test_rests_on_what_is_there_now_and_not_when_the_store_was_opened(self, stores: Stores, tmp_path: Path) -> None:
        shutil.copytree(stores["promotable"], tmp_path / "store")
        store = library.open_store(tmp_path / "store")
        assert library.verdict(store).may_promote

        (tmp_path / "store" / "experiment.json").write_bytes(b"{")

        with pytest.raises(library.EvidenceError, match=r"experiment\.json cannot be read"):
            library.verdict(store)

    def test_shows_itself_in_a_notebook_with_its_pictures_and_without_a_script(self, stores: Stores) -> None:
        verdict, report = library.verdict(stores["evidence"]), library.report(stores["evidence"])
        comparison = library.compare_arms(stores["evidence"])

        for page in (verdict._repr_html_(), report._repr_html_(), comparison._repr_html_()):
            assert page.startswith('<iframe srcdoc="')
            assert "&lt;script" not in page
        assert "&lt;svg" in verdict._repr_html_()
        assert "&lt;svg" in report._repr_html_()

    def test_escapes_what_a_store_calls_itself(self, tmp_path: Path) -> None:
        name = '"></iframe><script>alert(1)</script>'
        write_store(tmp_path / "store", [*worse(name), *better()], (name, "new"))

        page = library.verdict(tmp_path / "store")._repr_html_()

        assert page.count("<") == 2
        assert "<script" not in page

    def test_of_a_report_is_written_as_the_command_line_writes_it(
        self, outweigh: Outweigh, stores: Stores, tmp_path: Path
    ) -> None:
        result = library.report(stores["evidence"])
        outweigh("report", str(stores["evidence"]), "-o", str(tmp_path / "theirs.csv"))

        assert result.save(tmp_path / "ours.csv").read_bytes() == (tmp_path / "theirs.csv").read_bytes()
        with pytest.raises(library.UsageError, match="must end in"):
            result.save(tmp_path / "ours.pdf")


class TestASource:
    def test_may_be_a_store_a_path_several_or_records(self, stores: Stores) -> None:
        path = stores["promotable"]
        records = list(library.open_store(path).runs())
        arms: dict[str, Any] = {"baseline": "plain", "candidate": "new", "policy": "gates"}

        said = [
            library.verdict(source, **arms).to_dict()["verdict_sha256"]
            for source in (path, str(path), library.open_store(path), [path], [library.open_store(path)], records)
        ]

        assert len(set(said)) == 1

    def test_that_is_named_twice_is_refused_as_the_command_line_refuses_it(
        self, outweigh: Outweigh, stores: Stores
    ) -> None:
        path = stores["promotable"]
        printed = outweigh("verdict", str(path), str(path))

        with pytest.raises(library.EvidenceError) as fault:
            library.verdict([path, path])

        assert f"outweigh: {fault.value}\n" == printed.err

    def test_that_does_not_exist_is_refused_when_it_is_opened(self, tmp_path: Path) -> None:
        with pytest.raises(library.UsageError, match="there is no"):
            library.open_store(tmp_path / "nowhere")

    def test_of_another_kind_is_refused(self) -> None:
        with pytest.raises(library.UsageError, match="records cannot be read from int"):
            library.verdict([1])  # type: ignore[arg-type]

    @pytest.mark.parametrize(
        "options",
        [{"policy": "best"}, {"infer": "all"}, {"seed": -1}, {"planned_tasks": 1}, {"columns": {}}],
    )
    def test_is_not_read_where_an_option_is_none(self, tmp_path: Path, options: dict[str, Any]) -> None:
        with pytest.raises(library.UsageError) as fault:
            library.verdict(tmp_path / "nowhere", **options)

        assert next(iter(options)) in str(fault.value)

    def test_does_not_make_up_a_profile_that_no_suite_defines(self) -> None:
        with pytest.raises(library.UsageError, match="'odd' is not known; it must be objective_first or even"):
            library.verdict("examples/recorded/runs.jsonl", baseline="T0-plain", profile="odd")


class TestADataFrame:
    def test_of_a_store_gives_the_same_verdict(self, stores: Stores) -> None:
        pandas = pytest.importorskip("pandas")
        pyarrow = pytest.importorskip("pyarrow")
        table = pyarrow.table(library.open_store(stores["promotable"]))
        arms: dict[str, Any] = {"baseline": "plain", "candidate": "new", "policy": "gates"}

        said = [
            library.verdict(frame, **arms) for frame in (table, table.to_pandas(), pandas.DataFrame.from_arrow(table))
        ]

        assert table.num_rows == len(list(library.open_store(stores["promotable"]).runs()))
        assert {each.evidence.sha256("plain", "new") for each in said} == {
            library.verdict(stores["promotable"]).evidence.sha256("plain", "new")
        }
        assert all(each.may_promote for each in said)

    def test_of_results_is_read_by_its_columns(self) -> None:
        pandas = pytest.importorskip("pandas")
        rows = [
            {"task": f"t{task}", "arm": arm, "ok": arm == "new"} for task in range(TASKS) for arm in ("old", "new") * 2
        ]
        frame = pandas.DataFrame(rows)

        with pytest.raises(library.UsageError, match="'success', 'task_id'"):
            library.verdict(frame, baseline="old", candidate="new")
        result = library.verdict(
            frame, baseline="old", candidate="new", columns={"task_id": "task", "success": "ok"}, gates=["pass_rate"]
        )

        assert result.decision is library.Decision.IMPROVED

    @pytest.mark.parametrize("cell", [None, "", "{", "[]", '{"schema":"outweigh.run/1"}'])
    def test_with_a_row_that_is_no_record_is_refused_or_blocks(self, stores: Stores, cell: str | None) -> None:
        pyarrow = pytest.importorskip("pyarrow")
        records = pyarrow.table(library.open_store(stores["promotable"])).column("record").to_pylist()
        frame = pyarrow.table({"record": [*records, cell]})
        arms: dict[str, Any] = {"baseline": "plain", "candidate": "new", "policy": "gates"}

        with pytest.raises(library.EvidenceError, match=r"<data frame>:\d+"):
            library.verdict(frame, **arms)
        result = library.verdict(frame, **arms, skip_invalid=True)

        assert (result.decision, result.may_promote) == (library.Decision.IMPROVED, False)

    def test_of_a_verdict_has_a_row_for_every_gate(self, stores: Stores) -> None:
        pyarrow = pytest.importorskip("pyarrow")
        result = library.verdict(stores["several"])

        rows = pyarrow.table(result).to_pylist()

        assert [(row["candidate"], row["gate"]) for row in rows] == [
            (each.name, gate.name) for each in result for gate in each.verdict.gates
        ]

    def test_of_a_store_with_a_broken_line_is_not_given(self, stores: Stores, tmp_path: Path) -> None:
        pyarrow = pytest.importorskip("pyarrow")
        shutil.copytree(stores["promotable"], tmp_path / "store")
        with (tmp_path / "store" / "runs-engine.jsonl").open("ab") as file:
            file.write(b"{")

        with pytest.raises(library.EvidenceError, match="in the middle of a record"):
            pyarrow.table(library.open_store(tmp_path / "store"))


def test_what_a_run_says_is_what_was_recorded(tmp_path: Path) -> None:
    run = a_run(arm="plain")
    store = write_store(tmp_path / "store", [run], ("plain", "new"))

    assert list(library.open_store(store).runs()) == [run]
