"""Hostile requests to the team server: tokens, headers, sizes, smuggling, paths, the interface
below /v1/, and server URLs that lead inside. Each has a name; none learns what exists."""

import asyncio
import base64
import contextlib
import hashlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from app.team_server.sealing import new_key
from app.team_server.url_guard import GuardedTransport, RefusedUrlError, UrlGuard
from tests.fakes.team_issuer import Issuer
from tests.fakes.team_kit import cluster, fresh_database
from tests.fakes.team_replica import environment, program, replica
from tests.fakes.verbs import Verbs
from tests.fakes.web_client import Answer, WebClient

SERVER = Path(__file__).parents[2] / "resources" / "sample" / "server.py"


@dataclass(frozen=True)
class World:
    """Two organisations behind one replica, with an issuer that knows a member of one of them."""

    port: int
    issuer: Issuer
    audience: str
    member: str
    admin: str
    agent: str
    outsider: str  # of the other organisation
    revoked: str

    def client(self, token: str, path: str = "/mcp") -> WebClient:
        return WebClient(self.port, token, path)


@pytest.fixture(scope="module")
def world(no_process_left_behind: None) -> Iterator[World]:
    folder = Path(tempfile.mkdtemp(prefix="tch"))
    trial = cluster(folder / "pg")
    try:
        with fresh_database(trial) as dsn, Issuer() as issuer:
            given = environment(
                dsn,
                new_key(),
                TOOLCRIB_TEAM_ISSUERS=issuer.url,
                TOOLCRIB_TEAM_PROGRAMS=f"notes = TOOLCRIB_SAMPLE_STATE={folder / 'state'} "
                f"{sys.executable} {SERVER} notes",
            )
            yield from _filled(given, issuer, folder)
    finally:
        trial.stop()
        shutil.rmtree(folder)


def _filled(given: dict[str, str], issuer: Issuer, folder: Path) -> Iterator[World]:
    def add(name: str, organisation: str, *more: str) -> str:
        program(given, "user", "add", name, "--organisation", organisation, *more)
        return program(given, "token", "issue", name, "--organisation", organisation)

    subject = ("--issuer", issuer.url, "--subject", "jo")
    member = add("jo", "acme", *subject)
    admin = add("ada", "acme", "--role", "admin")
    outsider = add("olga", "other")
    agent = program(given, "token", "issue", "jo", "--organisation", "acme", "--allow", "nothing/*")
    revoked = program(given, "token", "issue", "jo", "--organisation", "acme")
    program(given, "token", "revoke", "5")
    program(given, "server", "add", "notes", "--program", "notes", "--organisation", "acme")
    mail = ("server", "add", "mail", "--program", "notes", "--sign-in", "member")
    program(given, *mail, "--organisation", "acme")
    with replica(given, folder / "err") as running:
        url = given["TOOLCRIB_TEAM_URL"]
        yield World(running.port, issuer, f"{url}/mcp", member, admin, agent, outsider, revoked)
    assert (folder / "err").read_text() == ""


def test_the_right_tokens_open_it(world: World) -> None:
    for token in (world.member, world.admin, world.issuer.token(world.audience)):
        assert world.client(token).ask("tools/list").status == 200


# ---- tokens

