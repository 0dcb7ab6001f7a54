"""Somebody else at the HTTP endpoint: another user, a web page, a client that will not end."""

import contextlib
import json
import socket
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.core.paths import Paths
from app.gateway.backend.web import bounded, peers, reading
from app.gateway.backend.web.server import WebServer
from app.gateway.backend.web.sessions import WebSessions
from app.system.endpoint import endpoint_secret, renew_secret, token_of

sys.path.insert(0, str(Path(__file__).parents[1] / "fakes"))

from web_client import Answer, WebClient

SECRET = "s" * 64
TOKEN = token_of(SECRET, "default")
BODY = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'


def no_session(*_given: object) -> None:
    raise AssertionError("a refused request must not begin a session")


@pytest.fixture
def listening() -> Iterator[Callable[[], WebServer]]:
    """listening() starts an endpoint; no request of these tests may reach a gateway."""
    started: list[WebServer] = []

    def start() -> WebServer:
        sessions = WebSessions(no_session, lambda: 1, {}, "/")  # type: ignore[arg-type]
        started.append(WebServer(sessions, SECRET, 0))
        return started[-1]

    yield start
    for one in started:
        one.close()


@pytest.fixture
def port(listening: Callable[[], WebServer]) -> int:
    return listening().port


def post(port: int, path: str = "/mcp/default", token: str = TOKEN, **headers: str) -> Answer:
    return WebClient(port, token, path).send("POST", BODY, **headers)


def raw(port: int, data: bytes) -> bytes:
    """Everything that comes back for these bytes until the endpoint hangs up."""
    with socket.create_connection(("127.0.0.1", port), 30) as link:
        parts = []
        with contextlib.suppress(ConnectionResetError):  # what it does not read, it drops
            link.sendall(data)
            while part := link.recv(1 << 16):
                parts.append(part)
        return b"".join(parts)


def head(port: int, *lines: str) -> bytes:
    usual = (f"Host: 127.0.0.1:{port}", f"Authorization: Bearer {TOKEN}")
    return "\r\n".join(["POST /mcp/default HTTP/1.1", *usual, *lines, "", ""]).encode()


@pytest.mark.parametrize("token", ["", "x", TOKEN[:-1], TOKEN + "0", "é" * 64, "null"])
def test_a_wrong_token_is_refused(port: int, token: str) -> None:
    answer = WebClient(port, "").send("POST", BODY, Authorization=f"Bearer {token}".encode())
    assert answer.status == 401 and answer.headers["www-authenticate"] == "Bearer"
    assert TOKEN not in answer.body.decode()
    assert post(port, Authorization=f"Basic {TOKEN}").status == 401


def test_no_token_opens_another_profile_and_none_tells_which_there_are(port: int) -> None:
    other, unknown = (post(port, f"/mcp/{name}") for name in ("work", "no-such-profile"))
    assert other.status == unknown.status == 401 and other.body == unknown.body
    assert post(port, "/mcp/default", token_of(SECRET, "work")).status == 401
    assert post(port, "/mcp/default/%2e%2e/work").status == 404
    assert post(port, "/mcp/default%2fwork").status == 401  # a profile of that odd name
    for path in ("/", "/mcp", "/mcp/", "/mcp//x", "/.well-known/oauth-protected-resource", "*"):
        assert post(port, path).status == 404, path


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "null",
        "http://127.0.0.1",
        "http://127.0.0.1.evil.example",
        "file://",
    ],
)
def test_a_page_of_another_site_is_refused_whatever_it_knows(port: int, origin: str) -> None:
    assert post(port, Origin=origin).status == 403
    answer = post(port, Origin=f"http://localhost:{port + 1 if port < 65535 else 1}")
    assert answer.status == 403
    assert not [name for name in answer.headers if name.startswith("access-control")]
    assert WebClient(port, TOKEN).send("OPTIONS", Origin=origin).status == 403


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "evil.example:{}", "0.0.0.0:{}", ""])
def test_a_name_that_was_bound_to_this_machine_is_refused(port: int, host: str) -> None:
    """DNS rebinding: the page's own name leads here, and its requests have the same origin."""
    assert post(port, Host=host.format(port)).status == 403
    assert post(port, Host=f"localhost:{port}", Origin=f"http://localhost:{port}").status != 403


def test_headers_that_decide_come_once(port: int) -> None:
    twice = head(port, "Authorization: Bearer x", "Content-Length: 0")
    assert b"400" in raw(port, twice).split(b"\r\n")[0]
    origins = head(port, f"Origin: http://127.0.0.1:{port}", "Origin: https://evil.example")
    assert b"400" in raw(port, origins).split(b"\r\n")[0]
    smuggled = head(port, "Content-Length: 2", "Transfer-Encoding: chunked")
    assert not raw(port, smuggled + b"0\r\n\r\nGET / HTTP/1.1\r\n\r\n").startswith(b"HTTP/1.1 2")


def test_a_body_without_a_right_to_send_it_is_not_read(port: int) -> None:
    """The refusal comes before any byte of it."""
    refused = b"POST /mcp/default HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Length: 99\r\n\r\n"
    assert raw(port, refused % port).startswith(b"HTTP/1.1 401")


