"""No answer of any endpoint holds a row, name, count or text of another organisation.

Random organisations, members, roles, allowlists and calls, over real HTTP. The same once our
statements have lost their conditions of organisation, scope and allowlist: row-level security
alone keeps them apart. A route or a method of the protocol without a case fails the first test.
"""

import asyncio
import datetime
import inspect
import itertools
import json
import os
import random
import re
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest

from app.core.paths import Paths
from app.encoder.onnx import Encoder
from app.encoder.weights import ensure_model
from app.gateway.backend.web.bounded import bounded_config
from app.secrets.secret_store import Secrets
from app.team_server import credentials, service
from app.team_server.configuration import Configuration
from app.team_server.limiting import Limits
from app.team_server.sealing import KEY_VARIABLE, Sealer, new_key
from app.team_server.serving import Replica, ReplicaServer, listen, make
from store.team import tokens
from store.team.connecting import as_owner
from tests.fakes.team_tenants import MARK, SECRET, Agent, Tenant, add_server, fill
from tests.fakes.team_visit import Home, LeakError, Visit
from tests.fakes.web_client import Answer, WebClient
from tests.store.team.test_team_isolation import careless

SEED = 20_261_126
ORGANISATIONS = 200
CALLS = int(os.environ.get("TOOLCRIB_ISOLATION_CALLS", "240"))
METRICS = "watch-me"
WORKERS = 4
NAMED = re.compile(r"org\d+x\d+(?:/t\d+)?")  # servers and tools
METHODS = ("ping", "initialize", "tools/list", "tools/call", "server/discover")


def test_every_route_and_method_has_a_case(home: Home) -> None:
    """A route that is added to the server is added to this test."""
    assert {(method, path) for method, path in CASES if path} == home.replica.application.routes
    asked_for = set(re.findall(r'method == "([\w/]+)"', inspect.getsource(service.Service)))
    assert asked_for == set(METHODS)


# ---- cases: what is one's own is all there, what is another's is as what is not there


def opened(path: str) -> Callable[[Visit], None]:
    def case(visit: Visit) -> None:
        token = f"Bearer {METRICS}" if path == "/metrics" else None
        answer = visit.client(path).send("GET", Authorization=token)
        whole = f"{answer.headers} {answer.body.decode()}"
        assert answer.status == 200 and not MARK.search(whole) and not SECRET.search(whole)

    return case


def me(visit: Visit) -> None:
    given = visit.json("GET", "/v1/me")
    who = visit.agent.who
    profiles = {n for n, grants in visit.mine.profiles.items() if visit.mine.opens(who, grants)}
    assert set(given["profiles"]) == profiles
    assert (given["organisation"], given["member"]) == (visit.mine.mark, who.name)
    assert given["role"] == who.role
    assert given["cursor"] == numbers(visit, "SELECT last FROM cursors WHERE organisation_id = %s")


def listed_servers(visit: Visit) -> None:
    """The operator's lists, the same for every organisation."""
    given = visit.json("GET", f"/v0.1/servers?cursor={visit.rng.randint(0, 3)}")
    assert set(given) == {"servers", "metadata"}


def numbers(visit: Visit, statement: str) -> int:
    """A number of the caller's organisation as the operator sees it."""
    with as_owner(visit.home.replica.pool) as db:
        return db.execute(statement, (visit.mine.id,)).fetchone()[0]


def changes(visit: Visit) -> None:
    items, cursor = [], 0
    limit = visit.rng.choice([1_000, 7])
    while True:
        page = visit.json("GET", f"/v1/changes?cursor={cursor}&limit={limit}")
        items += page["items"]
        cursor = page["cursor"]
        if not page["more"]:
            break
    who, mine = visit.agent.who, visit.mine
    there = {kind: [i for i in items if i["kind"] == kind and not i.get("deleted")]
             for kind in ("server", "tool", "profile", "policy", "review")}  # fmt: skip
    assert {item["name"] for item in there["server"]} == mine.servers(who)
    assert {f"{i['server']}/{i['name']}" for i in there["tool"]} == mine.tools(who)
    assert {i["name"] for i in there["profile"]} == {
        name for name, grants in mine.profiles.items() if mine.opens(who, grants)
    }
    assert {i["name"] for i in there["policy"]} >= {mine.mark}
    assert {item["tool"] for item in there["review"]} <= set(mine.tool_ids)
    own = {"tool": set(mine.tool_ids), "server": set(mine.server_ids)}
    for kind, ids in own.items():
        assert {item["id"] for item in items if item["kind"] == kind} == ids


