"""A server repeats every secret it was given in every field MCP has, in six encodings.

Over stdio and HTTP, to the scan and through the gateway, in answers, errors and last words: no
byte of a secret is in any file but the secret store, none is in a line that Toolcrib prints.
"""

import json
import os
import sys
from contextlib import closing
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests" / "fakes"))

from echo_kit import FLAG, LOCAL, PATH, REMOTE, config, files_that_leak, leaks  # noqa: E402

from store import events  # noqa: E402
from store.connection import open_store  # noqa: E402
from tests.fakes.verbs import Verbs, without_encoder  # noqa: E402

_DONE = (0, 5)  # a verb that is refused has nothing to print that could leak


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "toolcrib"


@pytest.fixture
def by_words(home: Path) -> None:
    without_encoder(home)


@pytest.fixture
def toolcrib(home: Path, tmp_path: Path, verbs: Verbs):
    """Runs a verb as a person would; all that it printed."""

    def run(*words: str) -> bytes:
        env = {**os.environ, "TOOLCRIB_HOME": str(home), "HOME": str(tmp_path / "person")}
        env["PYTHONPATH"] = str(ROOT)
        (tmp_path / "person").mkdir(exist_ok=True)
        result = verbs.run(*words, env=env)
        assert b"Traceback" not in result.stderr, result.stderr.decode()
        assert result.returncode in _DONE, (words, result.returncode, result.stderr.decode())
        return result.stdout + result.stderr

    return run


def imported(toolcrib, tmp_path: Path, entry: dict) -> bytes:
    file = tmp_path / "given.json"
    file.write_text(json.dumps({"mcpServers": {"echo": entry}}), encoding="utf-8")
    return toolcrib("import", str(file), "--scan", "--yes")


@pytest.mark.parametrize("mode", ["ok", "crash", "refuse"])
@pytest.mark.parametrize("kind", ["stdio", "http"])
def test_a_scan_keeps_no_secret_that_a_server_repeats(kind, mode, toolcrib, home, tmp_path):
    secrets = LOCAL if kind == "stdio" else REMOTE
    with config(kind, mode) as entry:
        printed = imported(toolcrib, tmp_path, entry)
        for words in (["scan", "--yes", "--json"], ["footprint"], ["review"], ["route", "plain"]):
            printed += toolcrib(*words)
    assert not files_that_leak(home, secrets)
    # arguments that nothing names a credential are shown to the person who agrees to the command
    assert not leaks(printed, tuple({*secrets} - ({FLAG, PATH} if kind == "stdio" else set())))
    if mode == "ok":
        assert "••••".encode() in (home / "toolcrib.db").read_bytes()


class Listener:
    """A gateway over the echoing server; keeps what Toolcrib itself says, on stdout and stderr."""

    def __init__(self, home: Path, way: str, raw_host, alone: str = "1") -> None:
        self.way, self._raw_host = way, raw_host
        self.own = b""
        self._errors = (home.parent / "stderr").open("w+b")
        options = ["--server", "echo"] if way == "pruned" else []
        env = {"TOOLCRIB_HOME": str(home), "PYTHONPATH": str(ROOT), "TOOLCRIB_STANDALONE": alone}
        command = raw_host.gateway_command("--profile", "default", *options)
        self.host = raw_host.RawHost(command, env, stderr=self._errors)
        self.keep(self.host.initialize())

    def keep(self, answer: object) -> None:
        """An answer of Toolcrib's own making."""
        self.own += json.dumps(answer, ensure_ascii=False).encode() + json.dumps(answer).encode()

    def ask(self, method: str, **params: object) -> None:
        self.keep(self.host.wait(self.host.ask(method, params), 60))

    def call(self, tool: str, *, own: bool = False, **arguments: object) -> None:
        """`own`: Toolcrib answers this call itself; else the server's result is passed on."""
        called = {"name": tool, "arguments": arguments}
        if self.way == "through":
            called = {"name": "call_tool", "arguments": {**called, "name": f"echo/{tool}"}}
        answer = self.host.wait(self.host.ask("tools/call", called), 60)
        if own:
            self.keep(answer)

    def search(self, query: str) -> None:
        if self.way == "through":
            self.ask("tools/call", name="search_tools", arguments={"query": query})

    def lists(self) -> None:
        for kind in ("tools", "prompts", "resources", "resources/templates"):
            self.ask(f"{kind}/list")

    def close(self) -> bytes:
        """All that Toolcrib said."""
        self.host.close()
        self._errors.seek(0)
        errors = self._errors.read()
        self._errors.close()
        notes = [note for note in self.host.notes if note["method"] != "notifications/message"]
        self.keep([*notes, *self.host.asked])
        return self.own + errors


