"""Every kind of row through its module, on a real Postgres, as the roles that use it."""

import threading
from datetime import UTC, date, datetime, timedelta

import psycopg
import pytest

from store.team import (
    audit,
    changes,
    labels,
    members,
    organisations,
    policies,
    profiles,
    reviews,
    servers,
    tokens,
    tools,
    upstream_secrets,
    use,
)
from store.team.connecting import NoAccessError, as_member, as_owner
from store.team.records import (
    Finding,
    Label,
    NewRequest,
    NewServer,
    NewTool,
    TickRow,
)
from tests.fakes.team_kit import unit

MODEL = "m"


def tool(name: str, *, seed: int = 1, text: str = "does it", **more) -> NewTool:
    return NewTool(
        name=name,
        raw={"name": name, "description": text},
        hash=f"hash of {text}",
        summary=f"{name}: {text}",
        tokens=12,
        words=f"'{name}':1A 'do':2B",
        length=3,
        vocabulary=(name, "does"),
        vectors={MODEL: (f"text {text}", unit(seed))},
        **more,
    )


def test_a_server_with_its_tools_is_read_as_it_was_saved(pool, make_team) -> None:
    team = make_team("a")
    request = NewRequest("please do it", "pack", "h", {MODEL: unit(3)})
    with as_member(pool, team.editor) as db:
        given = NewServer("files", "stdio", {"command": "files", "args": ["-x"]}, instructions="hi")
        server_id = servers.save(db, team.id, given)
        ids = tools.save(db, team.id, server_id, [tool("read", requests=[request]), tool("write")])
    with as_member(pool, team.member) as db:
        (server,) = servers.every(db, team.id)
        read, write = tools.every(db, team.id)
        assert tools.every(db, team.id, server=server.id, held=False) == [read, write]
        assert tools.every(db, team.id, server=server.id + 1) == []
        assert tools.every(db, team.id, held=True) == []
        assert tools.counts(db, team.id) == {server.id: (2, 0)}
        assert (server.name, server.spec["args"], server.grants) == (
            "files",
            ["-x"],
            ("organisation",),
        )
        assert (read.id, read.tool_id, read.raw["description"]) == (ids[0], "files/read", "does it")
        assert tools.requests(db, team.id, ids) == {
            ids[0]: [NewRequest("please do it", "pack", "h")]
        }
        hash_, vector = tools.vectors(db, team.id, MODEL, ids)[ids[0]]
        assert hash_ == "text does it" and len(vector) == 4 * 384
        assert tools.named(db, team.id, "files/read") == read
        assert tools.count(db, team.id) == 2


def test_a_tool_that_left_its_servers_list_is_deleted(pool, make_team) -> None:
    team = make_team("a")
    with as_member(pool, team.editor) as db:
        server_id = servers.save(db, team.id, NewServer("files", "stdio"))
        first = tools.save(db, team.id, server_id, [tool("read"), tool("write")])
        second = tools.save(db, team.id, server_id, [tool("read", text="does more", seed=2)])
        assert second == first[:1]
        assert [t.name for t in tools.every(db, team.id)] == ["read"]


def test_grants_open_a_server_to_roles_groups_and_members(pool, make_team) -> None:
    team = make_team("a")
    with as_owner(pool) as db:
        ops = members.add(db, team.id, "ops", groups=("platform",))
    grants = {
        "all": ("organisation",),
        "platform": ("group:platform",),
        "mine": (f"member:{team.member.member_id}",),
        "members": ("role:member",),
        "closed": (),
    }
    with as_member(pool, team.editor) as db:
        for name, given in grants.items():
            id_ = servers.save(db, team.id, NewServer(name, "stdio", grants=given))
            tools.save(db, team.id, id_, [tool("x")])
    seen = {}
    for who in (team.editor, ops, team.member):
        with as_member(pool, who) as db:
            seen[who.name] = {t.server for t in tools.every(db, team.id)}
            assert seen[who.name] == {s.name for s in servers.every(db, team.id)}
    assert seen[team.editor.name] == set(grants)
    assert seen["ops"] == {"all", "platform", "members"}
    assert seen[team.member.name] == {"all", "mine", "members"}


def test_a_servers_new_grants_are_its_tools_at_once(pool, make_team) -> None:
    team = make_team("a")
    with as_member(pool, team.editor) as db:
        id_ = servers.save(db, team.id, NewServer("files", "stdio"))
        (tool_id,) = tools.save(
            db, team.id, id_, [tool("x", requests=[NewRequest("r", "user", "h")])]
        )
        servers.set_grants(db, team.id, id_, ("role:editor",))
    with as_member(pool, team.member) as db:
        assert tools.every(db, team.id) == []
        assert tools.vectors(db, team.id, MODEL, [tool_id]) == {}
        assert tools.requests(db, team.id, [tool_id]) == {}