def labels(visit: Visit) -> None:
    def ask(mark: str) -> Answer:
        sent = {"labels": [{"query": f"same words {mark}", "tools": [f"{mark}0/t0"]}]}
        return visit.client("/v1/labels").send("POST", json.dumps(sent).encode())

    assert visit.alike(ask).last == {"taken": 1}


def use(visit: Visit) -> None:
    def ask(mark: str) -> Answer:
        day = datetime.datetime.now(datetime.UTC).date().isoformat()
        sent = {"counts": [{"day": day, "kind": "miss", "tool": f"{mark}0/t0", "count": 1}]}
        return visit.client("/v1/use").send("POST", json.dumps(sent).encode())

    assert visit.alike(ask).last == {"taken": 1}


def concerned(visit: Visit) -> None:
    answer = visit.alike(lambda mark: visit.client(f"/v1/profiles/{mark}-0").send("GET"))
    assert answer.status == 403
    who, mine = visit.agent.who, visit.mine
    allowed = who.role != "member" and who.allow is None
    for name, grants in mine.profiles.items():
        given = visit.json("GET", f"/v1/profiles/{name}", status=200 if allowed else 403)
        if allowed:
            seeing = {one.name for one in mine.people if mine.opens(one, grants)}
            assert {one["name"] for one in given["members"]} == seeing


def save_profile(visit: Visit) -> None:
    """A profile of another's name is one's own, and goes again."""
    body = json.dumps({"settings": {}, "ticks": [{"tool": f"{visit.other.mark}0/t0"}]}).encode()
    allowed = visit.agent.who.role != "member" and visit.agent.who.allow is None

    def ask(mark: str) -> Answer:
        client = visit.client(f"/v1/profiles/{mark}-0")
        made = client.send("PUT", body)
        assert (client.send("DELETE").status == 200) is allowed
        return made

    assert visit.alike(ask).status == (200 if allowed else 403)


def delete_profile(visit: Visit) -> None:
    answer = visit.alike(lambda mark: visit.client(f"/v1/profiles/{mark}-0").send("DELETE"))
    assert answer.status == 403


def save_policy(visit: Visit) -> None:
    body = json.dumps({"text": "version = 1\n"}).encode()
    answer = visit.alike(lambda mark: visit.client(f"/v1/policies/{mark}").send("PUT", body))
    assert answer.status in (200, 403, 400)


def review(visit: Visit) -> None:
    """A tool of another organisation is refused like one that does not exist."""

    def ask(mark: str) -> Answer:
        rows = [{"tool": f"{mark}0/{mark}0", "hash": f"{mark}0"}]
        body = json.dumps({"decision": "kept", "tools": rows}).encode()
        return visit.client("/v1/reviews").send("POST", body)

    assert visit.alike(ask).status == 403


def save_credential(visit: Visit) -> None:
    sent = json.dumps({"headers": {"X-Key": "k"}}).encode()
    path = "/v1/credentials/{}0"
    answer = visit.alike(lambda mark: visit.client(path.format(mark)).send("PUT", sent))
    assert answer.status == 403
    visit.checked(visit.client(path.format(visit.mine.mark)).send("PUT", sent))


def sign_in(method: str) -> Callable[[Visit], None]:
    """A sign-in at a server of another organisation, and its end, are refused like no server's."""

    def case(visit: Visit) -> None:
        body = {"back": "http://127.0.0.1:9/callback", "state": "s" * 43, "ticket": "t"}
        sent = b"" if method == "DELETE" else json.dumps(body).encode()
        path = "/v1/sign-ins/{}0"
        answer = visit.alike(lambda mark: visit.client(path.format(mark)).send(method, sent))
        assert answer.status == 403

    return case


def end_token(visit: Visit) -> None:
    """A token ends itself, and no other of its member."""
    with as_owner(visit.home.replica.pool) as db:
        value = tokens.issue(db, visit.agent.who, visit.mine.mark)[1]
    client = WebClient(visit.home.port, value, "/v1/tokens")
    assert visit.checked(client.send("DELETE")).last == {"ended": True}
    assert client.send("DELETE").status == 401
    assert visit.json("GET", "/v1/me")["member"] == visit.agent.who.name


def sign_in_states(visit: Visit) -> None:
    """Servers of the caller where each member signs in, and no other's credential."""
    given = visit.json("GET", "/v1/sign-ins")["servers"]
    seen = visit.mine.servers(visit.agent.who)
    assert set(given) == {name for name in seen if visit.mine.sign_in[name] == "member"}


