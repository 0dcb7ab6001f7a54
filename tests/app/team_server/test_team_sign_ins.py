"""Members sign in to a server of the team, each for himself: real replicas, Postgres, and a real
authorization server before a real MCP server."""

import json
import re
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from urllib.parse import parse_qs, urlsplit

import httpx2
import psycopg
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "fakes"))
from guarded import Browser, Guarded

from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.core.paths import Paths
from app.core.settings import Settings
from app.team import membership, own_sign_in
from app.team.client import TeamClient
from tests.fakes.team_replica import team_with_a_guarded_server
from tests.fakes.web_client import WebClient

pytestmark = pytest.mark.timeout(180)
BACK, STATE = "http://127.0.0.1:9/callback", "s" * 43


@dataclass(frozen=True)
class World:
    url: str
    dsn: str
    guarded: Guarded
    tokens: dict[str, str]

    def client(self, member: str) -> TeamClient:
        return TeamClient(self.url, self.tokens[member])

    def call(self, member: str) -> str:
        """The credential that arrives at the server when a member calls its tool."""
        web = WebClient(int(self.url.rpartition(":")[2]), self.tokens[member], "/mcp")
        given = {"name": "call_tool", "arguments": {"name": "guarded/echo_token"}}
        return web.ask("tools/call", given).text


@pytest.fixture(scope="module")
def world(no_process_left_behind: None) -> Iterator[World]:
    with team_with_a_guarded_server() as (given, guarded, tokens):
        yield World(given["TOOLCRIB_TEAM_URL"], given["TOOLCRIB_TEAM_DATABASE"], guarded, tokens)


@pytest.fixture
def browser() -> Iterator[Browser]:
    browser = Browser()
    yield browser
    browser.close()


@pytest.fixture
def sign_in(world: World, tmp_path: Path, browser: Browser) -> Callable[[str], int]:
    """Joins as a member in a home of its own, and signs in as a person with a browser does."""

    def enter(member: str) -> int:
        home = tmp_path / member
        ctx = AppContext(Paths(home, home / "models"), Settings())
        ctx.paths.create()
        with closing(ctx.open_store()) as db:
            membership.join(ctx, db, world.url, world.tokens[member])
            return own_sign_in.sign_in(ctx, db, "guarded", browser.open, 60)

    return enter


@pytest.fixture
def tools_read(world: World, sign_in: Callable[[str], int]) -> None:
    """An editor has signed in, which reads the server's tools, and they are reviewed."""
    with psycopg.connect(world.dsn) as db:
        if db.execute("SELECT FROM toolcrib.tools").fetchone() is None:
            assert sign_in("ed") == 2
        db.execute("UPDATE toolcrib.tools SET held = false, trusted_hash = hash")


def page_of(world: World, member: str) -> str:
    with world.client(member) as client:
        return str(client.send("/v1/sign-ins/guarded", {"back": BACK, "state": STATE})["page"])


def ticket_of(page: str) -> str:
    """The code that the browser would bring to the member's machine, after a yes on the page."""
    answer = httpx2.get(page)
    while "/oauth/callback" not in str(answer.request.url):
        answer = httpx2.get(answer.headers["location"])
    assert answer.status_code == 302, answer.text
    return parse_qs(urlsplit(answer.headers["location"]).query)["code"][0]


def stored(world: World) -> str:
    with psycopg.connect(world.dsn) as db:
        return str(db.execute("SELECT * FROM toolcrib.upstream_secrets").fetchall())


def test_each_member_calls_with_his_own_sign_in_and_without_one_not_at_all(
    world: World, sign_in: Callable[[str], int], tools_read: None
) -> None:
    sign_in("ed")
    assert sign_in("mia") == -1
    eds, mias = world.call("ed"), world.call("mia")
    assert eds.startswith("Bearer tok-a-") and mias.startswith("Bearer tok-a-") and eds != mias
    none = world.call("max")
    assert "You have no credential for guarded." in none and "toolcrib team sign-in" in none
    assert "tok-" not in none
    for secret in (eds, mias):
        assert secret.removeprefix("Bearer ") not in stored(world)
    with psycopg.connect(world.dsn) as db:
        audit = str(db.execute("SELECT * FROM toolcrib.audit").fetchall())
    assert "tok-" not in audit


def test_an_ended_token_is_renewed_once_and_a_revoked_one_asks_for_a_new_sign_in(
    world: World, sign_in: Callable[[str], int], tools_read: None
) -> None:
    world.guarded.control(life=20)  # shorter than what counts as near its end
    sign_in("max")
    first = world.call("max")
    before = world.guarded.control(life=3600)
    second = world.call("max")
    assert second.startswith("Bearer tok-a-") and second != first
    assert world.call("max") == second
    after = world.guarded.control()
    assert after["refreshed"] == before["refreshed"] + 1 and after["reused"] == 0
    world.guarded.control(life=20)
    sign_in("max")
    world.guarded.control(life=3600, end_all=True)
    ended = world.call("max")
    assert "Your sign-in to guarded has ended." in ended and "toolcrib team sign-in" in ended