def test_an_agents_allowlist_hides_other_tools(pool, make_team) -> None:
    team = make_team("a")
    with as_member(pool, team.editor) as db:
        id_ = servers.save(db, team.id, NewServer("my_files", "stdio"))
        tools.save(db, team.id, id_, [tool("read"), tool("write"), tool("readme")])
        other = servers.save(db, team.id, NewServer("myxfiles", "stdio"))
        tools.save(db, team.id, other, [tool("read")])
    with as_owner(pool) as db:
        _, value = tokens.issue(db, team.member, "ci", allow=["my_files/read*"])
        held = tokens.holder(db, value)
    with as_member(pool, held.member) as db:
        assert {t.tool_id for t in tools.every(db, team.id)} == {"my_files/read", "my_files/readme"}


def test_members_write_nothing_that_all_see(pool, make_team) -> None:
    team = make_team("a")
    with pytest.raises(psycopg.errors.InsufficientPrivilege), as_member(pool, team.member) as db:
        servers.save(db, team.id, NewServer("files", "stdio"))
    with pytest.raises(psycopg.errors.InsufficientPrivilege), as_member(pool, team.member) as db:
        profiles.save(db, team.id, "p", {}, [])
    with pytest.raises(psycopg.errors.InsufficientPrivilege), as_member(pool, team.editor) as db:
        members.add(db, team.id, "friend")
    with as_member(pool, team.editor) as db:
        assert not members.set_role(db, team.id, team.editor.member_id, "admin")


def test_a_token_counts_until_it_ends_and_only_its_hash_is_kept(pool, make_team) -> None:
    team = make_team("a")
    with as_owner(pool) as db:
        id_, value = tokens.issue(db, team.member, "laptop")
        _, old = tokens.issue(db, team.member, "old", expires=datetime.now(UTC) - timedelta(1))
        assert tokens.holder(db, value).member == team.member
        assert tokens.holder(db, old) is None
        assert tokens.holder(db, value + "x") is None
        dump = db.execute("SELECT string_agg(t::text, ' ') FROM tokens t").fetchone()[0]
        assert value not in dump
    with as_member(pool, team.member) as db:
        tokens.note_use(db, id_)
        assert [t.name for t in tokens.of_member(db, team.member.member_id)] == ["old", "laptop"]
        assert tokens.revoke(db, id_)
    with as_owner(pool) as db:
        assert tokens.holder(db, value) is None


def test_a_member_who_is_removed_has_no_next_transaction(pool, make_team) -> None:
    team = make_team("a")
    with as_owner(pool) as db:
        _, value = tokens.issue(db, team.member, "laptop")
    with as_member(pool, team.member) as before, as_member(pool, team.admin) as db:
        assert tools.count(before, team.id) == 0
        assert members.remove(db, team.id, team.member.member_id)
    with pytest.raises(NoAccessError), as_member(pool, team.member):
        pass
    with as_owner(pool) as db:
        assert tokens.holder(db, value) is None


def test_a_subject_of_an_issuer_may_be_in_several_organisations(pool, make_team) -> None:
    one, two = make_team("a"), make_team("b")
    with as_owner(pool) as db:
        first = members.add(db, one.id, "ada", issuer="https://i", subject="7")
        second = members.add(db, two.id, "ada", "editor", issuer="https://i", subject="7")
        assert [m for m, _ in members.of_subject(db, "https://i", "7")] == [first, second]
        assert members.of_subject(db, "https://other", "7") == []
        assert members.of_subject(db, "", "") == []


def test_a_decision_belongs_to_the_text_that_was_read(pool, make_team) -> None:
    team = make_team("a")
    who = team.editor.member_id
    with as_member(pool, team.editor) as db:
        server = servers.save(db, team.id, NewServer("files", "stdio"))
        (id_,) = tools.save(db, team.id, server, [tool("read")])
        reviews.save_findings(
            db, team.id, id_, [Finding(id_, "r", "warn", "odd", "hash of does it")]
        )
        with pytest.raises(LookupError):
            reviews.decide(db, team.id, id_, "approved", hash_="another", member_id=who)
        decision = reviews.decide(
            db, team.id, id_, "approved", hash_="hash of does it", member_id=who
        )
        assert tools.some(db, team.id, [id_])[0].decision == "approved"
        assert reviews.decisions(db, team.id, [decision])[0].tool_id == id_
        tools.save(db, team.id, server, [tool("read", text="does evil")])
        assert tools.some(db, team.id, [id_])[0].decision == ""
    with as_member(pool, team.member) as db:
        assert [f.rule for f in reviews.findings(db, team.id, [id_])] == ["r"]


def test_of_two_editors_the_second_hears_that_the_profile_changed(pool, make_team) -> None:
    team = make_team("a")
    ticks = [TickRow("files/read", pinned=True), TickRow("files/write", on=False)]
    with as_member(pool, team.editor) as db:
        profiles.save(db, team.id, "work", {"budget": 5}, ticks, version=0)
        kept = profiles.named(db, team.id, "work")
        assert (kept.settings, kept.ticks, kept.version) == ({"budget": 5}, tuple(ticks), 1)
        profiles.save(db, team.id, "work", {"budget": 6}, ticks, version=1)
    with pytest.raises(profiles.ChangedMeanwhileError), as_member(pool, team.editor) as db:
        profiles.save(db, team.id, "work", {"budget": 7}, ticks, version=1)
    with as_member(pool, team.member) as db:
        (profile,) = profiles.every(db, team.id)
        assert profile.settings == {"budget": 6}
        assert not profiles.delete(db, team.id, profile.id)


