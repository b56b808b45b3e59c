"""What a mistake in a suite, task, rubric or price file says: the place, the key and what is allowed."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import inspect

from outweigh.agents.agent_script import AgentScript
from outweigh.errors import UsageError
from outweigh.model.describe_type import unwrap
from outweigh.model.parse import parse_rubric, parse_suite
from outweigh.model.pricing import PriceFile
from outweigh.model.rubric import CategoryRubric, Rubric
from outweigh.model.source_document import MOST_FAULTS, SourceDocument
from outweigh.model.suite import SuiteSpec
from outweigh.model.task import TaskSettings
from outweigh.model.toml_positions import KeyPath
from outweigh.model.toml_writer import write_toml
from outweigh.model.value_faults import SECRET_KEYS, find_faults, path_name

FILES: dict[str, tuple[type, KeyPath]] = {
    "suite.toml": (SuiteSpec, ()),
    "task.toml": (TaskSettings, ("metadata", "outweigh")),
    "rubric.toml": (Rubric, ()),
    "categories.toml": (CategoryRubric, ()),
    "prices.toml": (PriceFile, ()),
    "script.toml": (AgentScript, ()),
}
WRONG_TEXT, WRONG_NUMBER = "wrong-7f3a", 987654321987654321


def refusal(text: str, source: str, kind: type, at: KeyPath = ()) -> str:
    with pytest.raises(UsageError) as refused:
        SourceDocument(text.encode(), source).convert(kind, at=at, str_keys=True)
    return str(refused.value)


def suite_refusal(text: str) -> str:
    with pytest.raises(UsageError) as refused:
        parse_suite(text.encode(), "suite.toml")
    return str(refused.value)


def every_place(kind: inspect.Type, path: KeyPath = ()) -> Iterator[tuple[KeyPath, inspect.Type, dict[KeyPath, Any]]]:
    """Every key of a schema with its type, and the `type` keys that the tables on the way need."""
    match unwrap(kind):
        case inspect.StructType(fields=fields) as struct:
            tag = {(*path, struct.tag_field): struct.tag} if struct.tag_field else {}
            for field in fields:
                place = (*path, field.encode_name)
                yield place, field.type, tag
                for inner, type_, tags in every_place(field.type, place):
                    yield inner, type_, {**tag, **tags}
        case inspect.ListType(item_type=item) | inspect.VarTupleType(item_type=item):
            yield (*path, 0), item, {}
            yield from every_place(item, (*path, 0))
        case inspect.DictType(value_type=item):
            yield (*path, "k"), item, {}
            yield from every_place(item, (*path, "k"))
        case inspect.UnionType(types=types):
            for one in types:
                yield from every_place(one, path)


def wrong_value(kind: inspect.Type) -> Any:
    """A value that this type refuses: a text where none is allowed, else a number."""
    ways = kind.types if isinstance(kind, inspect.UnionType) else (kind,)
    takes_text = any(isinstance(unwrap(way), inspect.StrType) for way in ways)
    return WRONG_NUMBER if takes_text else WRONG_TEXT


def put(document: Any, path: KeyPath, value: Any) -> Any:
    """The document with a value at a path; what is not there is made."""
    if not path:
        return value
    first, rest = path[0], path[1:]
    if isinstance(first, int):
        return [put((document or [None])[0], rest, value)]
    return {**(document or {}), first: put((document or {}).get(first), rest, value)}


def wrong_documents() -> Iterator[Any]:
    for source, (kind, at) in FILES.items():
        for path, type_, tags in every_place(inspect.type_info(kind)):
            if isinstance(unwrap(type_), inspect.AnyType):
                continue
            document: Any = put(None, (*at, *path), wrong_value(type_))
            for place, tag in tags.items():
                document = put(document, (*at, *place), tag)
            yield pytest.param(source, document, (*at, *path), id=f"{source}-{path_name(path)}-{len(tags)}")


def position_of(text: str, marker: str) -> str:
    (found,) = re.finditer(re.escape(marker), text)
    before = text[: found.start()]
    return f"{before.count(chr(10)) + 1}:{found.start() - before.rfind(chr(10))}"


@pytest.mark.parametrize(("source", "document", "path"), list(wrong_documents()))
def test_a_wrong_type_anywhere_is_told_with_file_line_column_key_and_what_is_allowed(
    source: str, document: Any, path: KeyPath
) -> None:
    kind, at = FILES[source]
    text = write_toml(document)
    shown = f'"{WRONG_TEXT}"' if WRONG_TEXT in text else str(WRONG_NUMBER)

    told = refusal(text, source, kind, at)

    place = f"{source}:{position_of(text, shown)}: {path_name(path)} "
    (line,) = [line for line in told.splitlines() if line.startswith(place)]
    allowed = line.removeprefix(place)
    if SECRET_KEYS.intersection(path):
        assert shown not in told
    else:
        end = rf", not {shown}(; write \[.*\])?\."
        assert re.fullmatch(rf"must be .+{end}|is {shown}, which is not one of .+[.?]", allowed)
    assert not re.search(r"\$\.|\| null|Expected|Object|`|\^", told)


@pytest.mark.parametrize("source", FILES)
def test_an_unknown_key_in_any_table_is_told_at_the_key(source: str) -> None:
    kind, at = FILES[source]
    tables = {path[:-1]: tags for path, _, tags in every_place(inspect.type_info(kind)) if isinstance(path[-1], str)}
    for path, tags in tables.items():
        if path and path[-1] in ("anchors", "scoring", "grade_scale", "hosted_usd", "environment", "margins", "job"):
            continue
        if path and path[-1] in (
            "tiers",
            "tier_factors",
            "region_factors",
            "hosted_usd_per_request",
            "hosted_usd_range",
        ):
            continue
        if path and path[-1] in ("tolerances", "options", "models", "mcp_servers", "arms", "tasks", "categories"):
            continue
        if path and path[-1] in (
            "model_aliases",
            "providers",
            "headers",
            "parts",
            "hooks",
            "profiles",
            "weights",
            "tags",
        ):
            continue
        document: Any = put(None, (*at, *path, "no_such_key"), 1)
        for place, tag in tags.items():
            document = put(document, (*at, *place), tag)
        text = write_toml(document)

        told = refusal(text, source, kind, at)

        assert f'{source}:{position_of(text, "no_such_key")}: unknown key "no_such_key"' in told


def test_the_three_mistakes_of_a_first_suite_are_told_at_once() -> None:
    told = suite_refusal(
        'name = "x"\ntasks = ["tasks/*"]\nrepeats = "five"\nbaseline = "a"\njudgse = 2\n'
        '[arms.a]\nagent = "noop"\n[sandbox]\nimage = "x"\n\n\n  kind = "docker"\n'
    )

    assert told.splitlines() == [
        'suite.toml:3:11: repeats must be a whole number from 1 to 10,000, not "five".',
        'suite.toml:5:1: unknown key "judgse"; did you mean "judges"?',
        'suite.toml:12:10: sandbox.kind is "docker", which is not one of "auto", "bubblewrap", "container", "local"; '
        'did you mean "container"?',
    ]


START = 'name = "x"\ntasks = ["t"]\nbaseline = "a"\n'
ARMS = '[arms.a]\nagent = "noop"\n[arms.b]\nagent = "noop"\n'


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            f'{START}arms = {{ "ä b" = {{ agnet = "x" }} }}',
            '4:20: unknown key "agnet" in [arms."ä b"]; did you mean "agent"?',
        ),
        (f"{START}{ARMS}retries = 2", '8:1: unknown key "retries" in [arms.b]; it belongs in [limits] or [[judges]].'),
        (
            f"{START}{ARMS}repeats = 2",
            '8:1: unknown key "repeats" in [arms.b]; it belongs in the top level of the file or [[designs]] or '
            "[tiers.NAME].",
        ),
        (f"{START}arms.a.flags = ['x', 3]", "4:22: arms.a.flags[1] must be text, not 3."),
        (f"{START}{ARMS}[[judges]]\nname = 'j'", '8:1: [[judges]] needs the key "backend", which must be a name of'),
        (
            f"{START}{ARMS}[[judges]]\nnme = 'j'\nbackend = 'b'",
            '9:1: unknown key "nme" in [[judges]]; did you mean "name"?',
        ),
        (f"{START}{ARMS}[gateway.openai]\nurl = 'x'\nkey = ''", "9:7: gateway.openai.url must be an address that"),
        (f"{START}{ARMS}[harbor.job]\ntasks = 1", "8:9: tasks follows from the suite and the command line, so job"),
        (f"{START}{ARMS}[limits]\nretries = 21", "9:11: limits.retries must be a whole number from 0 to 20, not 21."),
        (f"{START}{ARMS}[limits]\ntokens = 1.5", "9:10: limits.tokens must be a whole number from 1 to"),
        (f"{START}{ARMS}[limits]\nbudget_usd = nan", "9:14: limits.budget_usd must be a number above 0 and up to"),
        (
            f"{START}{ARMS}[policy.margins]\ncomposite = 'x'",
            '9:13: policy.margins.composite must be a number, not "x".',
        ),
        (
            f"{START}{ARMS}".replace('baseline = "a"', 'baseline = "c"'),
            '3:12: baseline is "c", which is not an arm; the arms',
        ),
        (f"{START}{ARMS}extends = 'bb'", '8:11: arms.b.extends: there is no arm "bb". Did you mean "b"?'),
        (f"{START}{ARMS}same_as = 'bb'", '8:11: arms.b.same_as is "bb", which is not an arm; did you mean "b"?'),
        (f"{START}{ARMS}".replace('"noop"\n[arms.b]', "3\n[arms.b]"), "5:9: arms.a.agent must be a name of 1 to 200"),
        (f"{START}[arms.a]\nagent = 'noop'", '4:1: a comparison needs at least two arms; there is only "a".'),
        (
            f'{START}[arms."a/b"]\nagent = "x"',
            '4:7: the key "a/b" in [arms] must be a name of 1 to 200 characters, without',
        ),
        (f"{START}{ARMS}x = ", "8:5: this is not valid TOML: Invalid value."),
        ("\ufeffname = 'x'", "1:1: the file starts with a byte order mark; save it without one."),
    ],
)
def test_a_mistake_is_told_where_it_stands(text: str, told: str) -> None:
    first = suite_refusal(text.replace("\n", "\r\n"))

    assert f"suite.toml:{told}" in first
    assert suite_refusal(text) == first


def test_a_name_that_is_judged_twice_is_told_at_the_second() -> None:
    judge = "[[judges]]\nname = 'j'\nbackend = 'b'\n"

    assert suite_refusal(f"{START}{ARMS}{judge}{judge}").startswith('suite.toml:12:8: two [[judges]] are called "j"')


def test_more_mistakes_than_a_screen_takes_are_counted() -> None:
    keys = "".join(f"no_{index} = 1\n" for index in range(MOST_FAULTS + 3))

    told = suite_refusal(f"{keys}{START}{ARMS}").splitlines()

    assert len(told) == MOST_FAULTS + 1
    assert told[-1] == "suite.toml: 3 more errors."


def test_a_misspelt_key_is_not_also_reported_as_missing() -> None:
    assert len(suite_refusal(f"{START.replace('name', 'nmae')}{ARMS}").splitlines()) == 1


def test_a_yaml_rubric_is_told_by_line_and_column_too() -> None:
    content = b"criteria:\n  - type: binary\n    name: a\n    description: d\n    wieght: 2\n  - type: binray\n"

    with pytest.raises(UsageError) as refused:
        parse_rubric(content, "rubric.yaml")

    assert str(refused.value).splitlines() == [
        'rubric.yaml:5:5: unknown key "wieght" in criteria[0]; did you mean "weight"?',
        'rubric.yaml:6:11: criteria[1].type is "binray", which is not one of "binary", "checklist", "scaled"; '
        'did you mean "binary"?',
    ]


def test_a_file_that_is_not_text_is_told_by_its_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"suite\.toml:2: the file is not UTF-8 text"):
        SourceDocument(b"name = 'x'\ntasks = '\xff'", str(tmp_path / "suite.toml"))


PLAIN = st.recursive(
    st.one_of(st.booleans(), st.integers(-3, 12), st.floats(), st.text("ab./", max_size=3)),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(st.text("ab", max_size=2), inner, max_size=2)),
    max_leaves=4,
)


@given(st.sampled_from([kind for kind, _ in FILES.values()]), st.data())
def test_faults_are_found_exactly_where_msgspec_refuses(kind: type, data: st.DataObject) -> None:
    fields = [field.encode_name for field in inspect.type_info(kind).fields]  # type: ignore[attr-defined]
    value = data.draw(st.dictionaries(st.sampled_from(fields), PLAIN, max_size=4))
    try:
        msgspec.convert(value, kind, str_keys=True)
        refused = False
    except msgspec.ValidationError:
        refused = True

    assert bool(find_faults(value, kind)) == refused
