"""Hooks in hosts' files: written beside the user's own, taken out without a trace."""

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import apsw
import pytest

from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.core.paths import Paths, gateway_program
from app.core.settings import Settings
from app.export.apply import apply
from app.export.entries.plan import plan_entry
from app.export.plan import REMOVE, EntryChange, Plan
from app.export.wrapping import GatewayCall
from app.hooks import files as hooks
from app.hooks.entries import COMMAND, LIST, MCP, is_ours, words_of
from app.host_status.drift import IN_SYNC, file_drift, restore_effect
from app.hosts.facts import HostFacts, host
from app.hosts.places import Places
from store import exports
from store.records import HOOK, THROUGH, EntryRecord, ExportRecord

GATEWAY = Path("/opt/tool crib/toolcrib-gateway")
IDS = [facts.id for facts in hooks.hook_hosts()]
EACH = pytest.mark.parametrize("host_id", IDS)
GROUPED = pytest.mark.parametrize("host_id", ["claude-code", "codex", "gemini-cli", "qwen-code"])
OWN = """\
{
  // what the user wrote
  "model": "opus",
  "hooks": {
    "UserPromptSubmit": [
      { "hooks": [ { "type": "command", "command": "echo mine" } ] },
    ],
    "BeforeAgent": [{"hooks": [{"type": "command", "command": "echo before"}]}],
    "Stop": []
  }
}
"""


@pytest.fixture
def ctx(tmp_path: Path) -> AppContext:
    made = AppContext(Paths.default({"TOOLCRIB_HOME": str(tmp_path / "own")}), Settings())
    made.paths.create()
    return made


@pytest.fixture
def db(ctx: AppContext) -> Iterator[apsw.Connection]:
    found = ctx.open_store()
    yield found
    found.close()


@pytest.fixture
def places(tmp_path: Path) -> Places:
    (tmp_path / "home").mkdir()
    return Places(tmp_path / "home", {}, "linux")


def planned(
    places: Places,
    db: apsw.Connection,
    facts: HostFacts,
    form: str = COMMAND,
    profile: str = "default",
) -> Plan:
    return hooks.install_plan(
        places,
        facts,
        profile=profile,
        gateway_path=GATEWAY,
        form=form,
        history=exports.hooks_of(db, facts.id),
    )


def everything(places: Places) -> dict[str, bytes]:
    files = (file for file in places.home.rglob("*") if file.is_file())
    return {str(file.relative_to(places.home)): file.read_bytes() for file in files}


@EACH
def test_a_hook_is_written_and_taken_out_without_a_trace(
    places: Places, ctx: AppContext, db: apsw.Connection, host_id: str
) -> None:
    facts = host(host_id)
    assert not hooks.hook_state(places, facts).installed
    hooks.install(planned(places, db, facts), ctx, db)
    state = hooks.hook_state(places, facts)
    assert state.installed
    assert state.form == COMMAND
    text = state.path.read_text(encoding="utf-8")
    assert "toolcrib-gateway" in text
    assert f"hook {host_id} --profile default" in text.replace('", "', " ")
    assert planned(places, db, facts).empty, "written twice"
    hooks.remove(facts, state.path, ctx, db)
    assert everything(places) == {}
    assert hooks.remove(facts, state.path, ctx, db) == ()


@GROUPED
def test_the_users_own_hooks_stay_to_the_byte(
    places: Places, ctx: AppContext, db: apsw.Connection, host_id: str
) -> None:
    facts = host(host_id)
    path = hooks.hook_state(places, facts).path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(OWN, encoding="utf-8")
    hooks.install(planned(places, db, facts), ctx, db)
    written = path.read_text(encoding="utf-8")
    assert "// what the user wrote" in written
    assert "echo mine" in written
    assert "echo before" in written
    hooks.remove(facts, path, ctx, db)
    assert path.read_text(encoding="utf-8") == OWN


@GROUPED
def test_what_the_user_changed_meanwhile_stays(
    places: Places, ctx: AppContext, db: apsw.Connection, host_id: str
) -> None:
    facts = host(host_id)
    hooks.install(planned(places, db, facts), ctx, db)
    path = hooks.hook_state(places, facts).path
    assert facts.hook is not None
    event = facts.hook.event
    value = json.loads(path.read_text(encoding="utf-8"))
    mine = {"hooks": [{"type": "command", "command": "echo mine"}]}
    value["hooks"][event].insert(0, mine)
    path.write_text(json.dumps(value), encoding="utf-8")
    hooks.remove(facts, path, ctx, db)
    assert json.loads(path.read_text(encoding="utf-8")) == {"hooks": {event: [mine]}}


def test_another_profile_is_written_in_the_same_place(
    places: Places, ctx: AppContext, db: apsw.Connection
) -> None:
    facts = host("claude-code")
    hooks.install(planned(places, db, facts), ctx, db)
    hooks.install(planned(places, db, facts, profile="work"), ctx, db)
    path = hooks.hook_state(places, facts).path
    [group] = json.loads(path.read_text(encoding="utf-8"))["hooks"]["UserPromptSubmit"]
    assert "--profile work" in group["hooks"][0]["command"]
    hooks.remove(facts, path, ctx, db)
    assert everything(places) == {}


