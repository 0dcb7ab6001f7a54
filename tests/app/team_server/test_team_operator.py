"""What an operator and an editor change while members work: real Postgres, replica and server."""

import io
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import pytest

from app.cli.main import run
from app.core.context import AppContext
from app.core.paths import Paths
from app.core.settings import Settings
from app.team import membership
from app.team_server.program import main
from app.team_server.sealing import new_key
from store.team import organisations, profiles
from store.team.connecting import as_operator
from store.team.records import TickRow
from tests.fakes.team_kit import cluster, fresh_database
from tests.fakes.team_replica import environment, replica
from tests.fakes.web_client import WebClient

pytestmark = pytest.mark.timeout(180)
SERVER = Path(__file__).parents[2] / "fakes" / "changing_server.py"
Command = Callable[..., "Ended"]
WHERE = ("--organisation", "acme")
FIRST, SECOND, THIRD = "Reads a note.", "Reads any note, by name.", "Reads notes, newest first."


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str


@dataclass(frozen=True)
class World:
    given: dict[str, str]
    tools: Path
    tokens: dict[str, str]

    def run(self, *words: str) -> str:
        """The output of a verb of toolcrib-team."""
        done = self.ended(*words, *WHERE)
        assert done.code == 0, done.err
        return done.out.strip()

    def refused(self, *words: str) -> str:
        done = self.ended(*words)
        assert (done.code, done.out) == (1, "")
        return done.err

    def ended(self, *words: str) -> Ended:
        out, err = io.StringIO(), io.StringIO()
        with patch.dict(os.environ, self.given), redirect_stdout(out), redirect_stderr(err):
            code = main(words)
        return Ended(code, out.getvalue(), err.getvalue())

    def offer(self, text: str) -> None:
        """The server lists one tool with this description from now on."""
        schema = {"type": "object"}
        rows = [{"name": "read", "description": text, "inputSchema": schema}]
        self.tools.write_text(json.dumps(rows), encoding="utf-8")

    def call(self, member: str = "mia") -> str:
        url = self.given["TOOLCRIB_TEAM_URL"]
        web = WebClient(int(url.rpartition(":")[2]), self.tokens[member], "/mcp")
        return web.ask(
            "tools/call", {"name": "call_tool", "arguments": {"name": "notes/read"}}
        ).text

    def text(self) -> str:
        """The hash by which a review names the present text."""
        shown = re.search(r"^Text (\w+):", self.run("review", "show", "notes/read"), re.M)
        assert shown
        return shown[1]


@pytest.fixture(scope="module")
def world(no_process_left_behind: None) -> Iterator[World]:
    folder = Path(tempfile.mkdtemp(prefix="tco"))
    trial = cluster(folder / "pg")
    file = folder / "tools.json"
    how = f"CHANGING_TOOLS={file} CHANGING_LOG={folder / 'log'} {sys.executable} {SERVER}"
    try:
        with fresh_database(trial) as dsn:
            given = environment(dsn, new_key(), TOOLCRIB_TEAM_PROGRAMS=f"notes = {how}")
            tokens: dict[str, str] = {}
            made = World(given, file, tokens)
            for name, role in (("ed", "editor"), ("mia", "member")):
                made.run("user", "add", name, "--role", role)
                tokens[name] = made.run("token", "issue", name)
            made.offer(FIRST)
            assert made.run("server", "add", "notes", "--program", "notes").endswith("1 tool.")
            with replica(given, folder / "err"):
                yield made
            assert not (folder / "err").read_text()
    finally:
        trial.stop()
        shutil.rmtree(folder)


@pytest.fixture
def approved(world: World) -> World:
    """The world where members get the first text of the tool."""
    world.offer(FIRST)
    world.run("server", "read", "notes")
    world.run("review", "approve", "notes/read", "--text", world.text(), "--member", "ed")
    assert world.call() == "read done"
    return world


