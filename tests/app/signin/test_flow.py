"""Signing in, with a real authorization server and a browser that follows redirects."""

import logging
import socket
import threading
import time
from threading import Event

import fake_web
import httpx2
import pytest

from app.core.errors import ToolcribError
from app.signin.flow import SignInRequest, sign_in
from app.signin.grant import BASIC, Client, save
from app.signin.renewal import renew


def visit(guarded, browser, **more):
    return SignInRequest(guarded.url, browser.open, Event(), **{"wait_seconds": 30, **more})


def test_a_sign_in_gives_tokens_that_the_server_takes(guarded, browser):
    grant = sign_in(visit(guarded, browser))
    browser.close()
    answer = httpx2.post(guarded.url, headers={"Authorization": f"Bearer {grant.access_token}"})
    assert answer.status_code != 401
    assert grant.token_endpoint == f"{guarded.base}/token"
    assert (grant.url, grant.resource) == (guarded.url, guarded.url)
    assert grant.refresh_token and grant.expires_at > time.time() + 3000
    assert "You can close this page" in browser.shown[0].text
    assert browser.shown[0].headers["cache-control"] == "no-store"


def test_the_page_asks_with_pkce_a_state_and_a_loopback_address(guarded, browser):
    sign_in(visit(guarded, browser))
    asked = httpx2.URL(browser.opened[0]).params
    assert asked["code_challenge_method"] == "S256" and len(asked["state"]) > 30
    assert asked["redirect_uri"].startswith("http://127.0.0.1:")


def test_a_user_who_denies_is_one_sentence(guarded, browser):
    guarded.control(deny="access_denied")
    with pytest.raises(ToolcribError, match="was not allowed"):
        sign_in(visit(guarded, browser))
    browser.close()
    assert "was not allowed" in browser.shown[0].text


def test_another_refusal_is_named_by_its_code_only(guarded, browser):
    guarded.control(deny="server_error")
    with pytest.raises(ToolcribError, match=r"refused the sign-in \(server_error\)"):
        sign_in(visit(guarded, browser))


def test_an_answer_with_another_state_is_not_the_answer(guarded, browser, caplog):
    guarded.control(state="somebody-elses-state")
    waits = SignInRequest(guarded.url, browser.open, Event(), wait_seconds=2.0)
    with caplog.at_level(logging.DEBUG), pytest.raises(ToolcribError, match="There was no sign-in"):
        sign_in(waits)
    ours = [r.getMessage() for r in caplog.records if not r.name.startswith("http")]
    assert "somebody" not in "".join(ours)


@pytest.mark.parametrize(
    "query",
    [
        "code=evil",
        "code=evil&state=guessed",
        "code=evil&state=",
        "error=access_denied&state=x",
        "error=access_denied",
    ],
)
def test_a_forged_callback_neither_signs_in_nor_ends_the_sign_in(guarded, browser, query):
    answers = []

    def open_page(page):
        uri = httpx2.URL(page).params["redirect_uri"]
        answers.append(httpx2.get(f"{uri}?{query}").status_code)
        browser.open(page)

    grant = sign_in(SignInRequest(guarded.url, open_page, Event(), wait_seconds=30))
    assert grant is not None and answers == [404]


@pytest.mark.parametrize("methods", [["plain"], [], None])
def test_an_authorization_server_without_pkce_is_refused(guarded, browser, methods):
    page = f"{guarded.base}/authorize"
    guarded.control(page=page, more={"code_challenge_methods_supported": methods})
    with pytest.raises(ToolcribError, match="PKCE"):
        sign_in(visit(guarded, browser))


def test_cancel_ends_it_at_once_and_frees_the_port(guarded):
    cancel, pages = Event(), []

    def open_page(page):
        pages.append(page)
        threading.Timer(0.2, cancel.set).start()

    began = time.monotonic()
    assert sign_in(SignInRequest(guarded.url, open_page, cancel)) is None
    assert time.monotonic() - began < 5
    port = int(httpx2.URL(httpx2.URL(pages[0]).params["redirect_uri"]).port)
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", port), 1).close()


def test_a_person_who_never_comes_is_not_waited_for_for_ever(guarded):
    with pytest.raises(ToolcribError, match="There was no sign-in"):
        sign_in(SignInRequest(guarded.url, lambda _page: None, Event(), wait_seconds=1.0))