def no_token(visit: Visit) -> None:
    """A token makes no other token."""
    assert visit.checked(visit.client("/v1/tokens").send("POST", b"{}")).status == 403


def stray_callback(visit: Visit) -> None:
    answer = visit.checked(visit.client("/oauth/callback").send("GET", Authorization=None))
    assert answer.status == 400


def target(template: str) -> Callable[[Visit], None]:
    """Every method of the protocol at an address that is one's own, and at another's."""

    def case(visit: Visit) -> None:
        who, mine = visit.agent.who, visit.mine
        own = {
            "/mcp": [""],
            "/mcp/{name}": [n for n, g in mine.profiles.items() if mine.opens(who, g)],
            "/servers/{name}/mcp": sorted(mine.servers(who)),
        }[template]
        if "{name}" in template:
            place = "{}-0" if template.startswith("/mcp") else "{}0"

            def ask(mark: str) -> Answer:
                path = template.replace("{name}", quote(place.format(mark)))
                return visit.client(path).ask("tools/list")

            assert visit.alike(ask).status == 403
        if own:
            path = template.replace("{name}", quote(visit.rng.choice(own)))
            for method in METHODS:
                PROTOCOL[method](visit, path)

    return case


def ping(visit: Visit, path: str) -> None:
    client = in_session(visit, path)
    assert visit.checked(client.request("ping")).last["result"] == {}


def in_session(visit: Visit, path: str) -> WebClient:
    client = visit.client(path)
    visit.checked(client.initialize())
    return client


def initialize(visit: Visit, path: str) -> None:
    """A session is of its caller: another's is as one that is not there."""
    hello = visit.checked(visit.client(path).initialize())
    assert set(NAMED.findall(json.dumps(hello.last))) <= visit.mine.servers(visit.agent.who)
    stranger = visit.rng.choice(visit.other.agents)
    theirs = WebClient(visit.home.port, stranger.value, "/mcp")
    theirs.initialize()
    answers = []
    for session in (theirs.headers["Mcp-Session-Id"], "e30.AAAA"):
        client = visit.client("/mcp")
        client.headers["Mcp-Session-Id"] = session
        answers.append(visit.checked(client.request("tools/list", number=1)))
    assert {(one.status, one.body) for one in answers} == {(404, answers[0].body)}


def discover(visit: Visit, path: str) -> None:
    answer = visit.checked(visit.client(path).ask("server/discover"))
    assert set(NAMED.findall(answer.body.decode())) <= visit.mine.servers(visit.agent.who)


def listed(visit: Visit, path: str) -> None:
    answer = visit.checked(visit.client(path).ask("tools/list"))
    own = visit.mine.tools(visit.agent.who)
    servers = visit.mine.servers(visit.agent.who)
    tools = {tool["name"] for tool in answer.last["result"]["tools"]}
    if path.startswith("/servers/"):
        server = path.split("/")[2]
        assert {f"{server}/{name}" for name in tools} == {
            tool for tool in own if tool.startswith(f"{server}/")
        }
        return
    pinned = {name.replace("__", "/") for name in tools - {"search_tools", "call_tool"}}
    assert pinned <= own
    if path == "/mcp":
        assert set(NAMED.findall(answer.body.decode())) == servers


def called(visit: Visit, path: str) -> None:
    own, foreign = visit.mine.tools(visit.agent.who), "{}0/t0"
    client = visit.client(path)

    def call(tool: str, arguments: dict) -> Answer:
        return client.ask("tools/call", {"name": tool, "arguments": arguments}, number=1)

    if path.startswith("/servers/"):
        visit.alike(lambda mark: call(foreign.format(mark), {}))
        visit.checked(call("t0", {}))
        return
    query = visit.rng.choice(["reads common files", "common", visit.mine.text, "t1"])
    answer = visit.checked(call("search_tools", {"query": query}))
    named = {name for name in NAMED.findall(answer.text) if "/" in name}
    assert named <= own
    if path == "/mcp" and query == "reads common files":
        assert bool(named) is bool(own), answer.text
    for arguments in (
        {"query": "{}0/t0"},
        {"query": "reads common files {}"},
        {"query": "reads common files", "server": "{}0"},
        {"tool": "common{}", "server": "{}0"},
    ):
        answers = visit.aimed(  # by their meaning two texts may rank in two orders
            lambda mark, given=arguments: call(
                "search_tools", {key: text.format(mark) for key, text in given.items()}
            )
        )
        for answer in answers.values():
            assert {name for name in NAMED.findall(answer.text) if "/" in name} <= own
    answer = visit.alike(lambda mark: call("call_tool", {"name": foreign.format(mark)}))
    assert "there is no such tool" in answer.text
    visit.alike(lambda mark: call(foreign.format(mark).replace("/", "__"), {}))
    for tool in sorted(own)[:1]:
        visit.checked(call("call_tool", {"name": tool}))