@pytest.mark.usefixtures("by_words")
@pytest.mark.parametrize("way", ["through", "pruned"])
@pytest.mark.parametrize("kind", ["stdio", "http"])
def test_a_gateway_keeps_no_secret_that_a_server_repeats(
    kind, way, toolcrib, home, tmp_path, raw_host
):
    """Results are passed on as they come: what Toolcrib itself says, and all files, hold none."""
    secrets = LOCAL if kind == "stdio" else REMOTE
    with config(kind, "ok") as entry:
        imported(toolcrib, tmp_path, entry)
        toolcrib("profile", "set", "new_tools=on")
        one = Listener(home, way, raw_host)
        try:
            one.lists()
            for query in ("plain thing", "echo/tainted", "echo/nothing"):
                one.search(query)
            for tool in ("add", "fail", "protocol", "crash", "fail"):
                if tool == "crash" and kind == "http":
                    continue
                one.call(tool, own=tool == "crash")
                one.lists()
                if tool == "add" and kind == "stdio":  # the server forgets it with its crash
                    one.host.until(lambda: b"late_0" in stored(home), 60)
            for name in ("tainted", "nothing"):
                one.call(name, own=True, other="x")
            if way == "through":
                one.call("tainted", own=True)
                one.search(secrets[0])  # typed by a model that has it from the server
        finally:
            printed = one.close()
        for words in (["review", "--info", "--json"], ["footprint", "--json", "--tools"]):
            printed += toolcrib(*words)
    assert not files_that_leak(home, secrets)
    assert not leaks(printed, secrets)


@pytest.mark.usefixtures("by_words")
@pytest.mark.parametrize("kind", ["stdio", "http"])
@pytest.mark.parametrize("alone", ["1", ""], ids=["alone", "backend"])
def test_a_secret_of_a_server_that_was_not_started_reaches_no_file(
    alone, kind, toolcrib, home, tmp_path, raw_host
):
    """A model may have it from a file, or from an earlier session."""
    secret = (LOCAL if kind == "stdio" else REMOTE)[0]
    with config(kind, "ok") as entry:
        imported(toolcrib, tmp_path, entry)
        toolcrib("profile", "set", 'gateway.approve=["echo/add"]')
        one = Listener(home, "through", raw_host, alone)
        try:
            one.search(secret)
            one.call(f"no {secret} tool", own=True)
            called = {"name": "echo/add", "arguments": {"note": f"x {secret} y"}}
            one.host.ask("tools/call", {"name": "call_tool", "arguments": called})
            one.host.until(lambda: b"echo/add" in toolcrib("approve"), 60)
        finally:
            one.close()
            if not alone:
                toolcrib("backend", "stop")
    assert not files_that_leak(home, (secret,))
    kept = journal(home)
    assert ("search", "", "••••") in kept
    assert [tool for kind, tool, _ in kept if kind == "miss"] == ["echo/no •••• tool"]


