"""What systems do differently is done in few places, each with a test that simulates the others.

The table is tests/app/system/platforms.md.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
TABLE = (ROOT / "tests/app/system/platforms.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
ROWS = [row for row in ROW.findall(TABLE) if set(row[0]) - set("- ") and row[0] != "what"]
CODE = re.compile(r"`((?:app|store|ui)/[\w/]+\.py)`")
TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
NAMED = (
    "processes", "signals", "locks", "modes and owners", "sockets", "renames", "variables",
    "commands", "quoting", "code pages", "long paths", "folders", "login", "libraries",
)  # fmt: skip
SYSTEM_ONLY = {"fcntl", "msvcrt", "winreg", "pwd", "grp", "resource", "shlex", "signal", "ctypes"}
CALLS = {
    "os": {
        "fork", "forkpty", "kill", "killpg", "setsid", "getsid", "getuid", "geteuid", "getppid",
        "chmod", "fchmod", "chown", "fchown", "lchown", "umask", "rename", "replace", "sysconf",
        "waitpid", "posix_spawn", "name", "set_blocking", "getpgid", "environb",
    },
    "sys": {"platform"},
    "platform": {"system"},
    "socket": {"AF_UNIX"},
    "subprocess": {"list2cmdline", "CREATE_NO_WINDOW", "CREATE_NEW_PROCESS_GROUP"},
}  # fmt: skip


def differences(tree: ast.Module) -> Iterator[str]:
    """Names in a module that mean something else, or nothing, on another system."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (a.name for a in node.names if a.name in SYSTEM_ONLY)
        elif isinstance(node, ast.ImportFrom) and node.module in SYSTEM_ONLY:
            yield node.module
        elif (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.attr in CALLS.get(node.value.id, ())
        ):
            yield f"{node.value.id}.{node.attr}"


def modules() -> Iterator[tuple[str, list[str]]]:
    """Modules of the product with what they do in a system's own way."""
    for top in ("app", "store", "ui"):
        for file in sorted((ROOT / top).rglob("*.py")):
            used = sorted(set(differences(ast.parse(file.read_text(encoding="utf-8")))))
            if used:
                yield file.relative_to(ROOT).as_posix(), used


def test_every_kind_of_difference_has_a_row() -> None:
    assert [row[0].strip() for row in ROWS] == list(NAMED)


def test_what_differs_is_in_app_system_or_in_a_module_that_the_table_names() -> None:
    listed = set(CODE.findall(TABLE))
    for module, used in modules():
        assert module in listed or module.startswith("app/system/"), f"{module}: {used}"
    for module in listed:
        assert (ROOT / module).is_file(), module


def test_every_row_names_tests_that_simulate_the_other_systems() -> None:
    for what, _where, windows, macos in ROWS:
        for system, cell in (("Windows", windows), ("macOS", macos)):
            named = TEST.findall(cell)
            same = cell.strip().startswith("as on Linux")
            assert named or (same and system == "macOS"), f"{what}: {system}"
            for path, test in named:
                text = (ROOT / path).read_text(encoding="utf-8")
                assert f"def {test}(" in text, f"{what}: {path}::{test}"