def test_a_token_that_ends_early_is_renewed_once_and_no_other_member_notices(
    world: World, sign_in: Callable[[str], int], tools_read: None
) -> None:
    sign_in("mia"), sign_in("max")
    with world.client("max") as client:
        assert client.sign_ins() == {"guarded": own_sign_in.SIGNED_IN}
    mias, first = world.call("mia"), world.call("max")
    before = world.guarded.control(end_token=first.removeprefix("Bearer "))
    with ThreadPoolExecutor(4) as pool:  # all of them are refused, and done once each
        answers = list(pool.map(world.call, ["max"] * 4))
    assert len(set(answers)) == 1 and answers[0].startswith("Bearer tok-a-")
    assert answers[0] != first and world.call("mia") == mias
    after = world.guarded.control()
    assert after["refreshed"] == before["refreshed"] + 1 and after["reused"] == 0
    world.guarded.control(end_token=answers[0].removeprefix("Bearer "))
    again = world.call("max")
    assert again.startswith("Bearer tok-a-") and again != answers[0]


def test_where_a_renewed_token_is_refused_too_the_sign_in_has_ended_and_no_call_goes_round(
    world: World, sign_in: Callable[[str], int], tools_read: None
) -> None:
    sign_in("mia"), sign_in("max")
    mias = world.call("mia")
    world.guarded.control(refused_clients=[client_of(world, "max")])
    before = world.guarded.control()
    ended = world.call("max")
    assert "Your sign-in to guarded has ended." in ended
    assert "Sign in again: toolcrib team sign-in guarded, or View, Profile, Team…" in ended
    assert world.call("max") == ended
    with world.client("max") as client:
        assert client.sign_ins() == {"guarded": own_sign_in.ENDED}
    after = world.guarded.control()
    assert after["refreshed"] == before["refreshed"] + 1
    assert world.call("mia") == mias
    world.guarded.control(refused_clients=[])
    sign_in("max")
    assert world.call("max").startswith("Bearer tok-a-")


def client_of(world: World, member: str) -> str:
    """The client that the team server registered for a member's sign-in."""
    return str(world.guarded.control(client_of=world.call(member))["client"])


def test_a_stored_token_that_is_refused_names_the_verb_that_stores_another(
    world: World, tools_read: None
) -> None:
    with world.client("max") as client:
        client.send("/v1/sign-ins/guarded", {}, "DELETE")
        given = {"headers": {"Authorization": "Bearer stale"}}
        client.send("/v1/credentials/guarded", given, "PUT")
        for _ in range(2):
            answer = world.call("max")
            assert "guarded does not take your credential any more." in answer
            assert "toolcrib team credential guarded" in answer and "stale" not in answer
        assert client.sign_ins() == {"guarded": own_sign_in.STORED}
        client.send("/v1/sign-ins/guarded", {}, "DELETE")


def test_a_credential_is_kept_for_a_server_whose_name_has_a_blank(world: World) -> None:
    copied = (
        "INSERT INTO toolcrib.servers (organisation_id, scope_id, name, transport, url, sign_in)"
        " SELECT organisation_id, scope_id, 'two words', transport, url, sign_in"
        " FROM toolcrib.servers WHERE name = 'guarded'"
    )
    with psycopg.connect(world.dsn, autocommit=True) as db:
        db.execute(copied)
        try:
            with world.client("max") as client:
                given = {"headers": {"Authorization": "Bearer x"}}
                client.send_of_server("credentials", "two words", given, "PUT")
                assert client.sign_ins()["two words"] == own_sign_in.STORED
        finally:
            db.execute("DELETE FROM toolcrib.servers WHERE name = 'two words'")


def test_a_sign_in_that_is_given_up_keeps_nothing_and_its_page_comes_too_late(
    world: World, tmp_path: Path
) -> None:
    ctx = AppContext(Paths(tmp_path / "max", tmp_path / "models"), Settings())
    ctx.paths.create()
    cancel, pages = Event(), []

    def give_up(page: str) -> None:
        pages.append(page)
        cancel.set()

    with closing(ctx.open_store()) as db:
        membership.join(ctx, db, world.url, world.tokens["max"])
        own_sign_in.sign_out(ctx, db, "guarded")
        with pytest.raises(own_sign_in.CancelledError, match="was cancelled"):
            own_sign_in.sign_in(ctx, db, "guarded", give_up, cancel=cancel)
        with suppress(httpx2.ConnectError):  # nothing listens there any more
            httpx2.get(pages[0], follow_redirects=True)
        assert own_sign_in.states(ctx, db) == {"guarded": own_sign_in.MISSING}