@pytest.mark.usefixtures("by_words")
def test_a_query_is_not_kept_where_the_secrets_cannot_be_read(toolcrib, home, tmp_path, raw_host):
    with config("stdio", "ok") as entry:
        imported(toolcrib, tmp_path, entry)
        (home / "secrets.json").write_text("{broken", encoding="utf-8")
        one = Listener(home, "through", raw_host)
        try:
            one.search("plain thing of mine")
            one.call("tool of mine", own=True)
        finally:
            one.close()
    assert b"of mine" not in stored(home)
    kept = [one for one in journal(home) if one[0] in ("search", "miss")]
    assert kept == [("search", "", "••••"), ("miss", "••••", "")]


@pytest.mark.usefixtures("by_words")
@pytest.mark.parametrize("mode", ["crash", "refuse"])
@pytest.mark.parametrize("kind", ["stdio", "http"])
@pytest.mark.parametrize("alone", ["1", ""], ids=["alone", "backend"])
def test_a_gateway_whose_server_fails_at_its_start_says_no_secret(
    alone, mode, kind, toolcrib, home, tmp_path, raw_host
):
    secrets = LOCAL if kind == "stdio" else REMOTE
    turned = tmp_path / "mode"
    with config(kind, "ok", str(turned)) as entry:
        imported(toolcrib, tmp_path, entry)
        turned.write_text(mode)
        one = Listener(home, "through", raw_host, alone)
        try:
            for tool in ("fail", "tainted", "fail"):
                one.call(tool, own=True)
                one.lists()
            one.ask("resources/read", uri="x://nothing")
        finally:
            printed = one.close()
            if not alone:
                printed += toolcrib("backend", "status", "--json") + toolcrib("backend", "stop")
        printed += toolcrib("scan", "--yes", "--json") + toolcrib("check", "--json")
    assert not files_that_leak(home, secrets)
    # arguments that nothing names a credential are shown to the person who agrees to the command
    assert not leaks(printed, tuple({*secrets} - ({FLAG, PATH} if kind == "stdio" else set())))


JSON_VERBS = [
    ["footprint", "--tools"],
    ["review", "--info"],
    ["route", "plain thing"],
    ["route", "echo/tainted", "--words-only"],
    ["profile", "show", "default"],
    ["summary", "show"],
    ["requests", "show"],
    ["labels", "list"],
    ["check", "--suggest"],
    ["hosts"],
    ["hosts", "--all"],
    ["backend", "share"],
    ["server", "keep-values", "--yes"],
    ["usage", "show"],
    ["digest"],
    ["doctor"],
    ["export", "cursor", "--mode", "through", "--dry-run"],
    ["export", "cursor", "--mode", "pruned", "--dry-run"],
    ["scan", "--yes"],
]


@pytest.mark.parametrize("kind", ["stdio", "http"])
def test_no_verb_prints_a_secret_as_text_or_as_json(kind, toolcrib, home, tmp_path):
    secrets = LOCAL if kind == "stdio" else REMOTE
    with config(kind, "ok") as entry, config(kind, "crash") as dead:
        file = tmp_path / "person" / ".cursor" / "mcp.json"
        file.parent.mkdir(parents=True)
        servers = {"echo": entry, "dead": dead}
        file.write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
        toolcrib("scan", "--yes")
        for words in JSON_VERBS:
            known = {FLAG, PATH} if words[0] in ("scan", "export") and kind == "stdio" else set()
            for more in ([], ["--json"]):
                lost = leaks(toolcrib(*words, *more), tuple({*secrets} - known))
                assert not lost, (words, more)
    assert not files_that_leak(home, secrets)


def journal(home: Path) -> list[tuple[str, str, str]]:
    """Kind, tool and query of each event: the masks of a launch are in the store in any case."""
    with closing(open_store(home / "toolcrib.db", read_only=True)) as db:
        return [(one.kind, one.tool, one.query) for one in reversed(events.recent(db, 100))]


def stored(home: Path) -> bytes:
    return b"".join(file.read_bytes() for file in home.glob("toolcrib.db*"))