def test_other_requests_do_not_end_the_wait(guarded, browser):
    """A browser asks for an icon, opens idle connections, and other pages knock."""
    noise = []

    def open_page(page):
        uri = httpx2.URL(page).params["redirect_uri"]
        port = httpx2.URL(uri).port
        noise.append(httpx2.get(f"http://127.0.0.1:{port}/favicon.ico").status_code)
        noise.append(httpx2.post(uri, content=b"code=x").status_code)
        noise.append(httpx2.get(uri).status_code)
        idle.append(socket.create_connection(("127.0.0.1", port)))
        with socket.create_connection(("127.0.0.1", port)) as odd:
            odd.sendall(b"GET //[ HTTP/1.1\r\n\r\n")
            noise.append(int(odd.recv(100).split()[1]))
        browser.open(page)

    idle: list[socket.socket] = []

    grant = sign_in(SignInRequest(guarded.url, open_page, Event(), wait_seconds=30))
    idle[0].close()
    assert grant is not None and noise == [404, 404, 404, 404]


def test_a_server_without_any_metadata_is_tried_at_the_usual_places(guarded, browser):
    guarded.control(hide=["/.well-known"])
    grant = sign_in(visit(guarded, browser))
    assert grant is not None and grant.token_endpoint == f"{guarded.base}/token"


def test_a_server_that_registers_nobody_says_what_to_do(guarded, browser):
    guarded.control(hide=["/.well-known", "/register"])
    with pytest.raises(ToolcribError, match="does not let new programs register") as caught:
        sign_in(visit(guarded, browser))
    assert "Authorization header" in caught.value.hint and browser.opened == []


def test_a_server_that_wants_no_sign_in_says_so(browser):
    with fake_web.serve("json") as web, pytest.raises(ToolcribError, match="asked for no sign-in"):
        sign_in(SignInRequest(web.url, browser.open, Event()))
    assert browser.opened == []


def test_a_page_without_https_is_never_opened(guarded, browser):
    guarded.control(page="http://example.com/authorize")
    with pytest.raises(ToolcribError, match="was not opened"):
        sign_in(visit(guarded, browser))
    assert browser.opened == []


@pytest.mark.parametrize("page", ["file:///etc/passwd", "javascript:alert(1)", "calc:"])
def test_a_page_that_is_no_web_page_is_never_opened(guarded, browser, page):
    guarded.control(page=page)
    sign_in(visit(guarded, browser))  # such metadata count as none
    assert [httpx2.URL(p).host for p in browser.opened] == ["127.0.0.1"]


@pytest.mark.parametrize("url", ["http://example.com/mcp", "ftp://127.0.0.1/", "", "http://[bad"])
def test_only_https_or_loopback_servers_are_signed_in_to(browser, url):
    with pytest.raises(ToolcribError, match="needs an https address"):
        sign_in(SignInRequest(url, browser.open, Event()))


def test_a_server_that_is_not_there_is_one_sentence(browser):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/mcp"
    with pytest.raises(ToolcribError) as refused:
        sign_in(SignInRequest(url, browser.open, Event()))
    assert (refused.value.title, refused.value.hint) == (
        "The server, or its page for signing in, could not be reached.",
        "Check its URL and the network, then try again.",
    )


def test_the_own_headers_go_to_the_server_but_an_old_authorization_does_not(guarded, browser):
    headers = {"X-Team": "a", "authorization": "Bearer old-and-wrong"}
    assert sign_in(visit(guarded, browser, headers=headers)) is not None


def test_nothing_of_it_is_printed_or_logged(guarded, browser, caplog, capfd):
    with caplog.at_level(logging.DEBUG):
        grant = sign_in(visit(guarded, browser))
    said = caplog.text + "".join(capfd.readouterr()) + repr(grant) + str(grant)
    assert grant.access_token not in said and grant.refresh_token not in said
    assert "tok-" not in said and BASIC not in said


@pytest.mark.parametrize("method", ["none", "client_secret_post", "client_secret_basic"])
def test_a_program_registered_by_hand_signs_in_where_nobody_else_can(
    guarded, browser, store, method
):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    made = httpx2.post(
        f"{guarded.base}/register",
        json={
            "redirect_uris": [f"http://127.0.0.1:{port}/callback"],
            "token_endpoint_auth_method": method,
            "scope": "tools",
        },
    ).json()
    page, taken = f"{guarded.base}/authorize", {"token_endpoint_auth_methods_supported": [method]}
    guarded.control(hide=["/register"], page=page, more=taken)
    client = Client(made["client_id"], made.get("client_secret") or "")
    assert made["client_id"] in repr(client) and (client.secret or "?") not in repr(client)
    grant = sign_in(visit(guarded, browser, client=client, port=port))
    assert (grant.client_id, grant.auth_method) == (client.id, method)
    save(store, "guarded", grant)
    assert renew(store, "guarded", grant).access_token != grant.access_token


def test_a_taken_port_is_named(guarded, browser):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ToolcribError, match=f"listens on port {port}"):
            sign_in(visit(guarded, browser, port=port))


def test_a_token_endpoint_that_is_down_is_said(guarded, browser):
    guarded.control(down=True)
    with pytest.raises(ToolcribError, match="gave no tokens"):
        sign_in(visit(guarded, browser))