def test_the_connected_gateway_is_asked_without_a_program(
    places: Places, ctx: AppContext, db: apsw.Connection
) -> None:
    facts = host("claude-code")
    hooks.install(planned(places, db, facts, MCP), ctx, db)
    state = hooks.hook_state(places, facts)
    assert state.form == MCP
    [group] = json.loads(state.path.read_text(encoding="utf-8"))["hooks"]["UserPromptSubmit"]
    [made] = group["hooks"]
    assert (made["type"], made["server"], made["tool"]) == ("mcp_tool", "toolcrib", "suggest_tools")
    assert made["input"]["prompt"] == "${prompt}"


def test_the_form_follows_the_way_the_host_gets_its_tools() -> None:
    through = ExportRecord(1, 0.0, "claude-code", "user", "f", THROUGH, "default", "", "x", "")
    assert hooks.form_for(host("claude-code"), [through]) == MCP
    assert hooks.form_for(host("claude-code"), []) == COMMAND
    in_project = replace(through, scope="project")
    assert hooks.form_for(host("claude-code"), [in_project]) == COMMAND, "elsewhere it is not there"
    assert hooks.form_for(host("claude-code"), [replace(in_project, id=2), through]) == MCP
    assert hooks.form_for(host("gemini-cli"), [through]) == COMMAND, "it cannot ask a server"


def test_a_file_that_cannot_be_read_is_left_alone(places: Places, db: apsw.Connection) -> None:
    facts = host("claude-code")
    path = hooks.hook_state(places, facts).path
    path.parent.mkdir(parents=True)
    path.write_text('{"hooks": ', encoding="utf-8")
    assert hooks.hook_state(places, facts).problem
    with pytest.raises(ToolcribError):
        planned(places, db, facts)


def test_a_plugin_of_the_users_own_is_left_alone(places: Places, db: apsw.Connection) -> None:
    facts = host("opencode")
    path = hooks.hook_state(places, facts).path
    path.parent.mkdir(parents=True)
    path.write_text("export const Mine = () => ({})\n", encoding="utf-8")
    with pytest.raises(ToolcribError, match="is not Toolcrib's"):
        planned(places, db, facts)


def test_a_list_is_narrowed_only_where_it_is_chosen(
    places: Places, ctx: AppContext, db: apsw.Connection
) -> None:
    facts = host("opencode")
    assert hooks.form_for(facts, []) == COMMAND
    hooks.install(planned(places, db, facts), ctx, db)
    path = hooks.hook_state(places, facts).path
    context = path.read_bytes()
    plan = planned(places, db, facts, LIST)
    assert hooks.CACHE in plan.warnings, "what it costs is said before"
    assert hooks.reads(keeps=False, listed=True) in plan.warnings
    assert hooks.READS not in plan.warnings, "nothing is added to the request"
    hooks.install(plan, ctx, db)
    assert hooks.hook_state(places, facts).form == LIST
    assert '"--form", "list"]' in path.read_text(encoding="utf-8")
    assert planned(places, db, facts, LIST).empty, "written twice"
    hooks.install(planned(places, db, facts), ctx, db)
    assert path.read_bytes() == context
    hooks.install(planned(places, db, facts, LIST), ctx, db)
    hooks.remove(facts, path, ctx, db)
    assert everything(places) == {}


@pytest.mark.parametrize("host_id", [one for one in IDS if one != "opencode"])
def test_a_hook_that_cannot_change_the_list_is_refused(
    places: Places, db: apsw.Connection, host_id: str
) -> None:
    with pytest.raises(ToolcribError, match="cannot change the list"):
        planned(places, db, host(host_id), LIST)


def test_a_host_without_such_hooks_is_refused_with_those_that_have_them() -> None:
    with pytest.raises(ToolcribError) as refusal:
        hooks.hook_host("cursor")
    assert "claude-code" in refusal.value.hint


def test_a_hook_in_the_servers_file_is_no_change_from_outside(
    places: Places, ctx: AppContext, db: apsw.Connection
) -> None:
    facts = host("gemini-cli")
    path = hooks.hook_state(places, facts).path
    path.parent.mkdir(parents=True)
    path.write_text('{\n  "mcpServers": {"toolcrib": {"command": "x"}}\n}\n', encoding="utf-8")
    copy = ctx.paths.backups / "copy.json"
    copy.parent.mkdir(parents=True, exist_ok=True)
    copy.write_bytes(path.read_bytes())
    record = ExportRecord(
        1, 0.0, facts.id, "user", str(path), THROUGH, "default", "", "", "",
        detail={"after": str(copy), "format": "json"},
    )  # fmt: skip
    hooks.install(planned(places, db, facts), ctx, db)
    assert file_drift(record).state == IN_SYNC


