"""`toolcrib check --project` over 30 repositories in every format; SARIF and JUnit by schema."""

import json
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest
import xmlschema
from jsonschema import Draft7Validator

from app.cli.main import run
from app.policy.check_formats import FORMATS
from app.policy.lock import FILE_NAME as LOCK_NAME
from app.policy.lock import Lock, LockedServer, LockedTool, write_lock
from app.policy.policy_file import FILE_NAME

SCHEMAS = Path(__file__).parents[2] / "data" / "schemas"
NAMES = ("read_file", "write_file", "delete_file", "search", "weiß ähm", "<b>&x", "x" * 120)


def policy_of(number: int) -> str:
    """Policies of all kinds; some are wrong."""
    return (
        "version = 1\n",
        "version = 1\n[budget]\nmax_tools = 2\n",
        "version = 1\n[budget]\nmax_schema_tokens = 100\non_block = 'refuse'\n",
        "version = 1\n[tools]\noff = ['files/delete_*']\n",
        "version = 1\nservers = ['other']\n",
        "version = 1\n[budget]\nmax_tool = 2\n",
        "version = 2\n",
        "version = 1\n[tools]\nonly = ['files/read_file']\n[budget]\nmax_tools = 1\n",
        "version = 1\n[budget]\nwarn_percent = 50\nmax_schema_tokens = 500\n"
        "[budget.evidence]\naccuracy = 0.9\ndate = 2026-11-20\n",
        "not = [toml",
    )[number % 10]


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], Path]:
    """repository(n): the n-th of 30, made by this test's own tools."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TOOLCRIB_HOME", str(tmp_path / "store"))

    def make(number: int) -> Path:
        folder = tmp_path / f"repo {number}"
        folder.mkdir()
        (folder / ".git").mkdir()
        server = {"command": "no-such-server", "args": []}
        names = {"files": server} if number % 3 else {"files": server, "<other> & co": server}
        (folder / ".mcp.json").write_text(json.dumps({"mcpServers": names}))
        (folder / FILE_NAME).write_text(policy_of(number))
        return folder

    return make


@pytest.mark.parametrize("number", range(30))
def test_every_format_of_every_repository(
    repository: Callable[[int], Path], number: int, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = repository(number)
    with_lock = number >= 3
    if with_lock:
        lock_repository(folder, 1 + number % 7, 10 * (1 + number))
    codes = set()
    for name in FORMATS:
        capsys.readouterr()
        codes.add(run(["check", "--project", str(folder), "--format", name]))
        shown = capsys.readouterr()
        if not shown.out:  # a policy that cannot be read is named; so is a lock that is missing
            assert (FILE_NAME if with_lock else LOCK_NAME) in shown.err
        elif name == "sarif":
            schema = json.loads((SCHEMAS / "sarif-2.1.0-rtm.5.json").read_text())
            jsonschema.validate(json.loads(shown.out), schema, cls=Draft7Validator)
        elif name == "junit":
            xmlschema.XMLSchema(str(SCHEMAS / "junit-10.xsd")).validate(shown.out)
        elif name == "json":
            assert json.loads(shown.out)
        else:
            assert "<b>" not in shown.out or name == "text"
    assert len(codes) == 1 and codes <= {0, 1, 4}
    if number % 10 in (5, 6, 9):
        assert codes == {1}


def lock_repository(folder: Path, count: int, tokens: int) -> None:
    """A lock as the product itself writes it."""
    names = [NAMES[n % len(NAMES)] + ("" if n < len(NAMES) else str(n)) for n in range(count)]
    rows = tuple(LockedTool(name, f"{n:064x}", tokens) for n, name in enumerate(names))
    command = "no-such-server"
    write_lock(Lock("o200k_base", (LockedServer("files", command, rows),)), folder / LOCK_NAME)
