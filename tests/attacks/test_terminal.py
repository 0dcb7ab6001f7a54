"""A server, a repository and a file put escape sequences into every text they have.

What reaches the terminal, or a JSON document, holds none of them.
"""

import json
import os
import sys
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.cli.console import Console, table
from app.core.text import visible
from tests.fakes.verbs import Verbs, without_encoder

# a colour, a clipboard write, C1 spellings of the same, a reversed line, a joiner, a tag
NASTY = "\x1b[31m\x1b]52;c;aGk=\x07\x9b31m\x9d0;x\x9c\u202e\u200b\u2066\U000e0041\x7f\x08"
SERVER = f"""
import json, sys
N = {NASTY!r}
sys.stderr.write(N + "stderr\\n"); sys.stderr.flush()
TOOLS = [{{"name": "read" + N, "description": "Reads the weather. " + N,
  "inputSchema": {{"type": "object", "properties": {{"a" + N: {{"description": N}}}}}}}},
 {{"name": "good", "description": "Tells the weather." + N, "inputSchema": {{"type": "object"}}}}]
INFO = {{"protocolVersion": "2025-06-18", "capabilities": {{"tools": {{}}}},
  "serverInfo": {{"name": N, "version": N}}, "instructions": N}}
if len(sys.argv) > 1: sys.exit(N + "it cannot start")
for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        answers = {{"initialize": INFO, "tools/list": {{"tools": TOOLS}}, "ping": {{}}}}
        known = answers.get(asked["method"])
        body = {{"result": known}} if known else {{"error": {{"code": -32601, "message": N}}}}
        print(json.dumps({{"jsonrpc": "2.0", "id": asked["id"], **body}}), flush=True)
"""


class Home:
    """A HOME whose Cursor names two hostile servers."""

    def __init__(self, base: Path, verbs: Verbs) -> None:
        self.base, self._verbs = base, verbs
        script = base / "server.py"
        script.write_text(SERVER, encoding="utf-8")
        command = {"command": sys.executable, "args": [str(script)]}
        broken = {"command": sys.executable, "args": [str(script), NASTY], "env": {NASTY: "1"}}
        self.file = base / ".cursor" / "mcp.json"
        self.file.parent.mkdir()
        self.file.write_text(json.dumps({"mcpServers": {f"a{NASTY}": command, "b": broken}}))
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(base),
            "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring",
            "TOOLCRIB_MODELS": os.environ["TOOLCRIB_MODELS"],
            "TOOLCRIB_TEST_RUN": os.environ["TOOLCRIB_TEST_RUN"],
        }

    def run(self, *words: str) -> str:
        """Everything that a verb prints, each line ending removed."""
        done = self._verbs.run(*words, env=self.env)
        printed = (done.stdout + done.stderr).decode()
        assert (done.returncode == 2) is words[0].startswith("verb"), printed  # 2: no such words
        return printed


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, verbs: Verbs) -> Home:
    made = Home(tmp_path_factory.mktemp("home"), verbs)
    without_encoder(made.base / ".local" / "share" / "toolcrib")
    made.scan = made.run("scan", "--yes")
    return made


def unprinted(text: str) -> list[str]:
    return [f"{ord(c):04X}" for c in text if unicodedata.category(c) in ("Cc", "Cf") and c != "\n"]


def test_a_scan_prints_none_of_them(home: Home) -> None:
    assert "could not start" in home.scan
    assert unprinted(home.scan) == []


@pytest.mark.parametrize(
    "verb",
    [
        ["scan"],
        ["scan", "--json"],
        ["scan", f"no{NASTY}"],
        ["footprint", "--tools"],
        ["footprint", "--json", "--tools"],
        ["route", f"weather {NASTY}", "--words-only"],
        ["route", "weather", "--words-only", "--json"],
        ["review", "--info"],
        ["review", "--json"],
        ["profile", "show", "default"],
        ["summary", "show"],
        ["check", "--suggest"],
        ["export", "cursor", "--mode", "through", "--dry-run"],
        [f"verb{NASTY}"],
    ],
    ids=lambda words: visible(" ".join(words)),
)
def test_a_verb_prints_none_of_them(home: Home, verb: list[str]) -> None:
    output = home.run(*verb)
    assert output
    assert "Traceback" not in output
    assert unprinted(output) == []


def test_an_import_and_its_preview_print_none_of_them(home: Home) -> None:
    file = home.base / f"config{NASTY.replace('/', '')}.json"
    file.write_text(home.file.read_text())
    for words in (["--dry-run"], ["--dry-run", "--json"], []):
        assert unprinted(home.run("import", str(file), *words)) == []


@settings(max_examples=300, deadline=None)
@given(st.text())
def test_any_text_is_shown_without_what_is_not_drawn(text: str) -> None:
    shown = visible(text)
    assert shown.isprintable()
    assert visible(shown) == shown
    if text.isascii() and text.isprintable():
        assert shown == text


@settings(max_examples=200, deadline=None)
@given(st.recursive(st.none() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)))
def test_a_json_document_says_the_same_without_them(value: object) -> None:
    import io

    out = io.StringIO()
    Console(as_json=True, out=out, err=io.StringIO(), answers=io.StringIO()).result(value, str)
    assert unprinted(out.getvalue()) == []
    assert json.loads(out.getvalue()) == value


def test_a_cell_cannot_forge_a_line() -> None:
    assert table([["name"], ["x\nverdict: PASS"]]).count("\n") == 1