def test_an_argument_that_cannot_be_used_is_a_sentence_without_control_characters(
    world: World,
) -> None:
    days = ("token", "issue", "mia", "--days", "9" * 12)
    assert "a number is out of range" in world.refused(*days, *WHERE)
    assert "not UTF-8" in world.refused("user", "list", "--organisation", "\udcff")
    assert "\x1b" not in world.refused("user", "list", "--organisation", "\x1b[2J")


def test_a_changed_text_is_held_until_an_editor_approves_it(approved: World) -> None:
    world = approved
    world.offer(SECOND)
    done = world.run("server", "read", "notes")
    assert done == "notes has 1 tool, 1 held; see: toolcrib-team review list."
    assert "read done" not in world.call()
    assert "notes/read  changed since its review" in world.run("review", "list")
    assert SECOND in world.run("review", "show", "notes/read")
    world.run("review", "approve", "notes/read", "--text", world.text(), "--member", "ed")
    assert world.call() == "read done"
    assert world.run("review", "list") == "No tool is held."


def test_a_decision_is_for_the_text_that_was_read(approved: World) -> None:
    world, earlier = approved, approved.text()
    world.offer(THIRD)
    world.run("server", "read", "notes")
    approve = ("review", "approve", "notes/read", "--text", earlier, *WHERE, "--member")
    assert "is another now" in world.refused(*approve, "ed")
    assert "mia is a member" in world.refused(*approve, "mia")
    assert "read done" not in world.call()


def test_a_tool_that_is_kept_comes_back_by_an_approval(approved: World) -> None:
    world, text = approved, approved.text()
    keep = ("review", "keep", "notes/read", "--text", text, "--member", "ed")
    world.run(*keep, "--reason", "not yet")
    assert "read done" not in world.call()
    assert "kept from members by a review" in world.run("review", "list")
    world.run("review", "approve", "notes/read", "--text", text, "--member", "ed")
    assert world.call() == "read done"


def test_groups_open_and_close_a_server_from_the_next_request_on(approved: World) -> None:
    world = approved
    done = world.run("server", "change", "notes", "--group", "ops")
    assert done == "notes is on, seen by ops."
    assert "read done" not in world.call()
    assert "in ops" in world.run("user", "change", "mia", "--group", "ops")
    assert world.call() == "read done"
    assert "in no group" in world.run("user", "change", "mia", "--no-group")
    assert "read done" not in world.call()
    world.run("server", "change", "notes", "--everyone", "--off")
    assert world.run("server", "list").endswith("everyone  off")
    assert "read done" not in world.call()
    world.run("server", "change", "notes", "--on")
    assert world.call() == "read done"


def test_the_log_names_who_did_what(approved: World) -> None:
    world = approved
    world.run("user", "change", "mia", "--role", "editor")
    last = world.run("audit").splitlines()[-1]
    assert "operator  update members mia" in last
    assert 'role: "member" → "editor"' in last
    world.run("user", "change", "mia", "--role", "member")
    number = last.partition(" ")[0]
    after = world.run("audit", "--after", number).splitlines()
    assert len(after) == 1
    assert 'role: "editor" → "member"' in after[0]
    tokens = world.run("audit")
    assert not any(token in tokens for token in world.tokens.values())


def test_a_policy_takes_a_tool_from_every_profile_until_it_is_removed(
    approved: World, tmp_path: Path
) -> None:
    world, file = approved, tmp_path / "policy.toml"
    file.write_text('version = 1\n[tools]\noff = ["notes/*"]\n')
    assert world.run("policy", "save", str(file)) == "The policy team counts in every profile."
    assert "read done" not in world.call()
    assert 'off = ["notes/*"]' in world.run("policy", "list")
    world.run("policy", "remove")
    assert world.call() == "read done"
    assert world.run("policy", "list") == "The team has no policy."
    file.write_text("versio = 1\n")
    assert "versio" in world.refused("policy", "save", str(file), *WHERE)
    assert "cannot be read" in world.refused("policy", "save", str(tmp_path / "none"), *WHERE)
    file.write_text("version = 1\n")
    named = ("--name", "none", *WHERE)
    assert "There is no profile none." in world.refused("policy", "save", str(file), *named)


