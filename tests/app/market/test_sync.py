"""A sync: pages into the store, deletions, what changed since, a stop and a kill on the way."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import apsw
import pytest

from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.market import sources
from app.market.client import CancelledError, Limits, SourceError, resolve
from app.market.records import entry_of
from app.market.sync import sync
from store import market, teams
from store.connection import transaction
from store.market import MarketSource

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "tests" / "fakes"))

from fake_registry import META, FakeRegistry, entry, fake_registry  # noqa: E402


def added(ctx: AppContext, db: apsw.Connection, server: FakeRegistry) -> MarketSource:
    return sources.add(ctx, db, server.url, name="team", private=True)


def names(db: apsw.Connection) -> set[str]:
    rows = market.by_ids(db, market.newest_ids(db, 10_000))
    return {row.name.rpartition("/")[2] for row in rows.values()}


def test_all_pages_arrive_and_the_second_sync_asks_only_for_what_changed(
    ctx: AppContext, db: apsw.Connection
) -> None:
    with fake_registry([entry(n) for n in range(300)]) as server:
        source = added(ctx, db, server)
        first = sync(ctx, db, source)
        assert (first.full, first.progress.servers, first.progress.pages) == (True, 300, 3)
        server.items[7] = entry(7, updated="2026-02-02T00:00:00Z", version="2.0.0")
        second = sync(ctx, db, sources.named(db, "team"))
        assert not second.full and second.progress.servers < 20
        assert server.asked[-1]["updated_since"] == "2026-01-27T23:00:00Z"
        assert entry_of(market.by_name(db, "io.github.somebody/server-7")[0]).version == "2.0.0"
        assert market.count(db)[0] == 300


def test_what_is_deleted_between_pages_and_later_is_gone(
    ctx: AppContext, db: apsw.Connection
) -> None:
    with fake_registry([entry(n) for n in range(300)]) as server:
        source = added(ctx, db, server)
        sync(ctx, db, source)

        def delete(number: int) -> None:
            if number == 5:  # the second page of the second sync
                server.items[3]["_meta"][META]["status"] = "deleted"

        server.before_page = delete
        sync(ctx, db, sources.named(db, "team"), full=True)
        assert "server-3" in names(db)  # it was on a page that had been read
        for number in (3, 12):
            server.items[number]["_meta"][META] |= {
                "status": "deleted", "updatedAt": "2026-02-03T00:00:00Z"
            }  # fmt: skip
        later = sync(ctx, db, sources.named(db, "team"))
        assert later.progress.removed == 2
        assert not {"server-3", "server-12"} & names(db)


def test_a_full_sync_drops_what_is_no_longer_listed(ctx: AppContext, db: apsw.Connection) -> None:
    with fake_registry([entry(n) for n in range(150)]) as server:
        source = added(ctx, db, server)
        sync(ctx, db, source)
        del server.items[100:]
        done = sync(ctx, db, sources.named(db, "team"), full=True)
        assert done.progress.removed == 50
        assert market.count(db)[0] == 100


def test_deprecated_ones_stay_and_say_so(ctx: AppContext, db: apsw.Connection) -> None:
    item = entry(1, status="deprecated")
    item["_meta"][META]["statusMessage"] = "Use server-2."
    with fake_registry([item]) as server:
        sync(ctx, db, added(ctx, db, server))
    known = entry_of(market.by_name(db, "io.github.somebody/server-1")[0])
    assert (known.status, known.status_message) == ("deprecated", "Use server-2.")


def test_a_stopped_sync_keeps_its_pages_and_goes_on_from_there(
    ctx: AppContext, db: apsw.Connection
) -> None:
    with fake_registry([entry(n) for n in range(300)]) as server:
        source = added(ctx, db, server)
        stop = threading.Event()
        with pytest.raises(CancelledError):
            sync(ctx, db, source, on_progress=lambda p: stop.set(), cancelled=stop.is_set)
        assert market.count(db)[0] == 100
        assert sources.named(db, "team").cursor == "100"
        done = sync(ctx, db, sources.named(db, "team"))
        assert done.progress.pages == 2 and market.count(db)[0] == 300
        assert server.asked[1].get("cursor") == "100"


def test_a_sync_that_is_killed_goes_on_where_it_was(ctx: AppContext, db: apsw.Connection) -> None:
    ready = threading.Event()
    go = threading.Event()

    def hold(number: int) -> None:
        if number == 3:
            ready.set()
            go.wait(20)

    with fake_registry([entry(n) for n in range(500)]) as server:
        added(ctx, db, server)
        server.before_page = hold
        command = [sys.executable, "-m", "ui.main", "registry", "sync", "team"]
        environ = {**os.environ, "TOOLCRIB_HOME": str(ctx.paths.home), "PYTHONPATH": str(ROOT)}
        process = subprocess.Popen(
            command, cwd=ROOT, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            assert ready.wait(20)
            process.send_signal(signal.SIGKILL)
        finally:
            process.wait(10)
            go.set()
        assert market.count(db)[0] == 200
        done = sync(ctx, db, sources.named(db, "team"))
        assert done.progress.pages == 3 and market.count(db)[0] == 500


def test_a_cursor_that_was_forgotten_begins_anew_once(ctx: AppContext, db: apsw.Connection) -> None:
    with fake_registry([entry(n) for n in range(50)], "forgets_cursors") as server:
        source = sources.stored(db, added(ctx, db, server))
        db.execute("UPDATE market_sources SET cursor = 'old' WHERE id = ?", (source.id,))
        assert sync(ctx, db, sources.named(db, "team")).progress.servers == 50


def test_a_bad_entry_is_left_out_by_name_and_the_others_arrive(
    ctx: AppContext, db: apsw.Connection
) -> None:
    bad = entry(2)
    bad["server"]["name"] = "io.github.me/серver; rm -rf ~"
    odd = [entry(4, description="half \ud800"), entry(6, more=10**400)]
    with fake_registry([entry(1), bad, {**entry(9), "server": 7}, *odd, entry(3)]) as server:
        done = sync(ctx, db, added(ctx, db, server))
    assert done.progress.left_out == 4 and names(db) == {"server-1", "server-3"}
    assert "rm -rf" in done.problems[0] and done.problems[0].isascii() is False


def test_an_entry_cannot_claim_a_time_that_ends_all_later_syncs(
    ctx: AppContext, db: apsw.Connection
) -> None:
    with fake_registry([entry(1), entry(2, updated="9999-01-01T00:00:00Z")]) as server:
        sync(ctx, db, added(ctx, db, server))
    assert sources.named(db, "team").newest == "2026-01-02T00:00:00Z"


def test_a_header_is_sent_and_kept_out_of_the_database(
    ctx: AppContext, db: apsw.Connection
) -> None:
    with fake_registry([entry(1)]) as server:
        source = sources.add(
            ctx, db, server.url, name="team", header="X-Key", value="s3cret-value", private=True
        )
        sync(ctx, db, source)
        assert server.headers_seen[0]["X-Key"] == "s3cret-value"
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert b"s3cret-value" not in ctx.paths.database.read_bytes()
    sources.remove(ctx, db, "team")
    assert "s3cret-value" not in ctx.paths.secrets.read_text()


def test_removing_a_source_forgets_its_list_and_its_words(
    ctx: AppContext, db: apsw.Connection
) -> None:
    with fake_registry([entry(1), entry(2)]) as server:
        sync(ctx, db, added(ctx, db, server))
    sources.remove(ctx, db, "team")
    assert market.count(db) == (0, 0)
    assert market.word_scores(db, ["server"], 10) == {}
    with pytest.raises(ToolcribError, match="no source called team"):
        sources.named(db, "team")


FEW = Limits(page_bytes=1 << 20, page_seconds=1.0, read_seconds=0.5, pages=20, seconds=20)
HOSTILE = {
    "broken_json": "not JSON",
    "no_list": "without a list of servers",
    "a_list": "not a page",
    "html": "not JSON",
    "deep": "not JSON",
    "endless_cursor": "more than 20 pages",
    "same_cursor": "same page again",
    "two_cursors": "same page again",
    "cursor_is_a_map": "cursor that is no text",
    "half_a_cursor": "cursor that is no text",
    "huge_cursor": "cursor that is no text",
    "many_at_once": "1,499 servers at once",
    "redirect_elsewhere": "redirects to http://127.0.0.1:1/secrets",
    "redirect_to_file": "redirects to file:///etc/passwd",
    "redirect_to_no_url": "what is no URL",
    "redirect_to_no_host": "what is no URL",
    "endless_continue": "too long for one page",
    "endless_header": "too long for one page",
    "redirect_circle": "redirects without end",
    "big_page": "over 1 MB",
    "gzip_bomb": "over 1 MB",
    "gzip_damaged": "damaged page",
    "gzip_cut": "damaged page",
    "brotli": "not asked for",
    "slow": "too long",
    "silent": "could not be asked",
    "hangs_up": "could not be asked",
    "refuses": "refused access",
    "too_often": "asked too often",
    "fails": "status 500",
}


@pytest.mark.parametrize("mode", HOSTILE)
def test_a_hostile_registry_gets_a_sentence_and_what_was_known_stays(
    ctx: AppContext, db: apsw.Connection, mode: str
) -> None:
    with fake_registry([entry(n) for n in range(5)]) as server:
        source = added(ctx, db, server)
        sync(ctx, db, source)
        server.mode = mode
        with pytest.raises(SourceError) as caught:
            sync(ctx, db, sources.named(db, "team"), limits=FEW)
    assert HOSTILE[mode] in caught.value.title and caught.value.hint
    assert caught.value.title.isprintable()
    assert {f"server-{n}" for n in range(5)} <= names(db)
    assert sources.named(db, "team").problem == caught.value.title


def test_a_cursor_stays_one_value_whatever_it_holds(ctx: AppContext, db: apsw.Connection) -> None:
    with fake_registry([], "cursor_with_query") as server:
        assert sync(ctx, db, added(ctx, db, server)).progress.servers == 2
        assert server.asked[1]["path"] == "/v0.1/servers" and "search" not in server.asked[1]


def test_a_redirect_on_the_same_host_is_followed(ctx: AppContext, db: apsw.Connection) -> None:
    with fake_registry([entry(1)], "redirect_same_host") as server:
        assert sync(ctx, db, added(ctx, db, server)).progress.servers == 1


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://registry.example.com", "without encryption"),
        ("https://localhost:8000", "this machine"),
        ("https://127.0.0.1", "this machine"),
        ("https://[::1]/", "this machine"),
        ("https://10.0.0.7", "this machine"),
        ("https://0x7f000001/", "this machine"),
        ("https://2130706433/", "this machine"),
        ("https://169.254.169.254/", "this machine"),
        ("https://[::ffff:127.0.0.1]/", "this machine"),
        ("https://registry.internal/", "this machine"),
        ("file:///etc/passwd", "is no URL"),
        ("https://[bad", "is no URL"),
        ("https://user:pw@registry.example.com", "user name or a password"),
        ("https://registry.example.com/?x=1", "without a query"),
    ],
)
def test_a_source_that_is_not_public_https_is_refused(
    ctx: AppContext, db: apsw.Connection, url: str, reason: str
) -> None:
    with pytest.raises(ToolcribError) as caught:
        sources.add(ctx, db, url)
    assert reason in caught.value.title and "--private" in caught.value.hint
    assert market.sources(db) == ()


def test_a_public_name_that_leads_inside_is_not_asked(ctx: AppContext, db: apsw.Connection) -> None:
    source = sources.add(ctx, db, "https://registry.example.com", name="team")
    client = sources.client(ctx, source)
    client.resolve = lambda _host, _port: ["93.184.216.34", "127.0.0.1"]
    try:
        with pytest.raises(SourceError, match="address of this machine or its network"):
            client.page()
    finally:
        client.close()


@pytest.mark.timeout(60)
def test_a_host_that_takes_no_connection_is_given_up(ctx: AppContext, db: apsw.Connection) -> None:
    with contextlib.ExitStack() as held:
        full = held.enter_context(socket.socket())
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for _ in range(4):  # its queue is full: what comes then gets no answer, as without a route
            waiting = held.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(full.getsockname())
        url = f"http://127.0.0.1:{full.getsockname()[1]}"
        source = sources.add(ctx, db, url, name="team", private=True)
        limits = Limits(read_seconds=3_600.0, connect_seconds=0.2)
        with pytest.raises(SourceError, match="cannot be reached") as caught:
            sync(ctx, db, source, limits=limits)
        assert "Check this machine's network" in caught.value.hint
        assert sources.named(db, "team").problem == caught.value.title


def test_a_private_list_that_only_the_proxy_can_reach_is_read(
    ctx: AppContext, db: apsw.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    with fake_registry([entry(1)]) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        where = "http://registry.corp.invalid"
        source = sources.add(ctx, db, where, name="team", private=True)
        sync(ctx, db, source)
    assert market.count(db)[0] == 1


def test_a_look_up_that_the_system_does_not_end_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ended = threading.Event()
    with monkeypatch.context() as here:
        here.setattr(socket, "getaddrinfo", lambda *_args, **_more: ended.wait(60) and [])
        with pytest.raises(TimeoutError):
            resolve("registry.example.com", 443, seconds=0.05)
    ended.set()
    for thread in threading.enumerate():
        if thread.name == "look-up":
            thread.join(10)


def test_a_teams_list_that_was_a_source_with_another_header_is_read_as_the_member(
    ctx: AppContext, db: apsw.Connection
) -> None:
    url = "https://team.example"
    sources.add(ctx, db, url, name="ours", header="X-Key", value="own-key-123456")
    with transaction(db):
        team = teams.join(db, url, "acme", "mia", "member", 1.0)
    for token in ("team-token-1234567890", "team-token-0987654321"):  # the second is a renewal
        sources.keep_team(ctx, db, team, token)
        (source,) = [one for one in market.sources(db) if one.url == url]
        sources.client(ctx, source).close()
    assert (source.name, source.header) == ("acme", "Authorization")
    sources.keep_team(ctx, db, team, "")
    assert all(one.url != url for one in market.sources(db))