OTHER_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
TOKENS: dict[str, Callable[[World], str]] = {
    "empty": lambda w: "",
    "a static token of nobody": lambda w: "tct_" + "A" * 43,
    "a static token cut short": lambda w: w.member[:-1],
    "a static token with one letter more": lambda w: w.member + "A",
    "a static token in other letters": lambda w: w.member.swapcase(),
    "a revoked token": lambda w: w.revoked,
    "a token's hash": lambda w: hashlib.sha256(w.member.encode()).hexdigest(),
    "of another audience": lambda w: w.issuer.token("https://other.example/mcp"),
    "of the server's root as audience": lambda w: w.issuer.token(w.audience.removesuffix("/mcp")),
    "without an audience": lambda w: w.issuer.token(w.audience, aud=None),
    "with many audiences but ours": lambda w: w.issuer.token(w.audience, aud=["a", "b"]),
    "expired": lambda w: w.issuer.token(w.audience, exp=int(time.time()) - 120),
    "without an expiry": lambda w: w.issuer.token(w.audience, exp=None),
    "not valid yet": lambda w: w.issuer.token(w.audience, nbf=int(time.time()) + 600),
    "issued in the future": lambda w: w.issuer.token(w.audience, iat=int(time.time()) + 600),
    "of another issuer": lambda w: w.issuer.token(w.audience, iss="https://evil.example"),
    "of the issuer with a slash more": lambda w: w.issuer.token(w.audience, iss=w.issuer.url + "/"),
    "without an issuer": lambda w: w.issuer.token(w.audience, iss=None),
    "without a subject": lambda w: w.issuer.token(w.audience, sub=None),
    "with an empty subject": lambda w: w.issuer.token(w.audience, sub=""),
    "with a subject that is a list": lambda w: w.issuer.token(w.audience, sub=["jo"]),
    "with a subject that is a number": lambda w: w.issuer.token(w.audience, sub=7),
    "unsigned with a mac": lambda w: w.issuer.unsigned(w.audience) + "x",
    "unsigned": lambda w: w.issuer.unsigned(w.audience),
    "unsigned in capitals": lambda w: w.issuer.unsigned(w.audience, "NONE"),
    "signed with the public key as a password": lambda w: w.issuer.confused(w.audience),
    "signed by another key under our id": lambda w: w.issuer.token(w.audience, key=OTHER_KEY),
    "signed by an unknown key": lambda w: w.issuer.token(w.audience, key=OTHER_KEY, kid="two"),
    "naming its own keys": lambda w: w.issuer.with_head(w.audience, jku="http://127.0.0.1:1/k"),
    "carrying its own key": lambda w: w.issuer.with_head(w.audience, jwk={"kty": "oct", "k": "eA"}),
    "with a critical extension": lambda w: w.issuer.with_head(w.audience, crit=["x"], x=1),
    "with a changed body": lambda w: _changed(w.issuer.token(w.audience)),
    "of two dots": lambda w: "..",
    "of nine thousand letters": lambda w: "e" * 9_000,
    "of deep JSON": lambda w: _deep(),
}  # fmt: skip


def _changed(token: str) -> str:
    head, body, mac = token.split(".")
    return ".".join((head, body[:-4] + ("AAAA" if body[-4:] != "AAAA" else "BBBB"), mac))


def _deep() -> str:
    text = base64.urlsafe_b64encode(b'{"iss":' + b"[" * 2_000).decode().rstrip("=")
    return f"eyJhbGciOiJSUzI1NiJ9.{text}.eA"


@pytest.mark.parametrize("name", TOKENS)
def test_a_token(name: str, world: World) -> None:
    answer = world.client(TOKENS[name](world)).ask("tools/list")
    assert answer.status == 401, answer.body
    challenge = answer.headers["www-authenticate"]
    assert challenge.startswith('Bearer resource_metadata="')
    assert 'error="invalid_token"' in challenge
    assert answer.last["error"]["message"] == "The token is not valid."


@pytest.mark.parametrize("name", ("no token", "a token in the query", "another scheme"))
def test_without_a_bearer_token(name: str, world: World) -> None:
    path = f"/mcp?access_token={world.member}" if "query" in name else "/mcp"
    header = f"Basic {world.member}" if "scheme" in name else None
    answer = world.client("x", path).send("POST", b"{}", Authorization=header)
    assert answer.status == 401 and "error=" not in answer.headers["www-authenticate"]


FORBIDDEN: dict[str, Callable[[World], Answer]] = {
    "a subject that is no member": lambda w: w.client(
        w.issuer.token(w.audience, sub="mallory")
    ).ask("tools/list"),
    "a profile that does not exist": lambda w: w.client(w.member, "/mcp/none").ask("tools/list"),
    "another organisation's server": lambda w: w.client(
        w.outsider, "/servers/notes/mcp"
    ).ask("tools/list"),
    "a server that does not exist": lambda w: w.client(
        w.member, "/servers/none/mcp"
    ).ask("tools/list"),
    "a path that climbs": lambda w: w.client(w.member, "/mcp/../v1/me").ask("tools/list"),
    "a path that climbs in escapes": lambda w: w.client(
        w.member, "/mcp/%2e%2e%2fv1%2fme"
    ).ask("tools/list"),
    "a path with a zero byte": lambda w: w.client(w.member, "/mcp/a%00b").ask("tools/list"),
    "a path escaped twice": lambda w: w.client(w.member, "/mcp/%252e%252e").ask("tools/list"),
    "a path of another spelling": lambda w: w.client(w.member, "/%6dcp").ask("tools/list"),
    "a path with two slashes": lambda w: w.client(w.member, "//mcp").ask("tools/list"),
    "an address that there is not": lambda w: w.client(w.member, "/admin").ask("tools/list"),
    "a member who saves a profile": lambda w: w.client(w.member, "/v1/profiles/x").send(
        "PUT", b'{"version":0}'
    ),
    "a member who saves a policy": lambda w: w.client(w.member, "/v1/policies/team").send(
        "PUT", b'{"text":"version = 1"}'
    ),
    "a member who keeps the organisation's credential": lambda w: w.client(
        w.member, "/v1/credentials/notes"
    ).send("PUT", b'{"shared":true,"headers":{"A":"b"}}'),
    "an agent who saves a credential": lambda w: w.client(w.agent, "/v1/credentials/notes").send(
        "PUT", b'{"headers":{"A":"b"}}'
    ),
    "a list of the members": lambda w: w.client(w.admin, "/v1/members").send("GET"),
}  # fmt: skip


