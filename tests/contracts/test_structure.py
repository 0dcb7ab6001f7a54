"""The shape of the source tree: no circles, no long files, one way to write files."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("app", "store", "ui")
BENCH = "tests/bench"  # the experiments, without their tests
LONGEST = 600  # lines of a file


def modules() -> dict[str, Path]:
    files = (file for package in (*PACKAGES, BENCH) for file in (ROOT / package).rglob("*.py"))
    return {
        ".".join(file.relative_to(ROOT).with_suffix("").parts): file
        for file in files
        if file.name != "__init__.py" and not file.is_relative_to(ROOT / BENCH / "tests")
    }


@cache
def imports(file: Path) -> frozenset[str]:
    """Every import, wherever it stands: module level, TYPE_CHECKING, inside functions."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return frozenset(found)


def graph() -> dict[str, set[str]]:
    names = modules()
    return {name: set(imports(file) & names.keys()) for name, file in names.items()}


def circles(edges: dict[str, set[str]]) -> list[set[str]]:
    """Modules that reach themselves, grouped (Kosaraju)."""
    order: list[str] = []
    seen: set[str] = set()
    for start in edges:
        stack = [(start, iter(edges[start]))] if start not in seen else []
        seen.add(start)
        while stack:
            node, targets = stack[-1]
            nxt = next((t for t in targets if t not in seen), None)
            if nxt is None:
                order.append(node)
                stack.pop()
            else:
                seen.add(nxt)
                stack.append((nxt, iter(edges[nxt])))
    back: dict[str, set[str]] = {name: set() for name in edges}
    for name, targets in edges.items():
        for target in targets:
            back[target].add(name)
    groups: list[set[str]] = []
    placed: set[str] = set()
    for root in reversed(order):
        group: set[str] = set()
        todo = [root] if root not in placed else []
        while todo:
            node = todo.pop()
            if node not in placed:
                placed.add(node)
                group.add(node)
                todo += back[node]
        if len(group) > 1:
            groups.append(group)
    return groups


def test_the_search_for_circles_finds_one() -> None:
    edges = {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}, "e": set()}
    assert circles(edges) == [{"a", "b", "c"}]


def test_no_import_circle_of_any_kind() -> None:
    assert circles(graph()) == []


def test_the_product_imports_nothing_of_the_tests() -> None:
    importers = {
        name
        for name, file in modules().items()
        if not name.startswith("tests.")
        and any(target.split(".")[0] == "tests" for target in imports(file))
    }
    assert importers == set()


def test_no_file_is_too_long() -> None:
    long = {
        name: count
        for name, file in modules().items()
        if (count := len(file.read_text(encoding="utf-8").splitlines())) > LONGEST
    }
    assert long == {}


@pytest.mark.parametrize("package", PACKAGES)
def test_package_files_hold_a_docstring_only(package: str) -> None:
    for file in (ROOT / package).rglob("__init__.py"):
        body = ast.parse(file.read_text(encoding="utf-8")).body
        assert len(body) == 1 and isinstance(body[0], ast.Expr), file


# who else writes, and why: the export keeps a journal of each step, the export of an encoder
# fills a folder of its own, the store is below app and copies in parts
WRITERS = {
    "app.core.safe_write",
    "app.export.writing",
    "app.export.exchanging",
    "app.export.write_journal",
    "app.encoder.export",
    "app.market.bundle",  # into a folder of its own, which becomes the bundle's as a whole
    "store.migrate",
    "store.repair",
}
WRITES = re.compile(
    r"""\.write_(?:text|bytes)\(|os\.(?:replace|rename)\(|\bopen\([^)\n]*["'][wax]\+?b?["']"""
)


def test_files_are_written_by_the_one_function() -> None:
    others = {
        name
        for name, file in modules().items()
        if not name.startswith("tests.")
        and name not in WRITERS
        and WRITES.search(file.read_text(encoding="utf-8"))
    }
    assert others == set()