def test_policies_labels_and_counts(pool, make_team) -> None:
    team = make_team("a")
    today = date(2026, 11, 26)
    with as_member(pool, team.editor) as db:
        policies.save(db, team.id, "base", "budget = 5\n")
        assert policies.named(db, team.id, "base").text == "budget = 5\n"
    with as_member(pool, team.member) as db:
        assert labels.add(db, team.member, "read it", ["files/read"], words="it read")
        use.count(db, team.member, [(today, "call", "files/read", 2), (today, "search", "", 1)])
        use.count(db, team.member, [(today, "call", "files/read", 3)])
        assert [row.count for row in use.since(db, team.id, today)] == [5, 1]
        assert labels.expected(db, team.id, "it read") == {"files/read"}
    with as_member(pool, team.editor) as db:
        kept: list[Label] = labels.every(db, team.id)
        assert [(row.query, row.expected) for row in kept] == [("read it", ("files/read",))]
        assert not labels.add(db, team.editor, "read it", ["files/read"], words="it read")
        assert labels.every(db, team.id) == kept
        assert use.since(db, team.id, today) == []


def test_credentials_are_read_by_their_member_alone(pool, make_team) -> None:
    team = make_team("a")
    with as_member(pool, team.editor) as db:
        server = servers.save(db, team.id, NewServer("web", "http", url="https://x"))
    with as_member(pool, team.member) as db:
        mine = team.member.member_id
        upstream_secrets.save(db, team.id, server, b"sealed", key_name="k1", member_id=mine)
    with as_member(pool, team.admin) as db:
        upstream_secrets.save(db, team.id, server, b"shared", key_name="k1")
        assert upstream_secrets.load(db, team.id, server, team.member.member_id) is None
    with as_member(pool, team.member) as db:
        assert upstream_secrets.load(db, team.id, server, mine).sealed == b"sealed"
        assert upstream_secrets.load(db, team.id, server).sealed == b"shared"
        assert not upstream_secrets.delete(db, team.id, server)
    with as_member(pool, team.admin) as db:
        assert b"sealed".hex() not in str(audit.since(db, team.id))


def test_the_log_says_who_changed_what_and_cannot_be_changed(pool, make_team) -> None:
    team = make_team("a")
    with as_member(pool, team.admin) as db:
        members.set_role(db, team.id, team.member.member_id, "editor")
        row = audit.since(db, team.id)[-1]
    assert (row.member_id, row.action, row.kind) == (team.admin.member_id, "update", "members")
    assert (row.before["role"], row.after["role"]) == ("member", "editor")
    with as_member(pool, team.editor) as db:
        assert audit.since(db, team.id) == []
    for statement in ("UPDATE audit SET member_id = 0", "DELETE FROM audit", "TRUNCATE audit"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege), as_owner(pool) as db:
            db.execute(statement)


def test_a_cursor_brings_each_changed_row_once(pool, make_team) -> None:
    team = make_team("a")
    with as_member(pool, team.editor) as db:
        server = servers.save(db, team.id, NewServer("files", "stdio"))
        ids = tools.save(db, team.id, server, [tool("read"), tool("write")])
        at = changes.last(db, team.id)
        assert {(c.kind, c.row_id) for c in changes.since(db, team.id, 0)} == {
            ("servers", server), *(("tools", id_) for id_ in ids),
        }  # fmt: skip
        text = tools.some(db, team.id, [ids[0]])[0].hash
        who = team.editor.member_id
        decision = reviews.decide(db, team.id, ids[0], "kept", hash_=text, member_id=who)
        tools.save(db, team.id, server, [tool("read")])
    with as_member(pool, team.member) as db:
        later = [(c.kind, c.row_id, c.gone) for c in changes.since(db, team.id, at)]
    assert later == [
        ("decisions", decision, False), ("tools", ids[0], False), ("tools", ids[1], True),
        ("servers", server, False),
    ]  # fmt: skip


def test_no_change_appears_behind_a_reader(pool, make_team) -> None:
    """A writer that began first but commits last gets the later number."""
    team = make_team("a")
    done = threading.Event()

    def second() -> None:
        with as_member(pool, team.admin) as db:
            policies.save(db, team.id, "second", "x")
        done.set()

    thread = threading.Thread(target=second)
    with as_member(pool, team.editor) as db:
        policies.save(db, team.id, "first", "x")
        thread.start()
        with as_member(pool, team.member) as reader:
            assert changes.since(reader, team.id, 0) == []
        assert not done.wait(0.2)  # the second waits for the first
    thread.join(10)
    with as_member(pool, team.member) as reader:
        seen = [c.row_id for c in changes.since(reader, team.id, 0)]
        assert seen == sorted(seen) and len(seen) == 2


def test_an_organisation_that_is_removed_has_no_members(pool, make_team) -> None:
    team = make_team("a")
    with as_owner(pool) as db:
        assert organisations.remove(db, team.id)
    with pytest.raises(NoAccessError), as_member(pool, team.admin):
        pass
