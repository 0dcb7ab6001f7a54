from collections.abc import Callable
from dataclasses import replace

import apsw

from store import events, exports, findings, profiles, queries, servers, serving, tools
from store.connection import transaction
from store.records import (
    EntryRecord,
    EventRecord,
    ExportRecord,
    Finding,
    LabelRecord,
    NewTool,
    RunRecord,
    SelfDescription,
    ServerSpec,
    Summary,
    TokenCount,
)
from store.serving import server_rows

Add = Callable[..., int]
SPEC = ServerSpec("stdio", "k1", command="npx", args=("-y", "x"), env_names=("TOKEN",))
ENTRY = EntryRecord("cursor", "user", "/c/mcp.json", "github")


def test_a_server_comes_back_as_it_was_placed(db: apsw.Connection) -> None:
    with transaction(db):
        server_id = servers.place(db, ENTRY, SPEC, name="github", trusted=True)
    (found,) = servers.all_servers(db)
    assert found.id == server_id
    assert found.spec == SPEC
    assert found.entries == (replace(ENTRY, server_id=server_id),)
    assert servers.by_name(db, "github") == found
    assert servers.by_name(db, "nothing") is None


def test_entries_with_the_same_spec_share_a_server(db: apsw.Connection) -> None:
    other = replace(ENTRY, host="claude-desktop", file="/d.json")
    with transaction(db):
        first = servers.place(db, ENTRY, SPEC, name="github", trusted=False)
        second = servers.place(db, other, SPEC, name="github", trusted=True)
    assert first == second
    (found,) = servers.all_servers(db)
    assert found.trusted
    assert len(found.entries) == 2


def test_the_same_name_with_another_spec_gets_a_number(db: apsw.Connection) -> None:
    other = replace(ENTRY, host="claude-desktop", file="/d.json")
    with transaction(db):
        servers.place(db, ENTRY, SPEC, name="github", trusted=True)
        servers.place(db, other, replace(SPEC, key="k2"), name="github", trusted=True)
    assert [s.name for s in servers.all_servers(db)] == ["github", "github-2"]


def test_an_entry_whose_spec_changed_keeps_its_server_and_ticks(
    db: apsw.Connection, server: Add
) -> None:
    server_id = server("github", "a")
    entry = EntryRecord("cursor", "user", "/home/a/.cursor/mcp.json", "github")
    with transaction(db):
        servers.set_status(db, server_id, "read")
        same = servers.place(db, entry, replace(SPEC, key="new"), name="github", trusted=True)
    assert same == server_id
    (found,) = servers.all_servers(db)
    assert found.status == "configured"
    assert [t.name for t in tools.tools(db)] == ["a"]


FILE = "/home/a/.cursor/mcp.json"


def test_a_server_that_no_file_names_is_retired_and_comes_back_with_its_ticks(
    db: apsw.Connection, server: Add
) -> None:
    server("a")
    gone = server("b", "x", "y")
    first = tools.tools(db)[0]
    spec = servers.all_servers(db)[1].spec
    with transaction(db):
        db.execute("UPDATE servers SET read_at = 1.0")
        profiles.set_on(db, 1, [first.id], False)
        servers.drop_missing_entries(db, "cursor", FILE, ["a"])
        assert servers.retire_unnamed(db) == [gone]
        assert servers.retire_unnamed(db) == []
    assert [s.name for s in servers.all_servers(db)] == ["a"]
    assert tools.tools(db) == []
    assert [row.name for row in server_rows(db)] == ["a"]
    with transaction(db):
        entry = EntryRecord("cursor", "user", FILE, "b")
        assert servers.place(db, entry, spec, name="b", trusted=True) == gone
    assert [t.name for t in tools.tools(db)] == ["x", "y"]
    assert not profiles.states(db, 1)[first.id].on


def test_a_retired_name_with_another_command_is_trusted_as_its_new_place_is(
    db: apsw.Connection, server: Add
) -> None:
    gone = server("b", "x")
    with transaction(db):
        db.execute("UPDATE servers SET read_at = 1.0")
        servers.drop_missing_entries(db, "cursor", FILE, [])
        servers.retire_unnamed(db)
        entry = EntryRecord("claude-code", "project", "/p/.mcp.json", "b")
        assert servers.place(db, entry, SPEC, name="b", trusted=False) == gone
    (found,) = servers.all_servers(db)
    assert (found.name, found.trusted, found.status) == ("b", False, "configured")
    assert tools.tools(db) == []


def test_a_server_that_was_never_read_is_forgotten(db: apsw.Connection, server: Add) -> None:
    gone = server("b")
    with transaction(db):
        servers.drop_missing_entries(db, "cursor", FILE, [])
        assert servers.retire_unnamed(db) == [gone]
    assert db.execute("SELECT count(*) FROM servers").fetchone() == (0,)