PROTOCOL = {
    "ping": ping,
    "initialize": initialize,
    "tools/list": listed,
    "tools/call": called,
    "server/discover": discover,
}
WELL_KNOWN = "/.well-known/oauth-protected-resource"
CASES: dict[tuple[str, str], Callable[[Visit], None]] = {
    **{
        ("GET", path): opened(path)
        for path in ("/healthz", "/readyz", "/metrics", WELL_KNOWN, f"{WELL_KNOWN}/mcp")
    },
    **{("POST", path): target(path) for path in ("/mcp", "/mcp/{name}", "/servers/{name}/mcp")},
    ("GET", "/oauth/callback"): stray_callback,
    ("GET", "/v1/me"): me,
    ("GET", "/v1/changes"): changes,
    ("GET", "/v0.1/servers"): listed_servers,
    ("POST", "/v1/labels"): labels,
    ("POST", "/v1/use"): use,
    ("GET", "/v1/profiles/{name}"): concerned,
    ("PUT", "/v1/profiles/{name}"): save_profile,
    ("DELETE", "/v1/profiles/{name}"): delete_profile,
    ("PUT", "/v1/policies/{name}"): save_policy,
    ("POST", "/v1/reviews"): review,
    ("PUT", "/v1/credentials/{name}"): save_credential,
    ("POST", "/v1/tokens"): no_token,
    ("DELETE", "/v1/tokens"): end_token,
    ("GET", "/v1/sign-ins"): sign_in_states,
    **{(method, "/v1/sign-ins/{name}"): sign_in(method) for method in ("POST", "PUT", "DELETE")},
}


# ---- the world


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    models = Path(os.environ["TOOLCRIB_MODELS"])
    return Encoder.load(ensure_model(Paths(models.parent, models)))


@pytest.fixture(scope="module")
def home(dsn: str, encoder: Encoder, no_process_left_behind: None) -> Iterator[Home]:
    sealer = Sealer.from_environ({KEY_VARIABLE: new_key()})
    with serving(dsn, sealer) as (replica, port):
        yield Home(replica, port, filled(replica, encoder, sealer), sealer)


def filled(replica: Replica, encoder: Encoder, sealer: Sealer) -> list[Tenant]:
    rng = random.Random(SEED)
    with as_owner(replica.pool) as db:
        return [
            fill(db, rng, number, model=encoder.key, seal=sealed(sealer))
            for number in range(ORGANISATIONS)
        ]


def sealed(sealer: Sealer) -> Callable[[int, int, str], bytes]:
    def seal(organisation: int, server: int, text: str) -> bytes:
        return credentials.seal(sealer, Secrets(headers={"X-Key": text}), organisation, server, 0)

    return seal


@contextmanager
def serving(dsn: str, sealer: Sealer) -> Iterator[tuple[Replica, int]]:
    """A replica in a thread, at a real port."""
    own = listen("127.0.0.1", 0)
    port = own.getsockname()[1]
    given = Configuration(
        database=dsn,
        url=f"http://127.0.0.1:{port}",
        limits=Limits(rate=1e6, burst=10**6, calls_a_day=10**9),
        metrics_token=METRICS,
    )
    replica = make(given, sealer)
    config = bounded_config(replica.application, end_seconds=5, log_level="error")
    server = ReplicaServer(config, replica.application, 0.0)
    ready = threading.Barrier(WORKERS + 1)  # its threads are there before a test counts them

    async def serve() -> None:
        loop = asyncio.get_running_loop()
        loop.set_default_executor(ThreadPoolExecutor(WORKERS))
        for _ in range(WORKERS):
            loop.run_in_executor(None, ready.wait)
        await server.serve(sockets=[own])

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    try:
        ready.wait(60.0)
        replica.finder.close()  # the encoder is there
        yield replica, port
    finally:
        server.should_exit = True
        thread.join(30.0)
        replica.close()
        own.close()


def visits(home: Home, count: int, seed: int) -> Iterator[tuple[tuple[str, str], Visit]]:
    """Every route in turn, by random callers aimed at random others."""
    rng = random.Random(seed)
    for route in itertools.islice(itertools.cycle(CASES), count):
        mine, other = rng.sample(home.tenants, 2)
        yield route, Visit(home, mine, other, rng.choice(mine.agents), rng)