def test_a_server_that_the_team_does_not_have_is_no_matter_of_ones_role(world: World) -> None:
    with world.client("mia") as client:
        for kind, method in (("sign-ins", "POST"), ("sign-ins", "DELETE"), ("credentials", "PUT")):
            with pytest.raises(ToolcribError, match="no server gaurded where each") as caught:
                given = {"back": BACK, "state": STATE, "headers": {"Authorization": "x"}}
                client.send_of_server(kind, "gaurded", given, method)
            assert caught.value.hint == "There are: guarded."


def test_signing_out_forgets_and_revokes(
    world: World, sign_in: Callable[[str], int], tools_read: None
) -> None:
    sign_in("mia")
    revoked = world.guarded.control()["revoked"]
    with world.client("mia") as client:
        assert client.send("/v1/sign-ins/guarded", {}, "DELETE")["deleted"] is True
        assert client.send("/v1/sign-ins/guarded", {}, "DELETE")["deleted"] is False
    assert world.guarded.control()["revoked"] == revoked + 1
    assert "no credential" in world.call("mia")


def test_the_page_asks_with_pkce_for_this_server_and_comes_back_to_the_team_server(
    world: World,
) -> None:
    query = parse_qs(urlsplit(page_of(world, "mia")).query)
    assert query["code_challenge_method"] == ["S256"] and len(query["code_challenge"][0]) == 43
    assert query["redirect_uri"] == [f"{world.url}/oauth/callback"]
    assert query["resource"] == [world.guarded.url] and query["scope"] == ["tools"]
    assert "verifier" not in str(query) and "mia" not in str(query)


def test_a_ticket_is_the_members_who_began_and_good_once(world: World) -> None:
    ticket = ticket_of(page_of(world, "mia"))
    with world.client("max") as other, pytest.raises(ToolcribError, match="another member"):
        other.send("/v1/sign-ins/guarded", {"ticket": ticket}, "PUT")
    with world.client("mia") as client:
        assert client.send("/v1/sign-ins/guarded", {"ticket": ticket}, "PUT")["saved"] == "guarded"
        with pytest.raises(ToolcribError, match="gave no tokens"):
            client.send("/v1/sign-ins/guarded", {"ticket": ticket}, "PUT")
        client.send("/v1/sign-ins/guarded", {}, "DELETE")


@pytest.mark.parametrize(
    "back",
    [
        "https://evil.example.org/callback",
        "http://127.0.0.1:80@evil.example.org/callback",
        "http://127.0.0.1:9/callback?x=1",
        "http://localhost:9/callback",
        None,
    ],
)
def test_a_sign_in_goes_back_to_the_members_machine_alone(world: World, back: object) -> None:
    with world.client("mia") as client, pytest.raises(ToolcribError, match=re.escape("127.0.0.1")):
        client.send("/v1/sign-ins/guarded", {"back": back, "state": STATE})


def test_an_answer_that_the_team_server_did_not_begin_is_refused(world: World) -> None:
    state = parse_qs(urlsplit(page_of(world, "mia")).query)["state"][0]
    for made in ("", "x", state[:-8] + "AAAAAAAA", state[:40], "A" * 20_000):
        answer = httpx2.get(f"{world.url}/oauth/callback", params={"code": "c", "state": made})
        assert answer.status_code in (400, 414, 431), made
        assert "location" not in answer.headers
    with world.client("mia") as client, pytest.raises(ToolcribError, match="no sign-in"):
        client.send("/v1/sign-ins/guarded", {"ticket": state}, "PUT")  # a state is no ticket


def test_a_refused_sign_in_and_a_server_of_another_kind(
    world: World, sign_in: Callable[[str], int]
) -> None:
    world.guarded.control(deny="access_denied")
    try:
        with pytest.raises(ToolcribError, match="was not allowed"):
            sign_in("mia")
    finally:
        world.guarded.control(deny="")
    for name in ("nothing", "guarded/x"):
        with world.client("mia") as client, pytest.raises(ToolcribError, match="role"):
            client.send(f"/v1/sign-ins/{name}", {"back": BACK, "state": STATE})


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        ({"hide": ["/.well-known"]}, "do not fit together"),
        ({"hide": ["/register"]}, "does not let new programs register"),
        ({"page": "http://10.0.0.1/authorize"}, "without https"),
        (
            {"page": "X/authorize", "more": {"code_challenge_methods_supported": ["plain"]}},
            "PKCE",
        ),
        ({"page": "X/authorize", "more": {"token_endpoint": "http://10.0.0.1/t"}}, "without https"),
        ({"page": "X/authorize", "more": {"issuer": "http://127.0.0.1:9"}}, "do not fit together"),
    ],
)
def test_a_server_whose_sign_in_is_odd_is_named(
    world: World, mode: dict[str, object], words: str
) -> None:
    plain: dict[str, object] = {"hide": [], "page": "", "more": {}}
    base = world.guarded.base
    world.guarded.control(**json.loads(json.dumps(plain | mode).replace("X/", f"{base}/")))
    try:
        with pytest.raises(ToolcribError, match=words):
            page_of(world, "mia")
    finally:
        world.guarded.control(**plain)