def test_a_profile_is_given_to_a_group_and_removed(world: World) -> None:
    with as_operator(world.given["TOOLCRIB_TEAM_DATABASE"]) as db:
        organisation = organisations.find(db, "acme")
        assert organisation is not None
        profiles.save(db, organisation.id, "calm", {}, [TickRow("notes/read", on=False)])
    assert world.run("profile", "list") == "calm  version 1  1 tool off  everyone"
    assert world.run("profile", "change", "calm", "--group", "ops") == "calm is seen by ops."
    assert world.run("profile", "list") == "calm  version 2  1 tool off  ops"
    assert world.run("profile", "remove", "calm") == "calm was removed."
    assert world.run("profile", "list").startswith("The team has no profile.")


def test_use_is_counted_by_tool(approved: World) -> None:
    approved.call()
    listed = approved.run("use", "--days", "1").splitlines()
    assert any(re.fullmatch(r"\d+  call  notes/read", line) for line in listed)
    assert listed[-1] == "1 member in 1 day."


def test_an_organisation_ends_by_its_name_alone(world: World) -> None:
    other = ("--organisation", "other")
    assert world.ended("user", "add", "olga", *other).out == (
        "olga has the role member in other, which is new.\n"
    )
    assert world.ended("user", "add", "ida", "--role", "admin", *other).out == (
        "ida has the role admin in other.\n"
    )
    world.ended("user", "remove", "ida", *other)
    assert "other  1 member" in world.ended("organisation", "list").out
    assert "--confirm other" in world.refused("organisation", "remove", "other")
    assert world.ended("organisation", "remove", "other", "--confirm", "other").code == 0
    assert "other" not in world.ended("organisation", "list").out
    assert "There is no organisation other." in world.refused("user", "list", *other)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("server", "read", "none"), "There is no server none."),
        (("server", "change", "notes"), "Nothing is to change."),
        (("server", "remove", "none"), "There is no server none."),
        (("user", "change", "mia"), "Nothing is to change."),
        (("user", "change", "none", "--role", "admin"), "There is no member none."),
        (("review", "show", "notes/none"), "There is no tool notes/none."),
        (("profile", "remove", "none"), "There is no profile none."),
        (("policy", "remove"), "There is no policy team."),
        (("audit",), ""),
    ],
)
def test_wrong_words_get_a_sentence(world: World, words: tuple[str, ...], sentence: str) -> None:
    where = WHERE if sentence else ("--organisation", "none")
    assert (sentence or "There is no organisation none.") in world.refused(*words, *where)


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (("user", "add", "jo\x1b[2J"), "jo⟨U+001B⟩[2J"),
        (("user", "add", "jo "), "jo "),
        (("user", "add", ""), "An empty text"),
        (("user", "add", "jo", "--group", "a\nb"), "a⟨U+000A⟩b"),
        (("user", "add", "jo", "--issuer", "https://x", "--subject", "\x00"), "⟨U+0000⟩"),
        (("user", "change", "mia", "--group", "\u202eb"), "⟨U+202E⟩b"),
        (("token", "issue", "mia", "--name", "\x9b2J"), "⟨U+009B⟩2J"),
        (("token", "issue", "mia", "--allow", "notes/\x07"), "notes/⟨U+0007⟩"),
        (("server", "change", "notes", "--group", "\r"), "⟨U+000D⟩"),
        (("server", "add", "x\x1b", "--program", "notes"), "x⟨U+001B⟩"),
        (("server", "add", "a/b", "--program", "notes"), "a/b"),
    ],
)
def test_a_name_that_cannot_be_read_is_not_kept(
    world: World, words: tuple[str, ...], name: str
) -> None:
    refused = world.refused(*words, *WHERE)
    sentence = f"{name} cannot be a name."
    if words[:2] == ("server", "add"):
        sentence = f"A server cannot be called “{name}”."
    assert refused.startswith(f"toolcrib-team: {sentence}\n  Use ")
    assert "mia  member\n" in f"{world.run('user', 'list')}\n"