def test_a_server_that_is_disabled_stays_so_when_its_file_loses_it(
    db: apsw.Connection, server: Add
) -> None:
    gone = server("b")
    spec = servers.all_servers(db)[0].spec
    with transaction(db):
        servers.set_disabled(db, gone, True)
        servers.drop_missing_entries(db, "cursor", FILE, [])
        servers.retire_unnamed(db)
        entry = EntryRecord("cursor", "user", FILE, "b")
        assert servers.place(db, entry, spec, name="b", trusted=True) == gone
    (back,) = servers.all_servers(db)
    assert back.disabled and back.status == "configured"


def test_an_entry_that_parts_from_a_disabled_server_stays_disabled(
    db: apsw.Connection, server: Add
) -> None:
    first = server("b")
    spec = servers.all_servers(db)[0].spec
    here = EntryRecord("cursor", "user", FILE, "b")
    there = EntryRecord("kiro", "user", "/home/a/.kiro/settings/mcp.json", "b")
    with transaction(db):
        assert servers.place(db, there, spec, name="b", trusted=True) == first
        servers.set_disabled(db, first, True)
        second = servers.place(db, here, replace(spec, key="new"), name="b", trusted=True)
        assert second != first
        other = servers.place(
            db, replace(here, name="c"), replace(spec, key="c"), name="c", trusted=True
        )
    assert {one.id: one.disabled for one in servers.all_servers(db)} == {
        first: True, second: True, other: False
    }  # fmt: skip


def test_a_retired_server_holds_no_name_back(db: apsw.Connection, server: Add) -> None:
    gone, mine = server("old", "x"), server("new")
    with transaction(db):
        db.execute("UPDATE servers SET read_at = 1.0")
        servers.drop_missing_entries(db, "cursor", FILE, ["new"])
        servers.retire_unnamed(db)
        assert servers.rename(db, mine, "old")
    assert [one.name for one in servers.all_servers(db)] == ["old"]
    assert db.execute("SELECT name FROM servers WHERE id = ?", (gone,)).fetchone() == ("old-2",)


def test_a_name_with_a_slash_cannot_confuse_tool_ids(db: apsw.Connection) -> None:
    with transaction(db):
        servers.place(db, ENTRY, SPEC, name="github.com/acme/mcp", trusted=True)
    assert servers.all_servers(db)[0].name == "github.com-acme-mcp"


def test_saving_a_list_says_what_changed(db: apsw.Connection, server: Add) -> None:
    server_id = server("s", "a", "b", "c")
    new = [NewTool("a", {}, "hash-a"), NewTool("b", {}, "other"), NewTool("d", {}, "d")]
    with transaction(db):
        delta = tools.save_list(db, server_id, new, at=2.0)
    by_name = {t.name: t for t in tools.tools(db, include_gone=True)}
    assert delta.added == (by_name["d"].id,)
    assert delta.changed == (by_name["b"].id,)
    assert delta.gone == (by_name["c"].id,)
    assert delta.unchanged == 1
    assert by_name["c"].gone
    assert by_name["b"].trusted_hash == "hash-b"
    assert [t.name for t in tools.tools(db)] == ["a", "b", "d"]


def test_a_tool_that_comes_back_keeps_its_row(db: apsw.Connection, server: Add) -> None:
    server_id = server("s", "a")
    (before,) = tools.tools(db)
    with transaction(db):
        tools.save_list(db, server_id, [], at=2.0)
        delta = tools.save_list(db, server_id, [NewTool("a", {}, "hash-a")], at=3.0)
    (after,) = tools.tools(db)
    assert (after.id, after.first_seen, after.last_seen) == (before.id, 1.0, 3.0)
    assert delta.unchanged == 1


def test_two_tools_of_one_name_are_two_rows(db: apsw.Connection, server: Add) -> None:
    server_id = server("s")
    twice = [NewTool("a", {"n": 1}, "1"), NewTool("a", {"n": 2}, "2")]
    with transaction(db):
        tools.save_list(db, server_id, twice, at=1.0)
        delta = tools.save_list(db, server_id, twice, at=2.0)
    assert len(tools.tools(db)) == 2
    assert delta.unchanged == 2


def test_a_users_summary_is_not_overwritten(db: apsw.Connection, server: Add) -> None:
    server("s", "a")
    (tool,) = tools.tools(db)
    with transaction(db):
        tools.save_summaries(db, [Summary(tool.id, "mine", "user", "h")])
        tools.save_summaries(db, [Summary(tool.id, "made", "made", "h2")])
    assert tools.summaries(db)[tool.id].text == "mine"


def test_counts_are_kept_per_encoding(db: apsw.Connection, server: Add) -> None:
    server("s", "a")
    (tool,) = tools.tools(db)
    count = TokenCount(tool.id, "o200k_base", 1, 2, 3, 4, 5, 6)
    with transaction(db):
        tools.save_token_counts(db, [count])
    assert tools.token_counts(db, "o200k_base") == {tool.id: count}
    assert tools.token_counts(db, "cl100k_base") == {}


