"""Names say what they hold: none of the words that only say what happened to it."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contracts.measures import MEASURES, Measure, read, rounded, sources

ROOT = Path(__file__).parents[2]
PLACES = ("app", "store", "ui", "packaging", "resources", "tests/bench")
REFUSED = frozenset(
    ("found", "asked", "said", "told", "meant", "spoken", "heard", "ask", "shelf", "first_words")
)


def names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Every variable, parameter, attribute, function and class, with its line."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
                yield node.lineno, name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield node.lineno, name
            case ast.ClassDef(name=name) | ast.ExceptHandler(name=str(name)):
                yield node.lineno, name
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield node.lineno, name
            case ast.keyword(arg=str(name)):
                yield node.value.lineno, name
            case _:
                pass


def refused(source: str) -> list[tuple[int, str]]:
    return [(line, name) for line, name in names(ast.parse(source)) if name.strip("_") in REFUSED]


@pytest.mark.parametrize(
    "source",
    [
        "found = 1",
        "def ask(): pass",
        "def f(*, told=1): pass",
        "self._heard = 1",
        "f(said=1)",
        "for meant in ():\n    pass",
        "lambda spoken: 1",
        "try:\n    f()\nexcept E as asked:\n    pass",
    ],
)
def test_the_search_for_names_sees_each_kind(source: str) -> None:
    assert refused(source)
    assert not refused("query = match = NOT_FOUND; found_at = asked_for")


def test_no_name_says_only_what_happened_to_a_thing() -> None:
    places = [
        f"{file.relative_to(ROOT)}:{line} {name}"
        for place in PLACES
        for file in sorted((ROOT / place).rglob("*.py"))
        if not file.is_relative_to(ROOT / "tests" / "bench" / "tests")
        for line, name in refused(file.read_text(encoding="utf-8"))
    ]
    assert not places, "name the thing (row, match, query_words ...): " + ", ".join(places)


@pytest.fixture(scope="module")
def product() -> list:
    return list(sources())


@pytest.mark.parametrize("measure", MEASURES, ids=lambda measure: measure.name)
def test_a_measure_stays_within_its_limit(measure: Measure, product: list) -> None:
    assert rounded(measure.value(product)) <= measure.limit, "python tests/contracts/measures.py"
    assert measure.limit < 100 and measure.goal <= measure.limit


@pytest.mark.parametrize(
    ("source", "values"),
    [
        ('"""What it is."""\ndef f() -> None:\n    """Return it."""\n', (50, 0, 0, 0, 0)),
        ('"""Whatever it is, one understands whoever reads it."""\n', (0, 0, 100, 0, 0)),
        ('class A:\n    """The row that stands there."""\n', (0, 100, 0, 0, 0)),
        ("from typing import Any\nx: Any = 1\n# Any\ny = 2\n", (0, 0, 0, 0, 250)),
        ('"""The row at hand."""\nx = "told"\n', (0, 0, 0, 100, 0)),
        ("x = 'What stands nobody'\n", (0, 0, 0, 0, 0)),
    ],
)
def test_the_measures_count_what_they_say(source: str, values: tuple[float, ...]) -> None:
    assert tuple(measure.value([read(source)]) for measure in MEASURES) == values


# a variable's name in a sentence: what a rename of it leaves behind
CODE = re.compile(r"(?<![\w./`~<{-])[a-z]+(?:_[a-z]+)+(?![\w/.(=*`}>])")
# that a user meets by these names
SPOKEN = frozenset({"search_tools", "call_tool", "list_changed"})


def sentences(source: str) -> Iterator[tuple[int, str]]:
    """Texts of four words or more that begin as a sentence and end as one."""
    tree = ast.parse(source)
    documented = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or id(node) in documented:
            continue
        text = node.value if isinstance(node.value, str) else ""
        is_sentence = re.match(r"[A-Z].*[.?!]$", text) and text.count(" ") > 2
        if is_sentence and '{"' not in text:  # else it describes a JSON document
            yield node.lineno, text


def test_no_sentence_holds_the_name_of_a_variable() -> None:
    assert CODE.search("A model is to_models of these.")
    wrong = [
        f"{path}:{line}: {text}"
        for place in ("app", "ui")
        for path in sorted((ROOT / place).rglob("*.py"))
        for line, text in sentences(path.read_text(encoding="utf-8"))
        if set(CODE.findall(text)) - SPOKEN
    ]
    assert wrong == []
