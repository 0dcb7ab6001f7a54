"""No pattern of the product takes more than linear time, whatever a stranger's text is."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.fakes.cpu_time import CpuTime

ROOT = Path(__file__).parents[2]
_CALLS = ("compile", "sub", "subn", "search", "match", "fullmatch", "finditer", "findall", "split")
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


def patterns() -> Iterator[Used]:
    """Every literal pattern in app, store and ui."""
    for package in ("app", "store", "ui"):
        for file in sorted((ROOT / package).rglob("*.py")):
            source = file.read_text(encoding="utf-8")
            if "re." not in source:
                continue
            tree = ast.parse(source)
            names = {
                id(n.value): n.targets[0].id
                for n in ast.walk(tree)
                if isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Name)
            }
            for node in ast.walk(tree):
                if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                    continue
                is_re = isinstance(node.func.value, ast.Name) and node.func.value.id == "re"
                if is_re and node.func.attr in _CALLS and node.args:
                    text = literal(node.args[0])
                    if text is not None:
                        place = f"{file.relative_to(ROOT)}:{node.lineno}"
                        methods = {node.func.attr}
                        if node.func.attr == "compile":
                            name = names.get(id(node), "")
                            methods = (
                                set(re.findall(rf"\b{name}\.(\w+)\(", source)) if name else set()
                            )
                        yield Used(place, re.compile(text, flags(node)), frozenset(methods))


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


ALL = list(patterns())


def test_the_patterns_are_found() -> None:
    assert len(ALL) > 100


@pytest.mark.parametrize("place", sorted({used.place for used in ALL}))
def test_a_pattern_takes_linear_time(place: str) -> None:
    for used in (u for u in ALL if u.place == place):
        for piece in (*_PIECES, *pieces_of(used.pattern.pattern)):
            short, long = (f"{piece * (size // len(piece))}\x00" for size in (_SHORT, _LONG))
            spent = seconds(used, long)
            if spent > 0.03:  # below that nothing can be said, nor is it slow
                assert spent < _MOST * max(seconds(used, short), 0.003), piece


def pieces_of(pattern: str) -> list[str]:
    """Repeats of the pattern's own words and marks."""
    words = re.findall(r"[a-zA-Z]{2,12}", re.sub(r"\\[a-zA-Z]", " ", pattern))[:4]
    marks = [m for m in re.findall(r"[^\w\s\\]", pattern)[:6] if m not in "()[]?*+|^"]
    return list(
        dict.fromkeys([*words, *(f"{w} " for w in words), *marks, *(f"a{m}" for m in marks)])
    )