# ---- the properties


def test_random_calls_of_every_endpoint_return_nothing_of_anothers(home: Home) -> None:
    for route, visit in visits(home, CALLS, SEED + 1):
        CASES[route](visit)
    untouched(home)


def test_row_level_security_alone_keeps_every_endpoint_apart(home: Home, monkeypatch) -> None:
    """The same calls; our statements have lost their conditions."""
    lost = strip(monkeypatch, home)
    for route, visit in visits(home, CALLS, SEED + 2):
        CASES[route](visit)
    untouched(home)
    assert lost["statements"] > 10 * CALLS // len(CASES)


def test_without_row_level_security_these_calls_would_notice(home: Home, monkeypatch) -> None:
    """The test can fail: bare statements of the owner bring what is another's."""
    strip(monkeypatch, home)
    monkeypatch.setattr("store.team.connecting._LEAVE_OWNER", "SELECT 1")
    leaks = set()
    for route in (("GET", "/v1/me"), ("GET", "/v1/changes"), ("POST", "/mcp")):
        for one, visit in visits(home, 3 * len(CASES), SEED + 3):
            if one == route:
                with suppress(LeakError):
                    CASES[route](visit)
                    continue
                leaks.add(route)
    assert len(leaks) == 3, leaks


def strip(monkeypatch: pytest.MonkeyPatch, home: Home) -> dict[str, int]:
    """Take conditions of organisation, scope and allowlist out of every statement."""
    lost = {"statements": 0}
    whole = psycopg.Cursor.execute

    def execute(cursor: psycopg.Cursor, query: object, *args: object, **more: object) -> object:
        text = query.decode() if isinstance(query, bytes) else query
        text = text if isinstance(text, str) else text.as_string(cursor)
        bare = careless(text)
        lost["statements"] += bare != text
        return whole(cursor, bare.encode(), *args, **more)

    monkeypatch.setattr(psycopg.Cursor, "execute", execute)
    return lost


def untouched(home: Home) -> None:
    """Every organisation still has its own rows, and none that another wrote."""
    with as_owner(home.replica.pool) as db:
        for tenant in home.tenants:
            for table, wanted in {
                "servers": set(tenant.grants),
                "profiles": set(tenant.profiles),
            }.items():
                rows = db.execute(
                    f"SELECT name FROM {table} WHERE organisation_id = %s", (tenant.id,)
                )
                assert {name for (name,) in rows} == wanted
            (texts,) = db.execute(
                "SELECT array_agg(text) FROM policies WHERE organisation_id = %s", (tenant.id,)
            ).fetchone()
            assert set(map(int, SECRET.findall(str(texts)))) == {tenant.number}


def test_an_answer_depends_on_no_other_organisation(home: Home, encoder: Encoder) -> None:
    """Others grow and shrink: every answer of a reader stays as it was, byte by byte."""
    rng = random.Random(SEED + 4)
    quiet = rng.sample(home.tenants, 20)
    readers = [(one, agent) for one in quiet for agent in rng.sample(one.agents, 2)]
    before = [read(home, agent) for _, agent in readers]
    with as_owner(home.replica.pool) as db:
        for tenant in home.tenants:
            if tenant not in quiet:
                for _ in range(2):
                    at = len(tenant.grants) + 10
                    add_server(db, rng, tenant, at, model=encoder.key, seal=sealed(home.sealer))
        loud = [tenant.id for tenant in home.tenants if tenant not in quiet]
        db.execute("DELETE FROM tools WHERE organisation_id = ANY(%s) AND id %% 3 = 0", (loud,))
    for (tenant, agent), answers in zip(readers, before, strict=True):
        assert read(home, agent) == answers, (tenant.mark, agent.who)


def read(home: Home, agent: Agent) -> list[bytes]:
    """What a caller can read, in the order of the cases."""

    def client(path: str) -> WebClient:
        return WebClient(home.port, agent.value, path)

    answers = [client(path).send("GET").body for path in ("/v1/me", "/v1/changes?limit=1000")]
    mcp = client("/mcp")
    answers += [mcp.ask(method, number=1).body for method in ("tools/list", "server/discover")]
    for query in ("reads common files", "common", "please do it", "cmmon files"):
        given = {"name": "search_tools", "arguments": {"query": query, "limit": 20}}
        answers.append(mcp.ask("tools/call", given, number=1).body)
    return answers
