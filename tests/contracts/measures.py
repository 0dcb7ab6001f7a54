"""Measures of the product's words and types, held to limits: `python tests/contracts/measures.py`.

A limit is lowered whenever a value falls; the goals are those of the plainest code bases that
were measured beside this one (httpx, pip, rich, datasette).
"""

import ast
import math
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("app", "store", "ui")
_OPENING = re.compile(r"\s*(What|Whether|Which|How|Where|Why)\b")
_STANDS = re.compile(r"\bstands?\b", re.IGNORECASE)
_PERSONS = re.compile(r"\b(nobody|somebody|whoever)\b", re.IGNORECASE)
_TOLD = re.compile(r"\b(at hand|told)\b", re.IGNORECASE)
_ANY = re.compile(r"\bAny\b")


@dataclass(frozen=True, slots=True)
class Source:
    """A file's text, and the docstrings of its module, classes and functions."""

    text: str
    docstrings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Measure:
    """A share of the product that is kept at or below `limit`, and brought to `goal`."""

    name: str
    unit: str
    value: Callable[[Sequence[Source]], float]
    limit: float
    goal: float


def read(text: str) -> Source:
    """Parse one file."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = (node for node in ast.walk(ast.parse(text)) if isinstance(node, kinds))
    return Source(text, tuple(doc for node in nodes if (doc := ast.get_docstring(node))))


def sources(packages: Sequence[str] = PACKAGES) -> Iterator[Source]:
    """Every file of the product."""
    for package in packages:
        for file in sorted((ROOT / package).rglob("*.py")):
            yield read(file.read_text(encoding="utf-8"))


def docstrings_with(pattern: re.Pattern[str], *, opening: bool = False) -> Callable[..., float]:
    """Measure the docstrings that hold (or open with) a pattern, in percent."""
    matches = pattern.match if opening else pattern.search

    def value(files: Sequence[Source]) -> float:
        docstrings = [doc for file in files for doc in file.docstrings]
        return 100 * sum(bool(matches(doc)) for doc in docstrings) / max(1, len(docstrings))

    return value


def untyped(files: Sequence[Source]) -> float:
    """Uses of `Any` in 1,000 lines; imports, comments and docstrings do not count."""
    uses = [
        match
        for file in files
        for line in file.text.splitlines()
        if "import" not in line and not line.lstrip().startswith(("#", '"'))
        for match in _ANY.findall(line)
    ]
    return 1000 * len(uses) / max(1, sum(file.text.count("\n") for file in files))


MEASURES = (
    Measure(
        "docstrings that open with a question word",
        "%",
        docstrings_with(_OPENING, opening=True),
        limit=0.0,
        goal=0.0,
    ),
    Measure("docstrings with stand(s)", "%", docstrings_with(_STANDS), limit=0.0, goal=0.0),
    Measure(
        "docstrings with nobody, somebody, whoever",
        "%",
        docstrings_with(_PERSONS),
        limit=0.0,
        goal=0.0,
    ),
    Measure("docstrings with told, at hand", "%", docstrings_with(_TOLD), limit=0.0, goal=0.0),
    Measure("Any", "in 1,000 lines", untyped, limit=3.0, goal=3.0),
)


def rounded(value: float) -> float:
    """Round up to two digits, as limits are written."""
    return math.ceil(value * 100 - 1e-9) / 100


def main() -> int:
    """Print each measure; 1 when one is above its limit."""
    files = list(sources())
    over = 0
    for measure in MEASURES:
        value = rounded(measure.value(files))
        mark = "" if value <= measure.limit else "  ABOVE ITS LIMIT"
        over += bool(mark)
        print(
            f"{measure.name}: {value:.2f} {measure.unit}"
            f" (limit {measure.limit:.2f}, goal {measure.goal:.2f}){mark}"
        )
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