def test_a_huge_body_is_refused_by_its_length_or_where_it_passes_the_limit(
    port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = "Content-Type: application/json"
    declared = head(port, kind, f"Content-Length: {1 << 40}")
    assert raw(port, declared).startswith(b"HTTP/1.1 413")
    monkeypatch.setattr(reading, "LARGEST_BODY", 1_000)
    chunks = b"400\r\n" + b"x" * 1_024 + b"\r\n"
    assert raw(port, head(port, kind, "Transfer-Encoding: chunked") + chunks).startswith(
        b"HTTP/1.1 413"
    )
    assert raw(port, head(port, f"X: {'y' * (1 << 17)}"))[:12] in (b"", b"HTTP/1.1 400")


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"[" + BODY + b"]", b"{}", b'"x"', b"[" * 5_000, b"\xff", b'{"method":1}']
)
def test_a_body_that_is_no_message_is_refused(port: int, body: bytes) -> None:
    answer = WebClient(port, TOKEN).send("POST", body, Content_Length=str(len(body)))
    assert answer.status == 400 and answer.last["error"]["code"] in (-32700, -32600)
    assert post(port, Content_Type="text/plain").status == 415
    assert post(port, Accept="image/png").status == 406


def test_a_client_that_never_ends_its_request_is_let_go_and_holds_up_nobody(
    listening: Callable[[], WebServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounded, "_HEAD_SECONDS", 0.5)
    monkeypatch.setattr(reading, "_BODY_SECONDS", 0.5)
    port = listening().port
    slow = [socket.create_connection(("127.0.0.1", port), 30) for _ in range(50)]
    try:
        for link in slow:
            link.sendall(b"POST /mcp/default HTTP/1.1\r\nX-")
        assert post(port, Authorization="Bearer x").status == 401  # others are answered
        for link in slow:
            assert link.recv(1) == b"", "its head took too long"
    finally:
        for link in slow:
            link.close()
    unfinished = head(port, "Content-Type: application/json", "Content-Length: 99") + b"{"
    assert raw(port, unfinished).startswith(b"HTTP/1.1 408")


def half_sent(port: int, stack: contextlib.ExitStack, data: bytes) -> socket.socket:
    link = stack.enter_context(socket.create_connection(("127.0.0.1", port), 30))
    link.sendall(data)
    return link


def test_half_sent_heads_take_no_request_from_a_client_with_a_token(port: int) -> None:
    begun = b"POST /mcp/default HTTP/1.1\r\nX-"
    with contextlib.ExitStack() as stack:
        for number in range(300):
            half_sent(port, stack, begun)
            if not number % 60:
                assert post(port, Accept="image/png").status == 406
        assert post(port, Accept="image/png").status == 406


def test_of_too_many_half_sent_heads_the_oldest_go_and_a_known_client_stays(port: int) -> None:
    begun = b"POST /mcp/default HTTP/1.1\r\nX-"
    body = b"[]"
    whole = head(port, "Content-Type: application/json", f"Content-Length: {len(body)}") + body
    kept = head(port, "Content-Type: application/json", "Content-Length: 99") + b"{"
    with contextlib.ExitStack() as stack:
        known = half_sent(port, stack, kept)
        assert post(port, Authorization="Bearer x").status == 401  # so its head was read before
        links = [half_sent(port, stack, begun) for _ in range(peers.MOST_STRANGERS + 20)]
        for link in links[:20]:
            with contextlib.suppress(ConnectionResetError):
                assert link.recv(1) == b""
        links[-1].sendall(b"Y: 1\r\n" + whole.partition(b"\r\n")[2])
        assert links[-1].recv(1 << 16).startswith(b"HTTP/1.1 400")
        known.sendall(b" " * 98)
        assert known.recv(1 << 16).startswith(b"HTTP/1.1 400"), "its body was waited for"


def test_a_peer_with_too_many_requests_is_refused_and_no_other(
    port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peers, "MOST_REQUESTS", 4)
    begun = head(port, "Content-Type: application/json", "Content-Length: 99") + b"{"
    with contextlib.ExitStack() as stack:
        for _ in range(4):
            half_sent(port, stack, begun)
        until(lambda: post(port, Accept="image/png").status == 503)
        work = post(port, "/mcp/work", token_of(SECRET, "work"), Accept="image/png")
        assert work.status == 406
    until(lambda: post(port, Accept="image/png").status == 406)


def until(holds: Callable[[], object], seconds: float = 20) -> None:
    limit = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < limit, "it did not happen in time"


def test_a_second_request_on_the_same_connection_may_take_no_longer(
    listening: Callable[[], WebServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounded, "_HEAD_SECONDS", 1.0)
    port = listening().port
    with socket.create_connection(("127.0.0.1", port), 30) as link:
        link.sendall(head(port, "Content-Type: application/json", "Content-Length: 2") + b"{}")
        assert link.recv(1 << 16).startswith(b"HTTP/1.1 400")
    with socket.create_connection(("127.0.0.1", port), 30) as link:
        link.sendall(b"GE")
        began = time.monotonic()
        assert link.recv(1) == b"" and time.monotonic() - began < 20


def test_it_listens_on_loopback_only(listening: Callable[[], WebServer]) -> None:
    assert listening()._socket.getsockname()[0] == "127.0.0.1"


def test_the_token_is_kept_like_a_secret(tmp_path: Path) -> None:
    paths = Paths(tmp_path / "home", tmp_path / "models")
    secret = endpoint_secret(paths)
    assert secret == endpoint_secret(paths) and len(secret) == 64
    assert paths.secrets.stat().st_mode & 0o777 == 0o600
    kept = [file for file in paths.home.rglob("*") if secret in file.read_text(errors="replace")]
    assert kept == [paths.secrets]
    renew_secret(paths)
    assert endpoint_secret(paths) != secret
    assert json.loads(paths.secrets.read_text())["http endpoint"]