@pytest.mark.parametrize("name", FORBIDDEN)
def test_a_right_that_is_missing(name: str, world: World) -> None:
    answer = FORBIDDEN[name](world)
    assert answer.status == 403, answer.body
    assert 'error="insufficient_scope"' in answer.headers["www-authenticate"]
    assert answer.last["error"]["message"] == "This token may not do that."


PROFILES: dict[str, tuple[dict[str, object], str]] = {
    "settings that are no object": ({"settings": []}, "settings, ticks and a version"),
    "a part that is a list": ({"settings": {"gateway": []}}, "gateway cannot be []. Allowed: an o"),
    "a text for a number": ({"settings": {"budget": {"tokens": "9"}}}, "a whole number"),
    "a number that is none": ({"settings": {"routing": {"theta": float("nan")}}}, "a number"),
    "a number without end": ({"settings": {"budget": {"tokens": 10**400}}}, "up to 1,000,000,000"),
    "a choice that there is not": ({"settings": {"gateway": {"secrets_out": "allow"}}}, "refuse"),
    "a way for new tools that there is not": ({"settings": {"new_tools": ["on"]}}, "a text"),
    "servers that are a number": ({"settings": {"servers": 7}}, "a list of texts"),
    "scopes that are a list": ({"settings": {"scopes": ["*"]}}, "scopes cannot be ['*']."),
    "a precondition that is none": (
        {"settings": {"preconditions": {"*": ["open sesame"]}}}, "preconditions"),
    "settings of a million characters": ({"settings": {"new": "x" * 10**6}}, "200,000 characters"),
    "a tick without a tool": ({"ticks": [{"on": True}]}, "server/tool"),
    "a tick that is a word": ({"ticks": [{"tool": "a/b", "on": "no"}]}, "true or false"),
    "two ticks of a tool": ({"ticks": [{"tool": "a/b"}, {"tool": "a/b"}]}, "one tick"),
}  # fmt: skip


@pytest.mark.parametrize("name", PROFILES)
def test_a_profile_that_an_editor_sends(name: str, world: World) -> None:
    body, words = PROFILES[name]
    client = world.client(world.admin, "/v1/profiles/sent")
    answer = client.send("PUT", json.dumps({"version": 0, **body}).encode())
    assert answer.status == 400 and words in answer.last["error"]["message"], answer.body
    assert client.send("GET").status == 403, "nothing of it is kept"


# ---- headers, sizes, smuggling

