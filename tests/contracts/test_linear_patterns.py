"""No pattern of the product takes more than linear time, whatever a stranger's text is."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from tests.fakes.cpu_time import CpuTime

ROOT = Path(__file__).parents[2]
_CALLS = ("compile", "sub", "subn", "search", "match", "fullmatch", "finditer", "findall", "split")
_USED = re.compile(rf"\bre\.(?:{'|'.join(_CALLS)})\(")
_SHORT, _LONG = 2_000, 16_000
# eight times the text may take eight times as long; twice that is left for caches and noise
_MOST = 16
_PIECES = (
    *("a", " ", "\n", "-", "_", ".", "0", "a-", "a.", "a ", "a_", "A1", "<", "<a", "a@", "{", "{a"),
    *("\\", "'", '"', "“", "$", "${", "/", "a/", "=", "a=", "--", "also-send-", "a@b.", "\t ", "%"),
    *("&#", "é "),
)


@dataclass(frozen=True)
class Used:
    """A pattern, where it stands, and how it is applied to texts."""

    place: str
    pattern: re.Pattern[str]
    methods: frozenset[str]


def sources() -> Iterator[str]:
    """Every file of app, store and ui that may hold a pattern; nothing is parsed to collect."""
    for package in ("app", "store", "ui"):
        for file in sorted((ROOT / package).rglob("*.py")):
            if _USED.search(file.read_text(encoding="utf-8")):
                yield file.relative_to(ROOT).as_posix()


@cache
def patterns(file: str) -> tuple[Used, ...]:
    """Every literal pattern in a file."""
    source = (ROOT / file).read_text(encoding="utf-8")
    tree = ast.parse(source)
    names = {
        id(n.value): n.targets[0].id
        for n in ast.walk(tree)
        if isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Name)
    }
    calls = (n for n in ast.walk(tree) if isinstance(n, ast.Call) and _is_of_re(n.func))
    read = ((call, literal(call.args[0])) for call in calls if call.args)
    return tuple(
        Used(
            f"{file}:{call.lineno}",
            re.compile(text, flags(call)),
            methods(call.func.attr, names.get(id(call), ""), source),
        )
        for call, text in read
        if text is not None
    )


def _is_of_re(node: ast.expr) -> bool:
    if not isinstance(node, ast.Attribute) or node.attr not in _CALLS:
        return False
    return isinstance(node.value, ast.Name) and node.value.id == "re"


def methods(call: str, name: str, source: str) -> frozenset[str]:
    """The ways in which a pattern is applied; those of its name where it is compiled."""
    if call != "compile":
        return frozenset({call})
    return frozenset(re.findall(rf"\b{name}\.(\w+)\(", source) if name else ())


def literal(node: ast.expr) -> str | None:
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return None
    return value if isinstance(value, str) else None


def flags(node: ast.Call) -> int:
    parts = (*node.args, *(keyword.value for keyword in node.keywords))
    inner = (one for part in parts for one in ast.walk(part))
    names = {one.attr for one in inner if isinstance(one, ast.Attribute) and one.attr.isupper()}
    return sum(getattr(re, name) for name in names if hasattr(re, name))


def seconds(used: Used, text: str) -> float:
    """CPU of every way in which the pattern is used; of a search where that is not known."""
    with CpuTime() as cpu:
        if not used.methods or used.methods - {"match", "fullmatch"}:
            for _ in used.pattern.finditer(text):
                pass
        if "match" in used.methods:
            used.pattern.match(text)
        if "fullmatch" in used.methods:
            used.pattern.fullmatch(text)
    return cpu.seconds


SOURCES = tuple(sources())


def test_the_patterns_are_found() -> None:
    assert sum(len(patterns(file)) for file in SOURCES) > 100


@pytest.mark.parametrize("file", SOURCES)
def test_a_pattern_takes_linear_time(file: str) -> None:
    for used in patterns(file):
        for piece in (*_PIECES, *pieces_of(used.pattern.pattern)):
            short, long = (f"{piece * (size // len(piece))}\x00" for size in (_SHORT, _LONG))
            spent = seconds(used, long)
            if spent > 0.03:  # below that nothing can be said, nor is it slow
                assert spent < _MOST * max(seconds(used, short), 0.003), (used.place, piece)


def pieces_of(pattern: str) -> list[str]:
    """Repeats of the pattern's own words and marks."""
    words = re.findall(r"[a-zA-Z]{2,12}", re.sub(r"\\[a-zA-Z]", " ", pattern))[:4]
    marks = [m for m in re.findall(r"[^\w\s\\]", pattern)[:6] if m not in "()[]?*+|^"]
    return list(
        dict.fromkeys([*words, *(f"{w} " for w in words), *marks, *(f"a{m}" for m in marks)])
    )
