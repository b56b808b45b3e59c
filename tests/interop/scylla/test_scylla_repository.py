"""ProjectScylla's own repository is read as it is: 47 tests, 120 sub-tests, and the tiers that others are built on."""

from collections import Counter
from pathlib import Path

import pytest
from tests.interop.scylla.scylla_repository import INHERITED, SUBTESTS, TIER_NAMES, scylla_repository

from outweigh.errors import UsageError
from outweigh.interop.scylla.suite_reader import ScyllaSuiteReader
from outweigh.model.tiers import InheritSpec
from outweigh.ports.suites import SuiteDraft
from outweigh.testing.suite_reader_contract import SUITE_OVERRIDES, write_and_load


def drafted(path: Path) -> SuiteDraft:
    return ScyllaSuiteReader().read(path, SUITE_OVERRIDES)


@pytest.fixture(scope="module")
def draft(tmp_path_factory: pytest.TempPathFactory) -> SuiteDraft:
    return drafted(scylla_repository(tmp_path_factory.mktemp("scylla")))


def test_every_sub_test_that_adds_or_inherits_something_is_an_arm(draft: SuiteDraft) -> None:
    arms = Counter(arm.tier for arm in draft.spec.arms.values())

    assert len(draft.tasks) == 47
    assert sum(SUBTESTS) == 120
    assert [arms[tier] for tier in range(7)] == [23, 9, 14, 41, 14, 15, 1]
    assert draft.spec.baseline == "t0-01-vanilla"
    assert "There is no arm for t0-00-empty: agents keep their own system prompt here." in draft.notes
    assert "There is no arm for t1-10-plugin, t2-04-tools: its files are not here." in draft.notes


def test_the_arms_of_an_inheriting_tier_are_built_on_the_best_of_the_tiers_that_they_name(draft: SuiteDraft) -> None:
    inherits = {name: arm.inherit for name, arm in draft.spec.arms.items() if name.endswith("-best")}

    assert len(inherits) == len(INHERITED) == 10
    assert inherits["t5-07-best"] == InheritSpec(
        best_of=[1, 3], by="median-judge", margin=0.05, tie="fewest-tokens", held_out=True
    )
    assert inherits["t5-10-best"] == InheritSpec(best_of=[0, 3, 4], by="median-judge")


def test_a_sub_test_that_extends_the_tier_below_is_built_on_its_best(draft: SuiteDraft) -> None:
    found: dict[int, set[tuple[int, ...]]] = {}
    for name, arm in draft.spec.arms.items():
        if not name.endswith("-best"):
            found.setdefault(arm.tier or 0, set()).add(tuple(arm.inherit.best_of) if arm.inherit else ())

    assert found == {0: {()}, 1: {(0,)}, 2: {(1,)}, 3: {(2,)}, 4: {(3,)}, 5: {(4,)}, 6: {()}}


def test_what_is_merged_there_and_not_here_is_a_note(draft: SuiteDraft) -> None:
    (note,) = [note for note in draft.notes if "merges the best of each tier" in note]

    assert note.endswith(": t5-06-best, t5-07-best, t5-08-best, t5-09-best, t5-10-best.")


def test_tiers_have_the_names_that_the_repository_gives_them(draft: SuiteDraft) -> None:
    assert {number: tier.name for number, tier in draft.spec.tiers.items()} == {
        str(number): name for number, name in enumerate(TIER_NAMES)
    }


def test_a_source_with_a_slash_is_the_package_that_the_harness_starts(draft: SuiteDraft) -> None:
    arm = draft.spec.arms["t2-05-files-mcp"]

    assert arm.mcp_servers["files"].command == ["npx", "-y", "@modelcontextprotocol/servers/files"]
    assert any("files (t2-05-files-mcp)" in note and "install them" in note for note in draft.notes)


def test_the_suite_that_is_written_can_be_loaded_with_all_its_arms(draft: SuiteDraft, tmp_path: Path) -> None:
    suite = write_and_load(draft, tmp_path / "suite")

    assert len(suite.tiers) == 117
    assert len(suite.arms) == 24, "the others are built when the arm that they inherit is chosen"
    assert suite.spec.arms["t5-01-best"].inherit == InheritSpec(best_of=[0], by="median-judge")
    assert suite.spec.tiers["5"].name == "Hybrid"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("mcp_servers: [{name: files, source: ../../files}]\n", "'../../files', which is not part of a package's name"),
        ("mcp_servers: [{name: files, source: /etc}]\n", "'/etc', which is not part of a package's name"),
        ("skilz: [lint]\n", "Did you mean `skills`"),
        ("inherit_best_from: [T9]\n", "Invalid enum value 'T9' - at `$.inherit_best_from[0]`"),
        ("inherit_best_from: [T4]\n", "T4, which is not below its own tier T2"),
        ("a: [\n", "is not valid YAML"),
        ("- a\n", "Expected `object`"),
    ],
)
def test_one_bad_sub_test_is_a_note_with_the_reason_and_the_rest_is_read(
    tmp_path: Path, content: str, reason: str
) -> None:
    path = scylla_repository(tmp_path, tests=1, changes={"subtests/t2/07-memory-mcp.yaml": content})

    draft = drafted(path)

    assert len(draft.spec.arms) == 116
    (note,) = [note for note in draft.notes if "no arm for t2-07-memory-mcp" in note]
    assert "t2/07-memory-mcp.yaml" in note
    assert reason in note


def test_an_arm_whose_tiers_were_not_read_is_not_made_up(tmp_path: Path) -> None:
    path = scylla_repository(tmp_path, tests=1)
    for source in (tmp_path / "tests/claude-code/shared/subtests/t1").iterdir():
        source.write_text("skilz: []\n")

    draft = drafted(path)

    arms = draft.spec.arms
    assert "t5-02-best" not in arms
    assert any("no arm for t5-02-best: the tiers whose best it inherits have no arm" in note for note in draft.notes)
    assert arms["t5-07-best"].inherit == InheritSpec(best_of=[3], by="median-judge")
    assert arms["t2-01-tools"].inherit is None


def test_a_repository_without_one_readable_sub_test_is_refused_with_the_first_reason(tmp_path: Path) -> None:
    path = scylla_repository(tmp_path, tests=1)
    for source in (tmp_path / "tests/claude-code/shared/subtests").glob("*/*.yaml"):
        source.write_text("skilz: []\n")

    with pytest.raises(UsageError, match=r"t0/00-empty\.yaml: .*Did you mean `skills`"):
        drafted(path)


def test_a_file_of_tiers_that_is_none_is_refused_by_name(tmp_path: Path) -> None:
    path = scylla_repository(tmp_path, tests=1, changes={"tiers.yaml": "tiers: {T0: [Prompts]}\n"})

    with pytest.raises(UsageError, match=r"tiers\.yaml: Expected `object`"):
        drafted(path)


def test_the_older_place_of_tier_names_is_found(tmp_path: Path) -> None:
    path = scylla_repository(tmp_path, tests=1)
    names = tmp_path / "tests/claude-code/shared/tiers.yaml"
    (tmp_path / "config/tiers").mkdir(parents=True)
    names.rename(tmp_path / "config/tiers/tiers.yaml")

    assert drafted(path).spec.tiers["6"].name == "Super"