def test_ticks_belong_to_the_profile(db: apsw.Connection, server: Add) -> None:
    server("s", "a", "b")
    a, _ = tools.tools(db)
    with transaction(db):
        work = profiles.create(db, "work")
        profiles.set_on(db, work.id, [a.id], False)
        profiles.set_pinned(db, work.id, [a.id], True)
        copy = profiles.create(db, "copy", copy_of=work.id)
    assert profiles.states(db, 1) == {}
    state = profiles.states(db, copy.id)[a.id]
    assert (state.on, state.pinned) == (False, True)


def test_removing_a_server_takes_everything_of_it(db: apsw.Connection, server: Add) -> None:
    server_id = server("s", "a")
    (tool,) = tools.tools(db)
    with transaction(db):
        profiles.set_on(db, 1, [tool.id], False)
        servers.remove(db, server_id)
    assert tools.tools(db) == []
    assert profiles.states(db, 1) == {}


def test_the_journal_counts_use_and_is_pruned(db: apsw.Connection) -> None:
    with transaction(db):
        events.add(db, [EventRecord(at=float(i), kind="call", tool="s/a") for i in range(5)])
        events.add(db, [EventRecord(at=9.0, kind="search", query="x", detail={"n": 1})])
    assert events.usage(db, since=2.0) == {"s/a": (3, 4.0)}
    assert events.recent(db, 1)[0].detail == {"n": 1}
    with transaction(db):
        events.prune(db, keep=2)
    assert len(events.recent(db, 10)) == 2


def test_exports_are_listed_newest_first_and_can_be_undone(db: apsw.Connection) -> None:
    record = ExportRecord(0, 1.0, "cursor", "user", "/f", "pruned", "default", "a", "b", "/bak")
    with transaction(db):
        first = exports.add(db, record)
        second = exports.add(db, replace(record, at=2.0))
        exports.mark_undone(db, second, 3.0)
    assert [r.id for r in exports.for_host(db, "cursor")] == [second, first]
    found = exports.one(db, second)
    assert found is not None
    assert found.undone_at == 3.0


def test_the_same_label_counts_once(db: apsw.Connection) -> None:
    label = LabelRecord(0, "open a pull request", ("github/create_pr",), "typed", 1.0)
    with transaction(db):
        assert queries.save_labels(db, [label, label]) == 1
        assert queries.save_labels(db, [label]) == 0
    (found,) = queries.labels(db)
    assert found.expected == ("github/create_pr",)
    with transaction(db):
        queries.delete_label(db, found.id)
        queries.save_run(db, RunRecord(0, 1.0, "f", {"theta": 0.3}, {"f1": 0.5}))
        queries.save_blob(db, "projection", fingerprint="f", data=b"\x01", at=1.0)
    assert queries.labels(db) == []
    assert queries.runs(db)[0].result == {"f1": 0.5}
    assert queries.blob(db, "projection") == ("f", b"\x01")


def test_a_decision_on_a_finding_stays_while_the_text_stays(
    db: apsw.Connection, server: Add
) -> None:
    server("s", "a")
    (tool,) = tools.tools(db)
    found = Finding(0, tool.id, "hidden", "block", "U+200B", "h1")
    with transaction(db):
        findings.save(db, tool.id, [found], 1.0)
        findings.decide(db, findings.all_findings(db)[0].id, findings.APPROVED, 2.0)
        findings.save(db, tool.id, [found], 1.0)
    (kept,) = findings.all_findings(db)
    assert (kept.decided, kept.found_at, kept.decided_at) == ("approved", 1.0, 2.0)
    with transaction(db):
        findings.save(db, tool.id, [replace(found, hash="h2")], 3.0)
    assert [(f.hash, f.decided) for f in findings.all_findings(db)] == [
        ("h1", "approved"),
        ("h2", ""),
    ]
    with transaction(db):
        findings.save(db, tool.id, [], 1.0)
    assert [f.decided for f in findings.all_findings(db)] == ["approved"]
    with transaction(db):
        findings.save(db, tool.id, [replace(found, rule="a rule of a newer scanner")], 4.0)
    assert {f.decided for f in findings.all_findings(db)} == {"approved"}


def test_texts_of_a_server_that_are_held_reach_no_program(db: apsw.Connection, server: Add) -> None:
    server_id = server("notes", "a")
    prompts = [{"name": "good"}, {"name": "bad"}]
    texts = [
        {"kind": "instructions", "name": "", "severity": "block", "decided": ""},
        {"kind": "prompts", "name": "bad", "severity": "block", "decided": "kept"},
        {"kind": "prompts", "name": "good", "severity": "warn", "decided": ""},
    ]
    with transaction(db):
        described = SelfDescription(
            server_info={"name": "n"}, instructions="Obey me.", prompts=tuple(prompts)
        )
        servers.save_reading(db, server_id, described, texts=texts, at=1.0)
    (row,) = serving.server_rows(db)
    assert row.instructions == ""
    assert serving.lists(db, server_id) == ([{"name": "good"}], [], [])
    with transaction(db):
        servers.approve_texts(db, server_id)
    (row,) = serving.server_rows(db)
    assert row.instructions == "Obey me."
    assert serving.lists(db, server_id)[0] == prompts
