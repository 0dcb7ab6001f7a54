"""`toolcrib stack save` and `open`: from one home to another, without a secret."""

import json
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "fakes"))

from fake_registry import entry, fake_registry
from npx_shim import Packages, tool

from app.cli.main import run
from app.core.errors import ToolcribError
from app.market.stack import LINK, Stack, read_stack
from store import servers
from store.connection import open_store

SECRET, OTHER = "sk-1234567890abcdefNeverShown", "ghp_abcdefghijklmnopqrstuvwxyz012345"


class Desk:
    """A home of its own; `run` gives a verb's document."""

    def __init__(self, base: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        self.base, self._capsys, self._patch = base, capsys, monkeypatch
        base.mkdir()

    def run(self, *words: str, code: int = 0) -> dict[str, Any]:
        self._patch.setenv("HOME", str(self.base))
        self._patch.setenv("TOOLCRIB_HOME", str(self.base / "own"))
        place = words.index("--") if "--" in words else len(words)
        assert run([*words[:place], "--json", *words[place:]]) == code
        out = self._capsys.readouterr()
        return dict(json.loads(out.out)) if out.out.strip() else {"error": out.err}


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Packages:
    packages = Packages(tmp_path / "packages")
    monkeypatch.setenv("PATH", packages.path)
    packages.publish("server-1", "1.0.0", tool("look", "Look"), tool("snow", "Snow"))
    packages.publish("notes", "2.0.0", tool("note", "Note"))
    return packages


def saved(tmp_path: Path, packages: Packages, capsys: Any, patch: pytest.MonkeyPatch) -> Desk:
    """Ana's desk: a listed server, one of her own, a tool off, a budget."""
    ana = Desk(tmp_path / "ana", capsys, patch)
    item = entry(1)
    folder = {"type": "positional", "valueHint": "folder", "isRequired": True}
    item["server"]["packages"][0] |= {
        "packageArguments": [folder],
        "environmentVariables": [{"name": "SKY_TOKEN", "isRequired": True, "isSecret": True}],
    }
    with fake_registry([item]) as server:
        ana.run("registry", "add", server.url, "--name", "team", "--private")
        ana.run("registry", "sync", "team")
        ana.run("add", "--from", "io.github.somebody/server-1", "--set", f"SKY_TOKEN={SECRET}",
                "--set", f"folder={ana.base}/papers")  # fmt: skip
    ana.run("add", "notes", "--env", f"NOTES_KEY={OTHER}", "--", "npx", "-y", "notes@2.0.0",
            "--token", OTHER)  # fmt: skip
    ana.run("scan", "server-1", "notes", "--yes")
    ana.run("profile", "off", "server-1/snow")
    ana.run("profile", "set", "budget.tokens=9000")
    return ana


@pytest.mark.parametrize("as_link", [False, True])
def test_a_colleague_opens_what_was_saved(
    as_link: bool, tmp_path: Path, packages: Packages, capsys: Any, monkeypatch: Any
) -> None:
    ana = saved(tmp_path, packages, capsys, monkeypatch)
    file = tmp_path / "team.stack"
    if as_link:
        given = ana.run("stack", "save", "--link", "--name", "weather")["link"]
        assert given.startswith(LINK)
        text = read_stack(given).to_bytes().decode()
    else:
        ana.run("stack", "save", str(file), "--name", "weather")
        given, text = str(file), file.read_text()
        assert "exists already" in ana.run("stack", "save", str(file), code=1)["error"]
    assert SECRET not in text and OTHER not in text and str(ana.base) not in text

    ben = Desk(tmp_path / "ben", capsys, monkeypatch)
    seen = ben.run("stack", "open", given, "--dry-run")
    assert sorted(seen["lacking"]) == ["notes.NOTES_KEY", "notes.secret0", "server-1.SKY_TOKEN"]
    lacking = ben.run("stack", "open", given, code=1)
    assert lacking["added"] == [] and ben.run("footprint")["servers"] == []
    values = [
        f"server-1.SKY_TOKEN={SECRET}",
        "notes.NOTES_KEY=k-1234567",
        "notes.secret0=t-7654321",
    ]
    sets = [word for value in values for word in ("--set", value)]
    opened = ben.run("stack", "open", given, *sets)
    assert opened["profile"] == "weather" and opened["added"] == ["notes", "server-1"]
    assert packages.lines("started")[2:] == []  # nothing was started
    assert f"{ben.base}/papers" in opened["commands"]["server-1"]
    ben.run("scan", "server-1", "notes", "--yes")
    assert packages.lines("keys")[-2:].count(SECRET) == 1
    shown = ben.run("profile", "show", "weather")
    states = {one["tool"]: (one["on"], bool(one["held"])) for one in shown["list"]}
    assert states["server-1/snow"][0] is False and states["server-1/look"] == (True, True)
    assert states["notes/note"] == (True, True)  # all of them wait in Review
    assert shown["settings"]["budget"]["tokens"] == 9000
    again = ben.run("stack", "open", given, *sets, code=1)
    assert "There is a profile called weather already." in again["error"]


def test_a_name_that_is_taken_by_another_command_adds_nothing(
    tmp_path: Path, packages: Packages, capsys: Any, monkeypatch: Any
) -> None:
    ben = Desk(tmp_path / "ben", capsys, monkeypatch)
    ben.run("add", "notes", "--", "other")
    file = tmp_path / "x.stack"
    launch = {"transport": "stdio", "command": "npx", "args": ["-y", "notes@2.0.0"]}
    rows = [{"name": "sky", "launch": launch}, {"name": "notes", "launch": launch}]
    file.write_text(json.dumps({"toolcrib_stack": 1, "name": "x", "servers": rows}))
    error = ben.run("stack", "open", str(file), code=1)["error"]
    assert "called notes already, with another command" in error
    with closing(open_store(ben.base / "own" / "toolcrib.db", read_only=True)) as db:
        assert [one.name for one in servers.all_servers(db)] == ["notes"]  # footprint: only read
    assert ben.run("profile", "list")["profiles"][0]["name"] == "default"


LAUNCH = {"transport": "stdio", "command": "x"}
BAD: dict[str, tuple[object, str]] = {
    "no stack": ({"toolcrib_stack": None}, "no stack of this version"),
    "a list": ([1], "no stack of this version"),
    "a later one": ({"toolcrib_stack": 9}, "no stack of this version"),
    "no server": ({"servers": []}, "1 to 60 servers"),
    "too many": ({"servers": [{"name": f"s{n}", "launch": LAUNCH} for n in range(61)]}, "1 to 60"),
    "a name that is none": ({"servers": [{"name": "a\nb", "launch": LAUNCH}]}, "is called"),
    "a name twice": ({"servers": [{"name": "a", "launch": LAUNCH}] * 2}, "a server twice"),
    "neither": ({"servers": [{"name": "a"}]}, "neither an entry nor a launch"),
    "a command and a URL": (
        {"servers": [{"name": "a", "launch": {**LAUNCH, "url": "https://x.example"}}]}, "neither",
    ),
    "a line break": (
        {"servers": [{"name": "a", "launch": {**LAUNCH, "args": ["a\nb"]}}]}, "cannot be read",
    ),
    "an unknown transport": (
        {"servers": [{"name": "a", "launch": {**LAUNCH, "transport": "gopher"}}]}, "cannot be read",
    ),
    "a refused package": (
        {"servers": [{"name": "a", "number": 1, "entry": {"name": "a/b", "packages": [
            {"registryType": "npm", "identifier": "git+https://evil", "version": "1.0.0"}]}}]},
        "no name of a npm package",
    ),
    "a policy that is a map": (
        {"servers": [{"name": "a", "launch": LAUNCH}], "policy": {}}, "no plain text",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_a_stack_that_cannot_be_trusted_is_refused(case: str) -> None:
    given, reason = BAD[case]
    value = {"toolcrib_stack": 1, "name": "x", **given} if isinstance(given, dict) else given
    with pytest.raises(ToolcribError) as caught:
        read_stack(json.dumps(value).encode())
    sentence = f"{caught.value.title} {caught.value.hint}"
    assert reason in sentence and "Nothing was added" in sentence


def test_a_damaged_or_endless_link_is_refused() -> None:
    whole = Stack("x", ()).link
    bomb = Stack("x", (), "#" * (4 << 20)).link
    for link, reason in ((whole[:-9], "damaged"), (LINK + "?!", "damaged"), (bomb, "1 MB")):
        with pytest.raises(ToolcribError, match=reason):
            read_stack(link)