def test_exports_and_hooks_know_nothing_of_each_others_writes(
    places: Places, ctx: AppContext, db: apsw.Connection
) -> None:
    facts = host("claude-code")
    hooks.install(planned(places, db, facts), ctx, db)
    assert exports.for_host(db, facts.id) == []
    assert [record.mode for record in exports.hooks_of(db, facts.id)] == [HOOK]
    assert hooks.remove_all(ctx, db, words=False).paths
    assert everything(places) == {}


def test_the_way_out_knows_a_hook_beside_servers_that_are_as_they_were(
    places: Places, ctx: AppContext, db: apsw.Connection
) -> None:
    facts = host("gemini-cli")
    path = places.paths(facts.hook.paths)[0] if facts.hook else Path()
    path.parent.mkdir(parents=True)
    path.write_text('{"mcpServers": {"one": {"command": "uvx"}}}\n', encoding="utf-8")
    hooks.install(planned(places, db, facts), ctx, db)
    entry = EntryRecord(facts.id, "user", str(path), "one")
    apply(plan_entry(places, EntryChange(entry, REMOVE)), ctx, db)  # which is the user's own
    assert restore_effect(db)[0] == ("Gemini CLI",)
    hooks.remove(facts, path, ctx, db)
    assert restore_effect(db)[0] == ()


def test_the_preview_says_what_is_read(places: Places, db: apsw.Connection) -> None:
    plan = planned(places, db, host("codex"))
    assert hooks.READS in plan.warnings
    assert any("/hooks" in note for note in plan.warnings), "the user's own trust step is named"


def test_a_program_of_this_environment_is_started_without_its_launcher(tmp_path: Path) -> None:
    words = words_of(host("codex"), GatewayCall(str(gateway_program()), "work", "/data"))
    at = words.index("hook")
    assert words[:4] == [str(Path(sys.executable)), "-I", "-S", "-c"]
    assert words[at:] == ["hook", "codex", "--profile", "work", "--home", "/data"]
    made = {"type": "command", "command": shlex.join(words)}
    assert is_ours(made)
    # Toolcrib may have gone since: a host takes 2 for a refusal of the prompt
    gone = [str(tmp_path) if word == words[at - 2] else word for word in words]
    done = subprocess.run(gone, input=b"{}", cwd=tmp_path, capture_output=True)
    assert done.returncode == 1


@pytest.mark.parametrize("first", ["#!/bin/sh", "#!/usr/bin/env python3", "#!python", "\x7fELF"])
def test_any_other_program_is_started_as_it_is(tmp_path: Path, first: str) -> None:
    program = tmp_path / "toolcrib-gateway"
    program.write_bytes(f"{first}\n".encode() + b"\xff")
    words = words_of(host("codex"), GatewayCall(str(program), "default", ""))
    assert words == [str(program), "hook", "codex", "--profile", "default"]


@EACH
@pytest.mark.parametrize("text", ["5", "[1]", '"words"', '{"hooks": 5}', "true"])
def test_a_file_with_no_room_for_a_hook_is_a_sentence_and_keeps_its_bytes(
    places, db, host_id, text
):
    facts = host(host_id)
    if facts.hook.shape == "plugin":
        pytest.skip("its hook is a file of its own")
    path = places.paths(facts.hook.paths)[0]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    with pytest.raises(ToolcribError, match=re.escape(str(path))):
        planned(places, db, facts)
    assert path.read_text() == text


@EACH
def test_a_value_in_the_place_of_the_list_of_hooks_is_not_replaced(places, db, host_id):
    facts = host(host_id)
    if facts.hook.shape == "plugin":
        pytest.skip("its hook is a file of its own")
    path = places.paths(facts.hook.paths)[0]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"hooks": {facts.hook.event: {"mine": 1}}}))
    with pytest.raises(ToolcribError, match="is not a list"):
        planned(places, db, facts)


@pytest.mark.parametrize("host_id", [one for one in IDS if host(one).hook.shape != "plugin"])
def test_a_file_with_trailing_commas_gets_the_hook_with_a_word_and_comes_back(
    places: Places, ctx: AppContext, db: apsw.Connection, host_id: str
) -> None:
    facts = host(host_id)
    path = hooks.hook_state(places, facts).path
    path.parent.mkdir(parents=True, exist_ok=True)
    for own in ('{"version": 1, "hooks": {},}', '{"version": 1,\r"hooks": {\r},\r}\r'):
        path.write_bytes(own.encode())
        plan = planned(places, db, facts)
        assert f"This file has trailing commas, which {facts.name} may not read." in plan.warnings
        apply(plan, ctx, db)
        assert hooks.hook_state(places, facts).installed
        path.write_bytes(path.read_bytes() + b" ")
        hooks.remove(facts, path, ctx, db)
        assert path.read_bytes() == own.encode() + b" "


@EACH
def test_a_file_that_is_too_large_is_left_alone(
    places: Places, ctx: AppContext, db: apsw.Connection, host_id: str
) -> None:
    facts = host(host_id)
    path = hooks.hook_state(places, facts).path
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.truncate(20_000_001)
    with pytest.raises(ToolcribError, match="is too large"):
        planned(places, db, facts)
    assert "is too large" in hooks.hook_state(places, facts).problem
    assert path.stat().st_size == 20_000_001
