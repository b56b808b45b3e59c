"""Rubrics: what may be written, what it asks, and that the same rubric has the same hash."""

import msgspec
import pytest

from outweigh.errors import UsageError
from outweigh.model.parse import parse_rubric, parse_suite
from outweigh.model.rubric import BinaryCriterion, ChecklistCriterion, Rubric, ScaledCriterion
from outweigh.model.source_document import convert_options
from outweigh.model.task import TaskSettings

TOML = b"""
pass_threshold = 0.7

[[criteria]]
type = "binary"
name = "works"
description = "It works."
weight = 2.0

[[criteria]]
type = "scaled"
name = "clean"
description = "It is clean."
min = 1
max = 5
anchors = { "1" = "a mess", "5" = "a pleasure" }
na_when = "nothing was changed"

[[criteria]]
type = "checklist"
name = "tests"
description = "What was tested."
evidence = false
items = [
  { name = "unit", description = "The unit.", points = 2 },
  { name = "edge", description = "The edges.", na_when = "there are none" },
]
"""
YAML = b"""
criteria:
  - {description: It works., name: works, weight: 2, type: binary}
  - name: clean
    type: scaled
    description: It is clean.
    max: 5
    min: 1
    na_when: nothing was changed
    anchors: {"5": a pleasure, "1": a mess}
  - type: checklist
    name: tests
    description: What was tested.
    evidence: false
    items:
      - {name: unit, description: The unit., points: 2.0}
      - {name: edge, description: The edges., na_when: there are none}
pass_threshold: 0.7
"""
CATEGORIES = b"""
requirements:
  - id: "R001"
    description: "The file is there"
    weight: 2.0
    evaluation: "binary"
  - id: "R002"
    description: "All recipes are there"
    weight: 1.5
    evaluation: "scaled"
    scoring:
      1.0: "all"
      0.4: "some"
categories:
  functional:
    weight: 0.35
    scoring_type: "checklist"
    items:
      - id: F1
        check: "It runs"
        points: 1.0
      - id: F2
        check: "It is formatted"
        points: 0.5
        na_condition: "no formatter"
  overall_quality:
    weight: 0.2
    scoring_type: "subjective"
    items:
      - {id: OQ1, check: "Would a senior engineer approve?", points: 2.0}
  clarity:
    weight: 1.0
    description: "Clear names"
grading:
  pass_threshold: 0.60
  grade_scale: {S: 1.00, A: 0.80, B: 0.60, C: 0.40, D: 0.20, F: 0.0}
"""


def test_the_same_rubric_in_toml_and_yaml_has_the_same_hash() -> None:
    assert parse_rubric(TOML, "rubric.toml") == parse_rubric(YAML, "rubric.yaml")
    assert parse_rubric(TOML, "rubric.toml").sha256 == parse_rubric(YAML, "rubric.yml").sha256


def test_another_weight_is_another_rubric() -> None:
    assert parse_rubric(TOML, "r.toml").sha256 != parse_rubric(TOML.replace(b"2.0", b"2.5"), "r.toml").sha256


def test_every_criterion_and_every_item_of_a_checklist_is_a_question() -> None:
    works, clean, unit, edge = parse_rubric(TOML, "rubric.toml").questions()

    assert (works.id, works.low, works.high, works.only_ends, works.evidence) == ("works", 0, 1, True, True)
    assert (clean.low, clean.high, clean.anchors) == (1, 5, (("1", "a mess"), ("5", "a pleasure")))
    assert (unit.id, unit.high, unit.evidence, unit.na_when) == ("tests/unit", 2, False, None)
    assert (edge.id, edge.na_when) == ("tests/edge", "there are none")