def test_an_organisation_has_a_name_that_can_be_read(world: World) -> None:
    refused = world.refused("user", "add", "jo", "--organisation", "ac\x1bme")
    assert refused.startswith("toolcrib-team: ac⟨U+001B⟩me cannot be a name.\n")
    assert world.ended("organisation", "list").out == "acme  2 members\n"


@pytest.mark.parametrize("verb", ["check", "migrate"])
def test_a_database_that_does_not_answer_is_a_sentence(verb: str) -> None:
    where = environment("postgresql://127.0.0.1:1/none", new_key())
    ended = World(where, Path(), {}).ended(verb)
    assert ended.code == 1 and "database does not answer" in f"{ended.out}{ended.err}"


def test_a_server_goes_with_its_tools(world: World) -> None:
    world.run("server", "add", "second", "--program", "notes")
    assert world.run("server", "remove", "second").startswith("second was removed")
    assert "second" not in world.run("server", "list")


# ---- from an editor's machine


@pytest.fixture
def machine(
    world: World,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Callable[[str], Command]:
    """The command line of a member who has joined, by TOOLCRIB_HOME of the last one."""

    def verb(*words: str) -> Ended:
        capsys.readouterr()
        code = run([*words])
        return Ended(code, *capsys.readouterr())

    def joined(member: str) -> Command:
        home = tmp_path / member
        ctx = AppContext(Paths(home, home / "models"), Settings())
        ctx.paths.create()
        with closing(ctx.open_store()) as db:
            membership.join(ctx, db, world.given["TOOLCRIB_TEAM_URL"], world.tokens[member])
            membership.synchronise(ctx, db)
        monkeypatch.setenv("TOOLCRIB_HOME", str(home))
        return verb

    return joined


def test_an_editor_decides_from_the_own_machine(
    approved: World, machine: Callable[[str], Command]
) -> None:
    world, ed = approved, machine("ed")
    assert ed("team", "review").out == "The team holds no tool.\n"
    world.offer(SECOND)
    world.run("server", "read", "notes")
    stale = ed("team", "review", "notes/read", "--approve", "--yes")
    assert stale.code == 1
    assert "notes/read has another text by now." in stale.err
    ed("team", "sync")
    assert "notes/read  Your team holds it for review." in ed("team", "review").out
    assert SECOND in ed("team", "review", "notes/read").out
    asked = ed("team", "review", "notes/read", "--approve")
    assert (asked.code, "Repeat with --yes." in asked.err) == (4, True)
    done = ed("team", "review", "notes/read", "--approve", "--yes")
    assert done.out == "Decided for every member: 1 tool.\n"
    assert world.call() == "read done"
    assert re.search(r"  ed  (insert|update) decisions notes/read  ", world.run("audit"))


def test_a_member_decides_nothing_for_the_team(
    approved: World, machine: Callable[[str], Command]
) -> None:
    mia = machine("mia")
    done = mia("team", "review", "notes/read", "--keep", "--yes")
    assert (done.code, "Your role in the team does not allow this." in done.err) == (1, True)
    assert mia("team", "review", "notes/none").code == 1
    assert approved.call() == "read done"


@pytest.mark.parametrize("words", [(), ("token",), ("server",), ("review",)])
def test_words_that_are_left_out_are_listed(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(words)
    printed = capsys.readouterr().err
    assert stop.value.code == 2 and "options:" in printed
    assert f"{' '.join(['toolcrib-team', *words])}: the following arguments are required" in printed
