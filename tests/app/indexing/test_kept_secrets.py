"""Every value that Toolcrib keeps is known before its server is started."""

from collections.abc import Mapping

import apsw

from app.core.context import AppContext
from app.core.scrubber import HIDDEN, Scrubber
from app.hosts.launch import LaunchSpec
from app.indexing.kept_secrets import KeptSecrets
from app.registry.importing import add_server
from app.secrets.secret_store import SecretStore
from app.signin.grant import Grant, save
from store import events, queries
from store.connection import transaction
from store.records import EventRecord, LabelRecord, RunRecord

URL = "https://mcp.example/mcp"


def learned(
    ctx: AppContext, db: apsw.Connection, environ: Mapping[str, str] | None = None
) -> tuple[Scrubber, KeptSecrets]:
    scrubber = Scrubber()
    kept = KeptSecrets(scrubber, ctx.paths, environ or {})
    kept.learn(db)
    return scrubber, kept


def test_a_token_that_came_later_is_known(ctx: AppContext, db: apsw.Connection) -> None:
    add_server(ctx, db, "remote", LaunchSpec("http", url=URL))
    scrubber, kept = learned(ctx, db)
    for token in ("first-tok-11", "renewed-tok-22"):
        save(SecretStore.open(ctx.paths), "remote", Grant(URL, token, "client", URL))
        kept.learn(db)
        assert scrubber.text(f"with {token} in it") == f"with {HIDDEN} in it"


def test_a_server_that_came_later_is_known(ctx: AppContext, db: apsw.Connection) -> None:
    scrubber, kept = learned(ctx, db)
    add_server(ctx, db, "local", LaunchSpec("stdio", "server", env={"PLACE": "k7Qw-9zPx-33ab"}))
    kept.learn(db)
    assert scrubber.text("at k7Qw-9zPx-33ab") == f"at {HIDDEN}"


def test_a_value_that_a_server_inherits_is_known(ctx: AppContext, db: apsw.Connection) -> None:
    launch = LaunchSpec("stdio", "server", env={"PLACE": "k7Qw-9zPx-33ab"})
    add_server(ctx, db, "local", launch)
    ctx.paths.secrets.unlink()
    scrubber, _ = learned(ctx, db, {"PLACE": "m8Rt-1aQy-44cd"})
    assert scrubber.text("at m8Rt-1aQy-44cd") == f"at {HIDDEN}"


def test_what_was_typed_before_a_server_was_added_is_hidden_with_it(
    ctx: AppContext, db: apsw.Connection
) -> None:
    key, plain = 'k7Qw-9z"Px-33ab', "sky"
    with transaction(db):
        for text in (f"use {key}", plain):
            detail = {"behind": text}
            events.add(db, [EventRecord(1.0, "search", query=text, problem=text, detail=detail)])
            queries.save_labels(db, [LabelRecord(0, text, ("a/b",), "typed", 1.0)])
            queries.save_run(db, RunRecord(0, 1.0, "f", {}, {"got": {text: {}}}))
        events.add(db, [EventRecord(2.0, "miss", tool=key), EventRecord(3.0, "call", tool="a/sky")])
    env = {"API_KEY": key, "SERVICE_PASSWORD": "cloud"}
    add_server(ctx, db, "late", LaunchSpec("stdio", "late", env=env))
    call, miss, other, search = events.recent(db, 10)
    assert (search.query, search.problem) == (f"use {HIDDEN}",) * 2
    assert search.detail == {"behind": f"use {HIDDEN}"}
    assert (miss.tool, call.tool, other.query) == (HIDDEN, "a/sky", plain)
    assert [label.query for label in queries.labels(db)] == [f"use {HIDDEN}", plain]
    assert [list(run.result["got"]) for run in queries.runs(db)] == [[plain], [f"use {HIDDEN}"]]
    assert db.pragma("secure_delete") == 0, "later deletions would cost more"
    db.pragma("wal_checkpoint(TRUNCATE)")
    assert b"k7Qw" not in ctx.paths.database.read_bytes()