def test_requirements_and_categories_are_read_as_criteria() -> None:
    rubric = parse_rubric(CATEGORIES, "expected/rubric.yaml")

    assert [(criterion.name, type(criterion), criterion.weight) for criterion in rubric.criteria] == [
        ("R001", BinaryCriterion, 2.0),
        ("R002", ScaledCriterion, 1.5),
        ("functional", ChecklistCriterion, 0.35),
        ("overall_quality", ChecklistCriterion, 0.2),
        ("clarity", ScaledCriterion, 1.0),
    ]
    assert [question.id for question in rubric.questions()][2:5] == [
        "functional/F1",
        "functional/F2",
        "overall_quality/OQ1",
    ]
    assert rubric.questions()[1].anchors == (("0.4", "some"), ("1", "all"))
    assert rubric.questions()[3].na_when == "no formatter"
    assert (rubric.pass_threshold, rubric.grade_scale) == (0.6, "s_scale")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"criteria = []", "criteria must be a list of tables, 1 to 200 of them, not an empty list"),
        (
            b'[[criteria]]\ntype = "binary"\nname = "a/b"\ndescription = "d"',
            "criteria[0].name must be a name of 1 to 200 characters",
        ),
        (b'[[criteria]]\ntype = "binary"\nname = "a"\ndescription = "d"\nwieght = 2', 'did you mean "weight"?'),
        (b'[[criteria]]\ntype = "binary"\nname = "a"\ndescription = "d"\nweight = 0', "nothing could be scored"),
        (
            b'[[criteria]]\ntype = "scaled"\nname = "a"\ndescription = "d"\nmin = 5\nmax = 5',
            "min must be less than max",
        ),
        (b'[[criteria]]\ntype = "scaled"\nname = "a"\ndescription = "d"\nanchors = { "7" = "x" }', "anchor '7'"),
        (b'[[criteria]]\ntype = "scaled"\nname = "a"\ndescription = "d"\nanchors = { "good" = "x" }', "anchor 'good'"),
        (b'[[criteria]]\ntype = "vague"\nname = "a"\ndescription = "d"', "vague"),
        (2 * b'[[criteria]]\ntype = "binary"\nname = "a"\ndescription = "d"\n', "the same name"),
        (b"criteria = [", "not valid TOML"),
    ],
)
def test_what_is_no_rubric_is_refused_with_its_place(content: bytes, words: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_rubric(content, "tasks/x/rubric.toml")

    assert words in str(refused.value)
    assert str(refused.value).startswith("tasks/x/rubric.toml")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"categories: {a: {weight: 1}}\ngrading: {grade_scale: {A: 0.9}}", "neither of the scales"),
        (
            b"categories: {a: {scoring_type: checklist, items: [{id: x, check: c}, {id: x, check: d}]}}",
            "have the same name",
        ),
        (b"categories: {a: {weigth: 1}}", "weigth"),
        (b"categories: {}", "a rubric needs at least one requirement or category"),
        (b"a: [", "not valid YAML"),
        (b"categories: {a: &a {weight: 1}, b: *a}", "refers to itself"),
        (b"categories: {a: {weight: 1, weight: 2}}", "'weight' has two values in one place"),
        (b"- 1", "the file must be a table, not a list"),
    ],
)
def test_what_is_no_yaml_rubric_is_refused_too(content: bytes, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        parse_rubric(content, "rubric.yaml")


def test_a_task_has_one_rubric_and_reveals_its_solution_to_judges_only() -> None:
    rubric = msgspec.to_builtins(parse_rubric(TOML, "rubric.toml"))

    assert isinstance(convert_options({"rubric": rubric}, TaskSettings, ()).rubric, Rubric)
    with pytest.raises(UsageError, match="either a rubric or a rubric_file"):
        convert_options({"rubric": rubric, "rubric_file": "rubric.toml"}, TaskSettings, ())
    with pytest.raises(UsageError, match="without a rubric"):
        convert_options({"reveal_solution": True}, TaskSettings, ())


SUITE = b"""
name = "s"
tasks = ["tasks/*"]
baseline = "a"
[arms.a]
agent = "shell"
[arms.b]
agent = "shell"
model = "m"
"""


@pytest.mark.parametrize(
    ("judges", "words"),
    [
        (2 * b'[[judges]]\nname = "j"\nbackend = "command"\n', 'two \\[\\[judges\\]\\] are called "j"'),
        (b'[[judges]]\nname = "j"\nbackend = "command"\npases = 3', 'did you mean "passes"'),
        (b'[[judges]]\nname = "j"\nbackend = "command"\npasses = 3\nmost_passes = 2', "less than passes"),
        (b'[[judges]]\nname = "j"\nbackend = "command"\nconsensus = "vote"', "vote"),
        (b'[[judges]]\nname = "j"', "backend"),
    ],
)
def test_a_mistake_in_a_judge_is_named(judges: bytes, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        parse_suite(SUITE + judges, "suite.toml")


def test_where_a_judge_is_found_does_not_make_it_another_and_what_it_is_told_does() -> None:
    def setting(extra: str) -> str:
        judge = f'[[judges]]\nname = "j"\nbackend = "anthropic"\nmodel = "m"\n{extra}'
        return parse_suite(SUITE + judge.encode(), "suite.toml").judges[0].setting_sha256

    here = setting('options = { base_url = "http://here", key = "A" }')

    assert here == setting('options = { base_url = "http://there", key = "B" }')
    assert here == setting("passes = 3\nbudget_usd = 1.0")
    assert here != setting("options = { temperature = 1.0 }")
    assert here != setting("diff_tokens = 1000")