BAD: dict[str, tuple[int, Callable[[World], Answer]]] = {
    "a Host of another machine": (421, lambda w: w.client(w.member).ask_with(Host="evil.example")),
    "an Origin of another site": (
        403, lambda w: w.client(w.member).ask_with(Origin="https://evil.example")),
    "a Host forwarded": (421, lambda w: w.client(w.member).ask_with(
        Host="evil.example", X_Forwarded_Host="127.0.0.1")),
    "no JSON": (415, lambda w: w.client(w.member).send("POST", b"{}", Content_Type="text/plain")),
    "an answer that is HTML": (406, lambda w: w.client(w.member).send(
        "POST", b"{}", Accept="text/html")),
    "a body that is no JSON": (400, lambda w: w.client(w.member).send("POST", b"{")),
    "a batch": (400, lambda w: w.client(w.member).send("POST", b"[{}]")),
    "JSON nested too deeply": (400, lambda w: w.client(w.member).send("POST", b"[" * 100_000)),
    "an id that is a list": (400, lambda w: w.client(w.member).send(
        "POST", b'{"jsonrpc":"2.0","id":[1],"method":"ping"}')),
    "a method that the header denies": (400, lambda w: w.client(w.member).ask_with(
        Mcp_Method="tools/call")),
    "a session that was made up": (404, lambda w: w.client(w.member).send(
        "POST", b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}', Mcp_Session_Id="AAAA.BBBB")),
    "no session": (400, lambda w: w.client(w.member).send(
        "POST", b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}')),
    "a stream of a session": (405, lambda w: w.client(w.member).send("GET")),
    "a cursor that is no number": (400, lambda w: w.client(
        w.member, "/v1/changes?cursor=1%20or%201=1").send("GET")),
    "two cursors": (400, lambda w: w.client(w.member, "/v1/changes?cursor=1&cursor=2").send("GET")),
    "a label that is a page": (400, lambda w: w.client(w.member, "/v1/labels").send(
        "POST", json.dumps({"labels": [{"query": "x" * 501, "tools": ["a/b"]}]}).encode())),
    "a million labels": (400, lambda w: w.client(w.member, "/v1/labels").send(
        "POST", json.dumps({"labels": [{}] * 501}).encode())),
    "use of last year": (400, lambda w: w.client(w.member, "/v1/use").send(
        "POST", b'{"counts":[{"day":"2020-01-01","kind":"call","tool":"a/b","count":1}]}')),
    "a negative count": (400, lambda w: w.client(w.member, "/v1/use").send(
        "POST", b'{"counts":[{"day":"2026-11-26","kind":"call","tool":"a/b","count":-1}]}')),
    "a policy that is none": (400, lambda w: w.client(w.admin, "/v1/policies/team").send(
        "PUT", b'{"text":"version = \\"x"}')),
    "a credential that breaks a header": (400, lambda w: w.client(
        w.member, "/v1/credentials/notes").send("PUT", b'{"headers":{"A":"b\\r\\nC: d"}}')),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_request(name: str, world: World) -> None:
    status, send = BAD[name]
    answer = send(world)
    assert answer.status == status, answer.body


RAW: dict[str, tuple[bytes, bytes]] = {
    "two lengths": (b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", b"400"),
    "a length and chunks": (
        b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", b"400"),
    "two tokens": (b"Authorization: Bearer x\r\nContent-Length: 2\r\n\r\n{}", b"400"),
    "two hosts": (b"Host: evil.example\r\nContent-Length: 2\r\n\r\n{}", b"400"),
    "a body of a terabyte": (
        b"Content-Type: application/json\r\nContent-Length: 1099511627776\r\n\r\n", b"413"),
    "a head without an end": (b"X: " + b"y" * 70_000 + b"\r\n", b"400"),
    "a header line that is folded": (b"X: a\r\n b\r\nContent-Length: 2\r\n\r\n{}", b""),
    "a chunk of no size": (
        b"Transfer-Encoding: chunked\r\nContent-Type: application/json\r\n\r\nzz\r\n", b"400"),
}  # fmt: skip


@pytest.mark.parametrize("name", RAW)
def test_bytes(name: str, world: World) -> None:
    """Nothing of what is smuggled is answered as a second request."""
    tail, status = RAW[name]
    head = f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{world.port}\r\n"
    head += f"Authorization: Bearer {world.member}\r\n"
    with socket.create_connection(("127.0.0.1", world.port), timeout=30) as wire:
        wire.sendall(head.encode() + tail)
        seen = b""
        while part := wire.recv(65_536):
            seen += part
            if b"\r\n\r\n" in seen:
                with contextlib.suppress(OSError):
                    wire.shutdown(socket.SHUT_WR)
    assert seen.count(b"HTTP/1.1 ") <= 1 and b"HTTP/1.1 200" not in seen
    assert status in seen.split(b"\r\n")[0]


def test_an_agent_finds_and_calls_only_what_its_token_allows(world: World) -> None:
    agent = world.client(world.agent)
    found = agent.ask("tools/call", {"name": "search_tools", "arguments": {"query": "note"}})
    assert found.text == "No tool fits."
    given = {"name": "call_tool", "arguments": {"name": "notes/list_notes"}}
    assert "there is no such tool" in agent.ask("tools/call", given).text
    assert "there is no such tool" in world.client(world.outsider).ask("tools/call", given).text
    assert world.client(world.member).ask("tools/call", given).last["result"]["isError"] is False


def test_a_member_keeps_an_own_credential_by_the_verb_that_an_error_names(
    world: World, tmp_path: Path, verbs: Verbs
) -> None:
    def verb(*words: str, given: str) -> subprocess.CompletedProcess[bytes]:
        env = {**os.environ, "TOOLCRIB_HOME": str(tmp_path)}
        return verbs.run("team", *words, env=env, given=given.encode())

    url = world.audience.removesuffix("/mcp")
    joined = verb("join", url, given=world.member)
    assert joined.returncode == 0, joined.stderr
    refused = verb("credential", "notes", given="Bearer x")  # a server that takes none
    assert refused.returncode == 1 and b"There are: mail." in refused.stderr
    kept = verb("credential", "mail", given="Bearer x")
    assert kept.returncode == 0 and b"keeps your credential for mail" in kept.stdout, kept.stderr


def test_too_many_requests_wait_and_only_their_member_does(world: World) -> None:
    agent = world.client(world.agent, "/v1/me")
    answers = [agent.send("GET") for _ in range(120)]
    refused = [one for one in answers if one.status == 429]
    assert refused and int(refused[0].headers["retry-after"]) >= 1
    assert world.client(world.member, "/v1/me").send("GET").status == 200


# ---- server URLs

URLS = (
    "http://tools.example.org/mcp", "https://127.0.0.1/mcp", "https://localhost/mcp",
    "https://[::1]/", "https://169.254.169.254/latest/meta-data", "https://10.1.2.3/",
    "https://192.168.0.1/", "https://172.16.0.1/", "https://100.64.0.1/", "https://0.0.0.0/",
    "https://2130706433/", "https://0x7f.1/", "https://0177.0.0.1/", "https://127.1/",
    "https://[::ffff:127.0.0.1]/", "https://[64:ff9b::7f00:1]/", "https://[fe80::1]/",
    "https://[fd00::1]/", "https://user:password@tools.example.org/", "https://tools.example.org:22/",
    "https://tools.example.org:5432/", "file:///etc/passwd", "gopher://tools.example.org/",
    "https://tools.example.org/#x", "https://tools.example.org\\@127.0.0.1/", "https://a b/", "https:///x",
)  # fmt: skip


@pytest.mark.parametrize("url", URLS)
def test_a_server_url(url: str) -> None:
    async def inside(host: str, _port: int) -> list[str]:
        return ["127.0.0.1"] if host == "localhost" else ["93.184.216.34"]

    guard = UrlGuard(lookup=inside)
    with pytest.raises((RefusedUrlError, httpx2.InvalidURL)):
        asyncio.run(guard.address(httpx2.URL(url)))


NAMES = {
    "a name that leads inside": ["10.0.0.1"],
    "a name with one inside address among others": ["93.184.216.34", "127.0.0.1"],
    "a name of the cloud's own address": ["169.254.169.254"],
    "a name that leads inside by IPv6": ["::ffff:10.0.0.1"],
}


@pytest.mark.parametrize("name", NAMES)
def test_a_server_name(name: str) -> None:
    async def lookup(_host: str, _port: int) -> list[str]:
        return NAMES[name]

    async def send() -> None:
        transport = GuardedTransport(UrlGuard(lookup=lookup))
        async with httpx2.AsyncClient(transport=transport) as client:
            await client.get("https://tools.example.org/")

    with pytest.raises(httpx2.ConnectError, match="not public"):
        asyncio.run(send())


def test_a_redirect_inside_is_not_followed() -> None:
    """The name was public when it was checked; the second request is checked again."""
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
    from threading import Thread

    class Redirect(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(302)
            self.send_header("Location", "http://127.0.0.1:9/latest/meta-data")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Redirect)
    thread = Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    guard = UrlGuard([f"127.0.0.1:{server.server_port}"])

    async def send() -> None:
        async with httpx2.AsyncClient(
            transport=GuardedTransport(guard), follow_redirects=True
        ) as client:
            await client.get(f"http://127.0.0.1:{server.server_port}/")

    try:
        with pytest.raises(httpx2.ConnectError, match="https"):
            asyncio.run(send())
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
